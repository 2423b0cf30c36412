"""Prolongation of shells: every fine vertex rides on one coarse triangle, as it did at rest."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numba
import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.mesh import Mesh
from plisse.hierarchy.maps import LevelMap, LinearMap
from plisse.hierarchy.restriction import Fit
from plisse.kernels import bulges
from plisse.kernels.frames import find_frames
from plisse.kernels.prolong import gather_corners, prolong, pull, push
from plisse.kernels.stretch import shape_gradients

PHONG = 0.5  # part of the way to the corners' tangent planes that leaves parabolas as they are


class ShellMap(LevelMap):
    """x_i = b_i(x) + R(F) t_i + γ_i n: a base on the containing triangle, and an offset in its frame. [Zhang2023] §4.3

    b = q − α Σ_k w_k n_k n_k·(q − x_k), q = Σ_k w_k x_k the barycentric point, n_k the normals of the triangle's
    corners. Offsets (γ, t) are those of the rest shape in space, which the map therefore takes to the fine
    rest shape, and it commutes with rigid motions. The shapes are the meshes' X: patterns (`Mesh.rest`) do not matter.

    coarse, fine: meshes; home: the triangle that contains each fine vertex (n,); weights: its barycentric weights
    there, at least 0 with the sum 1, shape (n, 3); kept: the fine vertex that each coarse one is, shape (n_coarse,).
    phong: α, 0 for the printed map. frozen: `pull_back` and `push_forward` hold frames and normals, as printed.

    Differs: α is ½, not 0. A piecewise linear base has a crease at each coarse edge, which makes the bending energy of
    prolonged bent sheets several times the true one; half of the way to Phong's surface [Boubekeur2008], parabolas stay
    parabolas, and creases are faint. And offsets turn with their frames in derivatives too: without, free bodies feel a
    torque that is not there, and a line search on the energy stalls.
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
        # triangles follow their fine vertices, so that forces and positions are met in the order of memory
        order = _order_by_riders(home, len(coarse.triangles))
        self._triangles = np.ascontiguousarray(coarse.triangles[order])
        self._home = np.argsort(order).astype(np.int32)[home]
        self._weights = np.ascontiguousarray(weights, np.float64)
        B = np.empty((len(order), 3, 2))
        shape_gradients(coarse.X, self._triangles, B)
        # the frame of a triangle without area does not turn
        self._B = np.where(np.isfinite(B).all(axis=(1, 2), keepdims=True), B, 0.0)
        # corners at each coarse vertex and fine vertices on each coarse triangle, as CSR
        self._corners = (*_group(self._triangles.reshape(-1), self.coarse), _corner_weights(coarse.X[self._triangles]))
        starts, riders = _group(self._home, len(order))
        self._riding = (starts, riders, self._weights[riders], np.zeros((self.fine, 3)))
        frames = np.empty((len(order), 3, 3))
        find_frames(coarse.X, self._triangles, self._B, frames)
        offsets = np.einsum("ijk,ik->ij", frames[self._home], fine.X - self(coarse.X))
        self._riding = (starts, riders, self._weights[riders], offsets[riders])

    @cached_property
    def linear(self) -> LinearMap:
        """U: barycentric weights, at most three a row, not negative, with the sum one."""
        columns = self._triangles[self._home].reshape(-1)
        starts = np.arange(0, 3 * self.fine + 1, 3)
        # a copy, of which zeros can be taken out
        U = sparse.csr_array((self._weights.flatten(), columns, starts), shape=(self.fine, self.coarse))
        U.eliminate_zeros()
        return LinearMap(U, kept=self.kept)

    @cached_property
    def thawed(self) -> LevelMap:
        if self._exact:
            return self
        other = copy(self)
        other._exact = True
        return other

    def _normals(self, x: Floats) -> tuple[Floats, Floats]:
        """Unit normals (n_coarse, 3), and the lengths (n_coarse,) that they had as sums; empty for α = 0."""
        if self._alpha == 0.0:
            return np.empty((0, 3)), np.empty(0)
        normals, lengths = np.empty((self.coarse, 3)), np.empty(self.coarse)
        bulges.find_normals(x, self._triangles, *self._corners, normals, lengths)
        return normals, lengths

    def __call__(self, x: Floats) -> Floats:
        x, out = np.ascontiguousarray(x), np.empty((self.fine, 3))
        prolong(
            x, self._triangles, self._B, self._normals(x)[0], self._alpha, *self._riding, out, numba.get_num_threads()
        )
        return out

    def push_forward(self, x: Floats, d: Floats) -> Floats:
        x, d, out = np.ascontiguousarray(x), np.ascontiguousarray(d), np.empty((self.fine, 3))
        normals, lengths = self._normals(x)
        speeds = np.zeros_like(normals)
        if self._exact and self._alpha > 0.0:
            bulges.turn_normals(x, d, self._triangles, *self._corners, speeds)
            bulges.normalise(normals, lengths, speeds)
        push(
            x,
            d,
            self._triangles,
            self._B,
            normals,
            speeds,
            self._alpha,
            self._exact,
            *self._riding,
            out,
            numba.get_num_threads(),
        )
        return out

    def pull_back(self, x: Floats, g: Floats) -> Floats:
        if not self._exact and self._alpha == 0.0:
            return self.linear.pull_back(x, g)
        x, g, out = np.ascontiguousarray(x), np.ascontiguousarray(g), np.empty((self.coarse, 3))
        turning, (normals, lengths) = self._exact and self._alpha > 0.0, self._normals(x)
        forces, on_normals = (np.empty((m, 3, 3)) for m in (len(self._B), len(self._B) if turning else 0))
        how = (self._triangles, self._B, normals, self._alpha, self._exact)
        pull(x, g, *how, *self._riding, forces, on_normals, numba.get_num_threads())
        if turning:
            gather_corners(*self._corners[:2], on_normals, out)
            bulges.normalise(normals, lengths, out)
            bulges.add_turning(x, self._triangles, self._corners[2], out, forces)
        gather_corners(*self._corners[:2], forces, out)
        return out

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


def _corner_weights(corners: Floats) -> Floats:
    """1/(‖e₁‖²‖e₂‖²) of the sides at each corner, relative to their mean, from corners (m, 3, 3); shape (3m,).

    With these, vertices on a sphere get its own normals. [Max1999] Differs: sides are those at rest, so that the sums
    are quadratic in the positions, and nothing is divided by an edge that has collapsed.
    """
    squares = np.square(corners[:, (1, 2, 0)] - corners).sum(axis=2)
    product = (squares * squares[:, (2, 0, 1)]).reshape(-1)
    return np.divide(product.mean(), product, out=np.zeros_like(product), where=product > 0.0)


def _order_by_riders(home: Ints, count: int) -> Longs:
    """Triangles in the order of the first fine vertex that each contains, (count,)."""
    first = np.full(count, len(home))
    np.minimum.at(first, home, np.arange(len(home)))
    return np.argsort(first, kind="stable")
