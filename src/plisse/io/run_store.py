"""A run on disk: the scene, each level's mesh, frames and last state, the report, pictures.

DIR/scene.json  geometry.npz  report.json  report.html  preview.png  levels.png
DIR/level-K/mesh.npz  frame-0000.npy …  state.npz  picture.png
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.potential import Floats, Ints, frozen
from plisse.core.state import State
from plisse.io.geometry import Geometry
from plisse.io.ply import write_ply

MADE = ("report.json", "report.html", "preview.png", "levels.png", "level-*/*.np[yz]", "level-*/picture.png")


@dataclass(frozen=True, eq=False)
class RunStore:
    """A run folder. Frames hold all vertices of a level: the shells' first, then the mesh colliders'."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, scene: dict[str, Any], geometry: Geometry) -> RunStore:
        """A fresh run folder; what an earlier run left there is removed, other files are not touched."""
        store = cls(folder)
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        for pattern in MADE:
            store.remove(pattern)
        store.write_json("scene.json", scene)
        store._save("geometry.npz", **_packed(geometry))
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        if not (folder / "geometry.npz").is_file() or not (folder / "scene.json").is_file():
            raise SceneError(f"{folder} is not a run: make one with `plisse run SCENE --out {folder}`.")
        return cls(folder)

    def remove(self, pattern: str) -> None:
        """Removes the run's files of that name."""
        with _writing(self.folder):
            for old in self.folder.glob(pattern):
                old.unlink()

    def read_json(self, name: str) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / name).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise SceneError(f"{self.folder / name} cannot be read ({error}): run the scene again.") from None

    def read_geometry(self) -> Geometry:
        """The surfaces of level 0, as they were when the run began."""
        return _unpacked(self._load("geometry.npz"))

    def begin_level(self, level: int, triangles: Ints, body: Ints, shells: int) -> None:
        """Says what the level's frames are of; its earlier frames are removed."""
        self.remove(f"level-{level}/frame-*.npy")
        with _writing(self.folder):
            (self.folder / f"level-{level}").mkdir(exist_ok=True)
        self._save(f"level-{level}/mesh.npz", triangles=triangles, body=body, shells=np.array(shells))

    def write_state(self, state: State) -> None:
        """The level's last state, from which a run can be taken up again."""
        values = {entry.name: np.asarray(getattr(state, entry.name)) for entry in fields(State)}
        self._save(f"level-{state.level}/state.npz", **values)

    def read_states(self) -> list[State]:
        """The last state of each level, coarse to fine, as far as levels follow each other."""
        out: list[State] = []
        while (self.folder / f"level-{len(out)}" / "state.npz").is_file():
            values = self._load(f"level-{len(out)}/state.npz")
            plain = {name: value if value.ndim else value.item() for name, value in values.items()}
            out.append(State(**plain | {"x": frozen(plain["x"])}))
        return out

    def _save(self, name: str, **arrays: Any) -> None:
        partial = self.folder / (name + ".part")
        with _writing(self.folder):
            with partial.open("wb") as file:
                np.savez(file, **arrays)
            os.replace(partial, self.folder / name)

    def _load(self, name: str) -> dict[str, Any]:
        try:
            with np.load(self.folder / name) as stored:
                return dict(stored)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise SceneError(f"{self.folder / name} cannot be read ({error}): run the scene again.") from None

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

    def copy(self, name: str, to: str) -> None:
        """One of the run's files under another name."""
        partial = self.folder / (to + ".part")
        with _writing(self.folder):
            partial.write_bytes((self.folder / name).read_bytes())
            os.replace(partial, self.folder / to)

    def frames(self) -> list[Path]:
        """Frame files of all levels, in order."""
        return sorted(self.folder.glob("level-*/frame-*.npy"))

    def export_ply(self, out: Path) -> int:
        """Writes out/level-K/frame-0000.ply … (shells as one mesh), out/level-K/colliders/…; how many frames."""
        frames = self.frames()
        if not frames:
            raise SceneError(f"The run {self.folder} has no frames yet: run the scene first.")
        for path in frames:
            mesh, x, name = self._load(f"{path.parent.name}/mesh.npz"), np.load(path), f"{path.stem}.ply"
            triangles, n_shell = mesh["triangles"], int((mesh["body"] < mesh["shells"]).sum())
            of_shell = triangles[:, 0] < n_shell
            write_ply(_made(out / path.parent.name) / name, x[:n_shell], triangles[of_shell])
            if not of_shell.all():
                colliders = (triangles[~of_shell] - n_shell).astype(np.int32)
                write_ply(_made(out / path.parent.name / "colliders") / name, x[n_shell:], colliders)
        return len(frames)


def _made(folder: Path) -> Path:
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _packed(geometry: Geometry) -> dict[str, Any]:
    """A geometry as named arrays."""
    out: dict[str, Any] = {"half_spaces": np.array([mesh is None for mesh in geometry.colliders], bool)}
    for i, (mesh, x, pins) in enumerate(zip(geometry.shells, geometry.shell_positions, geometry.pins, strict=True)):
        out |= {f"shell-{i}-X": mesh.X, f"shell-{i}-triangles": mesh.triangles, f"shell-{i}-x": x}
        out |= {f"shell-{i}-pin-{j}": vertices for j, vertices in enumerate(pins)}
    for i, mesh in enumerate(geometry.solids):
        out |= {f"solid-{i}-X": mesh.X, f"solid-{i}-triangles": mesh.triangles}
    return out


def _unpacked(stored: dict[str, Any]) -> Geometry:
    def meshes(kind: str) -> list[Mesh]:
        names = (f"{kind}-{i}" for i in count())
        present = takewhile(lambda name: f"{name}-X" in stored, names)
        return [Mesh(stored[f"{name}-X"], stored[f"{name}-triangles"]) for name in present]

    shells, solids = meshes("shell"), iter(meshes("solid"))
    pins = [
        tuple(stored[name] for name in takewhile(stored.__contains__, (f"shell-{i}-pin-{j}" for j in count())))
        for i in range(len(shells))
    ]
    positions = tuple(stored[f"shell-{i}-x"] for i in range(len(shells)))
    colliders = tuple(None if half_space else next(solids) for half_space in stored["half_spaces"])
    return Geometry(tuple(shells), positions, colliders, tuple(pins))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SceneError(f"The folder {folder} cannot be written: {error.strerror or error}.") from None
