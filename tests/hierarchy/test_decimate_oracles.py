"""Decimated meshes beside those of other libraries, at the same number of vertices."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.hierarchy.surfaces import bare

from plisse.core.arrays import Floats, Ints
from plisse.hierarchy.decimate import decimate
from plisse.shapes import catalogue

pytestmark = pytest.mark.slow

SHAPES = {
    "ball": lambda: catalogue.sphere(subdivisions=5),
    "torus": lambda: catalogue.torus(around=120, across=40),
    "hat": lambda: bare(catalogue.hat(vertices=6000)),
    "bunny": lambda: catalogue.bunny(resolution=60),
}


def compact(X: Floats, triangles: Ints) -> tuple[Floats, Ints]:
    used, numbered = np.unique(triangles, return_inverse=True)
    return X[used], numbered.reshape(-1, 3)


def by_qslim(X: Floats, triangles: Ints, faces: int) -> tuple[Floats, Ints]:
    """Quadric error simplification by libigl."""
    igl = pytest.importorskip("igl")
    return compact(*[part for part in igl.qslim(X, triangles, faces) if isinstance(part, np.ndarray)][:2])


def by_fast_simplification(X: Floats, triangles: Ints, faces: int) -> tuple[Floats, Ints]:
    return compact(*pytest.importorskip("fast_simplification").simplify(X, triangles, target_count=faces))


def simplify(
    method: Callable[..., tuple[Floats, Ints]], X: Floats, triangles: Ints, wanted: int
) -> tuple[Floats, Ints]:
    """A mesh with so many vertices by a method that counts triangles, of which a mesh with a rim has fewer."""
    faces = 2 * wanted - 4
    for _ in range(20):
        found = method(X, triangles, faces)
        if len(found[0]) == wanted:
            break
        faces += wanted - len(found[0])
    assert len(found[0]) == wanted
    return found


def farthest(points: Floats, X: Floats, triangles: Ints) -> float:
    """Greatest distance of points to a mesh."""
    igl = pytest.importorskip("igl")
    return float(np.sqrt(igl.point_mesh_squared_distance(points, X, triangles)[0].max()))


@pytest.mark.parametrize("method", [by_qslim, by_fast_simplification])
@pytest.mark.parametrize("name", SHAPES)
def test_as_near_to_the_fine_mesh_as_by_others(name: str, method: Callable[..., tuple[Floats, Ints]]) -> None:
    mesh = SHAPES[name]()
    triangles = mesh.triangles.astype(np.int64)
    wanted = len(mesh.X) // 60
    theirs = farthest(mesh.X, *simplify(method, mesh.X, triangles, wanted))
    ours = []
    for seed in range(3):
        coarse = decimate(mesh, [wanted], seed=seed).meshes[0]
        assert len(coarse.X) == wanted
        ours.append(farthest(mesh.X, coarse.X, coarse.triangles.astype(np.int64)))
    # their triangles may be slivers, ours must not
    assert np.median(ours) <= 1.1 * theirs, f"{np.median(ours) / theirs:.2f}"
