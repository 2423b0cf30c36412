"""Previews on levels by decimation: every kind of shell, energy, load, pin and collider that other levels have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.kernels.threads import use_threads
from plisse.loading.examples import copy_example
from plisse.loading.scene_file import load_scene
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.session import Session
from plisse.runs.opening import open_session

SHEET = {"shape": "grid", "width": 0.6, "height": 0.6, "vertices": 900, "material": "cotton"}
DOME = {"shape": "dome", "vertices": 900, "material": "rubber", "pin": [{"boundary": True}]}
BALL = {"shape": "sphere", "radius": 0.2, "translate": [0, 0, -0.21]}
FLOOR = {"shape": "floor", "height": -0.45}
CORNERS = {"pin": [{"corners": True}]}
ENDS = [
    {"box": [[x - 1e-4, -1, -1], [x + 1e-4, 1, 1]], "motion": [{"time": 1, "translate": [-0.1 * x, 0, 0]}]}
    for x in (-0.3, 0.3)
]
SCENES: dict[str, dict[str, Any]] = {
    "cloth on a ball": {"shell": [SHEET], "collider": [BALL, FLOOR]},
    "cloth that hangs from its corners": {"shell": [SHEET | CORNERS]},
    "ends that are led": {"shell": [SHEET | {"pin": ENDS}]},
    "strain limit": {"shell": [SHEET | CORNERS | {"material": {"preset": "cotton", "strain_limit": 1.1}}]},
    "region": {"shell": [SHEET | CORNERS | {"region": [{"boundary": True, "material": "denim"}]}]},
    "dome under its weight": {"shell": [DOME]},
    "dome under pressure": {"shell": [{"shape": "sphere", "radius": 0.2, "subdivisions": 3, "material": "rubber",
                                       "pressure": {"kind": "constant", "value": 50}}],
                            "collider": [{"shape": "floor", "height": -0.21}]},
    "balloon": {"shell": [{"shape": "sphere", "radius": 0.2, "subdivisions": 3, "material": "rubber",
                           "pressure": {"kind": "gas", "value": 200}}],
                "collider": [{"shape": "floor", "height": -0.21}]},
    "two shells": {"shell": [SHEET | CORNERS, DOME | {"translate": [2, 0, 0]}]},
    "collider that is refined": {"shell": [SHEET], "collider": [BALL | {"refine": True}, FLOOR]},
    "turned and moved": {"shell": [SHEET | CORNERS | {"rotate": [30, 20, 10], "translate": [1, 2, 3]}]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


def make(table: dict[str, Any], **hierarchy: Any) -> Session:
    levels = {"kind": "decimation", "levels": 3, "ratio": 2.5} | hierarchy
    return open_session(scene_from_dict(table | {"hierarchy": levels}, Path()))


@pytest.mark.parametrize("name", SCENES)
def test_a_preview_comes_to_rest_without_intersections(name: str) -> None:
    session = make(SCENES[name])
    for _ in session.preview():
        pass
    state, problem = session.grid.last(0), session.problem
    assert state is not None and problem is not None
    assert state.converged
    assert Detector.of(problem).count(state.x) == 0
    assert problem.strain_limit is None or not problem.strain_limit.broken(state.x).any()
    finest = sum(len(mesh.X) for mesh in session.ladder.given.shells)
    assert finest / 7.0 < problem.bodies.n_simulated < finest / 5.0


@pytest.mark.parametrize("prolongation", ["smooth", "shell", "printed"])
def test_a_shell_at_rest_stays_there_under_every_map_that_keeps_its_shape(prolongation: str) -> None:
    session = make({"shell": [DOME], "gravity": [0, 0, 0]}, prolongation=prolongation)
    X = session.ladder.geometry(0).placed
    *_, state = session.preview()
    assert np.abs(state.x - X).max() < 1e-9


def test_a_map_that_loses_the_shape_pulls_a_shell_from_its_rest() -> None:
    session = make({"shell": [DOME], "gravity": [0, 0, 0]}, prolongation="intrinsic")
    problem = session.ladder.problem(0)
    ghost = sum(part.gradient(problem.x0) for part in problem.potentials)
    other = make({"shell": [DOME], "gravity": [0, 0, 0]}, prolongation="smooth").ladder.problem(0)
    none = sum(part.gradient(other.x0) for part in other.potentials)
    assert np.linalg.norm(none) < 1e-6 * np.linalg.norm(ghost)


def test_places_are_those_of_the_finest_level() -> None:
    session = make({"shell": [DOME | {"rotate": [30, 20, 10], "translate": [1, 2, 3], "scale": 1.5}]})
    fine, coarse = session.ladder.given, session.ladder.geometry(0)
    (X_fine, x_fine), (X, x) = ((g.shells[0].X, g.shell_positions[0]) for g in (fine, coarse))
    turn, *_ = np.linalg.lstsq(X_fine - X_fine[0], x_fine - x_fine[0], rcond=None)
    assert x == pytest.approx((X - X_fine[0]) @ turn + x_fine[0], abs=1e-9)
    (pin,) = coarse.pins[0]
    assert np.array_equal(pin, np.unique(coarse.shells[0].boundary_edges))


def test_pins_hold_the_same_line_from_end_to_end() -> None:
    session = make({"shell": [SHEET | {"pin": ENDS}]})
    fine, coarse = session.ladder.given, session.ladder.geometry(0)
    for pin_fine, pin in zip(fine.pins[0], coarse.pins[0], strict=True):
        assert 2 <= len(pin) < len(pin_fine)
        a, b = fine.shell_positions[0][pin_fine], coarse.shell_positions[0][pin]
        assert np.ptp(b[:, 0]) < 1e-12 and b[0, 0] == pytest.approx(a[0, 0], abs=1e-12)
        assert [b[:, 1].min(), b[:, 1].max()] == pytest.approx([a[:, 1].min(), a[:, 1].max()], abs=1e-12)


def test_a_pattern_with_seams_is_kept(tmp_path: Path) -> None:
    sets = ["hierarchy.kind=decimation", "hierarchy.levels=2", "hierarchy.ratio=3"]
    scene = load_scene(copy_example("skirt", tmp_path), sets)
    session = open_session(scene, tmp_path)
    fine, coarse = (session.ladder.geometry(level).shells[0] for level in (1, 0))
    assert fine.rest is not None and coarse.rest is not None and coarse.uv is not None
    assert coarse.triangle_areas.sum() == pytest.approx(fine.triangle_areas.sum(), rel=0.02)
    assert np.abs(coarse.rest[:, :, 2]).max() < 1e-12
    *_, state = session.preview()
    assert state.converged


def test_the_same_preview_whatever_the_levels_in_between() -> None:
    few, many = (make(SCENES["cloth on a ball"], levels=levels) for levels in ([150], [150, 300, 600]))
    a, b = (session.ladder.geometry(0).shells[0] for session in (few, many))
    assert np.array_equal(a.X, b.X) and np.array_equal(a.triangles, b.triangles)


def test_the_finest_mesh_alone_can_be_simulated() -> None:
    session = make(SCENES["dome under its weight"], method="direct")
    *_, state = session.settle(session.finest)
    assert state.converged and len(state.x) == len(session.ladder.given.placed)


def test_a_preview_goes_on_after_a_change_that_leaves_its_levels_as_they_are() -> None:
    session = make(SCENES["cloth on a ball"])
    *_, before = session.preview()
    session.change(replace(session.scene, gravity=(0.0, 0.0, -5.0)))
    *_, after = session.preview()
    assert after.converged and after.step > before.step
    assert len(after.x) == len(before.x)


def test_a_change_that_makes_other_levels_is_refused() -> None:
    session = make(SCENES["cloth that hangs from its corners"])
    *_, before = session.preview()
    (shell,) = session.scene.shells
    with pytest.raises(SceneError, match="start again"):
        session.change(replace(session.scene, shells=(replace(shell, pins=shell.pins[:0]),)))
    assert session.grid.last(0) is before
