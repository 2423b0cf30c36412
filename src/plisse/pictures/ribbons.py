"""Lines on a surface as thin ribbons that lie just above it."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.pictures.camera import Camera

LIFT = 0.05  # height above the surface, as a part of the ribbon's width
DEEPEST = 0.4  # of a triangle's inner radius that a ribbon may take


def frame_triangles(x: Floats, triangles: Ints, camera: Camera, width: float) -> tuple[Floats, Ints]:
    """Positions [m] and triangles of ribbons along all sides of triangles (m, 3) at positions x (n, 3) [m].

    Each triangle has its own half of them, which lies in its plane, so that none sinks into a valley; they are on the
    side that the camera sees. width: of such a half [m].
    """
    corners = x[triangles]
    # inner corners lie on the lines to the centre of the inscribed circle, all as far from the sides
    lengths = np.linalg.norm(corners[:, (1, 2, 0)] - corners[:, (2, 0, 1)], axis=2)
    around = np.maximum(lengths.sum(axis=1), 1e-300)
    center = np.einsum("ij,ijk->ik", lengths, corners) / around[:, None]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double_area = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    part = np.minimum(width * around / double_area, DEEPEST)
    inner = corners + part[:, None, None] * (center[:, None] - corners)
    points = np.concatenate([corners, inner], axis=1) + _lift(normal, center, camera, width)[:, None]
    quads = np.array([[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]])
    return points.reshape(-1, 3), _cut_quads(
        (6 * np.arange(len(triangles), dtype=np.int64)[:, None, None] + quads).reshape(-1, 4)
    )


def trace_lines(ends: Floats, normals: Floats, camera: Camera, width: float) -> tuple[Floats, Ints]:
    """Positions [m] and triangles of ribbons along lines (b, 2, 3) [m] on a surface; normals: its own there, (b, 3).

    width: of a ribbon [m]; it is on the side that the camera sees.
    """
    across = np.cross(normals, ends[:, 1] - ends[:, 0])
    across *= 0.5 * width / np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
    middle = ends.mean(axis=1)
    sides = np.stack([ends[:, 0] - across, ends[:, 1] - across, ends[:, 1] + across, ends[:, 0] + across], axis=1)
    points = sides + _lift(normals, middle, camera, width)[:, None]
    return points.reshape(-1, 3), _cut_quads(np.arange(4 * len(ends), dtype=np.int64).reshape(-1, 4))


def _lift(normals: Floats, places: Floats, camera: Camera, width: float) -> Floats:
    """Offsets (b, 3) [m] towards the side of a surface that the camera sees."""
    facing = np.sign(np.einsum("ij,ij->i", normals, np.asarray(camera.eye) - places))
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    return np.asarray((LIFT * width * facing / lengths)[:, None] * normals)


def _cut_quads(quads: Longs) -> Ints:
    return np.concatenate([quads[:, (0, 1, 2)], quads[:, (0, 2, 3)]]).astype(np.int32)
