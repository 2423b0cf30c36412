"""The report of a run, from what its folder holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError
from plisse.core.state import Checkpoint
from plisse.progressive.report import LevelReport, Report
from plisse.runs.store import RunSpec, RunStore
from plisse.runs.tally import report_level
from plisse.runs.writing import StoreError, lock_run
from plisse.scene.scene import Scene

OPEN = ("dhat", "offset", "stiffness", "friction_speed")  # of contact: chosen from the scene where it leaves them open


def read_report(folder: str | Path) -> Report:
    """A run's report; of one that is at work, or was killed, as far as it has come."""
    folder = Path(folder)
    store = RunStore(folder)
    spec = store.read_spec()
    if spec.status != "running":
        return store.read_report()
    try:
        with lock_run(folder):
            status = "killed"
    except StoreError:
        status = "killed"  # where nothing can be written, nobody is at work
    except SceneError:
        status = "running"
    scene = store.read_scene()
    found = [at for level in store.levels() if (at := store.read_checkpoint(level)) is not None]
    levels = report_levels(store, found, dynamic=scene.time.mode == "dynamic")
    return make_report(replace(spec, wall_s=sum(level.wall_s for level in levels)), scene, status, levels)


def read_frames(folder: str | Path, level: int, first: int | None, last: int | None) -> list[dict[str, Any]]:
    """Of each frame of a level from one to another, both included, the line of its step in the level's log.

    newton: only the iterations since the frame before.
    """
    store, out, spent = RunStore(Path(folder)), list[dict[str, Any]](), 0
    at = store.read_checkpoint(level)
    for line in store.read_steps(level, 0 if at is None else at.state.step):
        if line["frame"] is not None:
            out.append(line | {"newton": line["newton"] - spent})
            spent = line["newton"]
    has = f"has {out[0]['frame']} to {out[-1]['frame']}" if out else "keeps only its start and its end"
    out = [
        line for line in out if (first is None or line["frame"] >= first) and (last is None or line["frame"] <= last)
    ]
    if not out:
        raise SceneError(f"There are no steps to such frames: level {level} of {folder} {has}.")
    return out


def report_levels(store: RunStore, found: Iterable[Checkpoint], *, dynamic: bool) -> list[LevelReport]:
    """What the report says of each level, coarse to fine."""
    levels = sorted(found, key=lambda at: at.state.level)
    logs = [store.read_steps(at.state.level, at.state.step) for at in levels]
    return [report_level(at, steps, dynamic=dynamic) for at, steps in zip(levels, logs, strict=True)]


def make_report(spec: RunSpec, scene: Scene, status: str, levels: Sequence[LevelReport]) -> Report:
    """scene: with its contact lengths filled in."""
    return Report(
        version=spec.version,
        scene=scene.name,
        status=status,
        resumed=spec.resumed,
        method=scene.hierarchy.method,
        kind=scene.hierarchy.kind,
        finest=scene.hierarchy.count - 1,
        threads=spec.threads,
        seed=scene.seed,
        pinned=any(shell.pins for shell in scene.shells),
        ramped=scene.time.mode == "static" and scene.time.each == "step" and (scene.leads or scene.last_key > 0.0),
        wall_s=spec.wall_s,
        contact={name: getattr(scene.contact, name) for name in OPEN},
        auto={f"contact.{name}": getattr(scene.contact, name) for name in spec.open},
        levels=tuple(levels),
    )
