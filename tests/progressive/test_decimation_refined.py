"""Levels by decimation, refined: every kind of shell, energy, load, pin and collider, from the preview to the end."""

import numpy as np
import pytest
from tests.progressive.test_decimation_previews import SCENES, make

from plisse.contact.check import Detector
from plisse.core.state import State
from plisse.kernels.threads import use_threads
from plisse.progressive.steps import LEAST_PART


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


@pytest.mark.parametrize("name", SCENES)
def test_every_level_comes_to_rest_without_intersections(name: str) -> None:
    session = make(SCENES[name])
    for _ in session.preview():
        pass
    detectors = dict[int, Detector]()
    for state in session.refine():
        if state.accepted:
            assert session.problem is not None
            detector = detectors.setdefault(state.level, Detector.of(session.problem))
            assert detector.count(state.x) == 0
            assert session.problem.clearance(state.x) > 1.0
            limit = session.problem.strain_limit
            assert limit is None or limit.max_stretch_over_limit(state.x) < 1.0
    assert sorted(detectors) == [1, 2] and state.converged and len(state.x) == len(session.ladder.given.placed)
    # whatever is held is where it is held, and what is led has arrived
    assert session.problem is not None and session.problem.missed(state.x, state.time) < 1e-9
    held = ~session.problem.free & ~session.problem.is_scripted
    assert np.array_equal(state.x[held], session.ladder.given.placed[held])


def test_under_a_tolerance_coarse_levels_end_by_the_step_taken_and_the_finest_by_its_direction() -> None:
    """[Zhang2023] §4.5: with offsets frozen, a coarse direction need not vanish where nothing lower is found."""
    session = make(SCENES["dome under its weight"] | {"solver": {"tol": 0.002}}, preset="paper")
    ends = dict[int, State]()
    for begin in (session.preview, session.refine):
        for state in begin():
            if state.accepted and state.step:
                ends[state.level] = state
    assert sorted(ends) == [0, 1, 2]
    for level, state in ends.items():
        assert state.converged or (level < 2 and state.stalled and state.step_length < LEAST_PART)
        taken = state.residual * (state.step_length if level < 2 else 1.0)
        assert taken <= 0.002 or state.stalled
