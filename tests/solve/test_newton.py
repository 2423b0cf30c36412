"""Newton's parts against dense linear algebra, and what its iterates promise."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.potentials import BALL, CASES, SHEET, SURFACE, as_matrix, touching
from tests.progressive.scenes import make_newton, make_problem

from plisse.contact.barrier import Barrier
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.potential import Clock, Hessian, Pattern, Potential, Sum
from plisse.energies.arap import Arap
from plisse.energies.inertia import Inertia
from plisse.energies.loads import Gravity, PressureLoad
from plisse.energies.membrane import Membrane
from plisse.progressive.steps import Step, solve_step
from plisse.solve.linear import make_solver
from plisse.solve.newton import ROUNDING, Newton

Problem = tuple[Sum, Floats]


def membrane(mesh: Mesh) -> Membrane:
    each = np.ones(len(mesh.triangles))
    return Membrane(mesh, E=1e6 * each, nu=0.3 * each, thickness=1e-3 * each)


def sheet_problem(rng: np.random.Generator) -> Problem:
    """Every kind of block at once: membrane, bending, wind, limit, gravity, inertia, a half-space."""
    names = ("membrane", "bending", "inertia", "gravity", "wind", "strain limit", "half-space")
    x = SHEET.X + rng.uniform(-2e-3, 2e-3, SHEET.X.shape)
    return Sum([CASES[name].make(100.0) for name in names]), x


def contact_problem(rng: np.random.Generator) -> Problem:
    mesh = Mesh(SURFACE.X, SURFACE.triangles)
    inertia = Inertia(np.full(len(mesh.X), 1e-3), SURFACE.X, 0.01)
    return Sum([inertia, membrane(mesh), Barrier(SURFACE, kappa=1.0, margin=1e-3)]), touching(rng)


def gas_problem(rng: np.random.Generator) -> Problem:
    """Two gases in one objective: rank-one terms that couple all vertices."""
    inertia = Inertia(np.full(len(BALL.X), 1e-3), BALL.X, 0.02)
    gases: list[Potential] = [PressureLoad(BALL, p, gas=True) for p in (300.0, 50.0)]
    return Sum([inertia, membrane(BALL), *gases]), BALL.X + rng.uniform(-5e-3, 5e-3, BALL.X.shape)


PROBLEMS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "sheet": sheet_problem,
    "contact": contact_problem,
    "gas": gas_problem,
}


def some_free(n: int, rng: np.random.Generator, *, fixed: float) -> np.ndarray:
    free = rng.uniform(size=n) >= fixed
    free[:2] = True
    return free


@pytest.mark.parametrize("fixed", [0.0, 0.3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_assembled_matrix_equals_the_dense_one(name: str, fixed: float) -> None:
    rng = np.random.default_rng(3)
    objective, x = PROBLEMS[name](rng)
    free = some_free(len(x), rng, fixed=fixed)
    hessian = objective.hessian(x)
    pattern = Pattern.of(free, objective.stencils()).including([block.nodes for block in hessian.blocks])
    values = pattern.assemble(hessian, fixed=tuple(objective.stencils()))
    assert values is not None
    size = 3 * int(free.sum())
    upper = np.zeros((size, size))
    rows = np.repeat(np.arange(size), np.diff(pattern.indptr))
    upper[rows, pattern.indices] = values
    assert not np.tril(upper, -1).any()
    without_rank_one = Hessian(hessian.blocks, hessian.diagonal)
    dofs = (3 * pattern.rows[:, None] + np.arange(3)).ravel()
    expected = as_matrix(without_rank_one, len(x))[np.ix_(dofs, dofs)]
    assert np.abs(upper - np.triu(expected)).max() <= 1e-12 * np.abs(expected).max()


def test_pattern_says_when_a_block_lies_outside_of_it() -> None:
    objective, x = contact_problem(np.random.default_rng(4))
    pattern = Pattern.of(np.ones(len(x), bool), objective.stencils())
    assert pattern.assemble(objective.hessian(x)) is None


@pytest.mark.parametrize("fixed", [0.0, 0.3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_direction_equals_the_dense_solve(name: str, fixed: float) -> None:
    rng = np.random.default_rng(5)
    objective, x = PROBLEMS[name](rng)
    free = some_free(len(x), rng, fixed=fixed)
    p = Newton(make_solver()).direction(objective, x, free)
    hessian = objective.hessian(x)
    assert bool(hessian.rank_one) == (name == "gas")
    dofs = np.flatnonzero(np.repeat(free, 3))
    H, g = as_matrix(hessian, len(x))[np.ix_(dofs, dofs)], objective.gradient(x)[free].ravel()
    expected = np.linalg.solve(H, -g).reshape(-1, 3)
    assert p[free] == pytest.approx(expected, rel=1e-7, abs=1e-8 * np.abs(expected).max())
    assert not p[~free].any()
    assert (p[free].ravel() @ g) < 0.0


def decrement(objective: Sum, x: Floats, free: np.ndarray) -> float:
    """gᵀ H⁻¹ g [J], the decrease that the quadratic model promises, by dense algebra."""
    dofs = np.flatnonzero(np.repeat(free, 3))
    H, g = as_matrix(objective.hessian(x), len(x))[np.ix_(dofs, dofs)], objective.gradient(x)[free].ravel()
    return float(g @ np.linalg.solve(H, g))


@pytest.mark.parametrize("name", PROBLEMS)
def test_iterates_descend_to_a_stationary_point(name: str) -> None:
    rng = np.random.default_rng(6)
    objective, x = PROBLEMS[name](rng)
    free = some_free(len(x), rng, fixed=0.1)
    before = decrement(objective, x, free)
    value = objective.value(x)
    iterates = list(Newton(make_solver()).iterate(objective, x, free, stop=1e-8, max_iterations=60))
    for iterate in iterates:
        assert iterate.value <= value + ROUNDING * objective.size
        assert iterate.value == objective.value(iterate.x)
        assert iterate.step <= iterate.allowed
        value = iterate.value
    last = iterates[-1]
    assert last.converged and not any(iterate.converged for iterate in iterates[:-1])
    assert decrement(objective, last.x, free) < 1e-9 * before
    assert np.array_equal(last.x[~free], x[~free])


def test_objective_never_rises_in_a_drop_rich_in_contact() -> None:
    problem = make_problem(
        {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 12, "translate": [0, 0, 0.155]},
        collider=[
            {"shape": "sphere", "radius": 0.15, "subdivisions": 2, "translate": [0, 0, 0]},
            {"shape": "floor", "height": -0.05},
        ],
        contact={"offset": 1e-3, "dhat": 2e-3, "friction": 0.4},
        time={"mode": "dynamic", "h": 0.02},
        solver={"tol": 1e-4},
    )
    newton, clock, h = make_newton(problem), Clock(), 0.02
    x, v = problem.x0, problem.v0
    touched = rises = 0
    for _ in range(12):
        lagged = problem.lagged(x, v, h, h * v)
        step = Step(x, x, x + h * v, h, h * v, lagged)
        objective = Sum([Inertia(problem.mass, step.x_hat, h), *problem.potentials, *lagged])
        value, size = objective.value(x), objective.size
        stop = np.sqrt(problem.free.sum()) * h * 1e-4
        for iterate in solve_step(problem, newton, step, clock, stop=stop, max_iterations=100, bring_iterations=100):
            fresh = objective.value(iterate.x)
            rises += fresh > value + 10 * ROUNDING * max(size, objective.size)
            value, size = fresh, objective.size
        assert iterate.converged
        x, v = iterate.x, (iterate.x - x) / h
        touched = max(touched, problem.contact_count(x))
    assert touched > 50
    assert rises == 0


def test_symbolic_analysis_is_kept_while_the_pattern_lasts() -> None:
    objective, x = sheet_problem(np.random.default_rng(8))
    newton, free = Newton(make_solver()), np.ones(len(SHEET.X), bool)
    for _ in newton.iterate(objective, x, free, stop=1e-10, max_iterations=30):
        pass
    assert newton.analyses == 1 and newton.factorisations > 2


def test_symbolic_analysis_is_kept_for_the_same_pattern_of_other_potentials() -> None:
    """Potentials that are made anew for every step, and share the couplings between them in another way."""
    newton, x = Newton(make_solver()), SHEET.X
    inertia = Inertia(np.full(len(x), 1e-3), x, 0.01)
    found = []
    for split in (5, 9):
        chosen = np.arange(len(SHEET.triangles)) < split
        pulls = [Arap(SHEET, selected=some, kappa=np.ones(len(chosen)), thickness=np.ones(len(chosen))) for some in
                 (chosen, ~chosen)]  # fmt: skip
        found.append(newton.direction(Sum([inertia, *pulls]), 1.1 * x, np.ones(len(x), bool)))
    assert newton.analyses == 1 and newton.factorisations == 2
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    free = np.ones(len(x), bool)
    free[3] = False
    newton.direction(Sum([inertia, *pulls]), 1.1 * x, free)
    assert newton.analyses == 2


def test_caller_can_stop_between_iterates() -> None:
    objective, x = sheet_problem(np.random.default_rng(9))
    newton, free = Newton(make_solver()), np.ones(len(SHEET.X), bool)
    first = next(newton.iterate(objective, x, free, stop=1e-10, max_iterations=30))
    assert newton.factorisations == 1 and not first.x.flags.writeable


def test_an_iterate_that_is_blocked_names_the_vertices() -> None:
    x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1e-3 + 1e-9], [2.0, 0.0, 1.0]])
    up, all_three = np.array([0.0, 0.0, 1.0]), np.arange(3, dtype=np.int32)
    plane = PlaneContact(np.zeros(3), up, all_three, np.ones(3), kappa=1e-12, dhat=1e-3, offset=1e-3)
    mass = np.ones(3)
    objective = Sum([Inertia(mass, x, 1.0), Gravity(mass, np.array([0.0, 0.0, -1.0])), plane], Clock())
    iterate = next(
        iter(Newton(make_solver("auto")).iterate(objective, x, np.ones(3, bool), stop=0.0, max_iterations=1))
    )
    assert iterate.allowed < 1e-3 and iterate.blocked == (1,)
    free = x + np.array([0.0, 0.0, 1.0])
    iterate = next(
        iter(Newton(make_solver("auto")).iterate(objective, free, np.ones(3, bool), stop=0.0, max_iterations=1))
    )
    assert iterate.allowed > 0.4 and iterate.blocked == ()


def test_a_lasting_solver_analyses_once_while_its_pattern_holds_all_contacts() -> None:
    """Also where the arrays of stencils are made anew, as they are after a change of the scene."""

    def direction(newton: Newton, *, touches: bool) -> Floats:
        objective, x = contact_problem(np.random.default_rng(0))
        fresh = Mesh(SURFACE.X, SURFACE.triangles.copy())
        parts = [membrane(fresh), *(part for part in objective.parts if touches or not isinstance(part, Barrier))]
        return newton.direction(Sum(parts, Clock()), x, np.ones(len(x), bool))

    lasting, plain = Newton(make_solver(), lasting=True), Newton(make_solver())
    for newton in (lasting, plain):
        direction(newton, touches=True)
        apart = direction(newton, touches=False)
        np.testing.assert_allclose(apart, direction(Newton(make_solver()), touches=False), rtol=1e-6, atol=1e-12)
    assert (lasting.analyses, plain.analyses) == (1, 2)
