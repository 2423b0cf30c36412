"""The frames of a run, one at a time: what exports and videos read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints
from plisse.runs.store import RunStore
from plisse.loading.scene_file import scene_from_dict
from plisse.scene.colliders import Collider, move_half_space
from plisse.scene.scene import Scene

STILLS = 24.0  # frames a second of a static run, whose own time means nothing
PLANE = 2.0  # half a side of the square that stands for a half-space, in diagonals of the shells' box


@dataclass(frozen=True, eq=False)
class RecordedBody:
    """One surface of a recording.

    framed: whether pictures must include it, as they do shells and colliders from sequences.
    material: its name, none for colliders; constants: the material's numbers, in SI units. triangles: shape (m, 3),
    numbered from the body's own first vertex. first, last: its rows in a frame (none for a half-space).
    """

    name: str
    is_shell: bool
    material: str | None
    triangles: Ints
    first: int
    last: int
    constants: Mapping[str, float] = field(default_factory=dict)
    framed: bool = True


@dataclass(frozen=True, eq=False)
class RecordedPlane(RecordedBody):
    """A half-space as a square: where it is at time 0 around `middle` [m] (3,), with sides of 2 `reach` [m]."""

    collider: Collider = field(kw_only=True)
    middle: Floats = field(kw_only=True)
    reach: float = field(kw_only=True)

    def corners(self) -> Floats:
        """Positions, shape (4, 3) [m], counter-clockwise as seen from outside."""
        point, normal = move_half_space(self.collider, 0.0)
        helper = np.array([0.0, 1.0, 0.0]) if abs(normal[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
        first = np.cross(helper, normal)
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        middle = self.middle - (normal @ (self.middle - point)) * normal
        ways = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        return np.ascontiguousarray(middle + self.reach * (ways @ np.stack([first, second])))


@dataclass(frozen=True, eq=False)
class Recording:
    """A run's frames on one level; none is kept in memory.

    name: the scene's. bodies: shells, then mesh colliders; planes: half-spaces, which frames do not hold.
    numbers: of the frames in the folder; times: theirs [s], shape (k,); rate: frames per second.
    """

    folder: Path
    name: str
    level: int
    static: bool
    bodies: tuple[RecordedBody, ...]
    planes: tuple[RecordedPlane, ...]
    numbers: tuple[int, ...]
    times: Floats
    rate: float

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def vertices(self) -> int:
        """Vertices of a frame."""
        return self.bodies[-1].last

    def positions(self, number: int) -> Floats:
        """All vertices of the frame with that number, shape (n, 3) [m]."""
        path = self.folder / f"level-{self.level}" / f"frame-{number:04d}.npy"
        try:
            x = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise SceneError(
                f"The frame {path} cannot be read ({error}): resume the run to write it again."
            ) from None
        if x.shape != (self.vertices, 3):
            raise SceneError(
                f"The frame {path} holds an array of {x.shape}, not {(self.vertices, 3)}: run the scene again."
            )
        return np.ascontiguousarray(x, dtype=np.float64)

    def places(self, index: int, bodies: Sequence[RecordedBody]) -> Iterator[Floats]:
        """Positions [m] of each of the given bodies or planes in the index-th frame, shape (n, 3) each."""
        x = self.positions(self.numbers[index])
        for body in bodies:
            if isinstance(body, RecordedPlane):
                yield body.corners()
            else:
                yield x[body.first : body.last]

    def only(self, number: int) -> Recording:
        """The recording of one frame alone, at time 0; −1 is the last."""
        number = self.numbers[-1] if number == -1 else number
        if number not in self.numbers:
            raise SceneError(
                f"There is no frame {number}: level {self.level} of {self.folder} has frames "
                f"{self.numbers[0]} to {self.numbers[-1]}."
            )
        return replace(self, numbers=(number,), times=np.zeros(1))


def open_recording(folder: Path, level: int | None = None) -> Recording:
    """The recording in a run folder: of one level, by default of the finest that has frames."""
    store = RunStore.open(folder)
    present = {int(path.name[6:]): path for path in folder.glob("level-*") if path.name[6:].isdigit()}
    frames = {k: numbers for k, path in sorted(present.items()) if (numbers := _find_frames(path))}
    if not frames:
        raise SceneError(f"The run {folder} has no frames yet: run the scene first.")
    if level is not None and level not in frames:
        raise SceneError(f"There are no frames of level {level} in {folder}: it has {_list(frames)}.")
    level = max(frames) if level is None else level
    scene = scene_from_dict(store.read_json("scene.json"), folder)
    static = scene.time.mode == "static"
    period = scene.time.step * (scene.time.frame_every or 1)
    times = _find_times(folder / f"level-{level}", frames[level], period)
    bodies = _find_bodies(folder / f"level-{level}" / "mesh.npz", scene)
    recording = Recording(
        folder,
        scene.name,
        level,
        static,
        bodies,
        (),
        frames[level],
        np.arange(len(times)) / STILLS if static else times,
        STILLS if static else 1.0 / period,
    )
    return replace(recording, planes=_find_planes(scene, recording))


def _find_frames(folder: Path) -> tuple[int, ...]:
    names = (re.fullmatch(r"frame-(\d{4,})\.npy", path.name) for path in folder.iterdir())
    return tuple(sorted(int(name[1]) for name in names if name))


def _list(levels: Mapping[int, Any]) -> str:
    return "level " + ", ".join(str(level) for level in levels)


def _find_times(folder: Path, numbers: Sequence[int], period: float) -> Floats:
    """Times of frames [s] from the log of steps; of a frame that it does not name, by the frames' period.

    The last frame may lie off the period, where a run ended or was stopped: then it is of the last step.
    """
    known, last = {0: 0.0}, 0.0
    for entry in _read_steps(folder / "steps.jsonl"):
        last = float(entry["time"])
        if entry.get("frame") is not None:
            known[int(entry["frame"])] = last
    final = max(known)
    times = [known.get(number, known[final] + period * (number - final)) for number in numbers]
    if numbers[-1] not in known and last > known[final]:
        times[-1] = last
    return np.array(times, dtype=np.float64)


def _read_steps(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log of steps; one that is torn ends it."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                return
            if not isinstance(entry, dict) or "time" not in entry:
                return
            yield entry


def _find_bodies(path: Path, scene: Scene) -> tuple[RecordedBody, ...]:
    try:
        with np.load(path) as stored:
            triangles, body, shells = stored["triangles"], stored["body"], int(stored["shells"])
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise SceneError(f"{path} cannot be read ({error}): run the scene again.") from None
    solids = [collider for collider in scene.colliders if collider.half_space is None]
    of_triangle, out = body[triangles[:, 0]], []
    names = [shell.name for shell in scene.shells] + [solid.name for solid in solids]
    for number, name in enumerate(names):
        first, last = (int(k) for k in np.searchsorted(body, (number, number + 1)))
        own = np.ascontiguousarray(triangles[of_triangle == number] - first, dtype=np.int32)
        material = scene.shells[number].material if number < shells else None
        constants: dict[str, float] = {}
        if material is not None:
            values = {entry.name: getattr(material, entry.name) for entry in fields(material)}
            constants = {key: float(value) for key, value in values.items() if type(value) in (int, float)}
        word = None if material is None else material.name
        source = solids[number - shells].mesh if number >= shells else None
        framed = number < shells or (source is not None and source.sequence is not None)
        out.append(RecordedBody(name, number < shells, word, own, first, last, constants, framed))
    return tuple(out)


def _find_planes(scene: Scene, recording: Recording) -> tuple[RecordedPlane, ...]:
    floors = [collider for collider in scene.colliders if collider.half_space is not None]
    if not floors:
        return ()
    # all that is known of the size without reading every frame is the first one
    shells = [body for body in recording.bodies if body.is_shell]
    x = np.concatenate(list(recording.places(0, shells)))
    low, high = x.min(axis=0), x.max(axis=0)
    reach, square = PLANE * float(np.linalg.norm(high - low)), np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    return tuple(
        RecordedPlane(c.name, False, None, square, 0, 0, collider=c, middle=0.5 * (low + high), reach=reach)
        for c in floors
    )
