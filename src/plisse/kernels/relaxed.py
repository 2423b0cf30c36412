"""Membrane with relaxed compression: s W + (1 − s) Q, Q the tension-field envelope of W.

Slack, σ₁ ≤ 1: Q = 0. Taut, ∂W/∂σ₂ ≥ 0: Q = W. Wrinkled, in between: Q = W(σ₁, σ₂*) with the natural width σ₂*.
"""

import math

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel
from plisse.kernels.stretch import (
    add_stress,
    deformation_gradient,
    membrane_curvature,
    metric,
    principal_stretches,
    squares,
    stretch_block,
    symmetric_stress,
)


@kernel
def _natural_width(log1, mu, lam):
    """ln σ₂* at ln σ₁: the root t of μ(e²ᵗ − 1) + λ(ln σ₁ + t), where ∂W/∂σ₂ = 0.

    The function is convex and increases (for λ < 0 from t = 0 on, and there the root is positive): after one step
    from 0 Newton is at the right of the root and falls to it without overshooting.
    """
    t = 0.0
    for _ in range(50):
        y = mu * math.exp(2.0 * t)
        change = (y - mu + lam * (log1 + t)) / (2.0 * y + lam)
        t -= change
        # the error is squared by each step
        if abs(change) < 1e-8:
            break
    return t


@kernel
def wrinkled(small, log, mu, lam):
    """Whether σ₂ < σ₂*, from σ₂² and λ ln J: ∂W/∂σ₂ < 0; for λ < 0 also where W itself turns over, all σ₂ < 1."""
    return mu * (small - 1.0) + log < 0.0 or (lam < 0.0 and small < 1.0)


@kernel
def _relaxed_energy(x, t, B, weight, mu, lam, kept):
    c = metric(deformation_gradient(x, t, B))
    det = c[0] * c[2] - c[1] * c[1]
    if not det > 0.0:
        return math.inf
    logJ = 0.5 * math.log(det)
    W = 0.5 * mu * (c[0] + c[2] - 2.0 - 2.0 * logJ) + 0.5 * lam * logJ * logJ
    big, small = squares(c)
    if big <= 1.0:
        return weight * kept * W
    if not wrinkled(small, lam * logJ, mu, lam):
        return weight * W
    log1 = 0.5 * math.log(big)
    log2 = _natural_width(log1, mu, lam)
    logJ = log1 + log2
    Q = 0.5 * mu * (big + math.exp(2.0 * log2) - 2.0 - 2.0 * logJ) + 0.5 * lam * logJ * logJ
    return weight * (kept * W + (1.0 - kept) * Q)


@parallel_kernel
def relaxed_value(x, triangles, B, weight, mu, lam, kept, out):
    for t in prange(triangles.shape[0]):
        out[t] = _relaxed_energy(x, triangles[t], B[t], weight[t], mu[t], lam[t], kept[t])


@kernel
def _relaxed_stress(x, t_index, t, B, weight, mu, lam, kept, out):
    f = deformation_gradient(x, t, B)
    c00, c01, c11 = c = metric(f)
    det = c00 * c11 - c01 * c01
    log = lam * 0.5 * math.log(det)
    push = (log - mu) / det
    m00, m01, m11 = mu + push * c11, -push * c01, mu + push * c00
    big, small = squares(c)
    if big <= 1.0:
        weight *= kept
    elif wrinkled(small, log, mu, lam):
        # Q₁ = μ(σ₁² − σ₂*²)/σ₁ along v₁v₁ᵀ = (C − σ₂² I)/(σ₁² − σ₂²)
        width2 = math.exp(2.0 * _natural_width(0.5 * math.log(big), mu, lam))
        pull = (1.0 - kept) * mu * (1.0 - width2 / big) / (big - small)
        m00 = kept * m00 + pull * (c00 - small)
        m01 = kept * m01 + pull * c01
        m11 = kept * m11 + pull * (c11 - small)
    add_stress(symmetric_stress(f, m00, m01, m11), B, weight, t_index, out)


@parallel_kernel
def relaxed_gradient(x, triangles, B, weight, mu, lam, kept, out):
    for t in prange(triangles.shape[0]):
        _relaxed_stress(x, t, triangles[t], B[t], weight[t], mu[t], lam[t], kept[t], out)


@kernel
def _relaxed_block(x, t, B, weight, mu, lam, kept, psd, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = principal_stretches(metric(f))
    W11, W12, W22, twist, flip, N1, N2 = membrane_curvature(s1, s2, mu, lam)
    if s1 <= 1.0:
        weight *= kept
    elif wrinkled(s2 * s2, lam * math.log(s1 * s2), mu, lam):
        big, y = s1 * s1, mu * math.exp(2.0 * _natural_width(math.log(s1), mu, lam))
        # W₁₁ − W₁₂²/W₂₂ at the natural width; Q does not depend on σ₂
        rest = 1.0 - kept
        Q1, Q11 = rest * (mu * s1 - y / s1), rest * (mu + y * (1.0 + 2.0 * lam / (2.0 * y + lam)) / big)
        W11, W12, W22 = kept * W11 + Q11, kept * W12, kept * W22
        twist, flip = kept * twist + Q1 / (s1 + s2), kept * flip + Q1 / (s1 - s2)
        N1, N2 = kept * N1 + Q1 / s1, kept * N2
    stretch_block(f, B, s1, s2, v0, v1, W11, W12, W22, twist, flip, N1, N2, weight, psd, out)


@parallel_kernel
def relaxed_hessian(x, triangles, B, weight, mu, lam, kept, psd, out):
    for t in prange(triangles.shape[0]):
        _relaxed_block(x, triangles[t], B[t], weight[t], mu[t], lam[t], kept[t], psd, out[t])
