"""Prolongation of shells: every fine vertex rides on one coarse triangle, as it did at rest."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.maps import LevelMap, LinearMap
from plisse.hierarchy.restriction import Fit
from plisse.kernels import bulges, frames
from plisse.kernels.prolong import collect, gather_corners, prolong
from plisse.kernels.stretch import shape_gradients

PHONG = 0.5  # part of the way to the corners' tangent planes: bent sheets keep their bending energy


class ShellMap(LevelMap):
    """x_i = b_i(x) + R(F) t_i + γ_i n: a base on the containing triangle, and an offset in its frame. [Zhang2023] §4.3

    b = q − α Σ_k w_k n_k n_k·(q − x_k), q = Σ_k w_k x_k the barycentric point, n_k the area-weighted normals of the
    triangle's corners. Offsets (γ, t) are those of the rest shape in space, which the map therefore takes to the fine
    rest shape, and it commutes with rigid motions. The shapes are the meshes' X: patterns (`Mesh.rest`) do not matter.

    coarse, fine: meshes; home: the triangle that contains each fine vertex (n,); weights: its barycentric weights
    there, at least 0 with the sum 1, shape (n, 3); kept: the fine vertex that each coarse one is, shape (n_coarse,).
    phong: α, 0 for the printed map. frozen: `pull_back` and `push_forward` hold frames and normals, as printed.

    Differs: α is ½, not 0. A piecewise linear base has a crease at each coarse edge, which made the bending energy of
    prolonged bent sheets several times the true one; half of the way to Phong's surface [Boubekeur2008] has next to
    none. And offsets turn with their frames in derivatives too: without, free bodies feel a torque that is not there,
    and a line search on the energy stalls.
    """

    def __init__(
        self,
        coarse: Mesh,
        fine: Mesh,
        home: Ints,
        weights: Floats,
        kept: Ints,
        *,
        phong: float = PHONG,
        frozen: bool = False,
    ) -> None:
        self.coarse, self.fine, self.kept = len(coarse.X), len(fine.X), np.asarray(kept, np.int32)
        self._alpha, self._exact = phong, not frozen
        self._X_coarse, self._X_fine = coarse.X, fine.X
        # successive triangles are near each other in memory, whatever order the mesh has them in
        order = coarse.local_order(coarse.triangles)
        self._triangles = np.ascontiguousarray(coarse.triangles[order])
        self._home = np.argsort(order).astype(np.int32)[home]
        self._weights = np.ascontiguousarray(weights, np.float64)
        B = np.empty((len(order), 3, 2))
        shape_gradients(coarse.X, self._triangles, B)
        # the frame of a triangle without area does not turn
        self._B = np.where(np.isfinite(B).all(axis=(1, 2), keepdims=True), B, 0.0)
        # corners at each coarse vertex and fine vertices on each coarse triangle, as CSR
        self._corners = _group(self._triangles.reshape(-1), self.coarse)
        self._riders = _group(self._home, len(order))
        self._offsets = np.zeros((self.fine, 3))
        self._offsets = np.einsum("ijk,ik->ij", self._frames(coarse.X)[self._home], fine.X - self(coarse.X))
        riders = self._riders[1]
        self._grouped = (self._weights[riders], self._offsets[riders])

    @cached_property
    def linear(self) -> LinearMap:
        """U: barycentric weights, at most three a row, not negative, with the sum one."""
        columns = self._triangles[self._home].reshape(-1)
        starts = np.arange(0, 3 * self.fine + 1, 3)
        # a copy, of which zeros can be taken out
        U = sparse.csr_array((self._weights.flatten(), columns, starts), shape=(self.fine, self.coarse))
        U.eliminate_zeros()
        return LinearMap(U, kept=self.kept)

    def _frames(self, x: Floats) -> Floats:
        out = np.empty((len(self._triangles), 3, 3))
        frames.find_frames(x, self._triangles, self._B, out)
        return out

    def _normals(self, x: Floats) -> tuple[Floats, Floats]:
        """Unit normals (n_coarse, 3), and the lengths (n_coarse,) that they had as sums."""
        normals, lengths = np.empty((self.coarse, 3)), np.empty(self.coarse)
        bulges.find_normals(x, self._triangles, *self._corners, normals, lengths)
        return normals, lengths

    def _carry(self, x: Floats, on_frames: Floats, on_bulges: Floats) -> Floats:
        out = np.empty((self.fine, 3))
        prolong(x, self._triangles, self._home, self._weights, self._offsets, on_frames, on_bulges, out)
        return out

    def __call__(self, x: Floats) -> Floats:
        x, bulging = np.ascontiguousarray(x), self._empty(self._alpha > 0.0)
        if len(bulging):
            bulges.find_bulges(x, self._triangles, self._normals(x)[0], self._alpha, bulging)
        return self._carry(x, self._frames(x), bulging)

    def push_forward(self, x: Floats, d: Floats) -> Floats:
        x, d = np.ascontiguousarray(x), np.ascontiguousarray(d)
        turning, bulging = np.zeros((len(self._triangles), 3, 3)), self._empty(self._alpha > 0.0)
        if self._exact:
            frames.turn_frames(x, d, self._triangles, self._B, self._frames(x), turning)
        if len(bulging):
            normals, lengths = self._normals(x)
            speeds = np.zeros((self.coarse, 3))
            if self._exact:
                bulges.turn_normals(x, d, self._triangles, *self._corners, speeds)
                bulges.normalise(normals, lengths, speeds)
            bulges.turn_bulges(x, d, self._triangles, normals, speeds, self._alpha, bulging)
        return self._carry(d, turning, bulging)

    def pull_back(self, x: Floats, g: Floats) -> Floats:
        x, g = np.ascontiguousarray(x), np.ascontiguousarray(g)
        forces, turning, bulging = self._empty(), self._empty(self._exact), self._empty(self._alpha > 0.0)
        collect(g, *self._riders, *self._grouped, forces, turning, bulging)
        out = np.empty((self.coarse, 3))
        if self._exact:
            frames.add_torques(x, self._triangles, self._B, self._frames(x), turning, forces)
        if len(bulging):
            normals, lengths = self._normals(x)
            on_normals = np.zeros((len(self._triangles) if self._exact else 0, 3, 3))
            bulges.add_bulges(x, self._triangles, normals, self._alpha, bulging, forces, on_normals)
            if self._exact:
                gather_corners(*self._corners, on_normals, out)
                bulges.normalise(normals, lengths, out)
                bulges.add_turning(x, self._triangles, out, forces)
        gather_corners(*self._corners, forces, out)
        return out

    def _empty(self, wanted: bool = True) -> Floats:
        """Three vectors a triangle, (m, 3, 3), or (0, 3, 3) where none are wanted."""
        return np.empty((len(self._triangles) if wanted else 0, 3, 3))

    def interpolate(self, values: Floats) -> Floats:
        return self.linear.interpolate(values)

    def restrict(self, x: Floats) -> Floats:
        """Coarse positions whose prolongation is nearest to fine ones x (fine, 3); exact for rigid motions."""
        return self._fit(x)

    @cached_property
    def _fit(self) -> Fit:
        return Fit(self, self._X_coarse, self._X_fine)

    def average(self, values: Floats) -> Floats:
        """Means of the fine values about each coarse vertex, by the weights that it has there; its own without any."""
        U = self.linear.matrix
        total = np.asarray(U.sum(axis=0)).reshape(-1)
        mean = (U.T @ values) / np.where(total > 0.0, total, 1.0)
        return np.where(total > 0.0, np.clip(mean, values.min(), values.max()), values[self.kept])


def _group(of: Ints, count: int) -> tuple[Ints, Ints]:
    """Which indices belong to each of count groups, as CSR, given the group of each."""
    starts = np.append(0, np.cumsum(np.bincount(of, minlength=count)))
    return starts.astype(np.int32), np.argsort(of, kind="stable").astype(np.int32)
