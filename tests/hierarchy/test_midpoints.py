"""Subdivision by midpoints leaves the surface as it is."""

import numpy as np
import pytest

from plisse.core.mesh import check_manifold
from plisse.hierarchy.loop import subdivide
from plisse.shapes import catalogue as shapes

MESHES = {
    "grid": lambda: shapes.grid(1.0, 0.7, resolution=(5, 4), seed=3),
    "disc": lambda: shapes.disc(0.5, rings=3),
    "sphere": lambda: shapes.sphere(0.3, subdivisions=1),
    "torus": lambda: shapes.torus(0.3, 0.1),
}


@pytest.mark.parametrize("name", MESHES)
def test_subdivision_keeps_the_surface(name: str) -> None:
    mesh = MESHES[name]()
    x = mesh.X + 0.01 * np.random.default_rng(1).standard_normal(mesh.X.shape)
    fine, U = subdivide(mesh, rule="linear")
    x_fine = U(x)
    check_manifold(fine, name)
    # nothing was torn or filled
    assert len(fine.X) == len(x_fine) == len(mesh.X) + len(mesh.edges)
    assert len(fine.triangles) == 4 * len(mesh.triangles)
    assert len(fine.edges) == 2 * len(mesh.edges) + 3 * len(mesh.triangles)
    assert len(fine.boundary_edges) == 2 * len(mesh.boundary_edges)
    assert fine.is_closed == mesh.is_closed
    # old vertices stay; at rest and bent, every fine triangle is a quarter of a coarse one, so areas stay too
    assert np.array_equal(fine.X[: len(mesh.X)], mesh.X) and np.array_equal(x_fine[: len(x)], x)
    for coarse_x, fine_x in ((mesh.X, fine.X), (x, x_fine)):
        parents = np.tile(mesh.triangles, (4, 1))
        assert_contained(fine_x[fine.triangles], coarse_x[parents])


def assert_contained(parts: np.ndarray, wholes: np.ndarray) -> None:
    """Each part (m, 3, 3) is a quarter of its whole: in its plane, inside it, facing as it does."""
    a, u, v = wholes[:, 0], wholes[:, 1] - wholes[:, 0], wholes[:, 2] - wholes[:, 0]
    n = np.cross(u, v)
    frame = np.stack([u, v, n], axis=2)
    where = np.linalg.solve(frame[:, None], (parts - a[:, None])[..., None])[..., 0]
    weights = np.stack([1 - where[..., 0] - where[..., 1], where[..., 0], where[..., 1]], axis=2)
    assert np.abs(where[..., 2]).max() < 1e-9
    assert weights.min() > -1e-9
    quarter = np.cross(parts[:, 1] - parts[:, 0], parts[:, 2] - parts[:, 0])
    assert quarter == pytest.approx(n / 4, abs=1e-12)


def test_subdivision_can_be_repeated() -> None:
    mesh = MESHES["grid"]()
    once, U = subdivide(mesh, rule="linear")
    twice, V = subdivide(once, rule="linear")
    check_manifold(twice, "grid")
    assert len(twice.triangles) == 16 * len(mesh.triangles)
    assert twice.triangle_areas.sum() == pytest.approx(mesh.triangle_areas.sum(), rel=1e-12)
    assert np.array_equal(twice.X, V(U(mesh.X)))
