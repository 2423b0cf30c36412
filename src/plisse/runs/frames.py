"""Frames of a preview, each refined as a run of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.potential import frozen
from plisse.core.state import State
from plisse.core.version import __version__
from plisse.loading.scene_file import scene_to_dict
from plisse.progressive.feasibility import check_support
from plisse.progressive.report import Report
from plisse.progressive.session import Session
from plisse.runs.run import refine_run, refine_session
from plisse.runs.store import RunSpec, RunStore
from plisse.runs.writing import lock_run
from plisse.scene.settings import Time


def frame_folder(folder: Path, number: int) -> Path:
    """Where a frame of a run is refined."""
    return folder / f"frame-{number:04d}"


def refine_frame(folder: str | Path, number: int, *, threads: int, **options: Any) -> Report:
    """Refines one frame of a preview: everything that is keyframed stays as it is there. [Zhang2023] figure 2.

    It becomes a run of its own in the run's folder, which goes on where it is when it is asked for again. A frame of a
    motion comes to rest as well, which is what [Zhang2024] figure 8 warns of. options: as `refine_run` has them.
    """
    folder = Path(folder)
    own = frame_folder(folder, number)
    if RunStore(own).exists:
        return refine_run(own, threads=threads, **options)
    store = RunStore.open(folder)
    scene, t = store.read_scene(), store.time_of(0, number)
    geometry = store.read_geometry().stopped(t)
    scene = scene.stopped(t)
    if scene.time.mode == "dynamic":
        scene = replace(scene, time=Time())
        check_support(scene)
    spec = store.read_spec()
    session = Session(scene, geometry, threads=threads)
    x = frozen(store.read_frame(0, number))
    session.grid.put(State(0, 0, t, x, np.zeros_like(x)))
    with lock_run(own):
        made = RunStore.create(
            own, scene_to_dict(session.scene), geometry, replace(_fresh(spec, threads), base=spec.base)
        )
        return refine_session(session, made, **options)


def _fresh(spec: RunSpec, threads: int) -> RunSpec:
    return RunSpec(__version__, "running", threads, 0, spec.open)
