"""Preview and refine: feasible all the way, an equilibrium of the true model at the end, on every kind of scene."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import Table

from plisse.contact.check import Detector
from plisse.core.potential import Clock, Sum
from plisse.core.state import State
from plisse.hierarchy.loop import subdivide
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.scene_problem import SceneProblem
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.levels import Levels
from plisse.solve.problem import potential_energy

SHEET: Table = {"shape": "grid", "vertices": 150, "diagonals": "jittered"}
BALL: Table = {"shape": "sphere", "radius": 0.25, "subdivisions": 2}
FLOOR: Table = {"shape": "floor"}
LIMITED: Table = {"preset": "cotton", "E": 8.21e4, "strain_limit": 1.06}


def make_session(
    shell: Table | None = None, *, collider: list[Table] | None = None, levels: int = 3, **rest: Any
) -> Session:
    """A sheet over a ball on the floor, unless told otherwise; keys that are no tables go to the hierarchy."""
    use_threads(1)
    tables = {key: rest.pop(key) for key in ("gravity", "wind", "contact", "solver", "time") if key in rest}
    data = {
        "shell": [SHEET | (shell or {})],
        "collider": [BALL, FLOOR] if collider is None else collider,
        "hierarchy": {"levels": levels} | rest,
        **tables,
    }
    return open_session(scene_from_dict(data, Path()))


def check_states(session: Session, states: Iterator[State]) -> Iterator[State]:
    """Passes the states of the level at work on: intersections, distances and stretches of each are looked at."""
    problem: SceneProblem | None = None
    detector: Detector | None = None
    for state in states:
        if session.problem is not None and problem is not session.problem:
            problem, detector = session.problem, Detector.of(session.problem)
        if problem is not None and detector is not None and state.level == problem.level:
            assert detector.count(state.x) == 0
            assert problem.clearance(state.x) > 1.0
            if problem.strain_limit is not None and state.accepted:
                assert problem.strain_limit.max_stretch_over_limit(state.x) < 1.0
        yield state


def climb(session: Session) -> dict[int, State]:
    """Preview and refine to the end, all states checked; the last state of each level."""
    last: dict[int, State] = {}
    for work in (session.preview, session.refine):
        for state in check_states(session, work()):
            if state.accepted:
                last[state.level] = state
    return last


def check_ends(session: Session, last: dict[int, State]) -> None:
    """Every level ends in equilibrium, the finest one in that of the plain potential."""
    assert sorted(last) == list(range(session.finest + 1))
    for level, state in last.items():
        assert state.converged and state.level == level and state.force_balance < 0.02
        assert state.residual <= session.ladder.tol(level)
    x = last[session.finest].x
    plain = SceneProblem(session.scene, session.ladder.geometry(session.finest))
    assert last[session.finest].energy == pytest.approx(potential_energy(plain, x, Clock()), rel=1e-9)


# --- the whole way --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", [Levels().preset, "paper"])
def test_a_drape_is_feasible_all_the_way_and_in_equilibrium_at_the_end(preset: str) -> None:
    session = make_session(preset=preset)
    last = climb(session)
    check_ends(session, last)
    steps = [last[level].step for level in range(3)]
    # with Loop's proxy the finest level of so small a scene still has as much to do as the coarsest
    assert preset == "paper" or steps == sorted(steps, reverse=True)
    for level, state in last.items():
        x = state.x[: len(session.ladder.geometry(level).shells[0].X)]
        # on the ball and on the floor, evenly
        assert -0.05 < x[:, 2].max() < 0.0 and x[:, 2].min() < -0.45
        assert np.abs(x[:, :2].mean(axis=0)).max() < 0.03


@pytest.mark.parametrize("preset", [Levels().preset, "paper"])
def test_a_strain_limit_is_kept_on_all_levels(preset: str) -> None:
    session = make_session({"vertices": 60, "material": LIMITED}, preset=preset)
    last = climb(session)
    check_ends(session, last)
    problem = session.ladder.problem(2)
    assert problem.strain_limit is not None
    assert 0.94 < problem.strain_limit.max_stretch_over_limit(last[2].x) < 1.0


def test_two_runs_are_the_same_bit_by_bit() -> None:
    ends = [climb(make_session({"vertices": 80}, levels=2)) for _ in range(2)]
    for level in range(2):
        assert np.array_equal(ends[0][level].x, ends[1][level].x) and ends[0][level].step == ends[1][level].step


def test_a_coarse_state_is_nearer_to_the_end_than_its_start() -> None:
    """What a preview is for: prolonged to the finest level it shows most of what will be there."""
    session = make_session()
    last = climb(session)
    P = session.ladder.hierarchy.between(0, 2)
    start, coarse = P(session.ladder.problem(0).x0), P(last[0].x)
    apart = [np.linalg.norm(x - last[2].x) for x in (start, coarse)]
    assert apart[1] < 0.3 * apart[0]


@pytest.mark.parametrize("settings", [{"proxy_levels_up": 1}, {"proxy_levels_up": 0}])
def test_other_proxies_end_in_equilibrium_too(settings: Table) -> None:
    session = make_session({"vertices": 60}, preset="paper", **settings)
    check_ends(session, climb(session))


def test_wind_holds_a_flag_out_on_all_levels() -> None:
    pin = {"box": [[-0.2, -0.5, -1], [-0.2, 0.5, 1]]}
    shell = {"width": 0.4, "height": 0.3, "vertices": 60, "rotate": [90, 0, 0], "pin": [pin]}
    for preset in (Levels().preset, "paper"):
        session = make_session(shell, collider=[], levels=2, preset=preset, wind={"velocity": [0.0, 1.5, 0.0]})
        last = climb(session)
        assert all(state.converged for state in last.values())
        for level, state in last.items():
            # blown to the side that the wind goes to, and hanging
            free = session.ladder.problem(level).free
            assert state.x[free, 1].mean() > 0.005 and state.x[free, 2].mean() < -0.005


# --- methods --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["direct", "plain", "cascadic"])
def test_every_method_ends_in_the_same_kind_of_equilibrium(method: str) -> None:
    shell = {"vertices": 60}
    progressive = make_session(shell, levels=2)
    reference = climb(progressive)[1]
    session = make_session(shell, levels=2, method=method)
    if method == "cascadic":
        last = climb(session)
        check_ends(session, last)
        state = last[1]
        # every level's own energy
        own = Sum(session.ladder.problem(0).potentials).value(last[0].x)
        assert last[0].energy == pytest.approx(own, rel=1e-12)
    else:
        *_, state = check_states(session, session.settle(1))
    assert state.converged and state.force_balance < 0.02 and state.residual <= session.scene.solver.step_tol
    assert state.energy == pytest.approx(reference.energy, rel=0.08)


def test_plain_steps_are_solved_and_direct_ones_are_not() -> None:
    counts = {}
    for method in ("direct", "plain"):
        session = make_session({"vertices": 40}, levels=1, method=method, solver={"tol": 0.01})
        *_, state = session.settle(0)
        assert state.converged
        counts[method] = (state.step, state.newton_iterations)
    assert counts["direct"][0] == counts["direct"][1]
    assert counts["plain"][1] > 2 * counts["plain"][0]


def test_only_coarse_levels_of_the_progressive_method_have_a_tolerance_of_their_own() -> None:
    session = make_session({"vertices": 20}, coarse_tol=0.5, solver={"tol": 0.04})
    assert [session.ladder.tol(level) for level in range(3)] == [0.02, 0.02, 0.04]
    for method in ("cascadic", "direct", "plain"):
        session = make_session({"vertices": 20}, coarse_tol=0.5, solver={"tol": 0.04}, method=method)
        assert [session.ladder.tol(level) for level in range(3)] == [0.04] * 3


# --- what is prescribed ---------------------------------------------------------------------------------------------


def test_midpoints_of_pinned_edges_are_pinned_and_corners_stay_corners() -> None:
    pins = [{"corners": True}, {"box": [[-0.5, -0.5, -1], [-0.5, 0.5, 1]]}]
    session = make_session({"vertices": 49, "pin": pins}, collider=[])
    for level in range(3):
        geometry = session.ladder.geometry(level)
        corners, side = (geometry.shell_positions[0][chosen] for chosen in geometry.pins[0])
        assert sorted(map(tuple, np.round(corners[:, :2], 9).tolist())) == [
            (-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5),
        ]  # fmt: skip
        # the whole side and nothing else: 6 edges there become 12, then 24
        assert len(side) == 6 * 2**level + 1 and np.abs(side[:, 0] + 0.5).max() < 1e-12
        assert np.sort(side[:, 1]) == pytest.approx(np.linspace(-0.5, 0.5, len(side)))
        problem = session.ladder.problem(level)
        assert (~problem.free).sum() == len(side) + 2


def test_an_edge_between_two_different_pins_is_free_in_the_middle() -> None:
    pins = [{"box": [[-0.5, -0.5, -1], [-0.5, 0.5, 1]]}, {"box": [[-0.2, -0.5, -1], [-0.1, 0.5, 1]]}]
    session = make_session({"vertices": 16, "pin": pins, "diagonals": "uniform"}, collider=[], levels=2)
    geometry = session.ladder.geometry(1)
    for chosen, column in zip(geometry.pins[0], (-0.5, -1 / 6), strict=True):
        assert geometry.shell_positions[0][chosen, 0] == pytest.approx(column) and len(chosen) == 7


def test_a_hanging_cloth_keeps_its_pins_on_all_levels() -> None:
    session = make_session({"vertices": 60, "pin": [{"corners": True}]}, collider=[])
    last = climb(session)
    check_ends(session, last)
    for level, state in last.items():
        geometry = session.ladder.geometry(level)
        (chosen,) = geometry.pins[0]
        assert np.array_equal(state.x[chosen], geometry.shell_positions[0][chosen])


def make_ribbon(**settings: Any) -> Session:
    """A ribbon between two handles that turn against each other and come closer within 1.5 s."""

    def handle(side: float) -> Table:
        box = [[0.3 * side, -0.06, -1], [0.3 * side, 0.06, 1]]
        motion = [{"time": 1.5, "translate": [-0.05 * side, 0, 0], "rotate": [-90.0 * side, 0, 0]}]
        return {"box": box, "pivot": [0.3 * side, 0, 0], "motion": motion}

    shell = {"width": 0.6, "height": 0.12, "vertices": 80, "pin": [handle(-1.0), handle(1.0)]}
    return make_session(shell, collider=[], **settings)


def test_handles_arrive_on_all_levels() -> None:
    session = make_ribbon(compression=1.0)
    last = climb(session)
    check_ends(session, last)
    for level, state in last.items():
        geometry = session.ladder.geometry(level)
        for side, chosen in zip((-1.0, 1.0), geometry.pins[0], strict=True):
            _, y, z = geometry.shell_positions[0][chosen].T
            turned = np.column_stack([np.full(len(y), 0.25 * side), side * z, -side * y])
            assert state.x[chosen] == pytest.approx(turned, abs=1e-9)
        # time goes on from level to level, so that keyframes are over once
        assert state.time >= 1.5


@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"compression": 0.1}])
def test_energy_only_falls_once_the_handles_have_stopped(settings: Table) -> None:
    """E(x) + inertia about the step's start falls from that start on, so E falls from step to step."""
    session = make_ribbon(levels=2, contact={"enabled": False}, time={"max_steps": 60}, **settings)
    after = [state for state in session.preview() if state.accepted and state.time > 1.6]
    energies = np.array([state.energy for state in after])
    assert len(energies) > 5 and (np.diff(energies) <= 1e-12 * np.abs(energies).max()).all()


# --- colliders ------------------------------------------------------------------------------------------------------


def test_a_refined_collider_is_loop_subdivided_and_led_to_its_place() -> None:
    ball = {"shape": "sphere", "radius": 0.25, "subdivisions": 1, "refine": True, "translate": [0, 0, -0.27]}
    session = make_session({"vertices": 90}, collider=[ball, FLOOR])
    last = climb(session)
    check_ends(session, last)
    mesh = session.ladder.given.solids[0]
    for level, state in last.items():
        (placed,) = session.ladder.geometry(level).solids
        assert np.array_equal(placed.triangles, mesh.triangles)
        assert np.abs(placed.X - mesh.X).max() < 1e-15
        n = len(session.ladder.geometry(level).shells[0].X)
        there = np.linalg.norm(state.x[n:] - placed.X, axis=1).max()
        dhat = session.scene.contact.dhat
        assert dhat is not None and state.missed <= dhat and there <= dhat
        mesh, _ = subdivide(mesh, rule="loop")
    assert len(last[2].x) > len(last[0].x) + 3 * 80


def test_a_refined_collider_that_moves_follows_its_keyframes() -> None:
    ball = {
        "shape": "sphere", "radius": 0.15, "subdivisions": 1, "refine": True, "translate": [0, 0, -0.17],
        "motion": [{"time": 1.2, "translate": [0.0, 0.0, 0.1]}],
    }  # fmt: skip
    shell = {"vertices": 60, "width": 0.6, "height": 0.6, "pin": [{"corners": True}]}
    session = make_session(shell, collider=[ball], levels=2)
    last = climb(session)
    for level, state in last.items():
        n = len(session.ladder.geometry(level).shells[0].X)
        (placed,) = session.ladder.geometry(level).solids
        dhat = session.scene.contact.dhat
        assert state.converged and dhat is not None
        assert np.linalg.norm(state.x[n:] - placed.X - [0, 0, 0.1], axis=1).max() <= dhat


def test_a_fine_collider_serves_all_levels_as_it_is() -> None:
    session = make_session({"vertices": 20})
    for level in range(1, 3):
        assert session.ladder.geometry(level).solids[0] is session.ladder.geometry(0).solids[0]


# --- curved rest shapes ---------------------------------------------------------------------------------------------


def test_a_curved_rest_shape_is_subdivided_smoothly_and_ends_in_equilibrium() -> None:
    hat = {"shape": "hat", "radius": 0.1, "height": 0.12, "brim": 0.06, "vertices": 70}
    shell = {key: value for key, value in (SHEET | hat).items() if key != "diagonals"}
    use_threads(1)
    ball = {"shape": "sphere", "radius": 0.11, "subdivisions": 2}
    data = {"shell": [shell], "collider": [ball, FLOOR], "hierarchy": {"levels": 2}}
    session = open_session(scene_from_dict(data, Path()))
    assert session.ladder.hierarchy._rules == ("loop", None)
    fine, P = subdivide(session.ladder.given.shells[0], rule="loop")
    assert np.array_equal(session.ladder.geometry(1).shells[0].X, fine.X)
    # its start is its rest shape, where it stands
    assert session.ladder.geometry(1).shell_positions[0] == pytest.approx(
        P(session.ladder.given.shell_positions[0]), abs=1e-15
    )
    check_ends(session, climb(session))
