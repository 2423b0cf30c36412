"""Sums of waves in space."""

import math

from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@kernel
def _sum(point, waves, phases, amplitudes, out):
    out[:] = 0.0
    for n in range(len(phases)):
        c = math.cos(waves[n, 0] * point[0] + waves[n, 1] * point[1] + waves[n, 2] * point[2] + phases[n])
        for i in range(3):
            out[i] += c * amplitudes[n, i]


@parallel_kernel
def sum_waves(points, waves, phases, amplitudes, out):
    """Σ aₙ cos(kₙ·x + φₙ) at points (m, 3) into out (m, 3), for waves k, amplitudes a (n, 3) and phases φ (n,)."""
    for p in prange(points.shape[0]):
        _sum(points[p], waves, phases, amplitudes, out[p])
