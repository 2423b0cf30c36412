"""Frames of triangles: how they turn with the deformation gradient, and what pulls on them are on it.

A triangle's frame has the columns r₁, r₂ of R, the rotation in F = R S, and the normal n. With cof F = (f₂×n, n×f₁) it
is R = (F + cof F)/tr S, (tr S)² = ‖F‖² + 2J, J = ‖f₁×f₂‖: no iteration, and nothing to divide by J but the normal.
"""

import math

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel

FLAT = 1e-12  # J over ‖F‖² below which a triangle has no normal of its own


@kernel
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def blend(s, a, t, b):
    """s a + t b."""
    return s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]


@kernel
def at(x, i):
    return x[i, 0], x[i, 1], x[i, 2]


@kernel
def put(x, t, k, a):
    x[t, k, 0], x[t, k, 1], x[t, k, 2] = a[0], a[1], a[2]


@kernel
def gradient(x, triangles, B, t):
    """The columns f₁, f₂ of F = Σ_a x_a ⊗ B_a."""
    a, b, c = at(x, triangles[t, 0]), at(x, triangles[t, 1]), at(x, triangles[t, 2])
    e1, e2 = blend(1.0, b, -1.0, a), blend(1.0, c, -1.0, a)
    return blend(B[t, 1, 0], e1, B[t, 2, 0], e2), blend(B[t, 1, 1], e1, B[t, 2, 1], e2)


@kernel
def _sideways(u):
    """Some unit vector at right angles to u."""
    if abs(u[0]) <= abs(u[1]) and abs(u[0]) <= abs(u[2]):
        v = (0.0, -u[2], u[1])
    elif abs(u[1]) <= abs(u[2]):
        v = (u[2], 0.0, -u[0])
    else:
        v = (-u[1], u[0], 0.0)
    return blend(1.0 / math.sqrt(dot(v, v)), v, 0.0, v)


@kernel
def find_frame(f1, f2):
    """r₁, r₂ and n of F = (f₁, f₂).

    A triangle that has become a line gets some frame along it, one that has become a point the axes.
    """
    m = cross(f1, f2)
    J, size = math.sqrt(dot(m, m)), dot(f1, f1) + dot(f2, f2)
    if not size > 0.0:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    if J > FLAT * size:
        n = blend(1.0 / J, m, 0.0, m)
    else:
        J, n = 0.0, _sideways(f1 if dot(f1, f1) > dot(f2, f2) else f2)
    scale = 1.0 / math.sqrt(size + 2.0 * J)
    return blend(scale, f1, scale, cross(f2, n)), blend(scale, f2, scale, cross(n, f1)), n


@kernel
def _invariants(f1, f2):
    """1/J and 1/tr S; zeros where the frame does not follow the corners."""
    m, size = cross(f1, f2), dot(f1, f1) + dot(f2, f2)
    J = math.sqrt(dot(m, m))
    return 1.0 / J if J > FLAT * size else 0.0, 1.0 / math.sqrt(size + 2.0 * J) if size > 0.0 else 0.0


@kernel
def turn_frame(f1, f2, d1, d2, r1, r2, n):
    """How fast r₁, r₂ and n change with F at Ḟ = (d₁, d₂): ω × each of them.

    ω = n × ṅ + n (r₂·ḟ₁ − r₁·ḟ₂)/tr S, with n × ṅ = [(n·ḟ₂) f₁ − (n·ḟ₁) f₂]/J.
    """
    over_J, over_trace = _invariants(f1, f2)
    tilt = blend(over_J * dot(n, d2), f1, -over_J * dot(n, d1), f2)
    omega = blend(1.0, tilt, over_trace * (dot(r2, d1) - dot(r1, d2)), n)
    return cross(omega, r1), cross(omega, r2), cross(omega, n)


@kernel
def stress_of_pulls(f1, f2, r1, r2, n, p1, p2, p3):
    """What pulls p₁, p₂, p₃ on r₁, r₂, n are on f₁ and f₂: `turn_frame` transposed.

    With the torque T = r₁×p₁ + r₂×p₂ + n×p₃: r₂ (n·T)/tr S − n (f₂·T)/J and n (f₁·T)/J − r₁ (n·T)/tr S.
    """
    over_J, over_trace = _invariants(f1, f2)
    T = blend(1.0, blend(1.0, cross(r1, p1), 1.0, cross(r2, p2)), 1.0, cross(n, p3))
    spin = over_trace * dot(n, T)
    return blend(spin, r2, -over_J * dot(f2, T), n), blend(-spin, r1, over_J * dot(f1, T), n)


@parallel_kernel
def find_frames(x, triangles, B, out):
    """Frames into out (m, 3, 3), rows r₁, r₂, n, of positions x (n, 3) and rest shape gradients B (m, 3, 2)."""
    for t in prange(triangles.shape[0]):
        f1, f2 = gradient(x, triangles, B, t)
        r1, r2, n = find_frame(f1, f2)
        put(out, t, 0, r1)
        put(out, t, 1, r2)
        put(out, t, 2, n)
