"""Surfaces of solids that smooth fields describe, with even triangles.

A field f(x) [m] of points (…, 3) is negative inside a solid; near the surface its size is the distance.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import Mesh

Field = Callable[[Floats], Floats]
Vector = tuple[float, float, float]

# Rounds of sliding along the surface and coming back to it: they turn the staircase of cells into even triangles.
ROUNDS = 12
# Lattices of solids have up to resolution³ points: finer ones would exhaust the memory. With much coarser ones their
# slender parts would get thin triangles.
FINEST = 300
# Straight pieces of a limb from one of its points to the next.
PIECES = 5


def ellipsoid(center: Vector, radii: Vector, *, turn: Vector = (0.0, 0.0, 0.0)) -> Field:
    """An ellipsoid with its centre and radii [m], turned about x, then y, then z [degrees].

    f = k (k − 1)/|∇k| with k = |x/r| of x in the ellipsoid's frame: zero on the surface, with slope one there.
    """
    r, axes = np.asarray(radii), Rotation.from_euler("xyz", turn, degrees=True).as_matrix()

    def field(x: Floats) -> Floats:
        local = (x - np.asarray(center)) @ axes
        k = np.linalg.norm(local / r, axis=-1)
        slope = np.linalg.norm(local / r**2, axis=-1)
        return np.asarray(k * (k - 1.0) / np.maximum(slope, 1e-12))

    return field


def limb(points: Sequence[Vector], radii: Sequence[float]) -> Field:
    """A round tube along a smooth curve through the points, with these radii at them [m]."""
    knots = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    at = np.interp(np.arange(PIECES * (len(points) - 1) + 1) / PIECES, np.arange(len(points)), knots)
    c = np.asarray(make_interp_spline(knots, points, k=min(2, len(points) - 1))(at), dtype=np.float64)
    r = np.interp(at, knots, radii)

    def field(x: Floats) -> Floats:
        nearest = np.full(x.shape[:-1], np.inf)
        for a, b, r_a, r_b in zip(c[:-1], c[1:], r[:-1], r[1:], strict=True):
            axis, from_a = b - a, x - a
            along = np.clip(from_a @ (axis / (axis @ axis)), 0.0, 1.0)
            away = np.linalg.norm(from_a - along[..., None] * axis, axis=-1)
            nearest = np.minimum(nearest, away - (r_a + (r_b - r_a) * along))
        return nearest

    return field


def mirror(part: Field) -> Field:
    """The part and its mirror image at the plane y = 0; the part itself lies where y > 0."""
    return lambda x: part(np.stack((x[..., 0], np.abs(x[..., 1]), x[..., 2]), axis=-1))


def unite(*parts: tuple[float, Field]) -> Field:
    """Union of parts, each rounded into the earlier ones over its length of blending b [m].

    min(p, q) − e²/4b with e = max(0, b − |p − q|).
    """

    def field(x: Floats) -> Floats:
        total = parts[0][1](x)
        for blend, part in parts[1:]:
            other = part(x)
            excess = np.maximum(0.0, blend - np.abs(total - other))
            total = np.minimum(total, other) - excess**2 / (4.0 * blend)
        return total

    return field


def carve(field: Field, box: tuple[Vector, Vector], size: float, resolution: int) -> Mesh:
    """A solid whose largest extent is `size` [m], centred at the origin."""
    mesh = polygonise(field, box, resolution=resolution)
    low, high = mesh.X.min(axis=0), mesh.X.max(axis=0)
    return Mesh((mesh.X - 0.5 * (low + high)) * (size / (high - low).max()), mesh.triangles)


def polygonise(field: Field, box: tuple[Vector, Vector], *, resolution: int) -> Mesh:
    """The surface f = 0 within a box (least and greatest corner [m]), `resolution` cells along its longest side.

    Surface nets: each lattice point inside is a voxel, the faces between inside and outside are the quads, and the
    corners of voxels slide to the surface. Voxels are added where two touch along an edge or in a corner only; then
    the faces form a manifold.
    """
    low, high = np.asarray(box)
    cell = float((high - low).max()) / resolution
    counts = np.ceil((high - low) / cell).astype(np.int64) + 3
    lattice = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1)
    # half a cell off, so that the plane of symmetry runs between lattice points
    origin = 0.5 * (low + high) - 0.5 * cell * (counts - 1)
    inside = _compose(field(origin + cell * lattice) < 0.0)
    corners, triangles = _voxel_faces(inside)
    X = origin + cell * (corners - 0.5)
    return _even_out(field, Mesh(X, triangles), cell)


def _compose(inside: Bools) -> Bools:
    """Adds voxels until none touch along an edge or in a corner only (a well-composed set)."""
    inside = inside.copy()
    while True:
        before = inside.sum()
        for axis in range(3):
            for step in (1, -1):
                # voxels and their diagonal neighbours in each coordinate plane
                u, v = ((axis + 1) % 3, (axis + 2) % 3)
                across = _shift(_shift(inside, u, 1), v, step)
                lone = inside & across & ~_shift(inside, u, 1) & ~_shift(inside, v, step)
                inside |= _shift(lone, u, -1)
        for sy in (1, -1):
            for sz in (1, -1):
                steps = ((0, 1), (1, sy), (2, sz))
                x1, y1, z1 = (_shift(inside, axis, step) for axis, step in steps)
                xy, yz, zx = _shift(x1, 1, sy), _shift(y1, 2, sz), _shift(x1, 2, sz)
                far = _shift(xy, 2, sz)
                lone = inside & far & ~(x1 | y1 | z1 | xy | yz | zx)
                hollow = ~inside & ~far & (x1 & y1 & z1 & xy & yz & zx)
                inside |= _shift(lone, 0, -1) | _shift(_shift(lone, 0, -1), 1, -sy) | hollow
        if inside.sum() == before:
            return inside


def _shift(values: Bools, axis: int, step: int) -> Bools:
    """Each voxel's neighbour along an axis; the rim of the lattice is outside, so wrapping is harmless."""
    return np.roll(values, -step, axis)


def _voxel_faces(inside: Bools) -> tuple[Floats, Ints]:
    """Corners (lattice coordinates of the voxel above them) and outward triangles of the voxels' surface."""
    quads = []
    for axis in range(3):
        u, v = np.zeros(3, np.int64), np.zeros(3, np.int64)
        u[(axis + 1) % 3] = v[(axis + 2) % 3] = 1
        other = _shift(inside, axis, 1)
        for leaves in (True, False):
            found = np.argwhere((inside & ~other) if leaves else (~inside & other))
            found[:, axis] += 1
            loop = np.stack((found, found + u, found + u + v, found + v), axis=1)
            quads.append(loop if leaves else loop[:, ::-1])
    corners, index = np.unique(np.concatenate(quads).reshape(-1, 3), axis=0, return_inverse=True)
    quad = index.reshape(-1, 4)
    return corners.astype(np.float64), np.concatenate((quad[:, (0, 1, 2)], quad[:, (0, 2, 3)])).astype(np.int32)


def _even_out(field: Field, mesh: Mesh, cell: float) -> Mesh:
    """Moves vertices onto the surface, spreads them along it and turns edges until triangles are even."""
    X, triangles = mesh.X.copy(), mesh.triangles
    for turn in range(ROUNDS):
        if turn >= 2 and turn % 3 == 2:
            triangles = _flip(X, triangles, by="valence" if turn < ROUNDS - 4 else "angle")
        edges = Mesh(X, triangles).edges.astype(np.int64)
        i, j = np.concatenate((edges, edges[:, ::-1])).T
        valence = np.bincount(i, minlength=len(X))[:, None]
        total = np.stack([np.bincount(i, weights=X[j, axis], minlength=len(X)) for axis in range(3)], axis=1)
        X = _project(field, X + 0.6 * (total / valence - X), cell)
    for _ in range(3):
        X = _project(field, X, cell)
    return Mesh(X, _flip(X, triangles, by="angle"))


def _project(field: Field, X: Floats, cell: float) -> Floats:
    """A Newton step onto f = 0 along ∇f (differences over a fiftieth of a cell), of at most half a cell."""
    f, reach = field(X), 0.02 * cell
    slope = np.stack([field(X + reach * e) - f for e in np.eye(3)], axis=1) / reach
    step = -f / np.maximum(np.einsum("ij,ij->i", slope, slope), 0.25)
    return np.asarray(X + np.clip(step, -0.5 * cell, 0.5 * cell)[:, None] * slope)


def _flip(X: Floats, triangles: Ints, *, by: str) -> Ints:
    """Turns edges, the worst first, in a few rounds of flips that share no vertex.

    by: "valence" brings Σ(valence − 6)² down, "angle" turns edges whose opposite angles sum to more than 180°.
    """
    triangles = triangles.copy()
    for _ in range(8):
        mesh = Mesh(X, triangles)
        a, b, c, d = mesh.hinges.T.astype(np.int64)
        valence = np.bincount(mesh.edges.reshape(-1), minlength=len(X))
        if by == "valence":
            gain = 2.0 * (valence[a] + valence[b] - valence[c] - valence[d]) - 4.0
        else:
            gain = _angle(X, c, a, b) + _angle(X, d, a, b) - np.pi
            gain[np.minimum(valence[a], valence[b]) < 5] = -1.0
        # a flip must not repeat an edge that exists, nor fold the surface over
        key = mesh.edges[:, 0].astype(np.int64) * len(X) + mesh.edges[:, 1]
        exists = np.isin(np.minimum(c, d) * len(X) + np.maximum(c, d), key)
        before = _normal(X, a, b, c), _normal(X, b, a, d)
        after = _normal(X, c, a, d), _normal(X, d, b, c)
        flat = np.min([np.einsum("ij,ij->i", m, n) for m in before for n in after], axis=0)
        good = np.flatnonzero((gain > 1e-6) & ~exists & (flat > 0.5))
        if len(good) == 0:
            break
        good = good[np.argsort(-gain[good], kind="stable")]
        around = mesh.hinges[good]
        rank = np.arange(len(good))
        best = np.full(len(X), len(good))
        np.minimum.at(best, around, rank[:, None])
        chosen = good[(best[around] == rank[:, None]).all(axis=1)]
        sides = np.argsort(mesh.triangle_edges.reshape(-1), kind="stable") // 3
        first, second = sides.reshape(-1, 2)[chosen].T
        triangles[first] = np.stack((c[chosen], a[chosen], d[chosen]), axis=1)
        triangles[second] = np.stack((d[chosen], b[chosen], c[chosen]), axis=1)
    return triangles


def _normal(X: Floats, a: Longs, b: Longs, c: Longs) -> Floats:
    cross = np.cross(X[b] - X[a], X[c] - X[a])
    return np.asarray(cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300))


def _angle(X: Floats, apex: Longs, a: Longs, b: Longs) -> Floats:
    u, v = X[a] - X[apex], X[b] - X[apex]
    return np.asarray(np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ij,ij->i", u, v)))


# A sitting bunny that looks along +x.
BUNNY_BOX: tuple[Vector, Vector] = ((-0.56, -0.34, -0.02), (0.49, 0.34, 1.21))
BUNNY = unite(
    (0.0, ellipsoid((-0.10, 0.0, 0.30), (0.34, 0.27, 0.28), turn=(0, -14, 0))),
    (0.10, ellipsoid((0.14, 0.0, 0.36), (0.19, 0.20, 0.25), turn=(0, -20, 0))),
    (0.06, mirror(ellipsoid((-0.16, 0.20, 0.20), (0.22, 0.12, 0.20)))),
    (0.05, mirror(ellipsoid((-0.02, 0.23, 0.06), (0.21, 0.085, 0.07)))),
    (0.06, mirror(limb([(0.20, 0.10, 0.28), (0.27, 0.115, 0.11), (0.33, 0.115, 0.055)], [0.09, 0.07, 0.06]))),
    (0.07, ellipsoid((0.26, 0.0, 0.66), (0.20, 0.165, 0.165), turn=(0, 16, 0))),
    (0.05, mirror(ellipsoid((0.38, 0.03, 0.61), (0.10, 0.075, 0.075)))),
    (0.06, mirror(limb([(0.18, 0.07, 0.74), (0.13, 0.11, 0.93), (0.02, 0.17, 1.14)], [0.05, 0.08, 0.05]))),
    (0.04, ellipsoid((-0.45, 0.0, 0.27), (0.10, 0.10, 0.10))),
)

# A dragon that looks along +x: spine from tail to head, head, horns, legs, wings, crest.
SPINE: list[Vector] = [
    (-0.40, -0.46, 0.08),
    (-0.68, -0.38, 0.09),
    (-0.78, -0.10, 0.12),
    (-0.58, 0.0, 0.22),
    (-0.30, 0.0, 0.38),
    (0.00, 0.0, 0.38),
    (0.24, 0.0, 0.44),
    (0.36, 0.0, 0.66),
    (0.42, 0.0, 0.90),
    (0.58, 0.0, 0.98),
]
DRAGON_BOX: tuple[Vector, Vector] = ((-0.88, -0.56, -0.02), (0.92, 0.56, 1.24))
DRAGON = unite(
    (0.0, limb(SPINE, [0.065, 0.075, 0.09, 0.115, 0.165, 0.175, 0.155, 0.115, 0.095, 0.09])),
    (0.06, ellipsoid((0.63, 0.0, 0.98), (0.16, 0.12, 0.10), turn=(0, 14, 0))),
    (0.05, ellipsoid((0.78, 0.0, 0.94), (0.13, 0.09, 0.065), turn=(0, 14, 0))),
    (0.04, mirror(limb([(0.58, 0.06, 1.03), (0.46, 0.11, 1.14), (0.36, 0.14, 1.18)], [0.065, 0.055, 0.045]))),
    (0.06, mirror(ellipsoid((-0.30, 0.15, 0.29), (0.17, 0.09, 0.17)))),
    (0.05, mirror(limb([(-0.32, 0.19, 0.22), (-0.38, 0.22, 0.10), (-0.26, 0.23, 0.07)], [0.09, 0.075, 0.07]))),
    (0.06, mirror(ellipsoid((0.18, 0.13, 0.32), (0.12, 0.09, 0.14)))),
    (0.05, mirror(limb([(0.18, 0.16, 0.26), (0.16, 0.20, 0.10), (0.28, 0.21, 0.07)], [0.08, 0.075, 0.07]))),
    (0.06, mirror(limb([(0.10, 0.10, 0.50), (0.06, 0.28, 0.76), (-0.16, 0.46, 0.94)], [0.075, 0.07, 0.06]))),
    (0.08, mirror(ellipsoid((-0.12, 0.32, 0.72), (0.26, 0.07, 0.19), turn=(-40, 30, 0)))),
    *(
        (0.04, limb([(x, 0.0, z), (x - 0.06, 0.0, z + 0.12)], [0.085, 0.045]))
        for x, z in [(-0.60, 0.26), (-0.40, 0.43), (-0.18, 0.51), (0.06, 0.52)]
    ),
)
