"""A run on disk: what is written comes back, and what is broken is told."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.state import Checkpoint, Couplings, State
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.runs.recording import open_recording
from plisse.runs.store import RunSpec, RunStore
from plisse.scene.geometry import Geometry
from plisse.scene.schedule import Track

SCENE: dict[str, Any] = {
    "shell": [
        {"shape": "grid", "vertices": 20, "pin": [{"corners": True}, {"vertices": [7]}], "rotate": [0, 0, 30]},
        {"shape": "sphere", "radius": 0.1, "subdivisions": 1, "translate": [0, 0, 1]},
        {"shape": "grid", "vertices": 12, "pin": [{"boundary": True}], "translate": [0, 0, 2]},
    ],
    "collider": [
        {"shape": "floor", "height": -1.0},
        {"shape": "box", "translate": [0, 0, -0.8]},
        {"half_space": {"point": [0, 0, -1.5], "normal": [0.1, 0, 1]}},
        {"shape": "sphere", "subdivisions": 1, "translate": [3, 0, 0]},
    ],
}

SPEC = RunSpec("0.0.0", "running", 1, 0, ())


def frames(store: RunStore) -> list[Path]:
    """Frame files of all levels, in order."""
    return sorted(store.folder.glob("level-*/frame-*.npy"))


def make_store(folder: Path, data: dict[str, Any] = SCENE) -> tuple[RunStore, Geometry]:
    scene = scene_from_dict(data, Path())
    geometry = load_geometry(scene, Path())
    return RunStore.create(folder, scene_to_dict(scene), geometry, SPEC), geometry


def make_state(level: int, *, n: int = 5) -> State:
    rng = np.random.default_rng(level)
    x, v = rng.normal(size=(2, n, 3))
    return State(
        level, 12, 3.6, x, v, converged=True, residual=1e-3, newton_iteration=2, newton_iterations=14, energy=-0.2,
        force_balance=0.01, contacts=77, step_length=0.5, missed=1e-4,
    )  # fmt: skip


def make_checkpoint(level: int) -> Checkpoint:
    state = make_state(level)
    keys = np.array([3, 5, 2**40], np.int64)
    return Checkpoint(state, (2.0 * state.x, state.v), (state.x, state.v), Couplings("mark", keys), {"ended": False})


def same_mesh(a: Mesh | None, b: Mesh | None) -> bool:
    if a is None or b is None:
        return a is b
    return same(a.X, b.X) and same(a.triangles, b.triangles)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b)


GRID: dict[str, Any] = {"shape": "grid", "vertices": 9}
HEMMED: dict[str, Any] = {
    "shell": [GRID, GRID | {"region": [{"boundary": True, "E": 1e6}, {"corners": True, "E": 2e6}]}]
}


@pytest.mark.parametrize("data", [SCENE, {"shell": [GRID]}, SCENE | {"collider": SCENE["collider"][:1]}, HEMMED])
def test_a_geometry_comes_back(tmp_path: Path, data: dict[str, Any]) -> None:
    store, geometry = make_store(tmp_path / "run", data)
    found = RunStore.open(store.folder).read_geometry()
    assert all(map(same_mesh, found.shells, geometry.shells)) and len(found.shells) == len(geometry.shells)
    assert all(map(same, found.shell_positions, geometry.shell_positions))
    assert len(found.colliders) == len(geometry.colliders) and all(map(same_mesh, found.colliders, geometry.colliders))
    assert [len(pins) for pins in found.pins] == [len(pins) for pins in geometry.pins]
    for mine, theirs in zip((*found.pins, *found.regions), (*geometry.pins, *geometry.regions), strict=True):
        assert len(mine) == len(theirs) and all(map(same, mine, theirs))
    assert scene_from_dict(store.read_json("scene.json"), Path()) == scene_from_dict(data, Path())


def test_more_than_ten_bodies_come_back_in_order(tmp_path: Path) -> None:
    shells = [{"shape": "grid", "vertices": 9 + k, "translate": [0, 0, k]} for k in range(12)]
    store, geometry = make_store(tmp_path / "run", {"shell": shells})
    found = store.read_geometry()
    assert all(map(same_mesh, found.shells, geometry.shells)) and len(found.shells) == 12


def test_checkpoints_come_back_to_the_bit(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    assert store.levels() == [] and store.read_checkpoint(0) is None
    for level in (0, 1, 10):
        store.begin_level(level, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
        assert store.read_checkpoint(level) is None
        store.write_checkpoint(make_checkpoint(level))
    assert store.levels() == [0, 1, 10]
    for level in store.levels():
        found, expected = store.read_checkpoint(level), make_checkpoint(level)
        assert found is not None
        for entry in fields(State):
            mine, theirs = getattr(found.state, entry.name), getattr(expected.state, entry.name)
            assert type(mine) is type(theirs) and np.array_equal(mine, theirs), entry.name
        assert not found.state.x.flags.writeable and found.state.x.flags.c_contiguous
        for pair, other in ((found.before, expected.before), (found.near, expected.near)):
            assert pair is not None and other is not None and all(map(same, pair, other))
        assert found.couplings is not None and expected.couplings is not None
        assert found.couplings.mark == "mark" and same(found.couplings.keys, expected.couplings.keys)
        assert found.notes == {"ended": False}


def test_a_checkpoint_without_memories_comes_back(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
    state = make_state(0)
    store.write_checkpoint(Checkpoint(state, near=(state.x, np.zeros((5, 3)))))
    found = store.read_checkpoint(0)
    assert found is not None and found.before is None and found.couplings is None and found.near is not None
    assert same(found.near[0], state.x) and same(found.near[1], np.zeros((5, 3)))


def test_a_checkpoint_that_is_written_twice_is_the_same_file(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
    path, written = store.folder / "level-0" / "state.npz", []
    for _ in range(2):
        store.write_checkpoint(make_checkpoint(0))
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_a_state_of_another_version_is_one_sentence(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
    np.savez(store.folder / "level-0" / "state.npz", x=np.zeros((5, 3)), level=0)
    with pytest.raises(SceneError, match="another version"):
        store.read_checkpoint(0)


@pytest.mark.parametrize("key", ["v", "before_x", "near_x", "near_p"])
def test_arrays_of_a_state_that_do_not_fit_are_one_sentence(tmp_path: Path, key: str) -> None:
    store, _ = make_store(tmp_path / "run")
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
    store.write_checkpoint(make_checkpoint(0))
    path = store.folder / "level-0" / "state.npz"
    with np.load(path) as stored:
        arrays = {**stored}
    np.savez(path, **arrays | {key: arrays[key][:-1]})
    with pytest.raises(SceneError, match=r"level-0/state\.npz"):
        store.read_checkpoint(0)


def test_steps_are_read_up_to_the_last_complete_one(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
    for step in (1, 2, 3, 4):
        store.append_step(0, {"step": step, "energy": np.float64(0.1) * step})
        store.write_frame(0, step, np.zeros((5, 3)))
    path = store.folder / "level-0" / "steps.jsonl"
    with path.open("a") as log:
        log.write('{"step": 5, "ene')
    assert [entry["step"] for entry in store.read_steps(0, 9)] == [1, 2, 3, 4]
    store.rewind(0, 2, 1)
    assert path.read_text().count("\n") == 2 and [entry["step"] for entry in store.read_steps(0, 9)] == [1, 2]
    assert [frame.name for frame in frames(store)] == ["frame-0001.npy"]


def test_the_geometry_of_an_animated_collider_comes_back(tmp_path: Path) -> None:
    store, geometry = make_store(tmp_path / "run")
    track = Track(np.array([0.0, 0.5]), np.random.default_rng(1).normal(size=(2, 7, 3)))
    tracks = (None, track, None, None)
    store = RunStore.create(tmp_path / "run", {"name": "x"}, replace(geometry, tracks=tracks), SPEC)
    found = store.read_geometry().tracks
    assert [each is None for each in found] == [True, False, True, True] and found[1] is not None
    assert same(found[1].times, track.times) and same(found[1].positions, track.positions)


def cut(path: Path, part: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("name", ["geometry.npz", "level-0/state.npz", "level-0/mesh.npz"])
def test_a_truncated_file_is_one_sentence(tmp_path: Path, name: str, part: float) -> None:
    store, _ = make_store(tmp_path / "run")
    x: Floats = np.random.default_rng(1).normal(size=(3, 3))
    store.begin_level(0, np.array([[0, 1, 2]], np.int32), np.zeros(3, np.int32), 1)
    store.write_frame(0, 0, x)
    store.write_checkpoint(make_checkpoint(0))
    cut(store.folder / name, part)
    read = {
        "geometry.npz": store.read_geometry,
        "level-0/state.npz": lambda: store.read_checkpoint(0),
        "level-0/mesh.npz": lambda: open_recording(store.folder),
    }
    with pytest.raises(SceneError) as error:
        read[name]()
    assert name in str(error.value) and "\n" not in str(error.value) and str(error.value).endswith(".")


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_a_truncated_table_is_one_sentence(tmp_path: Path, part: float) -> None:
    store, _ = make_store(tmp_path / "run")
    cut(store.folder / "scene.json", part)
    with pytest.raises(SceneError, match=r"scene\.json cannot be read"):
        store.read_json("scene.json")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="is not a run"):
        RunStore.open(tmp_path)
    store, _ = make_store(tmp_path / "run")
    (store.folder / "geometry.npz").unlink()
    with pytest.raises(SceneError, match="is not a run"):
        RunStore.open(store.folder)


def test_a_new_run_clears_what_the_old_one_left_and_nothing_else(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    for level in (0, 1):
        store.begin_level(level, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
        store.write_frame(level, 0, np.zeros((5, 3)))
        store.write_checkpoint(make_checkpoint(level))
    (store.folder / "notes.txt").write_text("mine")
    make_store(tmp_path / "run")
    assert store.levels() == [] and frames(store) == [] and not list(store.folder.glob("level-*"))
    assert (store.folder / "notes.txt").read_text() == "mine"


def test_beginning_a_level_again_clears_its_frames_and_no_other_level_s(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "run")
    for level in (0, 1, 1):
        store.begin_level(level, np.array([[0, 1, 2]], np.int32), np.zeros(5, np.int32), 1)
        if not frames(store) or level == 1:
            store.write_frame(level, len(frames(store)), np.zeros((5, 3)))
    assert [str(path.relative_to(store.folder)) for path in frames(store)] == [
        "level-0/frame-0000.npy",
        "level-1/frame-0001.npy",
    ]
