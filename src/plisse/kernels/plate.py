"""Stencils of plate triangles: the nodes of the hinges around each, and the gradients of its curvatures."""

from numba import prange

from plisse.kernels.jit import parallel_kernel


@parallel_kernel
def gather_nodes(of, hinges, nodes, places):
    """The nodes (m, 12) of the nine hinges `of` (m, 9) each triangle, and where each hinge's own are (m, 9, 4).

    Every node once; the first one again where there are fewer than twelve.
    """
    for s in prange(of.shape[0]):
        count = 0
        for k in range(9):
            for a in range(4):
                node, place = hinges[of[s, k], a], 0
                while place < count and nodes[s, place] != node:
                    place += 1
                if place == count:
                    nodes[s, count] = node
                    count += 1
                places[s, k, a] = place
        for place in range(count, 12):
            nodes[s, place] = nodes[s, 0]


@parallel_kernel
def curvature_gradients(slope, of, places, rows, out):
    """Σ rows ∂θ/∂x over the hinges of each triangle into out (m, 3, 12, 3), from slope = ∂θ/∂x (q, 4, 3)."""
    for s in prange(of.shape[0]):
        out[s] = 0.0
        for k in range(9):
            g = slope[of[s, k]]
            for r in range(3):
                w = rows[s, r, k]
                if w != 0.0:
                    for a in range(4):
                        p = places[s, k, a]
                        out[s, r, p, 0] += w * g[a, 0]
                        out[s, r, p, 1] += w * g[a, 1]
                        out[s, r, p, 2] += w * g[a, 2]
