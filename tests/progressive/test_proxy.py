"""A finer level's energy as a coarse level's: derivatives, memo, the linear shortcut."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.potentials import SHEET, as_matrix
from tests.progressive.scenes import equilibrium

from plisse.core.arrays import Floats
from plisse.core.derivatives import apply_hessian
from plisse.core.mesh import Mesh
from plisse.core.potential import Potential, Sum, frozen
from plisse.hierarchy.maps import identity
from plisse.hierarchy.subdivision import Subdivision
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.ladder import Ladder
from plisse.progressive.proxy import Prolonged
from plisse.progressive.shells import ShellModel
from plisse.progressive.softening import Softening, mean_curvature
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene
from plisse.shapes import catalogue as shapes
from plisse.shapes.catalogue import make_shape

FLAT = shapes.grid(0.4, 0.3, resolution=(5, 4), diagonals="jittered", seed=3)
BALL = shapes.sphere(0.2, subdivisions=1)
GRID: dict[str, Any] = {"shape": "grid", "vertices": 25, "diagonals": "jittered"}
HAT: dict[str, Any] = {"shape": "hat", "vertices": 60, "translate": [0, 0, 0.5]}


def make_scene(**shell: Any) -> Scene:
    return scene_from_dict({"shell": [{"shape": "grid", **shell}]}, Path())


def make_ladder(*shells: dict[str, Any], wind: dict[str, Any] | None = None, **hierarchy: Any) -> Ladder:
    extra = {"wind": wind} if wind is not None else {}
    data = {"shell": list(shells) or [GRID], "hierarchy": {"levels": 3} | hierarchy, **extra}
    return open_session(scene_from_dict(data, Path())).ladder


def parts_of(model: ShellModel) -> list[Potential]:
    return [*model.elastic, *model.loads]


def crumple(x: Floats, amount: float = 0.01, seed: int = 1) -> Floats:
    return frozen(x + np.random.default_rng(seed).uniform(-amount, amount, x.shape))


def models(scene: Scene, base: Mesh, rule: str, *, levels: int = 3) -> tuple[Subdivision, list[ShellModel]]:
    hierarchy = Subdivision([base], levels=levels, rules=[rule])
    return hierarchy, [ShellModel(scene, level) for level in hierarchy.levels]


# --- Prolonged ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["loop", "linear"])
@pytest.mark.parametrize("up", [1, 2])
def test_gradient_is_that_of_the_prolonged_energy(rule: str, up: int) -> None:
    hierarchy, made = models(make_scene(), SHEET, rule)
    proxy = Prolonged(parts_of(made[up]), hierarchy.between(0, up), parts_of(made[0]))
    # three more vertices than the shell has: those of a collider
    x = crumple(np.concatenate([SHEET.X, np.ones((3, 3))]))
    g, rng, eps = proxy.gradient(x), np.random.default_rng(2), 1e-5
    assert (g[len(SHEET.X) :] == 0.0).all() and proxy.value(x) == Sum(parts_of(made[up])).value(
        frozen(hierarchy.between(0, up)(x[: len(SHEET.X)]))
    )
    for _ in range(5):
        p = rng.normal(size=x.shape)
        far, near = (proxy.value(x + d * p) - proxy.value(x - d * p) for d in (2 * eps, eps))
        numeric = (8.0 * near - far) / (12.0 * eps)
        assert numeric == pytest.approx((g * p).sum(), abs=1e-6 * np.linalg.norm(g) * np.linalg.norm(p))


@pytest.mark.parametrize("rule", ["loop", "linear"])
def test_the_exact_hessian_is_that_of_the_prolonged_energy(rule: str) -> None:
    hierarchy, made = models(make_scene(), SHEET, rule)
    proxy = Prolonged(parts_of(made[2]), hierarchy.between(0, 2), parts_of(made[0]))
    x = crumple(np.concatenate([SHEET.X, np.ones((3, 3))]))
    rng, eps = np.random.default_rng(2), 1e-6
    hessian = proxy.hessian(x, psd=False)
    for _ in range(3):
        p = rng.normal(size=x.shape)
        found = apply_hessian(hessian, p)
        far, near = (proxy.gradient(x + d * p) - proxy.gradient(x - d * p) for d in (2 * eps, eps))
        numeric = (8.0 * near - far) / (12.0 * eps)
        assert found == pytest.approx(numeric, abs=1e-5 * np.abs(numeric).max())


def test_nothing_is_remembered_of_another_x() -> None:
    hierarchy, made = models(make_scene(), SHEET, "loop")

    def make() -> Prolonged:
        return Prolonged(parts_of(made[2]), hierarchy.between(0, 2), parts_of(made[0]))

    proxy, x, y = make(), crumple(SHEET.X), crumple(SHEET.X, seed=2)
    # in every order of asking, about read-only arrays and about one that is written to in between
    for position in (x, y, x, x, y):
        assert proxy.gradient(position) == pytest.approx(make().gradient(position), abs=0)
        assert proxy.value(position) == make().value(position)
    for position in (y, x):
        assert proxy.value(position) == make().value(position)
        assert proxy.gradient(position) == pytest.approx(make().gradient(position), abs=0)
    moving = np.array(x)
    for _ in range(3):
        moving[0, 2] += 1e-3
        assert proxy.value(moving) == make().value(moving.copy())
        assert proxy.gradient(moving) == pytest.approx(make().gradient(moving.copy()), abs=0)


def test_with_the_identity_it_is_the_level_s_own_energy() -> None:
    own = parts_of(ShellModel(make_scene(), [SHEET]))
    proxy, x = Prolonged(own, identity(len(SHEET.X)), own), crumple(SHEET.X)
    assert proxy.value(x) == Sum(own).value(x)
    assert proxy.gradient(x) == pytest.approx(Sum(own).gradient(x), rel=1e-14)
    H = as_matrix(Sum(own).hessian(x), len(x))
    assert as_matrix(proxy.hessian(x), len(x)) == pytest.approx(H, abs=0)
    assert [nodes.tolist() for nodes in proxy.stencils()] == [nodes.tolist() for nodes in Sum(own).stencils()]


# --- linear prolongation on nested meshes needs no fine evaluation --------------------------------------------------


@pytest.mark.parametrize("kept", [1.0, 0.1])
@pytest.mark.parametrize("up", [1, 2])
def test_a_nested_mesh_has_the_same_membrane_and_twice_the_bending_per_level(up: int, kept: float) -> None:
    scene, hierarchy = make_scene(), Subdivision([FLAT], levels=3, rules=["linear"])
    P, x = hierarchy.between(0, up), crumple(FLAT.X)
    finer = ShellModel(scene, hierarchy.levels[up], softening=Softening((kept,), (1.0,), (1.0,)))
    own = ShellModel(scene, [FLAT], softening=Softening((kept,), (1.0,), (2.0**up,)))
    membrane, bending, _ = parts_of(own)
    for fine, coarse in zip(parts_of(finer), parts_of(own), strict=True):
        through = Prolonged([fine], P, [coarse])
        assert through.value(x) == pytest.approx(coarse.value(x), rel=1e-9)
        g = coarse.gradient(x)
        assert through.gradient(x) == pytest.approx(g, abs=1e-9 * np.abs(g).max())
    assert membrane.value(x) > 0.0 and bending.value(x) > 0.0


@pytest.mark.parametrize("kind", ["constant", "gas"])
def test_pressure_through_midpoints_is_the_level_s_own(kind: str) -> None:
    scene = make_scene(pressure={"value": 50.0, "kind": kind})
    hierarchy, made = models(scene, BALL, "linear")
    x = crumple(BALL.X)
    through = Prolonged(made[2].pressures, hierarchy.between(0, 2), made[0].pressures)
    g = made[0].pressures[0].gradient(x)
    assert through.value(x) == pytest.approx(made[0].pressures[0].value(x), rel=1e-9)
    assert through.gradient(x) == pytest.approx(g, abs=1e-9 * np.abs(g).max())


@pytest.mark.parametrize("level", [0, 1])
def test_flat_linear_scenes_take_the_shortcut_and_lose_nothing(level: int) -> None:
    ladder = make_ladder(prolongation="linear", compression=0.2, bending=2.0)
    problem = ladder.problem(level)
    assert problem._finer is None and not any(isinstance(part, Prolonged) for part in problem.elastic)
    finest = ShellModel(ladder.scene, ladder.geometry(2).shells, softening=Softening((0.2,), (1.0,), (1.0,)))
    by_hand = Prolonged(parts_of(finest), ladder.hierarchy.between(level, 2), [])
    x = crumple(problem.x0)
    own = Sum(problem.elastic)
    assert own.value(x) == pytest.approx(by_hand.value(x), rel=1e-9)
    assert own.gradient(x) == pytest.approx(by_hand.gradient(x), abs=1e-9 * np.abs(own.gradient(x)).max())


def test_only_coarse_levels_with_a_smooth_map_look_at_a_finer_mesh() -> None:
    ladder = make_ladder(preset="paper")
    assert [ladder.problem(level)._finer is None for level in range(3)] == [False, False, True]
    for method in ("cascadic", "direct", "plain"):
        assert make_ladder(preset="paper", method=method).problem(0)._finer is None


def test_without_levels_up_the_proxy_is_the_level_s_own_energy() -> None:
    ladder = make_ladder(preset="paper", proxy_levels_up=0, bending=3.0)
    problem = ladder.problem(0)
    assert problem._finer is None
    plain, x = ShellModel(ladder.scene, ladder.geometry(0).shells), crumple(problem.x0)
    assert Sum(problem.elastic).value(x) == Sum(parts_of(plain)).value(x)
    assert np.array_equal(Sum(problem.elastic).gradient(x), Sum(parts_of(plain)).gradient(x))


def test_levels_up_choose_the_mesh_and_end_at_the_finest() -> None:
    for up, level in ((1, 1), (2, 2), (7, 2)):
        ladder = make_ladder(preset="paper", proxy_levels_up=up)
        problem = ladder.problem(0)
        model, P = ShellModel(ladder.scene, ladder.geometry(level).shells), ladder.hierarchy.between(0, level)
        x = crumple(problem.x0)
        assert Sum(problem.elastic).value(x) == Sum(parts_of(model)).value(frozen(P(x)))


def test_a_flat_shell_beside_a_curved_one_has_the_energy_that_it_has_alone() -> None:
    settings = {"prolongation": "linear", "compression": 0.3, "bending": 1.5}
    both = make_ladder(GRID, HAT, **settings)
    flat, curved = make_ladder(GRID, **settings), make_ladder(HAT, **settings)
    for level in (0, 1):
        problems = [ladder.problem(level) for ladder in (both, flat, curved)]
        assert [problem._finer is None for problem in problems] == [False, True, False]
        x = crumple(problems[0].x0)
        n = problems[1].bodies.n
        values = [Sum(problems[0].elastic).value(x), Sum(problems[1].elastic).value(frozen(x[:n]))]
        assert values[0] - values[1] == pytest.approx(Sum(problems[2].elastic).value(frozen(x[n:])), rel=1e-9)


def test_the_automatic_proxy_gives_way_only_where_folds_are_not_resolved() -> None:
    cotton = make_ladder({**GRID, "material": "cotton"}, compression="auto", bending="auto")
    levels = [cotton.softening(level) for level in range(2)]
    kept, stiffer = ([getattr(level, key)[0] for level in levels] for key in ("compression", "bending"))
    assert 0.0 < kept[0] <= kept[1] <= 1.0 and kept[0] < 0.5
    assert stiffer[0] >= stiffer[1] >= 1.0 and stiffer[0] > 1.0
    # a plate bends on a larger scale than its triangles, and without a load there is no scale at all
    plate = make_ladder({**GRID, "material": {"preset": "aluminium", "thickness": 1e-3}}).softening(0)
    data = {"shell": [{**GRID, "material": "cotton"}], "gravity": [0, 0, 0], "hierarchy": {"levels": 2}}
    weightless = open_session(scene_from_dict(data, Path())).ladder.softening(0)
    for softening in (plate, weightless):
        assert softening == Softening((1.0,), (1.0,), (1.0,))


def test_bending_is_stiffened_under_linear_prolongation_only() -> None:
    settings = {"compression": "auto", "bending": "auto"}
    flat = make_ladder({**GRID, "material": "cotton"}, prolongation="loop", **settings)
    assert flat.softening(0).bending == (1.0,) and flat.softening(0).compression[0] < 1.0
    assert make_ladder(HAT, **settings).softening(0).bending == (1.0,)


def test_curved_shells_keep_their_compression() -> None:
    ladder = make_ladder(HAT, compression=0.01)
    kept = make_ladder(HAT, compression=1.0)
    assert ladder.hierarchy._rules == ("loop",)
    x = crumple(ladder.problem(0).x0)
    assert Sum(ladder.problem(0).elastic).value(x) == Sum(kept.problem(0).elastic).value(x)


CAN = {"shape": "can", "radius": 0.033, "height": 0.1, "vertices": 2000}
FOIL = {"density": 2710, "thickness": 1e-5, "E": 7e10, "nu": 0.33}


def test_thin_curved_shells_are_softened_as_far_as_their_triangles_cannot_fold() -> None:
    def kept(shell: dict[str, Any], **levels: Any) -> list[float]:
        data = {
            "shell": [shell],
            "hierarchy": {"kind": "decimation", "levels": [150, 600], "membrane": "auto", **levels},
        }
        ladder = open_session(scene_from_dict(data | {"gravity": [0, 0, 0]}, Path())).ladder
        return [ladder.softening(level).membrane[0] for level in (0, 1)]

    coarse, middle = kept({**CAN, "material": FOIL})
    # τ / κ h²: edges are half as long on four times as many vertices
    assert 0.0 < coarse < middle < 1.0 and middle == pytest.approx(4.0 * coarse, rel=0.15)
    assert kept({**CAN, "material": {**FOIL, "thickness": 2e-5}}) == pytest.approx([2 * coarse, 2 * middle])
    assert kept({**CAN, "material": FOIL}, membrane=0.25) == [0.25, 0.25]
    # thick ones, flat ones and what is stretched keep all
    for shell in (
        {**CAN, "material": {**FOIL, "thickness": 2e-2}},
        {**CAN, "material": FOIL, "pressure": {"kind": "constant", "value": 10.0}},
        {"shape": "grid", "vertices": 2000, "material": FOIL},
    ):
        assert kept(shell) == [1.0, 1.0]
    assert kept({**CAN, "material": FOIL}, membrane=None) == [1.0, 1.0]


def test_a_softened_membrane_is_that_of_a_softer_material() -> None:
    data = {"shell": [{**CAN, "material": FOIL}], "hierarchy": {"kind": "decimation", "levels": [150]}}
    softer = {**FOIL, "E": 0.25 * FOIL["E"], "E_bend": FOIL["E"]}
    ladders = [
        open_session(scene_from_dict(data | {"shell": [{**CAN, "material": each}], "hierarchy": levels}, Path())).ladder
        for each, levels in (
            (FOIL, data["hierarchy"] | {"membrane": 0.25}),
            (softer, data["hierarchy"] | {"membrane": 1.0}),
        )
    ]
    x = crumple(ladders[0].geometry(0).placed)
    a, b = ([part.gradient(frozen(x)) for part in ladder.problem(0).elastic] for ladder in ladders)
    assert all(np.allclose(f, g, rtol=1e-12) for f, g in zip(a, b, strict=True))


def test_curvature_is_that_of_the_surface() -> None:
    ball, sheet = make_shape("sphere", {"radius": 0.05, "subdivisions": 4}), make_shape("grid", {"vertices": 100})
    assert mean_curvature(ball) == pytest.approx(2.0 / 0.05, rel=0.02)
    assert mean_curvature(sheet) == pytest.approx(0.0, abs=1e-9)


# --- wind -----------------------------------------------------------------------------------------------------------


def test_wind_through_a_loop_proxy_keeps_its_resultant() -> None:
    wind = {"velocity": [3.0, 1.0, 0.5], "drag_tangential": 0.2}
    ladder = make_ladder(preset="paper", wind=wind)
    problem = ladder.problem(0)
    x, v = crumple(problem.x0, 0.05), np.random.default_rng(4).normal(size=problem.x0.shape)
    (part,) = problem.lagged(x, v, 0.3, np.zeros_like(x))
    assert isinstance(part, Prolonged)
    P = ladder.hierarchy.between(0, 2)
    fine = ShellModel(ladder.scene, ladder.geometry(2).shells).wind(frozen(P(x)), P(v), 0.3)
    assert fine is not None
    force = fine.gradient(frozen(P(x)))
    assert part.gradient(x).sum(axis=0) == pytest.approx(force.sum(axis=0), rel=1e-12)
    assert np.linalg.norm(force.sum(axis=0)) > 0.1
    # what the balance is measured against is near the level's own
    assert part.load(x)[0] == pytest.approx(np.linalg.norm(force, axis=1).sum(), rel=0.3)


def test_wind_through_a_loop_proxy_comes_to_rest() -> None:
    """Near rest the exact Hessian is asked for, also of the wind on the finer mesh."""
    hung = {**GRID, "material": "cotton", "rotate": [90, 0, 0], "pin": [{"box": [[-9, -9, 0.0], [9, 9, 9]]}]}
    ladder = make_ladder(hung, prolongation="loop", wind={"velocity": [0.0, 1.0, 0.0]})
    assert equilibrium(ladder.problem(0)).x[:, 1].max() > 0.01
