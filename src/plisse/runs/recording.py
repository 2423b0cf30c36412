"""The frames of a run, one at a time: what exports and videos read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.loading.frames import FrameMesh, read_frame, read_frame_mesh
from plisse.pictures.smooth import SmoothView
from plisse.pictures.stage import COLLIDER_COLOR, Part, Plane, Stage, set_stage
from plisse.runs.store import RunStore
from plisse.scene.scene import Scene

STILLS = 24.0  # frames a second of a static run, whose own time means nothing
PLANE = 2.0  # half a side of the square that stands for a half-space, in diagonals of the shells' box


@dataclass(frozen=True, eq=False)
class RecordedBody(Part):
    """One surface of a recording; its rows are those of a frame (none for a half-space).

    material: its name, none for colliders; constants: the material's numbers, in SI units. uv: texture coordinates of
    the triangles' corners, shape (m, 3, 2), None where it has none.
    """

    material: str | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    uv: Floats | None = None


@dataclass(frozen=True, eq=False)
class RecordedPlane(RecordedBody):
    """A half-space as a square with these corners [m], shape (4, 3)."""

    plane: Plane = field(kw_only=True)
    corners: Floats = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Recording:
    """A run's frames on one level; none is kept in memory.

    name: the scene's. bodies: shells, then mesh colliders; planes: half-spaces, which frames do not hold.
    numbers: of the frames in the folder; times: when each is shown [s], shape (k,); simulated: the time that it is of
    [s], shape (k,); rate: frames per second. smooth: the view that is shown instead of the level itself, if there is
    one.
    """

    folder: Path
    name: str
    level: int
    static: bool
    bodies: tuple[RecordedBody, ...]
    planes: tuple[RecordedPlane, ...]
    numbers: tuple[int, ...]
    times: Floats
    simulated: Floats
    rate: float
    smooth: SmoothView[RecordedBody] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def stage(self) -> Stage:
        """What pictures and films show of it."""
        return Stage(self.bodies, tuple(square.plane for square in self.planes))

    @property
    def vertices(self) -> int:
        """Vertices of a frame as it is shown."""
        return self.bodies[-1].last

    def smoothed(self) -> Recording:
        """The same frames in a smooth view."""
        view = SmoothView(self.bodies)
        return replace(self, bodies=view.parts, smooth=view)

    def positions(self, number: int) -> Floats:
        """All vertices of the frame with that number as they are shown, shape (n, 3) [m]."""
        x = self.read_frame(number)
        return x if self.smooth is None else self.smooth(x)

    def read_frame(self, number: int) -> Floats:
        """All vertices of the frame with that number as they were simulated, shape (n, 3) [m]."""
        bodies = self.bodies if self.smooth is None else self.smooth.coarse
        path = self.folder / RunStore.frame_name(self.level, number)
        # a level's last frame is also in its checkpoint
        again = "--resume to have it written again" if number == self.numbers[-1] else "--overwrite"
        x = read_frame(path, vertices=bodies[-1].last, remedy=f"run the scene with {again}")
        if not np.isfinite(x).all():
            spoilt = next(body.name for body in bodies if not np.isfinite(x[body.first : body.last]).all())
            raise SceneError(
                f'Frame {number} of level {self.level} ({path}) has positions of "{spoilt}" that are not finite '
                "numbers: run the scene with --overwrite, or choose another frame with --frame."
            )
        return x

    def places(self, index: int, bodies: Sequence[RecordedBody]) -> Iterator[Floats]:
        """Positions [m] of each of the given bodies or planes in the index-th frame, shape (n, 3) each."""
        x = self.positions(self.numbers[index])
        for body in bodies:
            if isinstance(body, RecordedPlane):
                yield body.corners
            else:
                yield x[body.first : body.last]

    def between(self, first: int | None, last: int | None) -> Recording:
        """The recording from one frame, or the first, to another, or the last, both included."""
        first, last = self.numbers[0] if first is None else first, self.numbers[-1] if last is None else last
        chosen = [k for k, number in enumerate(self.numbers) if first <= number <= last]
        if not chosen:
            raise SceneError(
                f"There are no frames {first} to {last}: level {self.level} of {self.folder} has frames "
                f"{self.numbers[0]} to {self.numbers[-1]}."
            )
        numbers = tuple(self.numbers[k] for k in chosen)
        return replace(self, numbers=numbers, times=self.times[chosen], simulated=self.simulated[chosen])

    def only(self, number: int) -> Recording:
        """The recording of one frame alone, at time 0; −1 is the last."""
        number = self.numbers[-1] if number == -1 else number
        if number not in self.numbers:
            raise SceneError(
                f"There is no frame {number}: level {self.level} of {self.folder} has frames "
                f"{self.numbers[0]} to {self.numbers[-1]}."
            )
        simulated = self.simulated[[self.numbers.index(number)]]
        return replace(self, numbers=(number,), times=np.zeros(1), simulated=simulated)


def open_recording(folder: str | Path, level: int | None = None) -> Recording:
    """The recording in a run folder: of one level, by default of the finest that has frames."""
    folder = Path(folder)
    store = RunStore.open(folder)
    frames = find_levels(folder)
    if level is not None and level not in frames:
        raise SceneError(f"There are no frames of level {level} in {folder}: it has {_list(frames)}.")
    level = max(frames) if level is None else level
    scene = store.read_scene()
    static = scene.time.mode == "static"
    period = scene.time.step * (scene.time.frame_every or 1)
    begin = (store.read_spec().begin or 0) * scene.time.step
    times = _find_times(folder / f"level-{level}", frames[level], period, begin)
    mesh = read_frame_mesh(folder / f"level-{level}" / "mesh.npz")
    stage = set_stage(scene, _part_meshes(mesh, scene, folder / f"level-{level}" / "mesh.npz"))
    bodies = _name_materials(scene, stage.parts, mesh)
    recording = Recording(
        folder,
        scene.name,
        level,
        static,
        bodies,
        (),
        frames[level],
        np.arange(len(times)) / STILLS if static else times,
        times,
        STILLS if static else 1.0 / period,
    )
    return replace(recording, planes=_cut_squares(stage.planes, recording))


def find_levels(folder: Path) -> dict[int, tuple[int, ...]]:
    """The levels of a run that have frames, coarse to fine, and their frames' numbers."""
    store = RunStore(folder)
    present = sorted(int(path.name[6:]) for path in folder.glob("level-*") if path.name[6:].isdecimal())
    frames = {level: tuple(numbers) for level in present if (numbers := store.frames(level))}
    if not frames:
        raise SceneError(f"The run {folder} has no frames yet: run the scene first.")
    return frames


def _list(levels: Mapping[int, Any]) -> str:
    return "level " + ", ".join(str(level) for level in levels)


def _find_times(folder: Path, numbers: Sequence[int], period: float, begin: float) -> Floats:
    """Times of frames [s] from the log of steps; of a frame that it does not name, by the frames' period.

    begin: time of the first frame [s]. The last frame may lie off the period, where a run ended or was stopped: then it
    is of the last step.
    """
    known, last = {numbers[0]: begin}, begin
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


def _part_meshes(mesh: FrameMesh, scene: Scene, path: Path) -> list[Mesh]:
    """The connectivity of each body."""
    bodies = len(scene.shells) + sum(collider.half_space is None for collider in scene.colliders)
    if not np.array_equal(np.unique(mesh.body), np.arange(bodies)) or mesh.shells != len(scene.shells):
        raise SceneError(
            f"{path} cannot be read (its vertices do not belong to {len(scene.shells)} shells and "
            f"{bodies - len(scene.shells)} colliders in order): run the scene again."
        )
    rows = [mesh.rows(number) for number in range(bodies)]
    return [
        Mesh(np.zeros((last - first, 3)), mesh.triangles[mesh.of_body(number)] - first)
        for number, (first, last) in enumerate(rows)
    ]


def _name_materials(scene: Scene, parts: Sequence[Part], mesh: FrameMesh) -> tuple[RecordedBody, ...]:
    out = []
    for number, part in enumerate(parts):
        name, constants = None, {}
        if part.is_shell:
            material = scene.shells[number].material
            values = {entry.name: getattr(material, entry.name) for entry in fields(material)}
            constants = {key: float(value) for key, value in values.items() if type(value) in (int, float)}
            name = material.name
        uv = None if mesh.uv is None else mesh.uv[mesh.of_body(number)]
        # faces without coordinates in a body that has some lie at one point of its texture
        uv = None if uv is None or np.isnan(uv).all() else np.nan_to_num(uv)
        out.append(RecordedBody(**vars(part), material=name, constants=constants, uv=uv))
    return tuple(out)


def _cut_squares(planes: Sequence[Plane], recording: Recording) -> tuple[RecordedPlane, ...]:
    if not planes:
        return ()
    # all that is known of the size without reading every frame is the first one
    shells = [body for body in recording.bodies if body.is_shell]
    x = np.concatenate(list(recording.places(0, shells)))
    low, high = x.min(axis=0), x.max(axis=0)
    reach, triangles = PLANE * float(np.linalg.norm(high - low)), np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    return tuple(
        RecordedPlane(
            plane.name, False, COLLIDER_COLOR, False, triangles, 0, 0,
            plane=plane, corners=plane.square(0.5 * (low + high), reach),
        )
        for plane in planes
    )  # fmt: skip
