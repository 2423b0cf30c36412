"""Patches of a surface: what lies in one triangle of a coarser level, or around one vertex."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimated import Decimated
from plisse.hierarchy.hierarchy import Hierarchy

BESIDE, AT_CORNER = 1000, 1  # how much it matters that patches along an edge, or at a vertex, have the same colour


def find_patches(hierarchy: Hierarchy, body: int) -> Longs:
    """The coarsest level's triangle that holds most of each triangle of the finest, shape (m,)."""
    coarse, fine = hierarchy.levels[0][body], hierarchy.levels[-1][body]
    made = hierarchy.bodies[body] if isinstance(hierarchy, Decimated) else None
    if made is None or made.at[0] == made.at[-1]:
        # subdivision puts the parts of all triangles one after the other
        return np.arange(len(fine.triangles)) % len(coarse.triangles)
    home, weights = made.decimation.places[made.at[0], made.at[-1]]
    homes = home[fine.triangles].astype(np.int64)
    inside = weights.min(axis=1)[fine.triangles]
    # two corners outvote the third; where all differ, the one that is deepest inside
    same = (homes[:, :, None] == homes[:, None, :]).sum(axis=2)
    return np.take_along_axis(homes, np.argmax(same + inside, axis=1)[:, None], axis=1)[:, 0]


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


def split_cells(x: Floats, triangles: Ints) -> tuple[Floats, Ints, Ints]:
    """Triangles cut into the parts that are nearest to each corner: positions, triangles (6m, 3), and their vertices.

    x: positions (n, 3) [m]; the last array (6m,) says which vertex each part belongs to.
    """
    corners = x[triangles]
    middles, center = 0.5 * (corners + corners[:, (1, 2, 0)]), corners.mean(axis=1, keepdims=True)
    points = np.concatenate([corners, middles, center], axis=1)
    parts = np.array([[k, k + 3, 6] for k in range(3)] + [[k, 6, (k + 2) % 3 + 3] for k in range(3)])
    out = (7 * np.arange(len(triangles))[:, None, None] + parts).reshape(-1, 3)
    return points.reshape(-1, 3), out.astype(np.int32), np.tile(triangles, (1, 2)).reshape(-1)


def find_borders(mesh: Mesh, patches: Longs) -> Bools:
    """Sides of triangles (m, 3) at which another patch begins; patches: of each triangle, (m,)."""
    least = np.full(len(mesh.edges), np.iinfo(np.int64).max)
    most = np.full(len(mesh.edges), -1)
    for side in mesh.triangle_edges.T:
        np.minimum.at(least, side, patches)
        np.maximum.at(most, side, patches)
    return (least != most)[mesh.triangle_edges]
