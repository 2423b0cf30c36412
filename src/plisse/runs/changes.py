"""The difference between the scene of a run and the one with which it is to be resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from reprlib import Repr
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.loading.scene_file import scene_to_dict
from plisse.runs.packing import pack_geometry
from plisse.runs.store import RunSpec, RunStore
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

_brief = Repr()
_brief.maxlist = _brief.maxdict = 4
_brief.maxstring = _brief.maxother = 60
MISSING = object()


def check_unchanged(store: RunStore, scene: Scene, geometry: Geometry, source: str | None) -> RunSpec:
    """How a run was started, if it is of this very scene; a motion may end later, if not before what is there of it.

    source: the frame that the motion is to begin with, if one is named.
    """
    spec, before = store.read_spec(), store.read_scene()
    old, new = scene_to_dict(before), scene_to_dict(scene)
    # what the scene left open was filled in when the run began
    old["contact"] = {key: value for key, value in old["contact"].items() if key not in spec.open}
    if _is_motion_of_other_length(before, scene):
        old["time"]["duration"] = new["time"]["duration"]
    change = name_change(old, new, store.read_geometry(), geometry)
    if change is None and source is not None and source != spec.source:
        change = f"--from was {spec.source or 'not given'} and is now {source}"
    if change is not None:
        raise SceneError(
            f"{store.folder} holds a run of another scene, {change}: undo that to resume it, replace it with "
            "--overwrite, or choose another --out."
        )
    if scene.time.mode == "dynamic":
        _check_length(store, scene)
    return spec


def _check_length(store: RunStore, scene: Scene) -> None:
    """Raises SceneError where a motion would end before what is there of it."""
    found = [at.state.step for level in store.levels() if (at := store.read_checkpoint(level)) is not None]
    there = max(found, default=0)
    if there > scene.time.steps:
        raise SceneError(
            f"{store.folder} has come to {there * scene.time.step:g} s already, beyond time.duration = "
            f"{scene.time.duration:g} s: a run can only be made longer; raise it, or choose another --out."
        )


def keep_contact(store: RunStore, scene: Scene) -> Scene:
    """The scene; a motion of another length keeps what was chosen of contact when the run began."""
    spec, before = store.read_spec(), store.read_scene()
    if not _is_motion_of_other_length(before, scene):
        return scene
    chosen = {name: getattr(before.contact, name) for name in spec.open if getattr(scene.contact, name) is None}
    return replace(scene, contact=replace(scene.contact, **chosen))


def _is_motion_of_other_length(before: Scene, scene: Scene) -> bool:
    moves = before.time.mode == scene.time.mode == "dynamic"
    return moves and before.time.duration != scene.time.duration


def name_change(old: dict[str, Any], new: dict[str, Any], old_geometry: Geometry, new_geometry: Geometry) -> str | None:
    """The first difference in words, e.g. "contact.friction was 0.3 and is now 0.5"; None where there is none.

    old, new: scenes as tables, as `scene_to_dict` gives them. Geometries are compared number by number: a file may be
    another one under the same name.
    """
    found = _difference(json.loads(json.dumps(old)), json.loads(json.dumps(new)), "")
    if found is not None:
        key, before, now = found
        was = "was not given" if before is MISSING else f"was {_brief.repr(before)}"
        return f"{key} {was} and {'is not given now' if now is MISSING else f'is now {_brief.repr(now)}'}"
    ours, theirs = pack_geometry(old_geometry), pack_geometry(new_geometry)
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if name not in ours or name not in theirs or not _are_equal(ours[name], theirs[name]):
            body, number, *part = [*name.split("-"), ""]
            if part[0] == "region":
                return f"the weights of {body}.{number}.region.{part[1]} have changed"
            return f"the surface of {body}.{number} has changed"
    return None


def _are_equal(a: Any, b: Any) -> bool:
    # corners without texture coordinates have NaN
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def _difference(old: Any, new: Any, key: str) -> tuple[str, Any, Any] | None:
    """Key and both values of the first difference between two tables."""
    if isinstance(old, dict) and isinstance(new, dict):
        # what something is called says more than its numbers
        names = sorted([*old, *(name for name in new if name not in old)], key=lambda name: name != "name")
        parts = [(name, old.get(name, MISSING), new.get(name, MISSING)) for name in names]
        # no tables, and an empty list of them, are the same
        parts = [(name, a, b) for name, a, b in parts if not (MISSING in (a, b) and [] in (a, b))]
    elif isinstance(old, list) and isinstance(new, list) and _has_tables(old + new):
        most = max(len(old), len(new))
        padded = [[*values, *[MISSING] * (most - len(values))] for values in (old, new)]
        parts = [(str(k), a, b) for k, (a, b) in enumerate(zip(*padded, strict=True))]
    else:
        return None if old is not MISSING and new is not MISSING and old == new else (key, old, new)
    found = (_difference(a, b, f"{key}.{name}" if key else name) for name, a, b in parts)
    return next((each for each in found if each is not None), None)


def _has_tables(values: list[Any]) -> bool:
    return any(isinstance(value, dict) for value in values)
