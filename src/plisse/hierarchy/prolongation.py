"""Maps of a coarse level's positions to a finer level's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from plisse.core.mesh import Floats
from plisse.kernels.sparse import multiply


class Prolongation:
    """x_fine = P x_coarse with sparse rows that sum to one; `matrix` is P in CSR, shape (n_fine, n_coarse)."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = sparse.csr_array(matrix)
        self.matrix.sort_indices()

    @cached_property
    def _rows(self) -> tuple[Any, Any, Floats]:
        return _as_rows(self.matrix)

    @cached_property
    def _columns(self) -> tuple[Any, Any, Floats]:
        return _as_rows(self.matrix.T.tocsr())

    def __call__(self, x: Floats) -> Floats:
        """Fine positions of coarse ones x (n_coarse, 3), shape (n_fine, 3)."""
        out = np.empty((self.matrix.shape[0], 3))
        multiply(*self._rows, np.ascontiguousarray(x), out)
        return out

    def restrict(self, g: Floats) -> Floats:
        """Pᵀ g: what fine forces g (n_fine, 3) are on the coarse vertices, shape (n_coarse, 3)."""
        out = np.empty((self.matrix.shape[1], 3))
        multiply(*self._columns, np.ascontiguousarray(g), out)
        return out

    def after(self, coarser: Prolongation) -> Prolongation:
        """This one applied to the result of a coarser one."""
        return Prolongation(self.matrix @ coarser.matrix)

    def head(self, fine: int, coarse: int) -> Prolongation:
        """The part that maps the first `coarse` vertices to the first `fine` ones."""
        return Prolongation(self.matrix[:fine, :coarse])


def side_by_side(parts: Sequence[Prolongation]) -> Prolongation:
    """One map for bodies whose vertices follow each other."""
    return Prolongation(sparse.block_diag([part.matrix for part in parts], format="csr"))


def identity(n: int) -> Prolongation:
    """The map of a body that is the same on both levels."""
    return Prolongation(sparse.eye_array(n, format="csr"))


def _as_rows(matrix: Any) -> tuple[Any, Any, Floats]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
