"""A cloth dropped on a sphere and a floor, against a C++ IPC solver measured on this kind of machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from plisse.bench.figures import Figure
from plisse.contact.check import Detector
from plisse.core.potential import Clock
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.assemble import assemble
from plisse.progressive.dynamics import animate
from plisse.runs.run import use_threads
from plisse.solve.newton import make_newton

# seconds a step of the peer (STARK, tuned, two threads, idle two-core machine): mean and worst
PEER = {1600: (0.40, 1.4), 6084: (2.05, 8.8)}
ASKED = {1600: 1.5, 6084: 2.0}


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    use_threads(threads)
    figures, details = [], {}
    for vertices, (mean, worst) in PEER.items():
        steps, iterations, intersections, tol = _drop(vertices, threads)
        ours = sum(steps) / len(steps)
        figures.append(Figure(f"{vertices} vertices, peer's mean step / ours", mean / ours, ASKED[vertices], "higher"))
        figures.append(Figure(f"{vertices} vertices, worst step, s", max(steps), worst, "lower"))
        details[str(vertices)] = {
            "steps": len(steps),
            "mean step, s": round(ours, 3),
            "worst step, s": round(max(steps), 3),
            "Newton iterations a step, mean": round(sum(iterations) / len(iterations), 2),
            "Newton iterations a step, most": max(iterations),
            "Newton tolerance, m/s": tol,
            "intersections at the end": intersections,
            "peer's mean and worst, s": [mean, worst],
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
    system = assemble(scene, Path())
    newton, clock = make_newton(threads=threads), Clock()
    # one throw-away step loads the compiled kernels
    for state in animate(system, newton, clock):
        if state.step == 2:
            break
    seconds, iterations, before, began = [], [], 0, time.perf_counter()
    for state in animate(system, newton, clock):
        if state.accepted:
            now = time.perf_counter()
            seconds.append(now - began)
            iterations.append(state.newton_iterations - before)
            before, began = state.newton_iterations, now
    mesh = system.everything
    found = Detector(mesh.X, mesh.edges, mesh.triangles, system.n_shell).count(state.x)
    return seconds, iterations, found, scene.solver.tol
