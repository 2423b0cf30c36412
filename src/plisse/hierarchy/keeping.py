"""Decimations that were made before, found again by content: in this process, and on disk."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Bools
from plisse.core.mesh import Mesh
from plisse.hierarchy import curves
from plisse.hierarchy import decimate as decimate_module
from plisse.hierarchy.collapses import Collapses
from plisse.hierarchy.decimate import Decimation, Stopped, decimate
from plisse.kernels import collapse
from plisse.kernels.cache import digest_module, find_cache_root
from plisse.meshes.memo import Memo

MOST = 2_000_000_000  # bytes on disk; those that were not used for longest go first
SMALL = 5_000  # vertices below which making it anew is as fast as reading it

# by content and mesh, as many as have so many vertices on their finest levels; a mesh that is kept keeps its identity
_known: Memo[Decimation] = Memo(1_000_000, lambda made: len(made.meshes[-1].X))


def decimate_once(
    mesh: Mesh, targets: Sequence[int], *, groups: Sequence[Bools], fixed: Bools
) -> tuple[Decimation, bool]:
    """As `decimate`, and whether it was known before: the same object again, or read from the cache folder."""
    key, again = _digest(mesh, targets, groups, fixed), True

    def make() -> Decimation:
        nonlocal again
        found = _read(key, mesh)
        again = found is not None
        return found or _make(key, mesh, targets, groups, fixed)

    return _known.get((key, id(mesh)), make), again


def _make(key: str, mesh: Mesh, targets: Sequence[int], groups: Sequence[Bools], fixed: Bools) -> Decimation:
    made = decimate(mesh, targets, groups=groups, fixed=fixed)
    if len(mesh.X) >= SMALL:
        # where nothing can be written, it is made anew every time
        with suppress(OSError):
            _write(key, _pack(made))
    return made


def find_folder() -> Path:
    """Where decimations are kept, beside the kernels."""
    return find_cache_root().parent / "hierarchies"


def _digest(mesh: Mesh, targets: Sequence[int], groups: Sequence[Bools], fixed: Bools) -> str:
    """Of everything that a decimation depends on, the text of its own modules and kernels included."""
    digest = hashlib.blake2b(digest_size=20)
    for path in (collapse.__file__, curves.__file__, decimate_module.__file__):
        digest.update(digest_module(Path(path)).encode())
    arrays = [mesh.X, mesh.triangles, mesh.uv, mesh.rest, np.asarray(targets, np.int64), fixed, *groups]
    for array in arrays:
        digest.update(b"-" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _read(key: str, mesh: Mesh) -> Decimation | None:
    path = find_folder() / f"{key}.npz"
    try:
        with np.load(path) as arrays:
            found = _unpack(dict(arrays), mesh)
        os.utime(path)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        # none, or one that was cut short
        return None
    return found


def _write(key: str, arrays: dict[str, Any]) -> None:
    folder = find_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as part:
        try:
            np.savez(part, **arrays)
            os.replace(part.name, folder / f"{key}.npz")
        except BaseException:
            # a full disk or an interruption leaves nothing behind
            Path(part.name).unlink(missing_ok=True)
            raise
    entries = sorted(((path.stat().st_mtime, path) for path in folder.glob("*.npz")), reverse=True)
    total = 0
    for _, path in entries:
        total += path.stat().st_size
        if total > MOST:
            path.unlink(missing_ok=True)


def _pack(made: Decimation) -> dict[str, Any]:
    """All but the given mesh, as named arrays."""
    whole = {"stopped": made.stopped and asdict(made.stopped), "slip": made.slip, "tries": made.tries}
    out: dict[str, Any] = {"log_start": np.array(made.log_start), "whole": np.array(json.dumps(whole))}
    for level, mesh in enumerate(made.meshes):
        out |= {f"ids-{level}": made.ids[level], f"faces-{level}": made.faces[level]}
        if level < len(made.meshes) - 1:
            named = {"X": mesh.X, "triangles": mesh.triangles, "uv": mesh.uv, "rest": mesh.rest}
            out |= {f"{name}-{level}": part for name, part in named.items() if part is not None}
    for (coarse, fine), (home, weights) in made.places.items():
        out |= {f"home-{coarse}-{fine}": home, f"weights-{coarse}-{fine}": weights}
    return out | {f"log-{field.name}": getattr(made.log, field.name) for field in fields(Collapses)}


def _unpack(arrays: dict[str, Any], mesh: Mesh) -> Decimation:
    log_start = tuple(int(start) for start in arrays["log_start"])
    levels = range(len(log_start))
    coarser = [
        Mesh(arrays[f"X-{level}"], arrays[f"triangles-{level}"], arrays.get(f"uv-{level}"), arrays.get(f"rest-{level}"))
        for level in levels[:-1]
    ]
    places = {
        (coarse, fine): (arrays[f"home-{coarse}-{fine}"], arrays[f"weights-{coarse}-{fine}"])
        for fine in levels
        for coarse in range(fine)
    }
    whole = json.loads(str(arrays["whole"]))
    return Decimation(
        meshes=(*coarser, mesh),
        ids=tuple(arrays[f"ids-{level}"] for level in levels),
        faces=tuple(arrays[f"faces-{level}"] for level in levels),
        places=places,
        log=Collapses(*(arrays[f"log-{field.name}"] for field in fields(Collapses))),
        log_start=log_start,
        stopped=whole["stopped"] and Stopped(**whole["stopped"]),
        slip=whole["slip"],
        tries=whole["tries"],
    )
