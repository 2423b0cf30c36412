"""Pictures of a state: a studio render that needs neither a display nor a graphics library."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from plisse.core.errors import SceneError
from plisse.kernels.raster import (
    NO_OWNER,
    Grounds,
    Lights,
    Surface,
    View,
    draw_maps,
    draw_view,
    light_grounds,
    light_image,
)
from plisse.pictures.normals import Shading

Array = NDArray[np.float64]
Color = tuple[float, float, float]

# counts are multiples of 16, so that 1, 4 or 16 groups of them are alike
KEY_LIGHTS, SKY_LIGHTS, BOUNCE_LIGHTS = 32, 64, 16
KEY_COLOR: Color = (1.55, 1.50, 1.42)
SKY_COLOR: Color = (1.02, 1.04, 1.08)
BOUNCE_COLOR: Color = (0.50, 0.48, 0.46)
KEY_RADIUS = 2.5  # of the key light's disc as seen from the scene [degrees]
GLOSS = 0.04
SHARP_TEXELS, SOFT_TEXELS, FLOOR_TEXELS = 1024, 512, 384
PLAIN = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "…": "..."})  # not in Pillow's own font


@dataclass(frozen=True)
class Body:
    """One mesh of a picture.

    x: positions [m], shape (n, 3); triangles: shape (m, 3); colors are sRGB in 0..1. The back of a two-sided
    body has its own colour, by default a paler one. The automatic camera frames the bodies with `framed` set.
    """

    x: ArrayLike
    triangles: ArrayLike
    color: Color = (0.78, 0.36, 0.27)
    two_sided: bool = True
    back_color: Color | None = None
    framed: bool = True


@dataclass(frozen=True)
class Ground:
    """Plane normal·x = offset [m] that catches shadows, seen from the side that its normal points to.

    A level one has the backdrop's colour; a tilted one is lighter or darker, as it faces the lights.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0


@dataclass(frozen=True)
class Camera:
    """Perspective camera at `eye`, looking at `target` [m]; `angle`: vertical field of view [degrees]."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = 28.0

    def axes(self) -> Array:
        """Right, up and forward as rows, shape (3, 3); the world's up is z."""
        forward = np.subtract(self.target, self.eye).astype(np.float64)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        if np.linalg.norm(right) < 1e-9:  # straight down: north is up in the picture
            right = np.array([1.0, 0.0, 0.0])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])


def frame(
    bodies: Sequence[Body],
    *,
    size: tuple[int, int] = (1280, 960),
    azimuth: float = -58.0,
    elevation: float = 28.0,
    angle: float = 28.0,
    fill: float = 0.84,
) -> Camera:
    """Camera that looks from the given side [degrees] and just holds all framed bodies.

    With image coordinates u and depth s of all points and slope t of the picture's border,
    |u − e| ≤ t (D + s) holds for e = (A − B)/2 and D ≥ (A + B)/2t, where A = max(u − t s), B = max(−u − t s).
    """
    x = _join_framed(bodies)
    center = 0.5 * (x.min(axis=0) + x.max(axis=0))
    axes, sides, (t_u, t_v) = _look_at(x - center, size, azimuth, elevation, angle, fill)
    a_u, b_u, a_v, b_v = (float(np.max(side)) for side in sides)
    distance = max(0.5 * (a_u + b_u) / t_u, 0.5 * (a_v + b_v) / t_v, 1e-6)
    target = center + 0.5 * (a_u - b_u) * axes[0] + 0.5 * (a_v - b_v) * axes[1]
    return Camera(eye=tuple(target - distance * axes[2]), target=tuple(target), angle=angle)


def find_outermost(
    x: ArrayLike,
    *,
    size: tuple[int, int] = (1280, 960),
    azimuth: float = -58.0,
    elevation: float = 28.0,
    angle: float = 28.0,
    fill: float = 0.84,
) -> Array:
    """The points, shape (4, 3), that alone decide where `frame` puts its camera for x [m], shape (n, 3)."""
    points = np.asarray(x, dtype=np.float64).reshape(-1, 3)
    _, sides, _ = _look_at(points, size, azimuth, elevation, angle, fill)
    return points[[int(np.argmax(side)) for side in sides]]


def _look_at(
    x: Array, size: tuple[int, int], azimuth: float, elevation: float, angle: float, fill: float
) -> tuple[Array, tuple[Array, Array, Array, Array], tuple[float, float]]:
    """Axes of a camera, what its picture's four borders have to hold of each point, and the borders' slopes."""
    around, above = np.radians(azimuth), np.radians(elevation)
    away = np.array([np.cos(around) * np.cos(above), np.sin(around) * np.cos(above), np.sin(above)])
    axes = Camera(eye=tuple(away), target=(0.0, 0.0, 0.0), angle=angle).axes()
    u, v, s = x @ axes[0], x @ axes[1], x @ axes[2]
    t_v = fill * float(np.tan(0.5 * np.radians(angle)))
    t_u = t_v * size[0] / size[1]
    return axes, (u - t_u * s, -u - t_u * s, v - t_v * s, -v - t_v * s), (t_u, t_v)


def draw(
    bodies: Sequence[Body],
    *,
    size: tuple[int, int] = (1280, 960),
    camera: Camera | None = None,
    grounds: Sequence[Ground] = (),
    supersample: int = 2,
    reach: ArrayLike | None = None,
) -> NDArray[np.uint8]:
    """Picture as sRGB bytes, shape (height, width, 3).

    reach: opposite corners [m], shape (2, 3), of the box that the shadows are fit to, instead of the framed bodies'
    own; the pictures of a video share one, so that shadows do not flicker.
    """
    if supersample not in (1, 2, 4):
        raise SceneError(f"A picture is supersampled 1, 2 or 4 times, not {supersample}.")
    _check(bodies)
    camera = camera or frame(bodies, size=size)
    width, height = size
    surface, view = _project(bodies, camera, size, supersample, reach)
    # what the camera sees
    nearness = np.zeros((height * supersample, width * supersample), dtype=np.float32)
    owner = np.full(nearness.shape, -1, dtype=np.int32)
    draw_view(surface.points, surface.triangles, nearness, owner)
    # what the lights see
    key = _hang_lights(surface, view, *_aim_key(view), color=KEY_COLOR, texels=SHARP_TEXELS, gloss=GLOSS)
    sky = _hang_lights(surface, view, *_aim_dome(SKY_LIGHTS, 1.0), color=SKY_COLOR, texels=SOFT_TEXELS)
    bounce = _hang_lights(surface, view, *_aim_dome(BOUNCE_LIGHTS, -1.0), color=BOUNCE_COLOR, texels=SOFT_TEXELS)
    # colour
    lit = _light_grounds(grounds, view, key, sky)
    image = np.zeros((height, width, 3))
    light_image(surface, key, sky, bounce, lit, view, _paint_backdrop(size), nearness, owner, supersample, image)
    encoded = np.where(image < 0.0031308, 12.92 * image, 1.055 * np.maximum(image, 1e-9) ** (1 / 2.4) - 0.055)
    return np.clip(encoded * 255.0 + 0.5, 0.0, 255.0).astype(np.uint8)


def render(
    path: str | Path,
    bodies: Sequence[Body],
    *,
    size: tuple[int, int] = (1280, 960),
    camera: Camera | None = None,
    grounds: Sequence[Ground] = (),
    supersample: int = 2,
) -> None:
    """Write a picture of some bodies, as PNG."""
    picture = draw(bodies, size=size, camera=camera, grounds=grounds, supersample=supersample)
    _save(Image.fromarray(picture), path)


def render_strip(
    path: str | Path,
    bodies: Sequence[Sequence[Body]],
    labels: Sequence[str],
    *,
    size: tuple[int, int] = (720, 640),
    camera: Camera | None = None,
    grounds: Sequence[Ground] = (),
    supersample: int = 2,
) -> None:
    """Write several pictures side by side, seen by one camera, each with a label; `size` is that of one."""
    if len(bodies) != len(labels):
        raise SceneError(f"A strip of {len(bodies)} pictures needs as many labels, not {len(labels)}.")
    camera = camera or frame([body for group in bodies for body in group], size=size)
    letter = max(12, size[1] // 26)
    strip = Image.new("RGB", (size[0] * len(bodies), size[1] + 2 * letter), (246, 246, 245))
    font = ImageFont.load_default(letter)
    pen = ImageDraw.Draw(strip)
    for column, (group, label) in enumerate(zip(bodies, labels, strict=True)):
        picture = draw(group, size=size, camera=camera, grounds=grounds, supersample=supersample)
        strip.paste(Image.fromarray(picture), (column * size[0], 0))
        place = ((column + 0.5) * size[0], size[1] + letter)
        pen.text(place, label.translate(PLAIN), fill=(45, 45, 48), font=font, anchor="mm")
        if column:
            pen.line([(column * size[0], 0), (column * size[0], strip.height)], fill=(255, 255, 255), width=2)
    _save(strip, path)


def _save(picture: Image.Image, path: str | Path) -> None:
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, format="JPEG" if path.suffix.lower() in (".jpg", ".jpeg") else "PNG")
    except OSError as error:
        raise SceneError(f"The picture {path} cannot be written: {error.strerror or error}.") from error


def _check(bodies: Sequence[Body]) -> None:
    """Refuse what the kernels cannot take."""
    for body in bodies:
        x, faces = np.asarray(body.x, dtype=np.float64), np.asarray(body.triangles)
        if not np.all(np.isfinite(x)):
            raise SceneError("A body with positions that are not finite cannot be drawn.")
        strays = faces[(faces < 0) | (faces >= len(x))]
        if strays.size:
            raise SceneError(f"A triangle to be drawn names vertex {strays[0]}, but there are only {len(x)}.")


def _join_framed(bodies: Sequence[Body]) -> Array:
    """Positions of all framed bodies (of all bodies if none is), shape (n, 3)."""
    chosen = [body for body in bodies if body.framed] or bodies
    parts = [np.asarray(body.x, dtype=np.float64).reshape(-1, 3) for body in chosen]
    x = np.concatenate(parts) if parts else np.empty((0, 3))
    if not len(x):
        raise SceneError("There is nothing to draw: give the picture at least one body with vertices.")
    return x


def find_reach(framed: Array, everything: Array) -> Array:
    """The box that shadows are fit to, from those of the framed bodies and of all; corners [m], shape (2, 3) each.

    Shadows are kept for all bodies, but a floor of many metres must not cost the cloth its resolution.
    """
    room = 0.75 * np.linalg.norm(framed[1] - framed[0]) + 1e-6
    return np.stack([np.maximum(everything[0], framed[0] - room), np.minimum(everything[1], framed[1] + room)])


def _span(x: Array) -> Array:
    """Opposite corners of the box of some points, shape (2, 3)."""
    return np.stack([x.min(axis=0), x.max(axis=0)])


def _project(
    bodies: Sequence[Body],
    camera: Camera,
    size: tuple[int, int],
    samples: int,
    reach: ArrayLike | None,
) -> tuple[Surface, View]:
    """All bodies as one surface in the camera's image, and the camera as the kernels take it."""
    xs, triangles, normals, colors, first = [], [], [], [], 0
    for body in bodies:
        x = np.ascontiguousarray(body.x, dtype=np.float64).reshape(-1, 3)
        faces = np.ascontiguousarray(body.triangles, dtype=np.int32).reshape(-1, 3)
        back = body.back_color or (_pale(body.color) if body.two_sided else body.color)
        xs.append(x)
        triangles.append(faces + np.int32(first))
        normals.append(Shading(faces, len(x)).corners(x))
        colors.append(np.broadcast_to(_linearise([body.color, back]), (len(faces), 2, 3)))
        first += len(x)
    x = np.concatenate(xs)
    axes, eye = camera.axes(), np.asarray(camera.eye, dtype=np.float64)
    focal = 0.5 * samples * size[1] / np.tan(0.5 * np.radians(camera.angle))
    right, up, depth = ((x - eye) @ axis for axis in axes)
    middle = 0.5 * samples * np.asarray(size)
    points = np.stack(
        [middle[0] * depth + focal * right, middle[1] * depth - focal * up, depth, np.ones_like(depth)],
        axis=1,
    )
    surface = Surface(
        x,
        points,
        np.concatenate(triangles),
        np.concatenate(normals),
        np.ascontiguousarray(np.concatenate(colors)),
    )
    low, high = find_reach(_span(_join_framed(bodies)), _span(x)) if reach is None else np.asarray(reach)
    radius = 0.5 * float(np.linalg.norm(high - low)) + 1e-6
    return surface, View(eye, axes, float(focal), 0.5 * (low + high), radius)


def _linearise(colors: ArrayLike) -> Array:
    """Linear rgb of sRGB colours."""
    values = np.asarray(colors, dtype=np.float64)
    return np.where(values < 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _pale(color: Color) -> Color:
    """The back of a cloth: the same hue, half way to its own grey and a little lighter."""
    grey = sum(color) / 3.0
    red, green, blue = (min(1.0, 0.55 * c + 0.45 * grey + 0.10) for c in color)
    return red, green, blue


def _aim_key(view: View) -> tuple[Array, Array]:
    """The key light: a disc of directions high on the camera's left, low enough to rake across folds."""
    forward = view.axes[2] * (1.0, 1.0, 0.0) + 1e-3 * view.axes[1]
    forward /= np.linalg.norm(forward)
    left = np.cross((0.0, 0.0, 1.0), forward)
    toward = 0.80 * left - 0.30 * forward + np.array([0.0, 0.0, 0.80])
    side = np.cross(toward, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side)
    index = np.arange(KEY_LIGHTS)
    radius = np.tan(np.radians(KEY_RADIUS)) * np.sqrt((index + 0.5) / KEY_LIGHTS)
    turn = index * np.pi * (3.0 - np.sqrt(5.0))
    disc = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * np.cross(side, toward)
    return toward + radius[:, None] * disc, np.full(KEY_LIGHTS, 1.0 / KEY_LIGHTS)


def _aim_dome(count: int, sign: float) -> tuple[Array, Array]:
    """Directions spread over the upper or lower half of the world, strongest at its pole (overcast sky)."""
    index = np.arange(count)
    z = (index + 0.5) / count
    turn = index * np.pi * (3.0 - np.sqrt(5.0))
    ring = np.sqrt(1.0 - z * z)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), sign * z], axis=1)
    return directions, (0.6 + 0.8 * z) / count


def _hang_lights(
    surface: Surface,
    view: View,
    directions: Array,
    strengths: Array,
    *,
    color: Color,
    texels: int,
    gloss: float = 0.0,
) -> Lights:
    """Lights with their shadow maps drawn."""
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    side = np.cross(directions, np.array([0.31, 0.95, 0.05]))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    texel = float(2.02 * view.radius / (texels - 2))
    frames = np.empty((len(directions), 3, 4))
    frames[:, 0, :3], frames[:, 1, :3] = side / texel, np.cross(directions, side) / texel
    frames[:, 2, :3] = directions
    frames[:, :, 3] = -frames[:, :, :3] @ view.center + np.array([0.5 * texels, 0.5 * texels, 0.0])
    maps = np.full((len(directions), texels, texels), -1e30, dtype=np.float32)
    draw_maps(surface.x, surface.triangles, frames, maps, NO_OWNER)
    return Lights(directions, strengths, np.asarray(color), frames, maps, texel, gloss)


def _light_grounds(grounds: Sequence[Ground], view: View, key: Lights, sky: Lights) -> Grounds:
    """Grounds with the skylight on them, blurred a little: each of its lights casts a hard shadow."""
    planes = np.array([(*ground.normal, ground.offset) for ground in grounds], dtype=np.float64).reshape(-1, 4)
    planes /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
    normals = np.ascontiguousarray(planes[:, :3])
    first = np.cross(normals, np.where(np.abs(normals[:, 1:2]) < 0.9, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    axes = np.stack([first, np.cross(normals, first)], axis=1)
    origins = view.center - (normals @ view.center - planes[:, 3])[:, None] * normals
    light, texel = np.ones((len(planes), FLOOR_TEXELS, FLOOR_TEXELS)), 8.0 * view.radius / FLOOR_TEXELS
    tones = _shine(normals, key, sky) / _shine(np.array([[0.0, 0.0, 1.0]]), key, sky)
    lit = Grounds(planes, origins, axes, texel, light, sky.strengths @ _facing(sky, normals), tones)
    light_grounds(lit, sky)
    for axis in (1, 2, 1, 2):
        near = np.roll(light, 1, axis) + np.roll(light, -1, axis)
        far = np.roll(light, 2, axis) + np.roll(light, -2, axis)
        light = (6.0 * light + 4.0 * near + far) / 16.0
    return lit._replace(light=np.ascontiguousarray(light))


def _facing(lights: Lights, normals: Array) -> Array:
    """Cosines of the lights' directions with some normals, 0 where they are behind, shape (lights, normals)."""
    return np.maximum(0.0, lights.directions @ normals.T)


def _shine(normals: Array, key: Lights, sky: Lights) -> Array:
    """Light on open planes with these normals (k, 3), linear rgb, shape (k, 3)."""
    parts = [np.outer(lights.strengths @ _facing(lights, normals), lights.color) for lights in (key, sky)]
    return parts[0] + parts[1]


def _paint_backdrop(size: tuple[int, int]) -> Array:
    """Neutral studio paper, linear rgb: lightest behind the subject, a little darker towards the corners."""
    width, height = size
    u = (np.arange(width) + 0.5 - 0.5 * width) / (0.5 * width)
    v = (np.arange(height) + 0.5 - 0.45 * height) / (0.5 * height)
    away = np.minimum(1.0, (u[None, :] ** 2 + v[:, None] ** 2) / 2.2)
    level = 0.84 - 0.26 * away
    return level[:, :, None] * np.array([0.995, 1.0, 1.005])
