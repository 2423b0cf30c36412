"""As-rigid-as-possible energy of chosen triangles."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, Potential, scatter_vectors
from plisse.energies.membrane import shape_gradients
from plisse.kernels import rigid


class Arap(Potential):
    """Σ κ τ Ā Σᵢ (σᵢ − 1)² over the selected triangles. [Chao2010], restricted as in [Zhang2022] §4.3.

    selected (m,) bool, kappa [Pa] and thickness [m] are arrays over all triangles.
    """

    def __init__(self, mesh: Mesh, *, selected: Bools, kappa: Floats, thickness: Floats) -> None:
        self._triangles: Ints = np.ascontiguousarray(mesh.triangles[selected])
        self._B = np.ascontiguousarray(shape_gradients(mesh)[selected])
        self._weight = (mesh.triangle_areas * thickness * kappa)[selected]

    def value(self, x: Floats) -> float:
        out = np.empty(len(self._triangles))
        rigid.rigid_value(x, self._triangles, self._B, self._weight, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        local = np.empty((len(self._triangles), 3, 3))
        rigid.rigid_gradient(x, self._triangles, self._B, self._weight, local)
        return scatter_vectors(self._triangles, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks = np.empty((len(self._triangles), 6, 3, 3))
        rigid.rigid_hessian(x, self._triangles, self._B, self._weight, psd, blocks)
        return Hessian((DenseBlocks(self._triangles, blocks),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._triangles,)
