"""A twisted star: a patch that is hard to unfold, however simple it looks from far away."""

from typing import Annotated

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.values import Count, Number
from plisse.shapes.parameters import LENGTH, MOST, check_vertices, shape
from plisse.shapes.patches import fill_circle
from plisse.shapes.turned import level

# Part of the turn that would bring each tip over the next notch.
ROOM = 0.95


@shape
def star(
    radius: Annotated[float, LENGTH, "from its middle to the tips"] = 0.1,
    height: Annotated[float, Number("m", least=0), "of its middle above its outline; 0 is flat"] = 0.02,
    *,
    points: Annotated[int, Count(3, 100), "of the star"] = 5,
    notches: Annotated[float, Number(above=0, below=0.9), "radius of the notches, as a part of that of the tips"] = 0.4,
    twist: Annotated[
        float, Number(least=-1, most=1), "turn of the tips; 1 brings them almost over the next notches"
    ] = 0.0,
    vertices: Annotated[int, Count(7, MOST), "about how many vertices"] = 400,
) -> Mesh:
    """A star with a raised middle and a ridge to each tip, open below, twisted about the z axis."""
    sectors = 2 * points
    rings = max(1, round((vertices / points + 0.25) ** 0.5 - 0.5))
    check_vertices("star", points * float(rings) ** 2, asked=True)
    _, triangles, _ = fill_circle(radius, rings, sectors=sectors)
    angle = 2.0 * np.pi * np.arange(sectors) / sectors
    far = radius * np.where(np.arange(sectors) % 2 == 0, 1.0, notches)
    spokes = np.stack((far * np.cos(angle), far * np.sin(angle), np.full(sectors, -height)), axis=1)
    X = np.concatenate([np.zeros((1, 3)), *(_ring(spokes, k) * (k / rings) for k in range(1, rings + 1))])
    turn = twist * ROOM * np.pi / points / (1.0 - notches)
    return level(Mesh(_twist(X, turn / radius), triangles))


def _ring(spokes: Floats, count: int) -> Floats:
    """`count` places a sector, from its first spoke's end on a straight line towards the next one's, shape (k, 3)."""
    along = (np.arange(count) / count)[None, :, None]
    return np.asarray(((1.0 - along) * spokes[:, None] + along * np.roll(spokes, -1, axis=0)[:, None]).reshape(-1, 3))


def _twist(X: Floats, rate: float) -> Floats:
    """X turned about the z axis by `rate` [1/m] times the distance from it."""
    r = np.hypot(X[:, 0], X[:, 1])
    angle = np.arctan2(X[:, 1], X[:, 0]) + rate * r
    return np.stack((r * np.cos(angle), r * np.sin(angle), X[:, 2]), axis=1)
