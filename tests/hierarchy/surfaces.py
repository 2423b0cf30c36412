"""Meshes that decimation is tried on, small enough for every test."""

from collections.abc import Callable

import numpy as np
from scipy.spatial import Delaunay

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh, concatenate
from plisse.shapes import catalogue


def compact(X: Floats, triangles: Ints) -> Mesh:
    """A mesh of those vertices that triangles use."""
    used, numbered = np.unique(triangles, return_inverse=True)
    return Mesh(X[used], numbered.reshape(triangles.shape))


def bare(mesh: Mesh) -> Mesh:
    """A mesh without texture coordinates."""
    return Mesh(mesh.X, mesh.triangles)


def disc_with_holes(spacing: float = 0.05) -> Mesh:
    """A Delaunay mesh of a disc with three round holes."""
    rng = np.random.default_rng(0)
    circles = [(0.0, 0.0, 1.0), (0.4, 0.0, 0.2), (-0.4, 0.3, 0.15), (-0.1, -0.5, 0.25)]
    points = []
    for x, y, r in circles:
        angle = np.linspace(0.0, 2.0 * np.pi, int(2.0 * np.pi * r / spacing), endpoint=False)
        points.append(np.column_stack((x + r * np.cos(angle), y + r * np.sin(angle))))
    axis = np.arange(-1.0, 1.0, spacing)
    inner = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    inner = inner + rng.uniform(-0.3, 0.3, inner.shape) * spacing
    points.append(inner[outside(inner, circles, 0.6 * spacing)])
    P = np.concatenate(points)
    T = Delaunay(P).simplices
    T = T[outside(P[T].mean(axis=1), circles, -1e-3 * spacing)]
    a, b, c = (P[T[:, k]] for k in range(3))
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    T[area < 0] = T[area < 0][:, ::-1]
    return compact(np.column_stack((P, np.zeros(len(P)))), T[np.abs(area) > 1e-3 * spacing**2])


def outside(P: Floats, circles: list[tuple[float, float, float]], margin: float) -> Bools:
    """Whether points (k, 2) are in the first circle and in none of the others."""
    distance = [np.hypot(P[:, 0] - x, P[:, 1] - y) for x, y, _ in circles]
    keep = distance[0] < circles[0][2] - margin
    for d, (_, _, r) in zip(distance[1:], circles[1:], strict=True):
        keep &= d > r + margin
    return np.asarray(keep)


def genus_three(cells: int = 28) -> Mesh:
    """Two square sheets with three holes, sewn along all of their rims and blown up."""
    part = cells // 7
    full = np.ones((cells, cells), bool)
    for k in (1, 3, 5):
        full[k * part : (k + 1) * part, 3 * part : 4 * part] = False
    axis = np.linspace(-1.0, 1.0, cells + 1)
    V = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    index = np.arange(len(V)).reshape(cells + 1, -1)
    a, b, c, d = (k[full] for k in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    sheet = compact(
        np.column_stack((V, np.zeros(len(V)))), np.concatenate((np.stack((a, b, c), 1), np.stack((a, c, d), 1)))
    )
    for _ in range(3):
        # a triangle with three vertices on the rim would meet itself
        sheet = compact(sheet.X, sheet.triangles[~on_rim(sheet)[sheet.triangles].all(axis=1)])
    rim = on_rim(sheet)
    height = np.sqrt(0.3 * np.linalg.norm(sheet.X[:, None] - sheet.X[rim][None], axis=2).min(axis=1))
    up = np.outer(height, (0.0, 0.0, 1.0))
    below = np.where(rim, np.arange(len(rim)), len(rim) + np.cumsum(~rim) - 1)
    X = np.concatenate((sheet.X + up, (sheet.X - up)[~rim]))
    return Mesh(X, np.concatenate((sheet.triangles, below[sheet.triangles][:, ::-1])))


def on_rim(mesh: Mesh) -> Bools:
    rim = np.zeros(len(mesh.X), bool)
    rim[mesh.boundary_edges] = True
    return rim


def noisy_sphere() -> Mesh:
    ball = catalogue.sphere(subdivisions=4)
    rng = np.random.default_rng(1)
    return Mesh(ball.X * (1.0 + 0.02 * rng.standard_normal((len(ball.X), 1))), ball.triangles)


def hubs() -> Mesh:
    """A grid with vertices of valence three in many triangles, and one of valence 30."""
    sheet = bare(catalogue.grid(vertices=900))
    X, T = list(sheet.X), [tuple(t) for t in sheet.triangles.tolist()]
    for k in range(0, len(T), 7):
        a, b, c = T[k]
        X.append((X[a] + X[b] + X[c]) / 3.0)
        v = len(X) - 1
        T[k] = (a, b, v)
        T += [(b, c, v), (c, a, v)]
    angle = np.linspace(0.0, 2.0 * np.pi, 30, endpoint=False)
    rows = [np.column_stack((3.0 + r * np.cos(angle), r * np.sin(angle), 0.0 * angle)) for r in (0.2, 0.25, 0.31, 0.38)]
    first = len(X)
    X += [np.array((3.0, 0.0, 0.0)), *np.concatenate(rows)]
    for k in range(30):
        T.append((first, first + 1 + k, first + 1 + (k + 1) % 30))
        for row in range(3):
            a, b = first + 1 + 30 * row + k, first + 1 + 30 * row + (k + 1) % 30
            T += [(a, a + 30, b + 30), (a, b + 30, b)]
    return Mesh(np.array(X), np.array(T))


def components() -> Mesh:
    """A ball, a torus, a sheet, an icosahedron, a tetrahedron and a lone triangle."""
    tetrahedron = Mesh(
        np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    )
    return concatenate(
        [
            catalogue.sphere(subdivisions=3),
            catalogue.torus(around=40, across=16),
            bare(catalogue.grid(vertices=400)),
            catalogue.sphere(subdivisions=0),
            tetrahedron,
            Mesh(np.eye(3), np.array([[0, 1, 2]])),
        ]
    )[0]


SURFACES: dict[str, Callable[[], Mesh]] = {
    "jittered grid": lambda: catalogue.grid(vertices=2500),
    "regular grid": lambda: catalogue.grid(vertices=2500, diagonals="uniform"),
    "disc with holes": disc_with_holes,
    "ball": lambda: catalogue.sphere(subdivisions=4),
    "tube": lambda: catalogue.cylinder(around=48, closed=False),
    "closed tube": lambda: catalogue.cylinder(around=48),
    "torus": lambda: catalogue.torus(around=80, across=30),
    "genus three": genus_three,
    "noisy ball": noisy_sphere,
    "thin plate": lambda: catalogue.box((1.0, 1.0, 0.02), resolution=40),
    "bunny": lambda: catalogue.bunny(resolution=40),
    "hubs": hubs,
    "components": components,
}
