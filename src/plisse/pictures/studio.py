"""The lights of a picture, what of them reaches surfaces and grounds, and the grounds themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plisse.core.arrays import Floats, Ints, Singles
from plisse.core.mesh import find_bounds
from plisse.kernels.shading import Grounds
from plisse.kernels.shadows import (
    Casters,
    Disc,
    Lights,
    Receivers,
    cut_triangles,
    draw_maps,
    gather,
    measure_triangles,
    sample_triangles,
    soften,
)
from plisse.kernels.threads import share_out
from plisse.kernels.visibility import View

AT_ONCE = 8  # lights whose maps are kept at a time
# those of sky and bounce are multiples of that
KEY_LIGHTS, SKY_LIGHTS, BOUNCE_LIGHTS = 40, 32, 8
TURN = np.pi * (3.0 - np.sqrt(5.0))  # golden angle, which spreads directions evenly
KEY_RADIUS = 2.5  # of the key light's disc as seen from the scene [degrees]
SHARP_TEXELS, SOFT_TEXELS, GROUND_TEXELS = 1024, 448, 192  # a side of maps and of grounds


@dataclass(frozen=True)
class Ground:
    """Plane normal·x = offset [m] that catches shadows, seen from the side that its normal points to.

    A level one has the backdrop's colour; a tilted one is lighter or darker, as it faces the lights.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0


class Reach(NamedTuple):
    """The ball that shadow maps hold [m]; grounds fade outside of it."""

    center: Floats
    radius: float


class Studio:
    """Three kinds of lights around a ball: a key light high on the camera's left, the sky, and what the floor returns.

    colors: their linear rgb, shape (3, 3).
    """

    def __init__(self, view: View, reach: Reach, colors: Floats) -> None:
        self.view, self.reach, self.colors = view, reach, colors
        few, many = _aim_key(view.axes)
        self.towards = few[0]
        self.key = _hang(few, np.full(len(few), 1.0 / len(few)), SHARP_TEXELS, reach)
        self.disc = _spread(self.key, few, many)
        self.sky = _hang(*_aim_dome(SKY_LIGHTS, 1.0), SOFT_TEXELS, reach)
        self.bounce = _hang(*_aim_dome(BOUNCE_LIGHTS, -1.0), SOFT_TEXELS, reach)

    def lay(self, grounds: Sequence[Ground], x: Floats) -> Grounds:
        """Grounds that no light has been gathered on yet. x: positions of all that casts shadows [m], shape (n, 3)."""
        planes = np.array([(*ground.normal, ground.offset) for ground in grounds], dtype=np.float64).reshape(-1, 4)
        planes /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
        normals = np.ascontiguousarray(planes[:, :3])
        center, radius = self.reach
        texel, middle = 8.0 * radius / GROUND_TEXELS, 0.5 * (GROUND_TEXELS - 1)
        first = np.cross(normals, np.where(np.abs(normals[:, 1:2]) < 0.9, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)))
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        axes = np.stack([first, np.cross(normals, first)], axis=1)
        origins = center - (normals @ center - planes[:, 3])[:, None] * normals
        # a ray B q meets the plane at eye − rise/(n·B q) B q
        rays, rise = _find_rays(self.view), normals @ self.view.eye - planes[:, 3]
        aside = middle + np.einsum("kar,kr->ka", axes, self.view.eye - origins) / texel
        views = np.empty((len(planes), 3, 3))
        views[:, 2] = normals @ rays
        views[:, :2] = aside[:, :, None] * views[:, 2:] - (rise[:, None, None] / texel) * (axes @ rays)
        # light without shadows
        level = np.array([_shine(np.array([[0.0, 0.0, 1.0]]), lights)[0] for lights in (self.key, self.sky)])
        tones = 1.0 / (level @ self.colors[:2])
        sky = np.zeros((len(planes), GROUND_TEXELS, GROUND_TEXELS), np.float32)
        shaded = np.array([self._find_shaded(*each, x) for each in zip(planes, origins, axes / texel, strict=True)])
        return Grounds(
            planes, origins, axes * texel, views, sky, _shine(normals, self.key), tones, shaded.reshape(-1, 4) + middle
        )

    def _find_shaded(self, plane: Floats, origin: Floats, axes: Floats, x: Floats) -> Floats:
        """First and last column and row of a plane, from its origin, that hold the shadows of the box around x."""
        corners = np.stack(np.meshgrid(*find_bounds(x).T), axis=-1)
        rays = self.key.directions / np.maximum(self.key.directions @ plane[:3], 1e-3)[:, None]
        corners = corners.reshape(-1, 1, 3)
        places = (corners - (corners @ plane[:3] - plane[3])[:, :, None] * rays - origin) @ axes.T
        low, high = places.min(axis=(0, 1)) - 1.0, places.max(axis=(0, 1)) + 1.0
        return np.array([low[0], high[0], low[1], high[1]])

    def shine(self, x: Floats, triangles: Ints, lit: Receivers, soft: Receivers, grounds: Grounds) -> Grounds:
        """Gathers the key's light, and that of sky and bounce; returns the grounds with the sky's light on them."""
        longest = np.empty(len(triangles))
        share_out(measure_triangles, len(triangles), x, triangles, longest)
        near = (x - self.reach.center).astype(np.float32)
        _gather_key(_find_casters(near, triangles, longest, self.key.texel), self.key, self.disc, lit)
        casters, floors = _find_casters(near, triangles, longest, self.sky.texel), _make_floors(grounds, self.reach)
        _gather_soft(casters, self.sky, 0, soft, floors)
        _gather_soft(casters, self.bounce, 1, soft)
        # blurred a little: each light of the sky casts a hard shadow
        light = floors.light[0].reshape(grounds.sky.shape)
        for axis in (1, 2):
            light = np.float32(0.5) * light + np.float32(0.25) * (np.roll(light, 1, axis) + np.roll(light, -1, axis))
        return grounds._replace(sky=light)


def make_receivers(count: int, *, kinds: int = 1) -> Receivers:
    """Points without light; kinds: of lights that are told apart."""
    points, normals = np.empty((3, count), np.float32), np.empty((3, count), np.float32)
    return Receivers(points, normals, np.zeros((kinds, count), np.float32), np.zeros((kinds, count), np.float32))


def _gather_key(casters: Casters, lights: Lights, disc: Disc, lit: Receivers) -> None:
    """Adds what the key light gives: who sees all or none of its rim and middle is taken to see all or none of it."""
    maps = np.empty((len(lights.directions), SHARP_TEXELS, SHARP_TEXELS), np.float32)
    share_out(draw_maps, len(maps), casters, lights, 0, maps, block=1)
    share_out(gather, lit.points.shape[1], lit, 0, lights, 0, maps)
    light, full = lit.light[0], lit.full[0]
    between = np.flatnonzero((light > 1e-3 * full) & (light < 0.999 * full))
    share_out(soften, len(between), lit, between, lights, maps, disc)


def _gather_soft(casters: Casters, lights: Lights, kind: int, *receivers: Receivers) -> None:
    """Adds what all of some soft lights give."""
    maps = np.empty((AT_ONCE, SOFT_TEXELS, SOFT_TEXELS), np.float32)
    for first in range(0, len(lights.directions), AT_ONCE):
        share_out(draw_maps, len(maps), casters, lights, first, maps, block=1)
        for each in receivers:
            share_out(gather, each.points.shape[1], each, kind, lights, first, maps)


def _find_casters(near: Singles, triangles: Ints, longest: Floats, texel: float) -> Casters:
    """near: positions [m], shape (n, 3); longest: squares of the triangles' longest edges [m²]."""
    orders, large = np.empty(len(triangles), np.uint8), np.empty(len(triangles), np.int64)
    first, corners = np.empty(len(triangles) + 1, np.int64), np.zeros(len(near), np.bool_)
    count = cut_triangles(triangles, longest, texel, orders, first, large, corners)
    used = int(np.count_nonzero(corners))
    points = np.empty((3, used + first[-1]), np.float32)
    points[:, :used] = near[corners].T
    share_out(sample_triangles, len(triangles), near, triangles, orders, first + used, points)
    return Casters(points, near[triangles[large[:count]]])


def _make_floors(grounds: Grounds, reach: Reach) -> Receivers:
    """The texels of all grounds as receivers."""
    steps = np.arange(GROUND_TEXELS) - 0.5 * (GROUND_TEXELS - 1)
    floors = make_receivers(grounds.sky.size)
    points = floors.points.reshape(3, *grounds.sky.shape)
    points[:] = (grounds.origins - reach.center).T[:, :, None, None]
    points += steps[None, None, None, :] * grounds.axes[:, 0].T[:, :, None, None]
    points += steps[None, None, :, None] * grounds.axes[:, 1].T[:, :, None, None]
    floors.normals[:] = np.repeat(grounds.planes[:, :3].T, GROUND_TEXELS**2, axis=1)
    return floors


def _find_rays(view: View) -> Floats:
    """B, the ray B (px, py, 1) through a place of the image [samples], shape (3, 3)."""
    right, up, forward = view.axes
    middle = forward - view.middle[0] / view.focal * right + view.middle[1] / view.focal * up
    return np.stack([right / view.focal, -up / view.focal, middle], axis=1)


def see_planes(planes: Floats, view: View) -> Floats:
    """Inverse depth of planes n·x = d, (n, d), in the image: factors of column, row and 1, shape (k, 3).

    −n·ray/(n·eye − d), and zero where the eye is below the plane.
    """
    rise = planes[:, :3] @ view.eye - planes[:, 3]
    inverse = np.divide(-1.0, rise, out=np.zeros_like(rise), where=rise > 0.0)
    return np.ascontiguousarray(inverse[:, None] * (planes[:, :3] @ _find_rays(view)))


def _shine(normals: Floats, lights: Lights) -> Floats:
    """What lights give to open planes with these normals (k, 3), shape (k,)."""
    return np.asarray(lights.strengths @ np.maximum(0.0, lights.directions @ normals.T))


def _hang(directions: Floats, strengths: Floats, texels: int, reach: Reach) -> Lights:
    """Lights whose maps of this many texels a side hold the reach."""
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    side = np.cross(directions, np.array([0.31, 0.95, 0.05]))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    # every map is turned otherwise, or the steps of their texels would add up
    turn = TURN * np.arange(len(directions))[:, None]
    side = np.cos(turn) * side + np.sin(turn) * np.cross(directions, side)
    texel = float(2.02 * reach.radius / (texels - 2))
    frames = np.empty((len(directions), 3, 4))
    frames[:, 0, :3], frames[:, 1, :3] = side / texel, np.cross(directions, side) / texel
    frames[:, 2, :3] = directions
    frames[:, :, 3] = 0.5 * texels, 0.5 * texels, 0.0
    return Lights(directions.astype(np.float32), strengths.astype(np.float32), frames.astype(np.float32), texel)


def _spread(lights: Lights, few: Floats, many: Floats) -> Disc:
    """Directions `many` (k, 3) as lights that are close to some of those with maps, of directions `few`."""
    owners = np.argmax(many @ few.T, axis=1)
    shifts = np.einsum("kar,kr->ka", lights.frames[owners, :2, :3], many - few[owners])
    return Disc(owners, shifts.astype(np.float32), lights.texel / float(np.tan(np.radians(KEY_RADIUS))))


def _aim_key(axes: Floats) -> tuple[Floats, Floats]:
    """The key light: a disc of directions high on the camera's left, low enough to rake across folds.

    Its middle and rim, and many all over it, unit vectors, shapes (AT_ONCE, 3) and (KEY_LIGHTS, 3).
    """
    forward = axes[2] * (1.0, 1.0, 0.0) + 1e-3 * axes[1]
    forward /= np.linalg.norm(forward)
    left = np.cross((0.0, 0.0, 1.0), forward)
    toward = 0.80 * left - 0.30 * forward + np.array([0.0, 0.0, 0.80])
    toward /= np.linalg.norm(toward)
    side = np.cross(toward, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side)
    rim, index = np.linspace(0.0, 2.0 * np.pi, AT_ONCE)[1:], np.arange(KEY_LIGHTS)
    places = np.concatenate([[0.0], np.exp(1j * rim)]), np.sqrt((index + 0.5) / KEY_LIGHTS) * np.exp(1j * TURN * index)
    few, many = (
        toward + np.tan(np.radians(KEY_RADIUS)) * (np.outer(z.real, side) + np.outer(z.imag, np.cross(side, toward)))
        for z in places
    )
    return few / np.linalg.norm(few, axis=1, keepdims=True), many / np.linalg.norm(many, axis=1, keepdims=True)


def _aim_dome(count: int, sign: float) -> tuple[Floats, Floats]:
    """Directions spread over the upper or lower half of the world, strongest at its pole (overcast sky)."""
    index = np.arange(count)
    z = (index + 0.5) / count
    ring = np.sqrt(1.0 - z * z)
    directions = np.stack([ring * np.cos(TURN * index), ring * np.sin(TURN * index), sign * z], axis=1)
    return directions, (0.6 + 0.8 * z) / count
