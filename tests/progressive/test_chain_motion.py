"""The printed example of many levels, a chain of masses and springs in a plane that is held at both ends.

[Zhang2025] §5.1: sixteen levels, each a little finer than the one below.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.problems import chain

from plisse.core.arrays import Floats
from plisse.core.grid import Grid
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.hierarchy.maps import LinearMap
from plisse.kernels.threads import use_threads
from plisse.progressive.integrators import CARRIED, Euler, Integrator, Prediction, VelPro
from plisse.progressive.march import Pace, march
from plisse.solve.newton import make_newton

LEVELS = 16
LINKS = [int(links) for links in np.round(np.geomspace(8, 128, LEVELS))]
H = 0.01


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


def finer(level: int) -> LinearMap:
    """To the next level, along the chain: between two old vertices lies the straight line."""
    coarse, fine = LINKS[level], LINKS[level + 1]
    at = np.linspace(0.0, coarse, fine + 1)
    first = np.minimum(at.astype(int), coarse - 1)
    matrix, rows = np.zeros((fine + 1, coarse + 1)), np.arange(fine + 1)
    matrix[rows, first], matrix[rows, first + 1] = 1.0 - (at - first), at - first
    return LinearMap(matrix)


MAPS = [finer(level) for level in range(LEVELS - 1)]


def up(x: Floats, first: int, last: int) -> Floats:
    """P x from one level to another."""
    for level in range(first, last):
        x = MAPS[level](np.ascontiguousarray(x))
    return x


# --- without forces ---------------------------------------------------------------------------------------------------


def put(grid: Grid, level: int, step: int, x: Floats, before: Floats) -> None:
    grid.put(State(level, step, step * H, x, (x - before) / H))


def drift(grid: Grid, integrator: Integrator, level: int, steps: int) -> None:
    """Steps without forces, whose end is what was expected."""
    for step in range(2, steps + 2):
        last = grid.at(level, step - 1).x
        put(grid, level, step, integrator.predict(grid, level, step).x_hat, last)


def moving(first: int, delta: Floats | None) -> tuple[Grid, Floats, Floats]:
    """Levels that agree at steps 0 and 1, but for delta by which levels above `first` are off at step 1.

    Also the positions of level `first` then.
    """
    rng, grid = np.random.default_rng(2), Grid(depth=np.inf)
    x0, x1 = (rng.normal(size=(LINKS[0] + 1, 3)) for _ in range(2))
    for level in range(LEVELS):
        before, x = up(x0, 0, level), up(x1, 0, level)
        if delta is not None and level > first:
            x = x - up(delta, first + 1, level)
        put(grid, level, 0, before, before)
        put(grid, level, 1, x, before)
    return grid, up(x0, 0, first), up(x1, 0, first)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize(
    ("motion", "factor"),
    [("semi-diagonal", lambda n: 2**n - n - 1), ("full-diagonal", lambda n: 0), ("velpro", lambda n: -n)],
)
def test_what_a_level_is_off_by_grows_along_the_diagonal_as_published(motion: str, factor: Any, first: int) -> None:
    """[Zhang2025] theorem 2: P ((n + 1) x₁ − n x₀) + (2ⁿ − n − 1) P δ after n steps and n levels, semi-diagonally."""
    delta = np.random.default_rng(3).normal(size=(LINKS[first + 1] + 1, 3))
    delta[[0, -1]] = 0.0  # the ends are held
    grid, x0, x1 = moving(first, delta)
    drift(grid, Euler(H), 0, LEVELS)
    for level in range(1, LEVELS):
        drift(grid, CARRIED[motion](H, MAPS.__getitem__), level, LEVELS)
    for n in range(1, LEVELS - first):
        expected = up((n + 1) * x1 - n * x0, first, first + n) + factor(n) * up(delta, first + 1, first + n)
        assert grid.at(first + n, 1 + n).x == pytest.approx(expected, abs=1e-9 * 2**n), n


@pytest.mark.parametrize("motion", ["semi-diagonal", "full-diagonal", "velpro"])
def test_levels_that_agree_go_on_as_one(motion: str) -> None:
    """[Zhang2025] theorem 1: n steps and n levels up, P ((n + 1) x₁ − n x₀) where all levels agree, and only there."""
    grid, _, _ = moving(0, None)
    drift(grid, Euler(H), 0, LEVELS)
    for level in range(1, LEVELS):
        drift(grid, CARRIED[motion](H, MAPS.__getitem__), level, LEVELS)
    for level in range(1, LEVELS):
        for step in (2, 9, LEVELS + 1):
            assert grid.at(level, step).x == pytest.approx(MAPS[level - 1](grid.at(level - 1, step).x), abs=1e-8)
            n = min(level, step - 1)
            before, last = (grid.at(level - n, step - n - k).x for k in (1, 0))
            assert grid.at(level, step).x == pytest.approx(up((n + 1) * last - n * before, level - n, level), abs=1e-8)


def test_levels_that_do_not_agree_do_not() -> None:
    grid, _, _ = moving(0, np.full((LINKS[1] + 1, 3), 1e-3))
    drift(grid, Euler(H), 0, LEVELS)
    for level in range(1, LEVELS):
        drift(grid, CARRIED["semi-diagonal"](H, MAPS.__getitem__), level, LEVELS)
    before, last = (grid.at(0, step).x for step in (2, 3))
    assert np.abs(grid.at(5, 8).x - up(6.0 * last - 5.0 * before, 0, 5)).max() > 1e-3


# --- with forces ------------------------------------------------------------------------------------------------------


def swing(motion: str, w: float, steps: int) -> tuple[list[float], list[float]]:
    """Of every level: how far it ever is from the level 0 [m], and its largest kinetic energy [J]."""
    grid, far, kinetic = Grid(depth=np.inf), [], []
    for level, links in enumerate(LINKS):
        problem = chain(links, level=level)
        way: Integrator = Euler(H)
        if level > 0 and motion != "direct":
            way = CARRIED[motion](H, MAPS.__getitem__, consistency=w)
        for _ in march(problem, way, make_newton(), Clock(), Pace(1e-3, steps, 60, 60), grid):
            pass
        states = [grid.at(level, t) for t in range(steps + 1)]
        far.append(max(float(np.abs(s.x - up(grid.at(0, t).x, 0, level)).max()) for t, s in enumerate(states)))
        kinetic.append(max(0.5 * float(problem.mass @ (s.v**2).sum(axis=1)) for s in states))
    return far, kinetic


def test_the_semi_diagonal_way_breaks_on_many_levels() -> None:
    """As printed: fine below ten levels, then farther and farther off with every level."""
    far, kinetic = swing("semi-diagonal", 0.0, 40)
    assert max(far[:6]) < 0.1  # of a chain of 1 m
    assert far[-1] > 1.0 and kinetic[-1] > 1e3 * kinetic[0]
    assert (np.diff(far[6:]) > 0.0).all()


@pytest.mark.parametrize(("motion", "w"), [("velpro", 0.0), ("velpro", 1.0), ("full-diagonal", 0.0), ("direct", 0.0)])
def test_the_other_ways_do_not(motion: str, w: float) -> None:
    far, kinetic = swing(motion, w, 40)
    assert max(far) < 0.12 and max(kinetic) < 2.0 * kinetic[0]


def test_the_pull_lowers_distance_and_details_with_every_step_of_its_strength() -> None:
    """[Zhang2025] eq. 13, fig. 16: ‖Π x₁ − x₀‖ and what of x₁ lies outside of the range of P, means over a motion."""
    steps, found = 60, []
    P = np.column_stack([MAPS[0](np.repeat(unit[:, None], 3, axis=1))[:, 0] for unit in np.eye(LINKS[0] + 1)])
    for w in (0.0, 0.1, 0.25, 0.5, 1.0, 3.0):
        grid = Grid(depth=np.inf)
        for level, way in enumerate((Euler(H), VelPro(H, MAPS.__getitem__, consistency=w))):
            problem = chain(LINKS[level], level=level)
            for _ in march(problem, way, make_newton(), Clock(), Pace(1e-6, steps, 60, 60), grid):
                pass
        fine = np.array([grid.at(1, t).x for t in range(steps + 1)])
        near = np.linalg.pinv(P) @ fine
        off = near - np.array([grid.at(0, t).x for t in range(steps + 1)])
        found.append([np.linalg.norm(each, axis=(1, 2)).mean() for each in (off, fine - P @ near)])
    assert (np.diff(found, axis=0) < 0.0).all()


# --- where steps begin ------------------------------------------------------------------------------------------------

Change = Callable[[Prediction], Prediction]


class Told(VelPro):
    """Drawn to the level below, with another guess where a step ends."""

    def __init__(self, change: Change) -> None:
        super().__init__(H, MAPS.__getitem__, consistency=1.0)
        self._change = change

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        return self._change(super().predict(grid, level, step))


def follow(change: Change, *, tol: float = 1e-8) -> tuple[Floats, int]:
    """Positions of level 1 after every step, and all of its Newton iterations."""
    grid, steps, pace = Grid(depth=np.inf), 40, Pace(tol, 40, 60, 60)
    for level, way in enumerate((Euler(H), Told(change))):
        for _ in march(chain(LINKS[level], level=level), way, make_newton(), Clock(), pace, grid):
            pass
    return np.array([grid.at(1, t).x for t in range(steps + 1)]), grid.at(1, steps).newton_iterations


def test_a_step_begins_where_the_level_below_ends_and_ends_where_it_would() -> None:
    def forget(prediction: Prediction) -> Prediction:
        return replace(prediction, guess=None)

    (_, few), (_, many) = (follow(change, tol=0.01) for change in (lambda prediction: prediction, forget))
    assert few < 0.85 * many
    (known, _), (unknown, _) = (follow(change) for change in (lambda prediction: prediction, forget))
    assert known == pytest.approx(unknown, abs=1e-8)


def test_what_is_far_uphill_is_no_place_to_begin() -> None:
    def afar(prediction: Prediction) -> Prediction:
        return replace(prediction, guess=5.0 * prediction.x)

    (found, same), (expected, iterations) = follow(afar), follow(lambda prediction: replace(prediction, guess=None))
    assert np.array_equal(found, expected) and same == iterations
