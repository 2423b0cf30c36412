"""The linear solvers behind one interface: same solutions, same runs, same complaint; and mixed precision."""

from collections.abc import Callable

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
from tests.progressive.scenes import make_problem, states

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.potential import Pattern
from plisse.scene.settings import Solver
from plisse.solve import linear
from plisse.solve.factors import NotPositiveDefinite
from plisse.solve.iterative import Operator
from plisse.solve.linear import LEAST, RESIDUAL, LinearSolver, Mixed, make_solver
from plisse.solve.newton import Newton

NAMES = ["pardiso", "superlu", "cholmod"]


@pytest.fixture(params=[*NAMES, "mixed"])
def solver(request: pytest.FixtureRequest) -> LinearSolver:
    return made(request.param)


def made(name: str) -> LinearSolver:
    if name != "superlu":
        pytest.importorskip("kvxopt" if name == "cholmod" else "pypardiso")
    return make_solver(precision="mixed") if name == "mixed" else make_solver(name, precision="double")


def random_matrix(n: int, seed: int) -> sparse.csr_matrix:
    """A sparse symmetric positive definite matrix with a condition number of some thousands, of n × n blocks."""
    rng = np.random.default_rng(seed)
    B = sparse.random(3 * n, 3 * n, density=1.2 / n, random_state=rng, format="csr")
    return (B @ B.T + sparse.diags(np.linspace(0.01, 1.0, 3 * n))).tocsr()


def as_blocks(A: sparse.csr_matrix) -> tuple[Pattern, Floats]:
    """The upper triangle as solvers take it: the pattern of its 3×3 blocks, and their values."""
    n = A.shape[0] // 3
    i, j = (np.asarray(each) // 3 for each in (A + sparse.eye(3 * n)).nonzero())
    pattern = Pattern(np.arange(n, dtype=np.int32), np.unique(i[i <= j].astype(np.int64) * n + j[i <= j]))
    rows = np.repeat(np.arange(3 * n), np.diff(pattern.indptr))
    return pattern, np.asarray(A[rows, pattern.indices], dtype=np.float64).ravel()


@pytest.mark.parametrize("rows", [1, 3])
def test_solution_equals_the_dense_one(solver: LinearSolver, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "RESIDUAL", 1e-13)
    A = random_matrix(70, seed=1)
    rng = np.random.default_rng(2)
    pattern, values = as_blocks(A)
    solver.analyse(pattern)
    for scale in (1.0, 1e3, 1e-6):  # the analysis serves all values of a pattern
        solver.factorise(scale * values)
        rhs = rng.normal(size=210) if rows == 1 else rng.normal(size=(rows, 210))
        expected = np.linalg.solve(scale * A.toarray(), rhs.T).T
        assert solver.solve(rhs) == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


def test_new_pattern_replaces_the_old_one(solver: LinearSolver) -> None:
    for n, seed in ((20, 1), (30, 2), (20, 3)):
        A = random_matrix(n, seed)
        pattern, values = as_blocks(A)
        solver.analyse(pattern)
        solver.factorise(values)
        b = np.cos(np.arange(3 * n))
        assert A @ solver.solve(b) == pytest.approx(b, abs=1e-5 if isinstance(solver, Mixed) else 1e-9)


def spoilt(A: sparse.csr_matrix, kind: str) -> sparse.csr_matrix:
    A = A.tolil()
    if kind == "negative pivot":
        A[20, 20] = -1.0
    elif kind == "negative minor":  # on a positive diagonal
        A[10, 11] = A[11, 10] = 5.0 * max(A[10, 10], A[11, 11])
    else:  # unknowns 21, 22, 23 are a vertex that nothing couples to
        A[21:24, :], A[:, 21:24] = 0.0, 0.0
        block = -1e-3 * np.eye(3) if kind == "lone negative" else np.full((3, 3), 2.0) - np.eye(3)
        A[21:24, 21:24] = block
    return A.tocsr()


@pytest.mark.parametrize("kind", ["negative pivot", "negative minor", "lone negative", "lone indefinite"])
def test_indefinite_matrix_is_refused(solver: LinearSolver, kind: str) -> None:
    pattern, values = as_blocks(spoilt(random_matrix(20, seed=4), kind))
    solver.analyse(pattern)
    with pytest.raises(NotPositiveDefinite):
        solver.factorise(values)


def test_solver_works_on_after_a_refusal(solver: LinearSolver) -> None:
    A = random_matrix(20, seed=5)
    pattern, values = as_blocks(A)
    solver.analyse(pattern)
    with pytest.raises(NotPositiveDefinite):
        solver.factorise(-values)
    solver.factorise(values)
    b = np.sin(np.arange(60.0))
    assert A @ solver.solve(b) == pytest.approx(b, abs=1e-5 if isinstance(solver, Mixed) else 1e-9)


def test_unknown_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypardiso", None)
    with pytest.raises(SceneError, match="superlu"):
        make_solver("pardiso")


def draped(solver: LinearSolver, *, steps: int) -> tuple[Floats, int]:
    problem = make_problem(
        {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 10, "translate": [0, 0, 0.155]},
        collider=[{"shape": "sphere", "radius": 0.15, "subdivisions": 2, "translate": [0, 0, 0]}],
        contact={"offset": 1e-3, "dhat": 2e-3},
        time={"h": 0.05, "max_steps": steps},
    )
    *_, last = states(problem, Newton(solver))
    return last.x, last.contacts


@pytest.mark.parametrize("name", NAMES[1:])
def test_all_solvers_give_the_same_run(name: str) -> None:
    pytest.importorskip("pypardiso")
    x, contacts = draped(made(name), steps=12)
    expected, expected_contacts = draped(made("pardiso"), steps=12)
    assert contacts == expected_contacts > 0
    assert np.abs(x - expected).max() < 1e-8


# --- mixed precision ------------------------------------------------------------------------------------------


def solve(solver: LinearSolver, A: sparse.csr_matrix, rhs: Floats) -> Floats:
    pattern, values = as_blocks(A)
    solver.analyse(pattern)
    solver.factorise(values)
    return solver.solve(rhs)


def residuals(A: sparse.csr_matrix, x: Floats, b: Floats) -> Floats:
    x, b = np.atleast_2d(x), np.atleast_2d(b)
    return np.asarray(np.linalg.norm(b - (A @ x.T).T, axis=1) / np.linalg.norm(b, axis=1))


@pytest.fixture
def mixed() -> Mixed:
    solver = made("mixed")
    assert isinstance(solver, Mixed)
    return solver


def loose_chains(n: int) -> sparse.csr_matrix:
    """Ten chains of springs that next to nothing holds: ten modes that are lost in single precision."""
    steps = sparse.diags([-1.0, 1.0], [0, 1], shape=(3 * n // 10 - 1, 3 * n // 10))
    chains = [steps.T @ steps + 1e-10 / (1 + k) * sparse.eye(3 * n // 10) for k in range(10)]
    return sparse.block_diag(chains, format="csr")


def singular_in_single(n: int) -> sparse.csr_matrix:
    """Pairs of unknowns whose determinants are lost in single precision."""
    pair = np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    return sparse.block_diag([pair] * (3 * n // 2), format="csr")


@pytest.mark.parametrize("threads", [1, 2])
def test_product_equals_the_dense_one_for_any_number_of_threads(threads: int) -> None:
    A = random_matrix(150, seed=6)
    pattern, values = as_blocks(A)
    x = np.random.default_rng(7).normal(size=(2, 450))
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    alone = Operator(pattern).multiply(values, x)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    found = Operator(pattern).multiply(values, x)
    numba.set_num_threads(before)
    assert np.array_equal(found, alone)
    assert found == pytest.approx((A @ x.T).T, rel=1e-12, abs=1e-12)


def test_single_precision_and_iterations_meet_the_residual(mixed: Mixed) -> None:
    A = random_matrix(300, seed=8)
    b = np.random.default_rng(9).normal(size=(2, 900))
    x = solve(mixed, A, b)
    assert residuals(A, x, b).max() <= 1.01 * RESIDUAL
    # both were needed: single precision alone is not as good, and one factorisation was enough
    assert 1 <= mixed.iterations <= 5 and mixed.fallbacks == 0


def test_rows_of_any_size_and_of_nothing_are_solved_at_once(mixed: Mixed) -> None:
    """Single precision ends at 1e38; the factor knows neither the matrix's units nor those of a right-hand side."""
    A = random_matrix(50, seed=10)
    rng = np.random.default_rng(11)
    b = np.array([1e-60, 1.0, 1e60, 0.0])[:, None] * rng.normal(size=(4, 150))
    for scale in (1.0, 1e-50, 1e50):
        x = solve(mixed, scale * A, b)
        assert residuals(scale * A, x[:3], b[:3]).max() <= 1.01 * RESIDUAL
        assert not x[3].any()
    assert mixed.fallbacks == 0


@pytest.mark.parametrize(("make", "iterates"), [(loose_chains, True), (singular_in_single, False)])
def test_matrix_beyond_single_precision_is_solved_in_double(
    mixed: Mixed, make: Callable[[int], sparse.csr_matrix], iterates: bool
) -> None:
    A, b = make(100), np.random.default_rng(12).normal(size=300)
    x = solve(mixed, A, b)
    assert mixed.fallbacks == 1 and (mixed.iterations > 0) == iterates
    assert np.array_equal(x, solve(made("pardiso"), A, b))


@pytest.mark.parametrize("iterations", [0, 1])
def test_iterations_that_do_not_converge_end_in_double(
    mixed: Mixed, iterations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "ITERATIONS", iterations)
    A = random_matrix(100, seed=13)
    b = np.random.default_rng(14).normal(size=(2, 300))
    monkeypatch.setattr(linear, "RESIDUAL", 1e-12)
    x = solve(mixed, A, b)
    assert mixed.fallbacks == 1 and np.array_equal(x, solve(made("pardiso"), A, b))
    assert np.array_equal(mixed.solve(b), x) and mixed.fallbacks == 1  # it stays with what it has for this matrix


def test_solution_does_not_depend_on_what_was_solved_before(mixed: Mixed) -> None:
    A, b = random_matrix(100, seed=15), np.random.default_rng(16).normal(size=300)
    x = solve(mixed, A, b)
    solve(mixed, loose_chains(100), b)
    assert mixed.fallbacks == 1
    assert np.array_equal(solve(mixed, A, b), x) and mixed.fallbacks == 1


def test_auto_iterates_from_a_size_on(monkeypatch: pytest.MonkeyPatch) -> None:
    solver, double = make_solver(), made("pardiso")
    assert isinstance(solver, Mixed) and LEAST > 1000
    monkeypatch.setattr(solver, "_least", 60)
    for n, iterates in ((59, False), (60, True), (59, False)):
        A, b, before = random_matrix(n, seed=17), np.ones(3 * n), solver.iterations
        same = np.array_equal(solve(solver, A, b), solve(double, A, b))
        assert (solver.iterations > before) == iterates != same
    assert solver.fallbacks == 0


def test_mixed_run_is_the_double_one_within_the_residual() -> None:
    x, contacts = draped(made("mixed"), steps=12)
    expected, expected_contacts = draped(made("pardiso"), steps=12)
    assert contacts == expected_contacts > 0
    assert 0.0 < np.abs(x - expected).max() < 1e-5
    again, _ = draped(made("mixed"), steps=12)
    assert np.array_equal(again, x)


def test_mixed_precision_without_pardiso_is_one_sentence() -> None:
    with pytest.raises(SceneError, match="needs PARDISO"):
        Solver(linear="superlu", precision="mixed")
    assert Solver(linear="superlu").precision == "auto"
    assert not isinstance(make_solver("superlu"), Mixed)
