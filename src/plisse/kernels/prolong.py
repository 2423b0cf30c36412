"""Fine vertices that ride on a coarse triangle each: their positions, and forces on them as forces on its corners.

y = Σ_k w_k x_k + α Σ_{j<k} w_j w_k c_jk + t₁r₁ + t₂r₂ + γn is linear in the triangle's corners, its sides' bulges and
the rows of its frame: whatever is not linear is computed once a triangle, and velocities take the same loop.

Arguments: x: coarse positions (n_coarse, 3) [m]; triangles (m, 3) and their rest shape gradients B (m, 3, 2) [1/m];
normals: of coarse vertices, shape (n_coarse, 3), not read for α = 0; start, riders: the fine vertices on each triangle
as CSR; weights: barycentric, and offsets: (t₁, t₂, γ) [m], both (n, 3) in the order of riders.
"""

from numba import prange

from plisse.kernels.bulges import find_bulge, pull_bulge, pull_normals, turn_bulge
from plisse.kernels.frames import at, blend, find_frame, gradient, put, stress_of_pulls, turn_frame
from plisse.kernels.jit import kernel, parallel_kernel

NONE = (0.0, 0.0, 0.0)


@parallel_kernel
def prolong(x, triangles, B, normals, alpha, start, riders, weights, offsets, out, parts):
    """Fine positions into out (n, 3)."""
    m = triangles.shape[0]
    for part in prange(parts):
        first, last = m * part // parts, m * (part + 1) // parts
        _prolong_in(x, triangles, B, normals, alpha, start, riders, weights, offsets, out, first, last)


@kernel
def _prolong_in(x, triangles, B, normals, alpha, start, riders, weights, offsets, out, first, last):
    d, e, f = NONE, NONE, NONE
    for t in range(first, last):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        f1, f2 = gradient(x, triangles, B, t)
        r1, r2, n = find_frame(f1, f2)
        if alpha > 0.0:
            d, e, f = find_bulge(x, normals, i, j), find_bulge(x, normals, j, k), find_bulge(x, normals, k, i)
        a, b, c = at(x, i), at(x, j), at(x, k)
        for s in range(start[t], start[t + 1]):
            y = _ride(a, b, c, d, e, f, r1, r2, n, alpha, weights, offsets, s)
            out[riders[s], 0], out[riders[s], 1], out[riders[s], 2] = y


@kernel
def _ride(a, b, c, d, e, f, r1, r2, n, alpha, weights, offsets, s):
    """Rider s of a triangle with corners a, b, c, bulges d, e, f, and a frame."""
    u, v, w = weights[s, 0], weights[s, 1], weights[s, 2]
    o, p, q = offsets[s, 0], offsets[s, 1], offsets[s, 2]
    y0 = u * a[0] + v * b[0] + w * c[0] + o * r1[0] + p * r2[0] + q * n[0]
    y1 = u * a[1] + v * b[1] + w * c[1] + o * r1[1] + p * r2[1] + q * n[1]
    y2 = u * a[2] + v * b[2] + w * c[2] + o * r1[2] + p * r2[2] + q * n[2]
    if alpha > 0.0:
        uv, vw, wu = alpha * u * v, alpha * v * w, alpha * w * u
        y0 += uv * d[0] + vw * e[0] + wu * f[0]
        y1 += uv * d[1] + vw * e[1] + wu * f[1]
        y2 += uv * d[2] + vw * e[2] + wu * f[2]
    return y0, y1, y2


@parallel_kernel
def push(x, v, triangles, B, normals, speeds, alpha, exact, start, riders, weights, offsets, out, parts):
    """Fine velocities into out (n, 3) for coarse ones v (n_coarse, 3) and speeds of the normals (n_coarse, 3).

    exact: whether frames turn.
    """
    m = triangles.shape[0]
    for part in prange(parts):
        first, last = m * part // parts, m * (part + 1) // parts
        _push_in(x, v, triangles, B, normals, speeds, alpha, exact, start, riders, weights, offsets, out, first, last)


@kernel
def _push_in(x, v, triangles, B, normals, speeds, alpha, exact, start, riders, weights, offsets, out, first, last):
    d, e, f, w1, w2, w3 = NONE, NONE, NONE, NONE, NONE, NONE
    for t in range(first, last):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        if exact:
            f1, f2 = gradient(x, triangles, B, t)
            d1, d2 = gradient(v, triangles, B, t)
            r1, r2, n = find_frame(f1, f2)
            w1, w2, w3 = turn_frame(f1, f2, d1, d2, r1, r2, n)
        if alpha > 0.0:
            d = turn_bulge(x, v, normals, speeds, i, j)
            e = turn_bulge(x, v, normals, speeds, j, k)
            f = turn_bulge(x, v, normals, speeds, k, i)
        a, b, c = at(v, i), at(v, j), at(v, k)
        for s in range(start[t], start[t + 1]):
            y = _ride(a, b, c, d, e, f, w1, w2, w3, alpha, weights, offsets, s)
            out[riders[s], 0], out[riders[s], 1], out[riders[s], 2] = y


@kernel
def _sum(g, first, last, riders, factors):
    """Σ c g over riders for each column c of factors (n, 3)."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(first, last):
        i, u, v, w = riders[s], factors[s, 0], factors[s, 1], factors[s, 2]
        g0, g1, g2 = g[i, 0], g[i, 1], g[i, 2]
        a0, a1, a2 = a0 + u * g0, a1 + u * g1, a2 + u * g2
        b0, b1, b2 = b0 + v * g0, b1 + v * g1, b2 + v * g2
        c0, c1, c2 = c0 + w * g0, c1 + w * g1, c2 + w * g2
    return (a0, a1, a2), (b0, b1, b2), (c0, c1, c2)


@kernel
def _sum_products(g, first, last, riders, weights):
    """Σ w_j w_k g over riders for each side."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(first, last):
        i, u, v, w = riders[s], weights[s, 0], weights[s, 1], weights[s, 2]
        g0, g1, g2 = g[i, 0], g[i, 1], g[i, 2]
        uv, vw, wu = u * v, v * w, w * u
        a0, a1, a2 = a0 + uv * g0, a1 + uv * g1, a2 + uv * g2
        b0, b1, b2 = b0 + vw * g0, b1 + vw * g1, b2 + vw * g2
        c0, c1, c2 = c0 + wu * g0, c1 + wu * g1, c2 + wu * g2
    return (a0, a1, a2), (b0, b1, b2), (c0, c1, c2)


@parallel_kernel
def pull(x, g, triangles, B, normals, alpha, exact, start, riders, weights, offsets, forces, on_normals, parts):
    """Forces on the triangles' corners (m, 3, 3) that fine forces g (n, 3) are: `push` transposed.

    exact: whether frames turn, and for α > 0 what pulls on the corners' normals goes to on_normals (m, 3, 3).
    """
    m = triangles.shape[0]
    for part in prange(parts):
        first, last = m * part // parts, m * (part + 1) // parts
        how = (alpha, exact, first, last)
        _pull_in(x, g, triangles, B, normals, start, riders, weights, offsets, forces, on_normals, how)


@kernel
def _pull_in(x, g, triangles, B, normals, start, riders, weights, offsets, forces, on_normals, how):
    alpha, exact, first, last = how
    for t in range(first, last):
        a, b, c = _sum(g, start[t], start[t + 1], riders, weights)
        if exact:
            p1, p2, p3 = _sum(g, start[t], start[t + 1], riders, offsets)
            f1, f2 = gradient(x, triangles, B, t)
            r1, r2, n = find_frame(f1, f2)
            s1, s2 = stress_of_pulls(f1, f2, r1, r2, n, p1, p2, p3)
            a = blend(1.0, a, 1.0, blend(B[t, 0, 0], s1, B[t, 0, 1], s2))
            b = blend(1.0, b, 1.0, blend(B[t, 1, 0], s1, B[t, 1, 1], s2))
            c = blend(1.0, c, 1.0, blend(B[t, 2, 0], s1, B[t, 2, 1], s2))
        if alpha > 0.0:
            i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            d, e, f = _sum_products(g, start[t], start[t + 1], riders, weights)
            p, q, r = pull_bulge(normals, i, j, d), pull_bulge(normals, j, k, e), pull_bulge(normals, k, i, f)
            a, b, c = _add_difference(alpha, a, p, r), _add_difference(alpha, b, q, p), _add_difference(alpha, c, r, q)
            if exact:
                at_i, at_j = pull_normals(x, normals, i, j, d)
                on_j, on_k = pull_normals(x, normals, j, k, e)
                by_k, by_i = pull_normals(x, normals, k, i, f)
                put(on_normals, t, 0, blend(alpha, at_i, alpha, by_i))
                put(on_normals, t, 1, blend(alpha, at_j, alpha, on_j))
                put(on_normals, t, 2, blend(alpha, on_k, alpha, by_k))
        put(forces, t, 0, a)
        put(forces, t, 1, b)
        put(forces, t, 2, c)


@kernel
def _add_difference(alpha, a, p, q):
    """a + α (p − q)."""
    return blend(1.0, a, alpha, blend(1.0, p, -1.0, q))


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
