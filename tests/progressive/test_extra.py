"""A user's own potentials take part in everything: a barrier is kept also between two levels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.contact.plane import PlaneContact
from plisse.core.potential import Hessian, Potential, Sum
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.scene_problem import SceneProblem
from plisse.progressive.session import Session
from plisse.runs.opening import open_session

HEIGHT, OFFSET = -0.15, 1e-3


def shelf(problem: SceneProblem) -> list[Potential]:
    """A plane that no scene file knows, under everything."""
    simulated = np.flatnonzero(problem.bodies.is_simulated).astype(np.int32)
    area, up = np.full(len(simulated), 1.0 / len(simulated)), np.array([0.0, 0.0, 1.0])
    return [PlaneContact(up * HEIGHT, up, simulated, area, kappa=3e5, dhat=4e-3, offset=OFFSET)]


class OnlyMaxStep(PlaneContact):
    """A barrier whose author gave no limits of single stencils."""

    def limits(self, x: Any, p: Any) -> tuple[()]:
        return ()


def loose_shelf(problem: SceneProblem) -> list[Potential]:
    (plane,) = shelf(problem)
    assert isinstance(plane, PlaneContact)
    plane.__class__ = OnlyMaxStep
    return [plane]


def make_session(extra: Any, **hierarchy: Any) -> Session:
    use_threads(1)
    shell = {"shape": "grid", "vertices": 80, "pin": [{"corners": True}], "material": {"preset": "cotton", "E": 2e4}}
    data = {"shell": [shell], "hierarchy": {"levels": 3} | hierarchy}
    return open_session(scene_from_dict(data, Path()), extra=extra)


@pytest.mark.parametrize("extra", [shelf, lambda p: [Sum([Sum(shelf(p))])], loose_shelf])
@pytest.mark.parametrize("settings", [{}, {"preset": "paper"}])
def test_a_users_barrier_is_kept_through_a_refinement(extra: Any, settings: dict[str, Any]) -> None:
    session = make_session(extra, **settings)
    for work in (session.preview, session.refine):
        for state in work():
            problem = session.problem
            assert problem is not None
            if state.level == problem.level:
                assert problem.bodies.simulated_part(state.x)[:, 2].min() > HEIGHT + OFFSET
        assert state.converged
    assert state.level == 2
    # it lies on the shelf, which would otherwise be far above its middle
    assert state.x[:, 2].min() < HEIGHT + 6e-3
    free = make_session(None, levels=1)
    *_, hanging = free.preview()
    assert hanging.x[:, 2].min() < HEIGHT - 0.02


def test_a_users_barrier_stops_the_last_move_of_an_expansion() -> None:
    """Loop's target lies below the midpoints where a sheet rests on something: there the shelf stops it."""
    session = make_session(shelf, preset="paper", levels=2)
    for _ in session.preview():
        pass
    below = session.grid.last(0)
    assert below is not None
    x = below.x.copy()
    # a state that lies just above the shelf, whose smooth target dips below it
    rng = np.random.default_rng(3)
    inner = session.ladder.problem(0).free
    x[:, 2] = HEIGHT + OFFSET + 2e-3
    x[inner, 2] += 4e-2 * rng.random(inner.sum())
    x[x[:, 2] < HEIGHT + OFFSET + 5e-3, 2] = HEIGHT + OFFSET + 1e-4
    hierarchy = session.ladder.hierarchy
    target = hierarchy.between(0, 1)(x) - np.array([0.0, 0.0, 5e-3])
    states = hierarchy.expansion(0)(
        x, target, lambda y: session.ladder.problem(1, start=y), session.newton, session.clock, h=0.3
    )
    assert target[:, 2].min() < HEIGHT
    while True:
        try:
            assert next(states)[:, 2].min() > HEIGHT + OFFSET
        except StopIteration as done:
            start = done.value
            break
    assert start.x[:, 2].min() > HEIGHT + OFFSET
    moved = np.linalg.norm(start.x - hierarchy.between(0, 1).along(x), axis=1)
    assert (moved[start.problem.free] > 1e-4).mean() > 0.5


class Gate(Potential):
    """What nothing may pass and nothing feels: all that it says is how far everything may go together."""

    def value(self, x: Any) -> float:
        return 0.0

    def gradient(self, x: Any) -> Any:
        return np.zeros_like(x)

    def hessian(self, x: Any, *, psd: bool = True) -> Hessian:
        return Hessian()

    def max_step(self, x: Any, p: Any) -> float:
        down = p[:, 2] < 0.0
        return float(np.minimum(0.5 * (x[down, 2] - HEIGHT) / -p[down, 2], 1.0).min(initial=1.0))


def test_bodies_that_fall_for_themselves_do_not_pass_a_users_barrier() -> None:
    use_threads(1)
    sheet = {"shape": "grid", "width": 0.3, "height": 0.3, "vertices": 25, "material": "cotton"}
    shells = [sheet | {"translate": [0, 0, HEIGHT + height]} for height in (0.005, 0.05)]
    session = open_session(scene_from_dict({"shell": shells}, Path()), extra=lambda problem: [Gate()])
    for state in session.preview():
        assert state.x[:, 2].min() > HEIGHT
        if state.step == 5:
            break
