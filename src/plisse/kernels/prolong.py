"""Fine vertices that ride on a coarse triangle each: their positions, and forces on them as forces on its parts.

y = Σ_k w_k x_k + Σ_{j<k} w_j w_k c_jk + t₁r₁ + t₂r₂ + γn is linear in the triangle's corners, its sides' bulges and the
rows of its frame. So whatever is nonlinear is a matter of the coarse mesh, and velocities take the same loop.
"""

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@parallel_kernel
def prolong(x, triangles, home, weights, offsets, frames, bulges, out):
    """Fine positions into out (n, 3).

    home: containing triangles (n,); weights: barycentric (n, 3); offsets: (t₁, t₂, γ) [m], shape (n, 3); frames:
    (m, 3, 3), rows r₁, r₂, n; bulges: of the sides (0,1), (1,2), (2,0), shape (m, 3, 3), or (0, 3, 3) without any.
    """
    bulging = bulges.shape[0] > 0
    for i in prange(home.shape[0]):
        t = home[i]
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        u, v, w = weights[i, 0], weights[i, 1], weights[i, 2]
        o, p, q = offsets[i, 0], offsets[i, 1], offsets[i, 2]
        y0 = u * x[a, 0] + v * x[b, 0] + w * x[c, 0]
        y1 = u * x[a, 1] + v * x[b, 1] + w * x[c, 1]
        y2 = u * x[a, 2] + v * x[b, 2] + w * x[c, 2]
        y0 += o * frames[t, 0, 0] + p * frames[t, 1, 0] + q * frames[t, 2, 0]
        y1 += o * frames[t, 0, 1] + p * frames[t, 1, 1] + q * frames[t, 2, 1]
        y2 += o * frames[t, 0, 2] + p * frames[t, 1, 2] + q * frames[t, 2, 2]
        if bulging:
            uv, vw, wu = u * v, v * w, w * u
            y0 += uv * bulges[t, 0, 0] + vw * bulges[t, 1, 0] + wu * bulges[t, 2, 0]
            y1 += uv * bulges[t, 0, 1] + vw * bulges[t, 1, 1] + wu * bulges[t, 2, 1]
            y2 += uv * bulges[t, 0, 2] + vw * bulges[t, 1, 2] + wu * bulges[t, 2, 2]
        out[i, 0], out[i, 1], out[i, 2] = y0, y1, y2


@kernel
def _sum_forces(g, riders, first, last, factors, neighbouring):
    """Σ c g over a range of riders for each column c of factors (n, 3), or for the products of neighbouring ones."""
    s0, s1, s2, s3, s4, s5, s6, s7, s8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(first, last):
        i = riders[s]
        g0, g1, g2 = g[i, 0], g[i, 1], g[i, 2]
        u, v, w = factors[s, 0], factors[s, 1], factors[s, 2]
        if neighbouring:
            u, v, w = u * v, v * w, w * u
        s0 += u * g0
        s1 += u * g1
        s2 += u * g2
        s3 += v * g0
        s4 += v * g1
        s5 += v * g2
        s6 += w * g0
        s7 += w * g1
        s8 += w * g2
    return s0, s1, s2, s3, s4, s5, s6, s7, s8


@kernel
def _put(out, t, s):
    out[t, 0, 0], out[t, 0, 1], out[t, 0, 2] = s[0], s[1], s[2]
    out[t, 1, 0], out[t, 1, 1], out[t, 1, 2] = s[3], s[4], s[5]
    out[t, 2, 0], out[t, 2, 1], out[t, 2, 2] = s[6], s[7], s[8]


@parallel_kernel
def collect(g, start, riders, weights, offsets, on_corners, on_frames, on_bulges):
    """What fine forces g (n, 3) are on the corners, frames and bulges of triangles: `prolong` transposed.

    start, riders: the fine vertices of each triangle as CSR; weights, offsets: theirs, in that order. on_frames and
    on_bulges are (m, 3, 3), or (0, 3, 3) where they are held.
    """
    for t in prange(start.shape[0] - 1):
        first, last = start[t], start[t + 1]
        _put(on_corners, t, _sum_forces(g, riders, first, last, weights, False))
        if on_frames.shape[0] > 0:
            _put(on_frames, t, _sum_forces(g, riders, first, last, offsets, False))
        if on_bulges.shape[0] > 0:
            _put(on_bulges, t, _sum_forces(g, riders, first, last, weights, True))


@parallel_kernel
def gather_corners(start, corners, local, out):
    """out[v] = Σ of local (m, 3, 3) over the triangles' corners at each vertex v, in a fixed order."""
    for v in prange(start.shape[0] - 1):
        a, b, c = 0.0, 0.0, 0.0
        for s in range(start[v], start[v + 1]):
            t, k = corners[s] // 3, corners[s] % 3
            a += local[t, k, 0]
            b += local[t, k, 1]
            c += local[t, k, 2]
        out[v, 0], out[v, 1], out[v, 2] = a, b, c
