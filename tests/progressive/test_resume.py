"""What a solver remembers from step to step, written down and put back: the next steps are the same to the bit."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import make_newton, make_problem, states

from plisse.core.potential import Sum
from plisse.core.state import Checkpoint, State
from plisse.progressive.scene_problem import SceneProblem
from plisse.solve.newton import Newton

DAMPED = {"preset": "cotton", "damping": "5 ms"}
SHEET = {"shape": "grid", "width": 0.3, "height": 0.3, "resolution": 7, "material": DAMPED}
BALL = {"shape": "sphere", "radius": 0.1, "subdivisions": 2, "translate": [0, 0, 0]}
LED = BALL | {"motion": [{"time": 0.0}, {"time": 0.2, "translate": [0.03, 0, 0.03]}]}


def make_stack(mode: str, collider: dict[str, Any] = BALL, **rest: Any) -> SceneProblem:
    """Cloth on cloth on a ball."""
    shells = [
        SHEET | {"name": "lower", "translate": [0, 0, 0.103]},
        SHEET | {"name": "upper", "translate": [0.01, 0, 0.106], "rotate": [0, 0, 30], "seed": 1},
    ]
    time = {"mode": "dynamic", "h": 0.02, "duration": 0.3} if mode != "static" else {}
    if mode == "bdf2":
        time["integrator"] = "bdf2"
    return make_problem(shells, collider=[collider], contact={"dhat": 2e-3, "friction": 0.3}, time=time, **rest)


def remember(problem: SceneProblem, newton: Newton, state: State, before: State) -> Checkpoint:
    assert problem.barrier is not None
    return Checkpoint(state, (before.x, before.v), problem.barrier.memory, newton.memory)


def accepted(walk: Any, count: int) -> list[State]:
    return list(islice((state for state in walk if state.accepted), count))


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize(("mode", "led"), [("static", False), ("euler", True), ("bdf2", True), ("bdf2", False)])
def test_the_next_steps_are_the_same_to_the_bit(mode: str, led: bool, precision: str) -> None:
    wind = {"velocity": [0.5, 0, 0], "gusts": 0.3, "turbulence": 0.3} if led else None
    rest = {"solver": {"precision": precision}} | ({"wind": wind} if wind else {})
    collider = LED if led else BALL
    problem = make_stack(mode, collider, **rest)
    newton = make_newton(problem)
    walk = states(problem, newton)
    early = accepted(walk, 8)
    at = remember(problem, newton, early[-1], early[-2])
    assert at.couplings is not None and len(at.couplings.keys) > 0 and early[-1].contacts > 20
    expected = accepted(walk, 4)
    other = make_stack(mode, collider, **rest)
    newton = make_newton(other)
    found = accepted(states(other, newton, at), 4)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.step == theirs.step and mine.newton_iterations == theirs.newton_iterations
        assert mine.energy == theirs.energy and mine.residual == theirs.residual
        assert mine.x.tobytes() == theirs.x.tobytes() and mine.v.tobytes() == theirs.v.tobytes()


def test_candidates_are_found_again_in_the_same_order() -> None:
    problem = make_stack("euler")
    *_, last = accepted(states(problem), 6)
    other = make_stack("euler")
    assert problem.barrier is not None and other.barrier is not None and problem.barrier.memory is not None
    other.barrier.recall(problem.barrier.memory)
    assert other.barrier._near is not None and problem.barrier._near is not None
    mine, theirs = other.barrier._near, problem.barrier._near
    assert len(mine.pairs) > 100
    for name in ("pairs", "offset", "dhat", "stiffness", "threshold"):
        assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes(), name
    assert mine.candidates.margin == theirs.candidates.margin
    builds = other.barrier.builds
    assert other.barrier.value(last.x) == problem.barrier.value(last.x) and other.barrier.builds == builds


def test_a_pattern_is_taken_up_for_the_same_stencils_only() -> None:
    problem = make_stack("euler")
    newton = make_newton(problem)
    accepted(states(problem, newton), 8)
    memory = newton.memory
    assert memory is not None and len(memory.keys) > 0 and newton._pattern is not None
    stencils = Sum(problem.potentials).stencils()
    same, fewer, held = (make_newton(problem) for _ in range(3))
    same.recall(memory, problem.free, stencils)
    assert same._pattern is not None and np.array_equal(same._pattern.keys, newton._pattern.keys)
    assert np.array_equal(same._pattern.free_index, newton._pattern.free_index)
    assert same.memory is not None and np.array_equal(same.memory.keys, memory.keys)
    fewer.recall(memory, problem.free, stencils[:-1])
    free = problem.free.copy()
    free[0] = False
    held.recall(memory, free, stencils)
    assert fewer._pattern is None and held._pattern is None
