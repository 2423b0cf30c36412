"""Plates in scenes: clamps by pins, large rotations, shells of both kinds, changes on the way, levels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.scenes import NO_CONTACT, at_x, equilibrium, make_problem
from tests.progressive.test_closed_forms import TAU, elastica_tip

from plisse.core.errors import SceneError
from plisse.energies.bending import Bending
from plisse.energies.plate import Plate
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.ladder import Ladder
from plisse.progressive.shells import ShellModel, _held
from plisse.progressive.softening import Softening
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene
from plisse.shapes import catalogue as shapes

SOFT = {"density": 500, "thickness": TAU, "E": 5e6, "nu": 0.0, "bending": "plate"}
SHEET: dict[str, Any] = {"shape": "grid", "width": 0.4, "height": 0.3, "resolution": [8, 6]}


def scene_of(*shells: dict[str, Any], **more: Any) -> Scene:
    return scene_from_dict({"shell": list(shells), **more}, Path())


def model_of(*shells: dict[str, Any]) -> ShellModel:
    scene = scene_of(*shells)
    geometry = load_geometry(scene, Path())
    return ShellModel(scene, geometry.shells, regions=geometry.regions, pins=geometry.pins)


def crumpled(model: ShellModel) -> np.ndarray:
    return model.mesh.X + np.random.default_rng(2).uniform(-0.01, 0.01, model.mesh.X.shape)


@pytest.mark.parametrize("diagonals", ["alternating", "jittered"])
def test_heavy_cantilever_is_the_elastica(diagonals: str) -> None:
    cells = 16
    cell = 0.1 / cells
    # jittered columns are pinned up to where all of them are behind the clamp's edge
    edge = 0.0 if diagonals == "alternating" else 0.26 * cell
    problem = make_problem(
        {
            "shape": "grid", "width": 0.1 + cell, "height": 0.025, "diagonals": diagonals,
            "resolution": [cells + 1, 4], "translate": [0.05 - cell / 2, 0, 0], "material": SOFT,
            "pin": [{"box": [[-1, -1, -1], [edge, 1, 1]]}],
        },
        contact=NO_CONTACT, time={"h": 0.1}, solver={"tol": 1e-6},
    )  # fmt: skip
    x = equilibrium(problem).x
    tip = at_x(problem, 0.05 + cell / 2)
    reach, sag = elastica_tip(0.1, 500 * TAU * 9.81, 5e6 * TAU**3 / 12)
    assert sag > 0.06  # large rotations
    off = np.hypot(x[tip, 0].mean() - reach, -x[tip, 2].mean() - sag) / sag
    assert off < (0.01 if diagonals == "alternating" else 0.03)


def test_shells_of_both_kinds_bend_as_they_do_alone() -> None:
    cloth, metal = SHEET | {"material": "cotton"}, SHEET | {"material": {"preset": "aluminium", "bending": "plate"}}
    pin = {"box": [[-1, -1, -1], [-0.05, 1, 1]]}
    shells = [cloth, metal | {"resolution": [5, 9], "pin": [pin]}, cloth | {"resolution": [4, 3]}]
    alone, mixed = [model_of(shell) for shell in shells], model_of(*shells)
    assert [type(part) for part in mixed.elastic[1:]] == [Bending, Plate]
    assert [type(part) for part in alone[1].elastic[1:]] == [Plate]
    x = crumpled(mixed)
    parts = np.split(x, np.cumsum([model.n for model in alone])[:-1])
    both = zip(alone, parts, strict=True)
    energies, forces = zip(*((m.elastic[1].value(y), m.elastic[1].gradient(y)) for m, y in both), strict=True)
    assert sum(part.value(x) for part in mixed.elastic[1:]) == pytest.approx(sum(energies), rel=1e-12)
    mine = sum(part.gradient(x) for part in mixed.elastic[1:])
    np.testing.assert_allclose(mine, np.concatenate(forces), rtol=1e-9, atol=1e-12 * np.abs(mine).max())


def test_a_coarse_level_is_stiffer_by_its_factor() -> None:
    scene = scene_of(SHEET | {"material": SOFT})
    meshes = load_geometry(scene, Path()).shells
    plain, stiffer = ShellModel(scene, meshes), ShellModel(scene, meshes, softening=Softening((1.0,), (1.0,), (3.0,)))
    x = crumpled(plain)
    assert stiffer.elastic[1].value(x) == pytest.approx(3.0 * plain.elastic[1].value(x), rel=1e-12)


def test_a_region_changes_the_stiffness_of_its_triangles() -> None:
    region = {"box": [[-1, -1, -1], [0, 1, 1]], "E_bend": 0.0}
    plain, half = (model_of(SHEET | {"material": SOFT, "region": each}) for each in ([], [region]))
    x = crumpled(plain)
    assert 0.3 < half.elastic[1].value(x) / plain.elastic[1].value(x) < 0.6


def test_a_region_bends_as_its_shell_does() -> None:
    region = {"box": [[-1, -1, -1], [0, 1, 1]], "material": "leather"}
    with pytest.raises(SceneError, match=r'region.0.material has bending = "hinge", but .* give both the same bending'):
        scene_of(SHEET | {"material": SOFT, "region": [region]})


def test_pinned_triangles_are_clamps_and_pinned_boundaries_are_not() -> None:
    mesh = shapes.grid(1.0, 1.0, resolution=4, diagonals="alternating")
    column = np.flatnonzero(mesh.X[:, 0] < -0.2)
    assert _held(mesh, [column]).sum() == 8
    assert not _held(mesh, [np.unique(mesh.boundary_edges)]).any()
    assert not _held(mesh, [np.flatnonzero(mesh.X[:, 0] == 0.0)]).any() and not _held(mesh, []).any()


def test_changed_pins_move_the_clamp() -> None:
    def ladder(width: float) -> tuple[Scene, Any]:
        pin = {"box": [[-1, -1, -1], [-0.2 + width, 1, 1]]}
        scene = scene_of(SHEET | {"material": SOFT, "diagonals": "uniform", "pin": [pin]})
        return scene, load_geometry(scene, Path())

    before = Ladder.of(*ladder(0.06))
    x = crumpled(before._model(0, None))
    same, moved = (before.changed(*ladder(width)) for width in (0.06, 0.11))
    fresh = Ladder.of(*ladder(0.11))
    values = [each._model(0, None).elastic[1].value(x) for each in (before, same, moved, fresh)]
    assert values[0] == values[1] != values[2] == values[3]


@pytest.mark.parametrize("preset", ["predictive", "paper"])
def test_a_plate_comes_to_rest_on_two_levels(preset: str) -> None:
    # Loop's rule takes its elasticity, and its exact Hessian, from the finer level
    pin = {"box": [[-1, -1, -1], [-0.14, 1, 1]]}
    scene = scene_of(
        SHEET | {"material": SOFT, "pin": [pin]}, contact=NO_CONTACT, hierarchy={"levels": 2, "preset": preset}
    )
    session = open_session(scene, threads=1)
    *_, coarse = session.settle(0)
    *_, fine = session.refine()
    assert coarse.converged and fine.converged
    lowest = [float(state.x[:, 2].min()) for state in (coarse, fine)]
    assert lowest[0] == pytest.approx(lowest[1], rel=0.1) and lowest[1] < -0.1


def test_stiffness_that_is_keyed_in_time() -> None:
    keyed = SOFT | {"E": [{"time": 0, "value": 5e6}, {"time": 1, "value": 1e7}]}
    scene = scene_of(SHEET | {"material": keyed})
    model = ShellModel(scene.at(0.0), load_geometry(scene, Path()).shells)
    x = crumpled(model)
    assert model.of(scene.at(1.0)).elastic[1].value(x) == pytest.approx(2.0 * model.elastic[1].value(x), rel=1e-12)


def test_the_kind_can_be_changed() -> None:
    hinge = scene_of(SHEET | {"material": "cotton"})
    (shell,) = hinge.shells
    plate = replace(hinge, shells=(replace(shell, material=replace(shell.material, bending="plate")),))
    model = ShellModel(hinge, load_geometry(hinge, Path()).shells)
    assert isinstance(model.elastic[1], Bending) and isinstance(model.of(plate).elastic[1], Plate)
