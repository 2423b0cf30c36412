"""Keyframed motion."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plisse.core.errors import SceneError
from plisse.scene.colliders import Collider, HalfSpace, move_half_space
from plisse.scene.schedule import Keyframe, pose, rotation, transform_points
from plisse.scene.sources import place_points


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


def test_half_space_is_placed_with_its_points():
    generator = np.random.default_rng(1)
    plane = HalfSpace((0.1, 0, 0.2), (1, 2, 3))
    scale = np.array([1.0, 2.0, 0.5])
    collider = Collider(half_space=plane, translate=(1, 0, 0), rotate=(0, 40, 10), scale=tuple(scale))
    tangents = np.cross(generator.normal(size=(10, 3)), plane.normal)
    points = place_points((np.array(plane.point) + tangents) * scale, translate=(1, 0, 0), rotate=(0, 40, 10))
    x, n = move_half_space(collider, 0.0)
    np.testing.assert_allclose((points - x) @ n, 0, atol=1e-12)
    assert np.linalg.norm(n) == pytest.approx(1.0)


def test_bad_keys():
    with pytest.raises(SceneError, match="time"):
        Keyframe(-1.0)
    with pytest.raises(SceneError, match="scale"):
        Keyframe(1.0, scale=0)
    with pytest.raises(SceneError, match="translate"):
        Keyframe(1.0, translate=(1, 2))
