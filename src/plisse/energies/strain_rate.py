"""Damping of a membrane by its strain rate."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.potential import DenseBlocks, Hessian, Past, Potential, scatter_vectors
from plisse.kernels import strain_rate


class StrainRate(Potential):
    """½ Σ w (e − eᵗ)ᵀ T (e − eᵗ), e the Green strain (E₀₀, E₁₁, 2 E₀₁) of a triangle, eᵗ what it was.

    weight: w = τ Ā η / h [m³] with the damping time η, so that η T (e − eᵗ)/h is the stress of the strain rate. T
    (m, 3, 3) [Pa]: the membrane's stiffness. past: whose strains make eᵗ. It depends on strains alone and therefore not
    on rigid motion. The Hessian with psd is Gauss–Newton and the part of the stresses that pull.
    """

    def __init__(self, triangles: Ints, B: Floats, weight: Floats, T: Floats, past: Past) -> None:
        self._triangles, self._B = triangles, B
        before, each = np.zeros((len(triangles), 3)), np.empty((len(triangles), 3))
        for part, x in past:
            strain_rate.strains(x, triangles, B, each)
            before += part * each
        self._constants = triangles, B, weight, T, before

    def value(self, x: Floats) -> float:
        out = np.empty(len(self._triangles))
        strain_rate.rate_value(x, *self._constants, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        local = np.empty((len(self._triangles), 3, 3))
        strain_rate.rate_gradient(x, *self._constants, local)
        return scatter_vectors(self._triangles, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks = np.empty((len(self._triangles), 6, 3, 3))
        strain_rate.rate_hessian(x, *self._constants, psd, blocks)
        return Hessian((DenseBlocks(self._triangles, blocks),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._triangles,)
