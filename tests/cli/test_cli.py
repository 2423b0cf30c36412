"""The command line as a user meets it: a first scene, its report, export, and mistakes."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reading import read_mesh

from plisse.cli import main
from plisse.core.interruptions import holding_interruptions
from plisse.core.state import State

FIVE_LINES = """[[shell]]
shape = "grid"
material = "cotton"
[[collider]]
shape = "sphere"
"""

# two squares that share a place but not their vertices
SEAM = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 1 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nf 1 2 3 4\nf 5 6 7 8\n"

REPORT = {"version", "scene", "threads", "seed", "wall_s", "levels"}
LEVEL = {
    "level", "vertices", "triangles", "steps", "newton_iterations", "wall_s", "converged", "residual",
    "force_balance", "energy", "intersections", "min_distance_over_offset", "max_stretch_over_limit", "time_split",
}  # fmt: skip


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "first.toml"
    path.write_text(FIVE_LINES, encoding="utf-8")
    (tmp_path / "seam.obj").write_text(SEAM)
    return path


def run(scene: Path, out: Path, *sets: str) -> int:
    arguments = ["run", str(scene), "--out", str(out), "--threads", "1"]
    return main([*arguments, *(word for text in sets for word in ("--set", text))])


def test_the_five_line_scene_reaches_equilibrium_and_reports(scene: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(scene, out, "shell.vertices=196") == 0
    report = json.loads((out / "report.json").read_text())
    assert set(report) >= REPORT
    level = report["levels"][0]
    assert set(level) >= LEVEL
    assert set(level["time_split"]) == {"elastic", "contact", "ccd", "linear", "other"}
    assert level["converged"] and level["intersections"] == 0 and level["force_balance"] < 0.02
    assert level["residual"] <= 0.01
    assert level["min_distance_over_offset"] > 1.0 and level["max_stretch_over_limit"] is None
    assert level["states_checked"] >= level["newton_iterations"] // 10 + 1
    assert level["symbolic_factorisations"] < level["numeric_factorisations"]
    assert (out / "preview.png").read_bytes()[:4] == b"\x89PNG"


def test_a_scene_of_two_levels_leaves_both_behind(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run(scene, out, "shell.vertices=64", "hierarchy.levels=2", "collider.subdivisions=2") == 0
    report = json.loads((out / "report.json").read_text())
    coarse, fine = report["levels"]
    assert report["method"] == "progressive" and [coarse["level"], fine["level"]] == [0, 1]
    assert fine["triangles"] == 4 * coarse["triangles"]
    assert set(coarse["metrics"]) == set(fine["metrics"]) and coarse["metrics"]["position_error_to_finest"] > 0.0
    for level in (coarse, fine):
        assert set(level) >= LEVEL and level["converged"] and level["intersections"] == 0
        assert all(len(values) == level["steps"] for values in level["history"].values())
        folder = out / f"level-{level['level']}"
        assert (folder / "picture.png").read_bytes()[:4] == b"\x89PNG" and (folder / "state.npz").exists()
        frames = [np.load(path) for path in sorted(folder.glob("frame-*.npy"))]
        assert len(frames) == 2 and all(len(frame) > level["vertices"] for frame in frames)
    assert (out / "preview.png").read_bytes() == (out / "level-1" / "picture.png").read_bytes()
    assert (out / "levels.png").read_bytes()[:4] == b"\x89PNG"
    said = capsys.readouterr().out
    assert f"of the size) after {coarse['steps']} + {fine['steps']} steps" in said and "levels.png" in said
    assert "in equilibrium (" in said and " mm from rest, " in said
    assert main(["export", str(out), "--format", "ply", "--out", str(tmp_path / "ply")]) == 0
    assert len(read_mesh(tmp_path / "ply" / "frame-0001.ply")[0]) == fine["vertices"]


def test_export_writes_shells_in_order_and_colliders(scene: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sets = ["shell.vertices=196", "time.mode=dynamic", "time.duration=0.06", "contact.enabled=true"]
    assert run(scene, out, *sets) == 0
    assert main(["export", str(out), "--format", "ply", "--out", str(tmp_path / "ply")]) == 0
    frames = sorted((tmp_path / "ply").glob("*.ply"))
    assert [frame.name for frame in frames] == [f"frame-{i:04d}.ply" for i in range(4)]
    X, triangles = read_mesh(frames[-1])
    x = np.load(out / "level-0" / "frame-0003.npy")
    assert len(X) == 196 and np.array_equal(X, x[:196]) and triangles.max() == 195
    ball, _ = read_mesh(tmp_path / "ply" / "colliders" / "frame-0003.ply")
    assert np.array_equal(ball, x[196:])


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["shell.material=coton"], "cotton"),
        (["shell.material.nu=0.7"], "nu"),
        (["shell.material.thickness=-1"], "thickness"),
        (["contakt.friction=1"], "contact"),
        (['shell=[{file="missing.obj"}]'], "missing.obj"),
        (["collider.translate=[0,0,-0.1]", "collider.radius=0.25"], "move the bodies apart"),
        (['shell=[{file="seam.obj"}]'], "merge vertices"),
        (["collider.translate=[0,0,-0.2501]", "collider.radius=0.25"], "closer than"),
        (['shell.pin=[{box=[[5,5,5],[6,6,6]]}]'], "selects no vertex"),
        (["shell.pressure={value=10}"], "pressure"),
        (['collider=[{shape="floor", height=0.5}]'], "half-space"),
    ],
)  # fmt: skip
def test_an_impossible_scene_is_one_sentence_and_exit_2(
    scene: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    sets: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(scene, tmp_path / "run", *sets) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "\n" not in error and "Traceback" not in error
    assert not (tmp_path / "run").exists()


def test_a_mesh_that_is_not_manifold_is_refused(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n")
    assert run(scene, tmp_path / "run", 'shell=[{file="book.obj"}]') == 2
    assert "book.obj" in capsys.readouterr().err


def test_interruption_keeps_what_is_done(scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import plisse.progressive.session

    settle = plisse.progressive.session.march

    def interrupted(*arguments: Any, **options: Any) -> Iterator[State]:
        for number, state in enumerate(settle(*arguments, **options)):
            if number == 3:
                raise KeyboardInterrupt
            yield state

    monkeypatch.setattr(plisse.progressive.session, "march", interrupted)
    assert run(scene, tmp_path / "run", "shell.vertices=100") == 130
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["levels"][0]["newton_iterations"] == 3
    assert (tmp_path / "run" / "preview.png").exists()


def test_interruption_while_a_picture_is_drawn_keeps_the_level(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import plisse.runs.album

    draw, calls = plisse.runs.album.render, []

    def interrupted(*arguments: Any, **options: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        draw(*arguments, **options)

    monkeypatch.setattr(plisse.runs.album, "render", interrupted)
    out = tmp_path / "run"
    assert run(scene, out, "shell.vertices=100") == 130
    level = json.loads((out / "report.json").read_text())["levels"][0]
    assert level["converged"] and (out / "level-0" / "state.npz").is_file()
    # the picture that was given up is made up for
    assert (out / "level-0" / "picture.png").is_file() and (out / "preview.png").is_file()
    assert main(["refine", str(out), "--threads", "1"]) == 0


def test_export_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "run.usdc")]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_keyframes_that_cannot_be_met_are_no_equilibrium(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = (
        "shell.pin=[{box=[[-0.5,-0.5,0],[-0.5,0.5,0]]},"
        "{box=[[0.5,-0.5,0],[0.5,0.5,0]], motion=[{time=0.5, translate=[0.3,0,0]}]}]"
    )
    sets = ["shell.vertices=100", pins, "shell.material.strain_limit=1.05", "time.max_steps=12", "gravity=[0,0,0]"]
    assert run(scene, tmp_path / "run", *sets) == 1
    assert "held scripted vertices back" in capsys.readouterr().err
    level = json.loads((tmp_path / "run" / "report.json").read_text())["levels"][0]
    assert not level["converged"] and 0.2 < level["missed_keyframes"] < 0.3
    assert 0.98 < level["max_stretch_over_limit"] < 1.0


def test_steps_that_miss_the_tolerance_are_told(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = ["shell.vertices=100", "time.mode=dynamic", "time.duration=0.2", "solver.max_iterations=1"]
    assert run(scene, tmp_path / "run", *sets) == 0
    assert "did not meet solver.tol" in capsys.readouterr().err


def test_a_shell_that_nothing_holds_is_told(scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scene, tmp_path / "run", "shell.vertices=25", "collider=[]") == 2
    assert "Nothing can hold the shells up" in capsys.readouterr().err
    # what is beside its collider is only seen when it falls
    assert run(scene, tmp_path / "run", "shell.vertices=25", "collider.translate=[9,0,0]", "time.max_steps=5") == 1
    assert "nothing holds" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_written_is_refused(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(scene, tmp_path / "file" / "run") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_interruption_waits_until_an_import_is_complete() -> None:
    # a thread that was there before may be handed the signal, so that holding it back in the first one is not enough
    done = threading.Event()
    bystander = threading.Thread(target=done.wait)
    bystander.start()
    complete = False
    try:
        with pytest.raises(KeyboardInterrupt):
            with holding_interruptions():
                signal.pthread_kill(bystander.ident or 0, signal.SIGINT)
                time.sleep(0.05)
                complete = True
            pytest.fail("the interruption was lost")
    finally:
        done.set()
        bystander.join()
    assert complete
