"""Where a picture is seen from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from plisse.core.arrays import Floats

Size = tuple[int, int]  # width and height in pixels


@dataclass(frozen=True)
class Camera:
    """Perspective camera at `eye`, looking at `target` [m]; `angle`: vertical field of view [degrees]."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = 28.0

    def axes(self) -> Floats:
        """Right, up and forward as rows, shape (3, 3); the world's up is z."""
        forward = np.subtract(self.target, self.eye).astype(np.float64)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        if np.linalg.norm(right) < 1e-9:  # straight down: north is up in the picture
            right = np.array([1.0, 0.0, 0.0])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])


AZIMUTH, ELEVATION, ANGLE = -58.0, 28.0, 28.0  # where the automatic camera looks from, and its field of view [degrees]
FILL = 0.84  # share of the picture that its subject may take


def aim(x: ArrayLike, *, size: Size = (1280, 960)) -> Camera:
    """Camera that just holds all points x [m], shape (n, 3).

    With image coordinates u and depth s of all points and slope t of the picture's border,
    |u − e| ≤ t (D + s) holds for e = (A − B)/2 and D ≥ (A + B)/2t, where A = max(u − t s), B = max(−u − t s).
    """
    points = np.asarray(x, dtype=np.float64).reshape(-1, 3)
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    axes, borders, (t_u, t_v) = _look_at(size)
    a_u, b_u, a_v, b_v = ((points - center) @ borders.T).max(axis=0)
    distance = max(0.5 * (a_u + b_u) / t_u, 0.5 * (a_v + b_v) / t_v, 1e-6)
    target = center + 0.5 * (a_u - b_u) * axes[0] + 0.5 * (a_v - b_v) * axes[1]
    return Camera(eye=tuple(target - distance * axes[2]), target=tuple(target), angle=ANGLE)


def find_outermost(x: Floats, *, size: Size = (1280, 960)) -> Floats:
    """The points, shape (4, 3), that alone decide where `aim` puts its camera for x [m], shape (n, 3)."""
    return np.stack([x[np.argmax(x @ border)] for border in _look_at(size)[1]])


def _look_at(size: Size) -> tuple[Floats, Floats, tuple[float, float]]:
    """Axes of the camera, the directions (4, 3) in which points leave its picture, and the slopes of its borders."""
    around, above = np.radians(AZIMUTH), np.radians(ELEVATION)
    away = np.array([np.cos(around) * np.cos(above), np.sin(around) * np.cos(above), np.sin(above)])
    axes = Camera(eye=tuple(away), target=(0.0, 0.0, 0.0)).axes()
    t_v = FILL * float(np.tan(0.5 * np.radians(ANGLE)))
    t_u = t_v * size[0] / size[1]
    right, up, forward = axes
    borders = np.stack([right - t_u * forward, -right - t_u * forward, up - t_v * forward, -up - t_v * forward])
    return axes, borders, (t_u, t_v)
