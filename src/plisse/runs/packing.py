"""Geometries and checkpoints as named arrays, as run folders keep them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from itertools import count, takewhile
from typing import Any

import numpy as np

from plisse.core.mesh import Mesh
from plisse.core.potential import frozen
from plisse.core.state import Checkpoint, Couplings, State
from plisse.scene.geometry import Geometry
from plisse.scene.schedule import Track

OF_VERTICES = ("x", "v", "before_x", "before_v", "near_x", "near_p")  # arrays of a checkpoint, (n, 3) each


def pack_geometry(geometry: Geometry) -> dict[str, Any]:
    """A geometry as named arrays, e.g. shell-0-X."""
    out: dict[str, Any] = {"half_spaces": np.array([mesh is None for mesh in geometry.colliders], bool)}
    for i, (mesh, x, pins) in enumerate(zip(geometry.shells, geometry.shell_positions, geometry.pins, strict=True)):
        out |= _pack_mesh(f"shell-{i}", mesh) | {f"shell-{i}-x": x}
        out |= {f"shell-{i}-pin-{j}": vertices for j, vertices in enumerate(pins)}
    for i, regions in enumerate(geometry.regions):
        out |= {f"shell-{i}-region-{j}": weights for j, weights in enumerate(regions)}
    for i, solid in enumerate(geometry.colliders):
        if solid is not None:
            out |= _pack_mesh(f"collider-{i}", solid)
    for i, track in enumerate(geometry.tracks):
        if track is not None:
            out |= {f"collider-{i}-times": track.times, f"collider-{i}-positions": track.positions}
    return out


def _pack_mesh(name: str, mesh: Mesh) -> dict[str, Any]:
    arrays = {entry.name: getattr(mesh, entry.name) for entry in fields(Mesh)}
    return {f"{name}-{key}": array for key, array in arrays.items() if array is not None}


def unpack_geometry(stored: dict[str, Any]) -> Geometry:
    """A geometry from such arrays."""

    def mesh(name: str) -> Mesh:
        more = (stored.get(f"{name}-{key}") for key in ("uv", "rest"))
        return Mesh(stored[f"{name}-X"], stored[f"{name}-triangles"], *more)

    shells = tuple(mesh(f"shell-{i}") for i in takewhile(lambda i: f"shell-{i}-X" in stored, count()))
    pins, regions = (
        [
            tuple(stored[name] for name in takewhile(stored.__contains__, (f"shell-{i}-{what}-{j}" for j in count())))
            for i in range(len(shells))
        ]
        for what in ("pin", "region")
    )
    numbers = range(len(stored["half_spaces"]))
    colliders = [None if stored["half_spaces"][i] else mesh(f"collider-{i}") for i in numbers]
    samples = [(stored.get(f"collider-{i}-times"), stored.get(f"collider-{i}-positions")) for i in numbers]
    tracks = [None if times is None or places is None else Track(times, places) for times, places in samples]
    return Geometry(
        shells, tuple(stored[f"shell-{i}-x"] for i in range(len(shells))), tuple(colliders), tuple(pins), tuple(tracks),
        regions=tuple(regions) if any(regions) else (),
    )  # fmt: skip


def pack_checkpoint(at: Checkpoint) -> dict[str, Any]:
    """A checkpoint as named arrays; what is no array is JSON in `values`."""
    arrays: dict[str, Any] = {"x": at.state.x, "v": at.state.v}
    if at.before is not None:
        arrays |= {"before_x": at.before[0], "before_v": at.before[1]}
    if at.near is not None:
        arrays["near_x"] = at.near[0]
        # mostly candidates are found around one place
        arrays |= {"near_p": at.near[1]} if at.near[1].any() else {}
    if at.couplings is not None:
        arrays["couplings"] = at.couplings.keys
    plain = {entry.name: getattr(at.state, entry.name) for entry in fields(State) if entry.name not in arrays}
    mark = None if at.couplings is None else at.couplings.mark
    text = json.dumps({"state": plain, "mark": mark, "notes": at.notes}, default=as_plain)
    return {"values": np.frombuffer(text.encode(), np.uint8), **arrays}


def unpack_checkpoint(arrays: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint from such arrays; KeyError, TypeError or ValueError where they are none."""
    values = json.loads(arrays["values"].tobytes())
    of_vertices = [arrays[key] for key in OF_VERTICES if key in arrays]
    if any(each.shape != arrays["x"].shape or each.dtype != np.float64 for each in of_vertices):
        raise ValueError("its arrays do not go together")
    given: dict[str, Any] = values["state"]
    plain: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
    state = State(**plain, x=frozen(arrays["x"]), v=arrays["v"])
    before = (frozen(arrays["before_x"]), arrays["before_v"]) if "before_x" in arrays else None
    near = None
    if "near_x" in arrays:
        near = (frozen(arrays["near_x"]), arrays.get("near_p", np.zeros_like(arrays["near_x"])))
    keys = arrays.get("couplings")
    couplings = None if keys is None else Couplings(values["mark"], keys)
    return Checkpoint(state, before, near, couplings, values["notes"])


def step_of_packed(arrays: Mapping[str, Any]) -> int:
    """The step of a checkpoint, without the rest of it being read."""
    return int(json.loads(arrays["values"].tobytes())["state"]["step"])


def as_plain(value: Any) -> Any:
    """numpy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")
