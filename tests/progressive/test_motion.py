"""Motions on several levels: what errors grow to, what all levels share, and that each follows the one below."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.problems import chain, finer_chain
from tests.progressive.scenes import NO_CONTACT

from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.grid import Grid
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.hierarchy.maps import LinearMap
from plisse.kernels.threads import use_threads
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.events import Event
from plisse.progressive.integrators import BDF2, CARRIED, Carried, Euler, Integrator, VelProBDF2
from plisse.progressive.march import Pace, march
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.levels import MOTIONS
from plisse.solve.newton import make_newton
from plisse.solve.problem import Problem

H = 0.01


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


# --- how errors grow, without forces ----------------------------------------------------------------------------------


def alike(level: int) -> LinearMap:
    """Levels with the same vertices: what is left of a map is how states of the level below are combined."""
    return LinearMap(np.eye(2))


def disturbed(levels: int) -> Grid:
    """A grid at rest in which all levels above the coarsest are moved by 1 m at step 1, and consistent before."""
    grid, one = Grid(depth=np.inf), np.ones((2, 3))
    for level in range(levels):
        grid.put(State(level, 0, 0.0, 0.0 * one, 0.0 * one))
        x = (level > 0) * one
        grid.put(State(level, 1, H, x, x / H))
    return grid


def drift(grid: Grid, integrator: Integrator, level: int, steps: int) -> None:
    """Steps without forces, whose end is what was expected."""
    for step in range(2, steps + 2):
        last, x = grid.at(level, step - 1), integrator.predict(grid, level, step).x_hat
        grid.put(State(level, step, step * H, x, (x - last.x) / H))


@pytest.mark.parametrize(
    ("motion", "factor"),
    [
        ("semi-diagonal", lambda n: 2**n - n - 1),
        ("full-diagonal", lambda n: 0),
        ("velpro", lambda n: n),
    ],
)
def test_a_disturbance_grows_along_the_diagonal_as_published(motion: str, factor: Any) -> None:
    """[Zhang2025] theorem 2: after n steps, n levels up, the semi-diagonal way has made 2ⁿ − n − 1 of it."""
    grid = disturbed(17)
    drift(grid, Euler(H), 0, 16)
    for level in range(1, 17):
        drift(grid, CARRIED[motion](H, alike), level, 16)
    found = [abs(grid.at(n, 1 + n).x[0, 0]) for n in range(1, 17)]
    assert found == pytest.approx([factor(n) for n in range(1, 17)], abs=1e-9)


def test_on_one_level_alone_a_disturbance_grows_evenly() -> None:
    grid = disturbed(2)
    drift(grid, Euler(H), 1, 16)
    assert [grid.at(1, 1 + n).x[0, 0] for n in range(17)] == pytest.approx([n + 1 for n in range(17)])


@pytest.mark.parametrize("motion", ["velpro", "full-diagonal"])
def test_stable_ways_stay_below_their_bound(motion: str) -> None:
    """√n (min(t, l) + 1) ‖δ‖ for a disturbance at one place of the grid, n vertices."""
    grid, one = Grid(depth=np.inf), np.ones((2, 3))
    for level in range(16):
        for step in (0, 1):
            grid.put(State(level, step, step * H, 0.0 * one, 0.0 * one))
    grid.put(State(1, 1, H, one, one / H))
    drift(grid, Euler(H), 0, 30)
    for level in range(1, 16):
        drift(grid, CARRIED[motion](H, alike), level, 30)
        bound = np.sqrt(2.0) * np.linalg.norm(one)
        for t in range(1, 31):
            assert np.linalg.norm(grid.at(level, t).x) <= bound * (min(t, level) + 1)


# --- with forces ------------------------------------------------------------------------------------------------------


def swing(problem: Problem, integrator: Integrator, grid: Grid, steps: int) -> None:
    for _ in march(problem, integrator, make_newton(), Clock(), Pace(1e-6, steps, 60, 60), grid):
        pass


def test_a_chain_hangs_on_as_the_chain_below_and_the_pull_brings_it_nearer() -> None:
    """The printed example [Zhang2025] §5.1: masses and springs in a plane, held at both ends."""
    sizes, steps = (8, 16, 32), 60

    def apart(w: float) -> float:
        grid = Grid(depth=np.inf)
        swing(chain(sizes[0]), Euler(H), grid, steps)
        for level, links in enumerate(sizes[1:], 1):
            way = CARRIED["velpro"](H, lambda coarse: finer_chain(sizes[coarse]), consistency=w)
            swing(chain(links, level=level), way, grid, steps)
        P = finer_chain(sizes[1]).after(finer_chain(sizes[0]))
        return float(np.mean([np.linalg.norm(P(grid.at(0, t).x) - grid.at(2, t).x) for t in range(steps + 1)]))

    free, drawn, firmly = apart(0.0), apart(0.2), apart(1.0)
    assert firmly < drawn < free < 1.0


def table(**more: Any) -> dict[str, Any]:
    shell = {"shape": "grid", "width": 0.4, "height": 0.4, "vertices": 60, "material": "cotton"}
    return {
        "shell": [shell | more.pop("shell", {})],
        "time": {"mode": "dynamic", "h": 0.02, "duration": 0.2} | more.pop("time", {}),
        "hierarchy": {"levels": 2} | more.pop("hierarchy", {}),
        **more,
    }


def moved(data: dict[str, Any]) -> Session:
    """A session that has gone through all of its levels."""
    session = open_session(scene_from_dict(data), threads=1)
    for _ in session.preview():
        pass
    for _ in session.refine():
        pass
    return session


def course(session: Session, level: int) -> list[Floats]:
    return [session.grid.at(level, t).x for t in range(session.scene.time.steps + 1)]


@pytest.mark.parametrize("motion", [*(way for way in CARRIED if way != "vertical"), "direct"])
@pytest.mark.parametrize("kind", ["loop", "decimation"])
def test_a_throw_is_the_same_on_all_levels(motion: str, kind: str) -> None:
    """v + g t in every vertex, whatever the level and the way."""
    levels = {"kind": kind, "levels": 3 if kind == "loop" else [20, 35], "motion": motion}
    session = moved(table(shell={"velocity": [1, 2, 3]}, hierarchy=levels, contact=NO_CONTACT))
    v, g, h = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, -9.81]), session.scene.time.step
    for level in range(3):
        xs = course(session, level)
        for t, x in enumerate(xs):
            # implicit Euler's own fall
            assert x - xs[0] == pytest.approx(
                np.broadcast_to(h * t * v + 0.5 * h * h * t * (t + 1) * g, x.shape), abs=1e-9
            )


@pytest.mark.parametrize("prolongation", ["loop", "linear"])
def test_a_ball_falls_with_g_on_its_coarsest_level(prolongation: str) -> None:
    """With the level's own mass under loads of the finest it would fall with 0.9 g under Loop's rule."""
    ball = {"shape": "sphere", "radius": 0.1, "subdivisions": 1, "vertices": None}
    data = table(hierarchy={"levels": 3, "prolongation": prolongation}, contact=NO_CONTACT)
    data["shell"] = [{key: value for key, value in (data["shell"][0] | ball).items() if value is not None}]
    for key in ("width", "height"):
        del data["shell"][0][key]
    session = moved(data)
    for level in range(3):
        x, last = course(session, level)[0], course(session, level)[-1]
        mass = session.ladder.problem(level).mass
        fallen = np.average(last - x, axis=0, weights=mass)
        t, h = session.scene.time.steps, session.scene.time.step
        assert fallen[2] == pytest.approx(-0.5 * 9.81 * h * h * t * (t + 1), rel=1e-6)
        assert mass.sum() == pytest.approx(session.ladder.problem(2).mass.sum(), rel=1e-9)


DROP = {
    "shell": {"translate": [0, 0, 0.12], "vertices": 150},
    "collider": [{"shape": "sphere", "radius": 0.1, "subdivisions": 2}, {"shape": "floor", "height": -0.1}],
    "contact": {"friction": 0.4},
    "time": {"duration": 0.36},
}


@pytest.mark.parametrize("motion", [*CARRIED, "direct"])
def test_a_drop_is_free_of_intersections_on_all_levels(motion: str) -> None:
    session = open_session(scene_from_dict(table(**DROP, hierarchy={"motion": motion})), threads=1)
    looks = 0
    for begin in (session.preview, session.refine):
        for state in begin():
            if state.accepted:
                assert session.problem is not None and state.converged
                looks += 1
                if state.step % 6 == 0:
                    assert Detector.of(session.problem).count(state.x) == 0
    assert looks == 2 * session.scene.time.steps


def test_finer_levels_keep_to_the_preview_and_independent_ones_do_not() -> None:
    def apart(motion: str) -> float:
        session = moved(table(**DROP, hierarchy={"motion": motion, "levels": 2}))
        P = session.ladder.hierarchy.between(0, 1)
        pairs = zip(course(session, 0), course(session, 1), strict=True)
        n = session.ladder.problem(1).bodies.n_simulated
        return float(np.mean([np.sqrt(((P(x) - y)[:n] ** 2).sum(axis=1).mean()) for x, y in pairs]))

    assert apart("semi-diagonal") < 0.7 * apart("direct") and apart("velpro") < apart("direct")


def test_steps_are_solved_where_forces_with_frozen_offsets_lead_uphill() -> None:
    """As published, offsets are frozen in the gradient; a step must not end where that is no descent any more."""
    ball = {"shape": "sphere", "radius": 0.05, "subdivisions": 2, "translate": [0, 0, 0]}
    data = {
        "shell": [{"shape": "dome", "radius": 0.1, "vertices": 500, "translate": [0, 0, 0.06], "material": "cotton"}],
        "collider": [ball, {"shape": "floor", "height": -0.06}],
        "time": {"mode": "dynamic", "h": 0.02, "duration": 0.16},
        "hierarchy": {"kind": "decimation", "levels": [80], "preset": "paper"},
    }
    session = open_session(scene_from_dict(data), threads=1)
    assert all(state.converged for state in session.preview() if state.accepted)


def test_steps_of_the_printed_proxy_are_solved_by_its_exact_hessian() -> None:
    """With the level's own Hessian alone, steps after the impact take more than a hundred iterations."""
    data = table(**DROP, hierarchy={"levels": 3, "preset": "paper"})
    session = open_session(scene_from_dict(data), threads=1)
    ends = [state for state in session.preview() if state.accepted]
    assert all(state.converged for state in ends) and ends[-1].newton_iterations < 15 * len(ends)


def test_the_preview_is_the_same_whatever_levels_come_between() -> None:
    """[Zhang2024] §5.3, to the bit."""
    ends = []
    for levels in ([40], [40, 80], [40, 60, 90, 120]):
        data = table(**DROP, hierarchy={"kind": "decimation", "levels": levels})
        session = open_session(scene_from_dict(data), threads=1)
        *_, state = session.preview()
        ends.append(state.x)
    assert all(np.array_equal(ends[0], x) for x in ends[1:])


def test_a_level_goes_no_farther_than_the_one_below() -> None:
    session = open_session(scene_from_dict(table()), threads=1)
    for state in session.preview():
        if state.accepted and state.step == 4:
            break
    steps = [state.step for state in session.refine() if state.accepted]
    assert steps == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["loop", "decimation"])
def test_a_throw_by_bdf2_is_the_same_on_all_levels(kind: str) -> None:
    levels = {"kind": kind, "levels": 3 if kind == "loop" else [20, 35]}
    data = table(shell={"velocity": [1, 2, 3]}, hierarchy=levels, contact=NO_CONTACT, time={"integrator": "bdf2"})
    session = moved(data)
    first, *others = (course(session, level) for level in range(3))
    for xs in others:
        for t in range(len(xs)):
            assert xs[t][0] - xs[0][0] == pytest.approx(first[t][0] - first[0][0], abs=1e-9)


def test_bdf2_keeps_more_of_a_swing_on_all_levels_and_a_disturbance_stays_small() -> None:
    def kinetic(integrator: str) -> float:
        pins = [{"box": [[-1, 0.19, -1], [1, 1, 1]]}]
        session = moved(table(shell={"pin": pins}, time={"integrator": integrator, "duration": 0.8}))
        mass = session.ladder.problem(1).mass
        return sum(float(mass @ (session.grid.at(1, t).v ** 2).sum(axis=1)) for t in range(1, 41))

    assert kinetic("bdf2") > 1.2 * kinetic("euler")
    grid = disturbed(17)
    drift(grid, BDF2(H), 0, 16)
    for level in range(1, 17):
        drift(grid, VelProBDF2(H, alike), level, 16)
    assert max(np.abs(grid.at(level, 17).x).max() for level in range(17)) < 2.0


def test_steps_by_themselves_end_where_the_level_below_does() -> None:
    """Without forces that would be the very place."""
    grid = disturbed(2)
    drift(grid, Euler(H), 0, 5)
    drift(grid, CARRIED["vertical"](H, alike), 1, 5)
    assert all(np.array_equal(grid.at(1, t).x, grid.at(0, t).x) for t in range(2, 7))


# --- changes on the way -----------------------------------------------------------------------------------------------


def test_a_change_takes_a_motion_back_to_the_changed_step() -> None:
    session = open_session(scene_from_dict(table(**DROP)), threads=1)
    for _ in session.preview():
        pass
    before = course(session, 0)
    for state in session.refine():
        if state.level == 1 and state.accepted and state.step == 3:
            break
    scene = replace(session.scene, gravity=(0.0, 0.0, 3.0), colliders=session.scene.colliders[1:])
    session.change(scene, step=5)
    # what came before stays, what comes after and what is finer is dropped
    assert session.grid.levels == [0] and [state.step for state in session.grid.states(0)] == list(range(6))
    n = session.ladder.problem(0).bodies.n_simulated
    assert all(np.array_equal(session.grid.at(0, t).x[:n], before[t][:n]) for t in range(6))
    states = [state for state in session.preview() if state.accepted]
    assert [state.step for state in states] == list(range(6, session.scene.time.steps + 1))
    # v + g t from there on, now that nothing is in the way
    first, h = session.grid.at(0, 5), session.scene.time.step
    fall = np.average(states[1].x[:n] - first.x[:n], axis=0, weights=session.ladder.problem(0).mass[:n])
    moved = np.average(2.0 * h * first.v[:n], axis=0, weights=session.ladder.problem(0).mass[:n])
    assert fall == pytest.approx(moved + 3.0 * h * h * np.array([0.0, 0.0, 3.0]), abs=1e-4)
    finer = [state for state in session.refine() if state.accepted]
    assert [state.step for state in finer] == [state.step for state in states]
    assert session.grid.states(1)[0].step == 5 and session.grid.states(1)[0].time == pytest.approx(5 * h)


def test_a_change_of_a_motion_that_does_not_fit_changes_nothing() -> None:
    session = open_session(scene_from_dict(table(time={"duration": 0.06})), threads=1)
    with pytest.raises(SceneError, match="no motion has been previewed"):
        session.change(session.scene, step=1)
    for _ in session.preview():
        pass
    scene, heard = session.scene, list[Event]()
    session.listen(heard.append)
    for other, step, says in (
        (scene, 9, "no state of level 0 after step 9 to change: known are steps 0 to 3"),
        (replace(scene, time=replace(scene.time, h=0.01)), 2, "time.h of a motion, cannot be changed"),
        (replace(scene, time=replace(scene.time, mode="static")), None, "time.mode"),
    ):
        with pytest.raises(SceneError, match=says):
            session.change(other, step=step)
    assert session.scene is scene and not heard
    # without a step it goes on from the last one
    session.change(replace(scene, time=replace(scene.time, duration=0.1)))
    assert [state.step for state in session.preview() if state.accepted] == [4, 5]


def test_a_scene_can_ask_for_every_way() -> None:
    assert (*CARRIED, "direct") == MOTIONS


def test_a_way_of_ones_own() -> None:
    """A plug-in is one method."""

    class Midway(Carried):
        def expect(self, grid: Grid, level: int, t: int) -> Floats:
            x = 0.5 * (grid.at(level, t).x + self.prolonged(grid, level, t))
            return np.asarray(x + self.carried(grid, level, t))

    grid = Grid(depth=np.inf)
    swing(chain(8), Euler(H), grid, 10)
    swing(chain(16, level=1), Midway(H, lambda coarse: finer_chain(8)), grid, 10)
    last = grid.last(1)
    assert last is not None and last.step == 10 and last.converged
