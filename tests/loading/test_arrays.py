"""Scenes from a program: tables with numpy's values, and meshes from arrays instead of files."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.loading.geometry import load_geometry
from plisse.runs.store import RunStore
from plisse.shapes.catalogue import grid, sphere

SHEET = grid(0.3, 0.3, resolution=5)


def tables(mesh: Any = SHEET, **more: Any) -> dict[str, Any]:
    """A sheet above a ball, both from arrays."""
    return {
        "name": "sheet",
        "shell": [{"name": "cloth", "mesh": mesh, "material": "cotton", "translate": np.array([0.0, 0.0, 0.12])}],
        "collider": [{"name": "ball", "mesh": sphere(0.1, subdivisions=2)}],
        **more,
    }


def test_a_mesh_in_place_of_a_file_is_the_file_s(tmp_path: Path) -> None:
    from plisse.meshes.ply import write_ply

    write_ply(tmp_path / "sheet.ply", SHEET.X, SHEET.triangles)
    given = tables()
    named = tables()
    del named["shell"][0]["mesh"]
    named["shell"][0]["file"] = tmp_path / "sheet.ply"
    ours, theirs = (load_geometry(plisse.load(table), ".") for table in (given, named))
    assert np.array_equal(ours.shells[0].X, theirs.shells[0].X)
    assert np.array_equal(ours.shells[0].triangles, theirs.shells[0].triangles)
    assert np.array_equal(ours.shell_positions[0], theirs.shell_positions[0])
    assert given["shell"][0]["mesh"] is SHEET  # what the user gave is left as it is


def test_values_may_be_numpy_s_and_overridden() -> None:
    table = tables(gravity=np.array([0, 0, -9.81]), time={"max_steps": np.int64(7), "h": np.float32(0.5)})
    table["shell"][0]["scale"] = np.float64(2.0)
    scene = plisse.load(table, ["contact.friction=0.7", "shell.name=towel"])
    assert scene.time.max_steps == 7 and scene.time.h == 0.5 and scene.shells[0].scale == (2.0, 2.0, 2.0)
    assert scene.contact.friction == 0.7 and scene.shells[0].name == "towel"
    assert table["shell"][0]["name"] == "cloth"
    json.dumps(plisse.scene_to_dict(scene))


def test_pins_count_the_rows_of_the_array_and_drop_loose_vertices() -> None:
    X = np.concatenate([[[9.0, 9.0, 9.0]], SHEET.X])
    scene = plisse.load(tables(Mesh(X, SHEET.triangles + 1)), ["shell.pin=[{vertices=[1, 4]}]"])
    geometry = load_geometry(scene, ".")
    assert geometry.pins[0][0].tolist() == [0, 3] and len(geometry.shells[0].X) == len(SHEET.X)
    assert geometry.notes == ("cloth: its mesh has a vertex that no face uses, which was dropped.",)


@pytest.mark.parametrize(
    ("X", "triangles", "words"),
    [
        (SHEET.X[:, :2], SHEET.triangles, ["X", "(n, 3)", "(36, 2)"]),
        (SHEET.X.ravel(), SHEET.triangles, ["X", "(n, 3)", "(108,)"]),
        (SHEET.X, SHEET.triangles[:, :2], ["triangles", "(n, 3)", "(50, 2)"]),
        (SHEET.X, SHEET.triangles.astype(float), ["triangles", "whole numbers", "float64"]),
        ([["a", "b", "c"]], SHEET.triangles, ["X", "numbers"]),
        (SHEET.X * np.nan, SHEET.triangles, ["cloth: its mesh", "not finite"]),
        (SHEET.X, SHEET.triangles + 7, ["cloth: its mesh", "0 to 35"]),
        (SHEET.X, SHEET.triangles - 1, ["cloth: its mesh", "0 to 35"]),
        (SHEET.X[:0], SHEET.triangles[:0], ["cloth: its mesh", "no faces"]),
        (SHEET.X, np.concatenate([SHEET.triangles, SHEET.triangles[:1]]), ["cloth: its mesh", "same triangle twice"]),
        (SHEET.X, SHEET.triangles[:, (0, 0, 1)], ["cloth: its mesh", "corner twice", "arrays"]),
        (1e12 * SHEET.X, SHEET.triangles, ["cloth: its mesh", "beyond 1e+09 m"]),
    ],
)
def test_arrays_that_are_no_mesh(X: Any, triangles: Any, words: list[str]) -> None:
    with pytest.raises(SceneError) as caught:
        load_geometry(plisse.load(tables(Mesh(X, triangles))), ".")
    said = str(caught.value)
    assert all(word in said for word in words) and "\n" not in said and said.endswith("."), said


@pytest.mark.parametrize("value", [3, "sheet.obj", [[0, 0, 0]], {"X": []}, (SHEET.X, SHEET.triangles)])
def test_what_is_no_mesh(value: Any) -> None:
    with pytest.raises(SceneError, match=r"shell\.0: mesh must be a Mesh, .*name a file or a shape"):
        plisse.load(tables(value))


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"file": "a.obj"}, "exactly one"),
        ({"shape": "grid"}, "exactly one"),
        ({"unit": "cm"}, "has no unit"),
        ({"up": "y"}, "has no up"),
        ({"object": "a"}, "has no object"),
        ({"radius": 3}, "unknown key 'radius'"),
    ],
)
def test_what_a_given_mesh_has_not(more: dict[str, Any], word: str) -> None:
    table = tables()
    table["shell"][0] |= more
    with pytest.raises(SceneError, match=word):
        plisse.load(table)


@pytest.mark.parametrize("more", [{"shape": "floor"}, {"half_space": {}}])
def test_a_half_space_has_no_mesh(more: dict[str, Any]) -> None:
    table = tables()
    table["collider"][0] |= more
    with pytest.raises(SceneError, match=r"collider\.0: .*\"mesh\": remove it"):
        plisse.load(table)


def test_a_scene_says_which_mesh_it_was_and_survives_pickling() -> None:
    scene = plisse.load(tables())
    table = json.loads(json.dumps(plisse.scene_to_dict(scene)))
    assert table["shell"][0]["mesh"].startswith("36 vertices, 50 triangles, sha256 ")
    back = plisse.scene_from_dict(table)
    assert back == scene
    other = plisse.load(tables(Mesh(SHEET.X + np.array([0, 0, 1e-9]), SHEET.triangles)))
    assert other != scene
    with pytest.raises(SceneError, match=r"cloth: its mesh .* given by a program"):
        load_geometry(back, ".")
    again = load_geometry(pickle.loads(pickle.dumps(scene)), ".")
    assert np.array_equal(again.shells[0].X, load_geometry(scene, ".").shells[0].X)


def test_arrays_that_are_changed_later_do_not_change_the_scene() -> None:
    X = SHEET.X.copy()
    scene = plisse.load(tables(Mesh(X, SHEET.triangles)))
    X[:] = np.nan
    assert np.array_equal(load_geometry(scene, ".").shells[0].X, SHEET.X)


def test_a_run_of_arrays_is_resumed_refined_and_exported(tmp_path: Path) -> None:
    # all names as plain text, as a user writes them
    out, base = str(tmp_path / "run"), str(tmp_path)
    scene = plisse.load(tables(hierarchy={"levels": 2}))
    report = plisse.run_scene(scene, base, out, threads=1, to_level=0)
    assert [level.level for level in report.levels] == [0] and report.levels[0].converged
    moved = plisse.load(tables(Mesh(SHEET.X + np.array([0, 0, 1e-6]), SHEET.triangles), hierarchy={"levels": 2}))
    with pytest.raises(SceneError, match=r"shell\.0\.mesh was '36 vertices"):
        plisse.run_scene(moved, base, out, threads=1, resume=True)
    report = plisse.run_scene(plisse.load(tables(hierarchy={"levels": 2})), base, out, threads=1, resume=True)
    assert [level.level for level in report.levels] == [0, 1]
    report = plisse.refine_run(out, threads=1, tol=0.005)
    assert report.levels[1].converged and plisse.read_report(out) == report
    assert RunStore(tmp_path / "run").read_scene().shells[0].mesh.mesh is not None
    recording = plisse.open_recording(out)
    assert recording.level == 1 and recording.bodies[0].name == "cloth"
    summary = plisse.export_run(out, str(tmp_path / "sheet.ply"))
    assert summary.bytes > 0
