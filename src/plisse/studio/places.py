"""Places in the view: what a click or a rectangle meets, and turns and sizes as the gizmo and the scene say them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.scene.schedule import rotation

LEAST_SIZE, MOST_SIZE = 0.05, 20.0  # factors of one drag


def meet(origin: Floats, direction: Floats, x: Floats, triangles: Ints) -> tuple[float, int] | None:
    """How far along a ray [m] it first meets a surface at x (n, 3) [m], and the nearest corner of that triangle.

    Möller and Trumbore's test, for all triangles at once.
    """
    ray = direction / np.linalg.norm(direction)
    a, b, c = (x[triangles[:, k]] for k in range(3))
    first, second = b - a, c - a
    p = np.cross(ray, second)
    det = np.einsum("ij,ij->i", first, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ij,ij->i", origin - a, p) / det
        q = np.cross(origin - a, first)
        v = (q @ ray) / det
        far = np.einsum("ij,ij->i", second, q) / det
        hits = (np.abs(det) > 1e-300) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (far > 0.0)
    if not hits.any():
        return None
    nearest = int(np.argmin(np.where(hits, far, np.inf)))
    corners = triangles[nearest]
    point = origin + far[nearest] * ray
    return float(far[nearest]), int(corners[np.linalg.norm(x[corners] - point, axis=1).argmin()])


def frame(view: tuple[Floats, Floats, float, float], least: Floats, greatest: Floats, x: Floats) -> Longs:
    """Which of the points x (n, 3) [m] lie in a rectangle of the screen, with corners from 0 to 1, y down.

    view: the camera's position [m], its turn as a quaternion (looking along z, y down), its vertical field of view
    [radians], and width over height.
    """
    position, wxyz, fov, aspect = view
    seen = (x - position) @ matrix_of(wxyz)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.tan(0.5 * fov)
        across = 0.5 + 0.5 * seen[:, 0] / (seen[:, 2] * half * aspect)
        down = 0.5 + 0.5 * seen[:, 1] / (seen[:, 2] * half)
    inside = (seen[:, 2] > 0.0) & (across >= least[0]) & (across <= greatest[0])
    return np.flatnonzero(inside & (down >= least[1]) & (down <= greatest[1]))


def matrix_of(wxyz: Floats) -> Floats:
    """The rotation matrix (3, 3) of a quaternion."""
    w, x, y, z = np.asarray(wxyz, float) / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def angles_of(wxyz: Floats) -> list[float]:
    """Angles [degrees] about the fixed axes x, then y, then z, as a scene has them, of a quaternion's rotation."""
    R = matrix_of(wxyz)
    level = np.hypot(R[0, 0], R[1, 0])
    if level > 1e-9:
        angles = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], level), np.arctan2(R[1, 0], R[0, 0])
    else:  # x and z turn about the same axis
        angles = np.arctan2(-R[1, 2], R[1, 1]), np.arctan2(-R[2, 0], level), 0.0
    return [round(float(angle), 6) + 0.0 for angle in np.degrees(angles)]


def wxyz_of(degrees: Floats) -> Floats:
    """The quaternion of a scene's rotation, three angles [degrees]."""
    R = rotation(degrees)
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(R)))
    if w > 1e-6:
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)
    else:  # half a turn: R = 2 a aᵀ − I
        k = int(np.argmax(np.diag(R)))
        axis = (R[:, k] + np.eye(3)[k]) / np.sqrt(2.0 * (1.0 + R[k, k]))
    return np.array([w, *axis])


@dataclass(frozen=True)
class Size:
    """A body or a pin that is scaled: origin [m], turn: rotation (3, 3); reach (3,): from the origin to the gizmo along
    the turned axes [m]; scale: factors (3,) when that was measured.
    """

    origin: Floats
    turn: Floats
    reach: Floats
    scale: Floats

    @property
    def corner(self) -> Floats:
        return self.origin + self.turn @ self.reach

    def at(self, position: Floats, *, uniform: bool) -> list[float]:
        """The scale factors where the gizmo is at a position [m]."""
        way = self.turn.T @ (position - self.origin)
        factors = np.full(3, (way @ self.reach) / (self.reach @ self.reach)) if uniform else way / self.reach
        return [float(f"{f:.4g}") for f in self.scale * np.clip(factors, LEAST_SIZE, MOST_SIZE)]


def measure_size(x: Floats, origin: Floats, turn: Floats, scale: Floats) -> Size:
    """The size of what has vertices x (k, 3) [m], with the gizmo at its farthest corner; a flat side has a little."""
    reach = np.abs((x - origin) @ turn).max(axis=0)
    return Size(origin, turn, np.maximum(reach, 0.2 * reach.max()), scale)
