"""Metrics between the levels of a run: nothing apart where nothing is, growing with what is put between them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.potential import frozen
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.consistency import CURVATURES, compare_levels
from plisse.progressive.ladder import Ladder
from plisse.runs.opening import open_session

SHEET: dict[str, Any] = {"shape": "grid", "vertices": 60, "diagonals": "jittered"}


def make_ladder(*shells: dict[str, Any], levels: int = 3, **hierarchy: Any) -> Ladder:
    use_threads(1)
    data = {
        "shell": list(shells) or [SHEET],
        "collider": [{"shape": "sphere", "subdivisions": 1, "translate": [0, 0, -2]}],
        "hierarchy": {"levels": levels} | hierarchy,
    }
    return open_session(scene_from_dict(data, Path())).ladder


def bent(ladder: Ladder, *, noise: float = 0.0) -> dict[int, Floats]:
    """Each level is the prolonged coarse one, a gentle wave, and random shifts of finer levels besides."""
    x = ladder.problem(0).x0.copy()
    x[:, 2] += 0.05 * np.sin(4.0 * x[:, 0]) * np.cos(3.0 * x[:, 1])
    states, rng = {0: frozen(x)}, np.random.default_rng(1)
    for level in range(ladder.finest):
        y = ladder.hierarchy.between(level, level + 1)(states[level])
        states[level + 1] = frozen(y + noise * rng.uniform(-1.0, 1.0, y.shape))
    return states


@pytest.mark.parametrize("prolongation", ["loop", "linear"])
def test_levels_that_are_prolongations_of_each_other_are_consistent(prolongation: str) -> None:
    ladder = make_ladder(prolongation=prolongation)
    metrics = compare_levels(ladder, bent(ladder))
    assert sorted(metrics) == [0, 1, 2]
    for level in (0, 1):
        for name in ("next", "finest"):
            assert getattr(metrics[level], f"position_error_to_{name}") < 1e-14
            distances = getattr(metrics[level], f"curvature_distance_to_{name}")
            assert tuple(distances) == CURVATURES
            if prolongation == "loop":
                assert all(value < 1e-12 for value in distances.values())
    for level in (1, 2):
        assert metrics[level].geometric_consistency < 1e-24


def test_there_is_nothing_to_compare_the_ends_with() -> None:
    metrics = compare_levels(ladder := make_ladder(), bent(ladder))
    assert metrics[0].geometric_consistency is None
    for name in ("next", "finest"):
        assert (
            getattr(metrics[2], f"position_error_to_{name}") is None
            and getattr(metrics[2], f"curvature_distance_to_{name}") is None
        )
    # the last but one is next to the finest
    assert metrics[1].position_error_to_next == metrics[1].position_error_to_finest


def test_one_level_is_compared_with_nothing() -> None:
    ladder = make_ladder()
    states = bent(ladder)
    (entry,) = compare_levels(ladder, {0: states[0]}).values()
    assert entry.position_error_to_finest is None and entry.geometric_consistency is None
    assert isinstance(entry.folds, int)
    assert compare_levels(ladder, {}) == {}


def test_a_level_that_was_skipped_leaves_no_projection() -> None:
    """A direct run has its own level alone, and a report may hold levels that do not follow each other."""
    ladder = make_ladder()
    states = bent(ladder)
    metrics = compare_levels(ladder, {0: states[0], 2: states[2]})
    assert metrics[2].geometric_consistency is None
    assert metrics[0].position_error_to_next == metrics[0].position_error_to_finest is not None


@pytest.mark.parametrize("prolongation", ["loop", "linear"])
def test_metrics_grow_with_what_is_apart(prolongation: str) -> None:
    ladder = make_ladder(prolongation=prolongation)
    found = [compare_levels(ladder, bent(ladder, noise=noise)) for noise in (1e-4, 1e-3)]
    small, large = ([metrics[0].position_error_to_finest, metrics[1].geometric_consistency] for metrics in found)
    assert large[0] == pytest.approx(10.0 * small[0], rel=1e-6)
    assert large[1] == pytest.approx(100.0 * small[1], rel=1e-6)
    near, far = (metrics[1].curvature_distance_to_next for metrics in found)
    assert all(far[name] > near[name] > 0.0 for name in CURVATURES)


def test_a_shift_of_the_finest_level_is_its_position_error() -> None:
    ladder = make_ladder()
    states = bent(ladder)
    moved = np.array(states[2])
    moved[: len(ladder.geometry(2).shells[0].X)] += [0.003, 0.0, 0.004]
    metrics = compare_levels(ladder, states | {2: frozen(moved)})
    assert metrics[0].position_error_to_finest == pytest.approx(0.005, rel=1e-9)
    assert metrics[1].position_error_to_next == pytest.approx(0.005, rel=1e-9)
    assert metrics[0].position_error_to_next < 1e-14
    # as a whole: Σ m ‖shift‖²
    mass = ladder.scene.shells[0].material.area_density * 1.0
    assert metrics[2].geometric_consistency == pytest.approx(mass * 0.005**2, rel=1e-6)


def test_colliders_do_not_count() -> None:
    ladder = make_ladder()
    states = bent(ladder)
    other = {}
    for level, x in states.items():
        n = len(ladder.geometry(level).shells[0].X)
        other[level] = frozen(np.concatenate([x[:n], x[n:] + level]))
    assert compare_levels(ladder, states) == compare_levels(ladder, other)


def test_several_shells_are_one() -> None:
    second = SHEET | {"translate": [0, 0, 1]}
    ladder = make_ladder(SHEET, second, levels=2)
    states = bent(ladder, noise=1e-3)
    metrics = compare_levels(ladder, states)
    assert 0.0 < metrics[0].position_error_to_finest < 2e-3
    assert metrics[0].folds >= 0
