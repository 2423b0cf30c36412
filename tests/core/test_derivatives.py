"""The checker that users run on their own energies."""

from typing import Any

import numpy as np
import pytest
from tests.potentials import CASES
from tests.problems import Springs

from plisse.core.arrays import Floats, Ints
from plisse.core.derivatives import check_potential
from plisse.core.errors import SceneError
from plisse.core.potential import DenseBlocks, Hessian

LINKS: Ints = np.array([[0, 1], [1, 2]], np.int32)
X = np.array([[0.0, 0.0, 0.0], [0.13, 0.02, 0.0], [0.2, 0.1, 0.05]])


def make(kind: type[Springs]) -> Springs:
    return kind(LINKS, np.full(2, 0.1), np.full(2, 30.0))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.preconditioner])
def test_all_of_the_package_pass(name: str) -> None:
    case = CASES[name]
    check_potential(case.make(1e3), case.state(np.random.default_rng(2)))


class WrongSign(Springs):
    def gradient(self, x: Floats) -> Floats:
        return -super().gradient(x)


class WrongSlope(Springs):
    def gradient(self, x: Floats) -> Floats:
        return 1.1 * super().gradient(x)


class WrongCurvature(Springs):
    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        (block,) = super().hessian(x, psd=psd).blocks
        assert isinstance(block, DenseBlocks)
        return Hessian((DenseBlocks(block.nodes, 0.5 * block.blocks),))


class NotProjected(Springs):
    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return super().hessian(x, psd=False)


class NotFinite(Springs):
    def gradient(self, x: Floats) -> Floats:
        return np.full_like(x, np.nan)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (WrongSign, "WrongSign: .* gradient says .* its sign is wrong"),
        (WrongSlope, "WrongSlope: .* gradient says .* value say"),
        (WrongCurvature, r"WrongCurvature: .* Hessian \(psd=False\) says"),
        (NotFinite, "NotFinite: .* must be finite"),
    ],
)
def test_what_is_wrong_is_one_sentence(kind: Any, words: str) -> None:
    with pytest.raises(SceneError, match=words):
        check_potential(make(kind), X)


def test_a_hessian_that_is_not_projected_is_found_where_it_matters() -> None:
    # slack springs push: across them the exact Hessian is negative
    slack = NotProjected(LINKS, np.full(2, 1.0), np.full(2, 30.0))
    with pytest.raises(SceneError, match=r"NotProjected: .* not positive semidefinite"):
        check_potential(slack, X)
    check_potential(Springs(LINKS, np.full(2, 1.0), np.full(2, 30.0)), X)
