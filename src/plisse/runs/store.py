"""A run on disk: the scene, each level's mesh, frames, steps and last state, the report, pictures.

DIR/scene.json  geometry.npz  start.npz  run.json  report.json  report.html  preview.png  levels.png
DIR/level-K/mesh.npz  frame-0000.npy …  velocity-0001.npy …  steps.jsonl  state.npz  picture.png

A file appears whole or not at all. A step is complete once state.npz holds it: whatever else is there of a later step,
because a command was killed before it came to that, is dropped when the run is resumed.
"""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.core.potential import frozen
from plisse.core.state import Checkpoint, State
from plisse.loading.frames import read_frame
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.report import Report
from plisse.runs.packing import (
    as_plain,
    pack_checkpoint,
    pack_geometry,
    step_of_packed,
    unpack_checkpoint,
    unpack_geometry,
)
from plisse.runs.writing import writing
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

TOP = ("scene.json", "run.json", "report.json", "report.html", "preview.png", "levels.png", "geometry.npz", "start.npz")
OF_LEVEL = ("state.npz", "steps.jsonl", "mesh.npz", "picture.png", "frame-*.npy", "velocity-*.npy")


@dataclass(frozen=True)
class RunSpec:
    """How a run was started and how it stands: what run.json holds.

    first: the level that it began with; open: names of the contact lengths that its scene leaves open; base: folder
    that the scene's mesh files are looked up from; resumed: how often it was; wall_s: seconds of all commands on it.
    begin: the step at which a motion begins, None where that is the scene's own start; source: the frame of another run
    that it begins with, if any, as "RUN:12".
    """

    version: str
    status: str
    threads: int
    first: int
    open: tuple[str, ...]
    base: str = ""
    resumed: int = 0
    wall_s: float = 0.0
    begin: int | None = None
    source: str = ""


@dataclass(frozen=True, eq=False)
class RunStore:
    """A run folder. Frames hold all vertices of a level: the shells' first, then the mesh colliders'."""

    folder: Path

    @classmethod
    def create(
        cls,
        folder: Path,
        scene: dict[str, Any],
        geometry: Geometry,
        spec: RunSpec,
        *,
        fill: Callable[[RunStore], None] | None = None,
    ) -> RunStore:
        """A fresh run folder; what an earlier run left there is removed, other files are not touched.

        fill: writes what the run begins with besides its scene.
        """
        store = cls(folder)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        store._clear()
        store._save("geometry.npz", **pack_geometry(geometry))
        store.write_spec(spec)
        if fill is not None:
            fill(store)
        store.write_json("scene.json", scene)
        return store

    def _clear(self) -> None:
        """Removes all files of the run, and of the frames and windows of it that were refined."""
        # the scene goes first and comes last: without it there is no run
        self.remove(*TOP, *(f"level-*/{name}" for name in OF_LEVEL))
        self.tidy()
        for pattern in ("frame-[0-9]*", "frames-[0-9]*", "segments/level-*"):
            for part in self.folder.glob(pattern):
                RunStore(part).dissolve()
        for part in (*self.folder.glob("level-*"), self.folder / "segments"):
            with suppress(OSError):
                part.rmdir()  # if nothing of the user's is in it

    def dissolve(self) -> None:
        """Removes the run, if there is one, and its folder, if nothing of the user's is in it."""
        if self.exists:
            self._clear()
            self.remove(".lock")
        with suppress(OSError):
            self.folder.rmdir()

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        if not cls(folder).exists:
            raise SceneError(f"{folder} is not a run: create one with `plisse run SCENE --out {folder}`.")
        return cls(folder)

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run."""
        # a name that is too long for the system is an error of Path.is_file
        return all(os.path.isfile(self.folder / name) for name in ("geometry.npz", "scene.json"))

    def remove(self, *patterns: str) -> None:
        """Removes the run's files of these names."""
        with writing(self.folder):
            for pattern in patterns:
                for old in self.folder.glob(pattern):
                    old.unlink()

    def renew(self, scene: dict[str, Any], geometry: Geometry) -> None:
        """Takes a changed scene; what the levels hold of the earlier one is removed."""
        self.remove(*(f"level-*/{name}" for name in OF_LEVEL))
        self._save("geometry.npz", **pack_geometry(geometry))
        self.write_json("scene.json", scene)

    def tidy(self) -> None:
        """Removes what a command that was killed left unfinished."""
        for name in (*TOP, *(f"level-*/{name}" for name in OF_LEVEL)):
            self.remove(_partial(name))

    def read_geometry(self) -> Geometry:
        """The surfaces of level 0, as they were when the run began."""
        stored = self._load("geometry.npz")
        try:
            return unpack_geometry(stored)
        except (KeyError, TypeError, ValueError, SceneError):
            raise self._strange("geometry.npz") from None

    def write_start(self, state: State) -> None:
        """The state that a motion begins with."""
        self._save("start.npz", x=state.x, v=state.v)

    def read_start(self) -> tuple[Floats, Floats] | None:
        """Positions [m] and velocities [m/s] (n, 3) that a motion begins with, None where the scene says it."""
        if not (self.folder / "start.npz").is_file():
            return None
        stored = self._load("start.npz")
        if {"x", "v"} - stored.keys() or stored["x"].shape != stored["v"].shape:
            raise self._strange("start.npz")
        return frozen(stored["x"]), stored["v"]

    # --- one level --------------------------------------------------------------------------------------------------

    def begin_level(self, level: int, triangles: Ints, body: Ints, shells: int, *, uv: Floats | None = None) -> None:
        """Says what the level's frames are of; its earlier state, steps and frames are removed.

        uv: texture coordinates of the triangles' corners, (m, 3, 2), NaN where there are none.
        """
        self.remove(*(f"level-{level}/{name}" for name in OF_LEVEL))
        with writing(self.folder):
            (self.folder / f"level-{level}").mkdir(exist_ok=True)
        texture = {} if uv is None else {"uv": uv}
        self._save(f"level-{level}/mesh.npz", triangles=triangles, body=body, shells=np.array(shells), **texture)

    def levels(self) -> list[int]:
        """The levels that have a state, coarse to fine."""
        names = (path.parent.name.removeprefix("level-") for path in self.folder.glob("level-*/state.npz"))
        return sorted(int(name) for name in names if name.isdigit())

    def write_checkpoint(self, at: Checkpoint) -> None:
        """The level's last complete step, from which the run can be resumed."""
        self._save(f"level-{at.state.level}/state.npz", **pack_checkpoint(at))

    def read_checkpoint(self, level: int) -> Checkpoint | None:
        """The level's last complete step, None where it has none."""
        name = f"level-{level}/state.npz"
        if not (self.folder / name).is_file():
            return None
        arrays = self._load(name)
        try:
            return unpack_checkpoint(arrays)
        except (KeyError, TypeError, ValueError):
            raise self._strange(name) from None

    def reached(self, level: int) -> int | None:
        """Number of the level's last complete step, None where it has none; it may be at work at this moment."""
        try:
            with np.load(self.folder / f"level-{level}" / "state.npz") as stored:
                return step_of_packed(stored)
        except FileNotFoundError:
            return None

    def rewind(self, level: int, step: int, frames: int) -> None:
        """Drops what the level holds beyond a step and a number of frames."""
        path = self.folder / f"level-{level}" / "steps.jsonl"
        kept = self.read_steps(level, step)
        text = "".join(_line(entry) for entry in kept)
        if path.is_file() and path.read_bytes() != text.encode():
            self._write(f"level-{level}/steps.jsonl", text.encode())
        with writing(self.folder):
            for name in ("frame", "velocity"):
                for number in self.frames(level, name):
                    if number > frames:
                        (self.folder / self.frame_name(level, number, name)).unlink()

    def append_step(self, level: int, entry: dict[str, Any]) -> None:
        """Adds a line to the level's log of steps."""
        line = _line(entry).encode()
        with writing(self.folder), (self.folder / f"level-{level}" / "steps.jsonl").open("ab", buffering=0) as file:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def read_steps(self, level: int, last: int) -> list[dict[str, Any]]:
        """The level's log of steps up to the last complete one."""
        path, out = self.folder / f"level-{level}" / "steps.jsonl", []
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    break
                if not isinstance(entry, dict) or entry.get("step", last + 1) > last:
                    break
                out.append(entry)
        return out

    @staticmethod
    def frame_name(level: int, number: int, what: str = "frame") -> str:
        return f"level-{level}/{what}-{number:04d}.npy"

    def frames(self, level: int, what: str = "frame") -> list[int]:
        """Numbers of the level's frames, or of the velocities kept with them, in order."""
        stems = (path.stem.removeprefix(f"{what}-") for path in self.folder.glob(f"level-{level}/{what}-*.npy"))
        return sorted(int(stem) for stem in stems if stem.isdecimal() and len(stem) >= 4)

    def has_frame(self, level: int, number: int, n: int) -> bool:
        """Whether the frame is there and whole, with n vertices; its numbers are not looked at."""
        try:
            return np.lib.format.open_memmap(self.folder / self.frame_name(level, number), mode="r").shape == (n, 3)
        except (OSError, ValueError, EOFError):
            return False

    def write_frame(self, level: int, number: int, x: Floats, *, v: Floats | None = None) -> None:
        """Positions (n, 3) [m] and, where they mean something, velocities (n, 3) [m/s] of one frame."""
        for what, values in (("velocity", v), ("frame", x)):
            if values is not None:
                buffer = io.BytesIO()
                np.save(buffer, values)
                self._write(self.frame_name(level, number, what), buffer.getbuffer())

    def read_frame(self, level: int, number: int, what: str = "frame") -> Floats:
        """Positions (n, 3) [m] of one frame, or velocities (n, 3) [m/s]."""
        return read_frame(self.folder / self.frame_name(level, number, what))

    def read_state(self, level: int, step: int, h: float) -> State:
        """The state of a motion's level after a step of h [s], where every step has a frame."""
        x, v = (self.read_frame(level, step, what) for what in ("frame", "velocity"))
        return State(level, step, step * h, frozen(x), v)

    def time_of(self, level: int, number: int) -> float:
        """Time [s] of a frame of a level, which must be there."""
        known, at = self.frames(level), self.read_checkpoint(level)
        if at is None or not known:
            raise SceneError(f"{self.folder} has no states of level {level} yet: run that level first.")
        if number not in known:
            raise SceneError(
                f"{self.folder} has no frame {number} of level {level}: choose from {known[0]} to {known[-1]}, and "
                "give time.frame_every to have more of them."
            )
        for entry in self.read_steps(level, at.state.step):
            if entry["frame"] == number:
                return float(entry["time"])
        if number > known[0]:
            return at.state.time
        begin = self.read_spec().begin
        return 0.0 if begin is None else begin * self.read_scene().time.step

    # --- files ------------------------------------------------------------------------------------------------------

    def read_spec(self) -> RunSpec:
        """How the run was started and how it stands."""
        data = self.read_json("run.json")
        try:
            return RunSpec(**{**data, "open": tuple(data["open"])})
        except (KeyError, TypeError):
            raise self._strange("run.json") from None

    def write_spec(self, spec: RunSpec) -> None:
        self.write_json("run.json", asdict(spec))

    def read_report(self) -> Report:
        """The report as it was last written."""
        try:
            return Report.from_json(self.read_json("report.json"))
        except SceneError as error:
            raise self._strange("report.json", f" ({str(error).removesuffix('.')})") from None

    def read_json(self, name: str) -> dict[str, Any]:
        try:
            data = json.loads((self.folder / name).read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError("it holds no table")
            return data
        except (OSError, ValueError, RecursionError) as error:
            raise SceneError(f"{self.folder / name} cannot be read ({error}): run the scene again.") from None

    def read_scene(self) -> Scene:
        """The scene as it is run."""
        try:
            return scene_from_dict(self.read_json("scene.json"), self.folder)
        except SceneError as error:
            raise self._strange("scene.json", f" ({str(error).removesuffix('.')})") from None

    def _strange(self, name: str, reason: str = "") -> SceneError:
        """For a file that can be read and makes no sense."""
        return SceneError(
            f"{self.folder / name} is damaged, or another version of plisse wrote it{reason}: run the scene again."
        )

    def write_json(self, name: str, data: dict[str, Any]) -> None:
        self._write(name, (json.dumps(data, indent=2) + "\n").encode())

    def copy(self, name: str, to: str) -> None:
        """One of the run's files under another name."""
        with writing(self.folder):
            data = (self.folder / name).read_bytes()
        self._write(to, data)

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """A path to write to, which becomes the file of that name if all goes well."""
        partial = self.folder / _partial(name)
        with writing(self.folder):
            try:
                yield partial
                os.replace(partial, self.folder / name)
            except BaseException:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
                raise

    def _write(self, name: str, data: bytes | memoryview) -> None:
        with self.replacing(name) as partial:
            partial.write_bytes(data)

    def _save(self, name: str, **arrays: Any) -> None:
        # in memory first: numpy's writer of archives does not take it well when a disk is full
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        self._write(name, buffer.getbuffer())

    def _load(self, name: str) -> dict[str, Any]:
        try:
            with np.load(self.folder / name) as stored:
                return dict(stored)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise SceneError(f"{self.folder / name} cannot be read ({error}): run the scene again.") from None


def _partial(name: str) -> str:
    """What a file is called before it is whole; writers of pictures go by the ending."""
    stem, _, ending = name.rpartition(".")
    return f"{stem}.part.{ending}"


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, default=as_plain) + "\n"
