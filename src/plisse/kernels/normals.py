"""Normals of triangle meshes."""

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def sum_normals(x, triangles, out):
    """Unit normals of vertices into out, zero on entry, (n, 3): those of the triangles around, weighted by area.

    x: positions [m], shape (n, 3); triangles: shape (m, 3). A vertex without area keeps zeros.
    """
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
        vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        for v in (a, b, c):
            out[v, 0] += nx
            out[v, 1] += ny
            out[v, 2] += nz
    for v in range(out.shape[0]):
        length = np.sqrt(out[v, 0] ** 2 + out[v, 1] ** 2 + out[v, 2] ** 2) + 1e-300
        for r in range(3):
            out[v, r] /= length


@kernel
def flat_normal(x, a, b, c):
    """Unit normal of a triangle; zeros if it has no area."""
    ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = np.sqrt(nx * nx + ny * ny + nz * nz) + 1e-300
    return nx / length, ny / length, nz / length


@parallel_kernel
def split_normals(x, triangles, smooth, crease, out):
    """Unit normals of corners into out (m, 3, 3): the vertex's, but the triangle's own where they differ much.

    smooth: unit normals of vertices, shape (n, 3); crease: least cosine between the two.
    """
    for t in prange(triangles.shape[0]):
        nx, ny, nz = flat_normal(x, triangles[t, 0], triangles[t, 1], triangles[t, 2])
        for k in range(3):
            v = triangles[t, k]
            if nx * smooth[v, 0] + ny * smooth[v, 1] + nz * smooth[v, 2] < crease:
                out[t, k, 0], out[t, k, 1], out[t, k, 2] = nx, ny, nz
            else:
                out[t, k, 0], out[t, k, 1], out[t, k, 2] = smooth[v, 0], smooth[v, 1], smooth[v, 2]
