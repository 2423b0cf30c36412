"""Quadratic energies of how a triangle's Green strain E = ½ (FᵀF − I) has changed, for damping.

Strains are vectors e = (E₀₀, E₁₁, 2 E₀₁), so that ½ eᵀT e is an energy density and T e = (S₀₀, S₁₁, S₀₁) a stress.
"""

import math

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel
from plisse.kernels.relaxed import wrinkled
from plisse.kernels.stretch import add_stress, deformation_gradient, metric, principal_stretches, symmetric_stress


@kernel
def _strain(f):
    c00, c01, c11 = metric(f)
    return 0.5 * (c00 - 1.0), 0.5 * (c11 - 1.0), c01


@parallel_kernel
def strains(x, triangles, B, out):
    """e of each triangle into out (m, 3)."""
    for t in prange(triangles.shape[0]):
        out[t, 0], out[t, 1], out[t, 2] = _strain(deformation_gradient(x, triangles[t], B[t]))


@kernel
def _modulus(f, mu, lam, kept, out):
    """Hooke's law at x into out (3, 3): of what is slack or wrinkled, `kept` and the tension along the wrinkles."""
    s1, s2, v0, v1 = principal_stretches(metric(f))
    part, along = 1.0, 0.0
    if s1 <= 1.0:
        part = kept
    elif s2 <= 0.0 or wrinkled(s2 * s2, lam * math.log(s1 * s2), mu, lam):
        part, along = kept, (1.0 - kept) * 4.0 * mu * (mu + lam) / (2.0 * mu + lam)
    a = (v0 * v0, v1 * v1, v0 * v1)
    for i in range(3):
        for j in range(3):
            out[i, j] = along * a[i] * a[j]
    out[0, 0] += part * (2.0 * mu + lam)
    out[1, 1] += part * (2.0 * mu + lam)
    out[0, 1] += part * lam
    out[1, 0] += part * lam
    out[2, 2] += part * mu


@parallel_kernel
def moduli(x, triangles, B, mu, lam, kept, out):
    """T of each triangle into out (m, 3, 3), see `relaxed` for what is slack or wrinkled."""
    for t in prange(triangles.shape[0]):
        _modulus(deformation_gradient(x, triangles[t], B[t]), mu[t], lam[t], kept[t], out[t])


@kernel
def _change(f, T, before):
    """The change of strain e and its stress T e."""
    e0, e1, e2 = _strain(f)
    e0, e1, e2 = e0 - before[0], e1 - before[1], e2 - before[2]
    return (e0, e1, e2), (
        T[0, 0] * e0 + T[0, 1] * e1 + T[0, 2] * e2,
        T[1, 0] * e0 + T[1, 1] * e1 + T[1, 2] * e2,
        T[2, 0] * e0 + T[2, 1] * e1 + T[2, 2] * e2,
    )


@parallel_kernel
def rate_value(x, triangles, B, weight, T, before, out):
    for t in prange(triangles.shape[0]):
        e, s = _change(deformation_gradient(x, triangles[t], B[t]), T[t], before[t])
        out[t] = 0.5 * weight[t] * (e[0] * s[0] + e[1] * s[1] + e[2] * s[2])


@kernel
def _rate_stress(x, t_index, t, B, weight, T, before, out):
    f = deformation_gradient(x, t, B)
    _, s = _change(f, T, before)
    add_stress(symmetric_stress(f, s[0], s[2], s[1]), B, weight, t_index, out)


@parallel_kernel
def rate_gradient(x, triangles, B, weight, T, before, out):
    for t in prange(triangles.shape[0]):
        _rate_stress(x, t, triangles[t], B[t], weight[t], T[t], before[t], out)


@kernel
def _without_pressure(s00, s11, s01):
    """The nearest stress whose principal values are not negative."""
    mean, half = 0.5 * (s00 + s11), 0.5 * (s00 - s11)
    radius = math.hypot(half, s01)
    if mean >= radius:
        return s00, s11, s01
    if mean <= -radius:
        return 0.0, 0.0, 0.0
    high = 0.5 * (mean + radius)
    scale = high / radius
    return high + scale * half, high - scale * half, scale * s01


@kernel
def _rate_block(x, t, B, weight, T, before, psd, out):
    f = deformation_gradient(x, t, B)
    _, s = _change(f, T, before)
    s00, s11, s01 = _without_pressure(s[0], s[1], s[2]) if psd else s
    G = np.empty((3, 3, 3))  # ∂e/∂x of each corner: component, corner, axis
    for a in range(3):
        for i in range(3):
            G[0, a, i] = B[a, 0] * f[i]
            G[1, a, i] = B[a, 1] * f[3 + i]
            G[2, a, i] = B[a, 1] * f[i] + B[a, 0] * f[3 + i]
    q = 0
    for a in range(3):
        for b in range(a, 3):
            pull = s00 * B[a, 0] * B[b, 0] + s11 * B[a, 1] * B[b, 1] + s01 * (B[a, 0] * B[b, 1] + B[a, 1] * B[b, 0])
            for i in range(3):
                for j in range(3):
                    total = pull if i == j else 0.0
                    for k in range(3):
                        for m in range(3):
                            total += G[k, a, i] * T[k, m] * G[m, b, j]
                    out[q, i, j] = weight * total
            q += 1


@parallel_kernel
def rate_hessian(x, triangles, B, weight, T, before, psd, out):
    """Upper blocks (m, 6, 3, 3); with psd, the part of stresses that push is left out."""
    for t in prange(triangles.shape[0]):
        _rate_block(x, triangles[t], B[t], weight[t], T[t], before[t], psd, out[t])
