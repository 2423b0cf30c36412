"""The one generator of states: step after step of any Problem, with any Integrator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.grid import Grid
from plisse.core.potential import Clock, Sum
from plisse.core.state import Checkpoint, State
from plisse.progressive.integrators import Integrator, Prediction
from plisse.progressive.rest import LED, NEAR, Rest, farthest
from plisse.progressive.steps import LEAST_PART, Step, solve_step, step_objective
from plisse.solve.newton import Iterate, Newton
from plisse.solve.problem import BALANCE, Problem, all_forces, force_balance, potential_energy

LITTLE_WORK, MUCH_WORK = 30, 80  # Newton iterations of a load step after which the next is longer, or shorter
LEAST_LEAD = 1 / 64  # of a load step, in time steps
HELD = 1e-3  # part of the reach by which handles that are held back come nearer in a step, at most


@dataclass(frozen=True)
class Pace:
    """How far to march and how exactly.

    tol: of Newton's directions, ‖d‖ ≤ √n h tol [m/s]; last: number of the last step; iterations: most Newton
    iterations of a step; lead_iterations: most of leading scripted vertices that something holds back before it. rest:
    of statics, what counts as rest in place of the tolerance. by_step: the tolerance is about the part of a direction
    that was taken, and a level ends where that is hardly anything, as published for coarse levels [Zhang2023] §4.5.
    """

    tol: float
    last: int
    iterations: int
    lead_iterations: int
    rest: Rest | None = None
    by_step: bool = False


def march(
    problem: Problem, integrator: Integrator, newton: Newton, clock: Clock, pace: Pace, grid: Grid
) -> Iterator[State]:
    """The state after every Newton iteration, from the grid's last state of the problem's level on.

    `state.accepted` marks the end of a step; such states are put on the grid. Under an integrator that seeks rest a
    state is converged, and the last one, when it is at rest (`Pace.rest`, or where there is none the first direction of
    its step is within the tolerance), everything that is led has arrived, and the resultant of contact, pins and loads
    is below 2 % of the load; the march also ends where the line search finds nothing lower, as every further step would
    be the same. Otherwise converged means that the step was solved to the tolerance.
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
        rest = pace.rest if rests and (integrator.each or now.t >= problem.last_key) else None
        if integrator.each and now.t > before.time and before.settled:
            # a new load step: whatever the last one came to is forgotten
            before = replace(before, stride=1.0, stick=1.0, coasted=0, distances=(), loaded=total)
        stride, stick = (now.stride, 1.0) if rest is None else (before.stride, before.stick)
        eased = problem if rest is None else problem.eased(rest.eased(before))
        lagged = problem.lagged(now.x, now.v, h, now.motion, stick=stick)
        if not rests:
            lagged += problem.damping(now.past or ((1.0, now.x),), now.h)
        target = problem.prescribed(now.x, now.t)
        step = Step(now.x, target, now.x_hat, now.h, now.motion, lagged, stride, now.guess)
        most = pace.iterations if rest is None else rest.iterations(before)
        solved = solve_step(
            eased, newton, step, clock,
            stop=root * h * pace.tol, max_iterations=most, bring_iterations=pace.lead_iterations, rest=rest,
            coasted=before.coasted if rest is not None and rest.is_near(before) else 0,
        )  # fmt: skip
        own, coasted = 0, before.coasted  # iterations of the step itself; see State
        for iterate in solved:
            total, own = total + 1, own + (not iterate.bringing and not iterate.discarded)
            coasted = 0 if iterate.discarded or iterate.converged else coasted + 1
            state = _state_of(problem, number, now, iterate, root * h, total - first, total)
            if rest is not None:
                state = replace(state, distances=farthest(problem.bodies, iterate.d), pushes=before.pushes)
            if not _ends_step(iterate, own, most):
                yield state
        at_rest, stalled = False, iterate.stalled
        if rest is not None:
            state = replace(state, coasted=coasted, lead=before.lead, loaded=before.loaded)
            state, at_rest = _approach(problem, newton, clock, rest, step, before, state, easing=eased is not problem)
            stalled = (stalled or state.stalled) and state.distance > rest.distance and eased is problem
        x, missed = state.x, problem.missed(state.x, now.t)
        forces = all_forces(problem, x, lagged, clock)
        balance = force_balance(problem, x, lagged, clock, forces=forces)
        converged = iterate.converged
        if rests:
            if pace.rest is None:
                if pace.by_step:
                    # of what contact and limits allow: where they cut a step short, nothing has come to rest
                    part = iterate.step / iterate.allowed if iterate.allowed > 0.0 else 0.0
                    taken, least = part * iterate.direction, root * h * pace.tol
                    converged = taken <= least
                    # before the last key there may be nothing to do yet
                    hardly = part < LEAST_PART or taken <= LEAST_PART * least
                    stalled = now.t >= problem.last_key and (stalled or hardly)
                at_rest = converged and (pace.iterations == 1 or total == first + 1) and now.t >= problem.last_key
            # at rest with handles that come no nearer: they are held for good
            least = HELD * problem.reach if pace.rest is None else pace.rest.distance
            still = abs(missed - before.missed) <= least
            held = at_rest and missed > problem.reach and still
            converged = at_rest and missed <= problem.reach and balance < BALANCE and (pace.rest is None or still)
            stalled = stalled or held
        if integrator.each and converged:
            state = replace(state, settled=True, lead=_next_lead(state, integrator.h))
            converged = now.t >= problem.last_key
        if not rests:
            by_itself = now.x_hat if now.own is None else now.own
            state = replace(
                state,
                unexplained=_unexplained(problem, x, forces, by_itself, now.h),
                unsolved=_unexplained(problem, x, forces, now.x_hat, now.stride * now.h),
            )
        state = replace(
            state, accepted=True, converged=converged, stalled=rests and stalled, force_balance=balance, missed=missed,
            energy=potential_energy(problem, x, clock),
        )  # fmt: skip
        grid.put(state)
        yield state


def _unexplained(problem: Problem, x: Floats, forces: Floats, target: Floats, h: float) -> float:
    """√(Σ m ‖(x − target)/h² + forces/m‖² / Σ m) over free vertices [m/s²]."""
    free = problem.free & (problem.mass > 0.0)
    m = problem.mass[free]
    a = (x[free] - target[free]) / h**2 + forces[free] / m[:, None]
    return float(np.sqrt(m @ np.einsum("ij,ij->i", a, a) / max(m.sum(), np.finfo(float).tiny)))


def _next_lead(state: State, h: float) -> float:
    """By how much time the next load step goes on: the more, the less work the last one was."""
    lead, work = h if state.lead is None else state.lead, state.newton_iterations - state.loaded
    if work > MUCH_WORK:
        return max(0.5 * lead, LEAST_LEAD * h)
    return min(2.0 * lead, h) if work < LITTLE_WORK else lead


def _approach(
    problem: Problem,
    newton: Newton,
    clock: Clock,
    rest: Rest,
    step: Step,
    before: State,
    state: State,
    *,
    easing: bool,
) -> tuple[State, bool]:
    """The state after a step on the way to rest, with what the next one needs to know, and whether it is at rest.

    easing: the step was made easier, so that it does not say what rest is.
    """
    direction, ways = state.distance, farthest(problem.bodies, state.x - step.x_start)
    state = replace(state, distances=tuple(map(max, state.distances, ways)))
    stride, stick = rest.approach(before, state, direction)
    at_rest = not easing and rest.seems_reached(before, state.distance)
    if at_rest:
        state, at_rest = rest.look(newton, step_objective(problem, step, clock), problem.bodies, state)
        if not at_rest:
            v = (state.x - step.x_start) / step.h
            state = replace(state, v=v, coasted=LED)
        if state.distance > NEAR * rest.size:
            stride = stick = 1.0
    return replace(state, stride=stride, stick=stick), at_rest


def _ends_step(iterate: Iterate, own: int, most: int) -> bool:
    """Whether it is the last one of its step, which becomes the accepted state."""
    return not (iterate.bringing or iterate.discarded) and (iterate.converged or iterate.stalled or own == most)


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
