"""A cloth dropped on a sphere and a floor: seconds and Newton iterations of its steps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from plisse.bench.drape import take_steps
from plisse.bench.figures import Figure, use_threads
from plisse.contact.check import Detector
from plisse.loading.scene_file import scene_from_dict
from plisse.runs.opening import open_session

SIZES = (1600, 6084)  # vertices


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    use_threads(threads)
    figures, details = [], {}
    for vertices in SIZES:
        steps, iterations, intersections, tol = _drop(vertices, threads)
        figures.append(Figure(f"{vertices} vertices, mean step, s", sum(steps) / len(steps)))
        figures.append(Figure(f"{vertices} vertices, worst step, s", max(steps)))
        figures.append(Figure(f"{vertices} vertices, Newton iterations a step", sum(iterations) / len(iterations)))
        figures.append(Figure(f"{vertices} vertices, intersections at the end", intersections, 0.0))
        details[str(vertices)] = {
            "steps": len(steps),
            "Newton iterations a step, most": max(iterations),
            "Newton tolerance, m/s": tol,
        }
    return figures, details


def _drop(vertices: int, threads: int) -> tuple[list[float], list[int], int, float]:
    scene = scene_from_dict(
        {
            "shell": [{"shape": "grid", "vertices": vertices, "material": "cotton"}],
            "collider": [
                {"shape": "sphere", "radius": 0.25, "translate": [0, 0, -0.26]},
                {"shape": "floor", "height": -0.52},
            ],
            "contact": {"friction": 0.4},
            "time": {"mode": "dynamic", "h": 0.02, "duration": 1.2},
        },
        Path(),
    )
    # one throw-away step loads the compiled kernels
    take_steps(open_session(scene, threads=threads).animate(), 1)
    session = open_session(scene, threads=threads)
    seconds, iterations, before, began = [], [], 0, time.perf_counter()
    for state in session.animate():
        if state.accepted:
            now = time.perf_counter()
            seconds.append(now - began)
            iterations.append(state.newton_iterations - before)
            before, began = state.newton_iterations, now
    assert session.problem is not None
    return seconds, iterations, Detector.of(session.problem).count(state.x), scene.solver.step_tol
