"""Interruption between two Newton iterations: a changed parameter, the next preview, runs that are taken up again."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.progressive.test_progressive import BALL, FLOOR, check_states, make_ladder

from plisse.core.errors import SceneError
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.progressive.ladder import Ladder
from plisse.progressive.quasistatics import preview, refine
from plisse.scene.loads import Wind
from plisse.scene.pins import Ball, Pin
from plisse.scene.presets import make_material
from plisse.scene.scene import Scene
from plisse.scene.schedule import Keyframe
from plisse.solve.newton import make_newton

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


def interrupt(ladder: Ladder, cached: State, rng: np.random.Generator) -> int:
    """Refines from a cached state, stops after a random number of states; the level that this was on."""
    states = refine(ladder, make_newton(), Clock(), cached)
    level = cached.level
    for state in islice(check_states(ladder, states), int(rng.integers(1, 45))):
        level = state.level
    states.close()
    return level


def check_next_preview(ladder: Ladder, cached: State, *, at_once: bool = True) -> State:
    """The first frame after a change, at once if it comes after one Newton iteration; a few more; all are feasible."""
    newton = make_newton()
    before = cached.x.copy()
    states = check_states(ladder, preview(ladder, newton, Clock(), cached))
    last = first = next(states)
    assert not at_once or newton.factorisations == 1
    assert first.level == 0 and first.step == cached.step + 1
    assert first.newton_iterations == cached.newton_iterations + 1
    for state in islice(states, GO_ON - 1):
        last = state if state.accepted else last
    assert np.array_equal(cached.x, before)
    return last if last.accepted else cached


def walk(seed: int, interruptions: int, *, changes: list[str] | None = None, at_once: bool = False) -> list[int]:
    """Interruptions one after the other, each with a random change or one of `changes`; the levels they came on."""
    rng = np.random.default_rng(seed)
    ladder = make_ladder({"vertices": 60}, collider=[BALL | {"translate": [0, 0, -0.27]}, FLOOR])
    scene, levels = ladder.scene, []
    # what the user left open stays open: contact lengths are for the program to choose
    scene = replace(scene, contact=replace(scene.contact, offset=None, dhat=None, stiffness=None))
    *_, cached = preview(ladder, make_newton(), Clock())
    for number in range(interruptions):
        levels.append(interrupt(ladder, cached, rng))
        name = changes[number % len(changes)] if changes else str(rng.choice(list(CHANGES)))
        scene = CHANGES[name](scene, rng)
        ladder = ladder.changed(scene, Path())
        cached = check_next_preview(ladder, cached, at_once=at_once)
    return levels


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_parameter_shows_after_one_newton_iteration(name: str) -> None:
    walk(3, 2, changes=[name], at_once=True)


def test_random_interruptions_leave_states_to_go_on_from() -> None:
    assert len(walk(1, 8)) == 8


@pytest.mark.slow
def test_a_hundred_random_interruptions_at_all_levels() -> None:
    levels = [level for seed in range(10) for level in walk(100 + seed, 10)]
    assert len(levels) == 100 and set(levels) == {0, 1, 2}


def test_a_thicker_material_keeps_the_offset_that_was_reached() -> None:
    ladder = make_ladder({"vertices": 60})
    *_, cached = preview(ladder, make_newton(), Clock())
    open_scene = replace(ladder.scene, contact=replace(ladder.scene.contact, offset=None, dhat=None, stiffness=None))
    thick = replace(open_scene.shells[0], material=make_material("cotton", thickness=2e-3))
    changed = ladder.changed(replace(open_scene, shells=(thick,)), Path())
    assert changed.scene.contact.offset == ladder.scene.contact.offset
    thin = replace(open_scene.shells[0], material=make_material("cotton", thickness=1e-4))
    assert ladder.changed(replace(open_scene, shells=(thin,)), Path()).scene.contact.offset == 1e-4
    check_next_preview(changed, cached)


def test_an_offset_that_states_do_not_keep_is_refused_in_one_sentence() -> None:
    ladder = make_ladder({"vertices": 60})
    *_, cached = preview(ladder, make_newton(), Clock())
    wider = replace(ladder.scene, contact=replace(ladder.scene.contact, offset=5e-3))
    with pytest.raises(SceneError, match=r"contact\.offset = 0\.005"):
        next(preview(ladder.changed(wider, Path()), make_newton(), Clock(), cached))


def test_a_changed_scene_ends_where_it_would_have_ended() -> None:
    """From a preview under half of gravity, interrupted on the way up, to an equilibrium of the whole."""
    ladder = make_ladder({"vertices": 60}, levels=2, gravity=[0, 0, -4.9])
    *_, cached = preview(ladder, make_newton(), Clock())
    interrupt(ladder, cached, np.random.default_rng(5))
    ladder = ladder.changed(replace(ladder.scene, gravity=(0.0, 0.0, -9.81)), Path())
    newton, clock = make_newton(), Clock()
    *_, again = check_states(ladder, preview(ladder, newton, clock, cached))
    *_, end = check_states(ladder, refine(ladder, newton, clock, again))
    assert again.converged and end.converged and end.level == 1 and end.force_balance < 0.02
    fresh = make_ladder({"vertices": 60}, levels=2)
    *_, coarse = preview(fresh, make_newton(), Clock())
    *_, other = refine(fresh, make_newton(), Clock(), coarse)
    assert end.energy == pytest.approx(other.energy, rel=0.1)


def test_unchanged_shells_share_their_hierarchy() -> None:
    ladder = make_ladder({"vertices": 40})
    moved = move_collider(change_material(ladder.scene, np.random.default_rng(1)), np.random.default_rng(1))
    assert ladder.changed(moved, Path()).hierarchy is ladder.hierarchy
    more = replace(moved, hierarchy=replace(moved.hierarchy, levels=4))
    assert ladder.changed(more, Path()).finest == 3
    smooth = replace(moved, hierarchy=replace(moved.hierarchy, prolongation="loop"))
    assert ladder.changed(smooth, Path()).hierarchy.rules[0] == "loop"


def test_a_collider_that_was_moved_is_led_to_its_new_place() -> None:
    ladder = make_ladder({"vertices": 60}, collider=[BALL | {"translate": [0, 0, -0.27]}, FLOOR])
    *_, cached = preview(ladder, make_newton(), Clock())
    ball, floor = ladder.scene.colliders
    way = np.array([0.01, 0.0, 0.01])
    moved = replace(ball, translate=tuple(np.add(ball.translate, way)))
    changed = ladder.changed(replace(ladder.scene, colliders=(moved, floor)), Path())
    newton, clock, n = make_newton(), Clock(), len(ladder.base.shells[0].X)
    *_, again = check_states(changed, preview(changed, newton, clock, cached))
    dhat = changed.scene.contact.dhat
    assert again.converged and dhat is not None
    assert np.linalg.norm(again.x[n:] - cached.x[n:] - way, axis=1).max() <= dhat
    # and stays there on finer levels
    first = next(state for state in refine(changed, newton, clock, again) if state.accepted)
    assert first.x[len(changed.geometry(1).shells[0].X) :] == pytest.approx(again.x[n:], abs=dhat)


def test_a_handle_can_be_given_a_motion_on_the_way() -> None:
    shell = {"vertices": 60, "pin": [{"corners": True}]}
    ladder = make_ladder(shell, collider=[], levels=2)
    *_, cached = preview(ladder, make_newton(), Clock())
    pin = Pin(corners=True, motion=(Keyframe(time=cached.time + 0.6, translate=(0.0, 0.0, 0.05)),))
    led = replace(ladder.scene, shells=(replace(ladder.scene.shells[0], pins=(pin,)),))
    changed = ladder.changed(led, Path())
    *_, last = islice(preview(changed, make_newton(), Clock(), cached), 60)
    (chosen,) = changed.base.pins[0]
    assert last.time > cached.time + 0.6
    assert last.x[chosen, 2] == pytest.approx(changed.base.shell_positions[0][chosen, 2] + 0.05, abs=1e-9)
