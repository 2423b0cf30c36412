"""How far a surface bulges over the edges of its triangles, halfway to what the normals of their ends say.

Phong tessellation of a triangle [Boubekeur2008] is q − α Σ_k w_k n_k n_k·(q − x_k) with q = Σ_k w_k x_k. As weights sum
to one, that is q + Σ w_j w_k c_jk over the edges, with the bulges c_jk = α (n_j n_jᵀ − n_k n_kᵀ)(x_j − x_k).
"""

import math

from numba import prange

from plisse.kernels.frames import at, blend, cross, dot
from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def _edges(x, triangles, t):
    a, b, c = at(x, triangles[t, 0]), at(x, triangles[t, 1]), at(x, triangles[t, 2])
    return blend(1.0, b, -1.0, a), blend(1.0, c, -1.0, a)


@kernel
def _sum_normals(x, triangles, start, corners, weights, v):
    m = (0.0, 0.0, 0.0)
    for s in range(start[v], start[v + 1]):
        e1, e2 = _edges(x, triangles, corners[s] // 3)
        m = blend(1.0, m, weights[corners[s]], cross(e1, e2))
    return m


@parallel_kernel
def find_normals(x, triangles, start, corners, weights, normals, lengths):
    """Unit normals n = m/‖m‖ (n, 3) of vertices, m = Σ ω e₁×e₂ over the triangles around, and ‖m‖ (n,).

    start, corners: the triangles' corners at each vertex, 3t + k, as CSR; weights: ω of all corners (3m,). A vertex
    without area gets zeros.
    """
    for v in prange(start.shape[0] - 1):
        m = _sum_normals(x, triangles, start, corners, weights, v)
        length = math.sqrt(dot(m, m))
        over = 1.0 / length if length > 0.0 else 0.0
        normals[v, 0], normals[v, 1], normals[v, 2] = over * m[0], over * m[1], over * m[2]
        lengths[v] = length


@kernel
def _normal_speed(x, v, triangles, start, corners, weights, i):
    m = (0.0, 0.0, 0.0)
    for s in range(start[i], start[i + 1]):
        e1, e2 = _edges(x, triangles, corners[s] // 3)
        d1, d2 = _edges(v, triangles, corners[s] // 3)
        m = blend(1.0, m, weights[corners[s]], blend(1.0, cross(d1, e2), 1.0, cross(e1, d2)))
    return m


@parallel_kernel
def turn_normals(x, v, triangles, start, corners, weights, out):
    """How fast the sums m that normals are made from change (n, 3) with velocities v (n, 3) of the vertices."""
    for i in prange(start.shape[0] - 1):
        m = _normal_speed(x, v, triangles, start, corners, weights, i)
        out[i, 0], out[i, 1], out[i, 2] = m[0], m[1], m[2]


@parallel_kernel
def normalise(normals, lengths, out):
    """(I − nnᵀ)/‖m‖ on out (n, 3), in place: from ṁ to ṅ, and from pulls on n to pulls on m."""
    for i in prange(out.shape[0]):
        n, a = at(normals, i), at(out, i)
        over = 1.0 / lengths[i] if lengths[i] > 0.0 else 0.0
        b = blend(over, a, -over * dot(n, a), n)
        out[i, 0], out[i, 1], out[i, 2] = b[0], b[1], b[2]


@kernel
def find_bulge(x, normals, i, j):
    """c_ij/α."""
    a, b, e = at(normals, i), at(normals, j), blend(1.0, at(x, i), -1.0, at(x, j))
    return blend(dot(a, e), a, -dot(b, e), b)


@kernel
def _rate(n, speed, e, d):
    """Of n nᵀe for ė = d."""
    return blend(dot(n, d) + dot(speed, e), n, dot(n, e), speed)


@kernel
def turn_bulge(x, v, normals, speeds, i, j):
    """How fast c_ij/α changes with velocities v (n, 3) of vertices and speeds (n, 3) of their normals."""
    e, d = blend(1.0, at(x, i), -1.0, at(x, j)), blend(1.0, at(v, i), -1.0, at(v, j))
    return blend(
        1.0, _rate(at(normals, i), at(speeds, i), e, d), -1.0, _rate(at(normals, j), at(speeds, j), e, d)
    )  # fmt: skip


@kernel
def pull_bulge(normals, i, j, p):
    """The force on vertex i, and the opposite of that on j, that a pull p on c_ij/α is."""
    a, b = at(normals, i), at(normals, j)
    return blend(dot(a, p), a, -dot(b, p), b)


@kernel
def pull_normals(x, normals, i, j, p):
    """The pulls on the normals of i and j that a pull p on c_ij/α is."""
    a, b, e = at(normals, i), at(normals, j), blend(1.0, at(x, i), -1.0, at(x, j))
    return blend(dot(a, e), p, dot(a, p), e), blend(-dot(b, e), p, -dot(b, p), e)


@parallel_kernel
def add_turning(x, triangles, weights, pulls, out):
    """Adds to out (m, 3, 3) the corners' forces that pulls (n, 3) on the sums m are: ω e₁×e₂ is in three of them."""
    for t in prange(triangles.shape[0]):
        e1, e2 = _edges(x, triangles, t)
        a, b, c = at(pulls, triangles[t, 0]), at(pulls, triangles[t, 1]), at(pulls, triangles[t, 2])
        p = blend(1.0, blend(weights[3 * t], a, weights[3 * t + 1], b), weights[3 * t + 2], c)
        first, second = cross(e2, p), cross(p, e1)
        for r in range(3):
            out[t, 0, r] -= first[r] + second[r]
            out[t, 1, r] += first[r]
            out[t, 2, r] += second[r]
