"""What a direction is about to run into, as a quadratic potential: it is found again with that in the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.potential import Hessian, KronBlocks, Potential, scatter_vectors

FIRM = 100.0  # times what the vertices of a pair resist with: a direction all but keeps the distance that is left
LEAVES = 0.25  # part of its room that a pair is asked to keep, more than the step filter does


@dataclass(frozen=True, eq=False)
class Meetings(Potential):
    """Σ k/2 eᵀMe over stencils, e = Σ wᵢxᵢ − r: how two points are placed to each other that are about to meet.

    nodes, weights: shape (m, k); places: r [m], shape (m, 3); matrices: M, shape (m, 3, 3), n nᵀ where they may slide
    across the normal n, and I where they may not; firmness: k [J/m²], shape (m,).
    """

    nodes: Ints
    weights: Floats
    places: Floats
    matrices: Floats
    firmness: Floats
    kind = "contact"

    def _pulls(self, x: Floats) -> tuple[Floats, Floats]:
        """e and kMe, shape (m, 3)."""
        e = np.einsum("mk,mki->mi", self.weights, x[self.nodes]) - self.places
        return e, self.firmness[:, None] * np.einsum("mij,mj->mi", self.matrices, e)

    def value(self, x: Floats) -> float:
        e, pulls = self._pulls(x)
        return 0.5 * float(np.einsum("mi,mi->", e, pulls))

    def gradient(self, x: Floats) -> Floats:
        pulls = self._pulls(x)[1]
        return scatter_vectors(self.nodes, self.weights[:, :, None] * pulls[:, None, :], len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian((KronBlocks(self.nodes, self.weights, self.firmness[:, None, None] * self.matrices),))


def meet(
    x: Floats,
    nodes: Ints,
    weights: Floats,
    places: Floats,
    normals: Floats,
    offsets: Floats | float,
    stiffness: Floats,
    sticks: Bools,
) -> Meetings:
    """Meetings at `places` of stencils that come as near as offsets [m], where something gives.

    normals: shape (m, 3), those that do not separate a stencil at x are left out. stiffness: what each vertex resists
    with, infinite where it does not move [J/m²], shape (n,). sticks: those that are not to slide, (m,).
    """
    room = np.einsum("mk,mki,mi->m", weights, x[nodes], normals) - offsets
    gives = (weights**2 / stiffness[nodes]).sum(axis=1)
    some: Bools = (room > 0.0) & (gives > 0.0)
    too_near = offsets + LEAVES * room - np.einsum("mi,mi->m", places, normals)
    places = places + too_near[:, None] * normals
    matrices = np.where(sticks[:, None, None], np.eye(3), normals[:, :, None] * normals[:, None, :])
    return Meetings(nodes[some], weights[some], places[some], matrices[some], FIRM / gives[some])
