"""The difference between the scene of a run and the one with which it is to be resumed."""

from __future__ import annotations

import json
from reprlib import Repr
from typing import Any

import numpy as np

from plisse.runs.store import pack_geometry
from plisse.scene.geometry import Geometry

_brief = Repr()
_brief.maxlist = _brief.maxdict = 4
_brief.maxstring = _brief.maxother = 60
MISSING = object()


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
