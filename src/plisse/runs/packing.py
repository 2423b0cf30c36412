"""A geometry as named arrays, as run folders keep it."""

from __future__ import annotations

from dataclasses import fields
from itertools import count, takewhile
from typing import Any

import numpy as np

from plisse.core.mesh import Mesh
from plisse.scene.geometry import Geometry
from plisse.scene.schedule import Track


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
