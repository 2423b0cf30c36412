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

    coarse, fine: numbers of vertices. kept: the fine vertex that each coarse one is, shape (coarse,); it need not lie
    where the coarse one does.
    """

    coarse: int
    fine: int
    kept: Ints

    @cached_property
    def thawed(self) -> LevelMap:
        """The same map with exact derivatives, where `pull_back` holds something frozen."""
        return self

    @abstractmethod
    def __call__(self, x: Floats) -> Floats:
        """Fine positions (fine, 3) of coarse ones x (coarse, 3) [m]."""

    @abstractmethod
    def pull_back(self, x: Floats, g: Floats) -> Floats:
        """What fine forces g (fine, 3) are on the coarse vertices (coarse, 3) at x: the transpose of `push_forward`."""

    @property
    @abstractmethod
    def linear(self) -> LinearMap:
        """The map's linear part, the same at all positions, which velocities and projections take."""

    @abstractmethod
    def interpolate(self, values: Floats) -> Floats:
        """Fine values (fine,) of coarse ones (coarse,) along the surface: rows are convex."""

    def velocity(self, v: Floats) -> Floats:
        """Fine velocities (fine, 3) of coarse ones v (coarse, 3) by the map's linear part."""
        return self.linear(v)

    def push_forward(self, x: Floats, d: Floats) -> Floats:
        """Fine displacements (fine, 3) of small coarse ones d (coarse, 3) at x."""
        return self.velocity(d)

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
        """Coarse positions (coarse, 3) that fine ones x (fine, 3) [m] go with: those of the vertices that are kept."""
        return np.ascontiguousarray(x[self.kept])

    def average(self, values: Floats) -> Floats:
        """Coarse values (coarse,) of fine ones (fine,), none beyond the largest and the least."""
        return np.ascontiguousarray(values[self.kept])


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

    @property
    def linear(self) -> LinearMap:
        return self

    def interpolate(self, values: Floats) -> Floats:
        return np.asarray(self.along.matrix @ values)

    @property
    def gram(self) -> tuple[Sparsity, Floats]:
        """Upper triangle of PᵀP as sorted CSR: where it has entries, and their values."""
        upper = sparse.triu(self.matrix.T @ self.matrix, format="csr")
        upper.sort_indices()
        upper.indptr, upper.indices, data = _as_rows(upper)
        return upper, data

    def after(self, coarser: LinearMap) -> LinearMap:
        """This map applied to the result of a coarser one."""
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
