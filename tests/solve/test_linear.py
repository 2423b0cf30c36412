"""The linear solvers behind one interface: same solutions, same runs, same complaint."""

import numpy as np
import pytest
import scipy.sparse as sparse
from tests.progressive.scenes import make_problem, states

from plisse.core.errors import SceneError
from plisse.core.potential import Floats
from plisse.solve.linear import LinearSolver, NotPositiveDefinite, make_solver
from plisse.solve.newton import Newton

NAMES = ["pardiso", "superlu", "cholmod"]


@pytest.fixture(params=NAMES)
def solver(request: pytest.FixtureRequest) -> LinearSolver:
    return made(request.param)


def made(name: str) -> LinearSolver:
    if name != "superlu":
        pytest.importorskip({"pardiso": "pypardiso", "cholmod": "kvxopt"}[name])
    return make_solver(name)


def random_matrix(n: int, seed: int) -> sparse.csr_matrix:
    """A sparse symmetric positive definite matrix with a condition number of some thousands."""
    B = sparse.random(n, n, density=4 / n, random_state=np.random.default_rng(seed), format="csr")
    return (B @ B.T + sparse.diags(np.linspace(0.01, 1.0, n))).tocsr()


def upper(A: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray, Floats]:
    """The upper triangle as solvers take it: sorted CSR, one-based."""
    U = sparse.triu(A, format="csr")
    U.sort_indices()
    return (U.indptr + 1).astype(np.int32), (U.indices + 1).astype(np.int32), U.data.copy()


@pytest.mark.parametrize("rows", [1, 3])
def test_solution_equals_the_dense_one(solver: LinearSolver, rows: int) -> None:
    A = random_matrix(200, seed=1)
    rng = np.random.default_rng(2)
    indptr, indices, values = upper(A)
    solver.analyse(indptr, indices)
    for scale in (1.0, 1e3, 1e-6):  # the analysis serves all values of a pattern
        solver.factorise(scale * values)
        rhs = rng.normal(size=200) if rows == 1 else rng.normal(size=(rows, 200))
        expected = np.linalg.solve(scale * A.toarray(), rhs.T).T
        assert solver.solve(rhs) == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


def test_new_pattern_replaces_the_old_one(solver: LinearSolver) -> None:
    for n, seed in ((60, 1), (90, 2), (60, 3)):
        A = random_matrix(n, seed)
        indptr, indices, values = upper(A)
        solver.analyse(indptr, indices)
        solver.factorise(values)
        b = np.cos(np.arange(n))
        assert A @ solver.solve(b) == pytest.approx(b, abs=1e-9)


def spoilt(A: sparse.csr_matrix, kind: str) -> sparse.csr_matrix:
    A = A.tolil()
    if kind == "negative pivot":
        A[20, 20] = -1.0
    elif kind == "negative minor":  # on a positive diagonal
        A[10, 11] = A[11, 10] = 5.0 * max(A[10, 10], A[11, 11])
    else:  # unknowns 20, 21, 22 are a vertex that nothing couples to
        A[20:23, :], A[:, 20:23] = 0.0, 0.0
        block = -1e-3 * np.eye(3) if kind == "lone negative" else np.full((3, 3), 2.0) - np.eye(3)
        A[20:23, 20:23] = block
    return A.tocsr()


@pytest.mark.parametrize("kind", ["negative pivot", "negative minor", "lone negative", "lone indefinite"])
def test_indefinite_matrix_is_refused(solver: LinearSolver, kind: str) -> None:
    indptr, indices, values = upper(spoilt(random_matrix(50, seed=4), kind))
    solver.analyse(indptr, indices)
    with pytest.raises(NotPositiveDefinite):
        solver.factorise(values)


def test_solver_works_on_after_a_refusal(solver: LinearSolver) -> None:
    A = random_matrix(50, seed=5)
    indptr, indices, values = upper(A)
    solver.analyse(indptr, indices)
    with pytest.raises(NotPositiveDefinite):
        solver.factorise(-values)
    solver.factorise(values)
    b = np.sin(np.arange(50.0))
    assert A @ solver.solve(b) == pytest.approx(b, abs=1e-9)


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
