"""A motion in few numbers, against closed forms."""

from typing import Any

import numpy as np
import pytest
from tests.problems import chain, finer_chain
from tests.progressive.scenes import NO_CONTACT
from tests.progressive.test_motion import DROP, H, swing, table

from plisse.core.grid import Grid
from plisse.core.state import State
from plisse.kernels.threads import use_threads
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.integrators import Euler, VelPro
from plisse.progressive.trajectory import compare_centres, compare_kinetic, describe_motion, report_motion
from plisse.runs.opening import open_session


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


def histories(data: dict[str, Any]) -> list[dict[str, list[Any]]]:
    """What is described of every level's steps."""
    session = open_session(scene_from_dict(data), threads=1)
    out = []
    for begin in [session.preview] + [session.refine] * (session.finest > 0):
        for state in begin():
            if state.accepted:
                if state.level == len(out):
                    out.append(dict[str, list[Any]]())
                assert session.problem is not None
                values = describe_motion(session.problem, state) | {"contacts": state.contacts}
                for name, value in values.items():
                    out[-1].setdefault(name, []).append(value)
    return out


def test_a_throw_has_the_energy_and_the_centre_that_it_should() -> None:
    two = [{"velocity": [1, 0, 2], "translate": [0, 0, 1]}, {"velocity": [0, -3, 0], "translate": [0, 0, 2]}]
    data = table(contact=NO_CONTACT, hierarchy={"levels": 1})
    data["shell"] = [data["shell"][0] | more for more in two]
    (history,) = histories(data)
    session = open_session(scene_from_dict(data), threads=1)
    mass, h = session.ladder.problem(0).mass.sum() / 2, 0.02
    for t in range(1, 11):
        v = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]]) + h * t * np.array([0, 0, -9.81])
        assert history["kinetic"][t - 1] == pytest.approx(0.5 * mass * (v**2).sum(), rel=1e-9)
        fallen = [0, 0, -0.5 * 9.81 * h * h * t * (t + 1)]
        expected = np.array([[h * t, 0, 1 + 2 * h * t], [0, -3 * h * t, 2]]) + fallen
        assert np.allclose(history["centres"][t - 1], expected, atol=1e-9)


def test_spin_is_that_of_a_turning_sheet() -> None:
    session = open_session(scene_from_dict(table(contact=NO_CONTACT, hierarchy={"levels": 1})), threads=1)
    problem = session.ladder.problem(0)
    middle = problem.mass @ problem.x0 / problem.mass.sum()
    r, turn = problem.x0 - middle, np.array([0.0, 0.0, 3.0])
    v = np.cross(turn, r) + np.array([5.0, 0.0, 0.0])
    spin = describe_motion(problem, State(0, 0, 0.0, problem.x0, v))["spin"]
    inertia = problem.mass @ (r[:, 0] ** 2 + r[:, 1] ** 2)
    assert spin == pytest.approx([0.0, 0.0, 3.0 * inertia], abs=1e-12)


def test_a_level_by_itself_explains_its_motion_up_to_its_tolerance() -> None:
    """What is left of M (xᵗ⁺¹ − 2xᵗ + xᵗ⁻¹)/h² + ∇E is what the solver left, so that the ratio of continuity is 1."""
    grid, problem = Grid(depth=np.inf), chain(8)
    swing(problem, Euler(H), grid, 12)
    m = problem.mass[problem.free]
    for t in range(2, 13):
        state, x = grid.at(0, t), [grid.at(0, t - k).x for k in range(3)]
        push = sum(part.gradient(state.x) for part in problem.potentials)
        a = ((x[0] - 2.0 * x[1] + x[2]) / H**2)[problem.free] + push[problem.free] / m[:, None]
        expected = np.sqrt(m @ (a**2).sum(axis=1) / m.sum())
        assert state.unexplained == state.unsolved == pytest.approx(expected, rel=1e-3, abs=1e-8)


def test_a_carried_level_leaves_something_unexplained_and_its_ratio_grows_with_precision() -> None:
    grid = Grid(depth=np.inf)
    swing(chain(8), Euler(H), grid, 30)
    swing(chain(16, level=1), VelPro(H, lambda coarse: finer_chain(8)), grid, 30)
    states = [grid.at(1, t) for t in range(2, 31)]
    # x̂ of the level below differs from its own, and by just that
    own = [2.0 * grid.at(1, t - 1).x - grid.at(1, t - 2).x for t in range(2, 31)]
    below = [grid.at(0, t - 1).x - grid.at(0, t - 2).x for t in range(2, 31)]
    problem, P = chain(16, level=1), finer_chain(8)
    for t, state in enumerate(states, 2):
        off = ((grid.at(1, t - 1).x + P(below[t - 2]) - own[t - 2]) / H**2)[problem.free]
        m = problem.mass[problem.free]
        expected = np.sqrt(m @ (off**2).sum(axis=1) / m.sum())
        assert state.unexplained == pytest.approx(expected, abs=2.0 * state.unsolved)
    assert max(state.unexplained for state in states) > 100.0 * max(state.unsolved for state in states) > 0.0


def test_levels_touch_at_the_same_step_and_are_compared() -> None:
    coarse, fine = histories(table(**DROP))
    first = report_motion(coarse).first_contact
    assert first is not None and first == report_motion(fine).first_contact
    assert 0.0 < compare_centres(coarse, fine) < 0.01 and 0.0 < compare_kinetic(coarse, fine) < 0.1
    assert compare_centres(fine, fine) == 0.0 and compare_kinetic(fine, fine) == 0.0


def test_comparisons_are_means() -> None:
    a = {"centres": [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]], "kinetic": [1.0, 2.0]}
    b = {
        "centres": [[[3, 4, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 2]], [[9, 9, 9], [9, 9, 9]]],
        "kinetic": [2.0, 2.0, 7.0],
    }
    assert compare_centres(a, b) == pytest.approx((5 + 0 + 1 + 2) / 4)
    assert compare_kinetic(a, b) == pytest.approx(np.sqrt(1.0 / 8.0))


def test_nothing_touches_in_the_air() -> None:
    report = report_motion({"contacts": [0, 0], "unexplained": [0.0, 0.0], "unsolved": [0.0, 0.0]})
    assert report.first_contact is None and report.continuity is None and report.unexplained == 0.0
