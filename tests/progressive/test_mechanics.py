"""What a state bears, against closed forms: weight, stress of a hanging strip, curvature of a ball."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.kernels.threads import use_threads
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.mechanics import Mechanics, measure_mechanics, report_mechanics
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session

G = 9.81


def borne(shell: dict[str, Any], **rest: Any) -> tuple[SceneProblem, Mechanics]:
    use_threads(1)
    session = open_session(scene_from_dict({"shell": [shell], "solver": {"rest": 1e-6}, **rest}, Path()))
    *_, state = session.preview()
    assert state.converged and session.problem is not None
    return session.problem, measure_mechanics(session.problem, state.x)


def test_a_hanging_strip_bears_its_weight() -> None:
    rubber = {"density": 1000, "thickness": 1e-3, "E": 1e6, "nu": 0.0}
    strip = {"shape": "grid", "width": 0.02, "height": 0.4, "resolution": [4, 80], "diagonals": "alternating"}
    pin = {"box": [[-1, -1, 0.1999], [1, 1, 0.21]]}
    shell = strip | {"name": "strip", "material": rubber, "rotate": [90, 0, 0], "pin": [pin]}
    problem, found = borne(shell, contact={"enabled": False})
    weight = problem.mass.sum() * G
    assert found.pins["strip"] == pytest.approx([0, 0, weight], abs=1e-3 * weight) and not found.colliders
    # ρ g times what hangs below, which is stretched by that over E
    mesh = problem.shells
    below = mesh.X[mesh.triangles][:, :, 1].mean(axis=1) + 0.2
    inside = (below > 0.05) & (below < 0.35)
    assert found.stress[inside, 0] == pytest.approx(1000 * G * below[inside], rel=0.05)
    assert found.strain[inside, 0] == pytest.approx(found.stress[inside, 0] / 1e6, rel=0.02)
    assert np.abs(found.stress[inside, 1]).max() < 0.02 * found.stress[:, 0].max()
    told = report_mechanics(found)
    assert told.stress[0] == pytest.approx(1000 * G * 0.4, rel=0.1) and told.stress[1] <= told.stress[0]


def test_a_floor_and_a_box_push_with_the_weight_that_lies_on_them() -> None:
    sheet = {"shape": "grid", "width": 0.2, "height": 0.2, "vertices": 80, "translate": [0, 0, 0.003]}
    problem, found = borne(sheet, collider=[{"name": "ground", "shape": "floor", "height": 0.0}])
    weight = problem.mass.sum() * G
    assert found.colliders["ground"] == pytest.approx([0, 0, weight], abs=0.01 * weight)
    assert found.contact.sum(axis=0) == pytest.approx([0, 0, weight], abs=0.01 * weight)
    box = {"name": "table", "shape": "box", "size": [0.4, 0.4, 0.1], "resolution": 4, "translate": [0, 0, -0.05]}
    problem, found = borne(sheet, collider=[box])
    assert found.colliders["table"] == pytest.approx([0, 0, weight], abs=0.01 * weight)


def test_a_ball_at_rest_has_its_own_curvature_and_no_strain() -> None:
    scene = scene_from_dict({"shell": [{"shape": "sphere", "radius": 0.2, "subdivisions": 3}]}, Path())
    problem = SceneProblem(scene, open_session(scene).ladder.given)
    found = measure_mechanics(problem, problem.x0)
    assert np.abs(found.strain).max() < 1e-12 and np.abs(found.stress).max() < 1e-3
    assert np.median(found.curvature, axis=0) == pytest.approx([5.0, 5.0], rel=0.05)
