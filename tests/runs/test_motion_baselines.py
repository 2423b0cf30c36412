"""Baselines of levels in motion have the faults that the papers say they have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.test_resume import no_pictures

from plisse.cli import main
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.session import Session
from plisse.progressive.trajectory import SERIES, describe_motion, report_motion
from plisse.runs.frames import refine_frame
from plisse.runs.opening import open_session
from plisse.runs.store import RunStore

__all__ = ["no_pictures"]

DROP: dict[str, Any] = {
    "shell": [{"shape": "grid", "width": 0.4, "height": 0.4, "vertices": 40, "material": "cotton"}],
    "collider": [{"shape": "sphere", "radius": 0.1, "subdivisions": 2}, {"shape": "floor", "height": -0.1}],
    "contact": {"friction": 0.4},
    "solver": {"tol": 5e-3},
    "time": {"mode": "dynamic", "h": 0.02, "duration": 0.24},
}
DROP["shell"][0]["translate"] = [0, 0, 0.11]


def moved(**hierarchy: Any) -> tuple[Session, dict[str, list[Any]]]:
    """A drop on two levels, and the history of the finer one."""
    session = open_session(scene_from_dict(DROP | {"hierarchy": {"levels": 2} | hierarchy}), threads=1)
    history: dict[str, list[Any]] = {name: [] for name in (*SERIES, "contacts")}
    for work in (session.preview, session.refine):
        for state in work():
            if state.accepted and state.level == 1:
                assert session.problem is not None
                for name, value in (describe_motion(session.problem, state) | {"contacts": state.contacts}).items():
                    history[name].append(value)
    return session, history


def apart(session: Session) -> float:
    """Mean distance of the levels [m]."""
    P, n = session.ladder.hierarchy.between(0, 1), session.ladder.problem(1).bodies.n_simulated
    steps = range(session.scene.time.steps + 1)
    away = [(P(session.grid.at(0, t).x) - session.grid.at(1, t).x)[:n] for t in steps]
    return float(np.mean([np.sqrt((each**2).sum(axis=1).mean()) for each in away]))


def test_a_solve_a_level_pops_and_levels_by_themselves_are_smooth_and_drift_away() -> None:
    """[Zhang2024] §4.3: vertical refinement is consistent and jitters (figure 6), horizontal steps diverge."""
    (ours, history), (popping, jitters), (alone, smooth) = (moved(), moved(motion="vertical"), moved(motion="direct"))
    n, pops, none = (report_motion(each).continuity for each in (history, jitters, smooth))
    assert n is not None and pops is not None and none is not None
    assert pops > 3.0 * n and none == pytest.approx(1.0)
    assert max(apart(ours), apart(popping)) < 0.6 * apart(alone)


def test_plain_energies_on_all_levels_are_direct_simulation_of_each() -> None:
    session, _ = moved(method="cascadic")
    alone = replace(session.scene, hierarchy=replace(session.scene.hierarchy, method="direct"))
    for level in (0, 1):
        direct = open_session(alone, threads=1)
        states = [state for state in direct.animate(level) if state.accepted]
        assert len(states) == session.scene.time.steps
        assert all(np.array_equal(state.x, session.grid.at(level, state.step).x) for state in states)


SWING = """
[[shell]]
shape = "grid"
width = 0.3
height = 0.3
vertices = 40
material = "cotton"
velocity = [0, 0, -0.5]
[[shell.pin]]
box = [[-1, 0.149, -1], [1, 1, 1]]
[time]
mode = "dynamic"
duration = 0.3
[hierarchy]
levels = 2
"""


def test_statics_of_a_frame_loses_the_motion(tmp_path: Path) -> None:
    """[Zhang2024] figure 8: whatever the frame, its refinement is at rest, nowhere near the preview."""
    (tmp_path / "swing.toml").write_text(SWING, encoding="utf-8")
    out = tmp_path / "run"
    assert main(["run", str(tmp_path / "swing.toml"), "--out", str(out), "--threads", "1", "--quiet"]) == 0
    assert main(["refine", str(out), "--frame", "4", "--frame", "8", "--threads", "1", "--quiet"]) == 0
    store, P = RunStore(out), open_session(out).ladder.hierarchy.between(0, 1)
    at_rest = [RunStore(out / f"frame-{number:04d}") for number in (4, 8)]
    ends = list[Floats]()
    for number, frame in zip((4, 8), at_rest, strict=True):
        report = frame.read_report()
        assert all(level.converged and level.unconverged_steps is None for level in report.levels)
        shown, moving = P(store.read_frame(0, number)), store.read_frame(1, number)
        ends.append(frame.read_frame(1, frame.frames(1)[-1]))
        assert far(ends[-1], shown) > 20.0 * far(moving, shown)
    # both hang down, as the preview never does
    assert far(*ends) < 0.1 * far(store.read_frame(0, 4), store.read_frame(0, 8))


def far(a: Floats, b: Floats) -> float:
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))


def test_a_frame_that_nothing_holds_up_is_one_sentence(tmp_path: Path) -> None:
    text = SWING[: SWING.index("[[shell.pin]]")] + SWING[SWING.index("[time]") :]
    (tmp_path / "fall.toml").write_text(text, encoding="utf-8")
    out = tmp_path / "run"
    words = ["--threads", "1", "--quiet", "--preview-only", "--set", "time.duration=0.06"]
    assert main(["run", str(tmp_path / "fall.toml"), "--out", str(out), *words]) == 0
    with pytest.raises(SceneError, match="Nothing can hold the shells up"):
        refine_frame(out, 2, threads=1)
    assert not (out / "frame-0002").exists()
