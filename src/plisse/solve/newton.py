"""Projected Newton as a generator of iterates: the caller owns the loop."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.potential import Clock, Hessian, Pattern, Sum, frozen
from plisse.core.state import Couplings
from plisse.solve.factors import NotPositiveDefinite
from plisse.solve.guard import check_linear_system, start_value
from plisse.solve.linear import LinearSolver, Mixed, make_solver

ROUNDING = 1e-14  # a rise of the objective below this part of its parts' sizes is rounding
BLOCKED = 1e-3  # a step that its filters cut below this is blocked: they are asked by what
HALVINGS = 40  # the line search gives up after this many
Refine = Callable[[Floats, Floats], Floats]  # from positions and a direction there to a better one

Taken = tuple[Floats, float, float, int]  # x, objective, step and trials of an accepted step


@dataclass(frozen=True, eq=False)
class Iterate:
    """One Newton iteration: x after it, objective [J], d (n, 3) [m], the step taken and what its filters allowed.

    bringing: it leads scripted vertices to their places, ahead of the step itself. discarded: it did not lower the
    energy, and the step starts again without it. blocked: vertices of the stencil that leaves a step hardly any room.
    """

    x: Floats
    value: float
    d: Floats
    step: float
    allowed: float
    trials: int
    converged: bool
    stalled: bool = False
    bringing: bool = False
    discarded: bool = False
    blocked: tuple[int, ...] = ()

    @property
    def direction(self) -> float:
        """‖d‖₂ [m]."""
        return norm(self.d)


class Newton:
    """Newton's method; keeps the sparsity pattern and its symbolic factorisation between solves.

    `analyses` and `factorisations` count the symbolic and the numeric ones. lasting: a pattern is kept as
    long as it holds all stencils, also where their arrays are made anew. aside: what a step takes for other unknowns.
    """

    def __init__(self, solver: LinearSolver, *, lasting: bool = False, aside: Newton | None = None) -> None:
        self._solver, self._lasting = solver, lasting
        self.aside = self if aside is None else aside
        self._pattern: Pattern | None = None
        self._analysed: Pattern | None = None
        self._fixed: tuple[Ints, ...] = ()
        self._base: Pattern | None = None
        self._mark = ""
        self._memory: tuple[Pattern, Couplings] | None = None
        self.analyses = 0
        self.factorisations = 0

    @property
    def memory(self) -> Couplings | None:
        """What contact has added to the pattern in use."""
        if self._base is None or self._pattern is None:
            return None
        if self._memory is None or self._memory[0] is not self._pattern:
            self._mark = self._mark or _digest(self._base.free, self._fixed)
            added = np.setdiff1d(self._pattern.keys, self._base.keys, assume_unique=True)
            self._memory = self._pattern, Couplings(self._mark, added)
        return self._memory[1]

    def recall(self, memory: Couplings, free: Bools, fixed: Sequence[Ints]) -> None:
        """Takes up the pattern of an earlier `memory`, if that was of the same free vertices (n,) and stencils."""
        fixed = _distinct(fixed)
        if memory.mark != _digest(free, fixed):
            return
        base = Pattern.of(free, fixed)
        self._base, self._fixed, self._mark = base, fixed, memory.mark
        keys = np.sort(np.concatenate([base.keys, memory.keys]))
        self._pattern = Pattern(base.free_index, keys) if len(memory.keys) else base

    def iterate(
        self,
        objective: Sum,
        x: Floats,
        free: Bools,
        *,
        stop: float,
        max_iterations: int,
        refine: Refine | None = None,
        once: bool = False,
    ) -> Iterator[Iterate]:
        """Minimises over the free vertices until ‖d‖₂ ≤ stop; the last iterate is marked converged or stalled.

        refine: makes better directions. once: the stencils are others next time, so that nothing is prepared for it.

        The direction that ends the solve is still taken: what a step adds to the speed may be less than the tolerance
        and must not be lost. Yielded arrays are read-only.
        """
        x = frozen(x)
        value = start_value(objective, x, free)
        for _ in range(max_iterations):
            p = self.direction(objective, x, free, once=once)
            p = p if refine is None else refine(x, p)
            done = norm(p) <= float(stop)
            allowed = objective.max_step(x, p)
            blocked = _blocking(objective.limits(x, 2.0 * BLOCKED * p)) if allowed < BLOCKED else ()
            taken = search(objective, x, p, value, allowed)
            if taken is None:
                yield Iterate(x, value, p, 0.0, allowed, HALVINGS, done, stalled=not done, blocked=blocked)
                return
            x, value, step, trials = taken
            yield Iterate(x, value, p, step, allowed, trials, done, blocked=blocked)
            if done:
                return

    def direction(self, objective: Sum, x: Floats, free: Bools, *, once: bool = False) -> Floats:
        """−H⁻¹∇E on the free vertices, zero elsewhere, shape (n, 3)."""
        if not free.any():
            return np.zeros_like(x)
        gradient = objective.gradient(x)
        hessian = objective.hessian(x)
        now = time.perf_counter()
        values = self._assemble(objective, hessian, x, free, once=once)
        check_linear_system(gradient, hessian, values, objective, x, free)
        start = objective.clock.add("elastic", now)
        assert self._pattern is not None
        unknowns = self._pattern.rows
        rows = [-gradient[unknowns].ravel(), *(u[unknowns].ravel() for u in hessian.rank_one)]
        solved = self._solve(values, np.stack(rows) if len(rows) > 1 else rows[0], objective.clock)
        p = np.zeros_like(x)
        p[unknowns] = _with_rank_one(np.atleast_2d(solved), rows[1:]).reshape(-1, 3)
        objective.clock.add("linear", start)
        return p

    def _assemble(self, objective: Sum, hessian: Hessian, x: Floats, free: Bools, *, once: bool) -> Floats:
        fixed = _distinct(objective.stencils())
        same = len(fixed) == len(self._fixed) and all(map(self._is_same, fixed, self._fixed))
        if self._base is None or not same or not np.array_equal(self._base.free, free):
            self._base, self._fixed, self._mark = Pattern.of(free, fixed), fixed, ""
            self._pattern = self._base
        assert self._pattern is not None
        if any(a is not b for a, b in zip(fixed, self._fixed, strict=True)):
            # the same stencils in other arrays: those of before are not looked for again
            self._fixed = fixed
            self._pattern.forget()
        values = self._pattern.assemble(hessian, fixed=fixed)
        if values is None:
            soon = [] if once else objective.soon(x)
            self._pattern = self._base.including([*_moving(hessian, fixed), *soon])
            values = self._pattern.assemble(hessian, fixed=fixed)
            assert values is not None
        return values

    def _is_same(self, nodes: Ints, known: Ints) -> bool:
        return nodes is known or (self._lasting and np.array_equal(nodes, known))

    @property
    def unknowns(self) -> Ints:
        """Vertices that the last matrix was about."""
        assert self._pattern is not None
        return self._pattern.rows.astype(np.int32)

    def precondition(self, r: Floats) -> Floats:
        """About H⁻¹ r for the Hessian H that was factorised last and r of its unknowns, shape (3m,)."""
        return self._solver.precondition(r) if isinstance(self._solver, Mixed) else self._solver.solve(r)

    def matrix(self, objective: Sum, hessian: Hessian) -> tuple[Pattern, Floats]:
        """Pattern and values of another Hessian of the same unknowns; what was factorised stays."""
        assert self._pattern is not None and self._base is not None
        fixed = _distinct(objective.stencils())
        pattern = self._pattern
        values = pattern.assemble(hessian, fixed=fixed)
        if values is None:
            pattern = self._base.including(_moving(hessian, fixed))
            values = pattern.assemble(hessian, fixed=fixed)
            assert values is not None
        return pattern, values

    def _solve(self, values: Floats, rhs: Floats, clock: Clock) -> Floats:
        assert self._pattern is not None
        now = time.perf_counter()
        # potentials that are made anew for each step often couple the same vertices
        if self._analysed is None or not self._pattern.equals(self._analysed):
            self._solver.analyse(self._pattern)
            self._analysed = self._pattern
            self.analyses += 1
            now = clock.add("symbolic", now)
        diagonal = self._pattern.indptr[:-1]
        shift = 0.0
        while True:
            try:
                self._solver.factorise(values)
                self.factorisations += 1
                now = clock.add("numeric", now)
                solved = self._solver.solve(rhs)
                clock.add("solve", now)
                return solved
            except NotPositiveDefinite:
                # rounding made a semidefinite matrix indefinite: the smallest shift that mends it
                scale = float(np.abs(values[diagonal]).mean())
                grown = max(10.0 * shift, 1e-10 * scale)
                if grown > scale:
                    raise
                values = values.copy()
                values[diagonal] += grown - shift
                shift = grown


def norm(d: Floats) -> float:
    """‖d‖₂; not by BLAS, whose threads wait for milliseconds on each other where other work keeps a core busy."""
    return math.sqrt(float(np.einsum("ij,ij->", d, d)))


def search(objective: Sum, x: Floats, p: Floats, value: float, step: float) -> Taken | None:
    """Halves a step along p until the objective is not above its value at x."""
    for trial in range(1, HALVINGS + 1):
        x_trial = frozen(x + step * p)
        if trial > 1 and np.array_equal(x_trial, x):
            return None
        value_trial = objective.value(x_trial)
        if math.isfinite(value_trial) and value_trial <= value + ROUNDING * objective.size:
            return x_trial, value_trial, step, trial
        step *= 0.5
    return None


def make_newton(
    linear: str = "auto", *, precision: str = "auto", threads: int = 1, lasting: bool = False
) -> Newton:  # fmt: skip
    """Newton's method on the named linear solver; linear and precision: as in a scene's [solver].

    lasting: for whoever comes back to the same vertices again and again; takes the memory of two.
    """

    def solver() -> LinearSolver:
        return make_solver(linear, precision=precision, threads=threads)

    return Newton(solver(), lasting=lasting, aside=Newton(solver(), lasting=True) if lasting else None)


def _distinct(stencils: Sequence[Ints]) -> tuple[Ints, ...]:
    """Each array once: damping has the stencils of what it damps."""
    return tuple({id(nodes): nodes for nodes in stencils}.values())


def _moving(hessian: Hessian, fixed: Sequence[Ints]) -> list[Ints]:
    """Stencils of the blocks whose vertices are not always the same."""
    return [block.nodes for block in hessian.blocks if not any(block.nodes is nodes for nodes in fixed)]


def _digest(free: Bools, fixed: Sequence[Ints]) -> str:
    """Tells patterns of different free vertices (n,) or fixed stencils apart."""
    digest = hashlib.blake2b(free.tobytes(), digest_size=16)
    for nodes in fixed:
        digest.update(repr(nodes.shape).encode())
        digest.update(np.ascontiguousarray(nodes).data)
    return digest.hexdigest()


def _blocking(limits: Sequence[tuple[Ints, Floats]]) -> tuple[int, ...]:
    """Vertices of the stencil that allows the shortest step."""
    found = [pair for pair in limits if len(pair[1])]
    if not found:
        return ()
    nodes, steps = min(found, key=lambda pair: float(pair[1].min()))
    return tuple(int(node) for node in nodes[steps.argmin()])


def _with_rank_one(solved: Floats, columns: Sequence[Floats]) -> Floats:
    """(A + U Uᵀ)⁻¹b from A⁻¹b (first row of `solved`) and A⁻¹U (the others), by Sherman–Morrison–Woodbury."""
    if not columns:
        return np.asarray(solved[0])
    U, AU = np.stack(columns), solved[1:]
    small = np.eye(len(U)) + U @ AU.T
    return np.asarray(solved[0] - np.linalg.solve(small, U @ solved[0]) @ AU)
