"""What a preview step costs beside a direct coarse step, for ever finer meshes above the same base."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure
from plisse.core.potential import Clock, Sum, frozen
from plisse.progressive.ladder import Ladder, build_hierarchy
from plisse.progressive.quasistatics import relax
from plisse.progressive.shells import ShellModel
from plisse.scene.scene import Scene
from plisse.solve.newton import make_newton

SCENE = "05-sphere"
SETTLE, STEPS = 30, 30  # steps before and while the clock runs
LEVELS = (3, 4, 5, 6)


def measure_preview(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Steps of level 0 under the printed Loop proxy and others, at the same place of their way from the flat start."""
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    coarse = gallery_scene(SCENE, levels=1, method="direct")
    direct = _time_steps(build_hierarchy(coarse, "."), threads)
    details["direct coarse step, ms"] = round(1e3 * direct, 1)
    for levels in LEVELS:
        printed = build_hierarchy(_printed(levels), ".")
        finest = printed.geometry(printed.finest).shells
        name = f"{len(finest[0].triangles) / 1000:.0f}K"
        evaluation = _time_evaluation(printed)
        step = _time_steps(printed, threads)
        up = _time_steps(build_hierarchy(_printed(levels, proxy_levels_up=2), "."), threads)
        linear = _time_steps(build_hierarchy(gallery_scene(SCENE, levels=levels), "."), threads)
        allowed = (direct + 2.5 * evaluation) / direct
        figures += [
            Figure(f"{name}: preview step / direct coarse step", step / direct, allowed, "lower"),
            Figure(f"{name}: the same, proxy two levels up", up / direct, 1.3, "lower"),
            Figure(f"{name}: the same, default proxy", linear / direct, 1.3, "lower"),
        ]
        details[f"{name}: preview step; energy and gradient of the finest elasticity, ms"] = [
            round(1e3 * step, 1),
            round(1e3 * evaluation, 1),
        ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    figures.append(Figure("peak memory, GB", peak, 6.0, "lower"))
    return figures, details | _lost_shape(threads)


def _printed(levels: int, **hierarchy: Any) -> Scene:
    return gallery_scene(SCENE, levels=levels, preset="paper", **hierarchy)


def _time_steps(ladder: Ladder, threads: int) -> float:
    """Median seconds of the steps of level 0 after SETTLE ones from the flat start; none is accepted as the last."""
    times: list[float] = []
    last = time.perf_counter()
    for state in relax(ladder.system(0), make_newton(threads=threads), Clock(), tol=1e-12):
        now = time.perf_counter()
        if state.step > SETTLE:
            times.append(now - last)
        if len(times) == STEPS:
            break
        last = now
    return float(np.median(times))


def _time_evaluation(ladder: Ladder) -> float:
    """Median seconds of energy and gradient of the finest mesh's elasticity and loads."""
    model = ShellModel(ladder.scene, ladder.geometry(ladder.finest).shells)
    parts = Sum([*model.elastic, *model.loads])
    rng, times = np.random.default_rng(0), []
    for _ in range(5):
        x = frozen(model.mesh.X + rng.uniform(-1e-5, 1e-5, model.mesh.X.shape))
        began = time.perf_counter()
        parts.value(x)
        parts.gradient(x)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _lost_shape(threads: int) -> dict[str, Any]:
    """How far level 0 moves when its proxy is evaluated two levels up instead of on the finest mesh."""
    found = []
    for options in ({}, {"proxy_levels_up": 2}):
        ladder = build_hierarchy(_printed(5, **options), ".")
        *_, state = relax(ladder.system(0), make_newton(threads=threads), Clock(), tol=2e-3)
        found.append((ladder, state))
    (ladder, full), (_, up) = found
    model = ShellModel(ladder.scene, ladder.geometry(ladder.finest).shells)
    P = ladder.hierarchy.between(0, ladder.finest, bodies=1)
    energies = [Sum([*model.elastic, *model.loads]).value(frozen(P(s.x[: P.matrix.shape[1]]))) for _, s in found]
    n = P.matrix.shape[1]
    apart = np.sqrt(((full.x[:n] - up.x[:n]) ** 2).sum(axis=1).mean())
    return {
        "two levels up of four: level 0 moves by, mm": round(1e3 * float(apart), 2),
        "two levels up of four: energy on the finest mesh, J, finest and two up": [round(e, 5) for e in energies],
    }
