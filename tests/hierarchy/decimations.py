"""What tests ask of a decimation."""

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components
from tests.hierarchy.surfaces import on_rim

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation


def prolongation(found: Decimation, coarse: int, fine: int) -> csc_array:
    triangles, weights = found.places[coarse, fine]
    rows = np.repeat(np.arange(len(triangles)), 3)
    columns = found.meshes[coarse].triangles[triangles].ravel()
    return csc_array((weights.ravel(), (rows, columns)), shape=(len(triangles), len(found.meshes[coarse].X)))


def invariants(mesh: Mesh) -> tuple[int, int, int]:
    """Euler characteristic, number of components and of boundary loops."""
    n = len(mesh.X)
    parts = [
        connected_components(csc_array((np.ones(len(e)), e.T), shape=(n, n)), directed=False)[0]
        for e in (mesh.edges, mesh.boundary_edges)
    ]
    loops = parts[1] - int((~on_rim(mesh)).sum())
    return n - len(mesh.edges) + len(mesh.triangles), parts[0], loops


def mapped_inside(found: Decimation, coarse: int) -> tuple[Ints, Floats]:
    """Of the finest triangles that lie in one coarse one each: which one, and what part of it they fill, negative
    where they are inverted."""
    triangles, weights = found.places[coarse, len(found.meshes) - 1]
    fine = found.meshes[-1].triangles
    home = triangles[fine]
    inside = (home == home[:, :1]).all(axis=1)
    return home[inside, 0], np.asarray(np.linalg.det(weights[fine[inside]]))
