"""Dihedral angles of hinges with exact first and second derivatives [Tamstorf2013].

A hinge is (v0, v1, v2, v3): the shared edge v0→v1 as oriented in the first triangle, the vertex v2 opposite in the
first triangle and v3 opposite in the second. θ is 0 when flat.
"""

import math

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def _geometry(x, q):
    """Edge e, its length, and the unnormalised normals N1 = e × (x2 − x0), N2 = (x3 − x0) × e with squared norms."""
    a, b, c, d = q[0], q[1], q[2], q[3]
    ex, ey, ez = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    cx, cy, cz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    dx, dy, dz = x[d, 0] - x[a, 0], x[d, 1] - x[a, 1], x[d, 2] - x[a, 2]
    N1 = (ey * cz - ez * cy, ez * cx - ex * cz, ex * cy - ey * cx)
    N2 = (dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex)
    E2 = ex * ex + ey * ey + ez * ez
    return (
        (ex, ey, ez), math.sqrt(E2), N1, N2,
        N1[0] * N1[0] + N1[1] * N1[1] + N1[2] * N1[2], N2[0] * N2[0] + N2[1] * N2[1] + N2[2] * N2[2],
        (cx * ex + cy * ey + cz * ez) / E2, (dx * ex + dy * ey + dz * ez) / E2,
    )  # fmt: skip


@kernel
def _angle(e, length, N1, N2):
    cx, cy, cz = N1[1] * N2[2] - N1[2] * N2[1], N1[2] * N2[0] - N1[0] * N2[2], N1[0] * N2[1] - N1[1] * N2[0]
    sine = (cx * e[0] + cy * e[1] + cz * e[2]) / length
    return math.atan2(sine, N1[0] * N2[0] + N1[1] * N2[1] + N1[2] * N2[2])


@parallel_kernel
def angles(x, hinges, out):
    for s in prange(hinges.shape[0]):
        e, length, N1, N2, _, _, _, _ = _geometry(x, hinges[s])
        out[s] = _angle(e, length, N1, N2)


@kernel
def _angle_gradient(x, q, out):
    """θ and ∂θ/∂x into out (4, 3)."""
    e, length, N1, N2, n1, n2, s1, s2 = _geometry(x, q)
    k1, k2 = length / n1, length / n2
    for i in range(3):
        m1, m2 = k1 * N1[i], k2 * N2[i]
        out[2, i] = -m1
        out[3, i] = -m2
        out[0, i] = (1.0 - s1) * m1 + (1.0 - s2) * m2
        out[1, i] = s1 * m1 + s2 * m2
    return _angle(e, length, N1, N2)


@parallel_kernel
def angle_gradients(x, hinges, theta, out):
    """θ (m,) and ∂θ/∂x (m, 4, 3)."""
    for s in prange(hinges.shape[0]):
        theta[s] = _angle_gradient(x, hinges[s], out[s])


@kernel
def _cross_rows(sign, wx, wy, wz, out):
    """out += sign · [w]×, the matrix of v ↦ w × v."""
    out[0, 1] -= sign * wz
    out[0, 2] += sign * wy
    out[1, 0] += sign * wz
    out[1, 2] -= sign * wx
    out[2, 0] -= sign * wy
    out[2, 1] += sign * wx


@kernel
def _angle_hessian(x, q, H):
    """∂²θ/∂x² into H (12, 12): the Jacobian of the gradient rows c · m, m = ‖e‖ N / ‖N‖²."""
    e, length, N1, N2, n1, n2, s1, s2 = _geometry(x, q)
    a = q[0]
    H[:] = 0.0
    for side in range(2):
        N = N1 if side == 0 else N2
        nn, s = (n1, s1) if side == 0 else (n2, s2)
        opposite = 2 if side == 0 else 3
        o = q[opposite]
        d = (x[o, 0] - x[a, 0], x[o, 1] - x[a, 1], x[o, 2] - x[a, 2])
        # dN = ± (de × d + e × dd): [−d]× de + [e]× dd for the first side, the negative for the second
        sign = 1.0 if side == 0 else -1.0
        De = np.zeros((3, 3))
        Dd = np.zeros((3, 3))
        _cross_rows(-sign, d[0], d[1], d[2], De)
        _cross_rows(sign, e[0], e[1], e[2], Dd)
        # dm = (ê·de) N/‖N‖² + ‖e‖ (I − 2 N Nᵀ/‖N‖²) dN / ‖N‖²
        Me = np.zeros((3, 3))
        Md = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                reflected_e, reflected_d = De[i, j], Dd[i, j]
                for k in range(3):
                    reflected_e -= 2.0 * N[i] * N[k] / nn * De[k, j]
                    reflected_d -= 2.0 * N[i] * N[k] / nn * Dd[k, j]
                Me[i, j] = length * reflected_e / nn + N[i] * e[j] / (length * nn)
                Md[i, j] = length * reflected_d / nn
        # coefficients of m in the gradient rows of v0, v1 and the opposite vertex, and ds in terms of de, dd
        E2 = length * length
        for row in range(3):
            node = row if row < 2 else opposite
            c = (1.0 - s) if row == 0 else (s if row == 1 else -1.0)
            dc = -1.0 if row == 0 else (1.0 if row == 1 else 0.0)
            for i in range(3):
                m = length * N[i] / nn
                for j in range(3):
                    je = c * Me[i, j] + dc * m * (d[j] - 2.0 * s * e[j]) / E2
                    jd = c * Md[i, j] + dc * m * e[j] / E2
                    H[3 * node + i, j] -= je + jd
                    H[3 * node + i, 3 + j] += je
                    H[3 * node + i, 3 * opposite + j] += jd


@parallel_kernel
def bending_hessian(x, hinges, stiffness, rest, out):
    """Exact upper blocks (m, 10, 3, 3) of stiffness · (θ − θ̄)²."""
    for s in prange(hinges.shape[0]):
        _bending_block(x, hinges[s], stiffness[s], rest[s], out[s])


@kernel
def _bending_block(x, q, stiffness, rest, out):
    g = np.empty((4, 3))
    H = np.empty((12, 12))
    bend = _angle_gradient(x, q, g) - rest
    _angle_hessian(x, q, H)
    k = 0
    for a in range(4):
        for b in range(a, 4):
            for i in range(3):
                for j in range(3):
                    out[k, i, j] = 2.0 * stiffness * (g[a, i] * g[b, j] + bend * H[3 * a + i, 3 * b + j])
            k += 1


@parallel_kernel
def angle_hessians(x, hinges, weights, out):
    """Upper blocks (m, 10, 3, 3) of weight · ∂²θ/∂x²."""
    for s in prange(hinges.shape[0]):
        _angle_block(x, hinges[s], weights[s], out[s])


@kernel
def _angle_block(x, q, weight, out):
    H = np.empty((12, 12))
    _angle_hessian(x, q, H)
    k = 0
    for a in range(4):
        for b in range(a, 4):
            for i in range(3):
                for j in range(3):
                    out[k, i, j] = weight * H[3 * a + i, 3 * b + j]
            k += 1
