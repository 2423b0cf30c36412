"""Lagged smoothed Coulomb friction on contact stencils."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.potential import Hessian, KronBlocks, Potential, scatter_vectors
from plisse.kernels import slip


@dataclass(frozen=True, eq=False)
class Contacts:
    """Active contacts at one state: nodes and witness weights (m, k), unit normals (m, 3), normal forces (m,) [N]."""

    nodes: Ints
    weights: Floats
    normals: Floats
    forces: Floats

    def take(self, chosen: Bools) -> Contacts:
        """The chosen contacts (m,)."""
        return Contacts(self.nodes[chosen], self.weights[chosen], self.normals[chosen], self.forces[chosen])


def combine(mu: Floats | float, other: Floats | float) -> Floats:
    """Coefficient of a contact between two bodies: √(μ₁ μ₂), exactly μ where both are μ.

    A frictionless body is therefore frictionless against everything.
    """
    return np.asarray(np.where(np.equal(mu, other), mu, np.sqrt(np.multiply(mu, other))))


def lag_friction(
    contacts: Contacts,
    x_start: Floats,
    *,
    mu: Floats,
    plane: float | None = None,
    speed: float,
    h: float,
    motion: Floats | None = None,
) -> list[Friction]:
    """The friction of those contacts that have any; none where all slide freely.

    mu: coefficient of each vertex's body (n,). plane: that of the half-space which the vertices touch; without it,
    contacts are pairs, whose bodies are those of their first and last vertex.
    """
    other = mu[contacts.nodes[:, -1]] if plane is None else plane
    each = combine(mu[contacts.nodes[:, 0]], other)
    rough = each > 0.0
    if not rough.any():
        return []
    if not rough.all():
        contacts, each = contacts.take(rough), each[rough]
    return [Friction(contacts, x_start, mu=each, speed=speed, h=h, motion=motion)]


class Friction(Potential):
    """Σ μ λ f₀(‖u‖), u the tangential part of Σ wᵢ (xᵢ − xᵢᵗ); f₀ is smoothed below ε_v h. [Li2020] §5, [Li2021].

    Contacts (normals, forces λ, weights) are those of `contacts`; slip is measured from the step's start x_start.
    mu: Coulomb's μ of each contact (m,).
    `motion` (n, 3), the last step's displacement, says what slip to expect: at the start of a step slip is zero, and
    the exact Hessian would take sliding contacts for sticking ones.
    """

    kind = "contact"

    def __init__(
        self,
        contacts: Contacts,
        x_start: Floats,
        *,
        mu: Floats,
        speed: float,
        h: float,
        motion: Floats | None = None,
    ) -> None:
        self._c, self._start = contacts, x_start
        self._limit = mu * contacts.forces
        self._eps = speed * h
        self._expected = np.zeros(len(contacts.nodes))
        if motion is not None:
            c = contacts
            slip.slip_lengths(x_start + motion, x_start, c.nodes, c.weights, c.normals, self._expected)

    def value(self, x: Floats) -> float:
        c, out = self._c, np.empty(len(self._c.nodes))
        slip.friction_energy(x, self._start, c.nodes, c.weights, c.normals, self._limit, self._eps, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        c, local = self._c, np.empty((*self._c.nodes.shape, 3))
        slip.friction_gradients(x, self._start, c.nodes, c.weights, c.normals, self._limit, self._eps, local)
        return scatter_vectors(c.nodes, local, len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        c, blocks = self._c, np.empty((len(self._c.nodes), 3, 3))
        at = (x, self._start, c.nodes, c.weights, c.normals, self._limit, self._eps)
        slip.friction_blocks(*at, self._expected, not psd, blocks)
        return Hessian((KronBlocks(c.nodes, c.weights, blocks),))
