"""Dynamics by implicit Euler or BDF2, each step solved to tol."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plisse.core.potential import Clock, Floats
from plisse.core.state import Checkpoint, State
from plisse.progressive.assemble import System
from plisse.progressive.quasistatics import force_balance, potential_energy, recall
from plisse.progressive.steps import Step, solve_step
from plisse.solve.newton import Newton


def animate(system: System, newton: Newton, clock: Clock, at: Checkpoint | None = None) -> Iterator[State]:
    """The state after every Newton iteration; `state.accepted` marks the end of a time step.

    Implicit Euler: x̂ = xᵗ + h vᵗ. BDF2 (first step Euler): x̂ = (4xᵗ − xᵗ⁻¹)/3 + h̃ (4vᵗ − vᵗ⁻¹)/3 with h̃ = 2h/3
    in place of h. at: where to go on, the same to the bit as if the motion had not been left there.
    """
    scene = system.scene
    h = scene.time.step
    unknowns = max(int(system.free.sum()), 1)
    stop, most = np.sqrt(unknowns) * h * scene.solver.tol, scene.solver.max_iterations
    previous: tuple[Floats, Floats] | None = None
    state = State(0, 0, 0.0, system.x0, system.v0)
    if at is not None:
        state, previous = at.state, at.before
        recall(system, newton, at)
    total = state.newton_iterations
    for number in range(state.step + 1, scene.time.steps + 1):
        x, v = state.x, state.v
        if scene.time.integrator == "bdf2" and previous is not None:
            h_eff = 2.0 * h / 3.0
            base = (4.0 * x - previous[0]) / 3.0
            x_hat = base + h_eff * (4.0 * v - previous[1]) / 3.0
        else:
            h_eff, base = h, x
            x_hat = x + h * v
        system.follow(number * h)
        lagged = system.step_potentials(x, v, h, h * v)
        step = Step(x, system.prescribed(x, number * h), x_hat, h_eff, h * v, lagged)
        iterates = solve_step(system, newton, step, clock, stop=stop, max_iterations=most, bring_iterations=most)
        for count, iterate in enumerate(iterates, 1):
            total += 1
            state = State(
                0, number, number * h, iterate.x, (iterate.x - base) / h_eff,
                converged=iterate.converged, accepted=False,
                residual=iterate.direction / (np.sqrt(unknowns) * h), newton_iteration=count,
                newton_iterations=total, contacts=system.contact_count(iterate.x), step_length=iterate.step,
                blocked=iterate.blocked,
            )  # fmt: skip
            yield state
        yield (
            state := state.accept(
                energy=potential_energy(system, state.x, clock),
                force_balance=force_balance(system, state.x, lagged, clock),
                missed=system.missed(state.x, number * h),
            )
        )
        previous = (x, v)
