"""One level finer: every triangle cut in four, positions by Loop's rule or by midpoints."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.maps import LinearMap


def split_triangles(mesh: Mesh) -> Ints:
    """Triangles of the next level, shape (4m, 3): vertex i keeps its number, edge e's midpoint is n + e."""
    corner, side = mesh.triangles, mesh.triangle_edges + np.int32(len(mesh.X))
    # sides are (0,1), (1,2), (2,0)
    parts = [np.column_stack([corner[:, i], side[:, i], side[:, (i + 2) % 3]]) for i in range(3)]
    return np.ascontiguousarray(np.concatenate([*parts, side]).astype(np.int32))


def split_corners(values: Floats) -> Floats:
    """Values of the triangles' corners (m, 3, k) at the corners of the next level's triangles, (4m, 3, k)."""
    middle = 0.5 * (values + values[:, (1, 2, 0)])
    parts = [np.stack([values[:, i], middle[:, i], middle[:, (i + 2) % 3]], axis=1) for i in range(3)]
    return np.concatenate([*parts, middle])


def midpoints(mesh: Mesh) -> LinearMap:
    """U: even vertices stay, odd ones are the midpoints of their edges; the surface stays what it was."""
    n, k = len(mesh.X), len(mesh.edges)
    halves = sparse.csr_array((np.full(2 * k, 0.5), mesh.edges.ravel(), np.arange(0, 2 * k + 1, 2)), shape=(k, n))
    return LinearMap(sparse.vstack([sparse.eye_array(n), halves]))


def loop(mesh: Mesh) -> LinearMap:
    """P: one step of Loop subdivision with the boundary kept: its vertices stay, its midpoints are inserted. [Loop1987]

    An inner vertex of valence v becomes (1 − v β) x + β Σ neighbours, β = (5/8 − (3/8 + cos(2π/v)/4)²)/v; an inner
    edge's vertex 3/8 of each end and 1/8 of each opposite vertex. [Zhang2022] §5.1.
    """
    n, edges = len(mesh.X), mesh.edges
    on_boundary = np.zeros(n, bool)
    on_boundary[mesh.boundary_edges] = True
    valence = np.bincount(edges.ravel(), minlength=n).astype(np.float64)
    beta = np.where(on_boundary, 0.0, _beta(valence))
    i, j = edges.T
    even = sparse.coo_array(
        (np.concatenate([beta[i], beta[j]]), (np.concatenate([i, j]), np.concatenate([j, i]))), (n, n)
    )
    even = (even + sparse.diags_array(1.0 - valence * beta)).tocsr()
    even.eliminate_zeros()
    return LinearMap(sparse.vstack([even, _odd_rows(mesh)]), along=midpoints(mesh))


def subdivide(mesh: Mesh, *, rule: str) -> tuple[Mesh, LinearMap]:
    """The next level's rest mesh, and the map to it by the rule "loop" or "linear" (midpoints)."""
    P = loop(mesh) if rule == "loop" else midpoints(mesh)
    triangles = split_triangles(mesh)
    uv = None if mesh.uv is None else split_corners(mesh.uv)
    rest = None if mesh.rest is None else split_corners(mesh.rest)
    if rest is not None and rule == "loop":
        assert mesh.rest_places is not None, "a rest shape with seams is refined by midpoints"
        rest = P(mesh.rest_places)[triangles]
    return Mesh(P(mesh.X), triangles, uv, rest), P


def _beta(valence: Floats) -> Floats:
    return np.asarray((0.625 - (0.375 + 0.25 * np.cos(2.0 * np.pi / valence)) ** 2) / valence)


def _odd_rows(mesh: Mesh) -> sparse.csr_array:
    n, edges, hinges = len(mesh.X), mesh.edges.astype(np.int64), mesh.hinges.astype(np.int64)
    key = edges[:, 0] * n + edges[:, 1]
    inner = np.searchsorted(key, np.minimum(hinges[:, 0], hinges[:, 1]) * n + np.maximum(hinges[:, 0], hinges[:, 1]))
    end = np.full(len(edges), 0.5)
    end[inner] = 0.375
    every = np.arange(len(edges))
    rows = np.concatenate([every, every, inner, inner])
    columns = np.concatenate([edges[:, 0], edges[:, 1], hinges[:, 2], hinges[:, 3]])
    values = np.concatenate([end, end, np.full(2 * len(inner), 0.125)])
    return sparse.coo_array((values, (rows, columns)), (len(edges), n)).tocsr()
