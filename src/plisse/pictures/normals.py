"""Normals of triangle meshes for shading: of vertices, and of corners where edges are to stay sharp."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.kernels.normals import split_normals, sum_normals

CREASE = float(np.cos(np.radians(40.0)))  # a corner further than this from the mean normal is a real edge


def vertex_normals(x: Floats, triangles: Ints) -> Floats:
    """Unit normals (n, 3) at positions x [m] (n, 3): those of the triangles (m, 3) around, weighted by area."""
    out = np.zeros((len(x), 3))
    sum_normals(x, triangles, out)
    return out


def corner_normals(x: Floats, triangles: Ints) -> Floats:
    """Unit normals (m, 3, 3) of the triangles' corners: the vertex's, the triangle's own at sharp edges."""
    out = np.empty((len(triangles), 3, 3))
    split_normals(x, triangles, vertex_normals(x, triangles), CREASE, out)
    return out


def has_creases(x: Floats, triangles: Ints) -> bool:
    """Whether some corner's normal is not its vertex's."""
    return bool(np.any(corner_normals(x, triangles) != vertex_normals(x, triangles)[triangles]))
