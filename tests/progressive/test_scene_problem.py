"""Several shells in one scene keep their own materials, masses and places."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import make_problem

from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session

SHELLS: list[dict[str, Any]] = [
    {"name": "a", "shape": "grid", "vertices": 30, "material": "cotton"},
    {"name": "b", "shape": "disc", "rings": 3, "translate": [0, 0, 0.2], "material": "wool"},
    {
        "name": "c", "shape": "sphere", "radius": 0.1, "subdivisions": 1, "translate": [0, 0, 0.5],
        "material": {"preset": "rubber", "strain_limit": 1.5}, "velocity": [1, 2, 3], "pressure": {"value": 20.0},
    },
]  # fmt: skip


def problem_of(shells: list[dict[str, Any]]) -> SceneProblem:
    return make_problem(shells)


def test_a_scene_of_several_shells_is_the_sum_of_scenes_of_one() -> None:
    together, alone = problem_of(SHELLS), [problem_of([shell]) for shell in SHELLS]
    rng = np.random.default_rng(3)
    bent = [problem.x0 + rng.uniform(-4e-3, 4e-3, problem.x0.shape) for problem in alone]
    x = np.concatenate(bent)
    assert together.mass == pytest.approx(np.concatenate([problem.mass for problem in alone]))
    assert np.array_equal(together.v0, np.concatenate([problem.v0 for problem in alone]))
    assert [together.bodies.name_of(int(i)) for i in np.cumsum([0, *map(len, bent[:-1])])] == ["a", "b", "c"]
    for parts in ("elastic", "loads"):
        models = zip((one.model for one in alone), bent, strict=True)
        apart = [sum(part.gradient(y) for part in getattr(model, parts)) for model, y in models]
        whole = sum(part.gradient(x) for part in getattr(together.model, parts))
        assert whole == pytest.approx(np.concatenate(apart), rel=1e-9, abs=1e-12)


def test_contact_is_as_firm_as_the_stretch_that_a_limit_allows_asks_for() -> None:
    """Handles load contact through tension: a mat that may stretch to three times its length is wrung hard."""

    def stiffness(limit: float | None) -> float:
        material = {"density": 500.0, "thickness": 3e-4, "E": 1e6, "nu": 0.3}
        material |= {} if limit is None else {"strain_limit": limit}
        pin = {"box": [[-0.5, -0.5, 0], [-0.5, 0.5, 0]], "motion": [{"time": 1, "rotate": [360, 0, 0]}]}
        shell = {"shape": "grid", "vertices": 100, "material": material, "pin": [pin]}
        table = {"shell": [shell], "gravity": [0, 0, 0]}
        found = open_session(scene_from_dict(table, Path())).scene.contact.stiffness
        assert found is not None
        return found

    assert stiffness(1.05) == stiffness(None)
    assert stiffness(3.0) == pytest.approx(30.0 * stiffness(None))
