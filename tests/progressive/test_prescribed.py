"""Prescribed motion: held back by pinned cloth, free of other colliders, exact where nothing is in the way."""

from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import Table, accepted, make_problem, without_intersections

from plisse.core.arrays import Floats
from plisse.progressive.scene_problem import SceneProblem
from plisse.scene.schedule import rotation

OFFSET, DHAT = 1e-3, 2e-3
MODES = pytest.mark.parametrize("mode", ["static", "dynamic"])


def scene(shell: Table, colliders: list[Table], mode: str, **more: Any) -> SceneProblem:
    return make_problem(
        shell, collider=colliders, contact={"offset": OFFSET, "dhat": DHAT},
        time={"mode": mode, "h": 0.04, "duration": 0.28, "max_steps": 12}, **more,
    )  # fmt: skip


def moving(translate: list[float], **more: Any) -> Table:
    return {"motion": [{"time": 0.2, "translate": translate}], **more}


def of_body(problem: SceneProblem, x: Floats, body: int) -> Floats:
    return x[problem.bodies.of_vertex == body]


# --- a collider against pins --------------------------------------------------------------------------------

# the patch in the middle of the cloth under the ram, or all of the cloth
PATCHES: dict[str, Table] = {
    "patch": {"box": [[-0.06, -0.06, -1], [0.06, 0.06, 1]]},
    "everything": {"box": [[-1, -1, -1], [1, 1, 1]]},
}


@MODES
@pytest.mark.parametrize("patch", PATCHES)
def test_collider_does_not_pass_through_pinned_cloth(patch: str, mode: str) -> None:
    cloth = {"shape": "grid", "width": 0.2, "height": 0.2, "resolution": 10, "pin": [PATCHES[patch]]}
    ram = {"shape": "box", "size": [0.05, 0.05, 0.04], "resolution": 2, "translate": [0, 0, 0.03]}
    problem = scene(cloth, [{**ram, **moving([0, 0, -0.04])}], mode)
    pinned = np.flatnonzero(~problem.free[: problem.bodies.n_simulated])
    for state in without_intersections(problem):
        assert np.array_equal(state.x[pinned], problem.x0[pinned])
        low = of_body(problem, state.x, 1)[:, 2].min()
        assert low > OFFSET
    # it came until contact held it, and kept its shape
    assert low < OFFSET + DHAT
    box, rest = of_body(problem, state.x, 1), of_body(problem, problem.x0, 1)
    assert box - box.mean(axis=0) == pytest.approx(rest - rest.mean(axis=0), abs=DHAT / 40)


# --- colliders among themselves -----------------------------------------------------------------------------


@MODES
def test_colliders_pass_through_each_other(mode: str) -> None:
    # a bar sweeps through a fixed post, into which it reaches from the start, below a cloth that settles on the post
    post = {"shape": "box", "size": [0.05, 0.05, 0.2], "resolution": 2, "translate": [0, 0, -0.1]}
    bar = {"shape": "box", "size": [0.1, 0.03, 0.03], "resolution": 2, "translate": [-0.07, 0, -0.1]}
    cloth = {"shape": "grid", "width": 0.1, "height": 0.1, "resolution": 5, "translate": [0, 0, 0.004]}
    problem = scene(cloth, [post, {**bar, **moving([0.14, 0, 0])}], mode)
    for state in without_intersections(problem):
        reached = problem.prescribed(problem.x0, state.time)
        assert np.array_equal(state.x[problem.bodies.n_simulated :], reached[problem.bodies.n_simulated :])
    assert of_body(problem, state.x, 2)[:, 0].mean() == pytest.approx(0.07, abs=1e-12)


# --- nothing in the way -------------------------------------------------------------------------------------


@MODES
def test_free_pin_arrives_exactly(mode: str) -> None:
    key = {"time": 0.2, "translate": [0.01, 0.05, -0.03], "rotate": [0, 40, 10], "scale": [1, 1, 1]}
    cloth = {
        "shape": "grid", "width": 0.2, "height": 0.2, "resolution": 6,
        "pin": [{"box": [[-0.1, -1, -1], [-0.1, 1, 1]], "motion": [key]}],
    }  # fmt: skip
    problem = scene(cloth, [], mode)
    led = problem.is_scripted
    assert led.sum() == 7
    for state in (state for state in without_intersections(problem) if state.accepted):
        # also on the way: every step ends at its own time's place
        assert np.array_equal(state.x[led], problem.prescribed(problem.x0, state.time)[led])
    place = problem.x0[led] @ rotation([0, 40, 10]).T + [0.01, 0.05, -0.03]
    assert state.x[led] == pytest.approx(place, abs=1e-15)


def test_pin_rests_after_its_last_key() -> None:
    cloth = {
        "shape": "grid", "width": 0.2, "height": 0.2, "resolution": 6,
        "pin": [{"corners": True, **moving([0, 0, 0.02])}],
    }  # fmt: skip
    problem = scene(cloth, [], "dynamic")
    *_, before, last = accepted(problem)
    assert before.time > 0.2
    assert np.array_equal(before.x[problem.is_scripted], last.x[problem.is_scripted])
    assert np.array_equal(last.v[problem.is_scripted], np.zeros((4, 3)))
