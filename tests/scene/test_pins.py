"""Selections of vertices."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import concatenate
from plisse.scene.pins import Ball, Pin, select_vertices
from plisse.scene.schedule import Keyframe
from plisse.shapes.catalogue import cylinder, disc, grid, sphere

SHEET = grid(resolution=10)


def select(pin, mesh=SHEET, shift=(0, 0, 0)):
    return select_vertices(pin, mesh, mesh.X + np.array(shift))


def test_corners_and_boundary():
    assert select(Pin(corners=True)).tolist() == [0, 10, 110, 120]
    assert len(select(Pin(boundary=True))) == 40
    assert select(Pin(corners=True)).dtype == np.int32


def test_indices_box_and_sphere():
    assert select(Pin(vertices=(5, 3, 5))).tolist() == [3, 5]
    edge = select(Pin(box=((-0.5, -0.5, 1), (-0.5, 0.5, 1))), shift=(0, 0, 1))
    assert edge.tolist() == list(range(0, 121, 11))
    assert select(Pin(sphere=Ball((-0.5, -0.5, 0), 0.11))).tolist() == [0, 1, 11]


@pytest.mark.parametrize(
    ("pin", "mesh", "word"),
    [
        (Pin(vertices=(400,)), SHEET, "names vertex 400"),
        (Pin(vertices=()), SHEET, "selects no vertex"),
        (Pin(box=((5, 5, 5), (6, 6, 6))), SHEET, "selects no vertex"),
        (Pin(boundary=True), sphere(), "selects no vertex"),
        (Pin(corners=True), disc(), "selects no vertex"),
    ],
)
def test_empty_selections(pin, mesh, word):
    with pytest.raises(SceneError, match=word):
        select(pin, mesh)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"corners": True, "boundary": True},
        {"corners": 1},
        {"vertices": "0"},
        {"vertices": [-1]},
        {"box": [[0, 0, 0]]},
        {"box": [[1, 0, 0], [0, 0, 0]]},
        {"boundary": True, "pivot": 3},
        {"ids": 3},
        {"ids": "a.txt", "group": "hem"},
        {"group": ""},
        {"vertices": (1,), "near": (0, 0, 0)},
        {"box": ((0, 0, 0), (1, 1, 1)), "near": (0, 0, 0)},
        {"near": (0, 0, 0)},
        {"corners": True, "near": (0, 0)},
        {"boundary": True, "motion": (Keyframe(1.0), Keyframe(1.0))},
        {"boundary": True, "motion": (Keyframe(0.0, translate=(0, 0, 1)),)},
    ],
)
def test_bad_pins(values):
    with pytest.raises(SceneError):
        Pin(**values)


# --- by number, in the file's own order -------------------------------------------------------------------------------

# of five vertices of a file, the second was dropped
KEPT = np.array([0, -1, 1, 2, 3], dtype=np.int32)
SQUARE = grid(resolution=1)


def by_file(pin, **more):
    return select_vertices(pin, SQUARE, SQUARE.X, name="cloth", vertex_of_id=KEPT, **more)


def test_numbers_are_those_of_the_file():
    assert by_file(Pin(vertices=(4, 2, 2))).tolist() == [1, 3]
    assert by_file(Pin(ids="pins.txt"), listed=[0, 4]).tolist() == [0, 3]
    assert by_file(Pin(ids="pins.txt"), listed=[0]).dtype == np.int32


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ([5], "names vertex 5, but vertices go from 0 to 4"),
        ([1], "vertex 1, which no triangle uses"),
        ([-1], "vertex -1"),
        ([], "no vertex"),
    ],
)
def test_numbers_that_the_file_has_not(numbers, word):
    with pytest.raises(SceneError, match=word):
        by_file(Pin(ids="pins.txt"), listed=numbers)


def test_groups():
    groups = {"hem": np.array([0, 2], dtype=np.int32), "empty": np.zeros(0, np.int32)}
    assert by_file(Pin(group="hem"), groups=groups).tolist() == [0, 2]
    for name, word in (
        ("hen", 'did you mean "hem"'),
        ("empty", "selects no vertex"),
        ("other", "its mesh has empty, hem"),
    ):
        with pytest.raises(SceneError, match=word):
            by_file(Pin(group=name), groups=groups)
    with pytest.raises(SceneError, match="its mesh has none"):
        by_file(Pin(group="hem"))


# --- corners and boundary loops ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("near", "corner"), [((-9, -9, 0), 0), ((1, -1, 0), 10), ((-0.1, 0.2, 5), 110), ((1, 1, 0), 120)]
)
def test_the_corner_nearest_to_a_point(near, corner):
    assert select(Pin(corners=True, near=near)).tolist() == [corner]


def test_near_counts_where_the_shell_starts():
    # far to the left of the shell, whose left corners are then the nearest
    assert select(Pin(corners=True, near=(0, -1, 0)), shift=(5, 0, 0)).tolist() == [0]
    assert select(Pin(corners=True, near=(10, 1, 0)), shift=(5, 0, 0)).tolist() == [120]


def test_a_cylinder_open_at_both_ends_has_two_loops():
    tube = cylinder(0.25, 1.0, around=12, along=5, closed=False)
    top, bottom = (select(Pin(boundary=True, near=(0, 0, z)), tube) for z in (9, -9))
    assert len(top) == len(bottom) == 12
    assert (tube.X[top][:, 2] == 0.5).all() and (tube.X[bottom][:, 2] == -0.5).all()
    assert np.array_equal(np.union1d(top, bottom), select(Pin(boundary=True), tube))


def test_a_disc_with_a_hole_has_two_loops():
    ring = disc(0.5, hole=0.2, vertices=200)
    inner = select(Pin(boundary=True, near=(0, 0, 0)), ring)
    outer = select(Pin(boundary=True, near=(3, 0, 0)), ring)
    assert np.linalg.norm(ring.X[inner], axis=1) == pytest.approx(0.2)
    assert np.linalg.norm(ring.X[outer], axis=1) == pytest.approx(0.5)


def test_pieces_have_loops_of_their_own():
    both, _ = concatenate([SQUARE, SHEET])
    shift = np.repeat([[0.0, 0.0, 0.0], [0.0, 0.0, 3.0]], [len(SQUARE.X), len(SHEET.X)], axis=0)
    pin = Pin(boundary=True, near=(0, 0, 2))
    assert select(pin, both, shift).tolist() == (select(Pin(boundary=True)) + len(SQUARE.X)).tolist()


def test_corners_are_those_of_the_rest_shape():
    # turned and scaled by the start: corners stay corners
    x = SHEET.X @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]]) * 7
    assert select_vertices(Pin(corners=True), SHEET, x).tolist() == [0, 10, 110, 120]


def test_boxes_and_balls_take_their_own_surface():
    assert select(Pin(box=((-0.5, -0.5, 0), (-0.5, -0.5, 0)))).tolist() == [0]
    assert select(Pin(sphere=Ball((-0.5, -0.6, 0), 0.1))).tolist() == [0]


def test_everything_may_be_pinned():
    assert len(select(Pin(box=((-1, -1, -1), (1, 1, 1))))) == len(SHEET.X)
