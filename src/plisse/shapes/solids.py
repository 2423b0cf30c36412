"""Creatures, and rigid things to press shells against."""

from typing import Annotated

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.values import Count, Number
from plisse.shapes.creatures import COW, COW_BOX, MONSTER, MONSTER_BOX
from plisse.shapes.parameters import LENGTH, MOST, check_vertices, shape
from plisse.shapes.patches import checkerboard, cut_cells
from plisse.shapes.sculpt import FINEST, Field, carve, polygonise

# Holes of the cage as angles from their axes: around the 12 corners of an icosahedron and its 20 faces.
PENTAGON, HEXAGON = np.radians(13.5), np.radians(17.0)


@shape
def monster(
    size: Annotated[float, LENGTH, "its height, which is its largest extent"] = 0.3,
    *,
    resolution: Annotated[int, Count(40, FINEST), "cells along it"] = 48,
) -> Mesh:
    """A plump monster with horns, arms and a tail that looks along x."""
    return carve(MONSTER, MONSTER_BOX, size, resolution)


@shape
def cow(
    size: Annotated[float, LENGTH, "its length, which is its largest extent"] = 0.5,
    *,
    resolution: Annotated[int, Count(44, FINEST), "cells along it"] = 48,
) -> Mesh:
    """A standing cow that looks along x."""
    return carve(COW, COW_BOX, size, resolution)


@shape
def cage(
    radius: Annotated[float, LENGTH, "of its outer side"] = 0.2,
    thickness: Annotated[float | None, LENGTH, "of its wall", "0.12 × `radius`"] = None,
    *,
    resolution: Annotated[int, Count(40, FINEST), "cells along its diameter"] = 64,
) -> Mesh:
    """A hollow ball with 32 round holes, placed as the faces of a football: a rigid fullerene."""
    thickness = 0.12 * radius if thickness is None else thickness
    if not 0.08 * radius <= thickness <= 0.4 * radius:
        raise SceneError(f"A cage's thickness must be from 0.08 to 0.4 of its radius, not {thickness:g}.")
    ball = (-radius, -radius, -radius), (radius, radius, radius)
    return polygonise(_cage_field(radius, thickness), ball, resolution=resolution)


def _cage_field(radius: float, thickness: float) -> Field:
    """The wall without its holes, all rims rounded over half the thickness."""
    golden = (1 + 5**0.5) / 2
    turn = (0, 1, 2), (2, 0, 1), (1, 2, 0)
    corners = [np.array((1.0, s * golden, 0.0))[list(order)] for s in (-1, 1) for order in turn]
    faces = [np.array((1.0, s, t)) for s in (-1, 1) for t in (-1, 1)]
    faces += [np.array((golden, s / golden, 0.0))[list(order)] for s in (-1, 1) for order in turn]
    axes = [(axis / np.linalg.norm(axis), np.sin(PENTAGON)) for axis in corners]
    axes += [(axis / np.linalg.norm(axis), np.sin(HEXAGON)) for axis in faces]
    middle, blend = radius - 0.5 * thickness, 0.5 * thickness

    def field(x: Floats) -> Floats:
        far = np.linalg.norm(x, axis=-1)
        wall = np.abs(far - middle) - 0.5 * thickness
        hole = np.full(far.shape, -np.inf)
        for axis, sine in axes:  # each serves two holes, opposite to each other
            away = np.sqrt(np.maximum(far**2 - (x @ axis) ** 2, 0.0))
            hole = np.maximum(hole, sine * middle - away)
        excess = np.maximum(0.0, blend - np.abs(wall - hole))
        return np.asarray(np.maximum(wall, hole) + excess**2 / (4.0 * blend))

    return field


@shape
def cutter(
    radius: Annotated[float, LENGTH, "from its axis to the middle of its wall at the tips"] = 0.1,
    height: Annotated[float, LENGTH, "along z"] = 0.05,
    thickness: Annotated[float, LENGTH, "of its wall"] = 0.008,
    *,
    points: Annotated[int, Count(2, 12), "of the star"] = 5,
    depth: Annotated[float, Number(above=0, below=0.5), "of the notches between them, as a part of the radius"] = 0.3,
    resolution: Annotated[int, Count(36, MOST), "vertices along its outline"] = 120,
) -> Mesh:
    """A cookie cutter: the wall around a rounded star, with rounded rims."""
    if thickness > 0.5 * height:
        raise SceneError(f"A cutter's thickness must be at most half its height, not {thickness:g}.")
    outline, normal, length = _star_outline(radius, points, depth, resolution)
    _check_turns(outline, normal, thickness)
    ring = _wall_section(height, thickness, length / resolution)
    check_vertices("cutter", len(ring) * float(resolution), asked=True)
    X = np.empty((len(ring), resolution, 3))
    X[..., :2] = outline + ring[:, None, :1] * normal
    X[..., 2] = ring[:, 1:]
    index = np.pad(np.arange(X.size // 3).reshape(X.shape[:2]), ((0, 1), (0, 1)), mode="wrap")
    return Mesh(X.reshape(-1, 3), cut_cells(index, checkerboard(*X.shape[:2])))


def _star_outline(radius: float, points: int, depth: float, count: int) -> tuple[Floats, Floats, float]:
    """`count` points at even distances on the curve r(θ), their outward normals, (count, 2) each, and its length [m].

    r(θ) = R (1 − depth (1 − cos nθ)/2).
    """
    angle = np.linspace(0.0, 2.0 * np.pi, 20 * count + 1)
    r = radius * (1.0 - 0.5 * depth * (1.0 - np.cos(points * angle)))
    slope = -0.5 * radius * depth * points * np.sin(points * angle)
    arc = np.concatenate(([0.0], np.cumsum(np.hypot(np.diff(r), 0.5 * (r[1:] + r[:-1]) * np.diff(angle)))))
    at = np.interp(arc[-1] * np.arange(count) / count, arc, angle)
    r, slope = np.interp(at, angle, r), np.interp(at, angle, slope)
    out, on = np.stack((np.cos(at), np.sin(at)), axis=1), np.stack((-np.sin(at), np.cos(at)), axis=1)
    normal = r[:, None] * out - slope[:, None] * on
    return r[:, None] * out, normal / np.linalg.norm(normal, axis=1, keepdims=True), float(arc[-1])


def _check_turns(outline: Floats, normal: Floats, thickness: float) -> None:
    """Refuses walls that are too thick for the turns of their outline."""
    step = np.linalg.norm(np.roll(outline, -1, axis=0) - outline, axis=1)
    turn = np.linalg.norm(np.roll(normal, -1, axis=0) - normal, axis=1)
    if thickness * float((turn / step).max()) > 1.2:
        raise SceneError(
            f"A cutter's thickness of {thickness:g} m is too much for its turns: give less, or less depth."
        )


def _wall_section(height: float, thickness: float, edge: float) -> Floats:
    """The wall's cross-section at even steps of about `edge` [m], from its foot: outwards and up [m], shape (k, 2)."""
    half, straight = 0.5 * thickness, 0.5 * height - 0.5 * thickness
    turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 33)
    outer = np.stack((half * np.cos(turn), half * np.sin(turn)), axis=1)
    outer[turn < 0, 1] -= straight
    outer[turn >= 0, 1] += straight
    outer[16, 1] = 0.0  # the straight part's middle, which lies on it
    loop = np.concatenate((outer, -outer[1:], outer[:1]))
    arc = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(loop, axis=0), axis=1))))
    # a multiple of four has vertices at the top and at the foot, and closes the checkerboard of cells
    count = 4 * max(2, round(0.25 * float(arc[-1]) / edge))
    at = arc[-1] * np.arange(count) / count
    return np.stack([np.interp(at, arc, loop[:, k]) for k in range(2)], axis=1)
