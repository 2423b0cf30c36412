"""Generated shapes: manifold, oriented, and of the right size."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import check_manifold
from plisse.core.shapes import box, cylinder, disc, grid, make_shape, sphere, torus

PI = np.pi
# shape, Euler characteristic, closed, area, volume, tolerance
CASES = [
    (grid(2, 1, resolution=(6, 3), diagonals="uniform"), 1, False, 2.0, None, 1e-12),
    (grid(2, 1, resolution=8, diagonals="alternating"), 1, False, 2.0, None, 1e-12),
    (grid(0.5, 2, vertices=900, seed=3), 1, False, 1.0, None, 1e-12),
    (disc(0.5, rings=20), 1, False, PI / 4, None, 2e-3),
    (sphere(0.5, subdivisions=4), 2, True, PI, PI / 6, 5e-3),
    (cylinder(0.5, 2, around=60), 2, True, 2.5 * PI, PI / 2, 5e-3),
    (cylinder(0.5, 2, around=62, closed=False), 0, False, 2 * PI, None, 5e-3),
    (box((1.0, 0.5, 0.2), resolution=7), 2, True, 1.6, 0.1, 1e-12),
    (box(2), 2, True, 24.0, 8.0, 1e-12),
    (torus(0.5, 0.1, around=96, across=48), 0, True, PI * PI / 5, PI * PI / 100, 5e-3),
]


@pytest.mark.parametrize(("mesh", "euler", "closed", "area", "volume", "tolerance"), CASES)
def test_shape(mesh, euler, closed, area, volume, tolerance):
    check_manifold(mesh, "shape")
    assert len(mesh.X) - len(mesh.edges) + len(mesh.triangles) == euler
    assert mesh.is_closed == closed
    assert mesh.triangle_areas.sum() == pytest.approx(area, rel=tolerance)
    if closed:
        assert mesh.volume == pytest.approx(volume, rel=tolerance)
    np.testing.assert_allclose(mesh.X.min(axis=0) + mesh.X.max(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("diagonals", ["uniform", "alternating", "jittered"])
def test_flat_shapes_face_up(diagonals):
    for seed in range(5):
        for mesh in (grid(1, 3, resolution=20, diagonals=diagonals, seed=seed), disc(rings=5)):
            a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
            up = np.cross(b - a, c - a)[:, 2]
            assert up.min() > 0.1 * up.max()


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
    assert len(grid(1.7, 0.6, vertices=count).X) == pytest.approx(count, rel=0.1)
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
        ("torus", {"minor": 0.4}, "meets itself"),
    ],
)
def test_mistakes_are_named(shape, parameters, word):
    with pytest.raises(SceneError, match=word):
        make_shape(shape, parameters)
