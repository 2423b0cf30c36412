"""Generated shapes: manifold, oriented, and of the right size."""

import numpy as np
import pytest

from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, check_manifold
from plisse.core.record import Entry
from plisse.core.values import Choice, Number
from plisse.shapes.catalogue import (
    SHAPES,
    bowl,
    box,
    bunny,
    can,
    cone,
    cylinder,
    disc,
    dome,
    dragon,
    grid,
    hat,
    make_shape,
    shape_parameters,
    sphere,
    strip,
    torus,
)
from plisse.shapes.rectangle import DIAGONALS

PI = np.pi
# shape, Euler characteristic, closed, area, volume, tolerance
CASES = [
    (grid(2, 1, resolution=(6, 3), diagonals="uniform"), 1, False, 2.0, None, 1e-12),
    (grid(2, 1, resolution=8, diagonals="alternating"), 1, False, 2.0, None, 1e-12),
    (grid(0.5, 2, vertices=900, seed=3), 1, False, 1.0, None, 1e-12),
    (grid(2, 1, resolution=9, diagonals="equilateral"), 1, False, 2.0, None, 1e-12),
    (grid(0.5, 2, vertices=700, diagonals="delaunay"), 1, False, 1.0, None, 1e-12),
    (disc(0.5, rings=20), 1, False, PI / 4, None, 2e-3),
    (sphere(0.5, subdivisions=4), 2, True, PI, PI / 6, 5e-3),
    (cylinder(0.5, 2, around=60), 2, True, 2.5 * PI, PI / 2, 5e-3),
    (cylinder(0.5, 2, around=62, closed=False), 0, False, 2 * PI, None, 5e-3),
    (box((1.0, 0.5, 0.2), resolution=7), 2, True, 1.6, 0.1, 1e-12),
    (box(2), 2, True, 24.0, 8.0, 1e-12),
    (torus(0.5, 0.1, around=96, across=48), 0, True, PI * PI / 5, PI * PI / 100, 5e-3),
    (strip(1.2, 0.1, resolution=36), 1, False, 0.12, None, 1e-12),
    (disc(0.5, hole=0.1), 0, False, PI * 0.24, None, 3e-3),
    (disc(0.5, hole=0.1, rings=4), 0, False, PI * 0.24, None, 2e-2),
    (dome(0.3), 1, False, PI * 0.18, None, 5e-3),
    (dome(0.3, 0.1, vertices=400), 1, False, PI * 0.1, None, 5e-3),
    (cone(0.3, 0.4, vertices=1600), 1, False, PI * 0.15, None, 5e-3),
    (can(0.05, 0.2, 1e-3, vertices=8000), 2, True, PI * 0.025, PI * 5e-4, 1e-2),
]


@pytest.mark.parametrize(("mesh", "euler", "closed", "area", "volume", "tolerance"), CASES)
def test_shape(mesh, euler, closed, area, volume, tolerance):
    check_manifold(mesh, "shape")
    assert len(mesh.X) - len(mesh.edges) + len(mesh.triangles) == euler
    assert mesh.is_closed == closed
    assert mesh.triangle_areas.sum() == pytest.approx(area, rel=tolerance)
    if closed:
        assert mesh.volume == pytest.approx(volume, rel=tolerance)
    # rings with an odd number of vertices reach less far to one side
    np.testing.assert_allclose(mesh.X.min(axis=0) + mesh.X.max(axis=0), 0, atol=tolerance)


@pytest.mark.parametrize("diagonals", DIAGONALS)
def test_flat_shapes_face_up(diagonals):
    for seed in range(5):
        for mesh in (grid(1, 3, resolution=20, diagonals=diagonals, seed=seed), disc(rings=5)):
            a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
            up = np.cross(b - a, c - a)[:, 2]
            assert up.min() > 0.05 * up.max()


def angles(mesh: Mesh) -> Floats:
    """All corners' angles [degrees], shape (m, 3)."""
    corners = mesh.X[mesh.triangles]
    before, after = corners[:, (2, 0, 1)] - corners, corners[:, (1, 2, 0)] - corners
    sine = np.linalg.norm(np.cross(after, before), axis=2)
    return np.degrees(np.arctan2(sine, (before * after).sum(axis=2)))


SCULPTED = {
    "bunny": (lambda: bunny(0.5), (7000, 8000), 0.5),
    "bunny, coarse": (lambda: bunny(0.3, resolution=32), (4000, 5000), 0.3),
    "dragon": (lambda: dragon(0.8), (8000, 9000), 0.8),
    "dragon, coarse": (lambda: dragon(resolution=40), (5500, 6500), 0.8),
    "bowl": (lambda: bowl(0.2, 0.12, 0.02), (2500, 3500), 0.4),
    "bowl, coarse": (lambda: bowl(0.1, 0.3, 0.03, resolution=24), (200, 2000), 0.315),
}


@pytest.mark.parametrize("name", SCULPTED)
def test_sculpted_solids(name):
    """Watertight, in one piece without a hole, outwards, free of self-intersections, with even triangles."""
    make, (least, most), size = SCULPTED[name]
    mesh = make()
    check_manifold(mesh, name)
    assert mesh.is_closed and mesh.volume > 0
    assert len(mesh.X) - len(mesh.edges) + len(mesh.triangles) == 2
    assert Detector(mesh.X, mesh.edges, mesh.triangles, len(mesh.X)).count(mesh.X) == 0
    assert least < len(mesh.triangles) < most
    assert np.ptp(mesh.X, axis=0).max() == pytest.approx(size, rel=0.01)
    least_angle = angles(mesh).min(axis=1)
    assert least_angle.min() > 15 and np.percentile(least_angle, 1) > 32
    assert np.percentile(mesh.edge_lengths, 99) < 3.5 * np.percentile(mesh.edge_lengths, 1)


def test_solids_are_the_same_each_time():
    first, second = (bunny(resolution=32) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.triangles, second.triangles)


def test_bunny_and_dragon_look_along_x():
    # both stand on their feet; the bunny's ears and the dragon's neck are what is highest
    for mesh, head in ((bunny(), 0.0), (dragon(), 0.1)):
        x, z = mesh.X[:, 0], mesh.X[:, 2]
        assert x[z > 0.8 * z.max()].mean() > head * np.ptp(x)
        assert np.ptp(x[z < 0.9 * z.min()]) > 0.5 * np.ptp(x)
        # left is right's mirror image, but for the dragon's tail, which moves its middle a little
        half = mesh.X[z > 0]
        assert half[:, 1].max() == pytest.approx(-half[:, 1].min(), rel=0.05)


def test_bowl_is_hollow():
    mesh = bowl(0.2, 0.12, 0.02)
    # about the volume of a wall of 20 mm, far from that of a full bowl
    assert mesh.volume == pytest.approx(0.02 * mesh.triangle_areas.sum() / 2, rel=0.1)
    middle = mesh.X[np.hypot(mesh.X[:, 0], mesh.X[:, 1]) < 0.02, 2]
    assert np.ptp(middle) == pytest.approx(0.02, rel=1e-6)


@pytest.mark.parametrize("count", [200, 800, 3000])
def test_hat(count):
    mesh = hat(0.1, 0.12, 0.08, vertices=count)
    check_manifold(mesh, "hat")
    assert len(mesh.X) == pytest.approx(count, rel=0.1)
    assert len(mesh.X) - len(mesh.edges) + len(mesh.triangles) == 1
    # its only boundary is the brim's edge
    rim = mesh.X[np.unique(mesh.boundary_edges)]
    np.testing.assert_allclose(np.hypot(rim[:, 0], rim[:, 1]), 0.18, rtol=1e-9)
    # even triangles, inner valences of 5 to 7 and most of them 6
    assert angles(mesh).min() > 35
    inner = np.ones(len(mesh.X), dtype=bool)
    inner[mesh.boundary_edges] = False
    valence = np.bincount(mesh.edges.reshape(-1))[inner]
    assert 5 <= valence.min() and valence.max() <= 7 and (valence == 6).mean() > 0.8
    # faces up on the crown, outwards on its side, up on the brim
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    normal, center = np.cross(b - a, c - a), (a + b + c) / 3
    radius = np.hypot(center[:, 0], center[:, 1])
    assert (normal[(radius < 0.05) | (radius > 0.14), 2] > 0).all()
    side = np.abs(radius - 0.1) < 0.005
    assert (normal[side, :2] * center[side, :2]).sum(axis=1).min() > 0


def test_equilateral_rows():
    mesh = grid(1, 1, vertices=800, diagonals="equilateral")
    away_from_sides = np.abs(mesh.X[mesh.triangles][..., 0]).max(axis=1) < 0.499
    assert angles(mesh)[away_from_sides] == pytest.approx(60, abs=3)


def test_delaunay_points_are_spread_and_seeded():
    a, b, other = (grid(vertices=800, diagonals="delaunay", seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.triangles, b.triangles)
    assert not np.array_equal(a.X, other.X)
    assert len(a.X) == len(grid(vertices=800).X)
    least = angles(a).min(axis=1)
    assert least.min() > 15 and np.median(least) > 42


@pytest.mark.parametrize("mesh", [dome(), dome(0.1, 0.15), can(), can(vertices=400), cone(), cone(0.3, 0.2)])
def test_turned_shapes_have_even_triangles(mesh):
    least = angles(mesh).min(axis=1)
    assert least.min() > 24 and np.percentile(least, 1) > 30


def test_can_is_level_and_round():
    mesh = can(0.033, 0.115)
    r = np.hypot(mesh.X[:, 0], mesh.X[:, 1])
    assert r.max() == pytest.approx(0.033, rel=1e-9)
    assert np.ptp(mesh.X[:, 2]) == pytest.approx(0.115, rel=1e-9)
    assert np.abs(np.abs(mesh.X[r < 0.02, 2]) - 0.0575).max() < 1e-12


def test_disc_has_its_hole():
    mesh = disc(0.6, hole=0.1, vertices=1500)
    assert len(mesh.X) == pytest.approx(1500, rel=0.1)
    rims = np.hypot(*mesh.X[np.unique(mesh.boundary_edges), :2].T)
    assert set(np.round(rims, 9)) == {0.1, 0.6}
    assert angles(mesh).min() > 35


def test_every_parameter_of_a_shape_is_described():
    for shape in SHAPES:
        known = shape_parameters(shape)
        assert all(entry.key == key and entry.text and entry.kind is not None for key, entry in known.items())
        # defaults are what the shape is made with when nothing is said
        defaults = {entry.key: entry.default for entry in known.values() if entry.default is not None}
        if shape not in (
            "bunny",
            "dragon",
            "monster",
            "cow",
            "cage",
            "teddy",
            "octocat",
            "gear",
        ):  # which take a second each
            np.testing.assert_array_equal(make_shape(shape, defaults).X, make_shape(shape, {}).X)
    assert shape_parameters("cone")["radius"] == Entry("radius", Number("m", above=0), "of its rim", 0.15)
    assert shape_parameters("grid")["diagonals"].kind == Choice(DIAGONALS)
    assert shape_parameters("dome")["height"] == Entry(
        "height", Number("m", above=0), "from rim to top", None, "half a sphere"
    )


def test_a_shape_that_is_called_is_checked_too():
    with pytest.raises(SceneError, match=r"A grid's width \[m\] must be above 0, not -1"):
        grid(-1)
    np.testing.assert_array_equal(grid("50 cm", resolution=[3, 2]).X, grid(0.5, resolution=(3, 2)).X)
    with pytest.raises(TypeError, match="colour"):
        grid(colour=3)
    # None is what says nothing
    np.testing.assert_array_equal(dome(0.3, None).X, dome(0.3).X)
    with pytest.raises(SceneError, match="A dome's radius"):
        dome(None)


def test_lengths_take_units():
    np.testing.assert_array_equal(make_shape("sphere", {"radius": "25 cm"}).X, sphere(0.25).X)
    sides = make_shape("box", {"size": ["100 mm", 0.2, "1 ft"]}).X
    np.testing.assert_allclose(np.ptp(sides, axis=0), [0.1, 0.2, 0.3048])


def test_open_cylinder_faces_outwards():
    mesh = cylinder(closed=False)
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    outwards = (np.cross(b - a, c - a) * (a + b + c) * (1, 1, 0)).sum(axis=1)
    assert outwards.min() > 0


@pytest.mark.parametrize("count", [1600, 5041, 6084])
def test_grid_hits_square_numbers(count):
    assert len(grid(vertices=count).X) == count


@pytest.mark.parametrize("count", [50, 1234, 20000])
def test_counts_are_close(count):
    for diagonals in DIAGONALS:
        assert len(grid(1.7, 0.6, vertices=count, diagonals=diagonals).X) == pytest.approx(count, rel=0.1)
    assert len(disc(vertices=count).X) == pytest.approx(count, rel=0.25)


def test_jitter_is_seeded_and_leaves_the_boundary():
    a, b, other = grid(seed=1), grid(seed=1), grid(seed=2)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.triangles, b.triangles)
    assert not np.array_equal(a.X, other.X)
    rim = np.unique(a.boundary_edges)
    np.testing.assert_array_equal(a.X[rim], grid(diagonals="uniform").X[rim])


@pytest.mark.parametrize(
    ("shape", "parameters", "word"),
    [
        ("grit", {}, 'did you mean "grid"'),
        ("sphere", {"radios": 1}, 'did you mean "radius"'),
        ("sphere", {"radius": -1}, "radius"),
        ("sphere", {"radius": "big"}, "radius"),
        ("sphere", {"subdivisions": 40}, "subdivisions"),
        ("grid", {"resolution": 4, "vertices": 100}, "either"),
        ("grid", {"resolution": (4, 0)}, "resolution"),
        ("grid", {"resolution": (4, 4, 4)}, "resolution"),
        ("grid", {"diagonals": "random"}, "diagonals"),
        ("grid", {"seed": -1}, "seed"),
        ("disc", {"rings": 2.5}, "rings"),
        ("disc", {"rings": 2, "vertices": 20}, "either"),
        ("box", {"size": (1, 1)}, "size"),
        ("cylinder", {"closed": "yes"}, "closed"),
        ("torus", {"minor": 0.4}, "intersects itself"),
        ("bunny", {"resolution": 8}, "resolution"),
        ("dragon", {"resolution": 9000}, "at most"),
        ("dragon", {"size": 0}, "size"),
        ("bowl", {"thickness": 0.1}, "thickness"),
        ("hat", {"vertices": 10}, "vertices"),
        ("strip", {"resolution": 4, "vertices": 100}, "A strip takes either"),
        ("strip", {"length": "3 kg"}, "length"),
        ("disc", {"hole": 0.5}, "hole"),
        ("dome", {"height": 0}, "height"),
        ("can", {"rounding": 0.1}, "rounding"),
        ("cone", {"vertices": 5}, "vertices"),
        ("box", {"size": ["1 m", "2 m", "3 big"]}, "size"),
    ],
)
def test_mistakes_are_named(shape, parameters, word):
    with pytest.raises(SceneError, match=word):
        make_shape(shape, parameters)
