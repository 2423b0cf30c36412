"""Equilibrium by one-iteration quasistatic steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plisse.core.potential import Clock, Floats, Potential, Sum
from plisse.core.state import State
from plisse.progressive.assemble import System
from plisse.progressive.steps import Step, solve_step
from plisse.solve.newton import Newton

BALANCE = 0.02  # equilibrium asks for a resultant below this part of the applied load


def relax(system: System, newton: Newton, clock: Clock, start: State | None = None) -> Iterator[State]:
    """States on the way to equilibrium, one per pseudo-time step of one Newton iteration ([Zhang2022] Algorithm 2).

    The last state is converged when a step's first direction meets ‖d‖ ≤ √n h tol, keyframes have ended with
    every scripted vertex in its place, and the resultant of contact, pins and loads is below 2 % of the load.
    """
    scene = system.scene
    h, tol, most = scene.time.step, scene.solver.tol, scene.solver.max_iterations
    unknowns = max(int(system.free.sum()), 1)
    stop = np.sqrt(unknowns) * h * tol
    state = start if start is not None else State(0, 0, 0.0, system.x0, np.zeros_like(system.x0))
    total = state.newton_iterations
    while state.step < scene.time.max_steps and not state.converged:
        t = state.time + h
        x, motion = state.x, state.v * h
        lagged = system.step_potentials(x, state.v, h, motion)
        step = Step(x, system.prescribed(x, t), x, h, motion, lagged)
        iterates = list(solve_step(system, newton, step, clock, stop=stop, max_iterations=1, bring_iterations=most))
        iterate, total = iterates[-1], total + len(iterates)
        missed = system.missed(iterate.x, t)
        balance = force_balance(system, iterate.x, lagged, clock)
        state = State(
            0,
            state.step + 1,
            t,
            iterate.x,
            (iterate.x - x) / h,
            converged=iterate.converged and t >= system.last_key and missed <= system.dhat and balance < BALANCE,
            residual=iterate.direction / (np.sqrt(unknowns) * h),
            newton_iterations=total,
            energy=potential_energy(system, iterate.x, clock),
            force_balance=balance,
            contacts=system.contact_count(iterate.x),
            missed=missed,
            step_length=iterate.step,
        )
        yield state
        if iterate.stalled:
            # the line search found nothing lower: the next step would be the same
            return


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
