"""Strain-limit barrier: no triangle's principal stretch ever reaches its limit."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, Potential, scatter_vectors
from plisse.core.rings import within_rings
from plisse.energies.arap import Arap
from plisse.energies.membrane import shape_gradients
from plisse.kernels import stretch

KEEP = 0.1  # part of the remaining distance to the limit that one step leaves
UNDER = 1e-6  # part of the limit by which a stretch must stay below it


class StrainLimit(Potential):
    """Σ κ τ Ā Σᵢ b(σᵢ), b(σ) = −y² ln(1 − y), y = (σ − ŝ)/(s̄ − ŝ) for σ > ŝ. [Li2021] eq. 9.

    Only triangles that have a limit take part: `selected` (m,) bool; onset ŝ, limit s̄, kappa [Pa] and thickness [m]
    are arrays over all triangles. `max_step` keeps σ < s̄ along the whole step.
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        selected: np.ndarray,
        onset: Floats,
        limit: Floats,
        kappa: Floats,
        thickness: Floats,
    ) -> None:
        self._of_mesh = {"onset": onset, "limit": limit, "kappa": kappa, "thickness": thickness}
        self._mesh, self._selected = mesh, selected
        self._triangles: Ints = np.ascontiguousarray(mesh.triangles[selected])
        self._B = np.ascontiguousarray(shape_gradients(mesh)[selected])
        self._weight = (mesh.triangle_areas * thickness * kappa)[selected]
        self._onset, self._limit = onset[selected], limit[selected]

    def value(self, x: Floats) -> float:
        out = np.empty(len(self._triangles))
        stretch.limit_value(x, self._triangles, self._B, self._weight, self._onset, self._limit, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        local = np.empty((len(self._triangles), 3, 3))
        stretch.limit_gradient(x, self._triangles, self._B, self._weight, self._onset, self._limit, local)
        return scatter_vectors(self._triangles, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        # only triangles past the onset have a Hessian; the others stay out of the assembly
        active = np.flatnonzero(self.stretches(x)[:, 0] > self._onset)
        triangles = self._triangles[active]
        blocks = np.empty((len(active), 6, 3, 3))
        stretch.limit_hessian(
            x,
            triangles,
            self._B[active],
            self._weight[active],
            self._onset[active],
            self._limit[active],
            psd,
            blocks,
        )
        return Hessian((DenseBlocks(triangles, blocks),))

    def max_step(self, x: Floats, p: Floats) -> float:
        return float(self._steps(x, p).min(initial=1.0))

    def limits(self, x: Floats, p: Floats) -> tuple[tuple[Ints, Floats], ...]:
        return ((self._triangles, self._steps(x, p)),)

    def _steps(self, x: Floats, p: Floats) -> Floats:
        steps = np.empty(len(self._triangles))
        stretch.limit_step(x, p, self._triangles, self._B, self._limit, KEEP, steps)
        return steps

    def stretches(self, x: Floats) -> Floats:
        """Principal stretches σ₁ ≥ σ₂ of the limited triangles, shape (m, 2)."""
        out = np.empty((len(self._triangles), 2))
        stretch.stretches(x, self._triangles, self._B, out)
        return out

    def max_stretch_over_limit(self, x: Floats) -> float:
        return float((self.stretches(x)[:, 0] / self._limit).max()) if len(self._triangles) else 0.0

    def stencils(self) -> tuple[Ints, ...]:
        return (self._triangles,)

    # --- back below the limit -----------------------------------------------------------------------------------------

    def broken(self, x: Floats) -> Bools:
        """Triangles of the mesh (m,) whose stretch is not below their limit."""
        over = np.zeros(len(self._selected), bool)
        over[self._selected] = self.stretches(x)[:, 0] >= self._limit * (1.0 - UNDER)
        return over

    def around(self, over: Bools, rings: int, n: int) -> Bools:
        """Vertices (n,) within some rings of the given triangles (m,)."""
        triangles, corners = self._mesh.triangles, np.zeros(n, bool)
        corners[triangles[over]] = True
        return within_rings(triangles, corners, rings)

    def without(self, left_out: Bools) -> StrainLimit:
        """The same barrier of fewer triangles; left_out: of the mesh (m,)."""
        return StrainLimit(self._mesh, selected=self._selected & ~left_out, **self._of_mesh)

    def relief(self, over: Bools, *, stiffness: float) -> Arap:
        """What pulls the given triangles (m,) back to their rest shape; stiffness: in units of the barrier's."""
        kappa, thickness = self._of_mesh["kappa"] * stiffness, self._of_mesh["thickness"]
        return Arap(self._mesh, selected=over, kappa=kappa, thickness=thickness)
