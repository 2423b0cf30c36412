"""More than forty meshes of different kinds that decimation is tried on."""

from collections.abc import Callable

import numpy as np
from tests.hierarchy.surfaces import SURFACES, bare, compact, disc_with_holes, genus_three

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.shapes import catalogue
from plisse.shapes.skirt import sew_skirt


def sheet(
    vertices: int, shape: Callable[[Floats, Floats], tuple[Floats, ...]], size: tuple[float, float] = (1.0, 1.0)
) -> Mesh:
    """An unstructured sheet, shape(u, v) of a rectangle that begins at the origin."""
    flat = catalogue.grid(*size, vertices=vertices, diagonals="delaunay")
    u, v = (flat.X[:, :2] - flat.X[:, :2].min(axis=0)).T
    return Mesh(np.column_stack(shape(u, v)), flat.triangles)


def scaled(mesh: Mesh, factor: Floats | float) -> Mesh:
    return Mesh(mesh.X * factor, mesh.triangles)


def noisy(amount: float) -> Mesh:
    ball = catalogue.sphere(subdivisions=4)
    return scaled(ball, 1.0 + amount * np.random.default_rng(1).standard_normal((len(ball.X), 1)))


def bumpy(subdivisions: int = 4) -> Mesh:
    ball = catalogue.sphere(1.0, subdivisions=subdivisions)
    x, y, z = ball.X.T
    return scaled(ball, (1.0 + 0.15 * np.sin(5.0 * x + 1.0) * np.sin(4.0 * y) + 0.08 * np.sin(9.0 * z))[:, None])


def knot(around: int = 200, across: int = 16) -> Mesh:
    """A tube along a trefoil."""
    t = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    middle = np.column_stack((np.sin(t) + 2.0 * np.sin(2.0 * t), np.cos(t) - 2.0 * np.cos(2.0 * t), -np.sin(3.0 * t)))
    along = np.column_stack(
        (np.cos(t) + 4.0 * np.cos(2.0 * t), -np.sin(t) + 4.0 * np.sin(2.0 * t), -3.0 * np.cos(3.0 * t))
    )
    side = np.cross(along, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(along, side)
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    a = np.linspace(0.0, 2.0 * np.pi, across, endpoint=False)[None, :, None]
    X = middle[:, None] + 0.35 * (np.cos(a) * side[:, None] + np.sin(a) * up[:, None])
    return Mesh(X.reshape(-1, 3), wind(around, across))


def wind(around: int, across: int) -> Ints:
    """Triangles of a grid that closes both ways."""
    i = np.arange(around * across).reshape(around, across)
    a, b, c, d = i, np.roll(i, -1, 1), np.roll(np.roll(i, -1, 0), -1, 1), np.roll(i, -1, 0)
    return np.concatenate((np.stack((a, b, c), -1).reshape(-1, 3), np.stack((a, c, d), -1).reshape(-1, 3)))


def pierced() -> Mesh:
    """A ball with many small holes."""
    ball = catalogue.sphere(subdivisions=4)
    rng = np.random.default_rng(3)
    taken, holes = np.zeros(len(ball.X), bool), []
    for v in rng.permutation(len(ball.X)):
        around = np.unique(ball.triangles[(ball.triangles == v).any(axis=1)])
        if len(holes) < 12 and not taken[around].any():
            # no hole meets the ring about another
            taken[np.unique(ball.triangles[np.isin(ball.triangles, around).any(axis=1)])] = True
            holes.append(v)
    return compact(ball.X, ball.triangles[~np.isin(ball.triangles, holes).any(axis=1)])


def slit() -> Mesh:
    """A sheet that is cut open along a line inside."""
    flat = bare(catalogue.grid(vertices=1600, diagonals="uniform"))
    x, y = flat.X[:, 0], flat.X[:, 1]
    line = np.unique(y)[np.argmin(np.abs(np.unique(y)))]
    cut = np.flatnonzero((y == line) & (np.abs(x) < 0.3))
    twin = np.arange(len(x))
    twin[cut] = len(x) + np.arange(len(cut))
    above = y[flat.triangles].mean(axis=1) > line
    return Mesh(np.concatenate((flat.X, flat.X[cut])), np.where(above[:, None], twin[flat.triangles], flat.triangles))


def eared() -> Mesh:
    """A sheet with single triangles sewn to every fourth edge of its rim."""
    flat = bare(catalogue.grid(vertices=1600))
    X, T = [flat.X], [flat.triangles]
    middle = flat.X.mean(axis=0)
    edges = {(int(a), int(b)) for t in flat.triangles for a, b in zip(t, np.roll(t, -1), strict=True)}
    rim = sorted(edge for edge in edges if edge[::-1] not in edges)[::4]
    for k, (a, b) in enumerate(rim):
        out = 0.5 * (flat.X[a] + flat.X[b])
        X.append((out + 0.03 * (out - middle))[None])
        T.append(np.array([[b, a, len(flat.X) + k]], flat.triangles.dtype))
    return Mesh(np.concatenate(X), np.concatenate(T))


def charts() -> Mesh:
    """A sheet with two texture charts, whose border follows the triangles."""
    flat = bare(catalogue.grid(vertices=2500, diagonals="delaunay"))
    apart = (np.hypot(*flat.X[:, :2].T) < 0.3)[flat.triangles].all(axis=1)
    return Mesh(flat.X, flat.triangles, flat.X[flat.triangles][..., :2] + 2.0 * apart[:, None, None])


def spiral(u: Floats, v: Floats, rise: float) -> tuple[Floats, ...]:
    r = 0.5 + 0.12 * u + v
    return r * np.cos(u), r * np.sin(u), rise * u


def skirt() -> Mesh:
    """Two panels that are sewn together; the rest shape is the flat pattern."""
    sewn = sew_skirt()
    assert sewn.uv is not None
    return Mesh(sewn.X, sewn.triangles, sewn.uv, np.concatenate((sewn.uv, 0.0 * sewn.uv[..., :1]), axis=2))


def inside(mesh: Mesh, keep: Bools) -> Mesh:
    """The part of a mesh whose triangles have all their vertices in it."""
    return compact(mesh.X, mesh.triangles[keep[mesh.triangles].all(axis=1)])


def turned(mesh: Mesh) -> Mesh:
    """A mesh that no axis is special for."""
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    return Mesh(mesh.X @ rotation.T, mesh.triangles)


FLAT: dict[str, Callable[[], Mesh]] = {
    "jittered grid": SURFACES["jittered grid"],
    "regular grid": SURFACES["regular grid"],
    "alternating grid": lambda: catalogue.grid(vertices=2500, diagonals="alternating"),
    "equilateral grid": lambda: catalogue.grid(vertices=2500, diagonals="equilateral"),
    "Delaunay sheet": lambda: catalogue.grid(vertices=2500, diagonals="delaunay"),
    "oblong sheet": lambda: catalogue.grid(3.0, 0.7, vertices=2500),
    "thin strip": lambda: catalogue.strip(2.0, 0.05, vertices=1500),
    "tilted sheet": lambda: turned(bare(catalogue.grid(vertices=2000))),
    "squeezed sheet": lambda: sheet(2000, lambda u, v: (u, 0.3 * v, 0.0 * u)),
    "sheared sheet": lambda: sheet(2000, lambda u, v: (u + 0.8 * v, v, 0.0 * u)),
    "sheet with a slit": slit,
}
CURVED: dict[str, Callable[[], Mesh]] = {
    "graded sheet": lambda: sheet(2000, lambda u, v: (u * (0.3 + 0.7 * u), v, 0.0 * u)),
    "hubs": SURFACES["hubs"],
    "disc": lambda: catalogue.disc(vertices=2000),
    "annulus": lambda: catalogue.disc(hole=0.2, vertices=2000),
    "disc with holes": disc_with_holes,
    "spiral": lambda: sheet(2500, lambda u, v: spiral(u, v, 0.2), (10.0, 0.5)),
    "flat spiral": lambda: sheet(2500, lambda u, v: spiral(u, v, 0.0), (10.0, 0.5)),
    "wavy rim": lambda: sheet(2000, lambda u, v: (u + 0.03 * np.sin(20.0 * v), v + 0.03 * np.sin(15.0 * u), 0.0 * u)),
    "jagged rim": lambda: inside(
        bare(catalogue.grid(vertices=3000, diagonals="delaunay")),
        np.hypot(*catalogue.grid(vertices=3000, diagonals="delaunay").X[:, :2].T) < 0.45,
    ),
    "eared sheet": eared,
    "charts": charts,
    "bent sheet": lambda: sheet(2500, lambda u, v: (u, v, 0.1 * np.sin(6.0 * u) * np.cos(4.0 * v))),
    "saddle": lambda: sheet(2500, lambda u, v: (u, v, (u - 0.5) ** 2 - (v - 0.5) ** 2)),
    "helicoid": lambda: sheet(2500, lambda u, v: ((u - 0.5) * np.cos(4.0 * v), (u - 0.5) * np.sin(4.0 * v), v)),
    "half tube": lambda: sheet(2500, lambda u, v: (0.3 * np.cos(3.0 * u), 0.3 * np.sin(3.0 * u), v)),
    "creased sheet": lambda: sheet(2500, lambda u, v: (u, v, 0.5 * np.abs(u - 0.5))),
    "ball": SURFACES["ball"],
    "ellipsoid": lambda: scaled(catalogue.sphere(subdivisions=4), np.array((1.0, 2.0, 0.5))),
    "bumpy ball": bumpy,
    "slightly noisy ball": lambda: noisy(0.005),
    "noisy ball": lambda: noisy(0.02),
    "pierced ball": pierced,
    "tube": SURFACES["tube"],
    "tube without texture": lambda: bare(SURFACES["tube"]()),
    "closed tube": SURFACES["closed tube"],
    "torus": SURFACES["torus"],
    "thin torus": lambda: catalogue.torus(0.5, 0.05, around=160, across=16),
    "knot": knot,
    "genus three": genus_three,
    "thin plate": SURFACES["thin plate"],
    "cube": lambda: catalogue.box(resolution=20),
    "beam": lambda: catalogue.box((2.0, 0.2, 0.2), resolution=60),
    "cone": lambda: catalogue.cone(),
    "dome": lambda: catalogue.dome(vertices=2000),
    "hat": lambda: catalogue.hat(vertices=2500),
    "bowl": lambda: catalogue.bowl(),
    "can": lambda: catalogue.can(vertices=2500),
    "bunny": SURFACES["bunny"],
    "dragon": lambda: catalogue.dragon(resolution=50),
    "skirt": skirt,
    "components": SURFACES["components"],
}
MANY = FLAT | CURVED
