"""What cuts a direction short is found before it is met, and a direction that knows of it goes farther."""

import numpy as np
import pytest
from tests.potentials import SURFACE

from plisse.contact.barrier import Barrier
from plisse.contact.meetings import LEAVES, Meetings
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Bools, Floats
from plisse.core.potential import Clock, Sum, frozen
from plisse.energies.inertia import Inertia
from plisse.solve import newton as newton_module
from plisse.solve.linear import make_solver
from plisse.solve.newton import Iterate, Newton

OFFSET = SURFACE.offset
UPPER = SURFACE.body == 1
DOWN = np.array([0.0, 0.0, -1.0])
X = frozen(SURFACE.X)  # 12 mm apart, where the barrier reaches
APART = frozen(X + np.where(UPPER[:, None], 0.05, 0.0) * -DOWN)  # where it does not
ONES = np.ones(len(X))


def barrier() -> Barrier:
    return Barrier(SURFACE, kappa=1e-3, margin=1e-3)


def fall(by: float) -> Floats:
    """The upper sheet goes down, relative to the lower one, with a ripple that makes vertices meet it one by one."""
    ripple = 1.0 + 0.2 * np.sin(40.0 * X[:, 0])
    return np.where(UPPER, by * ripple, 0.0)[:, None] * DOWN


def slides(met: Meetings) -> Bools:
    """Those that are kept apart along one direction only."""
    return np.asarray(np.linalg.matrix_rank(met.matrices) == 1)


def apart(met: Meetings, x: Floats) -> Floats:
    """From one point of each to the other (m, 3)."""
    return np.einsum("mk,mki->mi", met.weights, x[met.nodes])


def first(x: Floats, objective: Sum) -> Iterate:
    newton = Newton(make_solver("auto"))
    return next(newton.iterate(objective, x, np.ones(len(x), bool), stop=0.0, max_iterations=1))


def test_only_what_a_step_runs_into_is_met() -> None:
    assert sum(len(met.nodes) for met in barrier().ahead(X, fall(0.005), ONES)) == 0
    (met,) = barrier().ahead(X, fall(0.2), ONES)
    assert len(met.nodes) > 10
    # one side is of each sheet, which may slide along each other
    assert (UPPER[met.nodes].any(axis=1) & ~UPPER[met.nodes].all(axis=1)).all()
    assert slides(met).all()
    np.testing.assert_allclose(np.trace(met.matrices, axis1=1, axis2=2), 1.0)
    normals = np.linalg.eigh(met.matrices)[1][:, :, -1]
    room, left = (np.abs(np.einsum("mi,mi->m", normals, each)) - OFFSET for each in (apart(met, X), met.places))
    np.testing.assert_allclose(left, LEAVES * room)


def test_what_touches_nothing_yet_stays_where_it_lands() -> None:
    # friction is not known there yet, and it would slide along what it lands on
    p = fall(0.2) + np.where(UPPER, 0.1, 0.0)[:, None] * np.array([1.0, 0.0, 0.0])
    (met,) = barrier().ahead(APART, p, ONES)
    assert len(met.nodes) > 10 and not slides(met).any()
    # it has come along with the step for as long as that went
    gone, way = met.places - apart(met, APART), apart(met, APART + p) - apart(met, APART)
    part = gone[:, 0] / way[:, 0]
    assert part.min() > 0.1 and part.max() < 0.5
    np.testing.assert_allclose(gone[:, :2], part[:, None] * way[:, :2], atol=5e-3)


def test_nothing_is_asked_of_vertices_that_cannot_move() -> None:
    assert sum(len(met.nodes) for met in barrier().ahead(X, fall(0.2), np.full(len(X), np.inf))) == 0
    (one,) = barrier().ahead(X, fall(0.2), ONES)
    (other,) = barrier().ahead(X, fall(0.2), np.where(UPPER, 1.0, np.inf))
    # a side that is held makes what gives half as much, and the pair twice as firm at the most
    assert (other.firmness >= one.firmness * (1.0 - 1e-12)).all() and other.firmness.sum() > 1.1 * one.firmness.sum()


def test_a_plane_is_met_by_the_vertices_that_reach_it() -> None:
    x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.1], [2.0, 0.0, 0.3]])
    plane = PlaneContact(np.zeros(3), -DOWN, np.arange(3, dtype=np.int32), np.ones(3), kappa=1.0, dhat=0.2, offset=1e-3)
    (met,) = plane.ahead(x, np.tile(0.4 * DOWN, (3, 1)), np.ones(3))
    assert met.nodes.tolist() == [[1], [2]]
    np.testing.assert_allclose(met.places[:, 2], 1e-3 + LEAVES * np.array([0.099, 0.299]))
    # the second one lands
    assert slides(met).tolist() == [True, False]


@pytest.mark.parametrize("by", [1.0, 3.0])
def test_a_direction_that_knows_what_is_in_the_way_gains_more(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = Sum([Inertia(ONES, X + fall(by), 1.0), barrier()], Clock())
    led = first(X, objective)
    monkeypatch.setattr(newton_module, "CUT_SHORT", 0.0)
    plain = first(X, objective)
    start = objective.value(X)
    # Newton's own direction is told in both cases
    np.testing.assert_array_equal(led.d, plain.d)
    np.testing.assert_array_equal(plain.way, plain.d)
    assert plain.allowed < 0.1 < 0.3 < led.allowed
    assert start - led.value > 2.0 * (start - plain.value) > 0.0


def test_a_direction_that_nothing_cuts_short_is_newtons_own() -> None:
    objective = Sum([Inertia(ONES, X + fall(0.005), 1.0), barrier()], Clock())
    iterate = first(X, objective)
    assert iterate.allowed == 1.0 and iterate.way is iterate.d
