"""Frames of a preview that are refined, each as a run of its own."""

from pathlib import Path

import numpy as np
import pytest

from plisse.cli import main
from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.loading.scene_file import load_scene
from plisse.runs.frames import refine_frame
from plisse.runs.opening import open_session
from plisse.runs.run import run_scene
from plisse.runs.store import RunStore
from plisse.scene.schedule import Keyframe, Track, stop_motion, transform_points

SCENE = """
[[shell]]
shape = "sphere"
radius = 0.1
subdivisions = 3
material = "rubber"
pressure = { value = [{ time = 0, value = 50 }, { time = 1, value = 200 }] }
[[collider]]
name = "press"
shape = "box"
size = [0.3, 0.3, 0.02]
resolution = 3
translate = [0, 0, 0.115]
motion = [{ time = 1, translate = [0, 0, -0.05] }]
[[collider]]
shape = "floor"
height = -0.105
[time]
h = 0.1
frame_every = 4
[hierarchy]
kind = "decimation"
levels = [150]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frames")
    (folder / "press.toml").write_text(SCENE)
    scene = load_scene(folder / "press.toml")
    run_scene(scene, folder, folder / "run", threads=1, to_level=0)
    return folder / "run"


def test_a_frame_is_refined_with_everything_as_it_is_there(run: Path) -> None:
    report = refine_frame(run, 2, threads=1)
    assert [level.converged for level in report.levels] == [True, True]
    assert all(level.intersections == 0 for level in report.levels)
    session = open_session(run / "frame-0002")
    # the press has come down for 8 steps of 0.1 s, of 10
    state = session.grid.last(1)
    assert state is not None
    problem = session.ladder.problem(1, start=state.x)
    press = state.x[problem.bodies.of_vertex == 1]
    assert press[:, 2].min() == pytest.approx(0.105 - 0.8 * 0.05, abs=1e-9)
    (shell,) = session.scene.at(9.0).shells
    assert shell.pressure is not None and shell.pressure.value == pytest.approx(170.0)
    assert Detector.of(problem).count(state.x) == 0
    # asked for again, nothing is left to do; the run itself is what it was
    before = (run / "frame-0002" / "level-1" / "state.npz").read_bytes()
    refine_frame(run, 2, threads=1)
    assert (run / "frame-0002" / "level-1" / "state.npz").read_bytes() == before
    assert RunStore(run).levels() == [0]


def test_the_first_frame_is_the_start(run: Path) -> None:
    report = refine_frame(run, 0, threads=1, to_level=0)
    assert report.levels[0].converged
    press = open_session(run / "frame-0000").grid.last(0)
    assert press is not None and press.x[:, 2].max() == pytest.approx(0.125)


def test_a_frame_that_is_not_there_is_one_sentence(run: Path) -> None:
    with pytest.raises(
        SceneError, match=r"has no frame 99 of level 0: choose from 0 to \d+, and give time.frame_every"
    ):
        refine_frame(run, 99, threads=1)
    assert not (run / "frame-0099").exists()


def test_what_does_not_go_with_a_frame_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refine", str(run), "--frame", "1", "--rest", "1e-4"]) == 2
    assert "--frame refines a frame as it is: leave out --rest" in capsys.readouterr().err


def test_a_run_that_is_replaced_takes_its_frames_with_it(run: Path) -> None:
    scene = load_scene(run.parent / "press.toml")
    out = run.parent / "again"
    run_scene(scene, run.parent, out, threads=1, to_level=0)
    refine_frame(out, 0, threads=1, to_level=0)
    assert (out / "frame-0000").exists()
    run_scene(scene, run.parent, out, threads=1, to_level=0, overwrite=True)
    assert not (out / "frame-0000").exists()


def test_motions_and_tracks_stop() -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    motion = (Keyframe(1.0, (1, 0, 0), (0, 90, 0)), Keyframe(3.0, (0, 2, 0), (10, 0, 0), (2, 1, 1)))
    for t in (0.3, 1.0, 2.2, 3.0, 5.0):
        stopped = stop_motion(motion, t)
        assert stopped[-1].time <= t
        for s in (0.1, 0.9, 1.5, 2.9, 7.0):
            assert np.allclose(transform_points(X, stopped, s), transform_points(X, motion, min(s, t)), atol=1e-12)
    track = Track(np.array([0.0, 1.0, 2.0]), np.stack([X, X + 1, 3 * X]))
    for t in (0.5, 1.0, 3.0):
        for s in (0.2, 0.7, 1.5, 9.0):
            assert np.allclose(track.stopped(t).at(s), track.at(min(s, t)))
