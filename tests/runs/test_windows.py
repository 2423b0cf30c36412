"""Windows of a motion that are refined, and what is shown of some of its frames."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.test_resume import contents, differences, make_scene, no_pictures, run, said, take_snapshots

import plisse.progressive.session
from plisse.cli import main
from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.export import export_run
from plisse.runs.opening import open_session
from plisse.runs.recording import open_recording
from plisse.runs.store import RunStore
from plisse.scene.levels import MOTIONS

__all__ = ["no_pictures"]

# a cloth that falls on a ball that rises, in a wind that grows
FALL = """[[shell]]
name = "cloth"
shape = "grid"
width = 0.3
height = 0.3
vertices = 50
translate = [0, 0, 0.14]
velocity = [0.3, 0, -1]
material = "cotton"
[[collider]]
name = "ball"
shape = "sphere"
radius = 0.1
subdivisions = 2
translate = [0, 0, 0]
motion = [{ time = 0.0 }, { time = 0.4, translate = [0, 0, 0.05] }]
[[collider]]
name = "floor"
shape = "floor"
height = -0.12
[wind]
velocity = [{ time = 0.0, value = [0, 0, 0] }, { time = 0.4, value = [2, 0, 0] }]
[contact]
stiffness = 2e4
[time]
mode = "dynamic"
h = 0.02
duration = 0.24
[hierarchy]
levels = 3
"""


SMALL = ["--set", "shell.vertices=25", "--set", "hierarchy.levels=2"]


def scene_of(folder: Path) -> Path:
    return make_scene(folder, FALL)


@pytest.fixture(scope="module")
def preview(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A motion on level 0."""
    folder = tmp_path_factory.mktemp("windows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plisse.runs.album.render", lambda path, *_, **__: path.write_bytes(b""))
        assert run(scene_of(folder), folder / "run", "--preview-only") == 0
    return folder / "run"


def refine(folder: Path, *arguments: str) -> int:
    return main(["refine", str(folder), "--threads", "1", *arguments])


def frames_of(folder: Path, level: int) -> dict[int, Floats]:
    store = RunStore(folder)
    return {number: store.read_frame(level, number) for number in store.frames(level)}


def test_a_window_is_refined_as_a_run_of_its_own(preview: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(preview)
    assert refine(preview, "--frames", "6:9", "--to-level", "1") == 0
    out = preview / "frames-0006-0009"
    assert {name: value for name, value in contents(preview).items() if "frames-" not in name} == before
    store = RunStore(out)
    assert store.frames(0) == store.frames(1) == store.frames(1, "velocity") == [6, 7, 8, 9]
    report = store.read_report()
    assert [(level.begin, level.steps) for level in report.levels] == [(6, 3), (6, 3)]
    assert report.status == "done" and report.resumed == 0
    # its share of the preview, and of the time
    log, whole = RunStore(preview).read_steps(0, 12), RunStore(preview).read_report()
    assert report.levels[0].newton_iterations == log[8]["newton"] - log[5]["newton"]
    assert report.levels[0].wall_s == pytest.approx(log[8]["wall"] - log[5]["wall"], abs=1e-3)
    assert report.levels[0].history["energy"] == whole.levels[0].history["energy"][6:9]
    # frames have their true times, at which the ball is where its keyframes have it
    assert open_recording(out, 1).times == pytest.approx([0.12, 0.14, 0.16, 0.18])
    session = open_session(out)
    problem = session.ladder.problem(1, start=store.read_frame(1, 6))
    for number, x in frames_of(out, 1).items():
        assert Detector.of(problem).count(x) == 0
        assert problem.bodies.part(x, 1)[:, 2].max() == pytest.approx(0.1 + 0.05 * number * 0.02 / 0.4, abs=1e-4)
    # it begins where level 0 is, with its velocities
    P = session.ladder.hierarchy.between(0, 1)
    assert np.allclose(store.read_frame(1, 6), P(RunStore(preview).read_frame(0, 6)), atol=5e-3)
    assert np.allclose(store.read_frame(1, 6, "velocity"), P.velocity(store.read_frame(0, 6, "velocity")))
    assert report.levels[0].metrics is not None and report.levels[0].metrics.position_error_to_finest < 5e-3
    # asked for again, it goes on to finer levels, and then nothing is left to do
    assert refine(preview, "--frames", "6:9") == 0
    assert [level.steps for level in store.read_report().levels] == [3, 3, 3]
    capsys.readouterr()
    assert refine(out) == 0
    assert "is already done" in capsys.readouterr().err
    assert main(["report", str(out)]) == 0
    assert "3 time steps from step 6 on" in capsys.readouterr().out
    assert main(["export", str(out), "--out", str(out / "window.glb"), "--animated"]) == 0


def test_a_window_from_the_start_on_is_the_beginning_of_the_whole(preview: Path, tmp_path: Path) -> None:
    assert refine(preview, "--frames", ":5", "--to-level", "1") == 0
    whole = tmp_path / "whole"
    assert run(scene_of(tmp_path), whole, "--to-level", "1") == 0
    for level in (0, 1):
        here, there = frames_of(preview / "frames-0000-0005", level), frames_of(whole, level)
        assert list(here) == list(range(6))
        assert all(np.array_equal(x, there[number]) for number, x in here.items())
    # where finer levels are there already, a window takes them as they are
    assert refine(whole, "--frames", "6:9") == 0
    assert [level.steps for level in RunStore(whole / "frames-0006-0009").read_report().levels] == [3, 3, 3]
    here, there = frames_of(whole / "frames-0006-0009", 1), frames_of(whole, 1)
    assert all(np.array_equal(x, there[number]) for number, x in here.items())


@pytest.mark.parametrize("motion", [motion for motion in MOTIONS if motion != "vertical"])
def test_a_throw_goes_on_alike_on_all_levels_of_a_window(tmp_path: Path, motion: str) -> None:
    """Implicit Euler's own fall in every vertex, whatever the way, as if the window had begun with the throw."""
    free = ["contact.enabled=false", "shell.vertices=25", "time.duration=0.12"]
    sets = [word for text in (*free, f"hierarchy.motion={motion}") for word in ("--set", text)]
    scene = make_scene(tmp_path, FALL[: FALL.index("[wind]")] + FALL[FALL.index("[contact]") :])
    assert run(scene, tmp_path / "out", "--preview-only", *sets) == 0
    assert refine(tmp_path / "out", "--frames", "3:") == 0
    window = tmp_path / "out" / "frames-0003-0006"
    assert [level.steps for level in RunStore(window).read_report().levels] == [3, 3, 3]
    session, h = open_session(window), 0.02
    for level in range(3):
        start, frames = session.ladder.geometry(level).placed, frames_of(window, level)
        n = session.ladder.problem(level).bodies.n_simulated
        for t, x in frames.items():
            expected = h * t * np.array([0.3, 0.0, -1.0]) + 0.5 * h * h * t * (t + 1) * np.array([0.0, 0.0, -9.81])
            assert np.allclose((x - start)[:n], expected, atol=1e-9)


def test_a_window_that_was_killed_ends_where_it_would_have_ended(
    preview: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--frames", "8:11", "--to-level", "1"]
    out = preview / "frames-0008-0011"
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, lambda count: count in (22, 26, 30), out, tmp_path)
        assert refine(preview, *words) == 0
    expected = contents(out)
    assert len(copies) == 3
    for copy in copies:
        assert refine(copy, "--to-level", "1") == 0
        assert differences(contents(copy), expected) == [], copy.name


def test_an_interrupted_window_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = scene_of(tmp_path), tmp_path / "out"
    assert run(scene, out, "--preview-only", *SMALL) == 0
    march = plisse.progressive.session.march

    def interrupted(*arguments: Any) -> Iterator[Any]:
        for state in march(*arguments):
            yield state
            if state.accepted and state.step == 8:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(plisse.progressive.session, "march", interrupted)
        assert refine(out, "--frames", "6:9") == 130
    window = out / "frames-0006-0009"
    assert main(["report", str(window)]) == 0
    assert "interrupted at step 8 of level 1" in capsys.readouterr().out
    assert refine(out, "--frames", "6:9") == 0
    assert run(scene, tmp_path / "again", "--preview-only", *SMALL) == 0
    assert refine(tmp_path / "again", "--frames", "6:9") == 0
    assert differences(contents(window), contents(tmp_path / "again" / "frames-0006-0009")) == []


FLAG = """[[shell]]
shape = "grid"
width = 0.4
height = 0.3
vertices = 150
rotate = [90, 0, 0]
translate = [0, 0, 1]
material = "cotton"
[[shell.pin]]
box = [[-0.201, -0.01, 0.8], [-0.19, 0.01, 1.2]]
motion = [{ time = 0 }, { time = 0.3, translate = [0, 0.1, 0], rotate = [0, 0, 40] }]
[wind]
velocity = [4, 1, 0]
[time]
mode = "dynamic"
duration = 0.16
[hierarchy]
kind = "decimation"
levels = [40]
"""


def test_a_window_of_levels_by_decimation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = make_scene(tmp_path, FLAG), tmp_path / "out"
    assert run(scene, out, "--preview-only") == 0 and refine(out, "--frames", "4:7") == 0
    window = RunStore(out / "frames-0004-0007")
    session = open_session(window.folder)
    problem = session.ladder.problem(1, start=window.read_frame(1, 4))
    for number in range(4, 8):
        x = window.read_frame(1, number)
        assert problem.missed(x, 0.02 * number) < 1e-9 and Detector.of(problem).count(x) == 0
    # whoever lets go of it gets other levels
    capsys.readouterr()
    assert run(scene, tmp_path / "free", "--from", f"{out}:4", "--set", "shell.pin=[]") == 2
    assert "pins, regions and hierarchy.levels, which shape their levels, stay as they are" in said(capsys)
    assert run(scene, tmp_path / "calm", "--from", f"{out}:4", "--set", "wind.velocity=[0,0,0]") == 0
    assert [level.steps for level in RunStore(tmp_path / "calm").read_report().levels] == [4, 4]


def test_a_session_of_a_motion_looks_back_at_its_folder(preview: Path, tmp_path: Path) -> None:
    session = open_session(preview)
    states = [state for state in session.refine(to_level=1) if state.accepted]
    whole = tmp_path / "whole"
    assert run(scene_of(tmp_path), whole, "--to-level", "1") == 0
    assert len(states) == 12 and np.array_equal(states[-1].x, RunStore(whole).read_frame(1, 12))
    session.change(session.scene, step=9)
    assert [state.step for state in session.preview() if state.accepted] == [10, 11, 12]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--frames", "2:5", "--to-level", "0"], "has these frames up to level 0 of 0 to 2; choose a finer one"),
        (["--frames", "2:5", "--to-level", "3"], "--to-level 3"),
        (["--frames", "9:6"], "--frames 9:6 is no window of"),
        (["--frames", "4:99"], "which has frames 0 to 12 of level 0: choose two of them"),
        (["--frames", "4:8", "--set", "contact.friction=0"], "--frames refines frames as they are: leave out --set"),
        (["--set", "contact.friction=0"], "use `plisse run SCENE --from"),
        (["--levels", "4"], "start another run with --set hierarchy.levels=4"),
    ],
)
def test_what_cannot_be_refined_is_one_sentence(
    preview: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    capsys.readouterr()
    assert refine(preview, *words) == 2
    assert says in said(capsys)
    assert not (preview / "frames-0002-0005").exists()


def test_frames_are_two_numbers(preview: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("7", ":", "a:b", "-1:3"):
        with pytest.raises(SystemExit):
            refine(preview, f"--frames={text}")
        assert "must be like 10:20, 10: or :20" in capsys.readouterr().err


def test_a_window_of_the_finest_level_is_there_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "shell.vertices=16", "--set", "time.duration=0.06", "--set", "hierarchy.levels=2"]
    assert run(scene_of(tmp_path), tmp_path / "out", *sets) == 0
    capsys.readouterr()
    assert refine(tmp_path / "out", "--frames", "0:2") == 2
    assert "of its finest level already" in said(capsys)


def test_a_run_that_is_replaced_takes_its_windows_with_it(tmp_path: Path) -> None:
    sets = ["--set", "shell.vertices=16", "--set", "time.duration=0.06", "--set", "hierarchy.levels=2"]
    scene, out = scene_of(tmp_path), tmp_path / "out"
    assert run(scene, out, "--preview-only", *sets) == 0
    assert refine(out, "--frames", "1:3") == 0 and (out / "frames-0001-0003").exists()
    assert run(scene, out, "--preview-only", "--overwrite", *sets) == 0
    assert not (out / "frames-0001-0003").exists()
    assert json.loads((out / "run.json").read_text())["begin"] is None


# --- frames from one to another -------------------------------------------------------------------------------------


def test_exports_and_reports_of_some_frames(preview: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", str(preview), "--format", "ply", "--out"]
    for frames, numbers in (("4:6", [4, 5, 6]), ("10:", [10, 11, 12]), (":1", [0, 1]), ("11:99", [11, 12])):
        out = tmp_path / frames.replace(":", "-")
        assert main([*words, str(out), "--frames", frames, "--level", "0"]) == 0
        assert sorted(int(path.stem[6:]) for path in out.glob("frame-*.ply")) == numbers
        about = json.loads((out / "plisse-export.json").read_text())
        assert about["times"] == pytest.approx([0.02 * number for number in numbers])
    capsys.readouterr()
    assert main(["report", str(preview), "--frames", "4:6", "--level", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    log = RunStore(preview).read_steps(0, 6)
    assert lines[0] == "scene, level 0" and lines[1].split()[0] == "frame"
    found = [line.split()[:3] for line in lines[2:]]
    assert found == [[str(k), f"{0.02 * k:.3g}", str(log[k - 1]["newton"] - log[k - 2]["newton"])] for k in (4, 5, 6)]
    assert main(["report", str(preview), "--level", "0"]) == 0
    assert "level 0" in capsys.readouterr().out


def test_a_film_of_some_frames(preview: Path, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    small = ["--size", "64x48", "--video", "--level", "0"]
    assert main(["render", str(preview), *small, "--frames", "4:6", "--out", str(tmp_path / "a.mp4")]) == 0
    assert export_run(preview, tmp_path / "b.mp4", frames=(None, 5), size=(64, 48)).frames == 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["render", "--frames", "4:6"], "--frames applies only to video: add --video"),
        (["export", "--out", "x.obj", "--frames", "4:6", "--frame", "2"], "choose one of them"),
        (["export", "--out", "x.obj", "--frames", "40:60"], "There are no frames 40 to 60: level 0"),
        (["report", "--frames", "40:"], "level 0 of"),
        (["report", "--frames", "4:", "--html"], "choose one of them"),
        (["report", "--level", "2"], "There is no level 2 in the report: it has level 0"),
    ],
)
def test_frames_that_make_no_sense_are_one_sentence(
    preview: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    capsys.readouterr()
    assert main([words[0], str(preview), *words[1:]]) == 2
    assert says in said(capsys)
