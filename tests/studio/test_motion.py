"""A motion's timeline: frames on the levels that are shown, levels side by side, and a window that is refined."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.loading.scene_file import load_scene
from plisse.runs.recording import open_recording
from plisse.runs.run import run_scene
from plisse.runs.store import RunStore
from plisse.studio.motion import Motion
from plisse.studio.view import Level, View

from .test_editing import Blank
from .test_work import scene


class Table:
    """A motion of six frames on level 0, as the process leaves it, with a page that shows nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run"
        moving = scene(time={"mode": "dynamic", "duration": 0.1, "h": 0.02})
        run_scene(load_scene(moving), folder, self.folder, threads=1, to_level=0)
        self.posted: list[tuple[Any, ...]] = []
        self.view, self.drawn = View(), 0
        self.show(self.folder, 0)
        self.motion = Motion(Blank(), self.view, self.folder, post=self.post, draw=self.draw)  # type: ignore[arg-type]
        self.motion.take(1)
        self.motion.follow(5)

    def show(self, folder: Path, level: int) -> None:
        found = open_recording(folder, level)
        self.view.levels[level] = Level(found.stage, found.read_frame(found.numbers[-1]).astype(np.float32))

    def post(self, *event: Any) -> None:
        self.posted.append(event)

    def draw(self) -> None:
        self.drawn += 1
        stage, x = self.view.compose()
        assert max(part.last for part in stage.parts) == len(x)

    def frame(self, folder: Path, level: int, number: int) -> np.ndarray:
        return RunStore(folder).read_frame(level, number).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return Table(tmp_path_factory.mktemp("motion"))


def test_a_frame_is_shown_and_the_newest_is_followed_unless_an_earlier_one_is_looked_at(made: Table) -> None:
    made.motion.on_frame(2)
    np.testing.assert_array_equal(made.view.levels[0].x, made.frame(made.folder, 0, 2))
    assert not made.motion.follow(5), "an earlier frame is looked at"
    made.motion.on_frame(5)
    assert made.motion.follow(5)
    made.motion.on_play()
    made.motion.play_on()
    np.testing.assert_array_equal(made.view.levels[0].x, made.frame(made.folder, 0, 0))
    made.motion.on_play()


def test_a_motion_is_played_for_a_page_and_the_frame_that_was_looked_at_comes_back(made: Table) -> None:
    made.motion.on_frame(4)
    seen = [(seconds, made.view.levels[0].x) for seconds in made.motion.played(10)]
    assert [seconds for seconds, _ in seen] == [1 / 24] * 6
    for number, (_, x) in enumerate(seen):
        np.testing.assert_array_equal(x, made.frame(made.folder, 0, number))
    np.testing.assert_array_equal(made.view.levels[0].x, made.frame(made.folder, 0, 4))
    # as long, with fewer frames
    assert list(made.motion.played(3)) == [2 / 24] * 3
    made.motion.on_frame(5)


def test_a_window_without_two_ends_is_refused(made: Table) -> None:
    made.motion.on_window((3.0, 3.0))
    with pytest.raises(SceneError, match="both ends"):
        made.motion.on_refine_frames()


def test_a_window_is_refined_and_its_levels_are_shown_side_by_side(made: Table) -> None:
    made.motion.on_window((4.0, 2.0))
    made.motion.on_refine_frames()
    with pytest.raises(SceneError, match="already"):
        made.motion.on_refine_frames()
    for _ in range(600):
        if made.posted:
            break
        time.sleep(0.05)
    name, *values = made.posted.pop()
    assert name == "frames_refined" and values == [2, 4, ""]
    made.motion.on_frames_refined(*values)
    assert sorted(made.view.levels) == [0, 1] and made.view.newest == 1
    window = made.folder / "frames-0002-0004"
    np.testing.assert_array_equal(made.view.levels[1].x, made.frame(window, 1, 4))
    # both levels at the same frame, the coarse one beside the fine one
    made.view.level, made.view.beside, made.view.aside = 1, 0, True
    made.motion.on_frame(3)
    stage, x = made.view.compose()
    fine, coarse = made.frame(window, 1, 3), made.frame(made.folder, 0, 3)
    np.testing.assert_array_equal(x[: len(fine)], fine)
    way = (x[len(fine) :] - coarse).mean(axis=0)
    assert way[0] > np.ptp(fine[:, 0]) and np.abs(way[1:]).max() < 1e-6
    assert [part.name for part in stage.parts] == ["cloth", "ball", "cloth beside", "ball beside"]
    # another motion has no use for the window
    made.motion.take(1)
    assert not window.exists()
