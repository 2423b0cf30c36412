"""Motions that begin with a frame of another run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from plisse.core.bodies import Bodies, relay
from plisse.core.errors import SceneError
from plisse.core.potential import frozen
from plisse.core.state import State
from plisse.loading.frames import read_frame_mesh
from plisse.progressive.scene_problem import hold, lay_out_scene
from plisse.progressive.session import Session
from plisse.runs.store import RunStore
from plisse.scene.scene import Scene

WHOLE = 1e-6  # steps by which the time of a frame may be off a whole number of them


def read_start(source: str, session: Session, level: int) -> State:
    """The state of a level that "RUN:12" stands for, as one of the session's scene; time goes on from that frame's.

    Shells have the same names, vertices and triangles in both; colliders that the run does not have are placed where
    the scene has them at that time.
    """
    folder, _, frame = source.rpartition(":")
    if not folder or not frame.isdigit():
        raise SceneError(f"--from {source} names no frame: give a run and the number of a frame, e.g. runs/toss:12.")
    store, number, scene = RunStore.open(Path(folder)), int(frame), session.scene
    there = store.read_scene()
    if scene.time.mode != "dynamic":
        raise SceneError('--from begins a motion: set time.mode = "dynamic".')
    if there.time.mode != "dynamic":
        raise SceneError(
            f'--from {source}: {folder} is no motion; a [[shell]] can start at rest from it, with start = "{folder}".'
        )
    for what in ("frame", "velocity"):
        known = store.frames(level, what)
        if number not in known:
            has = f"it has {known[0]} to {known[-1]}" if known else "run that level first"
            raise SceneError(f"--from {source}: {folder} has no frame {number} of level {level}: {has}.")
    t = store.time_of(level, number)
    step = _step_at(t, scene, source)
    before, geometry = _bodies_of(store, there, level), session.ladder.geometry(level)
    after = lay_out_scene(scene, geometry)
    _check_shells(store, session, level, before, after, source)
    x, v = (store.read_frame(level, number, what) for what in ("frame", "velocity"))
    fresh = hold(scene, geometry, geometry.placed, t)
    x = frozen(relay(x, before, after, fresh).copy())
    return State(level, step, step * scene.time.step, x, relay(v, before, after, np.zeros_like(x)))


def restore_start(session: Session, store: RunStore) -> None:
    """Lets a session begin where the motion in a folder does."""
    spec, start = store.read_spec(), store.read_start()
    session.grid.drop(above=-1)
    session.begin = spec.begin
    if start is not None and spec.begin is not None and spec.first not in store.levels():
        session.begin_with(State(spec.first, spec.begin, spec.begin * session.scene.time.step, *start))


def _step_at(t: float, scene: Scene, source: str) -> int:
    """The number of the scene's step that ends at a time [s]."""
    steps = t / scene.time.step
    step = round(steps)
    if abs(steps - step) > WHOLE:
        raise SceneError(
            f"--from {source} is at {t:g} s, not a whole number of steps of time.h = {scene.time.step:g} s: choose "
            "another frame or time.h."
        )
    if scene.time.steps <= step:
        raise SceneError(
            f"--from {source} is at {t:g} s, and time.duration = {scene.time.duration:g} s, which counts from 0 s, is "
            "not beyond that: make it longer."
        )
    return step


def _bodies_of(store: RunStore, scene: Scene, level: int) -> Bodies:
    """The bodies whose vertices the frames of a level hold."""
    mesh = read_frame_mesh(store.folder / f"level-{level}" / "mesh.npz")
    names = [shell.name for shell in scene.shells] + [c.name for c in scene.colliders if c.mesh is not None]
    sizes = np.bincount(mesh.body, minlength=len(names))
    return Bodies(tuple(names), tuple(int(size) for size in sizes), mesh.shells)


def _check_shells(store: RunStore, session: Session, level: int, before: Bodies, after: Bodies, source: str) -> None:
    ours, theirs = (dict(zip(each.names, each.sizes[: each.simulated], strict=False)) for each in (after, before))
    if list(ours) != list(theirs):
        raise SceneError(
            f"--from {source} has the shells {', '.join(theirs)}, but the scene has {', '.join(ours)}: name the same "
            "ones in the same order."
        )
    remedy = "shells keep their meshes"
    if session.scene.hierarchy.kind == "decimation" and level < session.finest:
        remedy += ", and pins, regions and hierarchy.levels, which shape their levels, stay as they are"
    for name, size in ours.items():
        if size != theirs[name]:
            raise SceneError(
                f"--from {source} has {theirs[name]:,} vertices of {name} on level {level}, but the scene has {size:,}"
                f": {remedy}."
            )
    mesh = read_frame_mesh(store.folder / f"level-{level}" / "mesh.npz")
    shells = np.concatenate(
        [
            each.triangles + first
            for each, first in zip(session.ladder.geometry(level).shells, after.starts, strict=False)
        ]
    )
    if not np.array_equal(mesh.triangles[mesh.body[mesh.triangles[:, 0]] < mesh.shells], shells):
        raise SceneError(f"--from {source} has other triangles than the scene's shells on level {level}: {remedy}.")
