"""Discrete hinge bending with curved rest shapes."""

from __future__ import annotations

from copy import copy

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, OuterBlocks, Past, Potential, scatter_vectors
from plisse.kernels import hinge


class Bending(Potential):
    """Σ_e k 3‖ē‖²/Ā_e (θ_e − θ̄_e)², k = E τ³ / (24 (1 − ν²)), Ā_e the area of the hinge's two triangles. [Grinspun2003]

    Across a seam of the rest shape ‖ē‖² is the mean of both sides', and θ̄ is zero: pieces are sewn together flat.
    E [Pa], nu, thickness [m] and the damping time η [s] are arrays over hinges. The Hessian with psd is Gauss–Newton,
    2 k ∇θ∇θᵀ, which is positive semidefinite and rank one; without psd it is exact.
    """

    def __init__(self, mesh: Mesh, *, E: Floats, nu: Floats, thickness: Floats, damping: Floats | None = None) -> None:
        order = mesh.local_order(mesh.hinges)
        self._hinges: Ints = np.ascontiguousarray(mesh.hinges[order])
        sides = [side[order] for side in mesh.hinge_sides()]
        edges = [side[:, 1] - side[:, 0] for side in sides]
        area = sum(
            0.5 * np.linalg.norm(np.cross(edge, side[:, 2] - side[:, 0]), axis=1)
            for edge, side in zip(edges, sides, strict=True)
        )
        k = (E * thickness**3 / (24.0 * (1.0 - nu**2)))[order]
        self._stiffness = 3.0 * k * (0.5 * sum((edge**2).sum(axis=1) for edge in edges)) / area
        self._rest = rest_angles(mesh)[order]
        self._damping = None if damping is None else damping[order]

    def damped(self, past: Past, h: float) -> Bending | None:
        """What resists a change of angles in a step of h [s], None where nothing is damped."""
        if self._damping is None:
            return None
        other = copy(self)
        other._stiffness, other._rest = self._stiffness * self._damping / h, angles_before(self._hinges, past)
        return other

    def value(self, x: Floats) -> float:
        theta = np.empty(len(self._hinges))
        hinge.angles(x, self._hinges, theta)
        return float((self._stiffness * (theta - self._rest) ** 2).sum())

    def _angle_gradients(self, x: Floats) -> tuple[Floats, Floats]:
        theta, slope = np.empty(len(self._hinges)), np.empty((len(self._hinges), 4, 3))
        hinge.angle_gradients(x, self._hinges, theta, slope)
        return theta, slope

    def gradient(self, x: Floats) -> Floats:
        theta, slope = self._angle_gradients(x)
        slope *= (2.0 * self._stiffness * (theta - self._rest))[:, None, None]
        return scatter_vectors(self._hinges, slope, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        if psd:
            return Hessian((OuterBlocks(self._hinges, self._angle_gradients(x)[1], 2.0 * self._stiffness),))
        blocks = np.empty((len(self._hinges), 10, 3, 3))
        hinge.bending_hessian(x, self._hinges, self._stiffness, self._rest, blocks)
        return Hessian((DenseBlocks(self._hinges, blocks),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._hinges,)


def angles_before(hinges: Ints, past: Past) -> Floats:
    """θ [rad] of each hinge at known steps, weighted (q,)."""
    out, theta = np.zeros(len(hinges)), np.empty(len(hinges))
    for part, x in past:
        hinge.angles(x, hinges, theta)
        out += part * theta
    return out


def rest_angles(mesh: Mesh) -> Floats:
    """θ̄ [rad] of each hinge, shape (q,); zero across a seam, where pieces are sewn together flat."""
    first, second = mesh.hinge_sides()
    four = np.concatenate((first, second[:, 2:]), axis=1).reshape(-1, 3)
    rest = np.empty(len(first))
    hinge.angles(four, np.arange(len(four), dtype=np.int32).reshape(-1, 4), rest)
    rest[(first[:, :2] != second[:, :2]).any(axis=(1, 2))] = 0.0
    return rest
