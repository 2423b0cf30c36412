"""Contact of vertices with analytic half-spaces."""

from __future__ import annotations

import numpy as np

from plisse.contact.friction import Contacts
from plisse.contact.touching import ContactPotential
from plisse.core.arrays import Floats, Ints
from plisse.core.potential import Hessian, KronBlocks
from plisse.kernels import barrier


class PlaneContact(ContactPotential):
    """Σ κ A b(d) over vertices, d = n·x − n·point: the barrier of the pair contacts against the plane's free side.

    vertices (k,) take part, area (k,) [m²] weighs them, kappa [J/m²].
    """

    keep = 0.1  # part of the gap that a step leaves

    def __init__(
        self,
        point: Floats,
        normal: Floats,
        vertices: Ints,
        area: Floats,
        *,
        kappa: float,
        dhat: float,
        offset: float,
    ) -> None:
        self._n = np.asarray(normal, float) / np.linalg.norm(normal)
        self.level = float(self._n @ np.asarray(point, float))
        self.vertices, self._stiffness = vertices, kappa * area
        self._dhat, self._offset = dhat, offset

    @property
    def plane(self) -> Floats:
        """Unit normal and distance from the origin [m], shape (4,)."""
        return np.append(self._n, self.level)

    def gaps(self, x: Floats) -> Floats:
        """Distances [m] of the vertices above the plane."""
        return np.asarray(x[self.vertices] @ self._n - self.level)

    def _active(self, x: Floats) -> tuple[Floats, Ints, Floats]:
        d = self.gaps(x)
        active = np.flatnonzero(d < self._offset + self._dhat)
        d = d[active]
        out = np.empty((3, len(d)))
        offset, dhat = np.full(len(d), self._offset), np.full(len(d), self._dhat)
        barrier.barrier_derivatives(np.maximum(d, 0.0) * d, offset, dhat, out)
        return d, active.astype(np.int32), out * self._stiffness[active]

    def value(self, x: Floats) -> float:
        return float(self._active(x)[2][0].sum())

    def gradient(self, x: Floats) -> Floats:
        d, active, (_, b1, _) = self._active(x)
        out = np.zeros_like(x)
        out[self.vertices[active]] = (2.0 * b1 * d)[:, None] * self._n
        return out

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        # d is linear in x, so the barrier's convexity makes the exact Hessian positive semidefinite already
        d, active, (_, b1, b2) = self._active(x)
        matrices = (4.0 * b2 * d * d + 2.0 * b1)[:, None, None] * np.outer(self._n, self._n)
        return Hessian((KronBlocks(self.vertices[active][:, None], np.ones((len(d), 1)), matrices),))

    def max_step(self, x: Floats, p: Floats) -> float:
        return float(self._steps(x, p).min(initial=1.0))

    def limits(self, x: Floats, p: Floats) -> tuple[tuple[Ints, Floats], ...]:
        return ((self.vertices[:, None], self._steps(x, p)),)

    def _steps(self, x: Floats, p: Floats) -> Floats:
        d, rate = self.gaps(x), p[self.vertices] @ self._n
        steps, falling = np.ones(len(d)), rate < 0.0
        steps[falling] = np.minimum((1.0 - self.keep) * (d[falling] - self._offset) / -rate[falling], 1.0)
        return steps

    def contacts(self, x: Floats) -> Contacts:
        d, active, (_, b1, _) = self._active(x)
        nodes = np.ascontiguousarray(self.vertices[active][:, None])
        normals = np.tile(self._n, (len(d), 1))
        return Contacts(nodes, np.ones((len(d), 1)), normals, -2.0 * b1 * d)

    def count(self, x: Floats) -> int:
        return int((self.gaps(x) < self._offset + self._dhat).sum())

    def clearance(self, x: Floats) -> float:
        return float(self.gaps(x).min(initial=np.inf)) / self._offset
