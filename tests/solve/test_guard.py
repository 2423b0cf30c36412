"""What is not finite never reaches the factorisation: the error names the potential and the vertices."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.potentials import SHEET

from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.core.potential import DenseBlocks, Hessian, KronBlocks, OuterBlocks, Pattern, Potential, Sum
from plisse.energies.inertia import Inertia
from plisse.energies.membrane import Membrane
from plisse.solve.newton import Newton

ALL = np.ones(len(SHEET.X), bool)
EACH = np.arange(len(SHEET.X), dtype=np.int32)[:, None]


class Refusing:
    """A linear solver that must not be asked."""

    def analyse(self, pattern: Pattern) -> None:
        raise AssertionError("analysed")

    def factorise(self, values: Floats) -> None:
        raise AssertionError("factorised")

    def solve(self, rhs: Floats) -> Floats:
        raise AssertionError("solved")


class Spoilt(Potential):
    """½ Σ ‖x‖² with one number put in the place of what belongs to some vertices; `where` says of which result."""

    def __init__(self, where: str, number: float, vertices: Sequence[int] = (7,)) -> None:
        self.where, self.number, self.vertices = where, number, list(vertices)

    def value(self, x: Floats) -> float:
        return self.number if "value" in self.where else 0.5 * float((x**2).sum())

    def gradient(self, x: Floats) -> Floats:
        out = x.copy()
        if "gradient" in self.where:
            out[self.vertices, 1] = self.number
        return out

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        n, ones = len(x), np.ones((len(x), 1))
        put = np.ones(n)
        put[self.vertices] = self.number
        if self.where == "diagonal":
            return Hessian(diagonal=put)
        if self.where == "dense":
            return Hessian((DenseBlocks(EACH, put[:, None, None, None] * np.ones((1, 3, 3))[None]),))
        if self.where == "outer":
            return Hessian((OuterBlocks(EACH, np.ones((n, 1, 3)), put),))
        if self.where == "kron":
            return Hessian((KronBlocks(EACH, ones, put[:, None, None] * np.ones((3, 3))),))
        if self.where == "rank one":
            return Hessian(diagonal=np.ones(n), rank_one=(put[:, None] * np.ones(3),))
        return Hessian(diagonal=np.ones(n))

    def stencils(self) -> Sequence[Ints]:
        return (EACH,)


def sheet_parts() -> list[Potential]:
    each = np.ones(len(SHEET.triangles))
    membrane = Membrane(SHEET, E=1e6 * each, nu=0.3 * each, thickness=1e-3 * each)
    return [Inertia(np.ones(len(SHEET.X)), SHEET.X, 0.1), membrane]


def first(objective: Sum, x: Floats = SHEET.X, free: np.ndarray = ALL) -> None:
    next(Newton(Refusing()).iterate(objective, x, free, stop=0.0, max_iterations=1))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_gradient_that_is_not_finite_names_its_potential_and_vertex(number: float) -> None:
    with pytest.raises(SceneError, match=r"gradient of Spoilt.* vertex 7 \(counted from 0"):
        first(Sum([*sheet_parts(), Spoilt("gradient", number)]))


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["diagonal", "dense", "outer", "kron", "rank one"])
def test_hessian_that_is_not_finite_names_its_potential_and_vertex(where: str, number: float) -> None:
    with pytest.raises(SceneError, match=r"Hessian of Spoilt.* vertex 7 "):
        first(Sum([*sheet_parts(), Spoilt(where, number)]))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_energy_that_is_not_finite_at_the_start_names_its_potential(number: float) -> None:
    with pytest.raises(SceneError, match="energy of Spoilt is not finite: "):
        first(Sum([*sheet_parts(), Spoilt("value", number)]))
    with pytest.raises(SceneError, match="energy of Spoilt is not finite at vertex 7 "):
        first(Sum([*sheet_parts(), Spoilt("value, gradient", number)]))


def test_infinities_that_cancel_are_found_as_well() -> None:
    with pytest.raises(SceneError, match="energy of Spoilt"):
        first(Sum([Spoilt("value", np.inf), *sheet_parts(), Spoilt("value", -np.inf)]))


def test_potential_within_nested_sums_is_found() -> None:
    inertia, membrane = sheet_parts()
    with pytest.raises(SceneError, match=r"gradient of Spoilt.* vertices 2, 3, 5, 8, 13 and 1 more "):
        first(Sum([inertia, Sum([membrane, Sum([Spoilt("gradient", np.nan, [13, 2, 3, 5, 8, 14])])])]))


def test_sum_that_overflows_is_not_blamed_on_a_part() -> None:
    with pytest.raises(SceneError, match="sum of all energies"):
        first(Sum([*sheet_parts(), Spoilt("value", 1.5e308), Spoilt("value", 1.5e308)]))


def test_positions_that_are_not_finite_are_named() -> None:
    x = SHEET.X.copy()
    x[4, 2] = np.nan
    with pytest.raises(SceneError, match=r"positions are not finite at vertex 4 "):
        first(Sum(sheet_parts()), x)


class Accepting(Refusing):
    """The identity."""

    def analyse(self, pattern: Pattern) -> None: ...

    def factorise(self, values: Floats) -> None: ...

    def solve(self, rhs: Floats) -> Floats:
        return rhs


@pytest.mark.parametrize("where", ["gradient", "diagonal", "kron"])
def test_prescribed_vertices_do_not_matter(where: str) -> None:
    free = ALL.copy()
    free[7] = False
    p = Newton(Accepting()).direction(Sum([*sheet_parts(), Spoilt(where, np.nan)]), SHEET.X, free)
    assert np.isfinite(p).all() and not p[7].any()
    # and are not blamed for what happens elsewhere
    guilty = Sum([Spoilt(where, np.nan), *sheet_parts(), Spoilt(where, np.nan, [9])])
    with pytest.raises(SceneError, match=r"Spoilt.* vertex 9 "):
        Newton(Refusing()).direction(guilty, SHEET.X, free)
