"""Levels begin with shells that give way to compression, so that creases of coarse triangles are released."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.potential import Sum, frozen
from plisse.core.state import State
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive import rest
from plisse.progressive.session import Session
from plisse.runs.opening import open_session

COTTON: dict[str, Any] = {"shape": "grid", "vertices": 60, "material": "cotton"}
BALL: dict[str, Any] = {"shape": "sphere", "radius": 0.3, "subdivisions": 2, "translate": [0, 0, -0.31]}


def make_session(*shells: dict[str, Any], colliders: tuple[dict[str, Any], ...] = (), **hierarchy: Any) -> Session:
    table: dict[str, Any] = {"shell": list(shells), "hierarchy": {"levels": 3} | hierarchy}
    return open_session(scene_from_dict(table | ({"collider": list(colliders)} if colliders else {}), Path()))


def squeezed(x: Floats) -> Floats:
    return frozen(x * np.array([0.98, 1.0, 1.0]))


def energy_of(session: Session, level: int, part: float) -> float:
    problem = session.ladder.problem(level)
    return Sum(problem.eased(part).elastic).value(squeezed(problem.x0))


def test_compression_is_resisted_more_and_more() -> None:
    session = make_session(COTTON)
    energies = [energy_of(session, 2, part) for part in (0.0, 0.3, 0.6, 1.0)]
    assert all(a < b for a, b in pairwise(energies)) and energies[0] < 0.2 * energies[-1]
    problem = session.ladder.problem(2)
    assert problem.eased(1.0) is problem
    # the sparsity pattern is known by the arrays of the stencils
    pairs = zip(Sum(problem.eased(0.5).elastic).stencils(), Sum(problem.elastic).stencils(), strict=True)
    assert all(a is b for a, b in pairs)


@pytest.mark.parametrize(
    ("shell", "hierarchy"),
    [
        ({"material": "paper", "width": 0.1, "height": 0.1}, {}),
        ({}, {"preset": "paper"}),
        ({}, {"method": "direct"}),
        ({}, {"method": "cascadic"}),
    ],
    ids=["paper resolves its folds", "as published", "direct", "cascadic"],
)
def test_nothing_is_eased_where_no_level_gives_way(shell: dict[str, Any], hierarchy: dict[str, Any]) -> None:
    session = make_session(COTTON | shell, **hierarchy)
    for level in range(3):
        problem = session.ladder.problem(level)
        assert problem.eased(0.0) is problem


def test_level_0_is_not_eased() -> None:
    problem = make_session(COTTON).ladder.problem(0)
    assert problem.eased(0.0) is problem


def test_only_the_shells_that_give_way_are_eased() -> None:
    sheet = COTTON | {"material": "paper", "width": 0.1, "height": 0.1, "translate": [0, 0, 1]}
    problem = make_session(COTTON, sheet).ladder.problem(2)
    assert problem._ease is not None and problem._ease[0] < 0.1 and problem._ease[1] == 1.0


def settle(levels: int) -> State:
    session = make_session(COTTON | {"vertices": 150}, colliders=(BALL,), levels=levels)
    *_, state = session.preview()
    *_, state = session.refine()
    assert state.converged
    return state


def test_a_level_that_is_eased_ends_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    eased = settle(2)
    # rest does not count before the membrane is whole
    assert eased.newton_iterations > rest.EASE
    monkeypatch.setattr(rest, "EASE", 1e-9)
    assert eased.energy < settle(2).energy
