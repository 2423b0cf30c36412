"""Bending of thin plates and shells, with the stiffness that Young's modulus and thickness stand for."""

from __future__ import annotations

from copy import copy
from math import sqrt

import numpy as np
from scipy.sparse import csr_array

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, OuterBlocks, Past, Potential, scatter_vectors
from plisse.energies.bending import angles_before, rest_angles
from plisse.energies.curvature import make_curvature
from plisse.kernels import hinge

NEAR = 0.6  # part of the row sums: above ½, so that no whole step overshoots by as much as it corrects


class Plate(Potential):
    """Σ_T ½ D A ((1 − ν) tr Λ² + ν (tr Λ)²), Λ = Σ_s l_s φ_s n_s⊗n_s / A, D = E τ³ / 12 (1 − ν²). [Morley1968]

    φ_s is the angle from the triangle's plane to the shell at the middle of its side s, with the length l_s and the
    normal n_s in the triangle's plane, at rest. The two angles at an edge add up to θ − θ̄ of its hinge; at a free edge
    φ is what leaves no moment. Differs: [Morley1968] has unknowns for φ, as do the mid-edge normals of [Grinspun2006];
    here φ_s = Σ c (θ − θ̄) over five hinges, with constants of the rest shape that are exact for constant curvature.
    Hence only positions are unknown, and the stiffness converges to the plate's on any mesh.

    E [Pa], nu, thickness [m] and the damping time η [s] are arrays over triangles. held: triangles that cannot bend, as
    all of their vertices are prescribed; the edge of such a part is a clamp. Seams of the rest shape are sewn together
    flat. Without psd the Hessian is exact, mostly a product. With psd it is Σ k ∇θ∇θᵀ over hinges, where k is NEAR
    times the row sum of the absolute values of E's matrix over θ: as sparse as that of hinges, and no less than NEAR
    times Gauss–Newton's.
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        E: Floats,
        nu: Floats,
        thickness: Floats,
        held: Bools | None = None,
        damping: Floats | None = None,
    ) -> None:
        held = np.zeros(len(mesh.triangles), bool) if held is None else held
        D = E * thickness**3 / (12.0 * (1.0 - nu**2))
        order = mesh.local_order(mesh.hinges)
        self._hinges: Ints = np.ascontiguousarray(mesh.hinges[order])
        self._rest = rest_angles(mesh)[order]
        self._take_forms(*make_curvature(mesh, D=D, nu=nu, held=held), order)
        self._viscous: Plate | None = None
        if damping is not None:
            self._viscous = copy(self)
            self._viscous._take_forms(*make_curvature(mesh, D=D * damping, nu=nu, held=held), order)

    def _take_forms(self, curvature: csr_array, bound: Floats, order: Longs) -> None:
        self._curvature = curvature[:, order]
        self._moment = self._curvature.T.tocsr()
        self._near = NEAR * bound[order]

    def damped(self, past: Past, h: float) -> Plate | None:
        """What resists a change of angles in a step of h [s], None where nothing is damped."""
        if self._viscous is None:
            return None
        other = copy(self._viscous)
        other._curvature, other._moment = other._curvature / sqrt(h), other._moment / sqrt(h)
        other._near, other._rest = other._near / h, angles_before(self._hinges, past)
        return other

    def value(self, x: Floats) -> float:
        theta = np.empty(len(self._hinges))
        hinge.angles(x, self._hinges, theta)
        return 0.5 * float(((self._curvature @ (theta - self._rest)) ** 2).sum())

    def _angle_gradients(self, x: Floats) -> tuple[Floats, Floats]:
        theta, slope = np.empty(len(self._hinges)), np.empty((len(self._hinges), 4, 3))
        hinge.angle_gradients(x, self._hinges, theta, slope)
        return theta, slope

    def _moments(self, angles: Floats) -> Floats:
        """∂E/∂θ [J] of the hinges, for θ − θ̄ (q,)."""
        return np.asarray(self._moment @ (self._curvature @ angles))

    def gradient(self, x: Floats) -> Floats:
        theta, slope = self._angle_gradients(x)
        slope *= self._moments(theta - self._rest)[:, None, None]
        return scatter_vectors(self._hinges, slope, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        theta, slope = self._angle_gradients(x)
        if psd:
            return Hessian((OuterBlocks(self._hinges, slope, self._near),))
        blocks = np.empty((len(self._hinges), 10, 3, 3))
        hinge.angle_hessians(x, self._hinges, self._moments(theta - self._rest), blocks)

        def gauss_newton(d: Floats) -> Floats:
            turned = np.einsum("qai,qai->q", slope, d[self._hinges])
            return scatter_vectors(self._hinges, self._moments(turned)[:, None, None] * slope, len(d))

        return Hessian((DenseBlocks(self._hinges, blocks),), products=(gauss_newton,))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._hinges,)
