"""A command reads each mesh once, and a source that did not change is the same object again."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse.meshes.surfaces as surfaces
import plisse.pictures.render
from plisse.cli import main
from plisse.core.mesh import Mesh
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene
from plisse.meshes.memo import Memo
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene
from plisse.shapes.catalogue import box, grid

SCENE = """
gravity = [0, 0, 0]
[[shell]]
name = "cloth"
file = "cloth.obj"
scale = 0.5
rest_on = "block"
[[shell]]
name = "scarf"
shape = "grid"
vertices = 30
translate = [0, 0, 2]
[[collider]]
name = "block"
file = "block.ply"
rotate = [0, 0, 30]
[[collider]]
name = "stick"
sequence = "stick"
scale = [1, 1, 2]
"""


def settle(path: Path, ns: int = 10**18) -> None:
    """Makes a file older than its clock's tick."""
    os.utime(path, ns=(ns, ns))


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    cloth, block = grid(resolution=4), box(0.3, resolution=2)
    write_obj(tmp_path / "cloth.obj", cloth.X, cloth.triangles)
    write_ply(tmp_path / "block.ply", block.X, block.triangles)
    (tmp_path / "stick").mkdir()
    for k in range(3):
        write_ply(tmp_path / "stick" / f"{k}.ply", block.X + np.array([2.0, 0.0, 0.1 * k]), block.triangles)
    for path in tmp_path.rglob("*.*"):
        settle(path)
    (tmp_path / "scene.toml").write_text(SCENE, encoding="utf-8")
    return tmp_path / "scene.toml"


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of a small run would be its pictures."""
    monkeypatch.setattr(plisse.pictures.render, "draw", lambda *_, size, **__: np.zeros((*size[::-1], 3), np.uint8))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is parsed and each shape made, with an empty memory."""
    found: Counter[str] = Counter()

    def count(name: str, function: Any) -> Any:
        def counted(*given: Any, **options: Any) -> Any:
            found[name or given[0].name] += 1
            return function(*given, **options)

        return counted

    monkeypatch.setattr(surfaces, "_surfaces", Memo(10**6, lambda surface: len(surface.mesh.X)))
    for suffix, reader in surfaces.READERS.items():
        monkeypatch.setitem(surfaces.READERS, suffix, count("", reader))
    monkeypatch.setattr(surfaces, "make_shape", count("shape", surfaces.make_shape))
    return found


ONCE = {"cloth.obj": 1, "block.ply": 1, "0.ply": 1, "1.ply": 1, "2.ply": 1, "shape": 1}


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("command", [["check"], ["run", "--out", "run", "--quiet", "--set", "time.max_steps=1"]])
def test_a_command_reads_every_file_once(
    command: list[str], scene: Path, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scene.parent)
    assert main([command[0], scene.name, *command[1:]]) in (0, 1)
    assert reads == ONCE


def bodies(scene: Scene, base: Path) -> list[Any]:
    geometry = load_geometry(scene, base)
    return [*geometry.shells, *geometry.colliders, geometry.tracks[1]]


def test_what_did_not_change_is_the_same_object(scene: Path) -> None:
    asked = load_scene(scene)
    first, again = bodies(asked, scene.parent), bodies(load_scene(scene), scene.parent)
    assert all(a is b for a, b in zip(first, again, strict=True))
    # a collider that is moved is another mesh, and everything else stays
    block, stick = asked.colliders
    moved = bodies(replace(asked, colliders=(replace(block, translate=(0.0, 0.0, -1.0)), stick)), scene.parent)
    assert [a is b for a, b in zip(first, moved, strict=True)] == [True, True, False, True, True]
    # another scale, another seed
    cloth, scarf = asked.shells
    scaled = bodies(replace(asked, shells=(replace(cloth, scale=(2.0, 2.0, 2.0)), scarf), seed=3), scene.parent)
    assert [a is b for a, b in zip(first, scaled, strict=True)] == [False, False, True, True, True]
    np.testing.assert_array_equal(scaled[0].X, 4.0 * first[0].X)


def test_a_changed_ladder_keeps_its_meshes(scene: Path) -> None:
    asked = load_scene(scene)
    session = open_session(asked, scene.parent)
    ours = session.ladder.given
    session.change(replace(asked, gravity=(0.0, 0.0, -5.0)))
    theirs = session.ladder.given
    assert all(a is b for a, b in zip((*ours.shells, *ours.solids), (*theirs.shells, *theirs.solids), strict=True))


def test_a_changed_file_is_read_again(scene: Path) -> None:
    before = bodies(load_scene(scene), scene.parent)
    path, block = scene.parent / "block.ply", box(0.3, resolution=2)
    # of the same size in bytes, and as young as a file can be
    write_ply(path, 1.25 * block.X, block.triangles)
    now = bodies(load_scene(scene), scene.parent)
    np.testing.assert_allclose(np.ptp(now[2].X[:, 2]), 1.25 * np.ptp(before[2].X[:, 2]))
    write_ply(path, 1.5 * block.X, block.triangles)
    now = bodies(load_scene(scene), scene.parent)
    np.testing.assert_allclose(np.ptp(now[2].X[:, 2]), 1.5 * np.ptp(before[2].X[:, 2]))
    # one frame of a sequence, later
    last = scene.parent / "stick" / "2.ply"
    write_ply(last, block.X + np.array([2.0, 0.0, 0.5]), block.triangles)
    settle(last, 10**18 + 10**9)
    later = bodies(load_scene(scene), scene.parent)
    assert later[4] is not before[4] and later[4].positions[2, :, 2].max() > 0.5 + before[4].positions[2, :, 2].max()


@pytest.mark.usefixtures("no_pictures")
def test_a_run_does_not_write_into_shared_meshes(scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scene.parent)
    shared = [body for body in bodies(load_scene(scene), scene.parent) if isinstance(body, Mesh)]
    kept = [(mesh.X.copy(), mesh.triangles.copy()) for mesh in shared]
    settings = ["--set", "time.max_steps=2", "--set", "hierarchy.levels=2"]
    assert main(["run", scene.name, "--out", "run", "--quiet", *settings]) in (0, 1)
    for mesh, (X, triangles) in zip(shared, kept, strict=True):
        assert np.array_equal(mesh.X, X) and np.array_equal(mesh.triangles, triangles)


def test_a_memo_forgets_what_was_used_longest_ago() -> None:
    memo: Memo[list[int]] = Memo(10, len)
    made = [memo.get(key, lambda: [0] * 4) for key in "ab"]
    assert memo.get("a", list) is made[0]
    memo.get("c", lambda: [0] * 4)
    assert memo.get("a", list) is made[0] and memo.get("b", list) is not made[1]
    # what is larger than the room is kept as long as nothing follows
    large = memo.get("d", lambda: [0] * 99)
    assert memo.get("d", list) is large and memo.get("a", list) is not made[0]
    assert memo.get(None, list) is not memo.get(None, list)
