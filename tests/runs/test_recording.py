"""A run's frames, read one at a time with their names, materials and times."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import concatenate
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.runs.recording import Recording, open_recording
from plisse.runs.store import RunSpec, RunStore

SCENE: dict[str, Any] = {
    "name": "two sheets",
    "shell": [
        {"shape": "grid", "vertices": 36, "name": "lower", "material": "cotton"},
        {"shape": "grid", "vertices": 16, "name": "upper", "material": "wool", "translate": [0, 0, 0.3]},
    ],
    "collider": [
        {"shape": "floor", "name": "ground", "height": -1.0},
        {"shape": "box", "name": "block", "size": [0.3, 0.2, 0.1], "translate": [0, 0, -0.5]},
        {"shape": "sphere", "name": "ball", "radius": 0.1, "subdivisions": 1, "translate": [0, 0, -0.2]},
    ],
    "time": {"mode": "dynamic", "h": 0.02, "frame_every": 2},
}


def record(folder: Path, *, frames: int = 5, level: int = 0, **changes: Any) -> tuple[Path, list[Floats]]:
    """A run folder whose shells wave, whose ball rises from the third frame on and whose block rests."""
    scene = scene_from_dict(SCENE | changes, Path())
    geometry = load_geometry(scene, Path())
    store = RunStore.create(folder, scene_to_dict(scene), geometry, RunSpec("0.0.0", "running", 1, 0, ()))
    meshes = [*geometry.shells, *geometry.solids]
    starts = np.cumsum([0, *(len(mesh.X) for mesh in meshes)])
    body = np.repeat(np.arange(len(meshes)), np.diff(starts)).astype(np.int32)
    mesh, _ = concatenate(meshes)
    store.begin_level(level, mesh.triangles, body, len(geometry.shells), uv=mesh.uv)
    start = np.concatenate([*geometry.shell_positions, *(mesh.X for mesh in geometry.solids)])
    positions, waving = [], body < len(geometry.shells)
    for number in range(frames):
        x = start.copy()
        x[waving, 2] += 0.1 * np.sin(9.0 * start[waving, 0] + 2.0 * start[waving, 1] + 0.7 * number)
        x[body == len(meshes) - 1, 2] += 0.01 * max(0, number - 2)
        store.write_frame(level, number, x)
        positions.append(x)
    return folder, positions


def log(folder: Path, times: list[float], frames: list[int | None], *, tail: str = "") -> None:
    entries = zip(range(1, len(times) + 1), times, frames, strict=True)
    lines = [json.dumps({"step": step, "time": time, "frame": frame}) for step, time, frame in entries]
    (folder / "level-0" / "steps.jsonl").write_text("\n".join(lines) + "\n" + tail, encoding="utf-8")


def test_bodies_have_names_materials_and_their_own_triangles(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run")
    recording = open_recording(folder)
    assert (recording.name, recording.level, recording.static, len(recording)) == ("two sheets", 0, False, 5)
    assert [body.name for body in recording.bodies] == ["lower", "upper", "block", "ball"]
    assert [body.is_shell for body in recording.bodies] == [True, True, False, False]
    assert [body.material for body in recording.bodies] == ["cotton", "wool", None, None]
    assert recording.bodies[0].constants["thickness"] == pytest.approx(0.318e-3)
    assert recording.vertices == len(positions[0])
    geometry = load_geometry(scene_from_dict(SCENE, Path()), Path())
    for body, mesh in zip(recording.bodies, [*geometry.shells, *geometry.solids], strict=True):
        assert np.array_equal(body.triangles, mesh.triangles) and body.triangles.dtype == np.int32
        assert body.last - body.first == len(mesh.X)


def test_positions_are_those_of_the_frame(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run")
    recording = open_recording(folder)
    for number, x in enumerate(positions):
        assert np.array_equal(recording.positions(number), x)
        parts = list(recording.places(number, recording.bodies))
        assert np.array_equal(np.concatenate(parts), x)


def test_times_without_a_log_follow_the_scene(tmp_path: Path) -> None:
    recording = open_recording(record(tmp_path / "run")[0])
    assert recording.rate == pytest.approx(25.0)
    assert recording.times == pytest.approx([0.0, 0.04, 0.08, 0.12, 0.16])


def test_times_are_those_of_the_log_up_to_a_torn_line(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run", frames=4)
    log(folder, [0.02, 0.04, 0.06, 0.08, 0.1], [None, 1, None, 2, None], tail='{"step": 6, "ti')
    # the last frame is not in the log: a run that ends off its frames writes one more, of its last step
    assert open_recording(folder).times == pytest.approx([0.0, 0.04, 0.08, 0.1])


def test_frames_of_a_static_run_are_a_film_of_stills(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run", frames=3, time={"mode": "static"})
    log(folder, [0.3, 0.6], [1, 2])
    recording = open_recording(folder)
    assert recording.static and recording.rate == 24.0
    assert recording.times == pytest.approx([0, 1 / 24, 2 / 24])


def test_more_than_ten_thousand_frames_keep_their_order(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run", frames=1)
    for number in (9999, 10000, 10001):
        RunStore.open(folder).write_frame(0, number, positions[0] + number)
    recording = open_recording(folder)
    assert recording.numbers == (0, 9999, 10000, 10001) and np.all(np.diff(recording.times) > 0)


def test_the_finest_level_with_frames_is_taken(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run", level=1)
    (folder / "level-2").mkdir()
    assert open_recording(folder).level == 1
    with pytest.raises(SceneError, match=r"no frames of level 0 .*: it has level 1"):
        open_recording(folder, 0)


def test_one_frame_alone(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run")
    recording = open_recording(folder)
    for number, expected in ((3, 3), (-1, 4)):
        one = recording.only(number)
        assert len(one) == 1 and one.times.tolist() == [0.0]
        assert np.array_equal(np.concatenate(list(one.places(0, one.bodies))), positions[expected])
    with pytest.raises(SceneError, match=r"There is no frame 7: .* frames 0 to 4\."):
        recording.only(7)


def test_a_half_space_is_a_square(tmp_path: Path) -> None:
    tilted = {"half_space": {"point": [0, 0, -1], "normal": [0.6, 0, 0.8]}, "name": "slope"}
    folder, _ = record(tmp_path / "run", collider=[tilted])
    recording = open_recording(folder)
    (slope,) = recording.planes
    (corners,) = recording.places(0, [slope])
    normal = np.array([0.6, 0.0, 0.8])
    assert corners @ normal == pytest.approx(np.full(4, -0.8), abs=1e-12)
    a, b, c = corners[slope.triangles[0]]
    assert np.cross(b - a, c - a) @ normal > 0
    assert np.linalg.norm(b - a) > 4.0  # larger than the sheets


def broken(recording: Recording, name: str) -> Path:
    path = recording.folder / "level-0" / name
    path.write_bytes(path.read_bytes()[:50])
    return path


def test_what_is_broken_or_missing_is_one_sentence(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run")
    recording = open_recording(folder)
    broken(recording, "frame-0002.npy")
    with pytest.raises(SceneError, match=r"frame-0002\.npy cannot be read"):
        recording.positions(2)
    broken(recording, "mesh.npz")
    with pytest.raises(SceneError, match=r"mesh\.npz cannot be read"):
        open_recording(folder)
    RunStore.open(folder).remove("level-0/frame-*.npy")
    with pytest.raises(SceneError, match="has no frames yet"):
        open_recording(folder)
    with pytest.raises(SceneError, match="is not a run"):
        open_recording(tmp_path / "nowhere")


def test_a_frame_of_another_size_is_refused(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run")
    RunStore.open(folder).write_frame(0, 1, positions[1][:-1])
    with pytest.raises(SceneError, match="holds an array of"):
        open_recording(folder).positions(1)
