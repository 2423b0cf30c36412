"""Curves of a mesh that decimation must keep: boundaries, seams, and the borders of groups of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Bytes, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.kernels.surface import FREE, LOCKED, ON_CURVE, find_turns

SHARPEST = np.cos(np.radians(30.0))  # curves that turn by more have a corner, which stays
WINDOW = 4  # edges to both sides over which the turns of jagged curves are measured
SHARPEST_JAGGED = np.cos(np.radians(45.0))  # jagged curves that turn by more there have a corner


@dataclass(frozen=True, eq=False)
class Curves:
    """What decimation must respect; half-edges are numbered as in `plisse.kernels.surface`.

    twin: the half-edge back, -1 on the boundary, (3m,). along: half-edges on curves, (3m,). jagged: those of which only
    the course counts, (3m,). kind: of vertices, (n,). label: number of the combination of groups that a vertex is in,
    (n,).
    """

    twin: Ints
    along: Bools
    jagged: Bools
    kind: Bytes
    label: Ints


def find_curves(mesh: Mesh, groups: Sequence[Bools], fixed: Bools | None) -> Curves:
    """The curves of a manifold mesh; groups: vertices (n,) of each; fixed: vertices (n,) that must stay as they are."""
    n = len(mesh.X)
    twin = pair_half_edges(mesh)
    ends = np.stack((mesh.triangles, np.roll(mesh.triangles, -1, axis=1)), axis=2).reshape(-1, 2)
    along = (twin < 0) | _find_seams(mesh.rest, twin)
    jagged = _find_seams(mesh.uv, twin)
    locked = np.zeros(n, bool) if fixed is None else np.asarray(fixed, bool).copy()
    for group in groups:
        border = _find_border(mesh, group, twin, ends)
        jagged |= border
        # where a border ends or forks, or is a single vertex, nothing of it may move
        at_border = np.zeros(n, bool)
        at_border[ends[group[ends[:, 0]] & ~group[ends[:, 1]], 0]] = True
        at_border[ends[~group[ends[:, 0]] & group[ends[:, 1]], 1]] = True
        locked |= at_border & (_count(border, twin, ends, n) != 2)
    # boundaries and seams of the rest shape keep all of their corners; what else follows edges where triangles happen
    # to have them turns at almost every vertex, and only its course counts
    strict = _count(along, twin, ends, n)
    jagged &= ~along
    along |= jagged
    degree = _count(along, twin, ends, n)
    sharp = np.zeros(n, bool)
    find_turns(mesh.triangles, twin, along, mesh.X[mesh.triangles], SHARPEST, sharp)
    if mesh.rest is not None:
        find_turns(mesh.triangles, twin, along, mesh.rest, SHARPEST, sharp)
    locked |= sharp & ((strict > 0) | (degree != 2))
    locked |= _find_corners(mesh.X, ends[along], (strict == 0) & (degree == 2))
    kind = np.where(degree == 0, FREE, np.where(degree == 2, ON_CURVE, LOCKED)).astype(np.uint8)
    kind[locked] = LOCKED
    return Curves(twin, along, jagged, kind, _label(groups, n))


def pair_half_edges(mesh: Mesh) -> Ints:
    """The half-edge back along the neighbouring triangle, -1 on the boundary, shape (3m,)."""
    side = mesh.triangle_edges.reshape(-1)
    order = np.argsort(side, kind="stable")
    same = np.flatnonzero(side[order[1:]] == side[order[:-1]])
    twin = np.full(len(side), -1, dtype=np.int32)
    twin[order[same]] = order[same + 1]
    twin[order[same + 1]] = order[same]
    return twin


def _find_seams(corners: Floats | None, twin: Ints) -> Bools:
    """Half-edges (3m,) across which the values of corners (m, 3, k) differ; NaN is like NaN only."""
    if corners is None:
        return np.zeros(len(twin), bool)
    values = corners.reshape(len(twin), -1)
    after = np.arange(len(twin)) + np.where(np.arange(len(twin)) % 3 == 2, -2, 1)
    inner = np.flatnonzero(twin >= 0)
    back = twin[inner]
    seams = np.zeros(len(twin), bool)
    seams[inner] = _differ(values[inner], values[after[back]]) | _differ(values[after[inner]], values[back])
    return seams


def _differ(a: Floats, b: Floats) -> Bools:
    return np.asarray(((a != b) & ~(np.isnan(a) & np.isnan(b))).any(axis=1))


def _find_border(mesh: Mesh, group: Bools, twin: Ints, ends: Ints) -> Bools:
    """Half-edges (3m,) between two vertices of a group that do not have triangles of the group on both sides."""
    inside = np.repeat(group[mesh.triangles].all(axis=1), 3)
    both = inside & inside[twin] & (twin >= 0)
    return np.asarray(group[ends].all(axis=1) & ~both)


def _count(along: Bools, twin: Ints, ends: Ints, n: int) -> Ints:
    """Number of marked edges at each vertex (n,)."""
    once = along & ((twin < 0) | (np.arange(len(twin)) < twin))
    return np.bincount(ends[once].reshape(-1), minlength=n).astype(np.int32)


def _find_corners(X: Floats, edges: Ints, inner: Bools) -> Bools:
    """Vertices (n,) at which a jagged curve turns most within the window, and by enough.

    edges: those of all curves, once or twice, shape (k, 2). inner: vertices (n,) that have two of them.
    """
    corners = np.zeros(len(X), bool)
    each = np.flatnonzero(inner)
    if len(each) == 0:
        return corners
    pairs = np.unique(np.concatenate((edges, edges[:, ::-1])), axis=0)
    first = np.searchsorted(pairs[:, 0], np.arange(len(X)))
    # walk along the curve to both sides, as far as it goes on without a fork
    course, window = [], []
    for side in (0, 1):
        before, now = each, pairs[first[each] + side, 1]
        offset = np.zeros((len(each), 3))
        for _ in range(WINDOW):
            offset += X[now] - X[each]
            window.append(now)
            start = first[now]
            one = pairs[start, 1]
            after = np.where(one == before, pairs[np.minimum(start + 1, len(pairs) - 1), 1], one)
            before, now = np.where(inner[now], now, before), np.where(inner[now], after, now)
        course.append(offset)
    lengths = np.linalg.norm(course, axis=2).prod(axis=0)
    cosine = np.ones(len(X))
    cosine[each] = -(course[0] * course[1]).sum(axis=1) / np.maximum(lengths, np.finfo(float).tiny)
    corners[each] = (cosine[each] < SHARPEST_JAGGED) & (cosine[each] <= cosine[np.array(window)].min(axis=0))
    return corners


def _label(groups: Sequence[Bools], n: int) -> Ints:
    """The number of each vertex's combination of groups (n,)."""
    label = np.zeros(n, dtype=np.int64)
    for group in groups:
        _, label = np.unique(2 * label + np.asarray(group, bool), return_inverse=True)
    return label.astype(np.int32)
