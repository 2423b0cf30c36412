"""A run on disk: meshes once, a frame a file, the report, the picture.

DIR/scene.json  mesh.npz  report.json  preview.png  level-0/frame-0000.npy …
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.potential import Floats, Ints
from plisse.io.ply import write_ply


@dataclass(frozen=True, eq=False)
class RunStore:
    """A run folder. Frames hold all vertices: the shells' first, then the mesh colliders'."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, scene: dict[str, Any], triangles: Ints, body: Ints, shells: int) -> RunStore:
        """A fresh run folder; frames and reports of an earlier run there are removed, other files are not touched."""
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for old in [*folder.glob("level-*/frame-*.npy"), folder / "report.json", folder / "preview.png"]:
                old.unlink(missing_ok=True)
            np.savez(folder / "mesh.npz", triangles=triangles, body=body, shells=shells)
        store = cls(folder)
        store.write_json("scene.json", scene)
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        if not (folder / "mesh.npz").is_file():
            raise SceneError(f"{folder} is not a run: make one with `plisse run SCENE --out {folder}`.")
        return cls(folder)

    def write_json(self, name: str, data: dict[str, Any]) -> None:
        path = self.folder / name
        partial = path.with_name(name + ".part")
        with _writing(self.folder):
            partial.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
            os.replace(partial, path)

    def write_frame(self, level: int, number: int, x: Floats) -> None:
        path = self.folder / f"level-{level}" / f"frame-{number:04d}.npy"
        partial = path.with_suffix(".part")
        with _writing(self.folder):
            path.parent.mkdir(exist_ok=True)
            with partial.open("wb") as file:
                np.save(file, x)
            os.replace(partial, path)

    def frames(self) -> list[Path]:
        """Frame files of all levels, in order."""
        return sorted(self.folder.glob("level-*/frame-*.npy"))

    def export_ply(self, out: Path) -> int:
        """Writes out/level-K/frame-0000.ply … (shells as one mesh), out/colliders/frame-0000.ply …; how many frames."""
        with np.load(self.folder / "mesh.npz") as mesh:
            triangles, body, shells = mesh["triangles"], mesh["body"], int(mesh["shells"])
        n_shell = int((body < shells).sum())
        of_shell = triangles[:, 0] < n_shell
        colliders = (triangles[~of_shell] - n_shell).astype(np.int32)
        frames = self.frames()
        if not frames:
            raise SceneError(f"The run {self.folder} has no frames yet: run the scene first.")
        for path in frames:
            x = np.load(path)
            name = f"{path.stem}.ply"
            write_ply(_made(out / path.parent.name) / name, x[:n_shell], triangles[of_shell])
            if len(colliders):
                write_ply(_made(out / "colliders") / name, x[n_shell:], colliders)
        return len(frames)


def _made(folder: Path) -> Path:
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SceneError(f"The folder {folder} cannot be written: {error.strerror}.") from None
