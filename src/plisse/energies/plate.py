"""Bending of thin plates and shells, with the stiffness that Young's modulus and thickness stand for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, GramBlocks, Hessian, Potential, scatter_vectors
from plisse.energies.bending import rest_angles
from plisse.energies.curvature import curvature_rows
from plisse.kernels import hinge, plate


class Plate(Potential):
    """Σ_T ½ D A ((1 − ν) tr Λ² + ν (tr Λ)²), Λ = Σ_s l_s φ_s n_s⊗n_s / A, D = E τ³ / 12 (1 − ν²). [Morley1968]

    φ_s is the angle from the triangle's plane to the shell at the middle of its side s, with the length l_s and the
    normal n_s in the triangle's plane, at rest. The two angles at an edge add up to θ − θ̄ of its hinge; at a free edge
    φ is what leaves no moment. Differs: [Morley1968] has unknowns for φ, as do the mid-edge normals of [Grinspun2006];
    here φ_s = Σ c (θ − θ̄) over five hinges, with constants of the rest shape that are exact for constant curvature.
    Hence only positions are unknown, and the stiffness converges to the plate's on any mesh.

    E [Pa], nu, thickness [m] are arrays over triangles. held: triangles that cannot bend, as all of their vertices are
    prescribed; the edge of such a part is a clamp. Seams of the rest shape are sewn together flat. The Hessian with psd
    is Gauss–Newton, which is positive semidefinite and of rank three a triangle; without psd it is exact.
    """

    def __init__(self, mesh: Mesh, *, E: Floats, nu: Floats, thickness: Floats, held: Bools | None = None) -> None:
        held = np.zeros(len(mesh.triangles), bool) if held is None else held
        of, rows = curvature_rows(mesh, D=E * thickness**3 / (12.0 * (1.0 - nu**2)), nu=nu, held=held)
        order = mesh.local_order(mesh.hinges)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._hinges: Ints = np.ascontiguousarray(mesh.hinges[order])
        self._rest = rest_angles(mesh)[order]
        bends = mesh.local_order(mesh.triangles)
        bends = bends[of[bends].min(axis=1) >= 0]
        self._of, self._rows = place[of[bends]], rows[bends]
        self._nodes: Ints = np.empty((len(bends), 12), np.int32)
        self._places = np.empty((len(bends), 9, 4), np.uint8)
        plate.gather_nodes(self._of, self._hinges, self._nodes, self._places)
        # from angles to the triangles' curvatures, and back to moments
        entries = self._rows.reshape(-1), np.repeat(self._of, 3, axis=0).reshape(-1), np.arange(3 * len(bends) + 1) * 9
        self._curvature = csr_array(entries, shape=(3 * len(bends), len(order)))
        self._moment = self._curvature.T.tocsr()

    def value(self, x: Floats) -> float:
        theta = np.empty(len(self._hinges))
        hinge.angles(x, self._hinges, theta)
        return 0.5 * float(((self._curvature @ (theta - self._rest)) ** 2).sum())

    def _angle_gradients(self, x: Floats) -> tuple[Floats, Floats]:
        theta, slope = np.empty(len(self._hinges)), np.empty((len(self._hinges), 4, 3))
        hinge.angle_gradients(x, self._hinges, theta, slope)
        return self._moment @ (self._curvature @ (theta - self._rest)), slope

    def gradient(self, x: Floats) -> Floats:
        moments, slope = self._angle_gradients(x)
        slope *= moments[:, None, None]
        return scatter_vectors(self._hinges, slope, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        moments, slope = self._angle_gradients(x)
        vectors = np.empty((len(self._nodes), 3, 12, 3))
        plate.curvature_gradients(slope, self._of, self._places, self._rows, vectors)
        gauss_newton = GramBlocks(self._nodes, vectors)
        if psd:
            return Hessian((gauss_newton,))
        blocks = np.empty((len(self._hinges), 10, 3, 3))
        hinge.angle_hessians(x, self._hinges, moments, blocks)
        return Hessian((gauss_newton, DenseBlocks(self._hinges, blocks)))

    def stencils(self) -> tuple[Ints, ...]:
        return self._nodes, self._hinges
