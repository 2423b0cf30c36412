"""Shells that are thrown with a spin or blown up in motion, colliders that turn and stop: on all levels."""

from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import NO_CONTACT, accepted, make_problem
from tests.progressive.test_motion import course, moved

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.session import Session
from plisse.runs.opening import open_session

SPIN = np.array([90.0, -30.0, 200.0])  # degrees a second
STIFF = {"density": 1000, "thickness": 1e-3, "E": 1e8, "nu": 0.3}


def angular_momentum(mass: Floats, x: Floats, v: Floats) -> Floats:
    """About the centre of mass [J s]."""
    centre = np.average(x, axis=0, weights=mass)
    return np.asarray((mass[:, None] * np.cross(x - centre, v)).sum(axis=0))


def inertia(mass: Floats, x: Floats) -> Floats:
    """Tensor of inertia about the centre of mass [kg m²], (3, 3)."""
    r = x - np.average(x, axis=0, weights=mass)
    return np.asarray((mass * (r**2).sum(axis=1)).sum() * np.eye(3) - np.einsum("n,ni,nj->ij", mass, r, r))


def test_a_throw_has_the_momentum_and_the_spin_that_are_set() -> None:
    heavy = {"box": [[1.02, 0, 0], [9, 9, 9]], "density": 3000}
    shell = {
        "shape": "grid", "width": 0.3, "height": 0.2, "resolution": [5, 4], "translate": [1, 2, 3],
        "rotate": [20, 30, 40], "velocity": [1, 0, -2], "spin": SPIN.tolist(), "region": [heavy],
    }  # fmt: skip
    problem = make_problem(shell, contact=NO_CONTACT)
    m, x, v = problem.mass, problem.x0, problem.v0
    assert np.average(v, axis=0, weights=m) == pytest.approx(np.array([1.0, 0.0, -2.0]), abs=1e-12)
    assert angular_momentum(m, x, v) == pytest.approx(inertia(m, x) @ np.radians(SPIN), rel=1e-9)


def test_without_forces_a_body_spins_on() -> None:
    """About its axis of symmetry, with BDF2, which loses little by itself: half a turn in 0.5 s."""
    shell = {"shape": "sphere", "radius": 0.1, "subdivisions": 1, "material": STIFF, "velocity": [1, 0, 0]}
    problem = make_problem(
        shell | {"spin": [0, 0, "1 turn/s"]}, gravity=[0, 0, 0], contact=NO_CONTACT, solver={"tol": 1e-6},
        time={"mode": "dynamic", "h": 5e-3, "duration": 0.5, "integrator": "bdf2"},
    )  # fmt: skip
    *_, last = accepted(problem)
    m = problem.mass
    assert np.average(last.v, axis=0, weights=m) == pytest.approx(np.array([1.0, 0.0, 0.0]), abs=1e-9)
    before = angular_momentum(m, problem.x0, problem.v0)
    assert angular_momentum(m, last.x, last.v) == pytest.approx(before, abs=0.01 * np.linalg.norm(before))
    turned = problem.x0 * [-1.0, -1.0, 1.0] + [0.5, 0.0, 0.0]
    assert np.abs(last.x - turned).max() < 2e-3


DECIMATED = {"kind": "decimation", "levels": [30, 60]}


@pytest.mark.parametrize("hierarchy", [{"levels": 3}, {"levels": 3, "preset": "paper"}, DECIMATED])
def test_all_levels_start_with_the_same_rigid_motion(hierarchy: dict[str, Any]) -> None:
    """v + ω × (x − c) with one c, that of the scene's own mesh, though a coarse dome's own centre is elsewhere."""
    dome = {"shape": "dome", "radius": 0.1, "vertices": 150 if "kind" in hierarchy else 50, "translate": [1, 0, 0]}
    shell = dome | {"velocity": [1, 2, 3], "spin": SPIN.tolist()}
    table = {"shell": [shell], "time": {"mode": "dynamic"}, "hierarchy": hierarchy}
    ladder = open_session(scene_from_dict(table), threads=1).ladder
    given = ladder.problem(ladder.hierarchy.given)
    c = np.average(given.x0, axis=0, weights=given.model.mass)
    for level in range(3):
        problem = ladder.problem(level)
        expected = np.array([1.0, 2.0, 3.0]) + np.cross(np.radians(SPIN), problem.x0 - c)
        assert problem.v0 == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["loop", "decimation"])
def test_a_spinning_throw_turns_alike_on_all_levels(kind: str) -> None:
    """By the same angle, within what implicit Euler makes of it, while its centre falls freely."""
    levels: dict[str, Any] = {"kind": kind, "levels": 2 if kind == "loop" else [30]}
    sheet = {"shape": "grid", "width": 0.3, "height": 0.3, "vertices": 60, "material": STIFF}
    time = {"mode": "dynamic", "h": 0.01, "duration": 0.3}
    data = {"shell": [sheet | {"spin": [0, 0, 300]}], "time": time, "hierarchy": levels, "contact": NO_CONTACT}
    session = moved(data)
    # ω' = ω / (1 + (ω h)²) in a step of implicit Euler, which turns by atan ω' h
    omega = np.radians(300) / (1.0 + np.radians(3) ** 2) ** np.arange(1, 31)
    expected = float(np.degrees(np.arctan(0.01 * omega).sum()))
    for level in range(2):
        x, mass = course(session, level), session.ladder.problem(level).mass
        first, last = (each - np.average(each, axis=0, weights=mass) for each in (x[0], x[-1]))
        turn = np.degrees(np.arctan2((np.cross(first, last)[:, 2] * mass).sum(), (first * last).sum(axis=1) @ mass))
        assert turn == pytest.approx(expected, abs=0.5)
        fallen = np.average(x[-1] - x[0], axis=0, weights=mass)
        assert fallen == pytest.approx(np.array([0.0, 0.0, -9.81 * 1e-4 * 30 * 31 / 2]), abs=1e-6)


def test_pinned_vertices_are_not_thrown_and_contact_is_ready_for_the_spin() -> None:
    shell = {"shape": "grid", "resolution": 3, "spin": [0, 0, 3600], "pin": [{"vertices": [0]}]}
    problem = make_problem(shell, time={"mode": "dynamic"})
    assert not problem.v0[0].any() and problem.v0[1:].any(axis=1).sum() == len(problem.v0) - 1
    still = make_problem(shell | {"spin": [0, 0, 0]}, time={"mode": "dynamic"})
    assert problem.scene.contact.stiffness > 2.0 * still.scene.contact.stiffness


def test_a_spin_of_the_wrong_kind_is_told() -> None:
    with pytest.raises(SceneError, match=r"shell\.0: spin.*deg/s"):
        scene_from_dict({"shell": [{"shape": "grid", "spin": [0, 0, "3 m/s"]}]})


# --- what is led ------------------------------------------------------------------------------------------------------


def shell_of(session: Session, level: int, t: int) -> Floats:
    return session.grid.at(level, t).x[: session.ladder.problem(level).bodies.n_simulated]


def test_a_turning_ball_takes_cloth_along_and_stops_it_on_both_levels() -> None:
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 2, "translate": [0, 0, 0]}
    motion = [{"time": 0.12}, {"time": 0.32, "rotate": [0, 0, 40]}]
    data = {
        "shell": [{"shape": "grid", "width": 0.2, "height": 0.2, "vertices": 50, "translate": [0, 0, 0.104]}],
        "collider": [ball | {"motion": motion}], "contact": {"friction": 1.0, "dhat": 2e-3},
        "time": {"mode": "dynamic", "h": 0.02, "duration": 0.5}, "hierarchy": {"levels": 2},
    }  # fmt: skip
    session = moved(data)
    for level in range(2):
        middle = np.hypot(*shell_of(session, level, 0)[:, :2].T) < 0.06

        before, turned, later, end = (shell_of(session, level, t)[middle, :2] @ [1, 1j] for t in (6, 16, 20, 25))
        assert np.angle(np.vdot(before, turned), deg=True) == pytest.approx(40.0, abs=3.0)
        assert np.angle(np.vdot(later, end), deg=True) == pytest.approx(0.0, abs=0.5)


def test_a_ball_is_blown_up_while_it_flies_on_both_levels() -> None:
    pressure = [{"time": 0.02, "value": 0}, {"time": "0.1 s", "value": "300 Pa"}]
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 1, "pressure": pressure, "velocity": [1, 0, 0]}
    rubber = {"density": 1000.0, "thickness": "1 mm", "E": "1 MPa", "nu": 0.3, "damping": "20 ms"}
    data = {
        "shell": [ball | {"material": rubber}], "gravity": [0, 0, 0], "contact": NO_CONTACT, "solver": {"tol": 1e-4},
        "time": {"mode": "dynamic", "h": 0.01, "duration": 0.4}, "hierarchy": {"levels": 2},
    }  # fmt: skip
    session = moved(data)
    for level in range(2):
        x = course(session, level)
        size = [np.linalg.norm(each - each.mean(axis=0), axis=1).mean() for each in x]
        assert size[2] == pytest.approx(size[0], abs=1e-6)
        # p R² (1 − ν) / 2 E τ of a thin ball
        assert size[-1] - size[0] == pytest.approx(300 * 0.1**2 * 0.7 / (2 * 1e6 * 1e-3), rel=0.15)
        assert (x[-1] - x[0]).mean(axis=0) == pytest.approx(np.array([0.4, 0.0, 0.0]), abs=1e-4)


def test_a_balloon_keeps_its_speed() -> None:
    """A Hessian of pressure that resists translation would make every step end early, the velocity left behind."""
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 2, "material": "latex", "velocity": [3.5, 0, 0]}
    for pressure in ({"value": 100, "kind": "gas"}, 100):
        time = {"mode": "dynamic", "h": 0.01, "duration": 0.2}
        data = {"shell": [ball | {"pressure": pressure}], "gravity": [0, 0, 0], "time": time}
        session = open_session(scene_from_dict(data), threads=1)
        *_, state = (state for state in session.preview() if state.accepted)
        assert session.problem is not None
        v = np.average(state.v, axis=0, weights=session.problem.mass)
        assert v == pytest.approx([3.5, 0.0, 0.0], abs=2e-3) and state.newton_iterations <= 3 * state.step
