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
    """Σ k/2 (n·Σ wᵢxᵢ − d)² over stencils: a pair's distance along the normal n where it would meet.

    nodes, weights: shape (m, k); normals: shape (m, 3); distances: d [m], shape (m,); firmness: k [J/m²], shape (m,).
    """

    nodes: Ints
    weights: Floats
    normals: Floats
    distances: Floats
    firmness: Floats
    kind = "contact"

    def _too_far(self, x: Floats) -> Floats:
        return np.einsum("mk,mki,mi->m", self.weights, x[self.nodes], self.normals) - self.distances

    def value(self, x: Floats) -> float:
        return 0.5 * float(self.firmness @ self._too_far(x) ** 2)

    def gradient(self, x: Floats) -> Floats:
        forces = (self.firmness * self._too_far(x))[:, None] * self.normals
        return scatter_vectors(self.nodes, np.ascontiguousarray(self.weights[:, :, None] * forces[:, None, :]), len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        matrices = self.firmness[:, None, None] * self.normals[:, :, None] * self.normals[:, None, :]
        return Hessian((KronBlocks(self.nodes, self.weights, matrices),))


def meet(
    x: Floats, nodes: Ints, weights: Floats, normals: Floats, offsets: Floats | float, stiffness: Floats
) -> Meetings:
    """Meetings of stencils that come as near as offsets [m], where `normals` separates them at x and something gives.

    stiffness: what each vertex resists with, infinite where it does not move [J/m²], shape (n,).
    """
    room = np.einsum("mk,mki,mi->m", weights, x[nodes], normals) - offsets
    gives = (weights**2 / stiffness[nodes]).sum(axis=1)
    some: Bools = (room > 0.0) & (gives > 0.0)
    distances = (offsets + LEAVES * room)[some]
    return Meetings(nodes[some], weights[some], normals[some], distances, FIRM / gives[some])
