"""What "in equilibrium" means: nothing is left to move, nothing slides, and nothing stands on a saddle."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.test_progressive import check_states

from plisse.bench.rest import cantilever, drape, flat_curtain, strip, tilted
from plisse.core.arrays import Bools, Floats
from plisse.core.errors import SceneError
from plisse.core.potential import DenseBlocks, Hessian, Potential, Sum
from plisse.core.state import State
from plisse.energies.inertia import Inertia
from plisse.kernels.threads import use_threads
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.rest import Aim, Rest
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.geometry import scene_size
from plisse.scene.scene import Scene
from plisse.solve.curvature import Curvature
from plisse.solve.newton import make_newton


def settled(scene: Scene) -> tuple[Session, State]:
    """The scene's finest level; all states are checked for intersections."""
    use_threads(1)
    session = open_session(scene)
    *_, state = check_states(session, session.preview())
    if session.finest:
        *_, state = check_states(session, session.refine())
    return session, state


def small(scene: Scene, **mesh: Any) -> Scene:
    """The scene with another mesh of its first shell."""
    shell = scene.shells[0]
    source = replace(shell.mesh, parameters={**shell.mesh.parameters, **mesh})
    return replace(scene, shells=(replace(shell, mesh=source), *scene.shells[1:]))


# --- nothing is left to move ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", [drape(1.0), drape(0.06), cantilever("paper", 0.2)], ids=["1 m", "6 cm", "paper"])
def test_ten_times_as_near_is_where_it_was(scene: Scene) -> None:
    if scene.colliders:
        scene = small(replace(scene, hierarchy=replace(scene.hierarchy, levels=2)), vertices=150)
    session, state = settled(scene)
    size = scene_size(session.ladder.given.shells)
    assert state.converged and state.force_balance < 0.02 and state.distance <= 5e-4 * size
    *_, tight = check_states(session, session.settle(state.level, rest=5e-5))
    assert tight.converged and tight.distance <= 5e-5 * size
    assert np.linalg.norm(tight.x - state.x, axis=1).max() < 5e-3 * size


def test_a_stack_does_not_land_sheet_by_sheet() -> None:
    sheet = {"shape": "grid", "width": 0.3, "height": 0.3, "vertices": 36, "material": "cotton"}
    shells = [sheet | {"translate": [0, 0, 0.002 * (layer + 1)]} for layer in range(12)]
    table = {"shell": shells, "collider": [{"shape": "floor", "height": 0}]}
    _, state = settled(scene_from_dict(table, Path()))
    assert state.converged and state.step <= 12


def test_the_same_drape_takes_the_same_steps_in_every_size() -> None:
    found = [settled(small(drape(size, levels=1), vertices=150)) for size in (1.0, 0.06, 20.0)]
    steps = [state.step for _, state in found]
    assert all(state.converged for _, state in found)
    assert 0.8 * steps[0] <= min(steps) and max(steps) <= 1.2 * steps[0]
    shapes = [state.x / scene_size(session.ladder.given.shells) for session, state in found]
    assert max(np.abs(shape - shapes[0]).max() for shape in shapes) < 0.05


def test_a_sheet_that_slides_is_not_at_rest() -> None:
    # tan 20° = 0.364
    slow, steep = (replace(tilted(mu), time=replace(tilted(mu).time, max_steps=60)) for mu in (0.5, 0.35))
    session, state = settled(slow)
    assert state.converged
    start = session.ladder.geometry(0).placed
    assert np.linalg.norm(state.x - start, axis=1).max() < 0.02
    _, state = settled(steep)
    assert not state.converged and not state.stalled


def test_the_published_criterion_is_there_for_who_asks_for_it() -> None:
    scene = small(drape(1.0, levels=1), vertices=80)
    rested, by_tolerance = scene, replace(scene, solver=replace(scene.solver, tol=0.01))
    printed = replace(scene, hierarchy=replace(scene.hierarchy, preset="paper"))
    for each, ends in ((rested, False), (by_tolerance, True), (printed, True)):
        assert each.ends_by_tolerance is ends
        session, state = settled(each)
        assert state.converged and (session.ladder.rest() is None) is ends and bool(state.distances) is not ends
    assert state.residual <= 0.01


@pytest.mark.parametrize("asked", [{"solver": {"tol": 0.01}}, {"hierarchy": {"preset": "paper"}}, {}])
def test_who_asks_for_the_published_criterion_keeps_its_time_step_and_slip(asked: dict[str, Any]) -> None:
    scene = scene_from_dict({"shell": [{"shape": "grid", "width": 0.1, "height": 0.1}], **asked}, Path())
    ladder = open_session(scene).ladder
    published = (ladder.h, ladder.scene.contact.friction_speed) == (0.3, 1e-3)
    assert published is bool(asked)


def test_what_is_left_is_told_in_the_criterion_s_own_words() -> None:
    x = np.zeros((1, 3))
    state = State(0, 1, 0.0, x, x, residual=0.02, distances=(4e-4, 1e-3))
    by_rest, by_tolerance = Aim(0.01, Rest(1e-4, 0.5)), Aim(0.01)
    assert by_rest.left(state) == pytest.approx(10.0) and by_tolerance.left(state) == pytest.approx(2.0)
    assert by_rest.describe(state) == "to rest 1 mm (0.2 %)" and "2.00e-02" in by_tolerance.describe(state)


# --- saddles ----------------------------------------------------------------------------------------------------------


def test_a_compressed_strip_buckles_whatever_the_seed() -> None:
    energies = []
    for seed in range(3):
        _, state = settled(replace(strip(0.02), seed=seed))
        assert state.converged and state.pushes == 1
        # 2 L √Δ / π of a sine
        assert 0.027 * 0.8 < np.abs(state.x[:, 2]).max() < 0.027 * 1.2
        energies.append(state.energy)
    assert np.ptp(energies) < 0.01 * energies[0]


def test_the_unstable_branch_is_kept_where_it_is_asked_for() -> None:
    _, state = settled(strip(0.02, leave_saddles=False))
    assert state.converged and state.pushes == 0 and np.abs(state.x[:, 2]).max() < 1e-9


def test_a_flat_curtain_finds_its_folds() -> None:
    _, state = settled(flat_curtain())
    assert state.converged and np.ptp(state.x[:, 1]) > 0.05
    again = settled(flat_curtain())[1]
    assert np.array_equal(again.x, state.x)


# --- the exact Hessian ------------------------------------------------------------------------------------------------


class Quadratic(Potential):
    """½ xᵀ A x − bᵀ x of n vertices, with a projected Hessian in place of A where psd is asked for."""

    def __init__(self, A: Floats, b: Floats) -> None:
        self._A, self._b, self._n = A, b, len(b) // 3
        values, vectors = np.linalg.eigh(A)
        self._psd = (vectors * np.maximum(values, 1e-3)) @ vectors.T
        self._nodes = np.arange(self._n, dtype=np.int32)[None]

    def value(self, x: Floats) -> float:
        return float(0.5 * x.ravel() @ self._A @ x.ravel() - self._b @ x.ravel())

    def gradient(self, x: Floats) -> Floats:
        return (self._A @ x.ravel() - self._b).reshape(-1, 3)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        A, n = self._psd if psd else self._A, self._n
        pairs = [A[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] for i in range(n) for j in range(i, n)]
        return Hessian((DenseBlocks(self._nodes, np.array(pairs)[None]),))

    def stencils(self) -> Any:
        return (self._nodes,)


def make_quadratic(lowest: float) -> tuple[Quadratic, Floats, Floats, Bools]:
    rng = np.random.default_rng(3)
    vectors = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    values = np.concatenate(([lowest], np.linspace(1.0, 4.0, 11)))
    A, b = (vectors * values) @ vectors.T, rng.normal(size=12)
    b -= (b @ vectors[:, 0]) * vectors[:, 0]  # nothing in the gradient tells of the lowest one
    return Quadratic(A, b), np.linalg.solve(A, b).reshape(-1, 3), vectors[:, 0], np.ones(4, bool)


def test_the_exact_hessian_says_how_far_rest_is() -> None:
    quadratic, expected, _, free = make_quadratic(0.5)
    x, newton = np.zeros((4, 3)), make_newton()
    objective = Sum([Inertia(np.full(4, 1e-9), x, 1.0), quadratic])
    newton.direction(objective, x, free)
    found = Curvature(newton, objective, x).descend(residual=1e-8, most=40)
    assert not found.negative and found.d == pytest.approx(expected, abs=1e-6)


def test_a_random_start_finds_what_the_gradient_does_not_tell() -> None:
    quadratic, _, lowest, free = make_quadratic(-0.3)
    x, newton = np.zeros((4, 3)), make_newton()
    objective = Sum([Inertia(np.full(4, 1e-9), x, 1.0), quadratic])
    newton.direction(objective, x, free)
    curvature = Curvature(newton, objective, x)
    assert not curvature.descend(residual=1e-8, most=40).negative
    found = curvature.probe(np.random.default_rng(0), residual=1e-3, most=40)
    assert found is not None and found.negative
    d = found.d.ravel() / np.linalg.norm(found.d)
    assert d @ quadratic._A @ d < 0.0 and abs(d @ lowest) > 0.5
    stable = make_quadratic(0.3)[0]
    objective = Sum([Inertia(np.full(4, 1e-9), x, 1.0), stable])
    newton.direction(objective, x, free)
    assert Curvature(newton, objective, x).probe(np.random.default_rng(0), residual=1e-3, most=40) is None


def test_what_was_found_before_negative_curvature_is_kept() -> None:
    quadratic, _, lowest, free = make_quadratic(-0.3)
    # a gradient that has a little of the direction in which the energy falls away: it shows after some iterations
    quadratic = Quadratic(quadratic._A, quadratic._b + 2e-4 * lowest)
    x, newton = np.zeros((4, 3)), make_newton()
    objective = Sum([Inertia(np.full(4, 1e-9), x, 1.0), quadratic])
    newton.direction(objective, x, free)
    found = Curvature(newton, objective, x).descend(residual=1e-8, most=40)
    assert found.negative and found.short is not None
    # it is lower on the whole way there, by the exact energy
    values = [objective.value(part * found.short) for part in (0.0, 0.25, 0.5, 1.0)]
    assert values == sorted(values, reverse=True)


def test_a_scene_says_which_key_ends_it(tmp_path: Path) -> None:
    scene = scene_from_dict({"shell": [{"shape": "grid"}], "solver": {"rest": 1e-3}}, tmp_path)
    assert scene.solver.rest == 1e-3 and scene.solver.tol is None and scene.solver.step_tol == 0.01


# --- load steps -------------------------------------------------------------------------------------------------------


def snap(ramp: float, each: str, most: float) -> tuple[float, float, State]:
    """Accelerations [m/s²] at which a rubber dome still stands and no longer does, as its weight grows through time."""
    keys = [{"time": 0, "value": [0, 0, 0]}, {"time": ramp, "value": [0, 0, -most]}]
    rubber = {"density": 1000, "thickness": 1e-3, "E": 1e6, "nu": 0.3, "bending": "hinge"}
    dome = {"shape": "dome", "vertices": 200, "material": rubber, "pin": [{"boundary": True}]}
    scene = scene_from_dict(
        {"gravity": keys, "shell": [dome], "time": {"each": each, "h": 0.3}, "contact": {"enabled": False}}, Path()
    )
    use_threads(1)
    session = open_session(scene)
    x0 = session.ladder.geometry(0).placed
    apex, height, stands, fallen = int(x0[:, 2].argmax()), float(np.ptp(x0[:, 2])), 0.0, np.inf
    for state in session.preview():
        if state.accepted and (each == "step" or state.settled):
            load = most * min(state.time / ramp, 1.0)
            if state.x[apex, 2] > x0[apex, 2] - 0.8 * height:
                stands = load
            else:
                fallen = min(fallen, load)
    return stands, fallen, state


def test_load_steps_that_come_to_rest_do_not_depend_on_the_ramp_s_speed() -> None:
    # no farther than the snap: without contact, a dome that hangs down folds by half a turn, where hinges have no slope
    slow, fast = (snap(ramp, "equilibrium", most=38.0) for ramp in (5.7, 1.9))
    assert slow[2].converged and fast[2].converged and slow[2].settled
    # both brackets hold the load at which the dome snaps
    assert max(slow[0], fast[0]) <= min(slow[1], fast[1])
    # without coming to rest, inertia carries the dome far beyond it
    assert snap(3.0, "step", most=60.0)[0] > 1.3 * slow[1]


def test_load_steps_are_for_statics() -> None:
    with pytest.raises(SceneError, match="is for statics"):
        scene_from_dict({"shell": [{"shape": "grid"}], "time": {"mode": "dynamic", "each": "equilibrium"}}, Path())


def test_a_valley_nearer_than_what_counts_as_rest_is_found() -> None:
    # 1 % beyond its critical shortening, a strip bends by half of that
    session = open_session(strip(1.01 * 6.026e-6))
    *_, state = session.preview()
    assert state.converged and state.pushes > 0
    assert np.abs(state.x[:, 2]).max() > 1e-5
