"""Windows of a motion that are refined, motions that are made longer, and those that begin with a frame of another."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.runs.test_resume import contents, differences, make_scene, no_pictures, run, said, take_snapshots

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


@pytest.mark.parametrize("motion", MOTIONS)
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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--frames", "9:6"], "--frames 9:6 is no window of"),
        (["--frames", "4:99"], "which has frames 0 to 12 of level 0: choose two of them"),
        (["--frames", "4:8", "--set", "contact.friction=0"], "--frames refines frames as they are: leave out --set"),
        (["--set", "contact.friction=0"], "use `plisse run SCENE --from"),
        (["--levels", "4"], "start another run with --set hierarchy.levels=4"),
        (["--frame", "4"], "with --frames 4:"),
    ],
)
def test_what_cannot_be_refined_is_one_sentence(
    preview: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    capsys.readouterr()
    assert refine(preview, *words) == 2
    assert says in said(capsys)


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


# --- longer ---------------------------------------------------------------------------------------------------------

SMALL = ["--set", "shell.vertices=25", "--set", "hierarchy.levels=2"]
BDF2 = ["--set", "hierarchy.levels=1", "--set", "time.integrator=bdf2", "--set", "time.frame_every=5"]


@pytest.mark.parametrize("words", [SMALL, BDF2], ids=["levels", "bdf2"])
def test_a_motion_that_is_made_longer_is_as_if_it_had_been_so_from_the_start(tmp_path: Path, words: list[str]) -> None:
    scene, whole, out = scene_of(tmp_path), tmp_path / "whole", tmp_path / "out"
    assert run(scene, whole, *words) == 0
    for duration in ("0.1", "0.16"):
        assert run(scene, out, *words, "--resume", "--set", f"time.duration={duration}") == 0
    assert RunStore(out).read_report().levels[-1].steps == 8
    assert run(scene, out, *words, "--resume") == 0
    assert differences(contents(out), contents(whole)) == []


def test_a_motion_cannot_become_shorter_than_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = scene_of(tmp_path), tmp_path / "out"
    assert run(scene, out, *SMALL, "--preview-only", "--set", "time.duration=0.1") == 0
    before = contents(out)
    capsys.readouterr()
    assert run(scene, out, *SMALL, "--resume", "--set", "time.duration=0.06") == 2
    assert "has come to 0.1 s already, beyond time.duration = 0.06 s: a run can only be made longer" in said(capsys)
    assert run(scene, out, *SMALL, "--resume", "--set", "time.h=0.01") == 2
    assert "time.h was 0.02 and is now 0.01" in said(capsys)
    assert contents(out) == before


def test_contact_stays_as_firm_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = make_scene(tmp_path, FALL.replace("stiffness = 2e4", "friction = 0.2")), tmp_path / "out"
    words = ["--set", "shell.vertices=16", "--set", "hierarchy.levels=1"]
    assert run(scene, out, *words, "--set", "time.duration=0.04") == 0
    stiffness = RunStore(out).read_scene().contact.stiffness
    capsys.readouterr()
    assert run(scene, out, *words, "--set", "time.duration=0.08", "--resume") == 0
    assert "note: contact.stiffness stays" in capsys.readouterr().err
    assert RunStore(out).read_scene().contact.stiffness == stiffness


# --- from a frame ---------------------------------------------------------------------------------------------------


def test_a_motion_begins_with_a_frame_of_another(
    preview: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out, store = scene_of(tmp_path), tmp_path / "out", RunStore(preview)
    words = ["--from", f"{preview}:7", "--set", "gravity=[0,0,9.81]", "--set", "hierarchy.levels=2"]
    assert run(scene, out, *words) == 0
    begun = RunStore(out)
    assert begun.frames(0) == begun.frames(1) == [7, 8, 9, 10, 11, 12]
    for what in ("frame", "velocity"):
        assert np.array_equal(begun.read_frame(0, 7, what), store.read_frame(0, 7, what))
    # time goes on, and with it what is keyframed
    assert open_recording(out, 0).times == pytest.approx([0.02 * k for k in range(7, 13)])
    session = open_session(out)
    bodies = session.ladder.problem(0).bodies
    assert np.allclose(bodies.part(begun.read_frame(0, 12), 1), bodies.part(store.read_frame(0, 12), 1), atol=1e-4)
    # it falls upwards now
    fallen, risen = (
        bodies.simulated_part(each.read_frame(0, 12) - each.read_frame(0, 7))[:, 2].mean() for each in (store, begun)
    )
    assert risen > fallen + 0.03
    P = session.ladder.hierarchy.between(0, 1)
    assert np.allclose(begun.read_frame(1, 7), P(store.read_frame(0, 7)), atol=5e-3)
    assert [level.intersections for level in begun.read_report().levels] == [0, 0]
    capsys.readouterr()
    # resumed with or without the word, but not with another
    assert run(scene, out, *words[2:], "--resume") == 0
    assert run(scene, out, *words, "--resume") == 0
    assert capsys.readouterr().err.count("is already done") == 2
    assert run(scene, out, *words[2:], "--from", f"{preview}:6", "--resume") == 2
    assert f"--from was {preview}:7 and is now {preview}:6" in said(capsys)


def test_the_same_scene_goes_on_as_it_did(preview: Path, tmp_path: Path) -> None:
    """With what the solver remembers lost, to its tolerance."""
    out = tmp_path / "out"
    assert run(scene_of(tmp_path), out, "--from", f"{preview}:4", "--preview-only") == 0
    theirs = RunStore(preview).read_frame(0, 8)
    assert np.abs(RunStore(out).read_frame(0, 8) - theirs).max() < 2e-3


def test_a_motion_from_a_frame_that_was_killed_ends_where_it_would_have_ended(
    preview: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, out = scene_of(tmp_path), tmp_path / "out"
    words = ["--set", "contact.friction=0.6", "--set", "hierarchy.levels=2"]
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, lambda count: count in (5, 12, 30), out, tmp_path)
        assert run(scene, out, *words, "--from", f"{preview}:8") == 0
    expected = contents(out)
    assert len(copies) == 3
    for copy in copies:
        assert run(scene, copy, *words, "--resume") == 0
        assert differences(contents(copy), expected) == [], copy.name


def test_bodies_come_and_go_and_steps_may_be_shorter(preview: Path, tmp_path: Path) -> None:
    text = (
        FALL.replace("h = 0.02", "h = 0.01")
        .replace("levels = 3", "levels = 1")
        .replace("duration = 0.24", "duration = 0.2")
    )
    post = '[[collider]]\nname = "post"\nshape = "box"\nsize = [0.1, 0.1, 0.1]\ntranslate = [1, 0, 0]\n'
    post += "motion = [{ time = 0.2, translate = [0, 0, 1] }]\n"
    scene = make_scene(tmp_path, text.replace("[wind]", post + "[wind]"))
    assert run(scene, tmp_path / "out", "--from", f"{preview}:8") == 0
    store = RunStore(tmp_path / "out")
    assert store.frames(0) == [16, 17, 18, 19, 20]
    bodies = open_session(tmp_path / "out").ladder.problem(0).bodies
    height = [bodies.part(store.read_frame(0, number), 2)[:, 2].mean() for number in (16, 20)]
    assert height == pytest.approx([0.8, 1.0])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "{run}:99"], "has no frame 99 of level 0: it has 0 to 12"),
        (["--from", "{run}"], "names no frame: give a run and the number of a frame"),
        (["--from", "{run}/nothing:3"], "is not a run"),
        (["--from", "{run}:12"], "time.duration = 0.24 s, which counts from 0 s, is not beyond that"),
        (["--from", "{run}:7", "--set", "time.h=0.03"], "is at 0.14 s, not a whole number of steps of time.h = 0.03 s"),
        (["--from", "{run}:7", "--set", "shell.vertices=60"], "shells keep their meshes"),
        (["--from", "{run}:7", "--set", "shell.name=sheet"], "has the shells cloth, but the scene has sheet"),
        (["--from", "{run}:7", "--set", "time.mode=static"], "--from begins a motion"),
        (["--from", "{run}:11", "--set", "contact.offset=0.01"], "closer than contact.offset = 0.01 m"),
        (
            ["--from", "{run}:11", "--set", "collider.0={shape='sphere', radius=0.13, translate=[0,0,0]}"],
            "intersections",
        ),
        (["--from", "{run}:11", "--set", "shell.material.strain_limit=1.00001"], "beyond the strain limit"),
    ],
)
def test_a_start_that_does_not_fit_is_one_sentence(
    preview: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    scene, out = scene_of(tmp_path), tmp_path / "out"
    capsys.readouterr()
    assert run(scene, out, *(word.replace("{run}", str(preview)) for word in words)) == 2
    assert says in said(capsys)
    assert not out.exists()


def test_a_static_run_is_pointed_to_its_own_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = scene_of(tmp_path)
    words = ["--set", "shell.vertices=16", "--set", "hierarchy.levels=1"]
    still = ["--set", "time.mode=static", "--set", "time.max_steps=1", "--set", "wind.velocity=[0,0,0]"]
    assert run(scene, tmp_path / "still", *words, *still) == 1
    capsys.readouterr()
    assert run(scene, tmp_path / "out", *words, "--from", f"{tmp_path / 'still'}:0") == 2
    assert "is no motion; a [[shell]] can start at rest from it" in said(capsys)


def test_a_run_that_is_replaced_takes_its_windows_with_it(tmp_path: Path) -> None:
    sets = ["--set", "shell.vertices=16", "--set", "time.duration=0.06", "--set", "hierarchy.levels=2"]
    scene, out = scene_of(tmp_path), tmp_path / "out"
    assert run(scene, out, "--preview-only", *sets) == 0
    assert refine(out, "--frames", "1:3") == 0 and (out / "frames-0001-0003").exists()
    assert run(scene, out, "--preview-only", "--overwrite", *sets) == 0
    assert not (out / "frames-0001-0003").exists()
    assert json.loads((out / "run.json").read_text())["begin"] is None
