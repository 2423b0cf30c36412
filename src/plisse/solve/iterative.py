"""Conjugate gradients on symmetric matrices of 3×3 blocks: the product, the preconditioner, the iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.potential import Pattern
from plisse.kernels import sparse
from plisse.solve.factors import NotPositiveDefinite, Pardiso


class Operator:
    """Products A x in double precision, whose sums have the same order for any number of threads."""

    def __init__(self, pattern: Pattern) -> None:
        self._upper = pattern.block_ptr, pattern.block_col
        off_diagonal = len(pattern.block_col) - pattern.size
        rows, slots = np.empty(off_diagonal, np.int32), np.empty(off_diagonal, np.int32)
        self._lower = np.empty(pattern.size + 1, np.int32), rows, slots
        sparse.transpose_blocks(*self._upper, *self._lower)

    def multiply(self, values: Floats, x: Floats) -> Floats:
        """A x for A of these values and each row of x (k, n)."""
        out = np.empty_like(x)
        for row, result in zip(x, out, strict=True):
            sparse.multiply_symmetric(*self._upper, *self._lower, values, row, result)
        return out


class Preconditioner(Protocol):
    """Something like A⁻¹, symmetric and positive definite."""

    def analyse(self, pattern: Pattern) -> None: ...

    def factorise(self, values: Floats) -> None:
        """Raises NotPositiveDefinite where A is not."""

    def apply(self, r: Floats) -> Floats:
        """About A⁻¹ r for each row of r (k, n)."""

    def release(self) -> None:
        """Frees the memory that pattern and factor take."""


class SinglePrecision:
    """A factorised in single precision.

    A is scaled to a unit diagonal and each r to a largest entry of one, so that nothing leaves the range of single
    precision, whatever the units.
    """

    def __init__(self, factor: Pardiso) -> None:
        self._factor = factor

    def analyse(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._factor.analyse(pattern)

    def factorise(self, values: Floats) -> None:
        pattern = self._pattern
        diagonal = values[pattern.indptr[:-1]]
        if (diagonal <= 0.0).any():
            raise NotPositiveDefinite
        self._scale = 1.0 / np.sqrt(diagonal)
        scaled = np.empty(len(values), np.float32)
        sparse.scale_to_single(pattern.indptr, pattern.indices, values, self._scale, scaled)
        self._factor.factorise(scaled)

    def apply(self, r: Floats) -> Floats:
        scaled = self._scale * r
        size = np.abs(scaled).max(axis=1, keepdims=True)
        size[size == 0.0] = 1.0
        return np.asarray(size * self._scale * self._factor.solve((scaled / size).astype(np.float32)))

    def release(self) -> None:
        self._factor.release()


def conjugate_gradients(
    multiply: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    b: Floats,
    *,
    residual: float,
    most: int,
) -> tuple[Floats, int, bool]:
    """Solutions x of A x = b for each row of b (k, n), the iterations made, and whether ‖b − A x‖ ≤ residual ‖b‖.

    multiply and precondition: A and about A⁻¹, of all rows at once; most: iterations that are tried.
    """
    x, r, goal = np.zeros_like(b), b, residual * np.linalg.norm(b, axis=1)
    p = z = precondition(r)
    rz = _dots(r, z)
    for iteration in range(1, most + 1):
        Ap = multiply(p)
        step = _over(rz, _dots(p, Ap))
        x += step * p
        r = r - step * Ap
        if (np.linalg.norm(r, axis=1) <= goal).all():
            return x, iteration, True
        z = precondition(r)
        before, rz = rz, _dots(r, z)
        p = z + _over(rz, before) * p
    return x, most, False


def _dots(a: Floats, b: Floats) -> Floats:
    """aᵀb of each row, shape (k, 1); not by BLAS, which has threads of its own."""
    return np.asarray(np.einsum("kn,kn->k", a, b))[:, None]


def _over(a: Floats, b: Floats) -> Floats:
    """a / b, and 0 where b is not positive: a row that is solved, or one that cannot be."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
