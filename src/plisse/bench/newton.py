"""One Newton iteration at 90K vertices: against the factorisation and solve of its own matrix, in both precisions."""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.drape import drape_scene, draped
from plisse.bench.figures import Figure
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.progressive.assemble import System, assemble
from plisse.progressive.quasistatics import relax
from plisse.runs.run import use_threads
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
    system, state, newton, clock = draped(2, threads=threads, settle=6, precision="double")
    wall, seconds, state = _time_steps(system, newton, clock, state)
    analyses = newton.analyses
    touching = _touching_vertices(system, state)
    interpreter = _interpreter_seconds(threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    del newton
    memory = {precision: _peak_memory(system, state, precision, threads) for precision in PRECISIONS}
    times = _time_by_turns(system, state, threads)
    figures = [
        Figure("iteration / its factorise and solve", wall / seconds["linear"], 1.5, "lower"),
        Figure("interpreter overhead, % of wall", 100.0 * interpreter * STEPS / wall, 5.0, "lower"),
        Figure("peak memory, GB", peak, 3.0, "lower"),
        Figure("iteration, double / mixed", min(times["double"]) / min(times["mixed"]), 1.25, "higher"),
        Figure("peak memory, mixed / double", memory["mixed"] / memory["double"], 1.0, "lower"),
    ]
    details = {
        "vertices": system.n_shell,
        "triangles": len(system.shells.triangles),
        "vertices in contact": touching,
        "active pairs": state.contacts,
        "iteration, s": round(wall / STEPS, 3),
        "split of the measured iterations, s": {k: round(v, 3) for k, v in seconds.items()},
        "symbolic factorisations while measuring": analyses,
        "candidate lists built since the start": system.barrier.builds if system.barrier else 0,
        "interpreter, ms an iteration": round(1e3 * interpreter, 2),
        "iterations by turns, s": {key: [round(each, 3) for each in some] for key, some in times.items()},
        "peak memory of an iteration, GB": {key: round(value, 3) for key, value in memory.items()},
    }
    return figures, details


def _time_steps(system: System, newton: Newton, clock: Clock, state: State) -> tuple[float, dict[str, float], State]:
    clock.seconds.clear()
    newton.analyses = 0
    start = replace(state, step=0, converged=False)
    began = time.perf_counter()
    for state in relax(system, newton, clock, start):
        if state.step >= STEPS:
            break
    return time.perf_counter() - began, dict(clock.seconds), state


def _time_by_turns(system: System, state: State, threads: int) -> dict[str, list[float]]:
    """Seconds of each step in either precision, the two by turns, so that a busy machine is so for both.

    Both go on from the same state, so that they stay next to each other and share the contact candidates; who is first
    changes from step to step. Minima are compared.
    """
    start = replace(state, step=0, converged=False)
    solvers = {precision: make_newton(precision=precision, threads=threads) for precision in PRECISIONS}
    runs = {precision: relax(system, newton, Clock(), start) for precision, newton in solvers.items()}
    times: dict[str, list[float]] = {precision: [] for precision in PRECISIONS}
    for step in range(STEPS + 1):
        for precision in PRECISIONS if step % 2 else PRECISIONS[::-1]:
            began = time.perf_counter()
            next(runs[precision])
            if step:  # the first one analyses the pattern
                times[precision].append(time.perf_counter() - began)
    return times


def _peak_memory(system: System, state: State, precision: str, threads: int) -> float:
    """The most memory [GB] that the process holds during a first iteration, analysis included."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak until now
    next(relax(system, make_newton(precision=precision, threads=threads), Clock(), replace(state, converged=False)))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024**2


def _touching_vertices(system: System, state: State) -> int:
    assert system.barrier is not None
    nodes = system.barrier.contacts(state.x).nodes
    return len(np.unique(nodes[nodes < system.n_shell]))


def _interpreter_seconds(threads: int) -> float:
    """Seconds of one step where the mesh is too small to take any time."""
    scene = replace(drape_scene(3, sphere=1), solver=Solver(tol=1e-12))
    system = assemble(scene, Path())
    newton, clock = make_newton(threads=threads), Clock()
    times, last = [], time.perf_counter()
    for state in relax(system, newton, clock):
        now = time.perf_counter()
        times.append(now - last)
        last = now
        if state.step >= 60:
            break
    return sorted(times)[len(times) // 2]
