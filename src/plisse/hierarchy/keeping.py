"""Decimations that were made before, found again by content: in this process, and on disk."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Bools
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation, Stopped, decimate
from plisse.kernels import collapse
from plisse.kernels.cache import digest_module, find_cache_root

MOST = 2_000_000_000  # bytes on disk; those that were not used for longest go first
SMALL = 5_000  # vertices below which making it anew is as fast as reading it

_known: dict[str, Decimation] = {}


def decimate_once(mesh: Mesh, targets: Sequence[int], *, groups: Sequence[Bools], fixed: Bools) -> Decimation:
    """As `decimate`; what was asked for before is the same object, or is read from the cache folder."""
    key = _digest(mesh, targets, groups, fixed)
    if key not in _known or _known[key].meshes[-1] is not mesh:
        _known[key] = _read(key, mesh) or _make(key, mesh, targets, groups, fixed)
    return _known[key]


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
    """Of everything that a decimation depends on, the text of its own kernels included."""
    digest = hashlib.blake2b(digest_module(Path(collapse.__file__)).encode(), digest_size=20)
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
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        # none, or one that was cut short
        return None
    return found


def _write(key: str, arrays: dict[str, Any]) -> None:
    folder = find_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as part:
        np.savez(part, **arrays)
    os.replace(part.name, folder / f"{key}.npz")
    entries = sorted(((path.stat().st_mtime, path) for path in folder.glob("*.npz")), reverse=True)
    total = 0
    for _, path in entries:
        total += path.stat().st_size
        if total > MOST:
            path.unlink(missing_ok=True)


def _pack(made: Decimation) -> dict[str, Any]:
    """All but the given mesh, as named arrays."""
    out: dict[str, Any] = {"levels": np.array(len(made.meshes))}
    for level, (mesh, ids) in enumerate(zip(made.meshes[:-1], made.ids[:-1], strict=True)):
        out |= {f"ids-{level}": ids, f"X-{level}": mesh.X, f"triangles-{level}": mesh.triangles}
        out |= {f"{name}-{level}": part for name, part in (("uv", mesh.uv), ("rest", mesh.rest)) if part is not None}
    for (coarse, fine), (home, weights) in made.places.items():
        out |= {f"home-{coarse}-{fine}": home, f"weights-{coarse}-{fine}": weights}
    out["stopped"] = np.array(json.dumps(made.stopped and asdict(made.stopped)))
    return out


def _unpack(arrays: dict[str, Any], mesh: Mesh) -> Decimation:
    count = int(arrays["levels"])
    meshes = [
        Mesh(arrays[f"X-{level}"], arrays[f"triangles-{level}"], arrays.get(f"uv-{level}"), arrays.get(f"rest-{level}"))
        for level in range(count - 1)
    ]
    ids = [arrays[f"ids-{level}"] for level in range(count - 1)]
    places = {
        (coarse, fine): (arrays[f"home-{coarse}-{fine}"], arrays[f"weights-{coarse}-{fine}"])
        for fine in range(count) for coarse in range(fine)
    }  # fmt: skip
    stopped = json.loads(str(arrays["stopped"]))
    return Decimation(
        (*meshes, mesh), (*ids, np.arange(len(mesh.X), dtype=np.int32)), places, stopped and Stopped(**stopped)
    )
