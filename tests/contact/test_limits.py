"""Each stencil's own step: the least of them is the common step, and freezing what it stops lets the rest go on."""

import ipctk
import numpy as np
import pytest
from tests.potentials import CASES, SURFACE, touching

from plisse.contact import barrier as module
from plisse.contact.barrier import Barrier
from plisse.core.potential import Potential

STEPS = [1e-4, 1e-3, 1e-2, 0.1, 1.0]


def least(potential: Potential, x: np.ndarray, p: np.ndarray) -> float:
    return min((float(steps.min(initial=1.0)) for _, steps in potential.limits(x, p)), default=1.0)


def make_barrier() -> Barrier:
    return Barrier(SURFACE, kappa=1.0, margin=1e-3)


def crossing(rng: np.random.Generator, length: float) -> np.ndarray:
    """A random motion of two sheets, the one towards the other."""
    towards = np.where(SURFACE.body == 0, 1.0, -1.0)[:, None] * [0.0, 0.0, 1.0]
    return length * (rng.normal(size=SURFACE.X.shape) + towards)


@pytest.mark.parametrize("length", STEPS)
@pytest.mark.parametrize("name", CASES)
def test_least_limit_is_the_common_step(name: str, length: float) -> None:
    case, rng = CASES[name], np.random.default_rng(2)
    potential = case.make(1.0)
    for _ in range(5):
        x = case.state(rng)
        p = length * rng.normal(size=x.shape)
        common, own = potential.max_step(x, p), least(potential, x, p)
        for nodes, steps in potential.limits(x, p):
            assert nodes.dtype == np.int32 and nodes.ndim == 2 and steps.shape == (len(nodes),)
            assert (steps >= 0.0).all() and (steps <= 1.0).all()
        assert own <= common
        assert own == pytest.approx(common, rel=1e-12)


@pytest.mark.parametrize("length", STEPS)
def test_nothing_touches_after_the_least_limit(length: float) -> None:
    rng = np.random.default_rng(5)
    mesh = ipctk.CollisionMesh(SURFACE.X, SURFACE.edges, SURFACE.triangles)
    for _ in range(5):
        barrier, x = make_barrier(), touching(rng)
        p = crossing(rng, length)
        a = least(barrier, x, p)
        assert 0.0 < a <= 1.0
        x = x + a * p
        assert not ipctk.has_intersections(mesh, x)
        assert np.isfinite(barrier.value(x)) and barrier.closest(x)[0] > 1.0


def test_limits_of_a_pair_do_not_depend_on_other_pairs() -> None:
    """A vertex far from the limiting pair has the limit that it has when that pair rests."""
    rng = np.random.default_rng(6)
    barrier, x = make_barrier(), touching(rng)
    p = crossing(rng, 1e-2)
    pairs, steps = (np.concatenate(each) for each in zip(*barrier.limits(x, p)[:2], strict=True))
    assert (steps < 1.0).sum() > 10
    worst = pairs[steps.argmin()]
    rest = p.copy()
    rest[worst] = 0.0
    other = {tuple(nodes): step for found in barrier.limits(x, rest)[:2] for nodes, step in zip(*found, strict=True)}
    apart = ~np.isin(pairs, worst).any(axis=1) & (steps < 1.0)
    assert apart.any()
    for nodes, step in zip(pairs[apart], steps[apart], strict=True):
        assert other[tuple(nodes)] == step


def test_freezing_the_limiting_vertices_lets_the_rest_arrive() -> None:
    rng = np.random.default_rng(7)
    mesh = ipctk.CollisionMesh(SURFACE.X, SURFACE.edges, SURFACE.triangles)
    barrier, x = make_barrier(), touching(rng)
    target = x + crossing(rng, 1e-2)
    free, arrived = np.ones(len(x), bool), [0]
    for _ in range(len(x)):
        p = np.where(free[:, None], target - x, 0.0)
        limits = barrier.limits(x, p)
        a = least(barrier, x, p)
        x = x + a * p
        assert not ipctk.has_intersections(mesh, x) and barrier.closest(x)[0] > 1.0
        if a == 1.0:
            break
        for nodes, steps in limits:
            free[np.unique(nodes[steps <= a])] = False
        arrived.append(int(free.sum()))
    assert a == 1.0 and (np.abs(x - target)[free] < 1e-12).all()
    assert free.sum() >= 0.2 * len(x)


def test_a_motion_too_long_to_look_ahead_limits_the_vertices_that_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 2.0)
    rng = np.random.default_rng(8)
    barrier, x = make_barrier(), touching(rng)
    p = 1e-4 * rng.normal(size=x.shape)
    p[[3, 40]] += [[0.0, 0.0, -5.0], [0.0, 0.0, 3.0]]
    assert least(barrier, x, p) <= barrier.max_step(x, p) < 0.1
    assert least(barrier, x, p) == pytest.approx(barrier.max_step(x, p), rel=1e-12)
    pt, ee, far = barrier.limits(x, p)
    assert far[0].tolist() == [[3], [40]]
    # nothing was looked at beyond the least of these
    assert max(pt[1].max(), ee[1].max()) <= far[1].min()
