"""One Newton iteration at 90K vertices against the factorisation and solve of its own matrix."""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from typing import Any

import numpy as np

from plisse.bench.drape import drape_scene, draped, take_steps
from plisse.bench.figures import Figure, use_threads
from plisse.runs.opening import open_session
from plisse.scene.settings import Solver

STEPS = 8  # measured quasistatic steps of one Newton iteration each


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Whole steps, from the lagging of friction to the force balance, over their own linear part.

    The interpreter's share is the time of the same steps on a cloth with so few vertices that nothing else remains.
    """
    use_threads(threads)
    session, states = draped(2, threads=threads, settle=6)
    problem, newton = session.problem, session.newton
    assert problem is not None and problem.barrier is not None
    session.clock.seconds.clear()
    newton.analyses = 0
    began = time.perf_counter()
    state = take_steps(states, STEPS)
    wall, seconds = time.perf_counter() - began, dict(session.clock.seconds)
    nodes = problem.barrier.contacts(state.x).nodes
    touching = len(np.unique(nodes[problem.bodies.is_simulated[nodes]]))
    interpreter = _interpreter_seconds(threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    figures = [
        Figure("iteration / its factorise and solve", wall / seconds["linear"], 1.5, "lower"),
        Figure("interpreter overhead, % of wall", 100.0 * interpreter * STEPS / wall, 5.0, "lower"),
        Figure("peak memory, GB", peak, 3.0, "lower"),
    ]
    details = {
        "vertices": problem.bodies.n_simulated,
        "triangles": len(problem.shells.triangles),
        "vertices in contact": touching,
        "active pairs": state.contacts,
        "iteration, s": round(wall / STEPS, 3),
        "split of the measured iterations, s": {k: round(v, 3) for k, v in seconds.items()},
        "symbolic factorisations while measuring": newton.analyses,
        "candidate lists built since the start": problem.barrier.builds,
        "interpreter, ms an iteration": round(1e3 * interpreter, 2),
    }
    return figures, details


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
