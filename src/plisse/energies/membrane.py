"""Neo-Hookean membrane on the first fundamental form."""

from __future__ import annotations

import numpy as np

from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Floats, Hessian, Ints, Potential, scatter_vectors
from plisse.kernels import stretch


def shape_gradients(mesh: Mesh) -> Floats:
    """B (m, 3, 2) [1/m] such that F = Σ_a x_a ⊗ B_a is each triangle's deformation gradient."""
    B = np.empty((len(mesh.triangles), 3, 2))
    stretch.shape_gradients(mesh.X, mesh.triangles, B)
    return B


class Membrane(Potential):
    """W = τ Ā [ μ/2 (tr C − 2 − 2 ln J) + λ/2 (ln J)² ], C = FᵀF, J = √det C; plane-stress Lamé constants.

    E [Pa], nu and thickness [m] are arrays over triangles. [Chen2018], method of [Li2021].
    """

    def __init__(self, mesh: Mesh, *, E: Floats, nu: Floats, thickness: Floats) -> None:
        order = mesh.local_order(mesh.triangles)
        self._triangles: Ints = np.ascontiguousarray(mesh.triangles[order])
        self._B = np.ascontiguousarray(shape_gradients(mesh)[order])
        self._weight = (mesh.triangle_areas * thickness)[order]
        self._mu = (E / (2.0 * (1.0 + nu)))[order]
        self._lam = (E * nu / (1.0 - nu**2))[order]

    def value(self, x: Floats) -> float:
        out = np.empty(len(self._triangles))
        stretch.membrane_value(x, self._triangles, self._B, self._weight, self._mu, self._lam, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        local = np.empty((len(self._triangles), 3, 3))
        stretch.membrane_gradient(x, self._triangles, self._B, self._weight, self._mu, self._lam, local)
        return scatter_vectors(self._triangles, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks = np.empty((len(self._triangles), 6, 3, 3))
        stretch.membrane_hessian(x, self._triangles, self._B, self._weight, self._mu, self._lam, psd, blocks)
        return Hessian((DenseBlocks(self._triangles, blocks),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._triangles,)
