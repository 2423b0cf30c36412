"""The drape test: its shadow against closed forms, and small runs of it."""

import numpy as np
import pytest

from plisse.bench.cusick import (
    RADIUS,
    SUPPORT,
    cusick_scene,
    distance_to,
    drape_coefficient,
    drape_fabric,
    judge,
    measure,
    shadow_area,
    wave_start,
)
from plisse.core.errors import SceneError
from plisse.runs.opening import open_session
from plisse.scene.presets import PRESETS
from plisse.shapes.catalogue import disc


def test_shadow_is_a_union():
    mesh = disc(0.05, rings=10)
    once = shadow_area(mesh.triangles, mesh.X)
    assert once == pytest.approx(np.pi * 0.05**2, rel=0.01)
    # the same disc again, apart by its radius: two discs less their lens of (2π/3 − √3/2) r²
    both = np.concatenate([mesh.X, mesh.X + np.array([0.05, 0.0, 0.02])])
    triangles = np.concatenate([mesh.triangles, mesh.triangles + len(mesh.X)]).astype(np.int32)
    lens = (2.0 * np.pi / 3.0 - np.sqrt(3.0) / 2.0) * 0.05**2
    assert shadow_area(triangles, both) == pytest.approx(2.0 * np.pi * 0.05**2 - lens, rel=0.01)


def test_coefficient_of_flat_and_of_hanging():
    mesh = disc(RADIUS, rings=20)
    assert drape_coefficient(mesh, mesh.X) == pytest.approx(100.0)
    hanging = mesh.X.copy()
    r = np.hypot(*mesh.X[:, :2].T)
    inwards = np.minimum(1.0, SUPPORT / np.maximum(r, 1e-9))
    hanging[:, :2] *= inwards[:, None]
    hanging[:, 2] = -np.maximum(r - SUPPORT, 0.0)
    assert drape_coefficient(mesh, hanging) == pytest.approx(0.0, abs=0.5)


def test_verdicts():
    assert judge(65.0, (60.0, 76.0), noted=False) == "within"
    assert judge(50.0, (60.0, 76.0), noted=True) == "below, see its note"
    assert judge(80.0, (60.0, 76.0), noted=False) == "above"
    assert judge(80.0, None, noted=False) == ""
    assert [distance_to((60.0, 76.0), value) for value in (50.0, 70.0, 80.0)] == [10.0, 0.0, 4.0]


def test_starts_are_admissible_and_held_on_the_plate():
    ladder = open_session(cusick_scene(PRESETS["leather"], rings=10, levels=1)).ladder
    problem = ladder.problem(0, start=wave_start(ladder, 5).x)
    problem.check_distances()
    r = np.hypot(*ladder.hierarchy.levels[0][0].X[:, :2].T)
    np.testing.assert_array_equal(~problem.free[: problem.bodies.n_simulated], r <= SUPPORT + 1e-6)


def test_rings_must_meet_the_support():
    with pytest.raises(SceneError, match="multiple of 5"):
        cusick_scene(PRESETS["silk"], rings=12)


def test_softer_fabrics_cast_less_shadow():
    soft, stiff, paper = (
        drape_fabric(PRESETS[name], threads=1, rings=10, levels=1, waves=(5,)) for name in ("silk", "denim", "paper")
    )
    assert soft.converged and stiff.converged and paper.converged
    assert soft.coefficients[-1] + 20.0 < stiff.coefficients[-1] < paper.coefficients[-1]
    assert paper.coefficients[-1] > 99.0 and paper.folds[-1] == 0


def test_small_bench_reports_and_repeats(capsys):
    run = {"fabrics": ("cotton",), "rings": 10, "levels": 2, "waves": (6,)}
    figures, details = measure(1, **run)
    assert [figure.name for figure in figures] == ["cotton: points of change to the finest level"]
    assert details["cotton"]["converged"] and details["cotton"]["published, %"] == [60, 76]
    assert "cotton" in capsys.readouterr().out
    again = measure(1, **run)[1]
    assert again["cotton"]["coefficients, %"] == details["cotton"]["coefficients, %"]
