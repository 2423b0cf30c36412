"""Runs of several levels from the command line: interrupted, taken up again, tightened, refined further."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.test_resume import DRAPE

import plisse.progressive.session
import plisse.runs.album
from plisse.cli import main
from plisse.core.state import State

SCENE = DRAPE.replace("levels = 2", "levels = 3")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "drape.toml"
    path.write_text(SCENE, encoding="utf-8")
    # most of so small a run would be its pictures
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    monkeypatch.setattr(plisse.runs.album, "render_strip", lambda path, *_, **__: path.write_bytes(b""))
    return path


def run(scene: Path, *arguments: str) -> int:
    return main(["run", str(scene), "--out", str(scene.parent / "run"), "--threads", "1", *arguments])


def go_on(scene: Path, *arguments: str) -> int:
    return main(["refine", str(scene.parent / "run"), "--threads", "1", *arguments])


def report_of(scene: Path) -> dict[str, Any]:
    return dict(json.loads((scene.parent / "run" / "report.json").read_text()))


def stop_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Ctrl-C after so many states, counted over all levels."""
    seen = 0

    def counted(states: Iterator[State]) -> Iterator[State]:
        nonlocal seen
        for state in states:
            if seen >= count:
                raise KeyboardInterrupt
            seen += 1
            yield state

    march = plisse.progressive.session.march
    monkeypatch.setattr(plisse.progressive.session, "march", lambda *arguments: counted(march(*arguments)))


def check_finished(report: dict[str, Any], levels: int) -> None:
    assert [level["level"] for level in report["levels"]] == list(range(levels))
    for level in report["levels"]:
        assert level["converged"] and level["intersections"] == 0 and level["force_balance"] < 0.02
        assert level["min_distance_over_offset"] > 1.0 and level["metrics"] is not None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_interrupted_run_is_kept_and_refined_to_its_end(
    scene: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    with monkeypatch.context() as patch:
        stop_after(patch, int(rng.integers(1, 60)))
        assert run(scene) == 130
    error = capsys.readouterr().err
    assert "interrupted; what was done is kept." in error and "Traceback" not in error
    levels = report_of(scene)["levels"]
    assert levels and all(level["intersections"] == 0 for level in levels)
    kept = states_of(scene)[:-1]
    assert go_on(scene) == 0
    check_finished(report_of(scene), 3)
    assert states_of(scene)[: len(kept)] == kept
    assert (scene.parent / "run" / "levels.png").exists()
    # to the bit where it would have ended
    refined = states_of(scene)
    assert run(scene, "--overwrite") == 0
    assert states_of(scene) == refined


def test_a_run_that_is_interrupted_at_once_says_so(
    scene: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        stop_after(patch, 0)
        assert run(scene) == 130
    assert "Traceback" not in capsys.readouterr().err
    assert report_of(scene)["levels"] == []
    assert go_on(scene) == 0
    check_finished(report_of(scene), 3)


def test_refinement_can_be_interrupted_as_well(scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(scene, "--preview-only") == 0
    check_finished(report_of(scene), 1)
    for states in (3, 3, 4):
        with monkeypatch.context() as patch:
            stop_after(patch, states)
            assert go_on(scene) == 130
        assert report_of(scene)["levels"][0]["level"] == 0
    assert go_on(scene) == 0
    check_finished(report_of(scene), 3)


@pytest.fixture
def finished(scene: Path) -> Path:
    assert run(scene, "--set", "hierarchy.levels=2") == 0
    return scene


def states_of(scene: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((scene.parent / "run").glob("level-*/state.npz"))]


def test_coming_nearer_to_rest_repeats_no_coarser_level(finished: Path) -> None:
    before, loose = states_of(finished), report_of(finished)
    assert go_on(finished, "--rest", "1e-6") == 0
    after, tight = states_of(finished), report_of(finished)
    assert len(before) == len(after) == 2 and before[0] == after[0] and before[1] != after[1]
    check_finished(tight, 2)
    fields = ("steps", "residual", "energy", "history")
    assert [tight["levels"][0][key] for key in fields] == [loose["levels"][0][key] for key in fields]
    assert tight["levels"][1]["rest"]["part"] <= 1e-6 < loose["levels"][1]["rest"]["part"] <= 5e-4
    assert tight["levels"][1]["energy"] < loose["levels"][1]["energy"]
    # what was done before is still told
    steps = loose["levels"][1]["steps"]
    assert tight["levels"][1]["history"]["energy"][:steps] == loose["levels"][1]["history"]["energy"]
    assert len(tight["levels"][1]["history"]["energy"]) == tight["levels"][1]["steps"] > steps
    assert tight["wall_s"] > loose["wall_s"]


def test_a_further_level_repeats_no_coarser_one(finished: Path) -> None:
    before = states_of(finished)
    assert go_on(finished, "--levels", "3") == 0
    assert states_of(finished)[:2] == before
    check_finished(report_of(finished), 3)
    assert json.loads((finished.parent / "run" / "scene.json").read_text())["hierarchy"]["levels"] == 3


def test_a_finished_run_has_nothing_left_to_do(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, report = states_of(finished), report_of(finished)
    assert go_on(finished) == 0
    assert states_of(finished) == before
    assert report_of(finished) == report
    assert "is already done" in capsys.readouterr().err


def test_levels_can_be_climbed_one_by_one(scene: Path) -> None:
    assert run(scene, "--to-level", "1") == 0
    check_finished(report_of(scene), 2)
    assert go_on(scene, "--to-level", "2") == 0
    check_finished(report_of(scene), 3)
    # the same as in one go
    apart = states_of(scene)
    assert run(scene, "--overwrite") == 0
    assert states_of(scene) == apart


def test_direct_methods_run_one_level_alone(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scene, "--set", "hierarchy.method=direct", "--to-level", "1") == 0
    report = report_of(scene)
    assert [level["level"] for level in report["levels"]] == [1] and report["method"] == "direct"
    assert go_on(scene) == 2
    assert "a single level" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--levels", "2"], "already has 2 levels"),
        (["--levels", "1"], "already has 2 levels"),
        (["--to-level", "0"], "no level 0 to refine to"),
        (["--to-level", "5"], "no level 5 to refine to"),
        (["--rest", "0.1"], "is looser than 0.0005"),
        (["--rest", "1e-5", "--tol", "1e-3"], "give one of them"),
    ],
)
def test_what_cannot_be_refined_is_one_sentence(
    finished: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    before = states_of(finished)
    capsys.readouterr()
    assert go_on(finished, *arguments) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "\n" not in error and "Traceback" not in error
    assert states_of(finished) == before


def test_the_remedy_for_too_few_levels_would_work(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert go_on(finished, "--levels", "1") == 2
    assert "--levels 3" in capsys.readouterr().err


def test_something_else_than_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refine", str(tmp_path), "--threads", "1"]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_a_motion_is_refined_from_its_preview(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["hierarchy.levels=2", "time.mode=dynamic", "time.duration=0.1"]
    words = [word for text in sets for word in ("--set", text)]
    assert run(scene, *words, "--preview-only") == 0
    before = report_of(scene)
    assert before["levels"][0]["steps"] == 5 and len(before["levels"]) == 1
    assert go_on(scene) == 0
    after = report_of(scene)
    assert [level["steps"] for level in after["levels"]] == [5, 5] and after["status"] == "done"
    assert after["levels"][0]["newton_iterations"] == before["levels"][0]["newton_iterations"]
    errors = after["levels"][0]["metrics"]
    assert 0.0 <= errors["position_error_to_finest"] == errors["position_error_to_next"] < 0.01
    capsys.readouterr()
    assert go_on(scene, "--tol", "0.001") == 2
    assert "solved once" in capsys.readouterr().err


def test_a_motion_with_one_level_is_refused(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["hierarchy.levels=1", "time.mode=dynamic", "time.duration=0.04"]
    assert run(scene, *(word for text in sets for word in ("--set", text))) == 0
    capsys.readouterr()
    assert go_on(scene) == 2
    assert "a motion with one level" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--preview-only", "--to-level", "1"], "use only one of them"),
        (["--to-level", "3"], "There is no level 3"),
        (["--set", "hierarchy.levels=0"], "levels must be at least 1"),
    ],
)
def test_levels_that_a_run_cannot_have_are_one_sentence(
    scene: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(scene, *arguments) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "\n" not in error and not (scene.parent / "run").exists()


def test_a_run_that_ran_out_of_steps_can_be_gone_on_with(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scene, "--set", "time.max_steps=20") == 1
    before = report_of(scene)["levels"]
    assert len(before) == 1 and before[0]["steps"] == 20 and not before[0]["converged"]
    assert go_on(scene) == 1
    assert "Traceback" not in capsys.readouterr().err
    # as many steps again, from where it stood
    after = report_of(scene)["levels"]
    assert after[0]["steps"] == 40
    assert after[0]["history"]["energy"][:20] == before[0]["history"]["energy"]
    for _ in range(6):
        if go_on(scene) == 0:
            break
    assert report_of(scene)["levels"][0]["converged"]
