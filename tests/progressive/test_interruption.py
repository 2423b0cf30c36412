"""Interruption between two Newton iterations: a changed parameter, the next preview, runs that are taken up again."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from tests.progressive.test_progressive import BALL, FLOOR, check_states, make_session

from plisse.core.errors import SceneError
from plisse.core.state import State
from plisse.progressive.session import Session
from plisse.scene.loads import Wind
from plisse.scene.pins import Ball, Pin
from plisse.scene.presets import make_material
from plisse.scene.scene import Scene
from plisse.scene.schedule import Keyframe

GO_ON = 4  # states after each interruption


def change_material(scene: Scene, rng: np.random.Generator) -> Scene:
    preset = rng.choice(["cotton", "wool", "polyester", "paper", "rubber"])
    # thicker ones ask for a larger offset than the states have
    values = {"thickness": 1e-3} if rng.random() < 0.3 else {}
    return replace(scene, shells=(replace(scene.shells[0], material=make_material(str(preset), **values)),))


def change_stiffness(scene: Scene, rng: np.random.Generator) -> Scene:
    material = scene.shells[0].material
    changed = replace(material, E=material.E * 10 ** rng.uniform(-1, 1), E_bend=material.E * 10 ** rng.uniform(-1, 1))
    return replace(scene, shells=(replace(scene.shells[0], material=changed),))


def change_gravity(scene: Scene, rng: np.random.Generator) -> Scene:
    return replace(scene, gravity=tuple(rng.normal([0.0, 0.0, -9.81], 2.0)))


def change_wind(scene: Scene, rng: np.random.Generator) -> Scene:
    return replace(scene, wind=Wind(velocity=tuple(rng.normal(0.0, 2.0, 3))) if scene.wind is None else None)


def change_friction(scene: Scene, rng: np.random.Generator) -> Scene:
    return replace(scene, contact=replace(scene.contact, friction=float(rng.choice([0.0, 0.1, 0.5, 0.8]))))


def move_collider(scene: Scene, rng: np.random.Generator) -> Scene:
    way = rng.uniform(5e-3, 20e-3) * rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
    ball, *rest = scene.colliders
    return replace(scene, colliders=(replace(ball, translate=tuple(np.add(ball.translate, way))), *rest))


def change_pins(scene: Scene, rng: np.random.Generator) -> Scene:
    shell = scene.shells[0]
    pin = Pin(corners=True) if rng.random() < 0.5 else Pin(sphere=Ball((-0.5, -0.5, 0.0), 0.2))
    return replace(scene, shells=(replace(shell, pins=() if shell.pins else (pin,)),))


CHANGES = {
    "material": change_material, "stiffness": change_stiffness, "gravity": change_gravity, "wind": change_wind,
    "friction": change_friction, "collider": move_collider, "pins": change_pins,
}  # fmt: skip


def interrupt(session: Session, rng: np.random.Generator, *, most: int = 44) -> int:
    """Refines, and stops after a random number of states; the level that this was on."""
    states, level = session.refine(), 0
    for state in islice(check_states(session, states), int(rng.integers(1, most + 1))):
        level = state.level
    return level


def check_next_preview(session: Session, *, at_once: bool = True) -> None:
    """The first frame after a change, at once if it comes after one Newton iteration; a few more; all are feasible."""
    cached = session.grid.at(0, session.grid.last(0).step)  # type: ignore[union-attr]
    before = cached.x.copy()
    states = check_states(session, session.preview())
    first = next(states)
    assert not at_once or session.newton.factorisations == 1
    assert first.level == 0 and first.step == cached.step + 1
    assert first.newton_iterations == cached.newton_iterations + 1
    for _ in islice(states, GO_ON - 1):
        pass
    assert np.array_equal(cached.x, before)


def finish(session: Session) -> State:
    """The last state of a preview."""
    *_, state = session.preview()
    return state


def walk(
    seed: int, interruptions: int, *, changes: list[str] | None = None, at_once: bool = False, most: int = 44
) -> list[int]:
    """Interruptions one after the other, each with a random change or one of `changes`; the levels they came on."""
    rng = np.random.default_rng(seed)
    session = make_session({"vertices": 60}, collider=[BALL | {"translate": [0, 0, -0.27]}, FLOOR])
    scene, levels = session.scene, []
    # what the user left open stays open: contact lengths are for the program to choose
    scene = replace(scene, contact=replace(scene.contact, offset=None, dhat=None, stiffness=None))
    finish(session)
    for number in range(interruptions):
        levels.append(interrupt(session, rng, most=most))
        name = changes[number % len(changes)] if changes else str(rng.choice(list(CHANGES)))
        scene = CHANGES[name](scene, rng)
        session.change(scene)
        check_next_preview(session, at_once=at_once)
    return levels


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_parameter_shows_after_one_newton_iteration(name: str) -> None:
    walk(3, 2, changes=[name], at_once=True)


def test_random_interruptions_leave_states_to_go_on_from() -> None:
    assert len(walk(1, 8)) == 8


@pytest.mark.slow
def test_a_hundred_random_interruptions_at_all_levels() -> None:
    levels = [level for seed in range(10) for level in walk(100 + seed, 10, most=200)]
    assert len(levels) == 100 and set(levels) == {0, 1, 2}


def test_a_thicker_material_keeps_the_offset_that_was_reached() -> None:
    session = make_session({"vertices": 60})
    finish(session)
    reached = session.scene.contact.offset
    open_scene = replace(session.scene, contact=replace(session.scene.contact, offset=None, dhat=None, stiffness=None))
    thick = replace(open_scene.shells[0], material=make_material("cotton", thickness=2e-3))
    session.change(replace(open_scene, shells=(thick,)))
    assert session.scene.contact.offset == reached
    check_next_preview(session)
    thin = replace(open_scene.shells[0], material=make_material("cotton", thickness=1e-4))
    session.change(replace(open_scene, shells=(thin,)))
    assert session.scene.contact.offset == 1e-4
    check_next_preview(session)


def test_an_offset_that_states_do_not_keep_is_refused_in_one_sentence() -> None:
    session = make_session({"vertices": 60})
    finish(session)
    before = session.scene
    with pytest.raises(SceneError, match=r"contact\.offset = 0\.005"):
        session.change(replace(session.scene, contact=replace(session.scene.contact, offset=5e-3)))
    assert session.scene is before and next(session.preview()).accepted


def test_a_changed_scene_ends_where_it_would_have_ended() -> None:
    """From a preview under half of gravity, interrupted on the way up, to an equilibrium of the whole."""
    session = make_session({"vertices": 60}, levels=2, gravity=[0, 0, -4.9])
    finish(session)
    interrupt(session, np.random.default_rng(5))
    session.change(replace(session.scene, gravity=(0.0, 0.0, -9.81)))
    *_, again = check_states(session, session.preview())
    *_, end = check_states(session, session.refine())
    assert again.converged and end.converged and end.level == 1 and end.force_balance < 0.02
    fresh = make_session({"vertices": 60}, levels=2)
    finish(fresh)
    *_, other = fresh.refine()
    assert end.energy == pytest.approx(other.energy, rel=0.1)


def test_what_did_not_change_is_kept() -> None:
    session = make_session({"vertices": 40})
    finish(session)
    before, problem = session.ladder, session.ladder.problem(0)
    moved = move_collider(change_wind(session.scene, np.random.default_rng(1)), np.random.default_rng(1))
    session.change(moved)
    after = session.ladder
    for level in range(3):
        assert after.geometry(level).shells[0] is before.geometry(level).shells[0]
    # elasticity too, so that the sparsity pattern is known
    assert after.problem(0).model.elastic[0] is problem.model.elastic[0]
    session.change(replace(moved, hierarchy=replace(moved.hierarchy, levels=4)))
    assert session.finest == 3 and session.ladder.geometry(2).shells[0] is before.geometry(2).shells[0]
    session.change(replace(moved, hierarchy=replace(moved.hierarchy, prolongation="loop")))
    assert session.ladder.hierarchy.nested == (False, False)


def test_a_collider_that_was_moved_is_led_to_its_new_place() -> None:
    session = make_session({"vertices": 60}, collider=[BALL | {"translate": [0, 0, -0.27]}, FLOOR])
    cached = finish(session)
    ball, floor = session.scene.colliders
    way = np.array([0.01, 0.0, 0.01])
    moved = replace(ball, translate=tuple(np.add(ball.translate, way)))
    session.change(replace(session.scene, colliders=(moved, floor)))
    n = len(session.ladder.given.shells[0].X)
    *_, again = check_states(session, session.preview())
    dhat = session.scene.contact.dhat
    assert again.converged and dhat is not None
    assert np.linalg.norm(again.x[n:] - cached.x[n:] - way, axis=1).max() <= dhat
    # and stays there on finer levels
    first = next(state for state in session.refine() if state.accepted)
    assert first.x[len(session.ladder.geometry(1).shells[0].X) :] == pytest.approx(again.x[n:], abs=dhat)


def test_a_handle_can_be_given_a_motion_on_the_way() -> None:
    shell = {"vertices": 60, "pin": [{"corners": True}]}
    session = make_session(shell, collider=[], levels=2)
    cached = finish(session)
    pin = Pin(corners=True, motion=(Keyframe(time=cached.time + 0.6, translate=(0.0, 0.0, 0.05)),))
    session.change(replace(session.scene, shells=(replace(session.scene.shells[0], pins=(pin,)),)))
    *_, last = islice(session.preview(), 60)
    (chosen,) = session.ladder.given.pins[0]
    assert last.time > cached.time + 0.6
    place = session.ladder.given.shell_positions[0][chosen, 2]
    assert last.x[chosen, 2] == pytest.approx(place + 0.05, abs=1e-9)


# --- bodies that come and go, states that no longer fit ---------------------------------------------------------------


def test_a_collider_can_be_added_and_removed_on_the_way() -> None:
    session = make_session({"vertices": 60}, collider=[BALL | {"translate": [0, 0, -0.27]}, FLOOR])
    before = finish(session)
    interrupt(session, np.random.default_rng(2))
    (ball, floor), n = session.scene.colliders, len(session.ladder.given.shells[0].X)
    post = replace(ball, name="post", translate=(0.0, 0.0, 0.4))
    session.change(replace(session.scene, colliders=(ball, post, floor)))
    state = session.grid.last(0)
    assert state is not None and len(state.x) == 2 * len(before.x) - n
    assert np.array_equal(state.x[: len(before.x)], before.x)
    assert state.x[len(before.x) :] == pytest.approx(before.x[n:] + np.array([0, 0, 0.67]), abs=1e-12)
    *_, again = check_states(session, session.preview())
    assert again.converged
    session.change(replace(session.scene, colliders=(floor,)))
    *_, fallen = check_states(session, session.preview())
    *_, end = check_states(session, session.refine())
    # nothing but the floor is left, which carries all of it
    assert len(fallen.x) == n and fallen.converged and end.converged
    assert fallen.contacts > 0 and fallen.force_balance < 0.02
    assert np.mean(fallen.x[:, 2]) < np.mean(before.x[:n, 2]) - 0.1


def test_a_collider_that_is_put_into_the_cloth_is_refused_and_nothing_is_lost() -> None:
    session = make_session({"vertices": 60})
    finish(session)
    scene, state = session.scene, session.grid.last(0)
    ball, floor = scene.colliders
    post = replace(ball, name="post", translate=(0.1, 0.0, -0.2))
    with pytest.raises(SceneError, match=r"The changed scene has \d+ intersections .* post"):
        session.change(replace(scene, colliders=(ball, post, floor)))
    assert session.scene is scene and session.grid.last(0) is state
    assert next(session.refine()).level == 0


def test_a_strain_limit_below_the_present_stretch_is_relieved_before_the_preview_goes_on() -> None:
    material = {"preset": "cotton", "E": 2e4}
    session = make_session({"vertices": 60, "pin": [{"corners": True}], "material": material}, collider=[])
    finish(session)
    limited = replace(session.scene.shells[0].material, strain_limit=1.02, strain_onset=1.01)
    session.change(replace(session.scene, shells=(replace(session.scene.shells[0], material=limited),)))
    problem, state = session.ladder.problem(0), session.grid.last(0)
    assert problem.strain_limit is not None and state is not None
    assert problem.strain_limit.broken(state.x).any(), "nothing to relieve"
    states = list(check_states(session, session.preview()))
    assert not states[0].accepted and states[-1].converged
    assert problem.strain_limit.max_stretch_over_limit(states[-1].x) < 1.0


def test_a_strain_limit_that_cannot_be_met_from_here_is_one_sentence() -> None:
    pins = [{"box": [[side * 0.5, -1, -1], [side * 0.5, 1, 1]]} for side in (-1, 1)]
    pins[1]["motion"] = [{"time": 1.0, "translate": [0.1, 0, 0]}]
    session = make_session({"vertices": 60, "pin": pins}, collider=[], gravity=[0, 0, 0])
    finish(session)
    limited = replace(session.scene.shells[0].material, strain_limit=1.02, strain_onset=1.01)
    session.change(replace(session.scene, shells=(replace(session.scene.shells[0], material=limited),)))
    with pytest.raises(SceneError, match=r"stretched to 1\.0\d+ × the strain limit .* raise strain_limit"):
        list(session.preview())
