"""Smoothed Coulomb friction of contact stencils with lagged normals and normal forces [Li2020] §5."""

import math

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel

UNMOVED = 1e-3  # slip below this part of eps counts as none


@kernel
def _slip(x, x_start, q, w, n):
    """Tangential relative displacement u and its length."""
    ux, uy, uz = 0.0, 0.0, 0.0
    for a in range(q.shape[0]):
        i = q[a]
        ux += w[a] * (x[i, 0] - x_start[i, 0])
        uy += w[a] * (x[i, 1] - x_start[i, 1])
        uz += w[a] * (x[i, 2] - x_start[i, 2])
    along = ux * n[0] + uy * n[1] + uz * n[2]
    ux, uy, uz = ux - along * n[0], uy - along * n[1], uz - along * n[2]
    return ux, uy, uz, math.sqrt(ux * ux + uy * uy + uz * uz)


@kernel
def _work(y, eps):
    """f₀(y): y beyond eps, else the C¹ polynomial −y³/3ε² + y²/ε + ε/3."""
    return y if y >= eps else y * y * (1.0 / eps - y / (3.0 * eps * eps)) + eps / 3.0


@kernel
def _secant(y, eps):
    """f₁(y)/y = f₀′(y)/y."""
    return 1.0 / y if y >= eps else (2.0 - y / eps) / eps


@parallel_kernel
def slip_lengths(x, x_start, nodes, weights, normals, out):
    for s in prange(nodes.shape[0]):
        out[s] = _slip(x, x_start, nodes[s], weights[s], normals[s])[3]


@parallel_kernel
def friction_energy(x, x_start, nodes, weights, normals, limit, eps, out):
    """limit · f₀(‖u‖) with limit = μ λ [N]."""
    for s in prange(nodes.shape[0]):
        out[s] = limit[s] * _work(_slip(x, x_start, nodes[s], weights[s], normals[s])[3], eps)


@kernel
def _friction_gradient(x, x_start, q, w, n, limit, eps, out):
    ux, uy, uz, y = _slip(x, x_start, q, w, n)
    k = limit * _secant(y, eps)
    for a in range(q.shape[0]):
        out[a, 0], out[a, 1], out[a, 2] = k * w[a] * ux, k * w[a] * uy, k * w[a] * uz


@parallel_kernel
def friction_gradients(x, x_start, nodes, weights, normals, limit, eps, out):
    for s in prange(nodes.shape[0]):
        _friction_gradient(x, x_start, nodes[s], weights[s], normals[s], limit[s], eps, out[s])


@kernel
def _friction_block(x, x_start, q, w, n, limit, eps, expected, exact, out):
    """The 3×3 block of w wᵀ ⊗ block: exact, or the secant k (I − n nᵀ), k = limit f₁(y)/y.

    y is the slip or, where none has happened yet, the expected one. f₀ is concave in y², so the secant at y is the
    quadratic that touches f₀ from above; the exact Hessian has no curvature along a slip beyond eps and throws Newton
    far across the kink at zero slip.
    """
    ux, uy, uz, y = _slip(x, x_start, q, w, n)
    u = (ux, uy, uz)
    along = 0.0
    if exact:
        k = limit * _secant(y, eps)
        slope = 0.0 if y >= eps else limit * 2.0 * (1.0 - y / eps) / eps
        along = (slope - k) / (y * y) if y > 0.0 else 0.0
    else:
        k = limit * _secant(expected if y < UNMOVED * eps else y, eps)
    for i in range(3):
        for j in range(3):
            out[i, j] = along * u[i] * u[j] - k * n[i] * n[j]
        out[i, i] += k


@parallel_kernel
def friction_blocks(x, x_start, nodes, weights, normals, limit, eps, expected, exact, out):
    for s in prange(nodes.shape[0]):
        _friction_block(x, x_start, nodes[s], weights[s], normals[s], limit[s], eps, expected[s], exact, out[s])
