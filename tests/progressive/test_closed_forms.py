"""Equilibria against closed forms: stretch, bending, the heavy elastica, inflation, the strain limit."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from tests.progressive.scenes import NO_CONTACT, at_x, equilibrium, forces, make_problem, states

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.energies.bending import Bending
from plisse.energies.membrane import Membrane
from plisse.progressive.scene_problem import SceneProblem
from plisse.shapes import catalogue as shapes

E, NU, TAU = 1e6, 0.3, 1e-3  # Young's modulus [Pa], Poisson's ratio, thickness [m]
HINGE_CONSTANT = 3.0  # hinge energy over plate energy of a cylinder along the axes of a rectangular grid


# --- membrane ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.45])
def test_pulled_strip_has_stiffness_E_thickness_width(nu: float) -> None:
    length, width, strain = 1.0, 0.05, 1e-3
    ends = [
        {"box": [[-0.5, -1, -1], [-0.5, 1, 1]]},
        {
            "box": [[0.5, -1, -1], [0.5, 1, 1]],
            "motion": [{"time": 1.0, "translate": [strain * length, 0, 0]}],
        },
    ]
    problem = make_problem(
        {
            "shape": "grid", "width": length, "height": width, "resolution": [60, 4],
            "diagonals": "alternating", "pin": ends,
            "material": {"density": 500, "thickness": TAU, "E": E, "nu": nu},
        },
        gravity=[0, 0, 0], contact=NO_CONTACT, time={"h": 100.0}, solver={"tol": 1e-12},
    )  # fmt: skip
    force = forces(problem, equilibrium(problem).x)
    pulled, held = force[at_x(problem, 0.5)].sum(axis=0), force[at_x(problem, -0.5)].sum(axis=0)
    stiffness = -pulled[0] / strain
    # the clamped ends hinder the contraction and stiffen a strip of this length by less than half a percent
    assert stiffness == pytest.approx(E * TAU * width, rel=0.005)
    assert np.allclose(pulled, -held, atol=1e-9 * np.abs(pulled).max())


@pytest.mark.parametrize(
    ("strain", "density"),
    [
        (np.array([[1.0, 0.0], [0.0, 1.0]]), E / (1 - NU)),  # biaxial: σ = E ε/(1 − ν) both ways
        (np.array([[1.0, 0.0], [0.0, -NU]]), E / 2),  # free contraction: ½ E ε²
        (np.array([[1.0, 0.0], [0.0, 0.0]]), E / (1 - NU**2) / 2),  # contraction hindered
        (np.array([[0.0, 0.5], [0.5, 0.0]]), E / (1 + NU) / 4),  # shear: ½ G γ²
    ],
)
def test_small_strain_energy_is_plane_stress(strain: Floats, density: float) -> None:
    mesh, small = shapes.grid(0.7, 0.4, resolution=(5, 4), seed=2), 1e-4
    each = np.ones(len(mesh.triangles))
    membrane = Membrane(mesh, E=E * each, nu=NU * each, thickness=TAU * each)
    x = mesh.X.copy()
    x[:, :2] += small * mesh.X[:, :2] @ strain
    assert membrane.value(x) == pytest.approx(density * small**2 * 0.7 * 0.4 * TAU, rel=3e-4)


# --- bending ----------------------------------------------------------------------------------------------


def rolled(mesh: Mesh, radius: float, angle: float) -> Floats:
    """The flat sheet rolled without stretch on a cylinder whose circles run at this angle to x."""
    along, axis = np.array([np.cos(angle), np.sin(angle), 0]), np.array([-np.sin(angle), np.cos(angle), 0])
    u = mesh.X @ along / radius
    x = radius * np.sin(u)[:, None] * along + (mesh.X @ axis)[:, None] * axis
    x[:, 2] = radius * (1 - np.cos(u))
    return np.ascontiguousarray(x)


def hinge_constant(cells: int, diagonals: str, angle: float, *, radius: float = 1.0) -> float:
    """Bending energy of a rolled 1 m sheet over the plate's E τ³/(24 (1 − ν²)) κ² A.

    A is the area that hinges stand for: all but half a cell along the boundary.
    """
    mesh = shapes.grid(1.0, 1.0, resolution=cells, diagonals=diagonals)
    each = np.ones(len(mesh.hinges))
    bending = Bending(mesh, E=E * each, nu=NU * each, thickness=TAU * each)
    plate = E * TAU**3 / (24 * (1 - NU**2)) / radius**2 * (1 - 1 / cells)
    return bending.value(rolled(mesh, radius, angle)) / plate


@pytest.mark.parametrize("diagonals", ["alternating", "jittered"])
@pytest.mark.parametrize("angle", [0.0, np.pi / 4, np.pi / 2])
def test_energy_of_a_rolled_sheet_does_not_drift_under_refinement(diagonals: str, angle: float) -> None:
    coarse, middle, fine = (hinge_constant(cells, diagonals, angle) for cells in (20, 40, 80))
    assert abs(middle - fine) < 0.03 * fine
    assert abs(coarse - fine) < 0.05 * fine


def test_energy_of_a_rolled_sheet_goes_with_the_square_of_its_curvature() -> None:
    wide, narrow = (hinge_constant(80, "jittered", 0.0, radius=radius) for radius in (4.0, 0.5))
    assert wide == pytest.approx(narrow, rel=1e-3)


def test_hinge_constant_along_the_axes_of_a_rectangular_grid() -> None:
    # each cell has one edge across the roll with θ = κ a, ‖e‖²/Ā = 1, its diagonal stays unbent: 3 k κ² a²
    assert hinge_constant(40, "alternating", 0.0) == pytest.approx(HINGE_CONSTANT, rel=1e-9)
    assert hinge_constant(40, "jittered", 0.0) == pytest.approx(HINGE_CONSTANT, rel=0.03)


def strip(cells: int, length: float, **more: Any) -> SceneProblem:
    """A flat strip, 25 mm wide, with square cells of 0.1 / cells m and no Poisson effect."""
    return make_problem(
        {
            "shape": "grid", "width": length, "height": 0.025, "diagonals": "alternating",
            "resolution": [round(10 * length * cells), cells // 4],
            "material": {"density": 500, "thickness": TAU, "E": 5e6, "nu": 0.0, "bending": "hinge"}, **more,
        },
        contact=NO_CONTACT, time={"h": 0.1}, solver={"tol": 1e-6},
    )  # fmt: skip


def relaxed_arc_energy(cells: int, length: float, radius: float) -> float:
    """Bending energy [J] of a weightless strip held on a circle by two columns of vertices at each end."""
    inner = length / 2 - 0.1 / cells - 1e-6
    ends = [{"box": [[-9, -9, -9], [-inner, 9, 9]]}, {"box": [[inner, -9, -9], [9, 9, 9]]}]
    problem = strip(cells, length, pin=ends)
    problem.elastic = problem.model.elastic  # without its weight
    problem.x0 = rolled(problem.shells, radius, 0.0)
    return problem.elastic[1].value(equilibrium(problem).x)


def relaxed_hinge_constant(cells: int) -> float:
    """Bending rigidity of a free strip in units of the plate's, from two lengths so that the ends drop out.

    On alternating diagonals every other vertex leaves the cylinder and relaxes the energy: 12/5, not 3.
    """
    radius = 0.1
    more = relaxed_arc_energy(cells, 0.2, radius) - relaxed_arc_energy(cells, 0.1, radius)
    return more / (5e6 * TAU**3 / 24 / radius**2 * 0.1 * 0.025)


def elastica_tip(length: float, load: float, rigidity: float) -> tuple[float, float]:
    """Reach and sag [m] of the tip of a heavy inextensible strip.

    D θ″ = −q (L − s) cos θ, θ(0) = 0, θ′(L) = 0, with s in units of L.
    """
    s, weight = np.linspace(0, 1, 101), load * length**3 / rigidity
    solved = solve_bvp(
        lambda s, y: np.vstack([y[1], -weight * (1 - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.zeros((2, len(s))),
        tol=1e-6,
    )
    assert solved.success
    theta = solved.sol(s)[0]
    return length * float(np.trapezoid(np.cos(theta), s)), length * float(np.trapezoid(np.sin(theta), s))


def cantilever_tip(cells: int) -> tuple[float, float]:
    """Reach and sag [m] of a 0.1 m strip that is clamped over one cell more."""
    cell = 0.1 / cells
    problem = strip(cells, 0.1 + cell, translate=[0.05 - cell / 2, 0, 0], pin=[{"box": [[-1, -1, -1], [0, 1, 1]]}])
    x = equilibrium(problem).x
    tip = at_x(problem, 0.05 + cell / 2)
    return float(x[tip, 0].mean()), -float(x[tip, 2].mean())


def test_heavy_cantilever_converges_to_the_elastica_of_the_mesh_constant() -> None:
    constant = relaxed_hinge_constant(16)
    assert constant == pytest.approx(2.4, rel=0.01)
    reach, sag = elastica_tip(0.1, 500 * TAU * 9.81, constant * 5e6 * TAU**3 / 12)
    assert sag > 0.045  # large rotations, not the linear beam
    errors = []
    for cells in (8, 16, 32):
        x, z = cantilever_tip(cells)
        errors.append(np.hypot(x - reach, z - sag) / sag)
    # half a cell of the clamp bends as well: first order
    assert errors[2] < 0.6 * errors[1] < 0.36 * errors[0]
    assert errors[2] < 0.03


# --- pressure ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["constant", "gas"])
def test_inflated_sphere_obeys_the_boiler_formula(kind: str) -> None:
    radius, strain = 0.1, 2e-3
    pressure = 2 * E * TAU * strain / (radius * (1 - NU))  # p = 2 σ τ/R with σ = E ε/(1 − ν)
    problem = make_problem(
        {
            "shape": "sphere", "radius": radius, "subdivisions": 3,
            "pressure": {"value": pressure, "kind": kind},
            "material": {"density": 1000, "thickness": TAU, "E": E, "nu": NU, "E_bend": 0.0},
        },
        gravity=[0, 0, 0], contact=NO_CONTACT, time={"h": 10.0}, solver={"tol": 1e-9},
    )  # fmt: skip
    x = equilibrium(problem).x
    (inner,) = problem.model.pressures
    V0, V = inner.volume(problem.x0), inner.volume(x)
    assert np.linalg.norm(x, axis=1).mean() / radius - 1 == pytest.approx(strain, rel=0.02)
    if kind == "gas":
        assert inner.pressure(x) * V == pytest.approx(pressure * V0, rel=1e-12)
    # the volume's work is the membrane's: p ΔV = 2 W to first order
    assert inner.pressure(x) * (V - V0) == pytest.approx(2 * problem.elastic[0].value(x), rel=0.02)


# --- strain limit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pin", [{"corners": True}, {"box": [[-1, 0.5, -1], [1, 0.5, 1]]}])
def test_hanging_cloth_never_exceeds_its_strain_limit(pin: dict) -> None:
    problem = make_problem(
        {
            "shape": "grid", "resolution": 14, "pin": [pin],
            "material": {"preset": "cotton", "density": 20000, "E": 2e4, "strain_limit": 1.06},
        },
        contact=NO_CONTACT, time={"h": 0.1, "max_steps": 60},
    )  # fmt: skip
    assert problem.strain_limit is not None
    worst = [problem.strain_limit.stretches(state.x).max() for state in states(problem)]
    assert max(worst) < 1.06
    assert worst[-1] > 1.03  # the limit is what holds the cloth
