"""Exact Hessian of the contact barrier: for the closest pairs; all others take the closed-form PSD block."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.kernels import barrier

UPPER = [(a, c) for a in range(4) for c in range(a, 4)]  # order of the upper blocks of a four-vertex stencil


def barrier_blocks(
    x: Floats,
    pairs: Ints,
    w: Floats,
    D: Floats,
    offset: Floats,
    dhat: Floats,
    stiffness: Floats,
    threshold: Floats,
) -> Floats:
    """Upper blocks (k, 10, 3, 3) of ∇²(κ A m b).

    D(x) = min over the free witness parameters β of ‖Σ wᵢ(β) xᵢ‖², and w is linear in β, hence
    ∇²D = D_xx − D_xβ D_ββ⁻¹ D_βx with D_xx = 2 w wᵀ ⊗ I, D_xβ = 2 (w ⊗ T + w′ ⊗ r), D_ββ = 2 TᵀT, T = ∂r/∂β.
    """
    k = len(pairs)
    q = x[pairs]
    r = np.einsum("ka,kai->ki", w, q)
    slopes = _weight_slopes(w, threshold > 0.0)
    T = np.einsum("kac,kai->kic", slopes, q)
    gram = 2.0 * np.einsum("kic,kid->kcd", T, T)
    # parameters that are not free have a zero column: give them a unit pivot
    for c in range(2):
        gram[:, c, c] += (slopes[:, :, c] == 0.0).all(axis=1)
    mixed = 2.0 * (np.einsum("ka,kic->kaic", w, T) + np.einsum("kac,ki->kaic", slopes, r)).reshape(k, 12, 2)
    second = 2.0 * np.einsum("ka,kb,ij->kaibj", w, w, np.eye(3)).reshape(k, 12, 12)
    second -= mixed @ np.linalg.solve(gram, mixed.transpose(0, 2, 1))
    first = 2.0 * np.einsum("ka,ki->kai", w, r).reshape(k, 12)
    derivatives = np.empty((3, k))
    barrier.barrier_derivatives(D, offset, dhat, derivatives)
    b, b1, b2 = derivatives
    m, dm, ddm = _mollifier(q, threshold)
    H = m[:, None, None] * (b1[:, None, None] * second + b2[:, None, None] * first[:, :, None] * first[:, None, :])
    cross = (b1[:, None] * first)[:, :, None] * dm[:, None, :]
    H += cross + cross.transpose(0, 2, 1) + b[:, None, None] * ddm
    return _upper(stiffness[:, None, None] * H)


def project_blocks(blocks: Floats) -> Floats:
    """Each pair's Hessian without its negative eigenvalues; upper blocks in and out, shape (k, 10, 3, 3)."""
    full = np.empty((len(blocks), 4, 3, 4, 3))
    for q, (a, c) in enumerate(UPPER):
        full[:, a, :, c, :], full[:, c, :, a, :] = blocks[:, q], blocks[:, q].transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(full.reshape(-1, 12, 12))
    return _upper((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))


def _upper(H: Floats) -> Floats:
    H = H.reshape(-1, 4, 3, 4, 3)
    return np.ascontiguousarray(np.stack([H[:, a, :, c, :] for a, c in UPPER], axis=1))


def _weight_slopes(w: Floats, is_edges: np.ndarray) -> Floats:
    """∂w/∂β (k, 4, 2) along the free parameters of each pair's active feature; zero columns where fewer are free."""
    out = np.zeros((len(w), 4, 2))
    # edge–edge: w = (1 − s, s, t − 1, −t); a clamped parameter is not free
    out[:, 0, 0], out[:, 1, 0] = -1.0, 1.0
    out[:, 2, 1], out[:, 3, 1] = 1.0, -1.0
    out[(w[:, 0] == 0.0) | (w[:, 1] == 0.0), :, 0] = 0.0
    out[(w[:, 2] == 0.0) | (w[:, 3] == 0.0), :, 1] = 0.0
    # point–triangle: free are shifts of weight from one corner to each other one that has any
    rows = np.flatnonzero(~is_edges)
    used = w[rows, 1:] != 0.0
    first = used.argmax(axis=1)
    out[rows] = 0.0
    for c, after in ((0, 1), (1, 2)):
        corner = (first + after) % 3
        chosen = used[np.arange(len(rows)), corner]
        free = rows[chosen]
        out[free, 1 + first[chosen], c], out[free, 1 + corner[chosen], c] = 1.0, -1.0
    return out


def _mollifier(q: Floats, threshold: Floats) -> tuple[Floats, Floats, Floats]:
    """m (k,), ∇m (k, 12), ∇²m (k, 12, 12) of IPC's edge–edge mollifier; one and zeros where it does not act."""
    k = len(q)
    u, v = q[:, 1] - q[:, 0], q[:, 3] - q[:, 2]
    n = np.cross(u, v)
    c = (n**2).sum(axis=1)
    on = c < threshold
    scale = np.where(on, threshold, 1.0)
    m = np.where(on, (2.0 - c / scale) * c / scale, 1.0)
    m1 = np.where(on, 2.0 * (1.0 - c / scale) / scale, 0.0)
    m2 = np.where(on, -2.0 / scale**2, 0.0)
    # J = ∂(u × v)/∂x (k, 3, 12); c = n·n
    J = np.concatenate([_cross(v), -_cross(v), -_cross(u), _cross(u)], axis=2)
    slope = 2.0 * np.einsum("ki,kij->kj", n, J)
    second = 2.0 * np.einsum("kia,kib->kab", J, J)
    # u × v is bilinear: n · (du × dv) mixes the two edges through [n]ₓ
    mixed = 2.0 * _cross(n)
    signs_u, signs_v = ((0, -1.0), (1, 1.0)), ((2, -1.0), (3, 1.0))
    for a, sa in signs_u:
        for b, sb in signs_v:
            # n·(du × dv) = duᵀ (dv × n) = −duᵀ [n]ₓ dv
            second[:, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3] -= sa * sb * mixed
            second[:, 3 * b : 3 * b + 3, 3 * a : 3 * a + 3] -= sa * sb * mixed.transpose(0, 2, 1)
    dm = m1[:, None] * slope
    ddm = m1[:, None, None] * second + m2[:, None, None] * slope[:, :, None] * slope[:, None, :]
    return m, dm.reshape(k, 12), ddm


def _cross(a: Floats) -> Floats:
    """[a]ₓ, shape (k, 3, 3)."""
    out = np.zeros((len(a), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    return out - out.transpose(0, 2, 1)
