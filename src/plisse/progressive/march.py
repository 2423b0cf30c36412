"""The one generator of states: step after step of any Problem, with any Integrator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plisse.core.grid import Grid
from plisse.core.potential import Clock, Sum
from plisse.core.state import Checkpoint, State
from plisse.progressive.integrators import Integrator, Prediction
from plisse.progressive.steps import Step, solve_step
from plisse.solve.newton import Iterate, Newton
from plisse.solve.problem import Problem, force_balance, potential_energy

HELD = 1e-3  # part of the reach by which handles that are held back come nearer in a step, at most
BALANCE = 0.02  # equilibrium asks for a resultant below this part of the applied load


@dataclass(frozen=True)
class Pace:
    """How far to march and how exactly.

    tol: of Newton's directions, ‖d‖ ≤ √n h tol [m/s]; last: number of the last step; iterations: most Newton
    iterations of a step; lead_iterations: most of leading scripted vertices that something holds back before it.
    """

    tol: float
    last: int
    iterations: int
    lead_iterations: int


def march(
    problem: Problem, integrator: Integrator, newton: Newton, clock: Clock, pace: Pace, grid: Grid
) -> Iterator[State]:
    """The state after every Newton iteration, from the grid's last state of the problem's level on.

    `state.accepted` marks the end of a step; such states are put on the grid. Under an integrator that seeks rest a
    state is converged, and the last one, when the first direction of its step is within the tolerance, everything that
    is led has arrived, and the resultant of contact, pins and loads is below 2 % of the load; the march also ends where
    the line search finds nothing lower, as every further step would be the same. Otherwise converged means that the
    step was solved to the tolerance.
    """
    level, h, rests = problem.level, integrator.h, integrator.seeks_rest
    if grid.last(level) is None:
        v0 = np.zeros_like(problem.x0) if rests else problem.v0
        grid.put(State(level, 0, 0.0, problem.x0, v0))
    state = grid.last(level)
    assert state is not None
    root = np.sqrt(max(int(problem.free.sum()), 1))
    total = state.newton_iterations
    while state.step < pace.last and not (rests and (state.converged or state.stalled)):
        number, first, before = state.step + 1, total, state
        now = integrator.predict(grid, level, number)
        problem = problem.at(now.t)
        lagged = problem.lagged(now.x, now.v, h, now.motion)
        step = Step(now.x, problem.prescribed(now.x, now.t), now.x_hat, now.h, now.motion, lagged)
        solved = solve_step(
            problem, newton, step, clock,
            stop=root * h * pace.tol, max_iterations=pace.iterations, bring_iterations=pace.lead_iterations,
        )  # fmt: skip
        own = 0  # iterations of the step itself
        for iterate in solved:
            total, own = total + 1, own + (not iterate.bringing)
            state = _state_of(problem, number, now, iterate, root * h, total - first, total)
            if not _ends_step(iterate, own, pace):
                yield state
        x = state.x
        missed = problem.missed(x, now.t)
        balance = force_balance(problem, x, lagged, clock)
        converged, stalled = iterate.converged, False
        if rests:
            at_rest = iterate.converged and (pace.iterations == 1 or total == first + 1) and now.t >= problem.last_key
            # at rest with handles that come no nearer: they are held for good
            held = at_rest and missed > problem.reach and abs(missed - before.missed) <= HELD * problem.reach
            converged = at_rest and missed <= problem.reach and balance < BALANCE
            stalled = iterate.stalled or held
        state = state.accept(
            converged=converged, stalled=stalled, energy=potential_energy(problem, x, clock), force_balance=balance,
            missed=missed,
        )  # fmt: skip
        grid.put(state)
        yield state


def _ends_step(iterate: Iterate, own: int, pace: Pace) -> bool:
    """Whether it is the last one of its step, which becomes the accepted state."""
    return not iterate.bringing and (iterate.converged or iterate.stalled or own == pace.iterations)


def _state_of(
    problem: Problem, number: int, now: Prediction, iterate: Iterate, scale: float, count: int, total: int
) -> State:
    return State(
        problem.level, number, now.t, iterate.x, (iterate.x - now.base) / now.h, accepted=False,
        residual=iterate.direction / scale, newton_iteration=count, newton_iterations=total,
        contacts=problem.contact_count(iterate.x), step_length=iterate.step, blocked=iterate.blocked,
    )  # fmt: skip


def recall(problem: Problem, newton: Newton, at: Checkpoint) -> None:
    """Puts a problem and the solver back to where a checkpoint's step left them."""
    problem = problem.at(at.state.time)
    if problem.barrier is not None and at.near is not None:
        problem.barrier.recall(at.near)
    if at.couplings is not None:
        newton.recall(at.couplings, problem.free, Sum(problem.potentials).stencils())
