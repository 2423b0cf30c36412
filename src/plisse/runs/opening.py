"""Sessions from scenes and from runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from plisse.core.state import State
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene
from plisse.progressive.scene_problem import Extra
from plisse.progressive.session import Session
from plisse.runs.starts import restore_start
from plisse.runs.store import RunStore
from plisse.scene.scene import Scene


def open_session(
    scene: Scene | str | Path, folder: str | Path | None = None, *, threads: int = 1, extra: Extra | None = None
) -> Session:
    """A session of a scene, of a scene file, or of a run with the states that it reached.

    folder: where a scene's mesh files are looked up, that of the scene file or else the present one when not given.
    extra: makes a user's own potentials for each level's problem.
    """
    if isinstance(scene, Scene):
        base = Path(folder or ".")
    elif RunStore(Path(scene)).exists:
        return _open_run(RunStore(Path(scene)), threads, extra)
    else:
        base = Path(scene).parent if folder is None else Path(folder)
        scene = load_scene(scene)
    load = partial(load_geometry, base=base)
    return Session(scene, load(scene), threads=threads, load=load, extra=extra)


def _open_run(store: RunStore, threads: int, extra: Extra | None) -> Session:
    load = partial(load_geometry, base=store.folder)
    session = Session(store.read_scene(), store.read_geometry(), threads=threads, load=load, extra=extra)
    restore_start(session, store)
    reached = dict[int, int]()
    for level in store.levels():
        at = store.read_checkpoint(level)
        if at is not None:
            session.grid.put(at.state)
            reached[level] = at.state.step

    def look_up(level: int, step: int) -> State | None:
        there = (session.begin or 0) <= step <= reached.get(level, -1)
        return store.read_state(level, step, session.scene.time.step) if there else None

    if session.is_dynamic and session.scene.time.frame_steps == 1:
        session.grid.older = look_up
    return session
