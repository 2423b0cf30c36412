"""Levels of motions that are refined in segments at the same time."""

from pathlib import Path

import numpy as np
import pytest

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.progressive.session import Session
from plisse.runs.report import read_report
from plisse.runs.segments import SEAM, cut
from plisse.runs.store import RunStore
from plisse.runs.workers import refine_with_workers

SCENE = """
[[shell]]
shape = "grid"
width = 0.4
height = 0.4
vertices = 60
translate = [0, 0, 0.1]
material = "cotton"
[[collider]]
shape = "sphere"
radius = 0.08
subdivisions = 2
translate = [0.01, 0, 0]
[time]
mode = "dynamic"
duration = 0.48
[hierarchy]
levels = 2
motion = "{motion}"
"""


def run(folder: Path, name: str, *arguments: str, motion: str = "semi-diagonal") -> Path:
    scene = folder / "drop.toml"
    scene.write_text(SCENE.format(motion=motion), encoding="utf-8")
    out = folder / name
    assert main(["run", str(scene), "--out", str(out), "--threads", "1", "--quiet", *arguments]) == 0
    return out


def test_segments_are_joined_without_a_jump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts = run(tmp_path, "whole"), run(tmp_path, "parts", "--preview-only")
    capsys.readouterr()
    assert main(["refine", str(parts), "--workers", "2", "--threads", "1", "--check-every", "1"]) == 0
    said = capsys.readouterr().err
    assert "two segments" in said and "at step 12" in said
    ours, theirs = (RunStore(each) for each in (parts, whole))
    assert ours.frames(1) == theirs.frames(1) == list(range(25))
    # before the seam they are the same
    for number in range(13):
        assert np.array_equal(ours.read_frame(1, number), theirs.read_frame(1, number))
    x = [ours.read_frame(1, number) for number in range(25)]
    for number in range(1, 25):
        v = ours.read_frame(1, number, "velocity")
        assert v == pytest.approx((x[number] - x[number - 1]) / 0.02, abs=1e-9)
    report = read_report(parts)
    level = report.levels[1]
    assert report.status == "done" and level.steps == 24 and level.unconverged_steps == 0
    assert level.intersections == 0 and level.states_checked >= 24 and len(level.history["kinetic"]) == 24
    assert level.newton_iterations == sum(np.diff([0, *_newton(ours)])) == _newton(ours)[-1]
    assert not (parts / "segments").exists()
    # nothing is left to do, also for those who refine it in one piece
    assert main(["refine", str(parts), "--threads", "1"]) == 0


def test_a_join_that_is_interrupted_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = (run(tmp_path, name, "--preview-only") for name in ("whole", "parts"))
    refine_with_workers(whole, workers=2, threads=1)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "resume", interrupted)
        with pytest.raises(KeyboardInterrupt):
            refine_with_workers(parts, workers=2, threads=1)
    refine_with_workers(parts, workers=2, threads=1)
    ours, theirs = (RunStore(each) for each in (parts, whole))
    assert ours.frames(1) == theirs.frames(1) == list(range(25))
    for number in range(25):
        assert np.array_equal(ours.read_frame(1, number), theirs.read_frame(1, number))


def _newton(store: RunStore) -> list[int]:
    return [line["newton"] for line in store.read_steps(1, 24)]


def test_what_workers_cannot_refine_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(tmp_path, "run", "--preview-only")
    assert main(["refine", str(out), "--workers", "2", "--frames", "1:3"]) == 2
    assert "leave out --frames" in capsys.readouterr().err
    with pytest.raises(SceneError, match="not a run"):
        refine_with_workers(tmp_path / "nothing", workers=2, threads=1)


def test_no_segment_is_shorter_than_its_seam() -> None:
    assert cut(0, 24, 2) == [(0, 12), (12, 24)] and cut(5, 9, 4) == [(5, 9)]
    assert all(b - a > SEAM for a, b in cut(0, 100, 40))
