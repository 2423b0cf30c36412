"""Gusts and eddies of the wind."""

from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import NO_CONTACT, accepted, make_problem, states

from plisse.core.arrays import Floats
from plisse.core.potential import Sum
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.air import Air
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session

SHEET = {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 4, "material": "cotton"}
RNG, ALONG = np.random.default_rng(5), np.array([1.0, 0.0, 0.0])


def make_air(*, seed: int = 0, velocity: Any = (3, 0, 0), **wind: Any) -> Air:
    table = {"shell": [SHEET], "seed": seed, "wind": {"velocity": velocity, **wind}, "time": {"mode": "dynamic"}}
    return Air(scene_from_dict(table))


def eddies(air: Air, points: Floats, t: float = 0.0) -> Floats:
    """What is left of the velocity (m, 3) [m/s] without a mean wind of 3 m/s along x."""
    return air.velocity(points, t) - 3.0 * ALONG


# --- eddies -----------------------------------------------------------------------------------------------------------


def test_every_component_has_the_mean_square_that_is_set() -> None:
    points = RNG.uniform(-50, 50, (20_000, 3))
    for seed in range(3):
        u = eddies(make_air(seed=seed, turbulence=0.2, turbulence_length=0.5), points)
        assert u.mean(axis=0) == pytest.approx(0.0, abs=0.02)
        assert np.sqrt((u**2).mean(axis=0)) == pytest.approx(0.6, rel=0.03)


def test_the_wind_is_not_squeezed_together_anywhere() -> None:
    air, points, step = make_air(turbulence=0.3), RNG.uniform(-2, 2, (50, 3)), 1e-4
    slopes = np.stack([(eddies(air, points + step * e) - eddies(air, points - step * e)) for e in np.eye(3)]) / 2e-4
    assert np.abs(np.einsum("imi->m", slopes)).max() < 1e-6 * np.abs(slopes).max()


def test_eddies_are_as_large_as_set() -> None:
    """The integral of their correlation along a line is their length."""
    length, r = 0.5, np.linspace(0.0, 2.0, 41)
    here = RNG.uniform(-20, 20, (400, 3))
    products = np.zeros(len(r))
    for seed in range(20):
        air = make_air(seed=seed, turbulence=0.2, turbulence_length=length)
        u = eddies(air, here)[:, 0]
        products += [(u * eddies(air, here + way * ALONG)[:, 0]).mean() for way in r]
    correlation = products / products[0]
    assert 0.05 * (correlation.sum() - 0.5) == pytest.approx(length, rel=0.1)
    assert np.interp(0.1 * length, r, correlation) > 0.95 and abs(correlation[-1]) < 0.1


def test_eddies_drift_with_the_wind_also_where_that_is_keyframed() -> None:
    keys = [{"time": 0, "value": [1, 0, 0]}, {"time": 2, "value": [3, 0, 0]}]
    points = RNG.uniform(-1, 1, (30, 3))
    steady, keyed = make_air(turbulence=0.2), make_air(velocity=keys, turbulence=0.2)
    assert eddies(steady, points + 6 * ALONG, 2.0) == pytest.approx(eddies(steady, points), abs=1e-12)
    # ∫ w dt is 4 m after 2 s, and 7 m after 3 s
    for way, t in ((4, 2.0), (7, 3.0)):
        assert eddies(keyed, points + way * ALONG, t) == pytest.approx(eddies(steady, points), abs=1e-12)


def test_seeds_draw_different_eddies_and_the_same_ones_again() -> None:
    points = RNG.uniform(-1, 1, (30, 3))
    first, again, other = (make_air(seed=seed, turbulence=0.2).velocity(points, 0.7) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and np.abs(first - other).max() > 0.2


# --- in scenes --------------------------------------------------------------------------------------------------------


def flag(**wind: Any) -> SceneProblem:
    pinned = SHEET | {"rotate": [90, 0, 0], "pin": [{"box": [[-0.21, -1, -1], [-0.19, 1, 1]]}]}
    return make_problem(
        pinned, wind={"velocity": [3, 1, 0], **wind}, contact=NO_CONTACT, time={"mode": "dynamic", "duration": 0.1}
    )


def test_without_gusts_and_eddies_the_wind_is_what_it_was_to_the_bit() -> None:
    plain = [state.x for state in states(flag())]
    none = [state.x for state in states(flag(gusts=0, turbulence=0, turbulence_length=0.1, gust_period=0.5))]
    some = [state.x for state in states(flag(turbulence=0.1))]
    assert len(plain) == len(none) and all(map(np.array_equal, plain, none))
    assert np.abs(plain[-1] - some[-1]).max() > 1e-5


def test_a_sheet_rides_on_gusts() -> None:
    """By the linear law, weightless: v' = (v + k h w(t')) / (1 + k h)."""
    stiff = {"density": 150, "thickness": 1e-3, "E": 1e8, "nu": 0.3}
    problem = make_problem(
        SHEET | {"material": stiff}, gravity=[0, 0, 0], contact=NO_CONTACT, solver={"tol": 1e-6},
        wind={"velocity": [0, 0, 2], "law": "linear", "gusts": 0.5, "gust_period": 0.4, "drag_normal": 2.0},
        time={"mode": "dynamic", "h": 0.02, "duration": 0.4},
    )  # fmt: skip
    v, rate = 0.0, 0.5 * 1.2 * 2.0 / 0.15
    for state in accepted(problem):
        w = 2.0 * (1.0 + 0.5 * np.sin(2.0 * np.pi * state.time / 0.4))
        v = (v + rate * 0.02 * w) / (1.0 + rate * 0.02)
        assert state.v[:, 2] == pytest.approx(v, rel=1e-6)


@pytest.mark.parametrize("prolongation", ["linear", "loop"])
def test_levels_feel_the_same_wind(prolongation: str) -> None:
    wind = {"velocity": [0, 0, 3], "turbulence": 0.3, "turbulence_length": 0.4, "law": "linear"}
    table = {
        "shell": [SHEET], "wind": wind, "time": {"mode": "dynamic"},
        "hierarchy": {"levels": 3, "prolongation": prolongation},
    }  # fmt: skip
    ladder = open_session(scene_from_dict(table), threads=1).ladder
    forces = []
    for level in range(3):
        problem = ladder.problem(level).at(0.5)
        x, still = problem.x0, np.zeros_like(problem.x0)
        part = Sum(problem.lagged(x, still, 0.02, still)).gradient(x)
        # the resultant, and how it differs from side to side
        forces.append(np.concatenate([part.sum(axis=0), np.cross(x, part).sum(axis=0)]))
    assert np.abs(forces[2]).min() > 0.0
    for found, rel in zip(forces[:2], (0.06, 0.02), strict=True):
        assert np.linalg.norm(found - forces[2]) < rel * np.linalg.norm(forces[2])


def test_statics_has_the_mean_wind() -> None:
    """Otherwise nothing would come to rest."""
    scene = {"shell": [SHEET], "wind": {"velocity": [3, 0, 0], "gusts": 0.5, "turbulence": 0.5}}
    assert not Air.blows_unevenly(scene_from_dict(scene))


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_contact_is_ready_for_gusts_and_eddies(mode: str) -> None:
    def stiffness(**wind: float) -> float:
        problem = make_problem(SHEET, wind={"velocity": [30, 0, 0], **wind}, time={"mode": mode})
        return problem.scene.contact.stiffness or 0.0

    for wind in ({"gusts": 0.5}, {"turbulence": 0.2}):
        assert stiffness(**wind) > 1.5 * stiffness() if mode == "dynamic" else stiffness(**wind) == stiffness()
