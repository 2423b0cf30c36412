"""The march works on any Problem: masses and springs, tetrahedra, contact of a solid's surface, a user's barrier."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from tests.problems import G, boundary_of, chain, dropped_bar, finer_chain, hanging_bar

from plisse.contact.check import Detector
from plisse.contact.plane import PlaneContact
from plisse.core.grid import Grid
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.hierarchy.expand import MidpointExpansion
from plisse.kernels.threads import use_threads
from plisse.progressive.integrators import BDF2, Euler, Integrator, Statics
from plisse.progressive.march import Pace, march
from plisse.progressive.rest import Aim
from plisse.runs.tally import LevelRun, Tally, report_level
from plisse.solve.newton import make_newton
from plisse.solve.problem import Problem, force_balance


def walk(
    problem: Problem, integrator: Integrator, *, steps: int = 400, tol: float = 1e-7, grid: Grid | None = None
) -> Iterator[State]:
    use_threads(1)
    pace = Pace(tol, steps, 1 if integrator.seeks_rest else 60, 60)
    return march(problem, integrator, make_newton(), Clock(), pace, grid or Grid())


def rest(problem: Problem, **options: float) -> State:
    *_, state = walk(problem, Statics(0.3), **options)  # type: ignore[arg-type]
    assert state.converged and state.accepted
    return state


# --- masses and springs -----------------------------------------------------------------------------------------------


def test_a_hanging_chain_balances_its_weight_at_its_ends() -> None:
    problem = chain(12)
    state = rest(problem)
    forces = -problem.potentials[0].gradient(state.x)
    # its springs carry the weight of what hangs free; it sags, in its own plane, and evenly
    weight = problem.mass[problem.free].sum() * 9.81
    assert -forces[~problem.free, 2].sum() == pytest.approx(weight, rel=1e-5)
    assert forces[0, 2] == pytest.approx(forces[-1, 2], rel=1e-5)
    assert np.abs(state.x[:, 1]).max() < 1e-12 and -0.35 < state.x[:, 2].min() < -0.2
    assert state.x[:, 2] == pytest.approx(state.x[::-1, 2], abs=1e-7)
    assert force_balance(problem, state.x, [], Clock()) == state.force_balance < 0.02


@pytest.mark.parametrize(("integrator", "order"), [(Euler, 1), (BDF2, 2)])
def test_a_mass_on_two_springs_swings_with_its_period(integrator: type[Integrator], order: int) -> None:
    """ω² = 2 k_link / m along taut springs; the error of the phase falls with the integrator's order."""
    errors = []
    for h in (0.002, 0.001):
        problem = chain(2, k=50.0, mass=0.2)
        mass, k = problem.mass[1], 100.0
        problem.potentials = problem.potentials[:1]  # without gravity
        X = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [1.2, 0.0, 0.0]])  # both links stretched from 0.5
        problem.x0, problem.v0 = X, np.zeros_like(X)
        problem.v0[1, 0] = 0.1
        omega = np.sqrt(2.0 * k / mass)
        states = [s for s in walk(problem, integrator(h), steps=round(0.15 / h), tol=1e-9) if s.accepted]
        t = np.array([s.time for s in states])
        x = np.array([s.x[1, 0] - 0.6 for s in states])
        errors.append(np.abs(x - 0.1 / omega * np.sin(omega * t)).max())
    assert errors[1] < (0.6 if order == 1 else 0.3) * errors[0]
    assert errors[1] < (0.4 if order == 1 else 0.02) * 0.1 / omega


# --- tetrahedra -------------------------------------------------------------------------------------------------------


def test_a_bar_stretches_under_its_own_weight() -> None:
    """u = ρ g L² / 2E at its end, for small strains."""
    problem = hanging_bar(16)
    state = rest(problem, tol=1e-6)
    lowest = problem.x0[:, 2] < 1e-9
    u = (problem.x0[lowest, 2] - state.x[lowest, 2]).mean()
    assert u == pytest.approx(1000.0 * 9.81 * 0.4**2 / (2.0 * 1e5), rel=0.05)


def test_a_block_comes_to_rest_on_a_plate_and_only_its_surface_collides() -> None:
    problem = dropped_bar()
    barrier, detector = problem.barrier, Detector.of(problem)
    assert barrier is not None and problem.surface is not None
    inside = np.setdiff1d(np.arange(problem.bodies.n_simulated), problem.surface.triangles)
    assert len(inside) == 3 * 3 * 2 and not np.isin(barrier.surface.points, inside).any()
    touched = False
    for state in walk(problem, Statics(0.1), tol=1e-3):
        assert detector.count(state.x) == 0 and problem.clearance(state.x) > 1.0
        touched = touched or state.contacts > 0
    assert state.converged and touched and state.force_balance < 0.02
    force = barrier.gradient(state.x)[problem.bodies.is_simulated, 2].sum()
    assert -force == pytest.approx(problem.mass.sum() * 9.81, rel=0.03)


def test_a_block_falls_freely_before_it_touches() -> None:
    problem = dropped_bar()
    h = 0.01
    first = next(s for s in walk(problem, Euler(h), steps=1) if s.accepted)
    block = problem.bodies.is_simulated
    assert first.x[block] - problem.x0[block] == pytest.approx(np.tile(G * h * h, (block.sum(), 1)), abs=1e-9)
    assert np.array_equal(first.x[~block], problem.x0[~block])


def test_every_face_of_the_block_is_found_once() -> None:
    problem = dropped_bar()
    assert problem.surface is not None
    assert problem.simulated_triangles == 2 * 2 * (4 * 4 + 4 * 3 + 4 * 3)
    assert len(boundary_of(np.array([[0, 1, 2, 3]], np.int32))) == 4


# --- what stands around the march -------------------------------------------------------------------------------------


def test_the_report_knows_nothing_of_scenes() -> None:
    problem, newton, clock = dropped_bar(), make_newton(), Clock()
    tally, grid = Tally.of(problem, 3), Grid()
    start = State(0, 0, 0.0, problem.x0, problem.v0)
    run = LevelRun(tally, newton, clock, start, time.perf_counter(), last=400, aim=Aim(1e-3), placed=False, moves=False)
    steps = []
    for state in march(problem, Statics(0.1), newton, clock, Pace(1e-3, 400, 1, 60), grid):
        tally.look(state)
        if state.accepted:
            steps.append(run.describe_step(state, None))
    report = report_level(run.checkpoint(state, ended=True), steps, dynamic=False)
    assert report.converged and report.intersections == 0 and report.states_checked >= 2
    assert report.vertices == problem.bodies.n_simulated and report.triangles == problem.simulated_triangles
    assert report.min_distance_over_offset > 1.0 and len(report.history["energy"]) == state.step


def test_states_lie_on_the_grid_and_a_march_goes_on_from_there() -> None:
    problem, grid = chain(6), Grid()
    early = [s for s in walk(problem, Euler(0.01), steps=5, grid=grid) if s.accepted]
    assert grid.last(0) is early[-1] and grid.at(0, 4) is early[-2] and grid.get(0, 3) is None
    late = [s for s in walk(problem, Euler(0.01), steps=8, grid=grid) if s.accepted]
    whole = [s for s in walk(chain(6), Euler(0.01), steps=8) if s.accepted]
    assert [s.step for s in late] == [6, 7, 8]
    assert np.array_equal(late[-1].x, whole[-1].x)


def test_a_grid_asks_for_older_states_where_they_are_kept() -> None:
    problem, kept = chain(4), {}
    grid = Grid(depth=2, older=lambda level, step: kept.get((level, step)))
    for state in walk(problem, Euler(0.01), steps=6, grid=grid):
        if state.accepted:
            kept[0, state.step] = state
    assert grid.at(0, 1) is kept[0, 1] and grid.get(1, 1) is None
    with pytest.raises(KeyError, match="level 1"):
        grid.at(1, 1)


def floor_under(problem: Problem, height: float) -> PlaneContact:
    every = np.arange(len(problem.x0), dtype=np.int32)
    up, size = np.array([0.0, 0.0, 1.0]), np.ones(len(every))
    return PlaneContact(up * height, up, every, size, kappa=1.0, dhat=1e-2, offset=1e-3)


@pytest.mark.parametrize("levels", [1, 3])
def test_a_barrier_holds_on_the_way_to_a_finer_chain(levels: int) -> None:
    """No scene, no shell: the same expansion takes a chain to finer ones, above a floor that their targets cross."""
    links, height = 5, -0.12
    problem = chain(links)
    problem.potentials = [*problem.potentials, floor_under(problem, height)]
    x = rest(problem, tol=1e-6).x
    use_threads(1)
    for level in range(1, levels + 1):
        step = finer_chain(links)

        def make(start: np.ndarray, level: int = level, links: int = links) -> Problem:
            fine = chain(2 * links, level=level)
            fine.x0 = start
            fine.potentials = [*fine.potentials, floor_under(fine, height)]
            return fine

        target = step(x) - np.array([0.0, 0.0, 0.05])
        assert target[:, 2].min() < height
        states = MidpointExpansion(step)(x, target, make, make_newton(), Clock(), h=0.3)
        while True:
            try:
                y = next(states)
                assert y[:, 2].min() > height + 1e-3
            except StopIteration as done:
                start = done.value
                break
        moved = np.linalg.norm(start.x - step(x), axis=1)
        assert moved.max() > 0.02 and not moved[[0, -1]].any()
        grid = Grid()
        grid.put(State(level, 0, 0.0, start.x, np.zeros_like(start.x)))
        *_, state = walk(start.problem, Statics(0.3, target=start.target), grid=grid, tol=1e-6)
        assert state.converged and state.level == level
        x, links = state.x, 2 * links
        # on the floor in the middle, as before
        assert height + 1e-3 < x[:, 2].min() < height + 1.2e-2
