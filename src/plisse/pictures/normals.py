"""Normals of triangle meshes for shading: of vertices, and of corners where edges are to stay sharp."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from plisse.core.mesh import Floats, Ints

CREASE = float(np.cos(np.radians(40.0)))  # a corner further than this from the mean normal is a real edge


@dataclass(frozen=True, eq=False)
class Shading:
    """Normals of one connectivity, for as many positions as wanted. triangles: (m, 3), of n vertices."""

    triangles: Ints
    n: int

    @cached_property
    def _around(self) -> Any:
        """Which triangles are around each vertex: ones, shape (n, m)."""
        m = len(self.triangles)
        ends, owner = self.triangles.ravel(), np.repeat(np.arange(m, dtype=np.int32), 3)
        return csr_array((np.ones(3 * m), (ends, owner)), shape=(self.n, m))

    def vertices(self, x: Floats) -> Floats:
        """Unit normals (n, 3) at positions x [m] (n, 3): those of the triangles around, weighted by area."""
        return _unit(self._around @ self._areas(x))

    def corners(self, x: Floats) -> Floats:
        """Unit normals (m, 3, 3) of the triangles' corners: the vertex's, the triangle's own at sharp edges."""
        areas = self._areas(x)
        flat, corners = _unit(areas), _unit(self._around @ areas)[self.triangles]
        sharp = np.einsum("mcr,mr->mc", corners, flat) < CREASE
        return np.where(sharp[:, :, None], flat[:, None, :], corners)

    def has_creases(self, x: Floats) -> bool:
        """Whether some corner's normal is not its vertex's."""
        return bool(np.any(self.corners(x) != self.vertices(x)[self.triangles]))

    def _areas(self, x: Floats) -> Floats:
        """Twice the triangles' area vectors, shape (m, 3) [m²]."""
        # by components: numpy's own cross takes several times as long
        a, b, c = self._ends
        (ax, bx, cx), (ay, by, cy), (az, bz, cz) = ((p[a], p[b], p[c]) for p in np.ascontiguousarray(x.T))
        ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
        return np.stack([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx], axis=1)

    @cached_property
    def _ends(self) -> Ints:
        """The triangles' corners, shape (3, m)."""
        return np.ascontiguousarray(self.triangles.T)


def _unit(rows: Floats) -> Floats:
    """Rows at unit length; rows of zeros stay."""
    unit: Floats = rows / (np.sqrt(np.einsum("ij,ij->i", rows, rows)) + 1e-300)[:, None]
    return unit
