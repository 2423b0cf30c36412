"""A Sum is a Potential in every respect, also as a part of another Sum."""

import numpy as np
import pytest
from tests.potentials import SURFACE, touching

from plisse.contact.barrier import Barrier
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.potential import Hessian, Potential, Sum
from plisse.energies.inertia import Inertia
from plisse.energies.membrane import Membrane
from plisse.solve.linear import make_solver
from plisse.solve.newton import BLOCKED, Newton


def make_parts(mass: float = 1e-3, x_hat: Floats = SURFACE.X) -> list[Potential]:
    """Inertia of two sheets, their membranes, the contact between them and with a floor."""
    mesh, n = Mesh(SURFACE.X, SURFACE.triangles), len(SURFACE.X)
    each = np.ones(len(mesh.triangles))
    membrane = Membrane(mesh, E=1e3 * each, nu=0.3 * each, thickness=1e-3 * each)
    floor = PlaneContact(
        np.array([0.0, 0.0, -0.01]), np.array([0.0, 0.0, 1.0]), np.arange(n, dtype=np.int32), np.full(n, 1e-3),
        kappa=1.0, dhat=5e-3, offset=1e-3,
    )  # fmt: skip
    return [Inertia(np.full(n, mass), x_hat, 0.01), membrane, Barrier(SURFACE, kappa=1.0, margin=1e-3), floor]


def nest(parts: list[Potential]) -> Sum:
    inertia, membrane, barrier, floor = parts
    return Sum([inertia, Sum([membrane, Sum([barrier, floor])])])


def crossing(rng: np.random.Generator) -> Floats:
    down = np.where(SURFACE.body == 0, 1.0, -1.0)[:, None] * [0.0, 0.0, 1.0]
    return 0.05 * (down + 0.3 * rng.normal(size=SURFACE.X.shape))


def test_nested_sum_allows_the_steps_of_the_flat_one() -> None:
    rng = np.random.default_rng(1)
    x, p = touching(rng), crossing(rng)
    one, other = Sum(make_parts()), nest(make_parts())
    assert other.max_step(x, p) == one.max_step(x, p) < 1.0
    expected, found = one.limits(x, p), other.limits(x, p)
    assert len(found) == len(expected) > 0
    for (nodes, steps), (own_nodes, own_steps) in zip(expected, found, strict=True):
        assert np.array_equal(nodes, own_nodes) and np.array_equal(steps, own_steps)
    assert min(steps.min(initial=1.0) for _, steps in found) < 1.0


def test_nested_sum_foresees_the_contacts_of_the_flat_one() -> None:
    x = touching(np.random.default_rng(2))
    expected, found = Sum(make_parts()).soon(x), nest(make_parts()).soon(x)
    assert len(found) == len(expected) > 0 and sum(map(len, found)) > 0
    for nodes, own in zip(expected, found, strict=True):
        assert np.array_equal(nodes, own)


@pytest.mark.parametrize("pull", [1.0, 1e4])
def test_newton_makes_the_same_iterates_and_pattern_of_both(pull: float) -> None:
    """pull: how hard inertia presses one sheet against the other; the stronger one is blocked at once."""
    rng = np.random.default_rng(3)
    x, p = touching(rng), crossing(rng)
    free = np.ones(len(x), bool)
    found = []
    for objective in (Sum(make_parts(pull, x + p)), nest(make_parts(pull, x + p))):
        newton = Newton(make_solver())
        iterates = list(newton.iterate(objective, x, free, stop=0.0, max_iterations=3))
        assert newton.memory is not None
        found.append((iterates, newton.memory.keys, newton.analyses))
    (flat_iterates, flat_keys, flat_analyses), (iterates, keys, analyses) = found
    assert np.array_equal(keys, flat_keys) and len(keys) > 0 and analyses == flat_analyses
    for one, other in zip(flat_iterates, iterates, strict=True):
        assert np.array_equal(other.x, one.x) and other.value == one.value
        assert other.allowed == one.allowed and other.blocked == one.blocked
    assert any(iterate.blocked for iterate in iterates) == (min(i.allowed for i in iterates) < BLOCKED)
    assert any(iterate.blocked for iterate in iterates) == (pull > 1.0)


class Offset(Potential):
    """A constant energy [J]."""

    def __init__(self, value: float) -> None:
        self._value = value

    def value(self, x: Floats) -> float:
        return self._value

    def gradient(self, x: Floats) -> Floats:
        return np.zeros_like(x)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian()


def test_seconds_of_a_nested_sum_are_booked_by_kind() -> None:
    objective = nest(make_parts())
    objective.gradient(SURFACE.X)
    assert set(objective.clock.seconds) == {"elastic", "contact"}


def test_rounding_is_measured_against_the_parts_of_a_nested_sum() -> None:
    """Parts that cancel leave as much rounding behind, wherever they are added up."""
    large = [Offset(1e9), Offset(-1e9)]
    one, other = Sum([Offset(1.0), *large]), Sum([Offset(1.0), Sum(large)])
    assert one.value(np.zeros((1, 3))) == other.value(np.zeros((1, 3))) == 1.0
    assert other.size == one.size == 2e9 + 1.0
