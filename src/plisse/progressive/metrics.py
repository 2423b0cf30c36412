"""How near a level's result is to a finer one: positions, curvatures, projections, folds. All for statics."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.signal import find_peaks
from scipy.sparse.csgraph import connected_components

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.maps import LevelMap
from plisse.solve.factors import make_factor

CURVATURES = ("mean", "gaussian", "larger", "smaller")  # the columns of `curvatures`
SAMPLES = 400  # points on a boundary loop: the same for all resolutions
PROMINENCE = 0.01  # a fold stands out by this part of the sheet's extent at least


def curvatures(triangles: Ints, x: Floats) -> Floats:
    """Mean, Gaussian, larger and smaller principal curvature at the vertices [1/m, 1/m², 1/m, 1/m], shape (n, 4).

    H = n · Σⱼ (cot α + cot β)(xᵢ − xⱼ) / 4A, K = (2π − Σ angles) / A, H ± √max(H² − K, 0), with mixed Voronoi areas A
    and area-weighted normals n: an outward facing sphere has H = 1/R. Zero on the boundary. [Meyer2003]
    """
    n, inner = len(x), find_inner(triangles, len(x))
    corners = x[triangles]
    # side c is opposite of corner c
    sides = corners[:, (2, 0, 1)] - corners[:, (1, 2, 0)]
    dot = -np.einsum("tci,tci->tc", sides[:, (1, 2, 0)], sides[:, (2, 0, 1)])
    normals = np.cross(sides[:, 0], sides[:, 1])
    twice = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)[:, None]
    cot = dot / twice

    def gather(values: Floats) -> Floats:
        return np.asarray(np.bincount(triangles.reshape(-1), values.reshape(-1), n), dtype=np.float64)

    area = gather(_mixed_areas(sides, dot, twice))
    angle = gather(np.arctan2(twice, dot))
    # towards corner c run side c+1 (weighted with the cotangent there) and, the other way round, side c−1
    pull = cot[:, (1, 2, 0), None] * sides[:, (1, 2, 0)] - cot[:, (2, 0, 1), None] * sides[:, (2, 0, 1)]
    laplacian = np.column_stack([gather(pull[..., i]) for i in range(3)])
    normal = np.column_stack([gather(np.repeat(normals[:, i], 3)) for i in range(3)])
    length = np.maximum(np.linalg.norm(normal, axis=1), np.finfo(float).tiny)
    area = np.maximum(area, np.finfo(float).tiny)
    mean = np.where(inner, np.einsum("ij,ij->i", laplacian, normal) / (4.0 * area * length), 0.0)
    gaussian = np.where(inner, (2.0 * np.pi - angle) / area, 0.0)
    spread = np.sqrt(np.maximum(mean**2 - gaussian, 0.0))
    return np.column_stack([mean, gaussian, mean + spread, mean - spread])


def _mixed_areas(sides: Floats, dot: Floats, twice: Floats) -> Floats:
    """Each corner's part of its triangle [m²], shape (m, 3): Voronoi's, or halves and quarters if it is obtuse."""
    squares = np.einsum("tci,tci->tc", sides, sides) * dot / twice
    voronoi = (squares[:, (1, 2, 0)] + squares[:, (2, 0, 1)]) / 8.0
    blunt = dot < 0.0
    return np.where(blunt.any(axis=1, keepdims=True), np.where(blunt, twice / 4.0, twice / 8.0), voronoi)


def find_inner(triangles: Ints, n: int) -> Bools:
    """Which vertices of a manifold mesh lie on no boundary, shape (n,).

    Around a vertex the triangles' (next − previous) numbers cancel, unless the fan has two ends.
    """
    turn = triangles[:, (1, 2, 0)].astype(np.float64) - triangles[:, (2, 0, 1)]
    return np.asarray(np.bincount(triangles.reshape(-1), weights=turn.reshape(-1), minlength=n) == 0.0)


def curvature_distance(triangles: Ints, rest_areas: Floats, x_a: Floats, x_b: Floats) -> Floats:
    """Σ A (κ_a − κ_b)² over inner vertices, for each of CURVATURES [1, 1/m², 1, 1], shape (4,). [Zhang2022] §6.2

    rest_areas: A of the vertices [m²], shape (n,). Boundary vertices have half a neighbourhood: neither the Laplacian
    nor the angle defect is a curvature there.
    """
    difference = curvatures(triangles, x_a) - curvatures(triangles, x_b)
    return np.asarray(rest_areas @ difference**2)


def position_error(rest_areas: Floats, x_a: Floats, x_b: Floats) -> float:
    """√(Σ A ‖x_a − x_b‖² / Σ A) [m], with the vertices' rest areas A [m²], shape (n,)."""
    squares = np.einsum("ij,ij->i", x_a - x_b, x_a - x_b)
    return float(np.sqrt(rest_areas @ squares / rest_areas.sum()))


class Projection:
    """Π = (UᵀU)⁻¹Uᵀ, U the map's linear part: coarse positions whose prolongation is nearest to given fine ones.

    It is factorised once. threads: of the factorisation.
    """

    def __init__(self, prolongation: LevelMap, *, linear: str = "auto", threads: int = 1) -> None:
        self._prolongation, self._U = prolongation, prolongation.linear
        self._factor = make_factor(linear, threads=threads)
        sparsity, data = self._U.gram
        self._factor.analyse(sparsity)
        self._factor.factorise(data)

    def __call__(self, x_fine: Floats) -> Floats:
        """Coarse positions of fine ones x_fine (n_fine, 3), shape (n_coarse, 3)."""
        rhs = np.ascontiguousarray(self._U.pull_back(x_fine[: self._U.coarse], x_fine).T)
        return np.ascontiguousarray(self._factor.solve(rhs).T)

    def apart(self, x_fine: Floats, x_coarse: Floats) -> Floats:
        """Π (x_fine − P(x_coarse)) [m], shape (n_coarse, 3), P the map itself: Π x_fine − x_coarse where P is U."""
        return self(x_fine - self._prolongation(x_coarse))


def geometric_consistency(projection: Projection, mass_coarse: Floats, x_fine: Floats, x_coarse: Floats) -> float:
    """‖Π x_l − x_{l−1}‖²_M [kg m²], with the coarser level's vertex masses [kg] (n_coarse,). [Zhang2025] eq. 13

    Differs: Π is applied to x_l − P(x_{l−1}), which is the same for linear P; with offsets it is zero at rest.
    """
    apart = projection.apart(x_fine, x_coarse)
    return float(mass_coarse @ np.einsum("ij,ij->i", apart, apart))


def count_folds(mesh: Mesh, x: Floats) -> int:
    """Number of folds of draped sheets with positions x (n, 3): outward bulges of their boundaries seen from above.

    The horizontal distance r from the sheet's mean position, sampled by rest arc length, has a peak for each fold. What
    it has of the rest outline's own distance is taken off first, so that the corners of a flat square are no folds.
    """
    loops = walk_boundary(mesh)
    if not loops:
        return 0
    i, j = mesh.edges.T
    n = len(mesh.X)
    _, sheet = connected_components(sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
    count = 0
    for around in loops:
        members = sheet == sheet[around[0]]
        area, X = mesh.vertex_areas[members], mesh.X[members]
        middle, rest_middle = (area @ points / area.sum() for points in (x[members], X))
        arc = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(mesh.X[np.append(around, around[0])], axis=0), axis=1)))
        at = arc[-1] * np.arange(SAMPLES) / SAMPLES
        r = np.hypot(*(_sample(at, arc, x[around, k]) - middle[k] for k in range(2)))
        outline = np.linalg.norm([_sample(at, arc, mesh.X[around, k]) - rest_middle[k] for k in range(3)], axis=0)
        outline -= outline.mean()
        # a part in 0..1: where corners hang nearer than the sides, as on a ball, they do so by folding
        part = np.clip(outline @ r / max(outline @ outline, np.finfo(float).tiny), 0.0, 1.0)
        count += _count_peaks(r - part * outline, PROMINENCE * float(np.ptp(X, axis=0).max()))
    return count


def walk_boundary(mesh: Mesh) -> list[Ints]:
    """The boundary loops of a manifold mesh, each as its vertices in the order in which its triangles walk it."""
    following = dict(mesh.boundary_edges.tolist())
    loops = []
    while following:
        first, vertex = following.popitem()
        walked = [first]
        while vertex != first:
            walked.append(vertex)
            vertex = following.pop(vertex)
        loops.append(np.array(walked, dtype=np.int32))
    return loops


def _sample(at: Floats, arc: Floats, values: Floats) -> Floats:
    return np.interp(at, arc, np.append(values, values[0]))


def _count_peaks(wave: Floats, prominence: float) -> int:
    """Peaks of a periodic signal; cut at its least value, where no peak is lost and no prominence changed."""
    wave = np.roll(wave, -int(np.argmin(wave)))
    return len(find_peaks(np.append(wave, wave[0]), prominence=prominence)[0])
