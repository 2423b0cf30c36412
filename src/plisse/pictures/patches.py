"""Patches of a surface: what lies in one triangle of a coarser level, or around one vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.mesh import Mesh

BESIDE, AT_CORNER = 1000, 1  # how much it matters that patches along an edge, or at a vertex, have the same colour


@dataclass(frozen=True, eq=False)
class Patches:
    """A surface cut into patches.

    x: positions [m], shape (n, 3); triangles: shape (m, 3); of: the patch of each, (m,). borders: ends of the lines
    between patches [m], shape (b, 2, 3); normals: of the surface along them, (b, 3), of any length.
    """

    x: Floats
    triangles: Ints
    of: Longs
    borders: Floats
    normals: Floats


def cut_between(mesh: Mesh, x: Floats, label: Longs, parts: Floats | None = None) -> Patches:
    """Patches of which each holds the vertices with one label (n,); borders lead through the triangles.

    x: positions of the mesh's vertices (n, 3) [m]. parts: where borders cross edges, from their first end to the
    second, (k,); in the middle when not given.
    """
    sides, triangles = mesh.triangle_edges, mesh.triangles
    parts = np.full(len(mesh.edges), 0.5) if parts is None else parts
    ends = x[mesh.edges]
    crossings = ends[:, 0] + parts[:, None] * (ends[:, 1] - ends[:, 0])
    mixed = np.flatnonzero((label[triangles] != label[triangles[:, :1]]).any(axis=1))
    # the borders of a triangle meet at the mean of where they enter it
    differs = (label[triangles] != label[np.roll(triangles, -1, axis=1)])[mixed]
    enters = crossings[sides[mixed]]
    centers = np.einsum("ij,ijk->ik", differs, enters) / differs.sum(axis=1)[:, None]
    # a corner's part of a triangle reaches to the points on both of its sides, and to the centre
    side = sides[mixed] + np.int32(len(x))
    center = (np.arange(len(mixed)) + len(x) + len(crossings)).astype(np.int32)
    pieces, owners = [], []
    for k in range(3):
        corner = triangles[mixed, k]
        pieces += [np.column_stack([corner, side[:, k], center]), np.column_stack([corner, center, side[:, k - 1]])]
        owners += [label[corner], label[corner]]
    whole = np.delete(triangles, mixed, axis=0)
    at, which = np.nonzero(differs)
    a, b, c = (x[triangles[mixed, k]] for k in range(3))
    return Patches(
        np.concatenate([x, crossings, centers]),
        np.concatenate([whole, *pieces]).astype(np.int32),
        np.concatenate([label[whole[:, 0]], *owners]),
        np.stack([enters[at, which], centers[at]], axis=1),
        np.cross(b - a, c - a)[at],
    )


def cut_along(mesh: Mesh, x: Floats, of: Longs) -> Patches:
    """Patches of whole triangles. of: the patch of each, (m,)."""
    sides = mesh.triangle_edges.reshape(-1)
    order = np.argsort(sides, kind="stable")
    twice = np.flatnonzero(sides[order[1:]] == sides[order[:-1]])
    first, second = order[twice] // 3, order[twice + 1] // 3
    at = of[first] != of[second]
    a, b, c = (x[mesh.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    borders = x[mesh.edges[sides[order[twice[at]]]]]
    return Patches(x, mesh.triangles, of, borders, normals[first[at]] + normals[second[at]])


def find_crossings(coarse: Mesh, fine: Mesh, home: Ints, weights: Floats) -> Floats:
    """Where the fine mesh's edges cross those of the coarse one, from their first end to the second, shape (k,).

    home: the coarse triangle of each fine vertex (n,); weights: its weights there (n, 3). What crosses more than one
    coarse edge is taken to cross where it is as far, by its weights, from the insides of both ends' triangles.
    """
    i, j = fine.edges.T
    A, B = coarse.triangles[home[i]], coarse.triangles[home[j]]
    equal = A[:, :, None] == B[:, None, :]
    beside = equal.sum(axis=(1, 2)) == 2
    depths = []
    for vertex, shared in ((i, equal.any(axis=2)), (j, equal.any(axis=1))):
        # of the corner that is not on the edge that both triangles share
        across = np.take_along_axis(weights[vertex], np.argmin(shared, axis=1)[:, None], axis=1)[:, 0]
        depth = np.where(beside, across, weights[vertex].min(axis=1))
        depths.append(np.maximum(depth, 0.0) * coarse.triangle_areas[home[vertex]])
    total = depths[0] + depths[1]
    return np.divide(depths[0], total, out=np.full(len(total), 0.5), where=total > 0.0)


def color_patches(mesh: Mesh, colors: int) -> Longs:
    """A colour of each triangle (m,), of so many: different along edges, and at vertices as far as possible."""
    m, n = len(mesh.triangles), len(mesh.X)
    at = sparse.csr_array((np.ones(3 * m), mesh.triangles.reshape(-1), np.arange(0, 3 * m + 1, 3)), shape=(m, n))
    shared = (at @ at.T).tocsr()
    out = np.full(m, -1, np.int64)
    for t in range(m):
        row = slice(shared.indptr[t], shared.indptr[t + 1])
        near, weight = out[shared.indices[row]], np.where(shared.data[row] > 1.5, BESIDE, AT_CORNER)
        used = np.bincount(near[near >= 0], weights=weight[near >= 0], minlength=colors)
        # the search begins at another colour each time, lest the first ones be the most frequent
        out[t] = (int(np.argmin(np.roll(used, -(t % colors)))) + t) % colors
    return out
