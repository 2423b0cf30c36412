"""Turned profiles with a wanted number of vertices."""

from typing import Annotated

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.values import Count
from plisse.shapes.parameters import MOST, check_vertices
from plisse.shapes.patches import ROW, profile_area, revolve

Vertices = Annotated[int, Count(50, MOST), "about how many vertices"]


def turn_profile(shape: str, profile: Floats, vertices: int, *, fewest: int = 6) -> Mesh:
    """The turned profile with about so many vertices, each with an area of √3/2 edge²."""
    edge = (profile_area(profile) / (ROW * vertices)) ** 0.5
    # a slender one has more rings than its area lets expect
    length = float(np.linalg.norm(np.diff(profile, axis=0), axis=1).sum())
    check_vertices(shape, fewest * length / edge, asked=False)
    return level(revolve(profile, edge, fewest=fewest))


def level(mesh: Mesh) -> Mesh:
    """The mesh with the middle of its height at z = 0; a turned one has its axis in place."""
    z = mesh.X[:, 2]
    return Mesh(mesh.X - (0.0, 0.0, 0.5 * (z.min() + z.max())), mesh.triangles)
