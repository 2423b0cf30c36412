"""Normals for shading, against sums in plain numpy."""

import numpy as np
import pytest

from plisse.core.mesh import Mesh
from plisse.pictures.normals import CREASE, corner_normals, has_creases, vertex_normals
from plisse.shapes.catalogue import make_shape


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-300))


@pytest.fixture(params=["sphere", "box", "cylinder"])
def mesh(request: pytest.FixtureRequest) -> Mesh:
    return make_shape(request.param, {})


def test_a_vertex_takes_the_mean_of_its_triangles_by_area(mesh: Mesh) -> None:
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    areas, expected = np.cross(b - a, c - a), np.zeros_like(mesh.X)
    for k in range(3):
        np.add.at(expected, mesh.triangles[:, k], areas)
    assert vertex_normals(mesh.X, mesh.triangles) == pytest.approx(unit(expected), abs=1e-12)
    loose = vertex_normals(np.vstack([mesh.X, [0.0, 0.0, 9.0]]), mesh.triangles)
    assert np.array_equal(loose[-1], np.zeros(3))


def test_a_corner_at_a_sharp_edge_has_its_triangles_normal(mesh: Mesh) -> None:
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    flat = unit(np.cross(b - a, c - a))[:, None, :]
    smooth = vertex_normals(mesh.X, mesh.triangles)[mesh.triangles]
    expected = np.where(np.sum(flat * smooth, axis=-1, keepdims=True) < CREASE, flat, smooth)
    assert corner_normals(mesh.X, mesh.triangles) == pytest.approx(expected, abs=1e-12)
    assert has_creases(mesh.X, mesh.triangles) == bool(np.any(expected != smooth))
