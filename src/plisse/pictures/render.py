"""Pictures of a state: a studio render that needs neither a display nor a graphics library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFont

from plisse.core.arrays import Bytes, Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import find_bounds
from plisse.kernels.shading import Fragments, Palette, color, place_fragments, place_vertices, see
from plisse.kernels.threads import share_out
from plisse.kernels.visibility import Surface, View, project, sort_triangles
from plisse.pictures.camera import Camera, Size, aim
from plisse.pictures.normals import CREASE, vertex_normals
from plisse.pictures.studio import Ground, Reach, Studio, make_receivers, see_planes

Color = tuple[float, float, float]

LIGHTS = np.array([(1.55, 1.50, 1.42), (1.02, 1.04, 1.08), (0.50, 0.48, 0.46)])  # key, sky and bounce, linear rgb
PAPER = np.array([0.995, 1.0, 1.005])
GLOSS = 0.04
ROWS = 32  # of a picture that one thread takes at a time
FINE = 8.0  # greatest edge of a triangle whose soft light is known at its corners alone [pixels]
INK = (45, 45, 48)
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


def frame(bodies: Sequence[Body], *, size: Size = (1280, 960)) -> Camera:
    """Camera that just holds all framed bodies."""
    return aim(_join_framed(bodies), size=size)


def draw(
    bodies: Sequence[Body],
    *,
    size: Size = (1280, 960),
    camera: Camera | None = None,
    grounds: Sequence[Ground] = (),
    supersample: int = 2,
    reach: ArrayLike | None = None,
) -> Bytes:
    """Picture as sRGB bytes, shape (height, width, 3).

    reach: opposite corners [m], shape (2, 3), of the box that the shadows are fit to, instead of the framed bodies'
    own; the pictures of a video share one, so that shadows do not flicker.
    """
    if supersample not in (1, 2, 4):
        raise SceneError(f"A picture is supersampled 1, 2 or 4 times, not {supersample}.")
    _check(bodies)
    camera = camera or frame(bodies, size=size)
    view, surface = _open_view(camera, size, supersample), _join(bodies)
    vertices, height = len(surface.x), size[1]
    share_out(project, vertices, surface.x, view, surface.image)
    sorting = (surface, view, height * supersample, CREASE, FINE * supersample)
    share_out(sort_triangles, len(surface.triangles), *sorting)
    if reach is None:
        reach = find_reach(find_bounds(_join_framed(bodies)), find_bounds(surface.x))
    low, high = np.asarray(reach)
    studio = Studio(view, Reach(0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)) + 1e-6), LIGHTS)
    # what is seen, and where light has to be known for it
    laid, fragments = studio.lay(grounds, surface.x), _make_fragments(size, supersample)
    wanted = np.zeros(2 * len(surface.x), np.uint8)
    seeing = (surface, view, laid, see_planes(laid.planes, view), supersample, wanted, fragments)
    share_out(see, height, *seeing, block=ROWS)
    numbers = np.cumsum(wanted, dtype=np.int32) - np.int32(1)
    ends = np.cumsum(fragments.counts[:, 1:], axis=0) + np.array([0, numbers[-1] + 1])
    starts = ends - fragments.counts[:, 1:]
    lit, soft = make_receivers(int(ends[-1, 0])), make_receivers(int(ends[-1, 1]), kinds=2)
    center = studio.reach.center
    share_out(place_vertices, vertices, surface, center, wanted, numbers, soft)
    share_out(place_fragments, height, surface, view, laid, center, fragments, starts, lit, soft, block=ROWS)
    # light and colour
    laid = studio.shine(surface.x, surface.triangles, lit, soft, laid)
    palette, picture = _mix(bodies, studio.towards), np.empty((height, size[0], 3), np.uint8)
    coloring = (surface, laid, fragments, starts, numbers, lit, soft, view.eye - center, palette, picture)
    share_out(color, height, *coloring, block=ROWS)
    return picture


def render(
    path: str | Path,
    bodies: Sequence[Body],
    *,
    size: Size = (1280, 960),
    camera: Camera | None = None,
    grounds: Sequence[Ground] = (),
    supersample: int = 2,
    label: str = "",
) -> None:
    """Write a picture of some bodies, as PNG; label: what is written into its corner."""
    picture = draw(bodies, size=size, camera=camera, grounds=grounds, supersample=supersample)
    save(Image.fromarray(write_label(picture, label)), path)


def write_label(picture: Bytes, label: str) -> Bytes:
    """A picture, sRGB bytes (height, width, 3), with a label in its lower left corner."""
    if not label:
        return picture
    height, image = len(picture), Image.fromarray(picture)
    letter = max(10, height // 36)
    pen = ImageDraw.Draw(image)
    pen.text((letter, height - letter), label.translate(PLAIN), INK, ImageFont.load_default(letter), anchor="lb")
    return np.asarray(image)


def render_strip(
    path: str | Path,
    bodies: Sequence[Sequence[Body]],
    labels: Sequence[str],
    *,
    size: Size = (720, 640),
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
        pen.text(place, label.translate(PLAIN), INK, font, anchor="mm")
        if column:
            pen.line([(column * size[0], 0), (column * size[0], strip.height)], fill=(255, 255, 255), width=2)
    save(strip, path)


def save(picture: Image.Image, path: str | Path) -> None:
    """Write a picture as JPEG if its name says so, otherwise as PNG; SceneError where that is not possible."""
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


def _join_framed(bodies: Sequence[Body]) -> Floats:
    """Positions of all framed bodies (of all bodies if none is), shape (n, 3)."""
    chosen = [body for body in bodies if body.framed] or bodies
    parts = [np.asarray(body.x, dtype=np.float64).reshape(-1, 3) for body in chosen]
    x = np.concatenate(parts) if parts else np.empty((0, 3))
    if not len(x):
        raise SceneError("There is nothing to draw: give the picture at least one body with vertices.")
    return x


def find_reach(framed: Floats, everything: Floats) -> Floats:
    """The box that shadows are fit to, from those of the framed bodies and of all; corners [m], shape (2, 3) each.

    Shadows are kept for all bodies, but a floor of many metres must not cost the cloth its resolution.
    """
    room = 0.75 * np.linalg.norm(framed[1] - framed[0]) + 1e-6
    return np.stack([np.maximum(everything[0], framed[0] - room), np.minimum(everything[1], framed[1] + room)])


def _open_view(camera: Camera, size: Size, samples: int) -> View:
    focal = 0.5 * samples * size[1] / np.tan(0.5 * np.radians(camera.angle))
    middle = 0.5 * samples * np.asarray(size, dtype=np.float64)
    return View(np.asarray(camera.eye, dtype=np.float64), camera.axes(), float(focal), middle)


def _join(bodies: Sequence[Body]) -> Surface:
    """All bodies as one surface that is not in the image yet."""
    xs = [np.asarray(body.x, dtype=np.float64).reshape(-1, 3) for body in bodies]
    faces = [np.asarray(body.triangles, dtype=np.int32).reshape(-1, 3) for body in bodies]
    firsts = np.cumsum([0, *(len(x) for x in xs)])
    x = np.concatenate(xs)
    triangles = np.concatenate([part + np.int32(first) for part, first in zip(faces, firsts, strict=False)])
    return Surface(
        x,
        triangles,
        vertex_normals(x, triangles),
        np.repeat(np.arange(len(bodies), dtype=np.int32), [len(part) for part in xs]),
        np.empty((len(x), 3)),
        np.empty((len(triangles), 2), np.int32),
        np.empty(len(triangles), np.uint8),
    )


def _make_fragments(size: Size, samples: int) -> Fragments:
    width, height = size
    shape = (height, width * samples**2)  # the most there can be
    return Fragments(
        np.zeros((height, 3), np.int64),
        np.empty(shape, np.int32),
        np.empty(shape, np.int32),
        np.empty(shape, np.float32),
        np.empty((*shape, 2), np.float32),
        np.empty(shape, np.int32),
        np.empty(shape, np.int32),
    )


def _mix(bodies: Sequence[Body], towards: Floats) -> Palette:
    """towards: direction of the key light."""
    backs = [body.back_color or (_pale(body.color) if body.two_sided else body.color) for body in bodies]
    albedos = _linearise([side for body, back in zip(bodies, backs, strict=True) for side in (body.color, back)])
    return Palette(LIGHTS, towards, GLOSS, albedos, PAPER, CODES)


def _encode() -> Bytes:
    """sRGB bytes of linear values, evenly spaced from 0 to 1."""
    values = np.linspace(0.0, 1.0, 1 << 14)
    encoded = np.where(values < 0.0031308, 12.92 * values, 1.055 * np.maximum(values, 1e-9) ** (1 / 2.4) - 0.055)
    return (encoded * 255.0 + 0.5).astype(np.uint8)


CODES = _encode()


def _linearise(colors: ArrayLike) -> Floats:
    """Linear rgb of sRGB colours."""
    values = np.asarray(colors, dtype=np.float64)
    return np.where(values < 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _pale(color: Color) -> Color:
    """The back of a cloth: the same hue, half way to its own grey and a little lighter."""
    grey = sum(color) / 3.0
    red, green, blue = (min(1.0, 0.55 * c + 0.45 * grey + 0.10) for c in color)
    return red, green, blue
