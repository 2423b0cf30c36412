"""Air against closed forms: terminal speeds, a plate that hangs in the wind, wind along a sheet."""

from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import NO_CONTACT, accepted, equilibrium, make_problem

from plisse.core.arrays import Floats
from plisse.progressive.scene_problem import SceneProblem

G, H = 9.81, 0.02
RHO = 1.2  # air [kg/m³]
SHEET = 0.15  # mass per area of the sheet [kg/m²]
STIFF = {"density": 150, "thickness": 1e-3, "E": 1e8, "nu": 0.3}


def sheet(wind: dict[str, Any], *, duration: float = 1.0, gravity: float = G, **shell: Any) -> SceneProblem:
    """A stiff sheet of 0.2 m, flat unless turned, free unless pinned."""
    return make_problem(
        {"shape": "grid", "width": 0.2, "height": 0.2, "resolution": 3, "seed": 1, "material": STIFF, **shell},
        wind={"air_density": RHO, **wind}, gravity=[0, 0, -gravity], contact=NO_CONTACT,
        time={"mode": "dynamic", "h": H, "duration": duration},
    )  # fmt: skip


def fall(problem: SceneProblem) -> Floats:
    """Downward speeds [m/s] after each step of a sheet that stays rigid."""
    speeds = []
    for state in accepted(problem):
        assert np.ptp(state.v, axis=0).max() < 1e-6 and np.abs(state.v[:, :2]).max() < 1e-6
        speeds.append(-state.v[:, 2].mean())
    return np.array(speeds)


# --- falling ------------------------------------------------------------------------------------------------

# flat the sheet meets the air with its normal drag, edge-on with its tangential drag
POSTURES = [([0, 0, 0], {"drag_normal": 2.0, "drag_tangential": 0.3}, 2.0)]
POSTURES += [([90, 0, 0], {"drag_normal": 0.3, "drag_tangential": 2.0}, 2.0)]


@pytest.mark.parametrize(("rotate", "drag", "C"), POSTURES)
def test_linear_law_approaches_its_terminal_speed(rotate: list[float], drag: dict[str, float], C: float) -> None:
    found = fall(sheet({"law": "linear", **drag}, rotate=rotate, duration=1.0))
    rate = 0.5 * RHO * C / SHEET  # ½ ρ C A / m, times 1 m/s [1/s]
    # v' = (v + g h)/(1 + k h) from rest: vₙ = g/k (1 − (1 + k h)⁻ⁿ)
    n = np.arange(1, len(found) + 1)
    assert found == pytest.approx(G / rate * (1 - (1 + rate * H) ** -n), rel=1e-6)
    assert found[-1] == pytest.approx(G / rate, rel=0.01)


@pytest.mark.parametrize(("rotate", "drag", "C"), POSTURES)
def test_quadratic_law_approaches_its_terminal_speed(rotate: list[float], drag: dict[str, float], C: float) -> None:
    found = fall(sheet({"law": "quadratic", **drag}, rotate=rotate, duration=1.0))
    rate = 0.5 * RHO * C / SHEET  # ½ ρ C A / m [1/m]
    # v' = (v + g h)/(1 + k h v): the speed in the drag is that of the step's start
    v, expected = 0.0, []
    for _ in found:
        v = (v + G * H) / (1 + rate * H * v)
        expected.append(v)
    assert found == pytest.approx(np.array(expected), rel=1e-6)
    assert found[-1] == pytest.approx(np.sqrt(G / rate), rel=0.01)


@pytest.mark.parametrize("law", ["linear", "quadratic"])
def test_only_the_speed_relative_to_the_air_matters(law: str) -> None:
    # moving with the wind and without weight, a sheet feels nothing
    velocity = [1.0, -2.0, 3.0]
    problem = sheet({"law": law, "velocity": velocity}, gravity=0.0, duration=0.2, velocity=velocity)
    *_, last = accepted(problem)
    assert last.x - problem.x0 == pytest.approx(np.tile(0.2 * np.array(velocity), (problem.bodies.n, 1)), abs=1e-10)


# --- standing wind ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["linear", "quadratic"])
@pytest.mark.parametrize("speed", [1.0, -1.0, 2.0])
def test_plate_hangs_in_the_wind_at_the_angle_of_its_balance(law: str, speed: float) -> None:
    # hung from its upper edge, which is a hinge; θ from the vertical balances weight g sin θ and drag along the
    # normal: k |w| cos θ (linear), k w² cos² θ (quadratic)
    problem = make_problem(
        {
            "shape": "grid", "width": 0.2, "height": 0.2, "resolution": [2, 6], "rotate": [90, 0, 0],
            "pin": [{"box": [[-1, -1, 0.1], [1, 1, 0.1]]}], "material": {**STIFF, "E_bend": 1e10},
        },
        wind={"air_density": RHO, "drag_tangential": 0.0, "velocity": [0, speed, 0], "law": law},
        contact=NO_CONTACT, time={"h": 0.1}, solver={"tol": 1e-4},
    )  # fmt: skip
    x = equilibrium(problem).x
    low = x[np.argmin(problem.x0[:, 2])] - x[np.argmax(problem.x0[:, 2])]
    sine = abs(low[1]) / 0.2
    k = 0.5 * RHO / SHEET * (abs(speed) if law == "linear" else speed**2)
    asked = np.sin(np.arctan(k / G)) if law == "linear" else (np.sqrt(G**2 + 4 * k**2) - G) / (2 * k)
    assert np.sign(low[1]) == np.sign(speed) and low[2] < 0
    assert sine == pytest.approx(asked, rel=0.01)


def test_flag_is_pushed_where_the_wind_goes() -> None:
    wind = np.array([1.0, 4.0, 0.0])
    problem = make_problem(
        {
            "shape": "grid", "width": 0.4, "height": 0.2, "resolution": [8, 4], "rotate": [90, 0, 0],
            "pin": [{"box": [[-0.2, -1, -1], [-0.2, 1, 1]]}], "material": "cotton",
        },
        wind={"velocity": wind.tolist()}, gravity=[0, 0, 0],
        time={"mode": "dynamic", "h": H, "duration": 0.4},
    )  # fmt: skip
    along = [(state.x - problem.x0).mean(axis=0) @ wind for state in accepted(problem)]
    assert (np.diff(along[:5]) > 0).all() and min(along) > 0
    assert along[-1] / np.linalg.norm(wind) > 0.1  # the flag, 0.4 m long, has swung round


@pytest.mark.parametrize("law", ["linear", "quadratic"])
def test_wind_along_the_sheet_needs_tangential_drag_to_move_it(law: str) -> None:
    velocity = [3.0, -1.0, 0.0]
    free = sheet({"law": law, "velocity": velocity, "drag_tangential": 0.0}, gravity=0.0, duration=0.2)
    *_, last = accepted(free)
    assert np.abs(last.x - free.x0).max() < 1e-12
    dragged = sheet({"law": law, "velocity": velocity, "drag_tangential": 0.1}, gravity=0.0, duration=0.2)
    *_, last = accepted(dragged)
    v = last.v.mean(axis=0)
    assert v[0] > 0.01 and v == pytest.approx(v[0] * np.array(velocity) / 3.0, abs=1e-9)
