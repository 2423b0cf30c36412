"""The wall of a tube, unrolled: places around and along it, and triangles that close around it."""

import numpy as np
from scipy.spatial import Delaunay

from plisse.core.arrays import Floats, Ints
from plisse.shapes.patches import SPREADING, checkerboard, cut_cells

WALLS = ("alternating", "delaunay")


def lattice_wall(around: int, along: int) -> tuple[Floats, Ints, Floats]:
    """A wall of cells: places (n, 2), triangles, and their corners (m, 3, 2), in units of a cell.

    Places come ring by ring from below. Corners are unrolled: they reach `around` where a triangle closes the tube.
    """
    unrolled = np.stack(np.meshgrid(np.arange(around + 1.0), np.arange(along + 1.0)), axis=2)
    index = np.arange((along + 1) * around).reshape(along + 1, around)
    cut = checkerboard(along, around)
    places = np.arange((along + 1) * (around + 1)).reshape(along + 1, around + 1)
    triangles = cut_cells(np.concatenate((index, index[:, :1]), axis=1), cut)
    return unrolled[:, :-1].reshape(-1, 2), triangles, unrolled.reshape(-1, 2)[cut_cells(places, cut)]


def scattered_wall(around: int, along: int, aspect: float, seed: int) -> tuple[Floats, Ints, Floats]:
    """The same wall with its inner places at random but well spread, so that no direction is preferred.

    aspect: a cell's height over its width. Both rims stay as they are: the first and the last `around` places.
    """
    places = lattice_wall(around, along)[0]
    inner = slice(around, len(places) - around)
    places[inner] += np.random.default_rng(seed).uniform(-0.5, 0.5, size=places[inner].shape)
    places[inner, 1] = np.clip(places[inner, 1], 1 / 3, along - 1 / 3)
    for _ in range(SPREADING):
        triangles, corners = _triangulate(places, around, aspect)
        # every corner pulls its vertex to the middle of the triangle's other two
        pull = 0.5 * corners.sum(axis=1, keepdims=True) - 1.5 * corners
        total = np.stack([np.bincount(triangles.reshape(-1), pull[..., k].reshape(-1)) for k in range(2)], axis=1)
        places[inner] += (total / np.bincount(triangles.reshape(-1))[:, None])[inner]
        places[:, 0] %= around
    return (places, *_triangulate(places, around, aspect))


def _triangulate(places: Floats, around: int, aspect: float) -> tuple[Ints, Floats]:
    """Delaunay triangles of places on a tube, facing outwards, and their unrolled corners."""
    n, margin = len(places), min(around, 8)
    points = np.concatenate([places + np.array((turn * around, 0.0)) for turn in (0, -1, 1)])
    near = np.flatnonzero((points[:, 0] > -margin) & (points[:, 0] < around + margin))
    triangles = near[Delaunay(points[near] * (1.0, aspect)).simplices]
    a, b, c = (points[triangles[:, k]] for k in range(3))
    twice = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    triangles[twice < 0] = triangles[twice < 0][:, ::-1]
    # of a triangle and its copies one has its middle on the tube; those within a rim have no area
    middle = points[triangles].mean(axis=1)[:, 0]
    kept = triangles[(np.abs(twice) > 1e-9) & (middle >= 0.0) & (middle < around)]
    return (kept % n).astype(np.int32), points[kept]
