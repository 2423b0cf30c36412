"""The process that simulates, here in a thread: what it answers, and how soon it hears."""

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.export import export_run
from plisse.loading.scene_file import load_scene
from plisse.progressive.session import Session
from plisse.runs.run import run_scene
from plisse.runs.store import RunStore
from plisse.studio.document import open_document
from plisse.studio.words import Ask, Change, Ended, Frame, Map, Refused, Resting, Shown, Steer, Stop, Taken, Tried, Try
from plisse.studio.work import Work

SCENE: dict[str, Any] = {
    "name": "tiny",
    "shell": [
        {"name": "cloth", "shape": "grid", "width": 0.6, "height": 0.6, "resolution": 6, "drop_height": 0.02}
    ],
    "collider": [
        {"name": "ball", "shape": "sphere", "radius": 0.15, "subdivisions": 2, "translate": [0.0, 0.0, 0.0]},
        {"name": "floor", "shape": "floor", "height": -0.3},
    ],
    "hierarchy": {"levels": 2},
}  # fmt: skip


def scene(**says: Any) -> dict[str, Any]:
    return deepcopy(SCENE) | says


def moved(x: float) -> dict[str, Any]:
    table = scene()
    # as the studio does: the shell stays where it started
    table["collider"][0]["translate"] = [x, 0.0, 0.0]
    return table


class Talk:
    """Both ends of the talk with a process that is a thread."""

    def __init__(self, folder: Path) -> None:
        theirs, self.words = Pipe(duplex=False)
        answers, self.ours = Pipe(duplex=False)
        self.work = Work(theirs, self.ours, folder, RunStore(folder / "run"), 1)
        self.answers: queue.Queue[Any] = queue.Queue()
        self.thread = threading.Thread(target=self.work.run, daemon=True)
        self.thread.start()
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

    def _listen(self, answers: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                self.answers.put(answers.recv())

    def say(self, *words: Any) -> None:
        for word in words:
            self.words.send(word)

    def until(self, kind: type, timeout: float = 60.0) -> list[Any]:
        """All answers up to the first one of a kind."""
        out: list[Any] = []
        while not out or not isinstance(out[-1], kind):
            out.append(self.answers.get(timeout=timeout))
            assert kind is Refused or not isinstance(out[-1], Refused), out[-1]
        return out

    def close(self) -> None:
        self.say(Stop())
        self.thread.join(30)
        assert not self.thread.is_alive()
        self.ours.close()


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    talk = Talk(tmp_path)
    yield talk
    talk.close()


def test_a_scene_is_previewed_and_refined_by_itself(talk: Talk, tmp_path: Path) -> None:
    talk.say(Change(1, scene()))
    said = talk.until(Resting)
    assert said[0] == Taken(1, 2)
    assert [word.level for word in said if isinstance(word, Ended)] == [0, 1]
    assert all(word.converged for word in said if isinstance(word, Ended))
    shown = {word.level: word for word in said if isinstance(word, Shown)}
    assert [part.name for part in shown[1].stage.parts] == ["cloth", "ball"]
    last = [word for word in said if isinstance(word, Frame)][-1]
    assert last.level == 1 and last.converged and last.intersections == 0 and len(last.x) == len(shown[1].x)
    # what is shown is in the run folder, and leaves it as from any run
    np.testing.assert_array_equal(RunStore(tmp_path / "run").read_checkpoint(1).state.x.astype(np.float32), last.x)
    assert export_run(tmp_path / "run", tmp_path / "out.glb").level == 1


@pytest.mark.slow
def test_the_saved_scene_runs_to_the_same_equilibrium(talk: Talk, tmp_path: Path) -> None:
    talk.say(Change(1, scene()))
    shown = [word for word in talk.until(Resting) if isinstance(word, Frame)][-1]
    run_scene(load_scene(scene()), tmp_path, tmp_path / "again", threads=1)
    x = RunStore(tmp_path / "again").read_checkpoint(1).state.x
    np.testing.assert_allclose(shown.x, x, atol=1e-6)


def test_of_several_changes_the_last_one_counts(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    # more than the process can take while it works on the first of them
    talk.say(*(Change(2 + k, moved(0.001 * (k + 1))) for k in range(30)))
    said = []
    while not said or not (isinstance(said[-1], Resting) and said[-1].number == 31):
        said += talk.until(Resting)
    taken = [word.number for word in said if isinstance(word, Taken)]
    assert taken[-1] == 31 and len(taken) <= 3
    ball = next(word for word in reversed(said) if isinstance(word, Shown)).stage.parts[1]
    x = [word for word in said if isinstance(word, Frame)][-1].x[ball.first : ball.last]
    assert x.mean(axis=0)[0] == pytest.approx(0.03, abs=1e-3)


def test_a_touch_interrupts_within_one_newton_iteration(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While level 1 is refined; level 0 goes on from the state that it had."""
    done: list[int] = []  # level of each iteration
    original = Work._step

    def counted(self: Work, states: Any) -> None:
        original(self, states)
        done.append(self.session.problem.level)  # type: ignore[union-attr]
        if done[-1] == 1 and not said:
            said.append(len(done))
            talk.say(Change(2, moved(0.01)))

    said: list[int] = []
    monkeypatch.setattr(Work, "_step", counted)
    talk.say(Change(1, scene()))
    words = talk.until(Taken) + talk.until(Taken)
    cached = [word for word in words if isinstance(word, Frame) and word.level == 0][-1]
    assert talk.until(Shown)[-1].level == 0
    after = talk.until(Frame)[-1]
    talk.say(Steer(hold=True))
    talk.until(Resting)
    assert done[said[0]] == 0, "the very next iteration is of level 0"
    assert after.step > cached.step, "it goes on where it was"
    assert np.abs(after.x[:49] - cached.x[:49]).max() < 0.05


def test_a_scene_that_cannot_be_is_refused_and_the_last_one_goes_on(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    rested = [word for word in talk.until(Resting) if isinstance(word, Frame)][-1]
    raised = scene()
    raised["collider"][1]["height"] = 0.05
    talk.say(Change(2, raised))
    refused = talk.until(Refused)[-1]
    assert (refused.number == 2 and "floor" in refused.sentence) or "half-space" in refused.sentence
    assert "\n" not in refused.sentence
    talk.say(Change(3, scene()))
    again = [word for word in talk.until(Resting) if isinstance(word, Frame)][-1]
    assert again.step >= rested.step and np.abs(again.x - rested.x).max() < 5e-3


def test_a_first_scene_that_cannot_be_leaves_the_process_alive(talk: Talk) -> None:
    talk.say(Change(1, {"shell": [{"shape": "grdi"}]}))
    assert "grdi" in talk.until(Refused)[-1].sentence
    talk.say(Steer(refine=False), Change(2, scene()))
    assert talk.until(Resting)[0] == Taken(2, 2)


def test_another_mesh_begins_again_and_says_so(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    finer = scene()
    finer["shell"][0]["resolution"] = 10
    talk.say(Change(2, finer))
    taken = talk.until(Taken)[-1]
    assert taken.number == 2 and "begin again" in taken.note
    assert talk.until(Shown)[-1].stage.parts[0].last == 121


def test_a_body_that_gets_another_name_stays_where_it_is(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    before = [word for word in talk.until(Resting) if isinstance(word, Frame)][-1]
    renamed = scene()
    renamed["shell"][0]["name"] = "napkin"
    renamed["collider"][0]["name"] = "globe"
    talk.say(Change(2, renamed))
    shown = talk.until(Shown)[-1]
    assert [part.name for part in shown.stage.parts] == ["napkin", "globe"]
    np.testing.assert_allclose(shown.x, before.x, atol=1e-6)
    talk.until(Resting)


def test_work_is_held_and_taken_up_again(talk: Talk) -> None:
    talk.say(Change(1, scene()))
    talk.until(Frame)
    talk.say(Steer(hold=True))
    before = [word for word in talk.until(Resting) if isinstance(word, Frame)]
    talk.say(Steer())
    said = talk.until(Resting)
    assert [word.level for word in said if isinstance(word, Ended)] == [0, 1]
    steps = [word.step for word in (*before, *said) if isinstance(word, Frame) and word.level == 0]
    assert steps == sorted(steps), "level 0 went on, it did not begin again"


def test_maps_of_a_level_have_a_value_for_each_vertex(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    for kind in ("strain", "curvature", "contact"):
        talk.say(Ask(kind, 0))
        found = talk.until(Map)[-1]
        assert found.kind == kind and found.values.shape == (49,) and np.isfinite(found.values).all()
    assert found.values.max() > 0.0, "the ball presses on the cloth"


def test_another_process_goes_on_from_the_last_state(tmp_path: Path) -> None:
    first = Talk(tmp_path)
    first.say(Steer(refine=False), Change(1, scene()))
    rested = [word for word in first.until(Resting) if isinstance(word, Frame)][-1]
    first.close()
    second = Talk(tmp_path)
    second.say(Steer(refine=False), Change(1, moved(0.005)))
    shown = next(word for word in second.until(Shown) if isinstance(word, Shown))
    np.testing.assert_allclose(shown.x, rested.x, atol=1e-6)
    second.until(Resting)
    second.close()


@pytest.mark.slow
def test_a_run_is_shown_with_the_levels_that_it_has(tmp_path: Path) -> None:
    run_scene(load_scene(scene()), tmp_path, tmp_path / "run", threads=1)
    x = {level: RunStore(tmp_path / "run").read_checkpoint(level).state.x.astype(np.float32) for level in (0, 1)}
    talk = Talk(tmp_path)
    talk.say(Change(1, open_document(tmp_path / "run").table))
    said = talk.until(Resting)
    assert [type(word) for word in said] == [Taken, Shown, Frame, Ended, Shown, Frame, Ended, Resting]
    for word in said:
        if isinstance(word, Frame):
            np.testing.assert_array_equal(word.x, x[word.level])
    # a touch goes back to level 0, from where it was
    changed = open_document(tmp_path / "run").table
    changed["contact"]["friction"] = 0.5
    talk.say(Steer(refine=False), Change(2, changed))
    shown = next(word for word in talk.until(Shown) if isinstance(word, Shown))
    np.testing.assert_array_equal(shown.x, x[0])
    talk.until(Resting)
    talk.close()


def test_an_error_of_ours_stops_the_work_and_not_the_process(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(Session, "settle", lambda *_: iter(lambda: 1 / 0, None))
    talk.say(Change(1, scene()))
    assert "division" in talk.until(Resting)[-1].sentence
    monkeypatch.undo()
    talk.say(Steer(refine=False), Change(2, scene()))
    assert talk.until(Ended)[-1].converged
    capsys.readouterr()


def test_a_motion_leaves_its_frames_for_the_timeline(talk: Talk, tmp_path: Path) -> None:
    talk.say(Change(1, scene(time={"mode": "dynamic", "duration": 0.1, "h": 0.02})))
    said = talk.until(Resting)
    assert said[0] == Taken(1, 2, every=1)
    assert [word.level for word in said if isinstance(word, Ended)] == [0, 1]
    store = RunStore(tmp_path / "run")
    for level in (0, 1):
        last = [word for word in said if isinstance(word, Frame) and word.level == level][-1]
        assert store.frames(level) == [0, 1, 2, 3, 4, 5] and last.step == 5
        np.testing.assert_array_equal(store.read_frame(level, 5).astype(np.float32), last.x)


def test_a_collider_that_grows_is_led_there_and_the_shell_gives_way(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    grown = scene()
    grown["collider"][0]["scale"] = [1.2, 1.0, 1.1]
    talk.say(Change(2, grown))
    said = talk.until(Resting)
    assert said[0].note == "", "the shell does not begin again"
    ball = next(word for word in said if isinstance(word, Shown)).stage.parts[1]
    x = [word for word in said if isinstance(word, Frame)][-1].x[ball.first : ball.last]
    np.testing.assert_allclose(0.5 * np.ptp(x, axis=0), [0.18, 0.15, 0.165], rtol=0.02)


def test_a_level_that_was_begun_is_taken_up_by_another_process(tmp_path: Path) -> None:
    first = Talk(tmp_path)
    first.say(Change(1, scene()))
    while not isinstance(word := first.answers.get(timeout=60.0), Frame) or word.level == 0 or not word.whole:
        pass
    first.close()
    second = Talk(tmp_path)
    second.say(Change(1, scene()))
    said = second.until(Resting)
    assert said[-1].sentence == ""
    assert [(word.level, word.converged) for word in said if isinstance(word, Ended)] == [(0, True), (1, True)]
    second.close()


def test_a_refusal_tells_which_triangles_it_is_about(talk: Talk) -> None:
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    through = scene()
    through["collider"][0]["translate"] = [0.0, 0.0, 0.15]
    through["shell"][0]["translate"] = [0.0, 0.0, 0.17]
    through["shell"][0].pop("drop_height")
    talk.say(Change(2, through, restart=True))
    refused = talk.until(Refused)[-1]
    assert refused.places is not None and refused.places.shape[1:] == (3, 3) and len(refused.places) > 1
    # they lie where ball and cloth cross
    assert np.abs(refused.places[..., 2] - 0.17).max() < 0.1


def test_a_scene_that_was_led_to_where_it_cannot_begin_says_so(talk: Talk) -> None:
    """The ball is led up through where the shell starts, which the shell gives way to."""
    talk.say(Steer(refine=False), Change(1, scene()))
    talk.until(Resting)
    talk.say(Try())
    assert talk.until(Tried)[-1].sentence == ""
    table = scene()
    table["shell"][0].pop("drop_height")
    table["shell"][0]["translate"] = [0.0, 0.0, 0.17]
    talk.say(Change(2, table, restart=True))
    talk.until(Resting)
    table = deepcopy(table)
    table["collider"][0]["translate"] = [0.0, 0.0, 0.1]
    talk.say(Change(3, table))
    talk.until(Resting)
    talk.say(Try())
    assert "intersection" in talk.until(Tried)[-1].sentence
