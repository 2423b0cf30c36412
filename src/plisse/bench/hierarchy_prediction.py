"""How well previews of three flat drapes predict the finest mesh: by decimation, midpoints and Loop's rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plisse.bench.climb import Climb, climb, gallery_scene
from plisse.bench.figures import Figure
from plisse.core.arrays import Floats
from plisse.progressive.metrics import position_error
from plisse.progressive.session import Session

SCENES = ("05-sphere", "06-cube", "10-bending")
LEVELS = 3
LOOP = {"prolongation": "loop", "compression": 1.0, "bending": 1.0}


def measure_prediction(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Level 0 of about 800 vertices, prolonged, against direct simulation of the same finest mesh at rest.

    By Loop's rule the finest rest mesh is another one, so that its reference is direct simulation of that mesh.
    """
    figures, details = [], {}
    for name in SCENES:
        midpoints, direct = _climb(name, threads), _climb(name, threads, method="direct")
        loop, loop_direct = _climb(name, threads, **LOOP), _climb(name, threads, method="direct", **LOOP)
        rows = {
            "midpoints": (_prolonged(midpoints.session, midpoints.states[0].x), _finest(direct)),
            "decimation": (_decimation(midpoints.session, name, threads), _finest(direct)),
            "Loop": (_prolonged(loop.session, loop.states[0].x), _finest(loop_direct)),
        }
        areas = midpoints.session.ladder.geometry(LEVELS - 1).shells[0].vertex_areas
        errors = {key: 1e3 * position_error(areas, x, finest) for key, (x, finest) in rows.items()}
        figures += [
            Figure(f"{name}: position error, decimation / midpoints", errors["decimation"] / errors["midpoints"]),
            Figure(f"{name}: position error, decimation / Loop", errors["decimation"] / errors["Loop"]),
        ]
        for key, (x, finest) in rows.items():
            (low, wide), (lowest, widest) = _silhouette(x), _silhouette(finest)
            details[f"{name}, {key}"] = (
                f"position error {errors[key]:.1f} mm; lowest point {low:.0f} mm (finest {lowest:.0f}), widest "
                f"{wide:.0f} mm (finest {widest:.0f})"
            )
    return figures, details


def _climb(name: str, threads: int, **keys: Any) -> Climb:
    return climb(gallery_scene(name, sets=("time.max_steps=300",), tol=None, levels=LEVELS, **keys), threads=threads)


def _prolonged(session: Session, x: Floats) -> Floats:
    step = session.ladder.shell_map(0, session.finest)
    return step(np.ascontiguousarray(x[: step.coarse]))


def _finest(done: Climb) -> Floats:
    return done.states[LEVELS - 1].x[: len(done.session.ladder.geometry(LEVELS - 1).shells[0].X)]


def _decimation(midpoints: Session, name: str, threads: int) -> Floats:
    """The preview on levels of the same sizes, found from the same finest mesh."""
    *sizes, _ = (len(midpoints.ladder.geometry(level).shells[0].X) for level in range(LEVELS))
    scene = gallery_scene(name, tol=None)
    scene = replace(scene, hierarchy=replace(scene.hierarchy, kind="decimation", levels=tuple(sizes)))
    session = Session(scene, midpoints.ladder.geometry(LEVELS - 1), threads=threads)
    *_, state = session.preview()
    return _prolonged(session, state.x)


def _silhouette(x: Floats) -> tuple[float, float]:
    """Lowest point, and farthest from the vertical through the middle [mm]."""
    aside = x[:, :2] - x[:, :2].mean(axis=0)
    return 1e3 * float(x[:, 2].min()), 1e3 * float(np.hypot(*aside.T).max())
