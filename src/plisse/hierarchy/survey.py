"""Figures that tell how good the levels of a hierarchy are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimated import Decimated
from plisse.hierarchy.hierarchy import Hierarchy


@dataclass(frozen=True)
class Figures:
    """One body on one level.

    mean_edge: [m] at rest. angles: least angle of a triangle at rest [degrees]: the smallest of all, the one that 1 %
    of the triangles are below, the median. distance: of the finest mesh's vertices from their places on the level,
    the largest, as a part of the size. batches: of splits that do not touch each other, to the next level; None where
    there is none, or where levels are not made by decimation.
    """

    level: int
    vertices: int
    triangles: int
    mean_edge: float
    angles: tuple[float, float, float]
    distance: float
    batches: int | None


def survey(hierarchy: Hierarchy, body: int) -> list[Figures]:
    """The figures of a body, coarse to fine."""
    finest, out = hierarchy.levels[-1][body], []
    size = float(np.linalg.norm(np.ptp(finest.X, axis=0)) / np.sqrt(3.0))
    for level, meshes in enumerate(hierarchy.levels):
        mesh = meshes[body]
        least, low, middle = np.quantile(find_least_angles(mesh), [0.0, 0.01, 0.5])
        off = np.linalg.norm(find_places(hierarchy, body, level) - finest.X, axis=1).max()
        figures = (float(mesh.edge_lengths.mean()), (float(least), float(low), float(middle)), float(off) / size)
        out.append(Figures(level, len(mesh.X), len(mesh.triangles), *figures, _count_batches(hierarchy, body, level)))
    return out


def find_least_angles(mesh: Mesh) -> Floats:
    """The least angle of each triangle at rest [degrees], shape (m,)."""
    corners = mesh.rest_corners
    sides = [corners[:, (k + 1) % 3] - corners[:, k] for k in range(3)]
    double_area = np.linalg.norm(np.cross(sides[0], sides[1]), axis=1)
    # at the corner between a side and the one before it
    angles = [np.arctan2(double_area, -np.einsum("ij,ij->i", sides[k], sides[k - 1])) for k in range(3)]
    return np.asarray(np.degrees(np.min(angles, axis=0)))


def find_places(hierarchy: Hierarchy, body: int, level: int) -> Floats:
    """Where the finest mesh's vertices lie on a body's surface on a level [m], shape (n, 3)."""
    sizes = [len(mesh.X) for mesh in hierarchy.levels[-1]]
    X = np.concatenate([mesh.X for mesh in hierarchy.levels[level]])
    along = hierarchy.between(level, hierarchy.finest).interpolate
    places = np.column_stack([along(np.ascontiguousarray(column)) for column in X.T])
    return np.split(places, np.cumsum(sizes)[:-1])[body]


def _count_batches(hierarchy: Hierarchy, body: int, level: int) -> int | None:
    if not isinstance(hierarchy, Decimated) or level == hierarchy.finest:
        return None
    made = hierarchy.bodies[body]
    return None if made is None else len(made.batches(level))
