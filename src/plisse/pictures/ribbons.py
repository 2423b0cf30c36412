"""Edges of a mesh as thin ribbons that lie just above its triangles."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.pictures.camera import Camera

LIFT = 0.15  # height above the triangle, as a part of the ribbon's width
DEEPEST = 0.4  # of a triangle's inner radius that a ribbon may take


def make_ribbons(
    x: Floats, triangles: Ints, camera: Camera, width: float, sides: Bools | None = None
) -> tuple[Floats, Ints]:
    """Positions [m] and triangles of the ribbons along the sides of triangles (m, 3) at positions x (n, 3) [m].

    Each triangle has its own half of them, which lies in its plane, so that none sinks into a valley; they are on the
    side that the camera sees. width: of such a half [m]. sides: which sides have one, (m, 3), all when not given.
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
    facing = np.sign(np.einsum("ij,ij->i", normal, np.asarray(camera.eye) - center))
    lift = (LIFT * width * facing / double_area)[:, None, None] * normal[:, None]
    points = np.concatenate([corners, inner], axis=1) + lift
    first = 6 * np.arange(len(triangles))[:, None]
    quads = np.array([[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]])
    chosen = np.ones((len(triangles), 3), bool) if sides is None else sides
    at, side = np.nonzero(chosen)
    quad = first[at] + quads[side]
    out = np.concatenate([quad[:, (0, 1, 2)], quad[:, (0, 2, 3)]]).astype(np.int32)
    return points.reshape(-1, 3), out
