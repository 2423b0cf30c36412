"""Toys and what they are thrown at."""

import numpy as np
import pytest
from tests.shapes.test_shapes import angles
from tests.shapes.test_solids import count_intersections, euler

from plisse.core.errors import SceneError
from plisse.core.mesh import check_manifold
from plisse.shapes.toys import dancer, duck, gear, hook, octocat, polyhedron, teddy

# shape, Euler characteristic, least and most vertices, largest extent, volume, smallest angle
CLOSED = {
    "duck": (lambda: duck(), 2, (2000, 2600), 0.3, 3.96e-3, 25),
    "duck, coarse": (lambda: duck(1.0, resolution=16), 2, (500, 700), 1.0, 0.152, 20),
    "teddy": (lambda: teddy(resolution=20), 2, (1100, 1500), 0.3, 5.05e-3, 20),
    "octocat": (lambda: octocat(resolution=20), 2, (1100, 1500), 0.3, 5.45e-3, 20),
    "dancer": (lambda: dancer(resolution=40), 2, (900, 1200), 2.0, 0.104, 20),
    "dancer, coarse": (lambda: dancer(resolution=30), 2, (550, 700), 2.0, 0.104, 20),
    "hook": (lambda: hook(resolution=20), 2, (600, 900), 0.15, 2.42e-4, 20),
    "tetrahedron": (lambda: polyhedron(subdivisions=3), 2, (100, 150), 0.1155, 5.13e-4, 55),
    "wedge": (lambda: polyhedron(kind="wedge", subdivisions=2), 2, (50, 80), 0.1249, 7.31e-4, 35),
    "octahedron": (lambda: polyhedron(0.2, kind="octahedron"), 2, (900, 1100), 0.4, 4 / 3 * 0.008, 55),
    "gear": (lambda: gear(resolution=40), 0, (3500, 5000), 0.4, 8.9e-3, 15),
}


@pytest.mark.parametrize("name", CLOSED)
def test_toys_are_watertight_and_even(name):
    make, characteristic, (least, most), size, volume, smallest = CLOSED[name]
    mesh = make()
    check_manifold(mesh, name)
    assert mesh.is_closed and euler(mesh) == characteristic
    assert least < len(mesh.X) < most
    assert mesh.volume == pytest.approx(volume, rel=0.05)
    assert np.ptp(mesh.X, axis=0).max() == pytest.approx(size, rel=0.02)
    assert count_intersections(mesh) == 0
    assert angles(mesh).min() > smallest
    np.testing.assert_allclose(mesh.X.min(axis=0) + mesh.X.max(axis=0), 0, atol=5e-3 * size)


def test_creatures_look_along_x():
    # beak, muzzle, tip: what reaches farthest along x is high up
    for mesh, part in ((duck(resolution=20), 0.55), (hook(resolution=20), 0.6)):
        x, z = mesh.X[:, 0], mesh.X[:, 2]
        assert z[x.argmax()] > z.min() + part * np.ptp(z)


def test_gear_has_its_teeth_and_its_hole():
    mesh = gear(0.3, 0.2, teeth=6, resolution=60)
    r, angle = np.hypot(mesh.X[:, 0], mesh.X[:, 1]), np.arctan2(mesh.X[:, 1], mesh.X[:, 0])
    assert r.min() == pytest.approx(0.075, rel=0.02) and np.ptp(mesh.X[:, 2]) == pytest.approx(0.2, rel=0.01)
    outside = (r > 0.15) & (np.abs(mesh.X[:, 2]) < 0.05)
    waves = [abs(np.sum((r[outside] - r[outside].mean()) * np.exp(1j * k * angle[outside]))) for k in range(1, 13)]
    assert int(np.argmax(waves)) + 1 == 6
    with pytest.raises(SceneError, match="needs a resolution of at least 160"):
        gear(0.2, 0.01)
    with pytest.raises(SceneError, match="at most twice its radius"):
        gear(0.2, 0.5)


def test_polyhedra_have_flat_sides_and_sharp_edges():
    for kind, sides in (("tetrahedron", 4), ("wedge", 5), ("octahedron", 8)):
        mesh = polyhedron(kind=kind, subdivisions=2)
        a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        assert len(np.unique(np.round(normal, 6) + 0.0, axis=0)) == sides
        assert np.einsum("ij,ij->i", normal, a).min() > 0  # facing outwards
