"""Maps of a coarse level's vertices to a finer level's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from plisse.core.arrays import Bools, Floats, Ints
from plisse.kernels.sparse import multiply
from plisse.solve.factors import Sparsity

WHOLE = 1.0 - 1e-9  # of a vertex's weights on chosen vertices that make it a chosen one itself


class LevelMap(ABC):
    """From coarse positions to finer ones, linear or not; and how what is known of vertices is carried along.

    coarse, fine: numbers of vertices. kept: the fine vertex that each coarse one is, shape (coarse,).
    """

    coarse: int
    fine: int
    kept: Ints

    @abstractmethod
    def __call__(self, x: Floats) -> Floats:
        """Fine positions (fine, 3) of coarse ones x (coarse, 3) [m]."""

    @abstractmethod
    def pull_back(self, x: Floats, g: Floats) -> Floats:
        """What fine forces g (fine, 3) are on the coarse vertices (coarse, 3); offsets are frozen at coarse x."""

    @abstractmethod
    def velocity(self, v: Floats) -> Floats:
        """Fine velocities (fine, 3) of coarse ones v (coarse, 3): the map's linear part."""

    @abstractmethod
    def interpolate(self, values: Floats) -> Floats:
        """Fine values (fine,) of coarse ones (coarse,) along the surface: rows are convex."""

    @property
    @abstractmethod
    def gram(self) -> tuple[Sparsity, Floats]:
        """Upper triangle of UᵀU, U the linear part, as sorted CSR: where it has entries, and their values."""

    @abstractmethod
    def after(self, coarser: LevelMap) -> LevelMap:
        """This map applied to the result of a coarser one."""

    @property
    def new(self) -> Bools:
        """Fine vertices that the coarse level does not have, shape (fine,)."""
        out = np.ones(self.fine, bool)
        out[self.kept] = False
        return out

    def carry_up(self, chosen: Ints) -> Ints:
        """Fine vertices that lie among the chosen coarse ones, both sorted: a midpoint does when both its ends do."""
        mask = np.zeros(self.coarse)
        mask[chosen] = 1.0
        return np.flatnonzero(self.interpolate(mask) > WHOLE).astype(np.int32)

    def carry_down(self, chosen: Ints) -> Ints:
        """Coarse vertices that are among the chosen fine ones, both sorted."""
        mask = np.zeros(self.fine, bool)
        mask[chosen] = True
        return np.flatnonzero(mask[self.kept]).astype(np.int32)

    def restrict(self, x: Floats) -> Floats:
        """Values (coarse, …) of the fine vertices that the coarse level has, from those of all (fine, …)."""
        return np.ascontiguousarray(x[self.kept])


class LinearMap(LevelMap):
    """x_fine = P x_coarse with sparse rows that sum to one.

    matrix: P in CSR, shape (fine, coarse). along: U, what follows the coarse surface itself, P when not given.
    """

    def __init__(self, matrix: Any, *, along: LinearMap | None = None, kept: Ints | None = None) -> None:
        self.matrix = sparse.csr_array(matrix)
        self.matrix.sort_indices()
        self.fine, self.coarse = self.matrix.shape
        self.along = self if along is None else along
        self.kept = np.arange(self.coarse, dtype=np.int32) if kept is None else kept

    @cached_property
    def _rows(self) -> tuple[Any, Any, Floats]:
        return _as_rows(self.matrix)

    @cached_property
    def _columns(self) -> tuple[Any, Any, Floats]:
        return _as_rows(self.matrix.T.tocsr())

    def __call__(self, x: Floats) -> Floats:
        out = np.empty((self.fine, 3))
        multiply(*self._rows, np.ascontiguousarray(x), out)
        return out

    def pull_back(self, x: Floats, g: Floats) -> Floats:
        out = np.empty((self.coarse, 3))
        multiply(*self._columns, np.ascontiguousarray(g), out)
        return out

    def velocity(self, v: Floats) -> Floats:
        return self(v)

    def interpolate(self, values: Floats) -> Floats:
        return np.asarray(self.along.matrix @ values)

    @property
    def gram(self) -> tuple[Sparsity, Floats]:
        upper = sparse.triu(self.matrix.T @ self.matrix, format="csr")
        upper.sort_indices()
        upper.indptr, upper.indices, data = _as_rows(upper)
        return upper, data

    def after(self, coarser: LevelMap) -> LinearMap:
        assert isinstance(coarser, LinearMap)
        along = None
        if self.along is not self or coarser.along is not coarser:
            along = LinearMap(self.along.matrix @ coarser.along.matrix)
        return LinearMap(self.matrix @ coarser.matrix, along=along, kept=self.kept[coarser.kept])


def side_by_side(parts: Sequence[LinearMap]) -> LinearMap:
    """One map for bodies whose vertices follow each other."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(part.fine for part in parts[:-1])])
    kept = np.concatenate([part.kept + first for part, first in zip(parts, firsts, strict=True)]).astype(np.int32)
    along = None
    if any(part.along is not part for part in parts):
        along = LinearMap(sparse.block_diag([part.along.matrix for part in parts], format="csr"), kept=kept)
    return LinearMap(sparse.block_diag([part.matrix for part in parts], format="csr"), along=along, kept=kept)


def identity(n: int) -> LinearMap:
    """The map of a body that is the same on both levels."""
    return LinearMap(sparse.eye_array(n, format="csr"))


def _as_rows(matrix: Any) -> tuple[Any, Any, Floats]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
