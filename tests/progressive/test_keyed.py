"""Loads and materials that change through time, and colliders that follow samples."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import states

from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.core.state import State
from plisse.loading.scene_table import scene_from_dict, scene_to_dict
from plisse.meshes.ply import write_ply
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session
from plisse.shapes.catalogue import make_shape

RUBBER = {"density": 1000.0, "thickness": "1 mm", "E": "1 MPa", "nu": 0.3}
STRIP = {"shape": "grid", "width": 0.02, "height": 0.1, "resolution": [2, 8], "diagonals": "uniform"}


def problem_of(table: dict[str, Any], base: Path = Path()) -> SceneProblem:
    return open_session(scene_from_dict(table, base), base).ladder.problem(0)


def rest(table: dict[str, Any], base: Path = Path()) -> tuple[Any, State]:
    problem = problem_of(table, base)
    *_, state = states(problem)
    assert state.converged
    return problem, state


def test_gravity_that_sets_in_makes_the_fall_of_its_own_schedule() -> None:
    keys = [{"time": 0.1, "value": [0, 0, 0]}, {"time": "300 ms", "value": [0, 0, "-10 m/s2"]}]
    table = {"shell": [STRIP], "gravity": keys, "time": {"mode": "dynamic", "h": 0.02, "duration": 0.4}}
    problem = problem_of(table)
    z, v = 0.0, 0.0
    for state in states(problem):
        if state.accepted:
            # implicit Euler: v += h g(t) at the step's end, z += h v
            v += 0.02 * -10.0 * np.clip((state.step * 0.02 - 0.1) / 0.2, 0.0, 1.0)
            z += 0.02 * v
            assert state.x[:, 2] == pytest.approx(z, abs=1e-9)
    assert state.step == 20 and z < -0.1


def test_a_hanging_strip_that_grows_softer_ends_with_its_last_modulus() -> None:
    stretched = {}
    for name, E in {
        "keyed": [{"time": 0, "value": "1 MPa"}, {"time": 3, "value": "0.25 MPa"}],
        "soft": "0.25 MPa",
        "stiff": "1 MPa",
    }.items():
        pin = {"box": [[-1, -1, 0.0499], [1, 1, 1]]}
        shell = STRIP | {"material": RUBBER | {"E": E, "nu": 0}, "pin": [pin], "rotate": [90, 0, 0]}
        problem, state = rest({"shell": [shell], "solver": {"tol": 1e-5}})
        lowest = problem.x0[:, 2] < -0.0499
        stretched[name] = float((problem.x0 - state.x)[lowest, 2].mean())
    # ρ g L² / 2E
    assert stretched["soft"] == pytest.approx(1000 * 9.81 * 0.1**2 / (2 * 0.25e6), rel=0.02)
    assert stretched["keyed"] == pytest.approx(stretched["soft"], rel=1e-3)
    assert stretched["stiff"] == pytest.approx(0.25 * stretched["soft"], rel=0.02)


def test_a_ball_that_is_blown_up_step_by_step_ends_as_the_one_under_full_pressure() -> None:
    radius = {}
    for name, pressure in {
        "keyed": [{"time": 0, "value": 0}, {"time": "1.5 s", "value": "400 Pa"}],
        "constant": 400.0,
    }.items():
        ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 2, "material": RUBBER, "pressure": pressure}
        pins = [{"vertices": [0]}]
        _, state = rest({"shell": [ball | {"pin": pins}], "gravity": [0, 0, 0], "solver": {"tol": 1e-5}})
        middle = state.x.mean(axis=0)
        radius[name] = np.linalg.norm(state.x - middle, axis=1).mean()
        assert state.time >= (1.5 if name == "keyed" else 0.0)
    # p R² (1 − ν) / 2 E τ of a thin ball
    assert radius["constant"] - 0.1 == pytest.approx(400 * 0.1**2 * 0.7 / (2 * 1e6 * 1e-3), rel=0.08)
    assert radius["keyed"] == pytest.approx(radius["constant"], abs=1e-7)


def test_levels_take_keyframed_loads_too() -> None:
    cloth = {"shape": "grid", "vertices": 49, "width": 0.4, "height": 0.4}
    table = {
        "shell": [cloth | {"pin": [{"boundary": True}]}],
        "gravity": [{"time": 0, "value": [0, 0, 0]}, {"time": 1.2, "value": [0, 0, -9.81]}],
        "hierarchy": {"levels": 2},
    }
    *_, state = open_session(scene_from_dict(table, Path())).settle(0)
    *_, plain = open_session(scene_from_dict(table | {"gravity": [0, 0, -9.81]}, Path())).settle(0)
    assert state.converged and plain.converged
    assert state.x[:, 2].min() == pytest.approx(plain.x[:, 2].min(), rel=0.02) and plain.x[:, 2].min() < -0.005


def test_the_barrier_is_as_stiff_as_the_heaviest_load_needs() -> None:
    def stiffness(gravity: Any) -> float:
        table = {"shell": [STRIP], "collider": [{"shape": "floor"}], "gravity": gravity}
        return float(problem_of(table).scene.contact.stiffness or 0.0)

    keys = [{"time": 0, "value": [0, 0, -30]}, {"time": 1, "value": [0, 0, -10]}]
    assert stiffness(keys) == stiffness([0, 0, -30]) > stiffness([0, 0, -10])


def test_keys_survive_writing_and_reading() -> None:
    shell = STRIP | {"material": RUBBER | {"E": [{"time": 0, "value": 1e6}, {"time": 1, "value": 2e6}]}}
    wind = {"velocity": [{"time": 0, "value": [0, 0, 0]}, {"time": 2, "value": ["36 km/h", 0, 0]}]}
    scene = scene_from_dict({"shell": [shell], "wind": wind}, Path())
    assert scene.at(1.0).wind is not None and scene.at(1.0).wind.velocity == pytest.approx((5, 0, 0))
    assert scene.at(0.5).shells[0].material.E == pytest.approx(1.5e6) and scene.last_key == 2.0
    again = scene_from_dict(scene_to_dict(scene), Path())
    assert again == scene and again.keyed == scene.keyed


@pytest.mark.parametrize(
    ("gravity", "words"),
    [
        ([{"time": 0, "value": [0, 0, 1]}, {"time": 0, "value": [0, 0, 2]}], "increasing times"),
        ([{"time": 0}], "both time and value"),
        ([{"time": 0, "value": [0, 0]}], "three numbers"),
        ([{"time": "1 m", "value": [0, 0, 1]}], "cannot be converted"),
        ([{"time": 0, "value": [0, 0, 1], "ease": 1}], "ease"),
    ],
)
def test_bad_keys_are_told(gravity: Any, words: str) -> None:
    with pytest.raises(SceneError, match=words):
        scene_from_dict({"shell": [STRIP], "gravity": gravity}, Path())


def test_only_some_values_have_keys() -> None:
    keys = [{"time": 0, "value": 1e-3}, {"time": 1, "value": 2e-3}]
    with pytest.raises(SceneError, match="thickness"):
        scene_from_dict({"shell": [STRIP | {"material": RUBBER | {"thickness": keys}}]}, Path())


class TestSequence:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A ball that goes up by 1 cm a frame, eleven frames."""
        ball = make_shape("sphere", {"radius": 0.05, "subdivisions": 2})
        (tmp_path / "ball").mkdir()
        for number in range(11):
            write_ply(tmp_path / "ball" / f"f{number}.ply", ball.X + np.array([0, 0, 0.01 * number]), ball.triangles)
        return tmp_path

    def test_it_moves_linearly_between_its_samples_and_carries_the_cloth(self, folder: Path) -> None:
        collider = {"name": "ball", "sequence": "ball", "rate": 20, "translate": [0, 0, -0.06], "start": "0.1 s"}
        cloth = {"shape": "grid", "width": 0.12, "height": 0.12, "vertices": 64}
        table = {"shell": [cloth], "collider": [collider], "time": {"mode": "dynamic", "duration": 0.7}}
        problem = problem_of(table, folder)
        first = problem.x0[problem.bodies.n_simulated :]
        for state in states(problem):
            if state.accepted:
                lift = 0.01 * 20 * np.clip(state.time - 0.1, 0.0, 0.5)
                assert (
                    np.abs(state.x[problem.bodies.n_simulated :] - first - [0, 0, lift]).max() < 5e-6
                )  # a thousandth of a step may be left
        assert state.step == 35 and state.missed < 5e-6
        middle = np.linalg.norm(state.x[: problem.bodies.n_simulated, :2], axis=1) < 0.02
        assert (state.x[: problem.bodies.n_simulated][middle, 2] > 0.085).all()

    def test_a_sequence_belongs_to_colliders_and_needs_no_motion(self, folder: Path) -> None:
        with pytest.raises(SceneError, match="colliders"):
            scene_from_dict({"shell": [{"sequence": "ball"}]}, folder)
        collider = {"sequence": "ball", "motion": [{"time": 1, "translate": [0, 0, 1]}]}
        with pytest.raises(SceneError, match="remove motion"):
            scene_from_dict({"shell": [STRIP], "collider": [collider]}, folder)

    @pytest.mark.parametrize("kind", ["decimation", "loop"])
    def test_it_can_have_levels_and_moves_alike_on_all_of_them(self, folder: Path, kind: str) -> None:
        collider = {"name": "ball", "sequence": "ball", "rate": 20, "translate": [0, 0, -0.06], "refine": True}
        cloth = {"shape": "grid", "width": 0.12, "height": 0.12, "vertices": 200}
        levels = {"kind": kind, "levels": [60] if kind == "decimation" else 2}
        table = {"shell": [cloth], "collider": [collider], "time": {"h": 0.1}, "hierarchy": levels}
        session = open_session(scene_from_dict(table, folder), folder, threads=1)
        sizes = [len(session.ladder.geometry(level).solids[0].X) for level in (0, 1)]
        assert sizes[0] < 0.5 * sizes[1]
        for level in (0, 1):
            for _ in session.preview() if level == 0 else session.refine():
                pass
            state, shape = session.grid.last(level), session.ladder.geometry(level)
            assert state is not None and state.converged
            ball, first = state.x[-sizes[level] :], shape.solids[0].X
            assert np.allclose(ball - first, [0, 0, 0.1], atol=1e-9)
            assert session.problem is not None and Detector.of(session.problem).count(state.x) == 0
