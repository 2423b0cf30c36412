"""Feasible starts on a finer level: the move that freezes what limits it, the strain relaxation, the midpoints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.potentials import SURFACE, principal_stretches, touching

from plisse.contact.barrier import Barrier
from plisse.contact.check import Detector
from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.core.potential import Clock, frozen
from plisse.core.state import State
from plisse.hierarchy.advance import advance
from plisse.hierarchy.expand import NEAR_RINGS, relieve_strain
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.ladder import Ladder
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.opening import open_session
from plisse.solve.newton import make_newton


def make_barrier() -> Barrier:
    return Barrier(SURFACE, kappa=1.0, margin=1e-3)


def surface_detector() -> Detector:
    return Detector(SURFACE.X, SURFACE.edges, SURFACE.triangles, len(SURFACE.X))


def crossing(rng: np.random.Generator) -> Floats:
    """A motion that takes a corner of the upper sheet through the lower one; everything else moves freely aside."""
    p = np.tile([0.02, 0.01, 0.0], (len(SURFACE.X), 1)) + 1e-3 * rng.normal(size=SURFACE.X.shape)
    upper = SURFACE.body == 1
    corner = upper & (SURFACE.X[:, 0] < -0.05) & (SURFACE.X[:, 1] < -0.05)
    assert corner.any()
    p[corner] += [0.0, 0.0, -0.05]
    return p


# --- advance --------------------------------------------------------------------------------------------------------


def test_an_unhindered_move_arrives() -> None:
    rng = np.random.default_rng(1)
    x, barrier = frozen(touching(rng)), make_barrier()
    p = np.tile([0.05, 0.02, 0.01], (len(x), 1))
    assert np.array_equal(advance([barrier], x, p), x + p)
    assert np.array_equal(advance([], x, p), x + p)


@pytest.mark.parametrize("seed", range(4))
def test_what_limits_a_move_stays_behind_and_the_rest_goes_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, barrier = frozen(touching(rng)), make_barrier()
    p = crossing(rng)
    given = p.copy()
    end = advance([barrier], x, p)
    assert np.array_equal(p, given)
    assert surface_detector().count(x + p) > 0 and surface_detector().count(end) == 0
    assert barrier.closest(end)[0] > 1.0
    # each vertex is on the straight way to its target
    part = np.einsum("ni,ni->n", end - x, p) / np.einsum("ni,ni->n", p, p)
    assert np.abs(end - x - part[:, None] * p).max() < 1e-12
    assert (part >= 0.0).all() and (part <= 1.0 + 1e-12).all()
    # most arrive; one common step would have left everything where the corner stops
    common = barrier.max_step(x, p)
    assert common < 0.6 and (part >= common - 1e-9).all()
    assert part.mean() > common + 0.2 and (part > 1.0 - 1e-9).mean() > 0.5


def test_nothing_is_followed_much_farther_than_the_step_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between pressed layers, following every pair to its own end takes a hundred times as long."""
    x, barrier = frozen(touching(np.random.default_rng(0))), make_barrier()
    p, limits, looked = crossing(np.random.default_rng(0)), barrier.limits, list[tuple[float, float]]()

    def limits_noted(x: Floats, p: Floats) -> list[tuple[Ints, Floats]]:
        looked.append((barrier.max_step(x, p), float(np.abs(p).max())))
        return limits(x, p)

    monkeypatch.setattr(barrier, "limits", limits_noted)
    advance([barrier], x, p)
    assert looked
    whole = np.abs(p).max()
    assert all(farthest <= 2.0 * step * farthest + 0.06 * whole for step, farthest in looked)


def test_several_barriers_are_kept_together() -> None:
    problem = drape(strain_limit=1.06).problem(0)
    assert problem.strain_limit is not None
    rng = np.random.default_rng(3)
    # everything at once towards a point below the floor: stretch, ball and floor all limit it
    p = np.where(
        problem.free[:, None], [0.0, 0.0, -1.5] - 0.7 * problem.x0 + 0.1 * rng.normal(size=problem.x0.shape), 0.0
    )
    end = advance([*problem.contact_parts, problem.strain_limit], problem.x0, p)
    assert Detector.of(problem).count(end) == 0
    assert problem.clearance(end) > 1.0
    assert problem.strain_limit.max_stretch_over_limit(end) < 1.0
    assert np.linalg.norm(end - problem.x0) > 0.0


# --- starts of levels -----------------------------------------------------------------------------------------------


def drape(*, diagonals: str = "jittered", strain_limit: float | None = None, **hierarchy: Any) -> Ladder:
    use_threads(1)
    material = {"preset": "cotton", "E": 8.21e4} | ({"strain_limit": strain_limit} if strain_limit else {})
    data = {
        "shell": [{"shape": "grid", "vertices": 80, "diagonals": diagonals, "material": material}],
        "collider": [{"shape": "sphere", "radius": 0.25, "subdivisions": 2}, {"shape": "floor"}],
        "hierarchy": {"levels": 2} | hierarchy,
    }
    return open_session(scene_from_dict(data, Path())).ladder


def start_of(ladder: Ladder, x: Floats) -> tuple[SceneProblem, Floats, Floats, np.ndarray, list[Floats]]:
    """Level 1 from positions of level 0: problem, midpoints, target, which vertices are odd, and all positions."""
    step = ladder.hierarchy.between(0, 1)
    target, found = step(x), list[Floats]()
    expansion = ladder.hierarchy.expansion(0)
    states = expansion(x, target, lambda start: ladder.problem(1, start=start), make_newton(), Clock(), h=0.3)
    while True:
        try:
            found.append(next(states))
        except StopIteration as done:
            start = done.value
            break
    x_up, *found = found
    assert np.array_equal(start.x, found[-1]) and np.array_equal(start.target, target)
    return start.problem, x_up, target, step.new, found


def stretched(ladder: Ladder, amount: float, *, noise: float = 0.0) -> Floats:
    """Level 0 pulled by `amount` in its plane, each vertex shifted at random besides."""
    problem = ladder.problem(0)
    x = problem.x0.copy()
    x[: problem.bodies.n_simulated, :2] *= amount
    x[: problem.bodies.n_simulated] += noise * np.random.default_rng(2).uniform(
        -1.0, 1.0, (problem.bodies.n_simulated, 3)
    )
    return frozen(x)


def test_a_linear_start_is_the_midpoints_exactly() -> None:
    ladder = drape(prolongation="linear")
    x = stretched(ladder, 1.02, noise=2e-3)
    _, x_up, target, odd, found = start_of(ladder, x)
    assert len(found) == 1 and np.array_equal(found[0], x_up) and np.array_equal(target, x_up)
    assert np.array_equal(found[0][~odd], x)


@pytest.mark.parametrize("diagonals", ["jittered", "delaunay"])
def test_a_smooth_start_goes_to_its_target_where_nothing_is_in_the_way(diagonals: str) -> None:
    ladder = drape(diagonals=diagonals, prolongation="loop")
    problem, x_up, target, _, found = start_of(ladder, stretched(ladder, 1.0, noise=4e-3))
    assert len(found) == 1 and np.abs(found[0] - target)[problem.free].max() < 1e-15
    assert not np.array_equal(found[0], x_up) and Detector.of(problem).count(found[0]) == 0


@pytest.mark.parametrize(("diagonals", "pull"), [("delaunay", 0.99), ("delaunay", 1.01), ("equilateral", 1.0)])
def test_odd_vertices_alone_bring_every_triangle_below_its_limit(diagonals: str, pull: float) -> None:
    """On irregular meshes Loop's rest shape differs from the midpoints', so a start below the limit is above it."""
    ladder = drape(diagonals=diagonals, strain_limit=1.06, prolongation="loop")
    x = stretched(ladder, pull)
    coarse = ladder.problem(0)
    assert coarse.strain_limit is not None and coarse.strain_limit.max_stretch_over_limit(x) < 1.0
    problem, x_up, target, odd, found = start_of(ladder, x)
    n, mesh = problem.bodies.n_simulated, problem.shells
    over = principal_stretches(mesh, x_up[:n])[:, 0] > 1.06
    assert over.any(), "nothing to relax"
    assert (principal_stretches(mesh, found[-1][:n])[:, 0] < 1.06).all()
    detector = Detector.of(problem)
    for position in found:
        assert detector.count(position) == 0 and problem.clearance(position) > 1.0
    # the relaxation ends before the last move; up to there only odd vertices moved
    assert len(found) > 1
    assert all(np.array_equal(position[~odd], x_up[~odd]) for position in found[:-1])
    assert not np.array_equal(found[-2][odd], x_up[odd])
    # and the last move went toward the target
    assert np.linalg.norm(found[-1] - target) <= np.linalg.norm(found[-2] - target)


@pytest.mark.parametrize(("diagonals", "pull"), [("jittered", 1.0), ("delaunay", 1.059), ("equilateral", 1.05)])
def test_even_vertices_help_where_odd_ones_do_not_suffice(diagonals: str, pull: float) -> None:
    ladder = drape(diagonals=diagonals, strain_limit=1.06, prolongation="loop")
    x = stretched(ladder, pull)
    problem, x_up, _, odd, found = start_of(ladder, x)
    assert (principal_stretches(problem.shells, found[-1][: problem.bodies.n_simulated])[:, 0] < 1.06).all()
    moved = [not np.array_equal(position[~odd], x_up[~odd]) for position in found[:-1]]
    # once they move they have joined for good
    assert moved == sorted(moved) and moved[-1]
    assert Detector.of(problem).count(found[-1]) == 0


def test_a_limit_that_cannot_be_met_is_one_sentence() -> None:
    ladder = drape(strain_limit=1.06, prolongation="loop")
    scene = ladder.scene
    pinned = replace(scene.shells[0], pins=(scene_pin(),))
    everything = open_session(replace(scene, shells=(pinned,))).ladder
    x = stretched(ladder, 1.059)
    with pytest.raises(SceneError, match=r"Level 1 .*strain limit.*linear") as error:
        start_of(everything, x)
    assert "\n" not in str(error.value)


def scene_pin() -> Any:
    """Holds the whole sheet, so that nothing can give way."""
    data = {"shell": [{"shape": "grid", "pin": [{"box": [[-2, -2, -2], [2, 2, 2]]}]}]}
    return scene_from_dict(data, Path()).shells[0].pins[0]


def test_pinned_vertices_do_not_move_on_the_way_to_a_start() -> None:
    use_threads(1)
    shell = {"shape": "disc", "radius": 0.5, "vertices": 60, "pin": [{"boundary": True}]}
    data = {"shell": [shell], "hierarchy": {"levels": 2, "prolongation": "loop"}}
    ladder = open_session(scene_from_dict(data, Path())).ladder
    problem = ladder.problem(0)
    x = problem.x0 + 5e-3 * np.random.default_rng(1).normal(size=problem.x0.shape) * problem.free[:, None]
    fine, x_up, _, _, found = start_of(ladder, frozen(x))
    assert (~fine.free).sum() > (~problem.free).sum()
    assert np.array_equal(found[-1][~fine.free], x_up[~fine.free])


def test_refine_yields_unaccepted_coarse_states_until_it_has_a_start() -> None:
    ladder = drape(strain_limit=1.06, prolongation="loop")
    x = stretched(ladder, 1.05)
    below = State(0, 3, 0.9, x, np.zeros_like(x), converged=True)
    session = open_session(ladder.scene)
    session.grid.put(below)
    states = session.refine()
    seen = []
    for state in states:
        seen.append((state.level, state.accepted))
        if state.level == 1:
            break
    assert seen[-1] == (1, True) and len(seen) > 2 and set(seen[:-1]) == {(0, False)}
    assert state.step == 1 and state.time > below.time


def test_a_spike_is_relieved_where_it_is_and_nothing_else_moves() -> None:
    """Only vertices within some rings of triangles over their limit move, and a few iterations suffice."""
    cloth: dict[str, Any] = {"shape": "grid", "width": 1.0, "height": 1.0, "vertices": 900}
    cloth["material"] = {"preset": "cotton", "strain_limit": 1.1}
    session = open_session(scene_from_dict({"shell": [cloth], "gravity": [0, 0, 0]}, Path()))
    problem = session.ladder.problem(0)
    limit, middle = problem.strain_limit, int(np.argmin(np.linalg.norm(problem.x0, axis=1)))
    assert limit is not None
    x = problem.x0.copy()
    x[middle, 2] += 0.05
    assert 1.5 < limit.max_stretch_over_limit(x) < 3.0
    near = limit.around(limit.broken(x), NEAR_RINGS, len(x))
    assert 20 < near.sum() < 0.2 * len(x)
    made = 0
    for relieved in relieve_strain(problem, make_newton(), Clock(), frozen(x), None, (NEAR_RINGS,), h=1.0):
        x, made = relieved, made + 1
    assert 0 < made <= 20 and not limit.broken(x).any()
    assert np.array_equal(x[~near], problem.x0[~near])
