"""Regions in the simulation: mass, stiffness and strain limit where they differ, on all levels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from tests.progressive.scenes import NO_CONTACT, Table, at_x, equilibrium, make_problem

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.feasibility import check_lengths
from plisse.progressive.ladder import Ladder
from plisse.progressive.scales import settle_contact
from plisse.progressive.session import Session
from plisse.progressive.shells import ShellModel
from plisse.scene.presets import PRESETS

COTTON, DENIM = PRESETS["cotton"], PRESETS["denim"]
FAR = 9.0


def beyond(x: float) -> Table:
    """Selects all vertices from a place x [m] on."""
    return {"box": [[x, -FAR, -FAR], [FAR, FAR, FAR]]}


def ladder_of(shell: Table, *, base: Path = Path(), **rest: Any) -> Ladder:
    scene = scene_from_dict({"shell": [shell], **rest}, base)
    return Ladder.of(scene, load_geometry(scene, base))


def model_of(shell: Table, *, level: int = 0, base: Path = Path(), **rest: Any) -> ShellModel:
    """The shells' own model on a level, with all of their stiffness."""
    ladder = ladder_of(shell, base=base, **rest)
    geometry = ladder.geometry(level)
    return ShellModel(ladder.scene, geometry.shells, regions=geometry.regions)


# --- mass -------------------------------------------------------------------------------------------------------------

SHEET: Table = {"shape": "grid", "width": 0.5, "height": 0.3, "resolution": [10, 6], "diagonals": "uniform"}


def test_a_hem_weighs_its_area_times_its_density_times_its_thickness() -> None:
    # the hem begins at x = 0.15: three columns of cells have other values on their left side only
    model = model_of(SHEET | {"region": [beyond(0.149) | {"density": 900, "thickness": 1e-3}]})
    mass = 0.0
    for triangle, area in zip(model.mesh.triangles, model.mesh.triangle_areas, strict=True):
        w = sum(model.mesh.X[i, 0] > 0.149 for i in triangle) / 3
        mass += area * ((1 - w) * COTTON.density + w * 900) * ((1 - w) * COTTON.thickness + w * 1e-3)
    assert model.mass.sum() == pytest.approx(mass, rel=1e-13)
    # well inside and well outside every vertex has the mass of its own third of the triangles
    for inside, value in ((model.mesh.X[:, 0] > 0.19, 0.9), (model.mesh.X[:, 0] < 0.09, COTTON.area_density)):
        np.testing.assert_allclose(model.mass[inside], value * model.mesh.vertex_areas[inside], rtol=1e-13)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_mass_is_the_same_on_all_levels(level: int) -> None:
    region = beyond(0.149) | {"density": 5000}
    model = model_of(SHEET | {"region": [region]}, level=level, hierarchy={"levels": 3})
    # a column of cells goes over from one density to the other
    hem = 0.3 * (0.1 + 0.05 / 2)
    expected = COTTON.thickness * (5000 * hem + COTTON.density * (0.15 - hem))
    assert model.mass.sum() == pytest.approx(expected, rel=1e-12)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_painted_weights_blend_every_value_linearly(tmp_path: Path) -> None:
    painted = {"shape": "grid", "resolution": 4, "region": [{"weights": "w.txt", "material": "denim"}]}
    X = model_of({"shape": "grid", "resolution": 4}).mesh.X
    weights = np.random.default_rng(2).uniform(size=len(X))
    (tmp_path / "w.txt").write_text("\n".join(map(repr, weights.tolist())))
    model = model_of(painted, base=tmp_path)
    w = weights[model.mesh.triangles].mean(axis=1)
    np.testing.assert_allclose(model.E, COTTON.E + w * (DENIM.E - COTTON.E), rtol=1e-13)
    np.testing.assert_allclose(model.thickness, COTTON.thickness + w * (DENIM.thickness - COTTON.thickness), rtol=1e-13)
    # a hinge has the mean of its triangles; its energy shows its stiffness, one hinge bent at a time
    triangle = {frozenset(corners): weight for corners, weight in zip(model.mesh.triangles.tolist(), w, strict=True)}
    bent = _hinge_stiffness(model.mesh, model.elastic[1])
    plain = _hinge_stiffness(model.mesh, model_of({"shape": "grid", "resolution": 4}).elastic[1])
    for (i, j, k, l), ratio in zip(model.mesh.hinges.tolist(), bent / plain, strict=True):
        v = (triangle[frozenset((i, j, k))] + triangle[frozenset((i, j, l))]) / 2
        values = [(1 - v) * a + v * b for a, b in zip(_bending_values(COTTON), _bending_values(DENIM), strict=True)]
        assert ratio == pytest.approx(_rigidity(*values) / _rigidity(*_bending_values(COTTON)), rel=1e-4)


def _bending_values(material: Any) -> tuple[float, float, float]:
    return material.bending_modulus, material.thickness, material.nu


def _rigidity(E: float, thickness: float, nu: float) -> float:
    return E * thickness**3 / (1 - nu**2)


def _hinge_stiffness(mesh: Mesh, bending: Any) -> Floats:
    """Something proportional to each hinge's stiffness: the exact Hessian's part that only this hinge has."""
    hessian = bending.hessian(mesh.X)
    (blocks,) = hessian.blocks
    order = mesh.local_order(mesh.hinges)
    out = np.empty(len(order))
    out[order] = blocks.scale * (blocks.vectors**2).sum(axis=(1, 2))
    return out


@pytest.mark.parametrize("level", [1, 2])
def test_weights_on_finer_levels_are_interpolated(tmp_path: Path, level: int) -> None:
    # what is linear in the plane stays so
    shell: Table = {"shape": "grid", "resolution": 4, "diagonals": "uniform"}
    X = ladder_of(shell).given.shells[0].X
    shell |= {"region": [{"weights": "w.txt", "E": 1e6}, beyond(0.2) | {"E": 2e6}]}
    (tmp_path / "w.txt").write_text("\n".join(map(repr, (0.5 + 0.7 * X[:, 0] + 0.2 * X[:, 1]).tolist())))
    ladder = ladder_of(shell, base=tmp_path, hierarchy={"levels": 3})
    geometry = ladder.geometry(level)
    X = geometry.shells[0].X
    (painted, selected) = geometry.regions[0]
    np.testing.assert_allclose(painted, 0.5 + 0.7 * X[:, 0] + 0.2 * X[:, 1], atol=1e-15)
    # a selection fades over the coarse cells at its rim, here the column between x = 0 and x = 0.25
    np.testing.assert_allclose(selected, np.clip(X[:, 0] / 0.25, 0, 1), atol=1e-15)


def test_weights_take_midpoints_on_curved_shells_too() -> None:
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 1}
    plain = {"shape": "grid", "vertices": 9, "translate": [0, 0, 1]}
    top = {"box": [[-1, -1, 0.05], [1, 1, 1]], "thickness": 1e-3}
    scene = scene_from_dict({"shell": [plain, ball | {"region": [top]}], "hierarchy": {"levels": 2}}, Path())
    ladder = Ladder.of(scene, load_geometry(scene, Path()))
    below, above = ladder.geometry(0), ladder.geometry(1)
    assert above.regions[0] == ()
    coarse, fine, n = below.regions[1][0], above.regions[1][0], len(below.shells[1].X)
    assert 0 < coarse.sum() < n
    np.testing.assert_array_equal(fine[:n], coarse)
    np.testing.assert_array_equal(fine[n:], coarse[below.shells[1].edges].mean(axis=1))
    # its levels and the proxy of the coarse one can be made
    assert ladder.problem(0).mass.sum() > 0 and ladder.problem(1).mass.sum() > 0


def test_later_regions_are_blended_over_earlier_ones() -> None:
    regions = [beyond(-0.01) | {"E": 4e6, "density": 1000}, beyond(0.149) | {"E": 8e6}]
    model = model_of(SHEET | {"region": regions})
    x = model.mesh.X[model.mesh.triangles, 0]
    first, both = (x.min(axis=1) > -0.01) & (x.max(axis=1) < 0.149), x.min(axis=1) > 0.149
    assert set(model.E[x.max(axis=1) < -0.01]) == {COTTON.E}
    assert set(model.E[first]) == {4e6} and set(model.E[both]) == {8e6}
    rho = model.mass / model.mesh.vertex_areas / COTTON.thickness
    np.testing.assert_allclose(rho[model.mesh.X[:, 0] > 0.05], 1000, rtol=1e-12)


def test_a_strain_limit_holds_inside_of_a_region() -> None:
    model = model_of(SHEET | {"region": [beyond(0.149) | {"strain_limit": 1.03}]})
    w = (model.mesh.X[model.mesh.triangles, 0] > 0.149).mean(axis=1)
    assert set(w) == {0, 1 / 3, 2 / 3, 1}
    np.testing.assert_array_equal(model.limits, np.where(w == 1, 1.03, np.inf))
    material = {"preset": "cotton", "strain_limit": 1.1}
    model = model_of(SHEET | {"material": material, "region": [beyond(0.149) | {"strain_limit": False}]})
    np.testing.assert_array_equal(model.limits, np.where(w == 1, np.inf, 1.1))


def test_a_hem_with_a_strain_limit_holds_it_on_all_levels() -> None:
    soft = {"preset": "cotton", "density": 20000, "E": 2e4}
    shell = SHEET | {
        "material": soft, "pin": [{"corners": True}], "rotate": [90, 0, 0],
        "region": [{"box": [[-FAR, -FAR, 0.09], [FAR, FAR, FAR]], "strain_limit": 1.05}],
    }  # fmt: skip
    scene = scene_from_dict({"shell": [shell], "contact": NO_CONTACT, "hierarchy": {"levels": 2}}, Path())
    session = Session(scene, load_geometry(scene, Path()))
    for level, walk in enumerate((session.preview, session.refine)):
        *_, state = walk()
        assert session.problem is not None and session.problem.strain_limit is not None
        assert state.level == session.problem.level == level and state.converged
        assert 1.03 < session.problem.strain_limit.stretches(state.x).max() < 1.05


def test_a_changed_scene_takes_other_weights_and_other_values() -> None:
    def scene_with(x: float, E: float) -> Any:
        return scene_from_dict({"shell": [SHEET | {"region": [beyond(x) | {"E": E}]}]}, Path())

    first = scene_with(0.149, 1e6)
    ladder = Ladder.of(first, load_geometry(first, Path()))
    assert ladder.problem(0).model.E.max() == 1e6
    for x, E in ((0.149, 3e6), (0.049, 1e6)):
        scene = scene_with(x, E)
        found = ladder.changed(scene, load_geometry(scene, Path())).problem(0).model.E
        fresh = Ladder.of(scene, load_geometry(scene, Path())).problem(0).model.E
        assert found.max() == E and np.array_equal(found, fresh)


# --- contact lengths --------------------------------------------------------------------------------------------------


def test_the_thinnest_part_sets_the_contact_offset() -> None:
    for thickness, expected in ((0.1e-3, 0.1e-3), (2e-3, COTTON.thickness)):
        ladder = ladder_of(SHEET | {"region": [beyond(0.149) | {"thickness": thickness}]})
        assert settle_contact(ladder.scene, ladder.given).contact.offset == pytest.approx(expected)


def test_a_region_thicker_than_its_edges_is_refused() -> None:
    ladder = ladder_of(SHEET | {"region": [beyond(0.149) | {"thickness": "6 cm"}]})
    with pytest.raises(SceneError, match=r"the thickness of 0\.06 m is not below its shortest edge"):
        check_lengths(ladder.scene, ladder.given)


# --- shapes -----------------------------------------------------------------------------------------------------------

LENGTH, CELLS = 0.1, 64
CELL = LENGTH / CELLS
SOFT, STIFF = 1e7, 5e7  # bending moduli [Pa]
LIGHT, HEAVY = 500.0, 2000.0  # densities [kg/m³]


def cantilever(E_bend: float, density: float, region: Table) -> Floats:
    """Middle line (k, 2) [m] in x and z of a strip of 0.1 m that is clamped over one cell more."""
    system = make_problem(
        {
            "shape": "grid", "width": LENGTH + CELL, "height": 4 * CELL, "diagonals": "alternating",
            "resolution": [CELLS + 1, 4], "translate": [LENGTH / 2 - CELL / 2, 0, 0],
            "material": {
                "density": density, "thickness": 1e-3, "E": 5e6, "nu": 0.0, "E_bend": E_bend, "bending": "hinge",
            },
            "pin": [{"box": [[-1, -1, -1], [0, 1, 1]]}], "region": [region],
        },
        contact=NO_CONTACT, time={"h": 0.1}, solver={"tol": 1e-6},
    )  # fmt: skip
    x = equilibrium(system).x
    columns = [at_x(system, CELL / 2 - LENGTH / 2 + k * CELL) for k in range(CELLS + 1)]
    return np.array([x[column][:, [0, 2]].mean(axis=0) for column in columns])


def elastica(inner: tuple[float, float], outer: tuple[float, float]) -> Floats:
    """The same of a heavy inextensible strip. inner, outer: modulus and density, which go over within one cell.

    D θ′ = M, M′ = −W cos θ, θ(0) = 0, M(L) = 0, W(s) the weight beyond s; D = 12/5 of a plate's, the rigidity of
    hinges on alternating diagonals.
    """
    places = [LENGTH / 2 - CELL, LENGTH / 2]
    s = np.linspace(0, LENGTH, 40 * CELLS + 1)
    load = 9.81e-3 * np.interp(s, places, [inner[1], outer[1]])
    beyond = np.concatenate([[0.0], np.cumsum((load[1:] + load[:-1]) / 2 * np.diff(s))])
    weight = beyond[-1] - beyond

    def slopes(at: Floats, y: Floats) -> Floats:
        D = 2.4 * np.interp(at, places, [inner[0], outer[0]]) * 1e-3**3 / 12
        return np.vstack([y[1] / D, -np.interp(at, s, weight) * np.cos(y[0])])

    start = np.zeros((2, len(s)))
    solved = solve_bvp(slopes, lambda a, b: np.array([a[0], b[1]]), s, start, tol=1e-5, max_nodes=20_000)
    assert solved.success
    theta = solved.sol(s)[0]
    steps = np.diff(s) * np.array([np.cos(theta), -np.sin(theta)])[:, 1:]
    return np.cumsum(np.concatenate([[[0.0], [0.0]], steps], axis=1), axis=1).T[::40]


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ((SOFT, LIGHT), (STIFF, LIGHT)),
        ((STIFF, LIGHT), (SOFT, LIGHT)),
        ((SOFT, LIGHT), (STIFF, HEAVY)),
        ((STIFF, HEAVY), (SOFT, LIGHT)),
    ],
)
def test_a_strip_whose_outer_half_differs_hangs_as_its_elastica(
    inner: tuple[float, float], outer: tuple[float, float]
) -> None:
    region = beyond(LENGTH / 2 - 1e-6) | {"E_bend": outer[0], "density": outer[1]}
    found = cantilever(*inner, region)

    def miss(curve: Floats) -> float:
        return float(np.linalg.norm(found - curve, axis=1).max())

    expected = elastica(inner, outer)
    # half a cell of the clamp bends as well: first order
    assert miss(expected) < 0.015 * -expected[-1, 1]
    assert miss(expected) < 0.4 * min(miss(elastica(inner, inner)), miss(elastica(outer, outer)))


def hanging(E: Any, below: float | None) -> float:
    """How far the lower edge [m] of a strip of 0.1 m comes down; below: modulus [Pa] of its lower half."""
    region = [{"box": [[-1, -1, -1], [1, 1, 1e-6]], "E": below}] if below is not None else []
    system = make_problem(
        {
            "shape": "grid", "width": 0.02, "height": 0.1, "resolution": [4, 40], "diagonals": "uniform",
            "rotate": [90, 0, 0], "pin": [{"box": [[-1, -1, 0.0499], [1, 1, 1]]}], "region": region,
            "material": {"density": 1000, "thickness": 1e-3, "E": E, "nu": 0},
        },
        contact=NO_CONTACT, solver={"tol": 1e-5},
    )  # fmt: skip
    lowest = system.x0[:, 2] < -0.0499
    return float((system.x0 - equilibrium(system).x)[lowest, 2].mean())


def test_a_region_keeps_its_modulus_while_the_shell_s_is_keyframed() -> None:
    keys = [{"time": 0, "value": 1e6}, {"time": 2, "value": 0.25e6}]
    # ρ g ∫ (L − s)/E(s) ds, from the top; the moduli go over within one cell
    s = np.linspace(0, 0.1, 4001)
    E = np.interp(s, [0.0475, 0.05], [0.25e6, 1e6])
    expected = 1000 * 9.81 * float(np.trapezoid((0.1 - s) / E, s))
    found = hanging(keys, 1e6)
    assert found == pytest.approx(expected, rel=0.01)
    assert found == pytest.approx(hanging(0.25e6, 1e6), rel=1e-3)
    assert hanging(0.25e6, None) == pytest.approx(1000 * 9.81 * 0.1**2 / 2 / 0.25e6, rel=0.01)
