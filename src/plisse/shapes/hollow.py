"""Closed bodies made of a turned profile: a ribbed one, and one with a pocket."""

from typing import Annotated

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.values import Count, Number
from plisse.shapes.parameters import LENGTH, shape
from plisse.shapes.turned import Vertices, turn_profile

# How rounded the grooves between ribs are: 0 would make them creases.
ROUNDNESS = 0.25


@shape
def pumpkin(
    radius: Annotated[float, LENGTH, "of its widest circle, on the ribs"] = 0.065,
    height: Annotated[float, LENGTH, "along z"] = 0.1,
    *,
    ribs: Annotated[int, Count(3, 40), "around it"] = 10,
    grooves: Annotated[float, Number(least=0, most=0.3), "their depth, as a part of the radius"] = 0.15,
    dimples: Annotated[float, Number(least=0, most=0.8), "their depth at the poles, as a part of the height"] = 0.25,
    vertices: Vertices = 1600,
) -> Mesh:
    """A ribbed pumpkin about the z axis, closed, with a dimple at each pole."""
    mesh = turn_profile("pumpkin", _dimpled_profile(radius, height, dimples), vertices)
    r = np.hypot(mesh.X[:, 0], mesh.X[:, 1])
    wave = np.sin(0.5 * ribs * np.arctan2(mesh.X[:, 1], mesh.X[:, 0]))
    rib = (np.sqrt(wave**2 + ROUNDNESS**2) - ROUNDNESS) / (np.sqrt(1.0 + ROUNDNESS**2) - ROUNDNESS)
    # ribs run out towards the poles, where rings have too few vertices for them
    part = np.clip(r / (0.7 * radius), 0.0, 1.0)
    shrink = 1.0 - grooves * part**2 * (3.0 - 2.0 * part) * (1.0 - rib)
    return Mesh(mesh.X * np.stack((shrink, shrink, np.ones_like(shrink)), axis=1), mesh.triangles)


def _dimpled_profile(radius: float, height: float, dimples: float) -> Floats:
    """Cross-section [m], shape (400, 2), from pole to pole: an ellipse, lowered by d (1 − (r/R)²)² towards its poles.

    The poles lie `dimples` × height / 2 below what is highest.
    """
    turn = np.linspace(0.0, np.pi, 400)
    r = np.sin(turn)

    def heights(d: float) -> Floats:
        z = np.cos(turn) * (1.0 - d * (1.0 - r**2) ** 2)
        return z / z.max()

    low, high = 0.0, 0.95
    for _ in range(50):  # the pole sinks as d grows
        d = 0.5 * (low + high)
        low, high = (d, high) if heights(d)[0] > 1.0 - dimples else (low, d)
    return np.stack((radius * r, 0.5 * height * heights(low)), axis=1)


@shape
def pocketed(
    radius: Annotated[float, LENGTH, "of the ball"] = 0.1,
    pocket: Annotated[float | None, LENGTH, "radius of the pocket", "0.5 × `radius`"] = None,
    neck: Annotated[float | None, LENGTH, "radius of its opening", "0.3 × `radius`"] = None,
    *,
    vertices: Vertices = 1600,
) -> Mesh:
    """A ball with a round pocket turned inwards through a narrow neck at its top: pressure pops it out."""
    pocket = 0.5 * radius if pocket is None else pocket
    neck = 0.3 * radius if neck is None else neck
    if not neck < pocket <= 0.6 * radius:
        raise SceneError(
            f"A pocketed ball's pocket of {pocket:g} m must be wider than its neck of {neck:g} m and at most 0.6 of "
            "the ball's radius."
        )
    return turn_profile("pocketed", _pocket_profile(radius, pocket, neck), vertices)


def _pocket_profile(radius: float, pocket: float, neck: float) -> Floats:
    """Cross-section [m], shape (k, 2): the pocket from its floor up, a round lip, the ball down to its lower pole."""
    lip = 0.08 * radius
    # the lip touches the ball from inside and the pocket from outside; its nearest point to the axis is the neck
    r = neck + lip
    z = ((radius - lip) ** 2 - r**2) ** 0.5
    rise = ((pocket + lip) ** 2 - r**2) ** 0.5
    from_pocket, from_ball = np.arctan2(rise, r), np.arctan2(z, r)
    floor = np.linspace(-0.5 * np.pi, from_pocket, 200)
    around = np.linspace(from_pocket + np.pi, from_ball, 100)
    outside = np.linspace(from_ball, -0.5 * np.pi, 300)
    parts = ((0.0, z - rise, pocket, floor), (r, z, lip, around[1:-1]), (0.0, 0.0, radius, outside))
    profile = np.concatenate([np.stack((a + q * np.cos(t), b + q * np.sin(t)), axis=1) for a, b, q, t in parts])
    profile[[0, -1], 0] = 0.0
    return profile
