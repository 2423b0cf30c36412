"""What a preview step costs beside a direct coarse step, for ever finer meshes above the same base."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure
from plisse.core.potential import Sum, frozen
from plisse.progressive.ladder import Ladder
from plisse.progressive.session import Session
from plisse.progressive.shells import ShellModel
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

SCENE = "05-sphere"
SETTLE, STEPS = 30, 30  # steps before and while the clock runs
LEVELS = (3, 4, 5, 6)


def measure_preview(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Steps of level 0 under the printed Loop proxy and others, at the same place of their way from the flat start."""
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    coarse = gallery_scene(SCENE, levels=1, method="direct")
    direct = _time_steps(open_session(coarse, ".", threads=threads))
    details["direct coarse step, ms"] = round(1e3 * direct, 1)
    for levels in LEVELS:
        printed = open_session(_printed(levels), ".", threads=threads)
        finest = printed.ladder.geometry(printed.ladder.finest).shells
        name = f"{len(finest[0].triangles) / 1000:.0f}K"
        evaluation = _time_evaluation(printed.ladder)
        step = _time_steps(printed)
        up = _time_steps(open_session(_printed(levels, proxy_levels_up=2), ".", threads=threads))
        linear = _time_steps(open_session(gallery_scene(SCENE, levels=levels), ".", threads=threads))
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


def _time_steps(session: Session) -> float:
    """Median seconds of the steps of level 0 after SETTLE ones from the flat start; none is accepted as the last."""
    times: list[float] = []
    last = time.perf_counter()
    for state in session.settle(0, tol=1e-12):
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
        session = open_session(_printed(5, **options), ".", threads=threads)
        *_, state = session.settle(0, tol=2e-3)
        found.append((session.ladder, state))
    (ladder, full), (_, up) = found
    model = ShellModel(ladder.scene, ladder.geometry(ladder.finest).shells)
    P = ladder.shell_map(0, ladder.finest)
    energies = [Sum([*model.elastic, *model.loads]).value(frozen(P(s.x[: P.coarse]))) for _, s in found]
    n = P.coarse
    apart = np.sqrt(((full.x[:n] - up.x[:n]) ** 2).sum(axis=1).mean())
    return {
        "two levels up of four: level 0 moves by, mm": round(1e3 * float(apart), 2),
        "two levels up of four: energy on the finest mesh, J, finest and two up": [round(e, 5) for e in energies],
    }
