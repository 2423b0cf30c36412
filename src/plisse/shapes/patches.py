"""Patches of triangles: cut cells, rows, scattered points, filled circles, turned profiles."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.spatial import Delaunay

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import Mesh

# Rounds in which the points of a Delaunay grid move to the middle of their neighbours.
SPREADING = 8
# Rows of a triangle lattice with edges of length 1 are this far apart.
ROW = 0.75**0.5


def lay_out(mesh: Mesh) -> Mesh:
    """A flat mesh in the xy plane with its own shape as texture coordinates, its longer side from 0 to 1."""
    X = mesh.X[:, :2]
    low, high = X.min(axis=0), X.max(axis=0)
    return replace(mesh, uv=((X - low) / (high - low).max())[mesh.triangles])


def checkerboard(rows: int, columns: int) -> Bools:
    return np.asarray((np.arange(rows)[:, None] + np.arange(columns)) % 2 == 1)


def cut_cells(index: Longs, falling: Bools) -> Ints:
    """Two counter-clockwise triangles a cell of the index grid, shape (2 rows columns, 3).

    index: vertex of row y and column x, shape (rows + 1, columns + 1).
    falling: cells cut from top left to bottom right, shape (rows, columns).
    """
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    rising_cut = np.stack((a, b, c, a, c, d), axis=2)
    falling_cut = np.stack((a, b, d, b, c, d), axis=2)
    return np.where(falling[..., None], falling_cut, rising_cut).reshape(-1, 3).astype(np.int32)


def fill_circle(radius: float, rings: int, *, sectors: int = 6) -> tuple[Floats, Ints, Longs]:
    """Concentric rings of 6k vertices, k a sector, with the triangles between them, and the outermost ring.

    Another number of sectors must be even; sector after sector begins on a straight spoke.
    """
    points, triangles, half = [np.zeros((1, 3))], [], sectors // 2
    for k in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(sectors * k) / (sectors * k)
        ring = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(sectors * k)))
        points.append(radius * k / rings * ring)
        inner_start, outer_start = (1 + half * (k - 1) * (k - 2), 1 + half * k * (k - 1)) if k > 1 else (0, 1)
        sector, step = np.divmod(np.arange(sectors * k), k)
        outer = outer_start + np.arange(sectors * k)
        outer_next = outer_start + (np.arange(sectors * k) + 1) % (sectors * k)
        inner_count = max(1, sectors * (k - 1))
        along_inner = sector * (k - 1) + step
        inner = inner_start + along_inner % inner_count
        triangles.append(np.column_stack((inner, outer, outer_next)))
        # within a sector, all but the last step also have a triangle that stands on the inner ring
        inner_next = inner_start + (along_inner + 1) % inner_count
        triangles.append(np.column_stack((inner, outer_next, inner_next))[step < k - 1])
    rim = np.arange(sectors * rings) + 1 + half * rings * (rings - 1)
    return np.concatenate(points), np.concatenate(triangles).astype(np.int32), rim


def quarter(mesh: Mesh) -> Mesh:
    """Every triangle cut into four at the midpoints of its edges, which come after the vertices."""
    a, b, c = mesh.triangles.T
    ab, bc, ca = mesh.triangle_edges.T + np.int32(len(mesh.X))
    quarters = np.stack((a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca), axis=1)
    return Mesh(np.concatenate((mesh.X, mesh.X[mesh.edges].mean(axis=1))), quarters.reshape(-1, 3))


def icosahedron_faces(X: Floats) -> Ints:
    """The twenty triples of vertices at edge length 2 from each other, facing outwards."""
    faces = []
    for i, j, k in combinations(range(len(X)), 3):
        sides = X[[j, k, i]] - X[[i, j, k]]
        if np.allclose((sides**2).sum(axis=1), 4.0):
            outwards = np.linalg.det(X[[i, j, k]]) > 0
            faces.append((i, j, k) if outwards else (i, k, j))
    return np.array(faces, dtype=np.int32)


def triangle_rows(width: float, height: float, nx: int, ny: int) -> Mesh:
    """A rectangle [m] of rows of vertices, every other one moved by half a cell and completed at both ends."""
    even = np.arange(nx + 1) / nx
    odd = np.concatenate(([0.0], (np.arange(nx) + 0.5) / nx, [1.0]))
    points: list[Floats] = []
    triangles: list[Longs] = []
    start = 0
    for y in range(ny + 1):
        row, above = (odd, even) if y % 2 else (even, odd)
        points.append(np.column_stack((row, np.full(len(row), y / ny), np.zeros(len(row)))))
        if y < ny:
            i, j, on_first = _stitch(row[1:] + row[:-1], above[1:] + above[:-1])
            tip = np.where(on_first, i + 1, len(row) + j + 1)
            triangles.append(start + np.column_stack((i, tip, len(row) + j)))
            start += len(row)
    X = (np.concatenate(points) - (0.5, 0.5, 0.0)) * (width, height, 1.0)
    return Mesh(X, np.concatenate(triangles).astype(np.int32))


def scatter(X: Floats, seed: int) -> Mesh:
    """A Delaunay mesh of a lattice's outer vertices and of one random point for each inner one.

    X: the lattice [m], shape (ny + 1, nx + 1, 3). Points keep a third of a cell from the outer vertices' lines.
    """
    cell = X[1, 1, :2] - X[0, 0, :2]
    low, high = X[0, 0, :2], X[-1, -1, :2]
    inner = X[1:-1, 1:-1, :2].reshape(-1, 2)
    inner = inner + cell * np.random.default_rng(seed).uniform(-0.5, 0.5, size=inner.shape)
    is_outer = np.ones(X.shape[:2], dtype=bool)
    is_outer[1:-1, 1:-1] = False
    outer = X[is_outer][:, :2]
    points = np.concatenate((outer, np.clip(inner, low + cell / 3, high - cell / 3)))
    for _ in range(SPREADING):
        mesh = _triangulate(points)
        i, j = np.concatenate((mesh.edges, mesh.edges[:, ::-1])).T
        total = np.column_stack([np.bincount(i, weights=points[j, k], minlength=len(points)) for k in range(2)])
        middle = total / np.bincount(i, minlength=len(points))[:, None]
        points[len(outer) :] = middle[len(outer) :]
    return _triangulate(points)


def _triangulate(points: Floats) -> Mesh:
    """Delaunay triangles of points (n, 2), facing up; those between points of one straight side have no area."""
    triangles = Delaunay(points).simplices.astype(np.int32)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    twice = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    triangles[twice < 0] = triangles[twice < 0][:, ::-1]
    solid = np.abs(twice) > 1e-9 * np.abs(twice).max()
    return Mesh(np.column_stack((points, np.zeros(len(points)))), triangles[solid])


def revolve(profile: Floats, edge: float, *, fewest: int = 6) -> Mesh:
    """A profile turned about the z axis, with triangles of about this edge length [m].

    profile: radius and height of points along a curve [m], shape (k, 2). It faces to the left of its direction, so
    that one from the axis outwards faces up; an end on the axis is closed by a single vertex.
    Rings are a row of a triangle lattice apart and have as many vertices as fit, each turned by half a step
    against the last; at least `fewest`.
    """
    arc = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(profile, axis=0), axis=1))))
    rows = max(2, round(float(arc[-1]) / (ROW * edge)))
    at = np.linspace(0.0, arc[-1], rows + 1)
    rings = np.stack([np.interp(at, arc, profile[:, k]) for k in range(2)], axis=1)
    points: list[Floats] = []
    triangles: list[Longs] = []
    start, last, last_sides = 0, 0, np.empty(0)
    for row, (r, z) in enumerate(rings):
        count = 1 if r < 1e-9 * edge else max(fewest, round(2.0 * np.pi * float(r) / edge))
        place = (np.arange(count) + 0.5 * (row % 2)) / count
        angle = 2.0 * np.pi * place
        points.append(np.stack((r * np.cos(angle), r * np.sin(angle), np.full(count, z)), axis=1))
        # a single vertex has no sides
        sides = place + 0.5 / count if count > 1 else np.empty(0)
        if row:
            i, j, on_first = _stitch(last_sides, sides)
            tip = np.where(on_first, (i + 1) % last, last + (j + 1) % count)
            triangles.append(start + np.stack((i % last, last + j % count, tip), axis=1))
            start += last
        last, last_sides = count, sides
    return Mesh(np.concatenate(points), np.concatenate(triangles).astype(np.int32))


def _stitch(first: Floats, second: Floats) -> tuple[Longs, Longs, Bools]:
    """Triangles between two rows of sides, given the places of the sides' middles along them, both increasing.

    Sides of both rows are taken in the order of their middles; the apex of each is the vertex that the other row has
    reached. Returned for each triangle: vertices that the rows have reached, and whether the side is of the first.
    """
    on_first = np.argsort(np.concatenate((first, second)), kind="stable") < len(first)
    return np.cumsum(on_first) - on_first, np.cumsum(~on_first) - ~on_first, on_first


def bowl_profile(radius: float, depth: float, thickness: float) -> Floats:
    """Cross-section of a bowl [m], shape (k, 2): inner side, half-round rim, outer side down to a level foot."""
    foot, turn = 0.4 * radius, np.linspace(0.0, 0.5 * np.pi, 200)
    inner = np.stack((foot + (radius - thickness - foot) * np.sin(turn), (thickness - depth) * np.cos(turn)), axis=1)
    outer = np.stack((foot + (radius - foot) * np.sin(turn), -depth * np.cos(turn)), axis=1)[::-1]
    around = np.linspace(np.pi, 0.0, 50)[1:-1]
    half = 0.5 * thickness
    rim = np.stack((radius - half + half * np.cos(around), half * np.sin(around)), axis=1)
    return np.concatenate(([(0.0, thickness - depth)], inner, rim, outer, [(0.0, -depth)]))


def hat_profile(radius: float, height: float, brim: float) -> Floats:
    """Cross-section of a hat [m], shape (k, 2): rounded crown, fillet, and a brim that hangs a little."""
    turn = np.linspace(0.0, 0.5 * np.pi, 200)
    dome, fillet = 0.55 * height, min(0.25 * brim, 0.2 * height)
    # a crown between ellipse and box: |r/R|³ + |z/d|³ = 1
    crown = np.stack((radius * np.sin(turn) ** (2 / 3), height - dome + dome * np.cos(turn) ** (2 / 3)), axis=1)
    bend = np.stack((radius + fillet * (1.0 - np.cos(turn)), fillet * (1.0 - np.sin(turn))), axis=1)
    return np.concatenate((crown, bend, [(radius + brim, -0.15 * brim)]))


def can_profile(radius: float, height: float, rounding: float) -> Floats:
    """Cross-section of a can [m], shape (k, 2): from the middle of its upper lid to that of its lower one."""
    turn = np.linspace(0.0, 0.5 * np.pi, 50)
    r, z = radius - rounding, 0.5 * height - rounding
    edge = np.stack((r + rounding * np.sin(turn), z + rounding * np.cos(turn)), axis=1)
    return np.concatenate(([(0.0, 0.5 * height)], edge, edge[::-1] * (1.0, -1.0), [(0.0, -0.5 * height)]))


def dome_profile(radius: float, height: float) -> Floats:
    """Cross-section of a spherical cap [m], shape (200, 2), from its top down: of a ball of radius (r² + h²)/2h."""
    ball = (radius**2 + height**2) / (2.0 * height)
    turn = np.linspace(0.0, np.arctan2(radius, ball - height), 200)
    return np.stack((ball * np.sin(turn), ball * np.cos(turn) - ball + height), axis=1)


def profile_area(profile: Floats) -> float:
    """Area [m²] of a turned profile, 2π ∫ r ds."""
    middle = 0.5 * (profile[1:, 0] + profile[:-1, 0])
    return 2.0 * np.pi * float(middle @ np.linalg.norm(np.diff(profile, axis=0), axis=1))
