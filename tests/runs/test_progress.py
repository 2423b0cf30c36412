"""The live line, and the reasons that it gives where there is no progress."""

import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.cli import main
from plisse.core.state import State
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.rest import Aim
from plisse.runs import progress
from plisse.runs.progress import ProgressLine
from plisse.runs.watch import Watch

X = np.zeros((4, 3))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def state(step: int, **values: Any) -> State:
    return State(1, step, 0.3 * step, X, X, **{"residual": 0.5, "force_balance": 0.25, "contacts": 12} | values)


def watch(*, friction: float = 0.3, mode: str = "static", last_key: float = 0.0) -> Watch:
    table = {"shell": [{"shape": "grid"}], "contact": {"friction": friction}, "time": {"mode": mode}}
    scene = scene_from_dict(table, Path())
    return Watch(scene, 1e-3, last_key, lambda vertices: f"{vertices[0]} of cloth", aim=Aim(0.01), size=1.0)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LIVE", 0.0)
    monkeypatch.setattr(progress, "PLAIN", 0.0)


@pytest.mark.usefixtures("at_once")
def test_the_line_holds_what_tells_slow_from_stuck() -> None:
    out = io.StringIO()
    line = ProgressLine(out, steps=None, levels=3)
    line.begin(aim=Aim(0.01), watch=None, began=time.perf_counter())
    for step in range(1, 12):
        line.show(state(step, residual=0.8**step, newton_iteration=2, step_length=0.5))
    last = out.getvalue().splitlines()[-1]
    for word in ("level 1/2", "step 11", "newton 2", "8.59e-02", "balance 0.250", "contacts 12", "α 0.5", "s/step"):
        assert word in last
    # 0.8ⁿ falls to a hundredth in 21 steps: ten are left, of no time at all
    assert last.endswith("ETA ~0 s")


@pytest.mark.usefixtures("at_once")
def test_a_motion_knows_its_end_and_a_terminal_keeps_one_line() -> None:
    out = Terminal()
    line = ProgressLine(out, steps=50, levels=1)
    line.begin(aim=Aim(0.01), watch=None, began=time.perf_counter())
    line.show(state(10))
    line.show(state(11))
    line.say("level 1: done")
    told = out.getvalue()
    assert told.count("\r") == 2 and "step 11/50" in told and "balance" not in told and "ETA 0 s" in told
    assert told.endswith("\nlevel 1: done\n")


@pytest.mark.usefixtures("at_once")
def test_quiet_keeps_what_stays_worth_reading() -> None:
    out = Terminal()
    line = ProgressLine(out, steps=None, levels=1, quiet=True)
    line.begin(aim=Aim(0.01), watch=watch(), began=time.perf_counter())
    for step in range(1, 30):
        line.show(state(step, missed=0.2))
    told = out.getvalue()
    assert told.count("\n") == 1 and "holds handles or moving colliders back by 200 mm" in told and "\r" not in told


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_narrow_terminal_gets_a_line_that_fits(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(ProgressLine, "_columns", lambda _: columns)
    out = Terminal()
    line = ProgressLine(out, steps=None, levels=3)
    for step in range(1, 30):
        line.show(state(step, residual=0.8**step, contacts=12345))
    line.end()
    written = out.getvalue().rstrip("\n").split("\r")
    assert len(written) == 30 and max(len(text) for text in written) < columns and "step 29" in written[-1]
    assert ("newton" in written[-1]) == (columns > 120)


def test_a_long_iteration_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN", 0.0)
    monkeypatch.setattr(progress, "PLAIN_BEAT", 0.05)
    out = io.StringIO()
    line = ProgressLine(out, steps=None, levels=1)
    line.show(state(3))
    waited = time.perf_counter()
    while out.getvalue().count("\n") < 3 and time.perf_counter() - waited < 20.0:
        time.sleep(0.02)
    line.end()
    told = out.getvalue().splitlines()
    assert len(told) > 2 and all("step 3" in text for text in told) and "…" in told[-1] and told[-1].endswith(" s")
    time.sleep(0.15)
    assert out.getvalue().splitlines() == told


def reasons(seen: Watch, make: Callable[[int], State], count: int) -> list[str]:
    return [reason for step in range(1, count + 1) if (reason := seen.see(make(step))) is not None]


def test_a_step_length_that_collapses_is_told_once_with_its_vertices() -> None:
    found = reasons(watch(), lambda step: state(step, step_length=1e-5, blocked=(7, 8), accepted=False), 40)
    assert len(found) == 1
    assert "level 1, step 8" in found[0] and "1e-05 at vertices 7 of cloth" in found[0] and "time.h" in found[0]


def test_a_residual_that_falls_gives_no_reason() -> None:
    assert reasons(watch(), lambda step: state(step, residual=0.97**step), 300) == []


def test_contacts_that_stick_and_slip_are_told_apart_from_creeping() -> None:
    def cycling(step: int) -> State:
        return state(step, residual=0.3 + 0.1 * (step % 2))

    (found,) = reasons(watch(), cycling, 200)
    assert "step 120" in found and "sticking and slipping" in found and "contact.friction_speed" in found
    (found,) = reasons(watch(friction=0.0), cycling, 200)
    assert "the shape oscillates or creeps" in found
    # layers that land one after the other
    assert reasons(watch(), lambda step: replace(cycling(step), contacts=100 + 2 * step), 200) == []
    # while something is still led, and in motion through time, a residual need not fall
    assert reasons(watch(last_key=1e9), cycling, 200) == []
    assert reasons(watch(mode="dynamic"), cycling, 200) == []


def test_a_handle_that_a_box_holds_back_is_told_by_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blocked.toml").write_text(
        """[[shell]]
shape = "grid"
width = "20 cm"
height = "20 cm"
vertices = 81
translate = [0, 0, "3 cm"]
[[shell.pin]]
boundary = true
motion = [{ time = "1.5 s", translate = [0, 0, "-20 cm"] }]
[[collider]]
shape = "box"
size = ["50 cm", "50 cm", "4 cm"]
resolution = 8
translate = [0, 0, 0]
[time]
max_steps = 60
"""
    )
    assert main(["run", str(tmp_path / "blocked.toml"), "--out", str(tmp_path / "run"), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "no progress on level 0" in said and "back by" in said and "move more slowly" in said
    # it ends where nothing changes any more, and says what is the matter
    assert "after 60 steps" not in said and "do not reach their keyframes" in said


def test_what_falls_away_is_not_taken_for_friction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slope.toml").write_text(
        """[[shell]]
name = "cloth"
shape = "grid"
width = "20 cm"
height = "20 cm"
vertices = 36
rotate = [0, 40, 0]
[[collider]]
half_space = { point = [0, 0, "-2 cm"], normal = [0.643, 0, 0.766] }
[contact]
friction = 0.2
[time]
max_steps = 200
"""
    )
    assert main(["run", str(tmp_path / "slope.toml"), "--out", str(tmp_path / "run"), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "of cloth has moved by" in said and "nothing holds that part" in said and "sticking and slipping" not in said


def test_a_shell_that_nothing_can_hold_is_refused_before_it_falls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "alone.toml").write_text('[[shell]]\nshape = "grid"\n')
    assert main(["check", str(tmp_path / "alone.toml")]) == 2
    assert "Nothing can hold the shells up" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "alone.toml"), "--set", "gravity=[0,0,0]"]) == 0
    assert main(["check", str(tmp_path / "alone.toml"), "--set", "time.mode=dynamic"]) == 0
