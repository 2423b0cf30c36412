"""The walking figure: one closed surface that bends without meeting itself, and starts from rest."""

import numpy as np
import pytest

from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, check_manifold
from plisse.shapes.walker import walk_frames

RATE = 30.0


@pytest.fixture(scope="module")
def walk():
    return walk_frames(frames=90, rate=RATE)


def test_figure_is_a_closed_surface_of_its_height(walk):
    mesh, positions = walk
    check_manifold(mesh, "figure")
    assert mesh.is_closed and mesh.volume == pytest.approx(0.09, rel=0.2)
    assert len(mesh.X) - len(mesh.edges) + len(mesh.triangles) == 2
    assert 3000 < len(mesh.triangles) < 6000
    np.testing.assert_allclose([mesh.X[:, 2].min(), mesh.X[:, 2].max()], [0.0, 1.75], atol=1e-12)
    np.testing.assert_allclose(positions[0], mesh.X, rtol=0, atol=1e-12)


def test_no_frame_intersects_itself(walk):
    mesh, positions = walk
    detector = Detector(mesh.X, mesh.edges, mesh.triangles, len(mesh.X))
    assert all(detector.count(x) == 0 for x in positions[::3])
    # nothing is crushed at the joints
    area = [Mesh(x, mesh.triangles).triangle_areas.sum() for x in positions[::10]]
    assert np.ptp(area) < 0.05 * area[0]
    least = min((Mesh(x, mesh.triangles).triangle_areas / mesh.triangle_areas).min() for x in positions[::5])
    assert least > 0.3


def test_it_starts_gently_and_takes_steps(walk):
    mesh, positions = walk
    # at rest for half a second; never faster than 5 m/s, nor accelerated by more than a few g
    assert np.abs(positions[:15] - positions[0]).max() < 1e-12
    velocity = np.diff(positions, axis=0) * RATE
    assert np.abs(velocity).max() < 5.0
    assert np.abs(velocity[15:18]).max() < 0.1
    assert np.abs(np.diff(velocity, axis=0) * RATE).max() < 60.0
    # one foot is always on the ground
    assert np.abs(positions[:, :, 2].min(axis=1)).max() < 0.01
    # the feet pass each other twice in a double step
    low = mesh.X[:, 2] < 0.1
    left, right = (positions[:, low & side, 0].mean(axis=1) for side in (mesh.X[:, 1] > 0, mesh.X[:, 1] < 0))
    assert (np.diff(np.sign((left - right)[45:])) != 0).sum() == pytest.approx(2 * 0.9 * 1.5, abs=1)
    assert np.ptp(left - right) > 0.9
    # it has got on: knees bend backwards only, so that it walks where it looks
    assert positions[-1, :, 0].mean() - mesh.X[:, 0].mean() > 1.5


def test_halves_keep_apart(walk):
    mesh, positions = walk
    np.testing.assert_allclose(positions[:, :, 1], np.broadcast_to(mesh.X[:, 1], positions.shape[:2]), atol=1e-12)


def test_on_the_spot_and_small():
    mesh, positions = walk_frames(frames=60, rate=24.0, height=0.5, forward=False, resolution=40)
    assert np.ptp(mesh.X[:, 2]) == pytest.approx(0.5)
    assert np.abs(positions[:, mesh.X[:, 2] > 0.45, 0] - mesh.X[mesh.X[:, 2] > 0.45, 0]).max() < 1e-9
    assert np.ptp(positions[:, mesh.X[:, 2] < 0.03, 0]) > 0.1


@pytest.mark.parametrize("wrong", [{"frames": 0}, {"rate": 0.0}, {"height": -1.0}, {"resolution": 5}, {"swing": 90.0}])
def test_impossible_walks(wrong):
    with pytest.raises(SceneError):
        walk_frames(**({"frames": 2, "rate": 24.0} | wrong))
