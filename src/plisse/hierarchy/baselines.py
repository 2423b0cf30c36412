"""Linear prolongations of decimated meshes, to compare with: along the surface, and by affine fits in space."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.maps import LinearMap

TIKHONOV = 1e-6  # part of a neighbourhood's spread that is added to it in all directions: flat ones have none in one


def intrinsic_map(coarse: Mesh, home: Ints, weights: Floats, kept: Ints) -> LinearMap:
    """U: fine vertices on the coarse surface itself, which loses what the fine rest shape has beside it. [Liu2021]

    home: the coarse triangle of each fine vertex (n,); weights: barycentric weights in it (n, 3); kept: the fine vertex
    that each coarse one is (n_coarse,).
    """
    rows = np.repeat(np.arange(len(home)), 3)
    entries = (weights.reshape(-1), (rows, coarse.triangles[home].reshape(-1)))
    return LinearMap(sparse.coo_array(entries, shape=(len(home), len(coarse.X))), kept=kept)


def affine_map(
    coarse: Mesh, fine: Mesh, home: Ints, weights: Floats, kept: Ints, *, tikhonov: float = TIKHONOV
) -> LinearMap:
    """Every fine vertex moves with the affine map that fits best the coarse vertices around its triangle.

    x_i = x̄ + A (X_i − X̄), A = Σ_k (x_k − x̄)(X_k − X̄)ᵀ (Σ_k (X_k − X̄)(X_k − X̄)ᵀ + ε)⁻¹ over the corners of the triangle
    and their neighbours, which the rest shape keeps as far as ε lets it. [Liu2019]
    Differs: one fit instead of the product of one for each collapse, which has many more entries.
    """
    n, m = len(coarse.X), len(coarse.triangles)
    i, j = coarse.edges.T
    near = sparse.coo_array((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    corners = sparse.csr_array((np.ones(3 * m), coarse.triangles.reshape(-1), np.arange(0, 3 * m + 1, 3)), shape=(m, n))
    around = corners @ (near + sparse.eye_array(n))
    around.data[:] = 1.0
    size = np.diff(around.indptr)
    middle = (around @ coarse.X) / size[:, None]
    # fits of all triangles, from the entries of `around`
    triangle = np.repeat(np.arange(m), size)
    arms = coarse.X[around.indices] - middle[triangle]
    spread = np.zeros((m, 3, 3))
    np.add.at(spread, triangle, arms[:, :, None] * arms[:, None, :])
    spread += tikhonov * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    reach = np.einsum("nij,nj->ni", np.linalg.inv(spread)[home], fine.X - middle[home])
    counts = size[home]
    starts = np.append(0, np.cumsum(counts))
    at = np.arange(starts[-1]) - np.repeat(starts[:-1] - around.indptr[:-1][home], counts)
    vertex = np.repeat(np.arange(len(home)), counts)
    values = 1.0 / counts[vertex] + np.einsum("ei,ei->e", reach[vertex], arms[at])
    along = intrinsic_map(coarse, home, weights, kept)
    matrix = sparse.csr_array((values, around.indices[at], starts), shape=(len(home), n))
    return LinearMap(matrix, along=along, kept=kept)
