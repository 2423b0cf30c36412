"""Contact barrier of point–triangle and edge–edge pairs: distances, values, gradients and closed-form PSD blocks.

A pair's separation is r = Σ wᵢ xᵢ with witness weights w; D = r·r. With y = (D − ξ²)/D̂, D̂ = (ξ + d̂)² − ξ²,
the barrier is b(y) = −(y − 1)² ln y for 0 < y < 1 [Li2021].
Pairs of nearly parallel edges carry IPC's mollifier [Li2020] eq. 24.
"""

import math

import numpy as np
from numba import prange

from plisse.kernels.distance import edge_edge, point_triangle
from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def _witness(x, q, is_edges, weights):
    """Squared distance of one pair; its witness weights go to weights (4,)."""
    a, b, c, d = q[0], q[1], q[2], q[3]
    if is_edges:
        D, s, t = edge_edge(
            x[a, 0],
            x[a, 1],
            x[a, 2],
            x[b, 0],
            x[b, 1],
            x[b, 2],
            x[c, 0],
            x[c, 1],
            x[c, 2],
            x[d, 0],
            x[d, 1],
            x[d, 2],
        )
        weights[0], weights[1], weights[2], weights[3] = 1.0 - s, s, t - 1.0, -t
    else:
        D, u, v, w = point_triangle(
            x[a, 0],
            x[a, 1],
            x[a, 2],
            x[b, 0],
            x[b, 1],
            x[b, 2],
            x[c, 0],
            x[c, 1],
            x[c, 2],
            x[d, 0],
            x[d, 1],
            x[d, 2],
        )
        weights[0], weights[1], weights[2], weights[3] = 1.0, -u, -v, -w
    return D


@parallel_kernel
def witnesses(x, pairs, first_edge_pair, weights, D):
    """Squared distances D (k,) and witness weights (k, 4) of all candidate pairs; edge–edge from first_edge_pair on."""
    for s in prange(pairs.shape[0]):
        D[s] = _witness(x, pairs[s], s >= first_edge_pair, weights[s])


@kernel
def _barrier(D, offset, dhat):
    """b, ∂b/∂D, ∂²b/∂D²."""
    width = dhat * (2.0 * offset + dhat)
    y = (D - offset * offset) / width
    if y <= 0.0:
        return math.inf, -math.inf, math.inf
    if y >= 1.0:
        return 0.0, 0.0, 0.0
    L, z = math.log(y), y - 1.0
    b1 = -2.0 * z * L - z * z / y
    b2 = -2.0 * L - 4.0 * z / y + z * z / (y * y)
    return -z * z * L, b1 / width, b2 / (width * width)


@parallel_kernel
def barrier_derivatives(D, offset, dhat, out):
    """b, ∂b/∂D, ∂²b/∂D² into out (3, k)."""
    for s in prange(D.shape[0]):
        out[0, s], out[1, s], out[2, s] = _barrier(D[s], offset[s], dhat[s])


@kernel
def _mollify(x, q, threshold):
    """Mollifier m(c), m′(c) of c = ‖u × v‖² and the product u × v for an edge–edge pair."""
    a, b, c, d = q[0], q[1], q[2], q[3]
    ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    vx, vy, vz = x[d, 0] - x[c, 0], x[d, 1] - x[c, 1], x[d, 2] - x[c, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    sine = nx * nx + ny * ny + nz * nz
    if sine >= threshold:
        return 1.0, 0.0, (nx, ny, nz), (ux, uy, uz), (vx, vy, vz)
    y = sine / threshold
    return (2.0 - y) * y, 2.0 * (1.0 - y) / threshold, (nx, ny, nz), (ux, uy, uz), (vx, vy, vz)


@parallel_kernel
def barrier_energy(x, pairs, D, offset, dhat, stiffness, threshold, out):
    """Energies of pairs; stiffness is κ times the pair's area [J], threshold 0 means no mollifier."""
    for s in prange(pairs.shape[0]):
        out[s] = stiffness[s] * _barrier(D[s], offset[s], dhat[s])[0]
        if threshold[s] > 0.0:
            out[s] *= _mollify(x, pairs[s], threshold[s])[0]


@kernel
def _barrier_slope(x, q, w, D, offset, dhat, stiffness, threshold, gradient, block):
    """Gradient (4, 3), and the 3×3 block of the PSD Hessian w wᵀ ⊗ block; returns the normal force [N] and m < 1."""
    b, b1, b2 = _barrier(D, offset, dhat)
    rx = w[0] * x[q[0], 0] + w[1] * x[q[1], 0] + w[2] * x[q[2], 0] + w[3] * x[q[3], 0]
    ry = w[0] * x[q[0], 1] + w[1] * x[q[1], 1] + w[2] * x[q[2], 1] + w[3] * x[q[3], 1]
    rz = w[0] * x[q[0], 2] + w[1] * x[q[1], 2] + w[2] * x[q[2], 2] + w[3] * x[q[3], 2]
    m = 1.0
    scale = stiffness
    if threshold > 0.0:
        m, m1, n, u, v = _mollify(x, q, threshold)
        scale = stiffness * m
    k = 2.0 * scale * b1
    for a in range(4):
        gradient[a, 0] = k * w[a] * rx
        gradient[a, 1] = k * w[a] * ry
        gradient[a, 2] = k * w[a] * rz
    if m < 1.0:
        # ∂c/∂u = 2 v × (u × v), ∂c/∂v = 2 (u × v) × u
        g = 2.0 * stiffness * b * m1
        gux, guy, guz = (
            g * (v[1] * n[2] - v[2] * n[1]), g * (v[2] * n[0] - v[0] * n[2]), g * (v[0] * n[1] - v[1] * n[0])
        )  # fmt: skip
        gvx, gvy, gvz = (
            g * (n[1] * u[2] - n[2] * u[1]), g * (n[2] * u[0] - n[0] * u[2]), g * (n[0] * u[1] - n[1] * u[0])
        )  # fmt: skip
        gradient[0, 0] -= gux
        gradient[0, 1] -= guy
        gradient[0, 2] -= guz
        gradient[1, 0] += gux
        gradient[1, 1] += guy
        gradient[1, 2] += guz
        gradient[2, 0] -= gvx
        gradient[2, 1] -= gvy
        gradient[2, 2] -= gvz
        gradient[3, 0] += gvx
        gradient[3, 1] += gvy
        gradient[3, 2] += gvz
    # with weights held fixed the Hessian is w wᵀ ⊗ (2b′ I + 4b″ r rᵀ) and b′ < 0: its PSD part is along r only
    c = scale * max(0.0, 4.0 * b2 + 2.0 * b1 / D)
    block[0, 0] = c * rx * rx
    block[0, 1] = c * rx * ry
    block[0, 2] = c * rx * rz
    block[1, 1] = c * ry * ry
    block[1, 2] = c * ry * rz
    block[2, 2] = c * rz * rz
    block[1, 0], block[2, 0], block[2, 1] = block[0, 1], block[0, 2], block[1, 2]
    return -k * math.sqrt(D), m < 1.0


@parallel_kernel
def barrier_slopes(x, pairs, weights, D, offset, dhat, stiffness, threshold, gradients, blocks, forces, mollified):
    for s in prange(pairs.shape[0]):
        forces[s], mollified[s] = _barrier_slope(
            x,
            pairs[s],
            weights[s],
            D[s],
            offset[s],
            dhat[s],
            stiffness[s],
            threshold[s],
            gradients[s],
            blocks[s],
        )


@kernel
def _mollified_block(x, q, D, offset, dhat, stiffness, threshold, out):
    """Gauss–Newton part of the mollifier's curvature, 2 κ b m′ JᵀJ with J = ∂(u × v)/∂x, as 10 upper blocks."""
    _, m1, _, u, v = _mollify(x, q, threshold)
    k = 2.0 * stiffness * _barrier(D, offset, dhat)[0] * m1
    J = np.zeros((4, 3, 3))
    for a in range(4):
        sign = 1.0 if a == 0 or a == 3 else -1.0
        w = v if a < 2 else u
        J[a, 0, 1], J[a, 0, 2], J[a, 1, 2] = -sign * w[2], sign * w[1], -sign * w[0]
        J[a, 1, 0], J[a, 2, 0], J[a, 2, 1] = sign * w[2], -sign * w[1], sign * w[0]
    at = 0
    for a in range(4):
        for b in range(a, 4):
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for r in range(3):
                        total += J[a, r, i] * J[b, r, j]
                    out[at, i, j] = k * total
            at += 1


@parallel_kernel
def mollified_blocks(x, pairs, D, offset, dhat, stiffness, threshold, out):
    for s in prange(pairs.shape[0]):
        _mollified_block(x, pairs[s], D[s], offset[s], dhat[s], stiffness[s], threshold[s], out[s])


@kernel
def _edge_of(i, j, edges_from, edges):
    """Index of the edge between vertices i and j; edges are sorted."""
    if i > j:
        i, j = j, i
    lo, hi = edges_from[i], edges_from[i + 1]
    while lo < hi:
        mid = (lo + hi) // 2
        if edges[mid, 1] < j:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def _pair_constant(q, is_edges, shell, point_area, edges_from, edges, edge_area, edge_length2):
    """Contact area of one pair, and the product of its edges' squared rest lengths (0 for point–triangle)."""
    if is_edges:
        a, b = _edge_of(q[0], q[1], edges_from, edges), _edge_of(q[2], q[3], edges_from, edges)
        # where one side is a collider the shell's side counts twice
        one = edge_area[a] if shell[q[0]] else edge_area[b]
        other = edge_area[b] if shell[q[2]] else edge_area[a]
        return 0.25 * (one + other), edge_length2[a] * edge_length2[b]
    area = point_area[q[0]]
    if not shell[q[0]]:
        area = min(area, point_area[q[1]], point_area[q[2]], point_area[q[3]])
    return 0.25 * area, 0.0


@parallel_kernel
def pair_constants(
    pairs, first_edge_pair, shell, point_area, edges_from, edges, edge_area, edge_length2, area, lengths
):
    for s in prange(pairs.shape[0]):
        area[s], lengths[s] = _pair_constant(
            pairs[s], s >= first_edge_pair, shell, point_area, edges_from, edges, edge_area, edge_length2
        )
