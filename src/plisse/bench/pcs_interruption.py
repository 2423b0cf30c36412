"""How long a changed parameter waits for the next preview frame while the finest level is being refined."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure
from plisse.runs.opening import open_session
from plisse.scene.presets import PRESETS

SCENE = "05-sphere"


def measure_interruption(threads: int, *, levels: int = 4) -> tuple[list[Figure], dict[str, Any]]:
    """Silences of the refinement, over one Newton iteration of its finest level, and the way back to a preview."""
    scene = gallery_scene(SCENE, levels=levels)
    session = open_session(scene, ".", threads=threads)
    for _ in session.preview():
        pass
    silences: list[float] = []
    iterations: list[float] = []
    last = time.perf_counter()
    for state in session.refine():
        now = time.perf_counter()
        if state.level == session.finest:
            iterations.append(now - last)
        silences.append(now - last)
        last = now
    wool = replace(scene, shells=tuple(replace(shell, material=PRESETS["wool"]) for shell in scene.shells))
    began = time.perf_counter()
    session.change(wool)
    next(session.preview())
    back = time.perf_counter() - began
    one = max(iterations)
    figures = [
        Figure("longest silence / longest Newton iteration of the finest level", max(silences) / one, 1.0, "lower"),
        Figure("back to a preview frame / that iteration", back / one, 1.0, "lower"),
    ]
    return figures, {
        "Newton iterations of the finest level, s": [round(seconds, 2) for seconds in iterations],
        "back to a preview frame, s": round(back, 3),
    }
