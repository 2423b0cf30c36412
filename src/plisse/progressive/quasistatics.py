"""Equilibrium by one-iteration quasistatic steps, on one level or level by level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.potential import Clock, Floats, Potential, Sum
from plisse.core.state import Checkpoint, State
from plisse.progressive.assemble import System
from plisse.progressive.ladder import Ladder
from plisse.progressive.steps import Step, solve_step
from plisse.progressive.upsample import safe_start
from plisse.solve.newton import Newton

HELD = 1e-3  # part of dhat by which handles that are held back come nearer in a step, at most
BALANCE = 0.02  # equilibrium asks for a resultant below this part of the applied load


def preview(ladder: Ladder, newton: Newton, clock: Clock, start: State | None = None) -> Iterator[State]:
    """States of level 0 on the way to its equilibrium ([Zhang2022] Algorithm 3, first part).

    start: a state of level 0 to go on from, of this scene or of one whose parameters were changed since.
    """
    yield from settle(ladder, newton, clock, level=0, start=start)


def refine(
    ladder: Ladder, newton: Newton, clock: Clock, start: State, *, to_level: int | None = None
) -> Iterator[State]:
    """States of the levels above that of `start`, each brought to equilibrium ([Zhang2022] Algorithm 3, second part).

    Stop iterating and it is interrupted: `start` is still there to go on from. States that are not `accepted` are on
    the way to a feasible start of their level.
    """
    last = ladder.finest if to_level is None else to_level
    if last > ladder.finest:
        raise SceneError(f"There is no level {last}: the scene has levels 0 to {ladder.finest}.")
    state = start
    for level in range(start.level + 1, last + 1):
        below = ladder.hierarchy.levels[level - 1]
        assert below.prolongation is not None and below.upsampling is not None
        x_up = below.upsampling(state.x)
        target = below.prolongation(state.x) if ladder.scene.hierarchy.method == "progressive" else x_up
        system = ladder.system(level, start=x_up)
        odd = np.diff(below.upsampling.matrix.indptr) > 1
        yield replace(state, accepted=False)
        x = x_up
        for feasible in safe_start(system, newton, clock, x_up, target, odd):
            x = feasible
            yield replace(state, accepted=False)
        begin = State(level, 0, state.time, x, np.zeros_like(x), newton_iterations=0)
        for state in relax(system, newton, clock, begin, tol=level_tol(ladder, level), target=target):
            yield state


def settle(
    ladder: Ladder, newton: Newton, clock: Clock, *, level: int, start: State | None = None, tol: float | None = None
) -> Iterator[State]:
    """States of one level on the way to its equilibrium, from its start or from an earlier state of it.

    The method "plain" solves every step to the tolerance, all others make one Newton iteration a step.
    """
    if not 0 <= level <= ladder.finest:
        raise SceneError(f"There is no level {level}: the scene has levels 0 to {ladder.finest}.")
    if start is not None and start.level != level:
        raise SceneError(f"The state to go on from is of level {start.level}: give one of level {level}.")
    system = ladder.system(level, start=None if start is None else start.x)
    if start is not None:
        system.check_start()
        start = replace(start, converged=False, stalled=False)
    tol = level_tol(ladder, level) if tol is None else tol
    yield from relax(system, newton, clock, start, tol=tol, step_iterations=_step_iterations(ladder))


def take_up(
    ladder: Ladder, newton: Newton, clock: Clock, at: Checkpoint, *, start: Floats | None, last: int
) -> Iterator[State]:
    """States of a level after a checkpoint, the same to the bit as if it had not been left there.

    start: the positions (n, 3) [m] that its system was made with, None where the scene gave them; last: number of the
    last step. The system is made at once.
    """
    level = at.state.level
    system = ladder.system(level, start=start)
    recall(system, newton, at)
    tol, every = level_tol(ladder, level), _step_iterations(ladder)
    return relax(system, newton, clock, at.state, tol=tol, step_iterations=every, last=last)


def recall(system: System, newton: Newton, at: Checkpoint) -> None:
    """Puts a system and the solver back to where a checkpoint's step left them."""
    system.follow(at.state.time)
    if system.barrier is not None and at.near is not None:
        system.barrier.recall(at.near)
    if at.couplings is not None:
        newton.recall(at.couplings, system.free, Sum(system.static_parts).stencils())


def _step_iterations(ladder: Ladder) -> int:
    return ladder.scene.solver.max_iterations if ladder.scene.hierarchy.method == "plain" else 1


def level_tol(ladder: Ladder, level: int) -> float:
    """The tolerance of a level [m/s]: solver.tol on the finest one, and where a level is solved for its own sake."""
    settings, tol = ladder.scene.hierarchy, ladder.scene.solver.tol
    return tol * settings.proxy.coarse_tol if settings.method == "progressive" and level < ladder.finest else tol


def relax(
    system: System,
    newton: Newton,
    clock: Clock,
    start: State | None = None,
    *,
    tol: float | None = None,
    target: Floats | None = None,
    step_iterations: int = 1,
    last: int | None = None,
) -> Iterator[State]:
    """States on the way to equilibrium, one per pseudo-time step of one Newton iteration ([Zhang2022] Algorithm 2).

    The last state is converged when a step's first direction meets ‖d‖ ≤ √n h tol, keyframes have ended with
    every scripted vertex in its place, and the resultant of contact, pins and loads is below 2 % of the load.
    target: inertial target of the first step [m], the step's start when not given. step_iterations: most Newton
    iterations of a step. last: number of the last step, time.max_steps after the start when not given. Iterates that
    end no step are not `accepted`.
    """
    scene = system.scene
    h, most = scene.time.step, scene.solver.max_iterations
    unknowns = max(int(system.free.sum()), 1)
    stop = np.sqrt(unknowns) * h * (scene.solver.tol if tol is None else tol)
    state = start if start is not None else State(system.level, 0, 0.0, system.x0, np.zeros_like(system.x0))
    total = state.newton_iterations
    last = state.step + scene.time.max_steps if last is None else last
    # once the line search has found nothing lower, every further step would be the same
    while state.step < last and not state.converged and not state.stalled:
        t = state.time + h
        x, motion = state.x, state.v * h
        system.follow(t)
        lagged = system.step_potentials(x, state.v, h, motion)
        x_hat = x if target is None else target
        step = Step(x, system.prescribed(x, t), x_hat, h, motion, lagged)
        number, target, first = state.step + 1, None, total
        iterates = solve_step(
            system, newton, step, clock, stop=stop, max_iterations=step_iterations, bring_iterations=most
        )
        waiting = None
        for iterate in iterates:
            if waiting is not None:
                yield waiting
            total += 1
            now = State(
                system.level, number, t, iterate.x, (iterate.x - x) / h, accepted=False,
                residual=iterate.direction / (np.sqrt(unknowns) * h), newton_iteration=total - first,
                newton_iterations=total, contacts=system.contact_count(iterate.x), step_length=iterate.step,
                blocked=iterate.blocked,
            )  # fmt: skip
            # the last iterate of a step becomes its accepted state, those before it are shown as they come
            waiting = None if iterate.bringing else now
            if iterate.bringing:
                yield now
        assert waiting is not None
        missed = system.missed(iterate.x, t)
        balance = force_balance(system, iterate.x, lagged, clock)
        at_rest = iterate.converged and (step_iterations == 1 or total == first + 1)
        led = t >= system.last_key
        # at rest with handles that come no nearer: they are held for good
        held = at_rest and led and missed > system.dhat and abs(missed - state.missed) <= HELD * system.dhat
        state = replace(
            waiting,
            accepted=True,
            converged=at_rest and led and missed <= system.dhat and balance < BALANCE,
            energy=potential_energy(system, iterate.x, clock),
            force_balance=balance,
            missed=missed,
            stalled=iterate.stalled or held,
        )
        yield state


def force_balance(system: System, x: Floats, lagged: list[Potential], clock: Clock) -> float:
    """‖Σ forces on the free vertices‖ over the applied load: inner forces cancel, so contact, pins and loads remain."""
    forces = Sum([*system.static_parts, *lagged], clock).gradient(x)
    load = system.applied_load(x, lagged)
    if load == 0.0:
        # nothing but handles: what they pull with is the load
        held = ~system.free[: system.n_shell]
        load = float(np.linalg.norm(forces[: system.n_shell][held], axis=1).sum())
    resultant = float(np.linalg.norm(forces[system.free].sum(axis=0)))
    return resultant / load if load > 0.0 else resultant


def potential_energy(system: System, x: Floats, clock: Clock) -> float:
    """Total potential without inertia and friction [J]."""
    return Sum(system.static_parts, clock).value(x)
