"""The linear solver: symmetric positive definite matrices of 3×3 blocks, in double or in mixed precision."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.potential import Pattern
from plisse.solve.factors import Factor, NotPositiveDefinite, Pardiso, make_factor
from plisse.solve.iterative import Operator, Preconditioner, SinglePrecision, conjugate_gradients

RESIDUAL = 1e-6  # ‖b − A x‖ / ‖b‖ that ends the iterations
ITERATIONS = 10  # after which the matrix is factorised in double precision instead
LEAST = 2000  # block rows from which "auto" iterates: at 1,300 it is hardly faster, at 3,000 by a fifth or more


class LinearSolver(Protocol):
    """Solves A x = b. A pattern is analysed once for all values that its matrix takes; every Factor is one."""

    def analyse(self, pattern: Pattern) -> None: ...

    def factorise(self, values: Floats) -> None:
        """Raises NotPositiveDefinite where A is not."""

    def solve(self, rhs: Floats) -> Floats:
        """Solutions of right-hand sides (n,) or (k, n); raises NotPositiveDefinite where that shows only here."""


def make_solver(name: str = "auto", *, precision: str = "auto", threads: int = 1) -> LinearSolver:
    """The solver on the factorisation of that name; only PARDISO has mixed precision, the others are always double."""
    double = make_factor(name, threads=threads)
    if precision == "double" or not isinstance(double, Pardiso):
        return double
    single = SinglePrecision(Pardiso(threads, single=True))
    return Mixed(single, double, least=LEAST if precision == "auto" else 0)


class Mixed:
    """Conjugate gradients with products in double precision and a cheaper preconditioner.

    Where they do not converge, or a pivot of the preconditioner fails, the matrix is factorised by `double`; so are
    matrices of less than `least` block rows. A solution depends on A and b alone, not on what was solved before.
    `iterations` counts those of conjugate gradients, `fallbacks` how often `double` had to take over.
    """

    def __init__(self, preconditioner: Preconditioner, double: Factor, *, least: int) -> None:
        self._preconditioner, self._double, self._least = preconditioner, double, least
        self._operator: Operator | None = None
        self.iterations = self.fallbacks = 0

    def analyse(self, pattern: Pattern) -> None:
        self._pattern, self._operator, self._analysed_double = pattern, None, False
        self._preconditioner.release()
        self._double.release()
        if pattern.size >= self._least:
            self._operator = Operator(pattern)
            self._preconditioner.analyse(pattern)
        else:
            self._analyse_double()

    def factorise(self, values: Floats) -> None:
        self._values, self._iterates = values, self._operator is not None
        if self._iterates:
            try:
                self._preconditioner.factorise(values)
            except NotPositiveDefinite:
                self._fall_back()
        else:
            self._double.factorise(values)

    def solve(self, rhs: Floats) -> Floats:
        if self._iterates:
            assert self._operator is not None
            x, iterations, converged = conjugate_gradients(
                partial(self._operator.multiply, self._values), self._preconditioner.apply, np.atleast_2d(rhs),
                residual=RESIDUAL, most=ITERATIONS,
            )  # fmt: skip
            self.iterations += iterations
            if converged:
                return x.reshape(rhs.shape)
            self._fall_back()
        return self._double.solve(rhs)

    def precondition(self, r: Floats) -> Floats:
        """About A⁻¹ r for r (n,), at the least cost."""
        return self._preconditioner.apply(r[None])[0] if self._iterates else self._double.solve(r)

    def _fall_back(self) -> None:
        """Factorises the present matrix in double precision."""
        self._iterates = False
        self.fallbacks += 1
        if not self._analysed_double:
            self._analyse_double()
        self._double.factorise(self._values)

    def _analyse_double(self) -> None:
        self._double.analyse(self._pattern)
        self._analysed_double = True
