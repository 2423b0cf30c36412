"""Motions that are made longer, and those that begin with a frame of another run."""

from pathlib import Path

import numpy as np
import pytest
from tests.runs.test_resume import contents, differences, make_scene, no_pictures, run, said, take_snapshots
from tests.runs.test_windows import FALL, SMALL, preview, scene_of

from plisse.runs.opening import open_session
from plisse.runs.recording import open_recording
from plisse.runs.store import RunStore

__all__ = ["no_pictures", "preview"]

# --- longer ---------------------------------------------------------------------------------------------------------

BDF2 = ["--set", "hierarchy.levels=1", "--set", "time.integrator=bdf2", "--set", "time.frame_every=5"]


@pytest.mark.parametrize("words", [SMALL, BDF2, ["--from", "5"]], ids=["levels", "bdf2", "from a frame"])
def test_a_motion_that_is_made_longer_is_as_if_it_had_been_so_from_the_start(
    preview: Path, tmp_path: Path, words: list[str]
) -> None:
    scene, whole, out = scene_of(tmp_path), tmp_path / "whole", tmp_path / "out"
    if "--from" in words:
        words = ["--from", f"{preview}:{words[1]}", "--to-level", "1"]
    assert run(scene, whole, *words) == 0
    for duration in ("0.12", "0.16"):
        assert run(scene, out, *words, "--resume", "--set", f"time.duration={duration}") == 0
    last = RunStore(out).read_report().levels[-1]
    assert last.begin + last.steps == 8
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
    preview: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    says: str,
) -> None:
    scene, out = scene_of(tmp_path), tmp_path / "out"
    # a mesh that shows intersections is left where the command is given
    monkeypatch.chdir(tmp_path)
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
