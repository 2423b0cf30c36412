"""Energies of a triangle's principal stretches: neo-Hookean membrane and strain-limit barrier.

The deformation gradient is F = Σ_a x_a ⊗ B_a (3×2), with principal stretches σ₁ ≥ σ₂ and frames u, v.
In the frame û ⊗ v an isotropic energy's Hessian splits into a 2×2 stretch block, a twist, a flip and two normal
eigenvalues, so that its projection to positive semidefinite is exact and closed-form [Smith2019].
"""

import math

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def deformation_gradient(x, t, B):
    """The six entries of F, column by column, for a triangle's nodes t and shape gradients B (3, 2)."""
    i, j, k = t[0], t[1], t[2]
    f = (
        x[i, 0] * B[0, 0] + x[j, 0] * B[1, 0] + x[k, 0] * B[2, 0],
        x[i, 1] * B[0, 0] + x[j, 1] * B[1, 0] + x[k, 1] * B[2, 0],
        x[i, 2] * B[0, 0] + x[j, 2] * B[1, 0] + x[k, 2] * B[2, 0],
        x[i, 0] * B[0, 1] + x[j, 0] * B[1, 1] + x[k, 0] * B[2, 1],
        x[i, 1] * B[0, 1] + x[j, 1] * B[1, 1] + x[k, 1] * B[2, 1],
        x[i, 2] * B[0, 1] + x[j, 2] * B[1, 1] + x[k, 2] * B[2, 1],
    )
    return f


@kernel
def metric(f):
    """C = FᵀF: c00, c01, c11."""
    return (
        f[0] * f[0] + f[1] * f[1] + f[2] * f[2],
        f[0] * f[3] + f[1] * f[4] + f[2] * f[5],
        f[3] * f[3] + f[4] * f[4] + f[5] * f[5],
    )


@kernel
def squares(c):
    """σ₁² ≥ σ₂² from C = FᵀF."""
    mean = 0.5 * (c[0] + c[2])
    half = 0.5 * (c[0] - c[2])
    radius = math.hypot(half, c[1])
    big = mean + radius
    # det C / big instead of mean − radius, which cancels for thin triangles
    small = max((c[0] * c[2] - c[1] * c[1]) / big, 0.0) if big > 0.0 else 0.0
    return big, small


@kernel
def principal_stretches(c):
    """σ₁ ≥ σ₂ and the first right singular vector (v0, v1) of F from C = FᵀF."""
    big, small = squares(c)
    angle = 0.5 * math.atan2(c[1], 0.5 * (c[0] - c[2]))
    return math.sqrt(big), math.sqrt(small), math.cos(angle), math.sin(angle)


@kernel
def symmetric_stress(f, m00, m01, m11):
    """P = F M for a symmetric 2×2 matrix M."""
    return (
        f[0] * m00 + f[3] * m01,
        f[1] * m00 + f[4] * m01,
        f[2] * m00 + f[5] * m01,
        f[0] * m01 + f[3] * m11,
        f[1] * m01 + f[4] * m11,
        f[2] * m01 + f[5] * m11,
    )


@kernel
def principal_stress(f, k1, k2, v0, v1):
    """P = W₁ u₁v₁ᵀ + W₂ u₂v₂ᵀ with uᵢ = F vᵢ / σᵢ, for kᵢ = Wᵢ / σᵢ."""
    return symmetric_stress(f, k1 * v0 * v0 + k2 * v1 * v1, (k1 - k2) * v0 * v1, k1 * v1 * v1 + k2 * v0 * v0)


@kernel
def add_stress(P, B, weight, t_index, out):
    """Stencil gradient rows out[t, a] = weight · P B_a for P (3×2, column by column)."""
    for a in range(3):
        out[t_index, a, 0] = weight * (P[0] * B[a, 0] + P[3] * B[a, 1])
        out[t_index, a, 1] = weight * (P[1] * B[a, 0] + P[4] * B[a, 1])
        out[t_index, a, 2] = weight * (P[2] * B[a, 0] + P[5] * B[a, 1])


@kernel
def stretch_block(f, B, s1, s2, v0, v1, W11, W12, W22, twist, flip, N1, N2, weight, psd, out):
    """Writes the six upper 3×3 blocks of weight · Bᵀ(∂²W/∂F²)B for one triangle into out (6, 3, 3)."""
    if psd:
        # clamp the 2×2 stretch block by its own eigenvalues, the others are eigenvalues already
        mean, half = 0.5 * (W11 + W22), 0.5 * (W11 - W22)
        radius = math.hypot(half, W12)
        low, high = mean - radius, mean + radius
        if low < 0.0:
            if high <= 0.0 or radius == 0.0:
                high = max(high, 0.0)
                scale_c, scale_m = 0.0, 0.5 * high
            else:
                scale_c, scale_m = 0.5 * high / radius, 0.5 * high
            W11, W22, W12 = scale_m + scale_c * half, scale_m - scale_c * half, scale_c * W12
        twist, flip, N1, N2 = max(twist, 0.0), max(flip, 0.0), max(N1, 0.0), max(N2, 0.0)
    # left frame u1, u2, n
    u1x, u1y, u1z = (f[0] * v0 + f[3] * v1) / s1, (f[1] * v0 + f[4] * v1) / s1, (f[2] * v0 + f[5] * v1) / s1
    u2x, u2y, u2z = (f[3] * v0 - f[0] * v1) / s2, (f[4] * v0 - f[1] * v1) / s2, (f[5] * v0 - f[2] * v1) / s2
    nx, ny, nz = u1y * u2z - u1z * u2y, u1z * u2x - u1x * u2z, u1x * u2y - u1y * u2x
    same, cross = 0.5 * (flip + twist), 0.5 * (flip - twist)
    q = 0
    for a in range(3):
        a1, a2 = B[a, 0] * v0 + B[a, 1] * v1, B[a, 1] * v0 - B[a, 0] * v1
        for b in range(a, 3):
            b1, b2 = B[b, 0] * v0 + B[b, 1] * v1, B[b, 1] * v0 - B[b, 0] * v1
            K11 = weight * (a1 * b1 * W11 + a2 * b2 * same)
            K12 = weight * (a1 * b2 * W12 + a2 * b1 * cross)
            K21 = weight * (a2 * b1 * W12 + a1 * b2 * cross)
            K22 = weight * (a2 * b2 * W22 + a1 * b1 * same)
            Kn = weight * (a1 * b1 * N1 + a2 * b2 * N2)
            # Q K Qᵀ with Q = [u1 u2 n]
            p1x, p1y, p1z = K11 * u1x + K12 * u2x, K11 * u1y + K12 * u2y, K11 * u1z + K12 * u2z
            p2x, p2y, p2z = K21 * u1x + K22 * u2x, K21 * u1y + K22 * u2y, K21 * u1z + K22 * u2z
            pnx, pny, pnz = Kn * nx, Kn * ny, Kn * nz
            out[q, 0, 0] = u1x * p1x + u2x * p2x + nx * pnx
            out[q, 0, 1] = u1x * p1y + u2x * p2y + nx * pny
            out[q, 0, 2] = u1x * p1z + u2x * p2z + nx * pnz
            out[q, 1, 0] = u1y * p1x + u2y * p2x + ny * pnx
            out[q, 1, 1] = u1y * p1y + u2y * p2y + ny * pny
            out[q, 1, 2] = u1y * p1z + u2y * p2z + ny * pnz
            out[q, 2, 0] = u1z * p1x + u2z * p2x + nz * pnx
            out[q, 2, 1] = u1z * p1y + u2z * p2y + nz * pny
            out[q, 2, 2] = u1z * p1z + u2z * p2z + nz * pnz
            q += 1


@parallel_kernel
def stretches(x, triangles, B, out):
    """Principal stretches σ₁ ≥ σ₂ of each triangle into out (m, 2)."""
    for t in prange(triangles.shape[0]):
        out[t, 0], out[t, 1] = principal_stretches(metric(deformation_gradient(x, triangles[t], B[t])))[:2]


# --- neo-Hookean membrane -------------------------------------------------------------------------------------


@kernel
def _membrane_energy(x, t, B, weight, mu, lam):
    c00, c01, c11 = metric(deformation_gradient(x, t, B))
    det = c00 * c11 - c01 * c01
    if not det > 0.0:
        return math.inf
    logJ = 0.5 * math.log(det)
    return weight * (0.5 * mu * (c00 + c11 - 2.0 - 2.0 * logJ) + 0.5 * lam * logJ * logJ)


@parallel_kernel
def membrane_value(x, triangles, B, weight, mu, lam, out):
    for t in prange(triangles.shape[0]):
        out[t] = _membrane_energy(x, triangles[t], B[t], weight[t], mu[t], lam[t])


@kernel
def _membrane_stress(x, t_index, t, B, weight, mu, lam, out):
    f = deformation_gradient(x, t, B)
    c00, c01, c11 = metric(f)
    det = c00 * c11 - c01 * c01
    push = (lam * 0.5 * math.log(det) - mu) / det
    i00, i01, i11 = push * c11, -push * c01, push * c00
    P = (
        mu * f[0] + f[0] * i00 + f[3] * i01,
        mu * f[1] + f[1] * i00 + f[4] * i01,
        mu * f[2] + f[2] * i00 + f[5] * i01,
        mu * f[3] + f[0] * i01 + f[3] * i11,
        mu * f[4] + f[1] * i01 + f[4] * i11,
        mu * f[5] + f[2] * i01 + f[5] * i11,
    )
    add_stress(P, B, weight, t_index, out)


@parallel_kernel
def membrane_gradient(x, triangles, B, weight, mu, lam, out):
    for t in prange(triangles.shape[0]):
        _membrane_stress(x, t, triangles[t], B[t], weight[t], mu[t], lam[t], out)


@kernel
def membrane_curvature(s1, s2, mu, lam):
    """W₁₁, W₁₂, W₂₂, twist, flip and the two normal eigenvalues."""
    push = lam * math.log(s1 * s2) - mu
    i1, i2, i12 = 1.0 / (s1 * s1), 1.0 / (s2 * s2), 1.0 / (s1 * s2)
    return (
        mu + (lam - push) * i1, lam * i12, mu + (lam - push) * i2,
        mu + push * i12, mu - push * i12, mu + push * i1, mu + push * i2,
    )  # fmt: skip


@kernel
def _membrane_block(x, t, B, weight, mu, lam, psd, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = principal_stretches(metric(f))
    W11, W12, W22, twist, flip, N1, N2 = membrane_curvature(s1, s2, mu, lam)
    stretch_block(f, B, s1, s2, v0, v1, W11, W12, W22, twist, flip, N1, N2, weight, psd, out)


@parallel_kernel
def membrane_hessian(x, triangles, B, weight, mu, lam, psd, out):
    for t in prange(triangles.shape[0]):
        _membrane_block(x, triangles[t], B[t], weight[t], mu[t], lam[t], psd, out[t])


# --- strain-limit barrier ---------------------------------------------------------------------------------------


@kernel
def _limit(s, onset, limit):
    """b(σ) = −y² ln(1 − y) with y = (σ − ŝ)/(s̄ − ŝ), and its first two derivatives in σ; 0 below the onset."""
    if s <= onset:
        return 0.0, 0.0, 0.0
    width = limit - onset
    y = (s - onset) / width
    z = 1.0 - y
    if z <= 0.0:
        return math.inf, math.inf, math.inf
    L = math.log(z)
    b1 = -2.0 * y * L + y * y / z
    b2 = -2.0 * L + 4.0 * y / z + y * y / (z * z)
    return -y * y * L, b1 / width, b2 / (width * width)


@parallel_kernel
def limit_value(x, triangles, B, weight, onset, limit, out):
    for t in prange(triangles.shape[0]):
        s1, s2, _, _ = principal_stretches(metric(deformation_gradient(x, triangles[t], B[t])))
        out[t] = weight[t] * (_limit(s1, onset[t], limit[t])[0] + _limit(s2, onset[t], limit[t])[0])


@kernel
def _limit_stress(x, t_index, t, B, weight, onset, limit, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = principal_stretches(metric(f))
    W1 = _limit(s1, onset, limit)[1]
    if W1 == 0.0:
        out[t_index] = 0.0
        return
    P = principal_stress(f, W1 / s1, _limit(s2, onset, limit)[1] / max(s2, 1e-300), v0, v1)
    add_stress(P, B, weight, t_index, out)


@parallel_kernel
def limit_gradient(x, triangles, B, weight, onset, limit, out):
    for t in prange(triangles.shape[0]):
        _limit_stress(x, t, triangles[t], B[t], weight[t], onset[t], limit[t], out)


@kernel
def _limit_block(x, t, B, weight, onset, limit, psd, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = principal_stretches(metric(f))
    _, W1, W11 = _limit(s1, onset, limit)
    _, W2, W22 = _limit(s2, onset, limit)
    flip = (W1 - W2) / (s1 - s2) if s1 - s2 > 1e-7 * s1 else 0.5 * (W11 + W22)
    stretch_block(f, B, s1, s2, v0, v1, W11, 0.0, W22, (W1 + W2) / (s1 + s2), flip, W1 / s1, W2 / s2, weight, psd, out)


@parallel_kernel
def limit_hessian(x, triangles, B, weight, onset, limit, psd, out):
    for t in prange(triangles.shape[0]):
        _limit_block(x, triangles[t], B[t], weight[t], onset[t], limit[t], psd, out[t])


@kernel
def _largest(f, g, a):
    """σ₁ of F + a G."""
    h = (f[0] + a * g[0], f[1] + a * g[1], f[2] + a * g[2], f[3] + a * g[3], f[4] + a * g[4], f[5] + a * g[5])
    return math.sqrt(squares(metric(h))[0])


@kernel
def _limit_step(x, p, t, B, limit, keep):
    """Largest step of one triangle such that σ₁ stays below limit − keep·(limit − σ₁(0)) along the whole way.

    σ₁(F + a G) is convex in a, so its largest value on an interval is at an end: the first crossing is
    bracketed by the end point and found by bisection from the safe side.
    """
    f, g = deformation_gradient(x, t, B), deformation_gradient(p, t, B)
    s0 = principal_stretches(metric(f))[0]
    bound = limit - keep * (limit - s0)
    if _largest(f, g, 1.0) <= bound:
        return 1.0
    lo, hi = 0.0, 1.0
    for _ in range(40):
        a = 0.5 * (lo + hi)
        if _largest(f, g, a) <= bound:
            lo = a
        else:
            hi = a
    return lo


@parallel_kernel
def limit_step(x, p, triangles, B, limit, keep, out):
    for t in prange(triangles.shape[0]):
        out[t] = _limit_step(x, p, triangles[t], B[t], limit[t], keep)


@parallel_kernel
def shape_gradients(X, triangles, B):
    """B (m, 3, 2): F = Σ_a x_a ⊗ B_a is the identity embedding of each rest triangle in its own plane."""
    for t in prange(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        e1, e2 = X[j] - X[i], X[k] - X[i]
        length = math.sqrt(e1[0] ** 2 + e1[1] ** 2 + e1[2] ** 2)
        along = (e1[0] * e2[0] + e1[1] * e2[1] + e1[2] * e2[2]) / length
        up = math.sqrt(max(e2[0] ** 2 + e2[1] ** 2 + e2[2] ** 2 - along * along, 0.0))
        # inverse of the rest edge matrix [[length, along], [0, up]]
        B[t, 1, 0], B[t, 1, 1] = 1.0 / length, -along / (length * up)
        B[t, 2, 0], B[t, 2, 1] = 0.0, 1.0 / up
        B[t, 0, 0], B[t, 0, 1] = -B[t, 1, 0] - B[t, 2, 0], -B[t, 1, 1] - B[t, 2, 1]
