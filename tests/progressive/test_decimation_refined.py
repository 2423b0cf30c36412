"""Levels by decimation, refined: every kind of shell, energy, load, pin and collider, from the preview to the end."""

import numpy as np
import pytest
from tests.progressive.test_decimation_previews import SCENES, make

from plisse.contact.check import Detector
from plisse.kernels.threads import use_threads


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
