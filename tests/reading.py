"""Mesh files as tests want them."""

from pathlib import Path

from plisse.core.arrays import Floats, Ints
from plisse.meshes.polygons import triangulate
from plisse.meshes.surfaces import read_polygons


def read_mesh(path: Path) -> tuple[Floats, Ints]:
    """Positions in file units, shape (n, 3), and triangles, shape (m, 3)."""
    polygons = read_polygons(path)
    return polygons.X, triangulate(polygons, str(path))[0]
