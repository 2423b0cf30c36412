"""One Newton iteration at 90K vertices: against the factorisation and solve of its own matrix, in both precisions."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.drape import drape_scene, draped, take_steps
from plisse.bench.figures import Figure, use_threads
from plisse.core.grid import Grid
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.progressive.integrators import Statics
from plisse.progressive.march import Pace, march
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session
from plisse.scene.settings import Solver
from plisse.solve.newton import Newton, make_newton

STEPS = 8  # measured quasistatic steps of one Newton iteration each
PRECISIONS = ("double", "mixed")


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Whole steps, from the lagging of friction to the force balance, over their own linear part in double precision.

    The interpreter's share is the time of the same steps on a cloth with so few vertices that nothing else remains.
    Then steps in double and in mixed precision by turns.
    """
    use_threads(threads)
    session, states = draped(2, threads=threads, warm_up=6, precision="double")
    problem, newton = session.problem, session.newton
    assert problem is not None and problem.barrier is not None
    session.clock.seconds.clear()
    newton.analyses = 0
    began = time.perf_counter()
    state = take_steps(states, STEPS)
    wall, seconds, analyses = time.perf_counter() - began, dict(session.clock.seconds), newton.analyses
    nodes = problem.barrier.contacts(state.x).nodes
    touching = len(np.unique(nodes[problem.bodies.is_simulated[nodes]]))
    interpreter = _interpreter_seconds(threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    # the session's own factor would count
    del newton, states
    session.newton = make_newton()
    memory = {precision: _peak_memory(problem, state, precision, threads) for precision in PRECISIONS}
    times = _time_by_turns(problem, state, threads)
    figures = [
        Figure("iteration / its factorise and solve", wall / seconds["linear"], 1.5, "lower"),
        Figure("interpreter overhead, % of wall", 100.0 * interpreter * STEPS / wall, 5.0, "lower"),
        Figure("peak memory, GB", peak, 3.0, "lower"),
        Figure("iteration, double / mixed", min(times["double"]) / min(times["mixed"]), 1.25, "higher"),
        Figure("peak memory, mixed / double", memory["mixed"] / memory["double"], 1.0, "lower"),
    ]
    details = {
        "vertices": problem.bodies.n_simulated,
        "triangles": len(problem.shells.triangles),
        "vertices in contact": touching,
        "active pairs": state.contacts,
        "iteration, s": round(wall / STEPS, 3),
        "split of the measured iterations, s": {k: round(v, 3) for k, v in seconds.items()},
        "symbolic factorisations while measuring": analyses,
        "candidate lists built since the start": problem.barrier.builds,
        "interpreter, ms an iteration": round(1e3 * interpreter, 2),
        "iterations by turns, s": {key: [round(each, 3) for each in some] for key, some in times.items()},
        "peak memory of an iteration, GB": {key: round(value, 3) for key, value in memory.items()},
    }
    return figures, details


def _march(problem: SceneProblem, state: State, newton: Newton) -> Iterator[State]:
    """Further quasistatic steps of one Newton iteration each."""
    grid, time_step = Grid(), problem.scene.time.step
    grid.put(replace(state, step=0, converged=False))
    return march(problem, Statics(time_step), newton, Clock(), Pace(1e-12, 10**6, 1, 1), grid)


def _time_by_turns(problem: SceneProblem, state: State, threads: int) -> dict[str, list[float]]:
    """Seconds of each step in either precision, the two by turns, so that a busy machine is so for both.

    Both go on from the same state, so that they stay next to each other and share the contact candidates; who is first
    changes from step to step. Minima are compared.
    """
    solvers = {precision: make_newton(precision=precision, threads=threads) for precision in PRECISIONS}
    runs = {precision: _march(problem, state, newton) for precision, newton in solvers.items()}
    times: dict[str, list[float]] = {precision: [] for precision in PRECISIONS}
    for step in range(STEPS + 1):
        for precision in PRECISIONS if step % 2 else PRECISIONS[::-1]:
            began = time.perf_counter()
            next(runs[precision])
            if step:  # the first one analyses the pattern
                times[precision].append(time.perf_counter() - began)
    return times


def _peak_memory(problem: SceneProblem, state: State, precision: str, threads: int) -> float:
    """The most memory [GB] that the process holds during a first iteration, analysis included."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak until now
    next(_march(problem, state, make_newton(precision=precision, threads=threads)))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024**2


def _interpreter_seconds(threads: int) -> float:
    """Seconds of one step where the mesh is too small to take any time."""
    scene = replace(drape_scene(3, sphere=1), solver=Solver(tol=1e-12))
    times, last = [], time.perf_counter()
    for state in open_session(scene, threads=threads).settle(0):
        now = time.perf_counter()
        times.append(now - last)
        last = now
        if state.step >= 60:
            break
    return sorted(times)[len(times) // 2]
