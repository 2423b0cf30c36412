"""Toys to throw, and what they are thrown at: creatures, polyhedra, a gear, a hook."""

from typing import Annotated

import numpy as np
from scipy.spatial import ConvexHull

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.values import Choice, Count
from plisse.shapes.creatures import (
    DANCER,
    DANCER_BOX,
    DUCK,
    DUCK_BOX,
    HOOK,
    HOOK_BOX,
    OCTOCAT,
    OCTOCAT_BOX,
    TEDDY,
    TEDDY_BOX,
)
from plisse.shapes.parameters import LENGTH, shape
from plisse.shapes.patches import quarter
from plisse.shapes.sculpt import FINEST, Field, carve, polygonise

# Corners of polyhedra, whose triangles are the convex hull's.
POLYHEDRA = {
    "tetrahedron": [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)],
    "wedge": [(x, y, -0.75) for x in (-1, 1) for y in (-1, 1)] + [(0, -1, 0.75), (0, 1, 0.75)],
    "octahedron": [tuple(sign * axis) for axis in np.eye(3) for sign in (-1, 1)],
}
Size = Annotated[float, LENGTH, "its largest extent"]


@shape
def duck(size: Size = 0.3, *, resolution: Annotated[int, Count(16, FINEST), "cells along it"] = 32) -> Mesh:
    """A duck that looks along x."""
    return carve(DUCK, DUCK_BOX, size, resolution)


@shape
def teddy(size: Size = 0.3, *, resolution: Annotated[int, Count(20, FINEST), "cells along it"] = 32) -> Mesh:
    """A teddy bear that sits and looks along x."""
    return carve(TEDDY, TEDDY_BOX, size, resolution)


@shape
def octocat(size: Size = 0.3, *, resolution: Annotated[int, Count(20, FINEST), "cells along it"] = 32) -> Mesh:
    """A cat with five arms of an octopus that looks along x."""
    return carve(OCTOCAT, OCTOCAT_BOX, size, resolution)


@shape
def dancer(size: Size = 2.0, *, resolution: Annotated[int, Count(30, FINEST), "cells along it"] = 64) -> Mesh:
    """A sky dancer: a closed tube along z with two arms that are raised."""
    return carve(DANCER, DANCER_BOX, size, resolution)


@shape
def hook(size: Size = 0.15, *, resolution: Annotated[int, Count(20, FINEST), "cells along it"] = 32) -> Mesh:
    """A coat hook that stands out along x, with a raised tip."""
    return carve(HOOK, HOOK_BOX, size, resolution)


@shape
def polyhedron(
    radius: Annotated[float, LENGTH, "from its middle to its farthest corner"] = 0.1,
    *,
    kind: Annotated[str, Choice(tuple(POLYHEDRA)), "which one; a wedge is a roof with a sharp ridge"] = "tetrahedron",
    subdivisions: Annotated[int, Count(most=9, why="each makes four times as many triangles"), "of its sides"] = 4,
) -> Mesh:
    """A polyhedron with sharp edges."""
    X = np.array(POLYHEDRA[kind], dtype=np.float64)
    X *= radius / np.linalg.norm(X, axis=1).max()
    hull = ConvexHull(X)
    a, b, c = (X[hull.simplices[:, k]] for k in range(3))
    inwards = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
    triangles = np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices).astype(np.int32)
    mesh = Mesh(X, triangles)
    for _ in range(subdivisions):
        mesh = quarter(mesh)
    return mesh


@shape
def gear(
    radius: Annotated[float, LENGTH, "from its axis to the tips of its teeth"] = 0.2,
    height: Annotated[float, LENGTH, "along z"] = 0.1,
    *,
    teeth: Annotated[int, Count(3, 30), "around it"] = 8,
    resolution: Annotated[int, Count(40, FINEST), "cells along its diameter"] = 64,
) -> Mesh:
    """A gear wheel about the z axis with a round hole, its edges a little rounded."""
    if height > 2.0 * radius:
        raise SceneError(f"A gear's height must be at most twice its radius, not {height:g}.")
    # a field's even cells do not resolve a plate that is thinner than four of them
    if height * resolution < 8.0 * radius:
        raise SceneError(f"A gear's height of {height:g} m needs a resolution of at least {8.0 * radius / height:.0f}.")
    box = (-radius, -radius, -0.5 * height), (radius, radius, 0.5 * height)
    return polygonise(_gear_field(radius, height, teeth), box, resolution=resolution)


def _gear_field(radius: float, height: float, teeth: int) -> Field:
    """Teeth a quarter of the radius deep with slanted flanks, a hole of a quarter of the radius, two flat sides."""
    depth, hole, blend = 0.25 * radius, 0.25 * radius, 0.06 * radius

    def field(x: Floats) -> Floats:
        r, angle = np.hypot(x[..., 0], x[..., 1]), np.arctan2(x[..., 1], x[..., 0])
        tooth = np.clip(0.5 + 1.5 * np.cos(teeth * angle), 0.0, 1.0)
        # flanks are steep: r − R(θ) is more than the distance to them
        steep = np.hypot(1.0, 1.5 * depth * teeth * np.sin(teeth * angle) * ((tooth > 0) & (tooth < 1)) / radius)
        total = (r - radius + depth * (1.0 - tooth)) / steep
        for other in (hole - r, np.abs(x[..., 2]) - 0.5 * height):
            excess = np.maximum(0.0, blend - np.abs(total - other))
            total = np.maximum(total, other) + excess**2 / (4.0 * blend)
        return np.asarray(total)

    return field
