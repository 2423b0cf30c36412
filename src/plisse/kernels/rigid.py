"""As-rigid-as-possible energy of a triangle: Σᵢ (σᵢ − 1)²."""

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel
from plisse.kernels.stretch import (
    add_stress,
    deformation_gradient,
    metric,
    principal_stress,
    principal_stretches,
    stretch_block,
)


@parallel_kernel
def rigid_value(x, triangles, B, weight, out):
    for t in prange(triangles.shape[0]):
        s1, s2, _, _ = principal_stretches(metric(deformation_gradient(x, triangles[t], B[t])))
        out[t] = weight[t] * ((s1 - 1.0) ** 2 + (s2 - 1.0) ** 2)


@kernel
def _rigid_stretches(f):
    """σ₁, σ₂ and v₁, with stretches of collapsed triangles, whose frame is lost, kept off 0."""
    s1, s2, v0, v1 = principal_stretches(metric(f))
    s1 = max(s1, 1e-9)
    return s1, max(s2, 1e-9 * s1), v0, v1


@kernel
def _rigid_stress(x, t_index, t, B, weight, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = _rigid_stretches(f)
    add_stress(principal_stress(f, 2.0 - 2.0 / s1, 2.0 - 2.0 / s2, v0, v1), B, weight, t_index, out)


@parallel_kernel
def rigid_gradient(x, triangles, B, weight, out):
    for t in prange(triangles.shape[0]):
        _rigid_stress(x, t, triangles[t], B[t], weight[t], out)


@kernel
def _rigid_block(x, t, B, weight, psd, out):
    f = deformation_gradient(x, t, B)
    s1, s2, v0, v1 = _rigid_stretches(f)
    twist, N1, N2 = 2.0 - 4.0 / (s1 + s2), 2.0 - 2.0 / s1, 2.0 - 2.0 / s2
    stretch_block(f, B, s1, s2, v0, v1, 2.0, 0.0, 2.0, twist, 2.0, N1, N2, weight, psd, out)


@parallel_kernel
def rigid_hessian(x, triangles, B, weight, psd, out):
    for t in prange(triangles.shape[0]):
        _rigid_block(x, triangles[t], B[t], weight[t], psd, out[t])
