"""Neo-Hookean membrane on the first fundamental form."""

from __future__ import annotations

from copy import copy

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, Past, Potential, scatter_vectors
from plisse.energies.strain_rate import StrainRate
from plisse.kernels import relaxed, strain_rate, stretch


def shape_gradients(mesh: Mesh) -> Floats:
    """B (m, 3, 2) [1/m] such that F = Σ_a x_a ⊗ B_a is each triangle's deformation gradient."""
    B = np.empty((len(mesh.triangles), 3, 2))
    if mesh.rest is None:
        stretch.shape_gradients(mesh.X, mesh.triangles, B)
    else:
        corners = np.arange(mesh.triangles.size, dtype=np.int32).reshape(-1, 3)
        stretch.shape_gradients(mesh.rest.reshape(-1, 3), corners, B)
    return B


class Membrane(Potential):
    """W = τ Ā [ μ/2 (tr C − 2 − 2 ln J) + λ/2 (ln J)² ], C = FᵀF, J = √det C; plane-stress Lamé constants.

    E [Pa], nu, thickness [m] and the damping time η [s] are arrays over triangles. [Chen2018], method of [Li2021].

    `compression` s in [0, 1], one number or an array over triangles, keeps a part of the resistance to compression, as
    if wrinkles finer than the mesh can have released the rest: s W + (1 − s) Q, with the tension-field envelope Q of
    W. In principal stretches σ₁ ≥ σ₂, Q = 0 for σ₁ ≤ 1 (slack), Q = W for σ₂ ≥ σ₂*(σ₁) (taut), Q = W(σ₁, σ₂*)
    otherwise (wrinkled), where the natural width σ₂* makes ∂W/∂σ₂ = 0. Q is C¹: W and its slope vanish at
    σ₁ = σ₂* = 1, and ∂W/∂σ₂ vanishes at σ₂*. s = 1 is the plain model. [Pipkin1986]
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        E: Floats,
        nu: Floats,
        thickness: Floats,
        compression: Floats | float = 1.0,
        damping: Floats | None = None,
    ) -> None:
        self._order = order = mesh.local_order(mesh.triangles)
        self._triangles: Ints = np.ascontiguousarray(mesh.triangles[order])
        self._B = np.ascontiguousarray(shape_gradients(mesh)[order])
        self._weight = (mesh.triangle_areas * thickness)[order]
        self._mu = (E / (2.0 * (1.0 + nu)))[order]
        self._lam = (E * nu / (1.0 - nu**2))[order]
        self._damping = None if damping is None else damping[order]
        self._kept: Floats | None = None  # None: the plain model's faster kernels
        self._keep(compression)

    def _keep(self, compression: Floats | float) -> None:
        kept = np.broadcast_to(np.asarray(compression, float), len(self._triangles))[self._order]
        self._kept = kept if (kept < 1.0).any() else None

    def keeping(self, compression: Floats | float) -> Membrane:
        """The same membrane with another part of its resistance to compression; its stencils stay the same arrays."""
        other = copy(self)
        other._keep(compression)
        return other

    @property
    def _constants(self) -> tuple[Ints, Floats, Floats, Floats, Floats]:
        return self._triangles, self._B, self._weight, self._mu, self._lam

    def damped(self, past: Past, h: float) -> StrainRate | None:
        """What resists a change of strain in a step of h [s], None where nothing is damped.

        What is slack or wrinkled at the step's start resists with as much of its stiffness as it has.
        """
        if self._damping is None:
            return None
        m = len(self._triangles)
        T, kept = np.empty((m, 3, 3)), np.ones(m) if self._kept is None else self._kept
        strain_rate.moduli(past[0][1], self._triangles, self._B, self._mu, self._lam, kept, T)
        return StrainRate(self._triangles, self._B, self._weight * self._damping / h, T, past)

    def value(self, x: Floats) -> float:
        out = np.empty(len(self._triangles))
        if self._kept is not None:
            relaxed.relaxed_value(x, *self._constants, self._kept, out)
        else:
            stretch.membrane_value(x, *self._constants, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        local = np.empty((len(self._triangles), 3, 3))
        if self._kept is not None:
            relaxed.relaxed_gradient(x, *self._constants, self._kept, local)
        else:
            stretch.membrane_gradient(x, *self._constants, local)
        return scatter_vectors(self._triangles, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks = np.empty((len(self._triangles), 6, 3, 3))
        if self._kept is not None:
            relaxed.relaxed_hessian(x, *self._constants, self._kept, psd, blocks)
        else:
            stretch.membrane_hessian(x, *self._constants, psd, blocks)
        return Hessian((DenseBlocks(self._triangles, blocks),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._triangles,)
