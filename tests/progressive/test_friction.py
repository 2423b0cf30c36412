"""Friction of each body: what a pair takes, sliding down slopes against closed forms, and what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import Table, accepted, make_problem

from plisse.contact.friction import Friction, combine
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.meshes.obj import write_obj
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session
from plisse.scene.schedule import rotation
from plisse.shapes.catalogue import grid

G = 9.81
SLOPE = np.radians(30.0)
NORMAL, DOWNHILL = np.array([np.sin(SLOPE), 0, np.cos(SLOPE)]), np.array([np.cos(SLOPE), 0, -np.sin(SLOPE)])
CONTACT = {"offset": 1e-3, "dhat": 1e-3}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(0.3, 0.3, 0.3), (0.2, 0.8, 0.4), (0.5, 0.02, 0.1), (0.0, 5.0, 0.0), (0.0, 0.0, 0.0), (0.1, 0.1, 0.1)],
)
def test_a_pair_takes_the_geometric_mean(one: float, other: float, expected: float) -> None:
    assert combine(one, other) == pytest.approx(expected, abs=1e-16)
    assert combine(one, other) == combine(other, one)


def test_equal_coefficients_give_exactly_themselves() -> None:
    mu = np.random.default_rng(0).uniform(0.0, 2.0, 10_000)
    mu[:3] = 1e-200, 1e-300, 1e19  # whose squares leave the range of numbers, or nearly
    assert np.array_equal(combine(mu, mu.copy()), mu)


# --- sliding ----------------------------------------------------------------------------------------------------------


def on_slope(across: float, **more: Any) -> Table:
    """A stiff strip on the slope through the origin that starts downhill at 0.5 m/s."""
    return {
        "shape": "grid", "width": 0.2, "height": 0.1, "resolution": [4, 2], "diagonals": "alternating",
        "rotate": [0, float(np.degrees(SLOPE)), 0], "translate": (1.7e-3 * NORMAL + [0, across, 0]).tolist(),
        "velocity": (0.5 * DOWNHILL).tolist(),
        "material": {"density": 1000, "thickness": 1e-3, "E": 1e8, "nu": 0.3}, **more,
    }  # fmt: skip


def accelerations(problem: SceneProblem) -> list[float]:
    """Downhill acceleration [m/s²] of each shell over the second half of the motion."""
    found = list(accepted(problem))
    half, last = found[len(found) // 2], found[-1]
    out = []
    for body in range(len(problem.scene.shells)):
        mass = np.where(problem.bodies.of_vertex == body, problem.mass, 0.0)
        gained = mass @ (last.v - half.v) @ DOWNHILL / mass.sum()
        out.append(float(gained) / (last.time - half.time))
    return out


def expected(mu: float) -> float:
    return G * (np.sin(SLOPE) - mu * np.cos(SLOPE))


MOTION = {"mode": "dynamic", "h": 0.01, "duration": 0.3}


def test_strips_slide_down_one_slope_each_with_its_own_friction() -> None:
    floor = {"half_space": {"normal": NORMAL.tolist()}, "friction": 0.2}
    shells = [on_slope(0.0, friction=0.0), on_slope(0.3, friction=0.8), on_slope(0.6)]
    problem = make_problem(
        shells, collider=[floor], contact=CONTACT | {"friction": 0.05}, time=MOTION, solver={"tol": 1e-5}
    )
    # √(0 · 0.2), √(0.8 · 0.2), √(0.05 · 0.2)
    assert accelerations(problem) == pytest.approx([expected(0.0), expected(0.4), expected(0.1)], rel=0.01)


def test_a_frictionless_floor_beside_a_rough_one() -> None:
    def plank(across: float, **more: Any) -> Table:
        return {
            "shape": "box", "size": [2.0, 0.25, 0.2], "resolution": 3, "rotate": [0, float(np.degrees(SLOPE)), 0],
            "translate": (0.3 * DOWNHILL - 0.1 * NORMAL + [0, across, 0]).tolist(), **more,
        }  # fmt: skip

    problem = make_problem(
        [on_slope(0.0), on_slope(0.3)], collider=[plank(0.0, friction=0.0), plank(0.3)],
        contact=CONTACT | {"friction": 0.3}, time=MOTION, solver={"tol": 1e-5},
    )  # fmt: skip
    assert accelerations(problem) == pytest.approx([expected(0.0), expected(0.3)], rel=0.01)


# --- what takes part --------------------------------------------------------------------------------------------------


def pile(**frictions: float) -> SceneProblem:
    """A sheet on a box, a sheet on that one, all pairs within reach; frictions: of lower, upper and box."""
    sheet: Table = {"shape": "grid", "width": 0.1, "height": 0.1, "resolution": 4, "diagonals": "jittered"}
    shells = [sheet | {"name": name, "translate": [0, 0, z]} for name, z in (("lower", 1.5e-3), ("upper", 3e-3))]
    box: Table = {"name": "box", "shape": "box", "size": [0.3, 0.3, 0.1], "resolution": 2, "translate": [0, 0, -0.05]}
    bodies = [
        body | ({"friction": frictions[body["name"]]} if body["name"] in frictions else {}) for body in (*shells, box)
    ]
    return make_problem(bodies[:2], collider=bodies[2:], contact=CONTACT | {"friction": 0.5})


def rub(problem: SceneProblem) -> list[Friction]:
    still = np.zeros_like(problem.x0)
    return [part for part in problem.lagged(problem.x0, still, 0.01, still) if isinstance(part, Friction)]


def pairs_of(part: Friction, problem: SceneProblem) -> set[tuple[int, int]]:
    (blocks,) = part.hessian(problem.x0).blocks
    nodes = blocks.nodes
    return {
        (min(pair), max(pair))
        for pair in np.column_stack(
            [problem.bodies.of_vertex[nodes[:, 0]], problem.bodies.of_vertex[nodes[:, -1]]]
        ).tolist()
    }


def test_contacts_without_friction_are_left_out() -> None:
    lower, upper, box = range(3)
    problem = pile()
    assert pairs_of(*rub(problem), problem) == {(lower, upper), (lower, box)}
    problem = pile(box=0.0)
    assert pairs_of(*rub(problem), problem) == {(lower, upper)}
    problem = pile(upper=0.0)
    assert pairs_of(*rub(problem), problem) == {(lower, box)}
    assert rub(pile(lower=0.0)) == rub(pile(upper=0.0, lower=0.0)) == []


def friction_force(problem: SceneProblem, shift: Floats, moved: np.ndarray) -> float:
    """Σ of the tangential force [N] on the moved vertices when they slide far by the shift (3,)."""
    x = problem.x0.copy()
    x[moved] += shift
    (part,) = rub(problem)
    return float(np.linalg.norm(part.gradient(x)[moved].sum(axis=0)))


def test_a_shell_rubs_on_itself_with_its_own_coefficient(tmp_path: Path) -> None:
    # two sheets as one mesh, 10 mm apart, so that contact between them reaches its full 1 + 1 mm
    sheet, turn = grid(0.1, 0.1, resolution=(4, 4), seed=3), rotation([0, 0, 25])
    X = np.concatenate([sheet.X, sheet.X @ turn.T + np.array([3e-3, 2e-3, 0.01])])
    triangles = np.concatenate([sheet.triangles, sheet.triangles + len(sheet.X)])
    write_obj(tmp_path / "two.obj", X, triangles)
    contact = CONTACT | {"friction": 0.9}

    def normal_and_tangential(friction: float) -> tuple[float, float]:
        shell = {"file": "two.obj", "friction": friction}
        problem = open_session(
            scene_from_dict({"shell": [shell], "contact": contact}, tmp_path), tmp_path
        ).ladder.problem(0)
        upper = problem.x0[:, 2] > 5e-3
        x = problem.x0.copy()
        x[upper, 2] -= 8.5e-3
        x.flags.writeable = False
        problem.x0 = x
        assert problem.barrier is not None
        force = problem.barrier.gradient(x)[upper].sum(axis=0)
        return abs(float(force[2])), friction_force(problem, np.array([0.01, 0.0, 0.0]), upper)

    for friction in (0.2, 0.6):
        pressed, dragged = normal_and_tangential(friction)
        # pairs at the rims push a little aside
        assert pressed > 0.0 and dragged == pytest.approx(friction * pressed, rel=5e-3)


# --- scene files ------------------------------------------------------------------------------------------------------

SHEET: Table = {"name": "cloth", "shape": "grid", "vertices": 9}


@pytest.mark.parametrize("value", [-0.1, "rough", float("nan")])
@pytest.mark.parametrize("body", ["shell", "collider"])
def test_a_coefficient_is_a_number_from_0_on(body: str, value: Any) -> None:
    tables = {"shell": [SHEET], "collider": [{"name": "floor", "shape": "floor"}]}
    tables[body] = [tables[body][0] | {"friction": value}]
    with pytest.raises(SceneError, match=rf"{body}\.0: friction must be"):
        scene_from_dict(tables, Path())


def test_own_coefficients_survive_writing_and_reading() -> None:
    floors = [{"name": "ice", "shape": "floor", "friction": 0}, {"name": "felt", "shape": "sphere"}]
    scene = scene_from_dict({"shell": [SHEET | {"friction": 0.7}], "collider": floors}, Path())
    assert scene_from_dict(scene_to_dict(scene), Path()) == scene
    assert [scene.friction_of(body) for body in (*scene.shells, *scene.colliders)] == [0.7, 0.0, 0.3]
    assert "friction" not in scene_to_dict(scene)["collider"][1]
