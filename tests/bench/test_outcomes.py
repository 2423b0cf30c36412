"""What benches take for the outcome of a motion, on paths whose outcome is known, and starts that are jittered."""

import numpy as np
import pytest

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course, steps_apart
from plisse.bench.jitter import JITTER, open_jittered
from plisse.bench.pd_outcomes import NEVER, bowls, dents, hooks, hoops, leaves_ball


def course_of(*paths: list[tuple[float, float, float]]) -> Course:
    """Bodies with the given centres of mass [m], step by step."""
    return Course(0, history={"centres": np.swapaxes(paths, 0, 1).tolist()})


@pytest.mark.parametrize(
    ("ends", "passed"), [((0.72, 0.52), (1, 1, 1)), ((0.72, 1.0), (1, 1, 0)), ((1.2, 0.5), (1, 0, 1))]
)
def test_a_hoop_counts_where_its_disc_is_crossed(ends: tuple[float, float], passed: tuple[int, ...]) -> None:
    second, third = ends
    path = [(0.5, 0.0, 0.45), (1.0, 0.0, 0.6), (1.38, 0.0, second), (1.45, 0.0, second), (2.3, 0.0, third)]
    if third == 0.52:
        path.insert(4, (1.9, 0.0, third))
    assert hoops(gallery_scene("37-toy-toss"), course_of(path)) == passed
    # the other way through is through as well; a path that ends before is not
    assert hoops(gallery_scene("37-toy-toss"), course_of(path[::-1])) == passed
    assert hoops(gallery_scene("37-toy-toss"), course_of(path[:2])) == (1, 0, 0)


def test_bowls_and_hooks_are_those_that_a_body_ends_at() -> None:
    high, red, blue = (0.0, 0.0, 0.6), (-0.1, -0.3, -0.1), (0.11, 0.35, -0.1)
    scene = gallery_scene("38-octocats")
    assert bowls(scene, course_of([high, red], [high, blue])) == (0, 1)
    assert bowls(scene, course_of([high, blue], [high, high])) == (1, NEVER)
    on, below = (0.28, 0.42, 0.06), (0.28, 0.42, -0.6)
    assert hooks(gallery_scene("47-hats"), course_of([below, on], [on, below])) == (3, NEVER)


def test_a_sheet_leaves_when_it_has_sunk_below_the_ball() -> None:
    path = [(0.0, 0.0, 0.1), (0.3, 0.0, -0.2), (0.4, 0.0, -0.3), (0.4, 0.0, -0.2)]
    assert leaves_ball(gallery_scene("36-spin-cycle"), course_of(path)) == (3,)
    assert leaves_ball(gallery_scene("36-spin-cycle"), course_of(path[:2])) == (NEVER,)


@pytest.mark.parametrize(
    ("depths", "steps"),
    [((0.1, 0.08, 0.06, 0.08, 0.1), (3, 5)), ((0.1, 0.06, 0.08), (2, NEVER)), ((0.1, 0.08), (NEVER, NEVER))],
)
def test_a_dent_is_deep_and_then_gone(depths: tuple[float, ...], steps: tuple[int, int]) -> None:
    ball = 0.1 * np.vstack([np.eye(3), -np.eye(3)])
    course = course_of([(0.0, 0.0, 0.0)] * len(depths))
    course.x = [np.where(ball < -0.09, -depth, ball) for depth in depths]
    assert dents(gallery_scene("34-ball-drop"), course) == steps


def test_starts_are_jittered_by_a_part_of_the_edges_and_pins_stay() -> None:
    scene = gallery_scene("46-jumble-pile", sets=("shell.0.vertices=300", "hierarchy.levels=1"))
    geometries = [open_jittered(scene, seed, threads=1).ladder.given for seed in (1, 1, 2)]
    first, again, other = (geometry.shell_positions[0] for geometry in geometries)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0
    sheet = geometries[0].shells[0]
    moved = np.linalg.norm(first - sheet.X, axis=1)
    assert 0 < np.median(moved) < 3 * JITTER * sheet.edge_lengths.mean()
    assert not moved[np.concatenate(geometries[0].pins[0])].any()


def test_throws_are_otherwise_by_a_part_of_their_speed() -> None:
    scene = gallery_scene("45-balloons", sets=("shell.0.resolution=20", "shell.1.resolution=20", "hierarchy.levels=1"))
    assert open_jittered(scene, 1, threads=1).scene.shells[0].velocity == scene.shells[0].velocity
    thrown = open_jittered(scene, 1, threads=1, throws=0.01).scene
    for given, other in zip(scene.shells, thrown.shells, strict=True):
        off = np.subtract(given.velocity, other.velocity)
        assert 0 < np.linalg.norm(off) < 0.03 * np.linalg.norm(given.velocity)


def test_steps_apart_end_with_the_first_contact_of_any_level() -> None:
    early, late, never = (Course(0, history={"contacts": c}) for c in ([0, 0, 3, 0], [0, 0, 0, 2], [0, 0, 0, 0]))
    assert (steps_apart([late, early]), steps_apart([late, never]), steps_apart([never])) == (2, 3, 4)
