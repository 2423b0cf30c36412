"""Creatures, pumpkins, pockets, cages, cutters, stars and scattered tubes."""

import numpy as np
import pytest
from tests.shapes.test_shapes import angles

from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, check_manifold
from plisse.shapes.catalogue import cylinder, make_shape
from plisse.shapes.hollow import pocketed, pumpkin
from plisse.shapes.solids import cage, cow, cutter, monster
from plisse.shapes.star import star


def euler(mesh: Mesh) -> int:
    return len(mesh.X) - len(mesh.edges) + len(mesh.triangles)


def count_intersections(mesh: Mesh) -> int:
    return Detector(mesh.X, mesh.edges, mesh.triangles, len(mesh.X)).count(mesh.X)


# shape, Euler characteristic, least and most vertices, largest extent, volume, smallest angle
CLOSED = {
    "pumpkin": (lambda: pumpkin(), 2, (1500, 1700), 0.13, 9.6e-4, 20),
    "pumpkin, coarse": (lambda: pumpkin(vertices=400, ribs=6), 2, (350, 450), 0.13, 9.6e-4, 20),
    "pumpkin, fine": (lambda: pumpkin(vertices=20_000), 2, (19_000, 21_000), 0.13, 9.6e-4, 18),
    "pocketed": (lambda: pocketed(), 2, (1500, 1700), 0.2, 3.6e-3, 35),
    "pocketed, coarse": (lambda: pocketed(0.2, 0.1, 0.08, vertices=300), 2, (270, 330), 0.4, 0.0285, 30),
    "monster": (lambda: monster(), 2, (5500, 7000), 0.3, 3.5e-3, 15),
    "monster, coarse": (lambda: monster(1.0, resolution=40), 2, (4000, 5000), 1.0, 0.13, 15),
    "cow": (lambda: cow(), 2, (3000, 4000), 0.5, 7.6e-3, 15),
    "cow, coarse": (lambda: cow(1.0, resolution=44), 2, (2500, 3500), 1.0, 0.06, 15),
    "cage": (lambda: cage(), -60, (15_000, 25_000), 0.4, 3.6e-3, 15),
    "cage, coarse": (lambda: cage(0.1, resolution=40), -60, (6000, 9000), 0.2, 4.5e-4, 15),
    "cage, thick": (lambda: cage(0.1, 0.025, resolution=40), -60, (6000, 12_000), 0.2, 7.2e-4, 15),
    "cutter": (lambda: cutter(), 0, (2000, 3000), 0.2, 2.3e-4, 30),
    "cutter, coarse": (lambda: cutter(resolution=48), 0, (300, 500), 0.2, 1.9e-4, 30),
    "cutter, many points": (lambda: cutter(points=8, depth=0.1), 0, (1500, 3000), 0.205, 2.3e-4, 25),
    "tube": (lambda: cylinder(0.033, 0.1, vertices=1000, diagonals="delaunay"), 2, (900, 1200), 0.1, 3.42e-4, 15),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_shapes(name):
    """Watertight, outwards, of the right size, free of self-intersections, with even triangles, in place."""
    make, characteristic, (least, most), size, volume, smallest = CLOSED[name]
    mesh = make()
    check_manifold(mesh, name)
    assert mesh.is_closed and euler(mesh) == characteristic
    assert least < len(mesh.X) < most
    assert mesh.volume == pytest.approx(volume, rel=0.05)
    assert np.ptp(mesh.X, axis=0).max() == pytest.approx(size, rel=0.02)
    assert count_intersections(mesh) == 0
    least_angle = angles(mesh).min(axis=1)
    assert least_angle.min() > smallest and np.percentile(least_angle, 1) > smallest + 2
    # stars reach farther to one side than to the other, but their axis is in place
    if "cutter" not in name:
        np.testing.assert_allclose(mesh.X.min(axis=0) + mesh.X.max(axis=0), 0, atol=5e-3 * size)


def test_pumpkin_has_its_ribs_and_dimples():
    mesh = pumpkin(0.06, 0.1, ribs=8, grooves=0.2, dimples=0.3, vertices=8000)
    x, y, z = mesh.X.T
    r = np.hypot(x, y)
    assert np.ptp(z) == pytest.approx(0.1, rel=1e-3)
    assert z[(r < 1e-9) & (z > 0)] == pytest.approx(0.05 * 0.7, rel=1e-2)
    waist = np.abs(z) < 0.002
    assert r[waist].max() == pytest.approx(0.06, rel=1e-2) and r[waist].min() == pytest.approx(0.048, rel=2e-2)
    # along its waist the radius repeats eight times
    angle = np.arctan2(y[waist], x[waist])
    waves = [abs(np.sum((r[waist] - r[waist].mean()) * np.exp(1j * k * angle))) for k in range(1, 16)]
    assert int(np.argmax(waves)) + 1 == 8


def test_pocket_faces_outwards_and_has_its_neck():
    mesh = pocketed(0.1, 0.05, 0.03, vertices=4000)
    x, y, z = mesh.X.T
    r = np.hypot(x, y)
    # the ball without the ball of its pocket, but for lip and opening
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * (0.1**3 - 0.05**3), rel=0.02)
    middle = 0.5 * (z.max() + z.min())
    assert r[(z > middle) & (z > 0.9 * z.max())].min() == pytest.approx(0.03, rel=0.02)
    # two vertices on the axis: the lower pole, and the pocket's floor inside, whose centre is √(58² − 38²) mm below the
    # lip's, which itself is √(92² − 38²) mm above that of the ball
    assert np.ptp(z[r < 1e-9]) == pytest.approx(0.1 + 0.0838 - 0.0438 - 0.05, abs=1e-4)


def test_creatures_look_along_x():
    for mesh in (monster(resolution=40), cow(resolution=44)):
        x, y, z = mesh.X.T
        assert x[z > 0.8 * z.max()].mean() > 0.0
        assert y.max() == pytest.approx(-y.min(), rel=1e-6)
    # a cow stands on four legs
    feet = cow(resolution=44).X
    feet = feet[feet[:, 2] < feet[:, 2].min() + 0.02]
    assert {(a, b) for a, b in np.sign(feet[:, :2]).astype(int)} == {(1, 1), (1, -1), (-1, 1), (-1, -1)}


def test_cage_is_hollow():
    mesh = cage(0.2, 0.03, resolution=48)
    far = np.linalg.norm(mesh.X, axis=1)
    assert far.max() == pytest.approx(0.2, rel=1e-3) and far.min() == pytest.approx(0.17, rel=1e-3)


def test_cutter_has_its_wall():
    mesh = cutter(0.1, 0.05, 0.01, points=6, depth=0.2, resolution=240)
    r = np.hypot(mesh.X[:, 0], mesh.X[:, 1])
    assert np.ptp(mesh.X[:, 2]) == pytest.approx(0.05, rel=1e-3)
    assert r.max() == pytest.approx(0.105, rel=1e-2) and r.min() == pytest.approx(0.075, rel=1e-2)


@pytest.mark.parametrize("points", [5, 24])
@pytest.mark.parametrize("twist", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("vertices", [7, 600])
def test_star(points, twist, vertices):
    mesh = star(0.1, 0.01, points=points, twist=twist, vertices=vertices)
    check_manifold(mesh, "star")
    assert not mesh.is_closed and euler(mesh) == 1
    assert count_intersections(mesh) == 0
    r = np.hypot(mesh.X[:, 0], mesh.X[:, 1])
    assert r.max() == pytest.approx(0.1) and np.ptp(mesh.X[:, 2]) == pytest.approx(0.01)
    # a single ring of triangles leads from the middle to tips and notches, with next to no room left by the twist
    if vertices == 7:
        assert len(mesh.X) == 1 + 2 * points
        tip, notch = (np.arctan2(mesh.X[k, 1], mesh.X[k, 0]) for k in (1, 2))
        assert (notch - tip) * points / np.pi == pytest.approx(1.0 - 0.95 * twist)
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    assert np.cross(b - a, c - a)[:, 2].min() > 0


def test_scattered_tubes_are_seeded_and_unrolled():
    a, b, other = (cylinder(closed=False, vertices=500, diagonals="delaunay", seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.array_equal(a.X, other.X)
    check_manifold(a, "tube")
    assert euler(a) == 0 and angles(a).min() > 15
    # texture coordinates have the lengths of the tube, but for the depth of its facets
    turn = 2 * np.pi * 0.25
    u, v = a.uv[:, 1] - a.uv[:, 0], a.uv[:, 2] - a.uv[:, 0]
    flat = 0.5 * turn**2 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    np.testing.assert_allclose(flat, a.triangle_areas, rtol=2e-2)
    # rings keep their places, whatever is in between
    rims = np.unique(a.boundary_edges)
    np.testing.assert_array_equal(a.X[rims], other.X[rims])


@pytest.mark.parametrize(
    ("shape", "parameters", "word"),
    [
        ("pumpkin", {"ribs": 1}, "ribs"),
        ("pumpkin", {"grooves": 0.9}, "grooves"),
        ("pocketed", {"neck": 0.09}, "pocket"),
        ("pocketed", {"pocket": 0.09}, "pocket"),
        ("cage", {"thickness": 0.001}, "thickness"),
        ("cage", {"resolution": 10}, "resolution"),
        ("cutter", {"thickness": 0.04}, "thickness"),
        ("cutter", {"points": 12, "depth": 0.4, "thickness": 0.02}, "turns"),
        ("cow", {"resolution": 20}, "resolution"),
        ("monster", {"size": -1}, "size"),
        ("star", {"twist": 2}, "twist"),
        ("cylinder", {"vertices": 100, "around": 12}, "either"),
        ("cylinder", {"diagonals": "random"}, "diagonals"),
    ],
)
def test_mistakes_are_named(shape, parameters, word):
    with pytest.raises(SceneError, match=word):
        make_shape(shape, parameters)
