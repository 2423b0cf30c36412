"""Motion against closed forms: free fall, a sheet on a slope, prescribed motion that contact blocks."""

import numpy as np
import pytest
from tests.progressive.scenes import (
    NO_CONTACT,
    Table,
    accepted,
    make_problem,
    states,
    without_intersections,
)

from plisse.core.arrays import Floats
from plisse.core.state import State
from plisse.kernels.threads import use_threads
from plisse.progressive.scene_problem import SceneProblem

G = 9.81
EULER, BDF2 = "euler", "bdf2"

# --- free fall ----------------------------------------------------------------------------------------------


def falling(integrator: str, *, h: float, gravity: float = G, **more: Table) -> tuple[SceneProblem, list[State]]:
    """A sheet thrown with (0.3, −0.2, 1) m/s for 0.4 s."""
    problem = make_problem(
        {"shape": "grid", "resolution": 3, "velocity": [0.3, -0.2, 1.0]},
        gravity=[0, 0, -gravity], time={"mode": "dynamic", "h": h, "duration": 0.4, "integrator": integrator},
        **more,
    )  # fmt: skip
    return problem, list(accepted(problem))


@pytest.mark.parametrize("contact", [{}, NO_CONTACT])
def test_free_fall_is_exact_for_implicit_euler(contact: Table) -> None:
    h = 0.02
    problem, found = falling(EULER, h=h, contact=contact)
    assert len(found) == 20
    for n, state in enumerate(found, 1):
        expected = problem.x0 + n * h * problem.v0
        expected[:, 2] -= G * h * h * n * (n + 1) / 2
        assert np.abs(state.x - expected).max() < 1e-10
        assert np.abs(state.v - problem.v0 - [0, 0, -G * n * h]).max() < 1e-8
        assert state.time == pytest.approx(n * h)


@pytest.mark.parametrize("h", [0.04, 0.02])
def test_free_fall_by_bdf2_keeps_only_the_error_of_its_first_step(h: float) -> None:
    # BDF2 is exact on parabolas; Euler's first step leaves e₁ = −g h²/2, and eₙ₊₁ = (4 eₙ − eₙ₋₁)/3
    # carries it on as eₙ = −¾ g h² (1 − 3⁻ⁿ): second order in h
    problem, found = falling(BDF2, h=h)
    for n, state in enumerate(found, 1):
        t = n * h
        expected = problem.x0 + t * problem.v0
        expected[:, 2] -= G * t * t / 2 + 0.75 * G * h * h * (1 - 3.0**-n)
        assert np.abs(state.x - expected).max() < 1e-10
        assert np.abs(state.v - problem.v0 - [0, 0, -G * t]).max() < 1e-8


def test_slow_accelerations_are_not_lost_to_the_tolerance() -> None:
    # on the moon of a moon one step adds g h = 4 mm/s, less than the default tolerance of 10 mm/s
    problem = make_problem(
        {"shape": "grid", "resolution": 3}, gravity=[0, 0, -0.2], time={"mode": "dynamic", "duration": 0.5}
    )
    *_, last = accepted(problem)
    assert (last.x - problem.x0)[:, 2] == pytest.approx(-0.2 * 0.02**2 * 25 * 26 / 2, rel=1e-6)


def test_pendulum_swings_with_its_period_and_bdf2_loses_less_energy() -> None:
    # a stiff narrow strip hung from one edge: rigid rod, T = 2π √(2L/3g) for small swings
    length, angle = 0.3, 3.0
    period = 2 * np.pi * np.sqrt(2 * length / (3 * G))
    heights = {}
    for integrator in (EULER, BDF2):
        problem = make_problem(
            {
                "shape": "grid", "width": length, "height": 0.05, "resolution": [6, 1],
                "rotate": [0, 90 - angle, 0], "pin": [{"vertices": [0, 7]}],
                "material": {"density": 1000, "thickness": 2e-3, "E": 1e8, "nu": 0.3, "E_bend": 1e10},
            },
            contact=NO_CONTACT, solver={"tol": 1e-6},
            time={"mode": "dynamic", "h": period / 100, "duration": period, "integrator": integrator},
        )  # fmt: skip
        tip = np.array([state.x[6, 0] - state.x[0, 0] for state in accepted(problem)])
        # half a period later the tip is on the other side, a whole one later it is back
        heights[integrator] = tip[-1] / (length * np.sin(np.radians(angle)))
        crossings = np.flatnonzero(np.diff(np.sign(tip)))
        assert crossings[1] - crossings[0] == pytest.approx(50, abs=1)
    # implicit Euler damps an oscillation by exp(−π ω h) = 1 − 0.18 in a period
    assert heights[EULER] == pytest.approx(np.exp(-np.pi * 2 * np.pi / 100), abs=0.02)
    assert heights[BDF2] > 0.97


# --- friction on a slope ------------------------------------------------------------------------------------

MU, SPEED = 0.5, 1e-3


def slide(tangent: float, collider: str, integrator: str) -> tuple[Floats, Floats]:
    """Times [s] and downhill speeds [m/s] of a stiff sheet that is laid on a slope of tan θ = tangent."""
    theta = np.arctan(tangent)
    degrees, normal = float(np.degrees(theta)), np.array([np.sin(theta), 0, np.cos(theta)])
    slopes: dict[str, Table] = {
        "half-space": {"half_space": {"point": [0, 0, 0], "normal": normal.tolist()}},
        "box": {
            "shape": "box", "size": [3.0, 3.0, 0.2], "resolution": 3,
            "rotate": [0, degrees, 0], "translate": (-0.1 * normal).tolist(),
        },
    }  # fmt: skip
    problem = make_problem(
        {
            "shape": "grid", "width": 0.2, "height": 0.2, "resolution": 4, "diagonals": "alternating",
            "rotate": [0, degrees, 0], "translate": (1.7e-3 * normal).tolist(),
            "material": {"density": 1000, "thickness": 1e-3, "E": 1e8, "nu": 0.3},
        },
        collider=[slopes[collider]],
        contact={"offset": 1e-3, "dhat": 1e-3, "friction": MU, "friction_speed": SPEED},
        time={"mode": "dynamic", "h": 0.01, "duration": 0.3, "integrator": integrator},
        solver={"tol": 1e-5},
    )  # fmt: skip
    downhill = np.array([np.cos(theta), 0, -np.sin(theta)])
    found = list(accepted(problem))
    mass = problem.mass / problem.mass.sum()
    return np.array([state.time for state in found]), np.array([mass @ state.v @ downhill for state in found])


@pytest.mark.parametrize("integrator", [EULER, BDF2])
@pytest.mark.parametrize("collider", ["half-space", "box"])
def test_sheet_sticks_below_the_angle_of_friction(collider: str, integrator: str) -> None:
    _, v = slide(0.8 * MU, collider, integrator)
    # smoothed friction holds the load at the creep speed where 2y − y² = tan θ/μ, y = v/ε_v
    creep = SPEED * (1 - np.sqrt(1 - 0.8))
    assert v[-5:] == pytest.approx(creep, rel=0.1 if collider == "box" else 1e-3)
    assert (v[len(v) // 3 :] < 2 * SPEED).all()  # after it has come to rest on the slope


@pytest.mark.parametrize("integrator", [EULER, BDF2])
@pytest.mark.parametrize("collider", ["half-space", "box"])
def test_sheet_slides_above_the_angle_of_friction(collider: str, integrator: str) -> None:
    t, v = slide(1.25 * MU, collider, integrator)
    theta, half = np.arctan(1.25 * MU), len(t) // 2
    acceleration = (v[-1] - v[half]) / (t[-1] - t[half])
    assert acceleration == pytest.approx(G * (np.sin(theta) - MU * np.cos(theta)), rel=0.01)


# --- prescribed motion --------------------------------------------------------------------------------------

OFFSET = 1e-3
DHAT = 2e-3


def press(travel: float, mode: str) -> SceneProblem:
    """A cloth on a table and, 20 mm above the table, a plate smaller than the cloth that comes down."""
    return make_problem(
        {"shape": "grid", "width": 0.2, "height": 0.2, "resolution": 8, "translate": [0, 0, 0.005]},
        collider=[
            {"shape": "box", "size": [0.3, 0.3, 0.1], "resolution": 3, "translate": [0, 0, -0.05]},
            {
                "shape": "box", "size": [0.15, 0.15, 0.02], "resolution": 3,
                "translate": [0, 0, 0.03], "motion": [{"time": 0.2, "translate": [0, 0, -travel]}],
            },
        ],
        time={"mode": mode, "h": 0.04, "duration": 0.28, "max_steps": 40},
        contact={"offset": OFFSET, "dhat": DHAT},
    )  # fmt: skip


def plate_of(problem: SceneProblem, x: Floats) -> Floats:
    return x[problem.bodies.of_vertex == 2]


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_plate_reaches_what_it_can_reach(mode: str) -> None:
    problem = press(0.016, mode)
    *_, last = without_intersections(problem)
    moved = (plate_of(problem, last.x) - plate_of(problem, problem.x0))[:, 2]
    assert moved == pytest.approx(-0.016, rel=1e-3)


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_plate_never_passes_through_what_blocks_it(mode: str) -> None:
    problem = press(0.03, mode)
    for state in without_intersections(problem):
        assert plate_of(problem, state.x)[:, 2].min() > 2 * OFFSET  # table, offset, cloth, offset, plate
    assert plate_of(problem, state.x)[:, 2].min() < 2 * OFFSET + 2e-3  # and it does press


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_blocked_plate_stays_rigid(mode: str) -> None:
    problem = press(0.03, mode)
    *_, last = states(problem)
    plate, rest = plate_of(problem, last.x), plate_of(problem, problem.x0)
    assert plate - plate.mean(axis=0) == pytest.approx(rest - rest.mean(axis=0), abs=1e-5)


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("wall", ["half-space", "box"])
def test_scripted_pin_never_passes_through_a_wall(wall: str, mode: str) -> None:
    walls: dict[str, Table] = {
        "half-space": {"half_space": {"point": [0.15, 0, 0], "normal": [-1, 0, 0]}},
        "box": {"shape": "box", "size": [0.1, 1.0, 1.0], "resolution": 2, "translate": [0.2, 0, 0]},
    }
    leads = {"box": [[0.1, -1, -1], [0.1, 1, 1]], "motion": [{"time": 0.2, "translate": [0.1, 0, 0]}]}
    problem = make_problem(
        {"shape": "grid", "width": 0.2, "height": 0.2, "resolution": 6, "pin": [leads]},
        collider=[walls[wall]], contact={"offset": OFFSET, "dhat": DHAT},
        time={"mode": mode, "h": 0.04, "duration": 0.28, "max_steps": 12},
    )  # fmt: skip
    for state in without_intersections(problem):
        assert state.x[: problem.bodies.n_simulated, 0].max() < 0.15 - OFFSET
    led = state.x[problem.is_scripted, 0]
    assert led.min() > 0.15 - OFFSET - 2e-3  # it came as far as contact lets it


# --- repeatability ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_same_run_twice_is_the_same_to_the_bit(threads: int) -> None:
    def run() -> list[Floats]:
        problem = make_problem(
            {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 14, "translate": [0, 0, 0.16]},
            collider=[{"shape": "sphere", "radius": 0.15, "subdivisions": 3, "translate": [0, 0, 0]}],
            contact={"offset": OFFSET, "dhat": DHAT},
            time={"mode": "dynamic", "duration": 0.2},
        )
        use_threads(threads)
        found = list(states(problem))
        assert max(state.contacts for state in found) > 20
        return [state.x for state in found]

    first, second = run(), run()
    assert len(first) == len(second)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
