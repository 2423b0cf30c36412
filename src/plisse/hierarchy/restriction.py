"""Coarse positions that fine ones go with: rigid motions about each coarse vertex, then least squares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from plisse.core.arrays import Floats
from plisse.hierarchy.maps import LevelMap, LinearMap
from plisse.solve.factors import Factor, make_factor

HELD = 1e-3  # resistance to moving, in units of the mean diagonal of UᵀU: not every coarse vertex must have fine ones
COMMON = 1e-6  # part of the whole body's motion in that about each vertex, for those that have few fine ones about them
ROUNDS = 20  # of least squares
SETTLED = 1e-10  # of the body's size: a round that moves less is the last


@dataclass(frozen=True, eq=False)
class Fit:
    """y such that P(y) is near to x, P a prolongation of rest positions X_coarse (n, 3) to X_fine (m, 3) [m].

    Starts with the rigid motion of the fine vertices about each coarse one, and goes on by Gauss–Newton steps with held
    offsets: y += (UᵀU + ε)⁻¹ Uᵀ (x − P(y)), as long as they help. Exact where x is a rigid motion of X_fine.
    """

    prolongation: LevelMap
    X_coarse: Floats
    X_fine: Floats

    @property
    def _U(self) -> LinearMap:
        return self.prolongation.linear

    @cached_property
    def _factor(self) -> Factor:
        gram = self._U.matrix.T @ self._U.matrix
        held = HELD * gram.diagonal().mean() * sparse.eye_array(self._U.coarse)
        upper = sparse.triu(gram + held, format="csr")
        upper.sort_indices()
        upper.indptr, upper.indices = upper.indptr.astype(np.int32), upper.indices.astype(np.int32)
        factor = make_factor()
        factor.analyse(upper)
        factor.factorise(upper.data)
        return factor

    def __call__(self, x: Floats) -> Floats:
        """Coarse positions (n, 3) of fine ones x (m, 3)."""
        y, size = self._move_rigidly(x), float(np.ptp(self.X_fine, axis=0).max())
        apart = x - self.prolongation(y)
        for _ in range(ROUNDS):
            rhs = np.ascontiguousarray(self._U.pull_back(y, apart).T)
            step = np.ascontiguousarray(self._factor.solve(rhs).T)
            nearer = x - self.prolongation(y + step)
            if not np.square(nearer).sum() < np.square(apart).sum():
                break
            y, apart = y + step, nearer
            if np.abs(step).max() <= SETTLED * size:
                break
        return y

    def _move_rigidly(self, x: Floats) -> Floats:
        """Every coarse vertex with the best rigid motion of the fine ones about it, [Kabsch1976]."""
        weights = self._U.matrix.T.tocsr()
        weights = weights @ weights.T @ weights  # and those about its neighbours
        total = np.asarray(weights.sum(axis=1))
        own = total > 0.0
        shared = np.where(own, total, 1.0)[:, None]
        middle, rest_middle = x.mean(axis=0), self.X_fine.mean(axis=0)
        # about the middle of all, for accuracy far from the origin
        x, X = x - middle, self.X_fine - rest_middle
        a = np.where(own[:, None], (weights @ X) / shared, 0.0)
        b = np.where(own[:, None], (weights @ x) / shared, 0.0)
        products = (X[:, :, None] * x[:, None, :]).reshape(-1, 9)
        spread = (weights @ products).reshape(-1, 3, 3) / shared[:, :, None] - a[:, :, None] * b[:, None, :]
        spread = np.where(own[:, None, None], spread, 0.0) + COMMON * (X.T @ x) / len(x)
        left, _, right = np.linalg.svd(spread)
        flipped = np.linalg.det(left @ right) < 0.0
        left[flipped, :, 2] *= -1.0
        turned = np.einsum("nij,njk,ni->nk", left, right, self.X_coarse - rest_middle - a)
        return np.ascontiguousarray(middle + b + turned)
