"""Motions that are refined by several processes at the same time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError
from plisse.progressive.report import Report
from plisse.runs.pipeline import climb_together
from plisse.runs.run import refine_run
from plisse.runs.segments import APART, climb_in_segments
from plisse.runs.store import RunStore


def refine_with_workers(folder: str | Path, *, workers: int, threads: int, **options: Any) -> Report:
    """Continues a motion to its finest level, with at most so many processes at work.

    Where the motion's steps need nothing of their own level, each level is refined in segments; otherwise all levels at
    the same time. threads: of all processes together, at least one each. options: as `refine_run` has them.
    """
    folder = Path(folder)
    scene, check_every = RunStore.open(folder).read_scene(), options.get("check_every", 10)
    if scene.time.mode != "dynamic":
        raise SceneError(f"{folder} is no motion, and its levels need each other's ends: leave out --workers.")
    if scene.hierarchy.method == "progressive" and scene.hierarchy.motion in APART:
        climb = partial(climb_in_segments, workers=workers, threads=threads, check_every=check_every)
        return refine_run(folder, threads=threads, climb=climb, **options)
    # the same share whatever is left to do, so that work that is repeated ends with the same bits
    each = max(1, threads // min(workers, max(scene.hierarchy.count - 1, 1)))
    together = partial(climb_together, workers=workers, check_every=check_every)
    return refine_run(folder, threads=each, climb=together, **options)
