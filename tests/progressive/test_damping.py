"""Damping of materials: vibrations die away as set, and rigid motion is not resisted at all."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.potentials import as_matrix
from tests.progressive.scenes import NO_CONTACT, accepted, make_problem, states
from tests.progressive.test_motion import course, moved

from plisse.core.arrays import Floats
from plisse.core.potential import Sum
from plisse.core.state import State
from plisse.energies.membrane import Membrane
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.proxy import Prolonged
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session
from plisse.shapes import catalogue as shapes

G = 9.81
STIFF = {"density": 1000, "thickness": 1e-3, "E": 1e7, "nu": 0.3}


# --- vibrations -------------------------------------------------------------------------------------------------------


def strip(bending: str, damping: float = 0.0, **time: Any) -> SceneProblem:
    """A strip of 0.2 m whose first two columns of vertices are clamped; it is struck with about 1 mm/s."""
    return make_problem(
        {
            "shape": "grid", "width": 0.2, "height": 0.05, "resolution": [8, 2],
            "pin": [{"box": [[-1, -1, -1], [-0.07, 1, 1]]}],
            "material": STIFF | {"bending": bending, "damping": damping},
        },
        gravity=[0, 0, 0], contact=NO_CONTACT, solver={"tol": 1e-7}, time={"mode": "dynamic"} | time,
    )  # fmt: skip


def mode(problem: SceneProblem, axis: int) -> tuple[float, Floats]:
    """Lowest angular frequency [1/s] of vibrations along an axis, and their shape (n, 3), φᵀMφ = 1."""
    free = np.repeat(problem.free, 3)
    K = as_matrix(Sum(problem.potentials).hessian(problem.x0, psd=False), len(problem.x0))[np.ix_(free, free)]
    squares, shapes = eigh(K, np.diag(np.repeat(problem.mass, 3)[free]))
    for square, shape in zip(squares, shapes.T, strict=True):
        out = np.zeros(problem.x0.shape)
        out[problem.free] = shape.reshape(-1, 3)
        if (out[:, axis] ** 2).sum() > 0.8 * (out**2).sum():
            return float(np.sqrt(square)), out
    raise AssertionError


def ring(bending: str, axis: int, integrator: str, ratio: float) -> tuple[Floats, Floats]:
    """Phases ω t and the logarithms of amplitudes of a strip that is struck in one mode, with a damping ratio."""
    omega, shape = mode(strip(bending), axis)
    h = PHASE / omega
    problem = strip(bending, 2.0 * ratio / omega, h=h, duration=120 * h, integrator=integrator)
    problem.v0 = 1e-3 / np.abs(shape).max() * shape
    weighted = problem.mass[:, None] * shape
    found = [
        np.hypot((weighted * state.v).sum(), omega * (weighted * (state.x - problem.x0)).sum())
        for state in accepted(problem)
    ]
    return PHASE * np.arange(1, 121), np.log(found)


def loss(integrator: str, ratio: float) -> float:
    """−ln |z| over a step's phase, z the factor of a step on a vibration s = ω (−ζ + i √(1 − ζ²))."""
    s = PHASE * complex(-ratio, np.sqrt(1.0 - ratio**2))
    inverse = 1.0 - s if integrator == "euler" else 2.0 - np.sqrt(1.0 + 2.0 * s)
    return float(np.log(abs(inverse)) / PHASE)


PHASE, RATIO = 2.0 * np.pi / 40, 0.05  # of a step; of damping
MODES = [("plate", 2), ("hinge", 2), ("plate", 0)]  # bending, and stretching along the strip


@pytest.mark.parametrize("integrator", ["bdf2", "euler"])
@pytest.mark.parametrize(("bending", "axis"), MODES)
def test_a_vibration_dies_away_as_set(bending: str, axis: int, integrator: str) -> None:
    """With e^(−ζ ω t) beyond what the integrator loses by itself."""
    phase, damped = ring(bending, axis, integrator, ratio=RATIO)
    _, free = ring(bending, axis, integrator, ratio=0.0)
    # within a period losses come and go with the speed: what counts is the mean slope
    found = -np.polyfit(phase, damped - free, 1)[0]
    assert found == pytest.approx(RATIO, rel=0.05)
    # what the integrator makes of it, in closed form
    assert found == pytest.approx(loss(integrator, RATIO) - loss(integrator, 0.0), rel=0.01)


# --- rigid motion -----------------------------------------------------------------------------------------------------


def thrown(damping: float, integrator: str = "euler", **shell: Any) -> tuple[SceneProblem, list[State]]:
    """A sheet in the air for 0.3 s, with half a turn in it where it spins."""
    problem = make_problem(
        {
            "shape": "grid", "width": 0.3, "height": 0.2, "resolution": [4, 3], "velocity": [1, 0, 2],
            "material": STIFF | {"bending": "plate", "damping": damping}, **shell,
        },
        contact=NO_CONTACT, solver={"tol": 1e-6},
        time={"mode": "dynamic", "h": 0.01, "duration": 0.3, "integrator": integrator},
    )  # fmt: skip
    return problem, list(accepted(problem))


def moments(problem: SceneProblem, state: State) -> tuple[Floats, Floats]:
    """Centre of mass [m], and angular momentum about it [J s]."""
    centre = np.average(state.x, axis=0, weights=problem.mass)
    return centre, (problem.mass[:, None] * np.cross(state.x - centre, state.v)).sum(axis=0)


@pytest.mark.parametrize("spin", [[0, 0, 0], [600, 0, 100]])
def test_damping_does_not_slow_a_fall(spin: list[float]) -> None:
    """Even where it takes a second for a strain to relax."""
    problem, found = thrown(1.0, spin=spin)
    start, _ = moments(problem, State(0, 0, 0.0, problem.x0, problem.v0))
    t = 0.01 * np.arange(1, 31)
    path = np.array([moments(problem, state)[0] for state in found]) - start
    expected = t[:, None] * [1, 0, 2] + 0.5 * t[:, None] * (t[:, None] + 0.01) * [0, 0, -G]
    assert path == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("integrator", ["euler", "bdf2"])
def test_damping_leaves_angular_momentum_alone(integrator: str) -> None:
    """A step of implicit Euler loses (ω h)² of it by itself."""
    runs = (thrown(eta, integrator, spin=[0, 0, 600]) for eta in (0.0, 0.05))
    free, damped = (np.array([moments(problem, state)[1] for state in found]) for problem, found in runs)
    assert damped == pytest.approx(free, abs=3e-4 * np.abs(free).max())
    assert damped[-1, 2] > (0.7 if integrator == "euler" else 0.98) * damped[0, 2]


# --- what is damped ---------------------------------------------------------------------------------------------------


def test_nothing_is_damped_by_default_nor_in_statics() -> None:
    problem = strip("plate")
    assert problem.damping(((1.0, problem.x0),), 0.01) == []
    hung = {"shape": "grid", "resolution": 3, "pin": [{"vertices": [0]}]}
    ends = [
        [state.x for state in states(make_problem(hung | {"material": {"preset": "cotton", "damping": eta}}))]
        for eta in (0.0, 10.0)
    ]
    assert len(ends[0]) == len(ends[1]) and np.array_equal(ends[0][-1], ends[1][-1])


def test_a_region_may_be_damped_alone() -> None:
    hem = {"box": [[0.05, -1, -1], [1, 1, 1]], "damping": "20 ms"}
    shell = {"shape": "grid", "width": 0.2, "height": 0.05, "resolution": [8, 2], "region": [hem]}
    problem = make_problem(shell, contact=NO_CONTACT, time={"mode": "dynamic"})
    damped = problem.damping(((1.0, problem.x0),), 0.01)
    moved = problem.x0 * [1.01, 1.0, 1.0] + [0, 0, 0.01] * problem.x0[:, :1] ** 2
    pulled = np.linalg.norm(Sum(damped).gradient(moved), axis=1) > 1e-9
    assert {type(part).__name__ for part in damped} == {"StrainRate", "Bending"}
    assert not pulled[problem.x0[:, 0] < 0.0].any() and pulled[problem.x0[:, 0] > 0.05].all()


def test_what_is_slack_is_damped_as_little_as_it_is_stiff() -> None:
    """Otherwise coarse levels would fold more slowly than the fine ones that they stand for."""
    mesh = shapes.grid(0.2, 0.2, resolution=(2, 2))
    E, nu, thickness, eta = (np.full(len(mesh.triangles), value) for value in (1e6, 0.0, 1e-3, 0.02))
    plain, soft = (Membrane(mesh, E=E, nu=nu, thickness=thickness, compression=s, damping=eta) for s in (1.0, 0.1))
    x = mesh.X * [1.02, 0.95, 1.0]  # taut along x, wrinkled across

    def resists(membrane: Membrane, factors: list[float]) -> float:
        damped = membrane.damped(((1.0, x),), 0.01)
        assert damped is not None
        return damped.value(x * factors)

    along, across = [1.001, 1.0, 1.0], [1.0, 0.999, 1.0]
    assert resists(soft, along) == pytest.approx(resists(plain, along), rel=1e-9)
    assert resists(soft, across) == pytest.approx(0.1 * resists(plain, across), rel=1e-9)


@pytest.mark.parametrize("kind", ["loop", "decimation"])
def test_a_coarse_level_is_damped_where_its_elasticity_is(kind: str) -> None:
    """On the finest mesh, through the map."""
    levels = {"kind": kind, "levels": 2 if kind == "loop" else [40], "preset": "paper"}
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 1 if kind == "loop" else 2}
    scene = {"shell": [ball | {"material": {"preset": "rubber", "damping": 0.01}}], "hierarchy": levels}
    ladder = open_session(scene_from_dict(scene | {"time": {"mode": "dynamic"}}), threads=1).ladder
    coarse, fine, P = ladder.problem(0), ladder.problem(1), ladder.shell_map(0, 1)
    rng, n = np.random.default_rng(1), len(coarse.x0)
    before, x = (coarse.x0 + rng.uniform(-2e-3, 2e-3, (n, 3)) for _ in range(2))
    (damped,) = coarse.damping(((1.0, before),), 0.01)
    finer = Sum(fine.damping(((1.0, P(before)),), 0.01))
    assert isinstance(damped, Prolonged) and damped.value(x) == pytest.approx(finer.value(P(x)), rel=1e-9)
    assert damped.gradient(x) == pytest.approx(P.pull_back(x, finer.gradient(P(x))), abs=1e-12)
    assert damped.hessian(x).blocks[0].nodes is coarse.model.elastic[0].stencils()[0]


@pytest.mark.parametrize("kind", ["loop", "decimation"])
def test_a_struck_strip_dies_away_alike_on_both_levels(kind: str) -> None:
    """A clamped strip that sags swings about its rest; a finer level takes over velocities that are damped already."""

    def swings(damping: float) -> list[Floats]:
        """Largest deviations of the end from its last height in the first and the third 0.2 s, on each level."""
        material = {"density": 1000, "thickness": 1e-3, "E": 2e9, "nu": 0.3, "damping": damping}
        clamp = {"box": [[-1, -1, -1], [-0.11, 1, 1]]}
        strip = {"shape": "strip", "length": 0.3, "width": 0.08, "vertices": 50 if kind == "loop" else 120}
        data = {
            "shell": [strip | {"material": material, "pin": [clamp]}], "gravity": [0, 0, -2], "contact": NO_CONTACT,
            "solver": {"tol": 1e-3}, "time": {"mode": "dynamic", "h": 0.01, "duration": 0.8},
            "hierarchy": {"kind": kind, "levels": 2 if kind == "loop" else [40]},
        }  # fmt: skip
        session = moved(data)
        ends = (np.array([x[:, 2].min() for x in course(session, level)]) for level in range(2))
        return [np.array([np.abs(z[a : a + 20] - z[-20:].mean()).max() for a in (0, 40)]) for z in ends]

    coarse, fine = swings(0.02)
    assert fine == pytest.approx(coarse, rel=0.05) and coarse[1] < 0.5 * swings(0.0)[0][1]
