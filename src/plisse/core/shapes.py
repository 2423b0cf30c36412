"""Generated surfaces: manifold, facing outwards (flat ones upwards), centred at the origin, in metres."""

import inspect
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from plisse.core.errors import SceneError, suggest
from plisse.core.mesh import Floats, Ints, Mesh
from plisse.core.sculpt import (
    BUNNY,
    BUNNY_BOX,
    DRAGON,
    DRAGON_BOX,
    ROW,
    Field,
    Vector,
    bowl_profile,
    hat_profile,
    polygonise,
    revolve,
    scatter,
    triangle_rows,
)

# Interior vertices of a jittered grid move by at most this part of a cell in x and in y. Any triangle of a
# cell keeps at least 1 − 4·JITTER of its area, so that nothing inverts.
JITTER = 0.2
# Counts beyond this are a slip of the keyboard, and would only exhaust the memory.
MOST = 10_000_000

# Lattices of solids have up to resolution³ points: finer ones would exhaust the memory.
FINEST = 300
DIAGONALS = ("alternating", "delaunay", "equilateral", "jittered", "uniform")

Flags = npt.NDArray[np.bool_]


def grid(
    width: float = 1.0,
    height: float = 1.0,
    *,
    resolution: int | tuple[int, int] | None = None,
    vertices: int | None = None,
    diagonals: str = "jittered",
    seed: int = 0,
) -> Mesh:
    """A width × height rectangle in the xy plane.

    resolution: cells along the longer side, or (nx, ny) cells; else `vertices`, their approximate number
    (1600 when neither is given).
    diagonals: "uniform" (all alike), "alternating" (turned from cell to cell), "jittered" (interior vertices
    moved at random, each cell cut along its shorter diagonal: no preferred fold direction), "delaunay" (random
    points, well spread) or "equilateral" (rows of equilateral triangles, halves at their ends).
    """
    width, height = _length("grid", "width", width), _length("grid", "height", height)
    if diagonals not in DIAGONALS:
        raise SceneError(
            f'A grid cannot have diagonals = "{diagonals}": use one of {", ".join(DIAGONALS)}'
            f"{suggest(str(diagonals), DIAGONALS)}."
        )
    seed = _count("grid", "seed", seed, least=0)
    nx, ny = _count_cells(width, height, resolution, vertices, row=ROW if diagonals == "equilateral" else 1.0)
    if diagonals == "equilateral":
        return triangle_rows(width, height, nx, ny)

    X = np.zeros((ny + 1, nx + 1, 3))
    X[..., 0] = width * (np.arange(nx + 1) / nx - 0.5)
    X[..., 1] = height * (np.arange(ny + 1) / ny - 0.5)[:, None]
    if diagonals == "delaunay":
        return scatter(X, seed)
    if diagonals == "jittered":
        draws = np.random.default_rng(seed).uniform(-JITTER, JITTER, size=(ny + 1, nx + 1, 2))
        X[1:-1, 1:-1, :2] += draws[1:-1, 1:-1] * (width / nx, height / ny)
        falling = np.linalg.norm(X[:-1, 1:] - X[1:, :-1], axis=2) < np.linalg.norm(X[:-1, :-1] - X[1:, 1:], axis=2)
    else:
        falling = _checkerboard(ny, nx) if diagonals == "alternating" else np.zeros((ny, nx), dtype=bool)
    index = np.arange((ny + 1) * (nx + 1)).reshape(ny + 1, nx + 1)
    return Mesh(X.reshape(-1, 3), _cut_cells(index, falling))


def _count_cells(
    width: float, height: float, resolution: int | tuple[int, int] | None, vertices: int | None, *, row: float
) -> tuple[int, int]:
    """Cells in x and in y; `row`: wanted height of a cell over its width."""
    if resolution is not None and vertices is not None:
        raise SceneError("A grid takes either resolution or vertices: remove one of them.")
    if resolution is None:
        count = _count("grid", "vertices", 1600 if vertices is None else vertices, least=4)
        across = max(2, round((count * width * row / height) ** 0.5))
        # every other row of triangles has one more vertex
        in_row = across if row == 1.0 else across + 0.5
        return across - 1, max(2, round(count / in_row)) - 1
    if isinstance(resolution, (tuple, list)):
        if len(resolution) != 2:
            raise SceneError("A grid's resolution is one number of cells or two, [nx, ny].")
        nx, ny = (_count("grid", "resolution", cells, least=1) for cells in resolution)
        return nx, ny
    cells = _count("grid", "resolution", resolution, least=1)
    edge = max(width, height / row) / cells
    return max(1, round(width / edge)), max(1, round(height / (row * edge)))


def disc(radius: float = 0.5, *, rings: int | None = None, vertices: int | None = None) -> Mesh:
    """A disc in the xy plane made of a centre and rings of 6, 12, 18 … vertices.

    vertices: approximate number, 1 + 3 rings (rings + 1); 1600 when neither is given.
    """
    radius = _length("disc", "radius", radius)
    if rings is not None and vertices is not None:
        raise SceneError("A disc takes either rings or vertices: remove one of them.")
    if rings is None:
        count = _count("disc", "vertices", 1600 if vertices is None else vertices, least=7)
        rings = max(1, round((((count - 1) / 3 + 0.25) ** 0.5) - 0.5))
    X, triangles, _ = _fill_circle(radius, _count("disc", "rings", rings, least=1))
    return Mesh(X, triangles)


def sphere(radius: float = 0.25, *, subdivisions: int = 4) -> Mesh:
    """An icosahedron subdivided onto the sphere: 10·4ˢ + 2 vertices."""
    radius = _length("sphere", "radius", radius)
    subdivisions = _count("sphere", "subdivisions", subdivisions, least=0)
    if subdivisions > 9:
        raise SceneError(f"A sphere with subdivisions = {subdivisions} has too many vertices: use 9 or less.")
    golden = (1 + 5**0.5) / 2
    X = np.array([(x, y * golden, 0.0) for x in (-1, 1) for y in (-1, 1)])
    X = np.concatenate((X, X[:, (2, 0, 1)], X[:, (1, 2, 0)]))
    mesh = Mesh(X / np.linalg.norm(X[0]), _icosahedron_faces(X))
    for _ in range(subdivisions):
        middles = mesh.X[mesh.edges].sum(axis=1)
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        a, b, c = mesh.triangles.T
        ab, bc, ca = mesh.triangle_edges.T + np.int32(len(mesh.X))
        quarters = np.stack((a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca), axis=1)
        mesh = Mesh(np.concatenate((mesh.X, middles)), quarters.reshape(-1, 3))
    return Mesh(radius * mesh.X, mesh.triangles)


def cylinder(
    radius: float = 0.25,
    height: float = 1.0,
    *,
    around: int = 48,
    along: int | None = None,
    closed: bool = True,
) -> Mesh:
    """A cylinder about the z axis, with caps when closed.

    around: vertices on a circle (a closed one rounds up to a multiple of six, to have evenly meshed caps).
    along: cells from bottom to top; chosen for square cells when not given.
    """
    radius, height = _length("cylinder", "radius", radius), _length("cylinder", "height", height)
    around = _count("cylinder", "around", around, least=3)
    if not isinstance(closed, bool):
        raise SceneError(f"A cylinder's closed must be true or false, not {closed!r}.")
    if closed:
        around = 6 * -(-around // 6)
    along = max(1, round(height * around / (2 * np.pi * radius))) if along is None else along
    along = _count("cylinder", "along", along, least=1)
    angle = 2 * np.pi * np.arange(around) / around
    X = np.empty((along + 1, around, 3))
    X[..., 0], X[..., 1] = radius * np.cos(angle), radius * np.sin(angle)
    X[..., 2] = height * (np.arange(along + 1) / along - 0.5)[:, None]
    index = np.arange((along + 1) * around).reshape(along + 1, around)
    side = _cut_cells(np.concatenate((index, index[:, :1]), axis=1), _checkerboard(along, around))
    if not closed:
        return Mesh(X.reshape(-1, 3), side)

    cap, cap_triangles, rim = _fill_circle(radius, around // 6)
    inner = np.setdiff1d(np.arange(len(cap)), rim)
    points, faces = [X.reshape(-1, 3)], [side]
    for circle, z, flip in ((index[-1], height / 2, False), (index[0], -height / 2, True)):
        renumber = np.empty(len(cap), dtype=np.int32)
        renumber[rim] = circle
        renumber[inner] = np.arange(len(inner)) + sum(map(len, points))
        points.append(cap[inner] + (0.0, 0.0, z))
        faces.append(renumber[cap_triangles[:, ::-1] if flip else cap_triangles])
    return Mesh(np.concatenate(points), np.concatenate(faces))


def box(size: float | tuple[float, float, float] = 0.5, *, resolution: int = 10) -> Mesh:
    """A box; resolution: cells along the longest side, the others in proportion."""
    sides = size if isinstance(size, (tuple, list)) else (size,) * 3
    if len(sides) != 3:
        raise SceneError("A box's size is one length or three, [x, y, z].")
    lengths = np.array([_length("box", "size", side) for side in sides])
    resolution = _count("box", "resolution", resolution, least=1)
    cells = np.maximum(1, np.round(resolution * lengths / lengths.max())).astype(np.int64)
    lattice: list[npt.NDArray[np.int64]] = []
    faces: list[Ints] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for far in (False, True):
            points = np.empty((cells[v] + 1, cells[u] + 1, 3), dtype=np.int64)
            points[..., axis] = cells[axis] if far else 0
            points[..., u] = np.arange(cells[u] + 1)
            points[..., v] = np.arange(cells[v] + 1)[:, None]
            index = np.arange(points.size // 3).reshape(points.shape[:2]) + sum(map(len, lattice))
            cut = _cut_cells(index, _checkerboard(cells[v], cells[u]))
            lattice.append(points.reshape(-1, 3))
            faces.append(cut if far else cut[:, ::-1])
    corners, renumber = np.unique(np.concatenate(lattice), axis=0, return_inverse=True)
    triangles = renumber.reshape(-1)[np.concatenate(faces)]
    return Mesh(lengths * (corners / cells - 0.5), triangles.astype(np.int32))


def torus(major: float = 0.3, minor: float = 0.1, *, around: int = 64, across: int = 24) -> Mesh:
    """A torus about the z axis: circle radius `major`, tube radius `minor`."""
    major, minor = _length("torus", "major", major), _length("torus", "minor", minor)
    if minor >= major:
        raise SceneError(f"A torus with minor = {minor:g} and major = {major:g} meets itself: make minor the smaller.")
    around, across = _count("torus", "around", around, least=3), _count("torus", "across", across, least=3)
    turn = 2 * np.pi * np.arange(around) / around
    tube = (2 * np.pi * np.arange(across) / across)[:, None]
    X = np.empty((across, around, 3))
    X[..., 0] = (major + minor * np.cos(tube)) * np.cos(turn)
    X[..., 1] = (major + minor * np.cos(tube)) * np.sin(turn)
    X[..., 2] = minor * np.sin(tube)
    index = np.pad(np.arange(across * around).reshape(across, around), ((0, 1), (0, 1)), mode="wrap")
    return Mesh(X.reshape(-1, 3), _cut_cells(index, _checkerboard(across, around)))


def bunny(size: float = 0.5, *, resolution: int = 40) -> Mesh:
    """A sitting bunny that looks along x; size: its largest extent, its height; resolution: cells along it."""
    return _carve("bunny", BUNNY, BUNNY_BOX, size, resolution, coarsest=32)


def dragon(size: float = 0.8, *, resolution: int = 48) -> Mesh:
    """A dragon with wings that looks along x; size: its largest extent, its length; resolution: cells along it."""
    return _carve("dragon", DRAGON, DRAGON_BOX, size, resolution, coarsest=40)


def _carve(
    shape: str, field: Field, box: tuple[Vector, Vector], size: float, resolution: int, *, coarsest: int
) -> Mesh:
    """A solid of this size; below the coarsest resolution its slender parts would get thin triangles."""
    size = _length(shape, "size", size)
    resolution = _count(shape, "resolution", resolution, least=coarsest)
    if resolution > FINEST:
        raise SceneError(f"A {shape}'s resolution must be at most {FINEST}, not {resolution}.")
    mesh = polygonise(field, box, resolution=resolution)
    low, high = mesh.X.min(axis=0), mesh.X.max(axis=0)
    return Mesh((mesh.X - 0.5 * (low + high)) * (size / (high - low).max()), mesh.triangles)


def bowl(radius: float = 0.2, depth: float = 0.12, thickness: float = 0.02, *, resolution: int = 72) -> Mesh:
    """A round bowl with a level foot and a rounded rim, open above; resolution: vertices around the rim.

    radius and depth: of its outer side, without the rim's rounding, which stands half a thickness above.
    """
    radius, depth = _length("bowl", "radius", radius), _length("bowl", "depth", depth)
    thickness = _length("bowl", "thickness", thickness)
    if thickness > 0.5 * min(radius, depth):
        raise SceneError(f"A bowl's thickness must be at most half its radius and depth, not {thickness:g}.")
    edge = 2.0 * np.pi * radius / _count("bowl", "resolution", resolution, least=12)
    return _level(revolve(bowl_profile(radius, depth, thickness), edge))


def hat(radius: float = 0.1, height: float = 0.12, brim: float = 0.08, *, vertices: int = 800) -> Mesh:
    """A hat: a rounded crown of this radius and height, and a brim of this width around it; open below.

    vertices: approximate number. A vertex has an area of √3/2 edge², and a turned curve 2π ∫ r ds.
    """
    radius, height = _length("hat", "radius", radius), _length("hat", "height", height)
    profile = hat_profile(radius, height, _length("hat", "brim", brim))
    count = _count("hat", "vertices", vertices, least=50)
    middle = 0.5 * (profile[1:, 0] + profile[:-1, 0])
    area = 2.0 * np.pi * float(middle @ np.linalg.norm(np.diff(profile, axis=0), axis=1))
    return _level(revolve(profile, (area / (ROW * count)) ** 0.5))


def _level(mesh: Mesh) -> Mesh:
    """The mesh with the middle of its height at z = 0; a turned one has its axis in place."""
    z = mesh.X[:, 2]
    return Mesh(mesh.X - (0.0, 0.0, 0.5 * (z.min() + z.max())), mesh.triangles)


SHAPES: dict[str, Callable[..., Mesh]] = {
    "grid": grid,
    "disc": disc,
    "sphere": sphere,
    "cylinder": cylinder,
    "box": box,
    "torus": torus,
    "bunny": bunny,
    "dragon": dragon,
    "bowl": bowl,
    "hat": hat,
}


def shape_parameters(shape: str) -> tuple[str, ...]:
    """Names of the parameters that the named shape takes."""
    if shape not in SHAPES:
        raise SceneError(f'There is no shape "{shape}"{suggest(shape, SHAPES)}: known are {", ".join(SHAPES)}.')
    return tuple(inspect.signature(SHAPES[shape]).parameters)


def make_shape(shape: str, parameters: Mapping[str, Any], *, seed: int = 0) -> Mesh:
    """The named shape with these parameters; `seed` serves the random ones that set none of their own."""
    known = shape_parameters(shape)
    for key in parameters:
        if key not in known:
            listing = ", ".join(known)
            raise SceneError(f'A {shape} has no parameter "{key}"{suggest(key, known)}: known are {listing}.')
    common = {"seed": seed} if "seed" in known else {}
    return SHAPES[shape](**(common | dict(parameters)))


def _length(shape: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise SceneError(f"A {shape}'s {key} must be a positive length in metres, not {value!r}.")
    return float(value)


def _count(shape: str, key: str, value: Any, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise SceneError(f"A {shape}'s {key} must be a whole number from {least} to {MOST}, not {value!r}.")
    return value


def _checkerboard(rows: int, columns: int) -> Flags:
    return np.asarray((np.arange(rows)[:, None] + np.arange(columns)) % 2 == 1)


def _cut_cells(index: npt.NDArray[np.int64], falling: Flags) -> Ints:
    """Two counter-clockwise triangles a cell of the index grid, shape (2 rows columns, 3).

    index: vertex of row y and column x, shape (rows + 1, columns + 1).
    falling: cells cut from top left to bottom right, shape (rows, columns).
    """
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    rising_cut = np.stack((a, b, c, a, c, d), axis=2)
    falling_cut = np.stack((a, b, d, b, c, d), axis=2)
    return np.where(falling[..., None], falling_cut, rising_cut).reshape(-1, 3).astype(np.int32)


def _fill_circle(radius: float, rings: int) -> tuple[Floats, Ints, npt.NDArray[np.int64]]:
    """Concentric rings of 6k vertices with the triangles between them, and the outermost ring."""
    points, triangles = [np.zeros((1, 3))], []
    for k in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(6 * k) / (6 * k)
        ring = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(6 * k)))
        points.append(radius * k / rings * ring)
        inner_start, outer_start = (1 + 3 * (k - 1) * (k - 2), 1 + 3 * k * (k - 1)) if k > 1 else (0, 1)
        sector, step = np.divmod(np.arange(6 * k), k)
        outer = outer_start + np.arange(6 * k)
        outer_next = outer_start + (np.arange(6 * k) + 1) % (6 * k)
        inner_count = max(1, 6 * (k - 1))
        along_inner = sector * (k - 1) + step
        inner = inner_start + along_inner % inner_count
        triangles.append(np.column_stack((inner, outer, outer_next)))
        # within a sector, all but the last step also have a triangle that stands on the inner ring
        inner_next = inner_start + (along_inner + 1) % inner_count
        triangles.append(np.column_stack((inner, outer_next, inner_next))[step < k - 1])
    rim = np.arange(6 * rings) + 1 + 3 * rings * (rings - 1)
    return np.concatenate(points), np.concatenate(triangles).astype(np.int32), rim


def _icosahedron_faces(X: Floats) -> Ints:
    """The twenty triples of vertices at edge length 2 from each other, facing outwards."""
    faces = []
    for i, j, k in combinations(range(len(X)), 3):
        sides = X[[j, k, i]] - X[[i, j, k]]
        if np.allclose((sides**2).sum(axis=1), 4.0):
            outwards = np.linalg.det(X[[i, j, k]]) > 0
            faces.append((i, j, k) if outwards else (i, k, j))
    return np.array(faces, dtype=np.int32)
