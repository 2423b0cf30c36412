"""Keyframed motion."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plisse.core.errors import SceneError
from plisse.scene.colliders import Collider, HalfSpace, move_half_space
from plisse.scene.schedule import Keyframe, check_motion, pose, rotation, transform_points


def test_rotation_agrees_with_scipy():
    for degrees in np.random.default_rng(0).uniform(-400, 400, size=(20, 3)):
        expected = Rotation.from_euler("xyz", degrees, degrees=True).as_matrix()
        np.testing.assert_allclose(rotation(degrees), expected, atol=1e-14)


def test_turns_beyond_half_a_circle():
    motion = (Keyframe(2.0, rotate=(720, 0, 0)),)
    turn, shift, scale = pose(motion, 0.25)
    np.testing.assert_allclose(turn, rotation((90, 0, 0)), atol=1e-14)
    np.testing.assert_array_equal(shift, 0)
    np.testing.assert_array_equal(scale, 1)
    np.testing.assert_allclose(pose(motion, 2.0)[0], np.eye(3), atol=1e-14)


def test_holds_before_and_after():
    motion = (Keyframe(0.0), Keyframe(1.0, translate=(1, 0, 0)), Keyframe(3.0, translate=(1, 2, 0), scale=2))
    np.testing.assert_array_equal(pose(motion, 0.0)[1], 0)
    np.testing.assert_allclose(pose(motion, 0.5)[1], (0.5, 0, 0))
    np.testing.assert_allclose(pose(motion, 2.0)[1], (1, 1, 0))
    np.testing.assert_allclose(pose(motion, 2.0)[2], 1.5)
    np.testing.assert_allclose(pose(motion, 9.0)[1], (1, 2, 0))


def test_pivot_and_order_of_scale_and_turn():
    X = np.array([[2.0, 0.0, 0.0]])
    motion = (Keyframe(1.0, translate=(0, 0, 5), rotate=(0, 0, 90), scale=(3, 1, 1)),)
    np.testing.assert_allclose(transform_points(X, motion, 1.0, pivot=(1, 0, 0)), [[1, 3, 5]], atol=1e-14)
    np.testing.assert_allclose(transform_points(X, motion, 1.0), [[0, 6, 5]], atol=1e-14)
    unmoved = transform_points(X, (), 1.0)
    assert unmoved is not X
    np.testing.assert_array_equal(unmoved, X)


def test_half_space_moves_with_its_points():
    generator = np.random.default_rng(1)
    motion = (Keyframe(1.0, translate=(0.1, 0.2, 0.3), rotate=(30, 50, -20), scale=(1.0, 2.0, 0.5)),)
    collider = Collider(
        half_space=HalfSpace((0.1, 0, 0.2), (1, 2, 3)),
        translate=(1, 0, 0),
        rotate=(0, 40, 10),
        scale=2,
        motion=motion,
    )
    x0, n0 = move_half_space(collider, 0.0)
    tangents = np.cross(generator.normal(size=(10, 3)), n0)
    moved = transform_points(x0 + tangents, motion, 0.7, pivot=collider.center)
    x1, n1 = move_half_space(collider, 0.7)
    np.testing.assert_allclose((moved - x1) @ n1, 0, atol=1e-12)
    assert np.linalg.norm(n1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("motion", "word"),
    [
        ([Keyframe(1.0), Keyframe(1.0)], "increasing"),
        ([Keyframe(0.0, translate=(1, 0, 0)), Keyframe(1.0)], "start at rest"),
    ],
)
def test_bad_motion(motion, word):
    with pytest.raises(SceneError, match=word):
        check_motion(motion)


def test_bad_keys():
    with pytest.raises(SceneError, match="time"):
        Keyframe(-1.0)
    with pytest.raises(SceneError, match="scale"):
        Keyframe(1.0, scale=0)
    with pytest.raises(SceneError, match="translate"):
        Keyframe(1.0, translate=(1, 2))
