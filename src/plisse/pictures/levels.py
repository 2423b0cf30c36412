"""A picture of a hierarchy: its levels side by side, and how they lie on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from plisse.core.arrays import Floats, Ints, Longs
from plisse.hierarchy.decimated import Decimated
from plisse.pictures.camera import Camera, Size
from plisse.pictures.patches import color_patches, find_borders, find_patches, split_cells
from plisse.pictures.render import INK, PLAIN, Body, Color, draw, frame
from plisse.pictures.ribbons import make_ribbons
from plisse.progressive.ladder import Ladder

WIDTH = 1600  # pixels
IN_A_ROW = 4  # levels
MOST = 15_000  # triangles of a level whose edges can still be told apart
PAPER = (246, 246, 245)
SHADE: Color = (0.80, 0.79, 0.76)
LINES: Color = (0.13, 0.14, 0.17)
KEPT: Color = (0.93, 0.92, 0.90)
COLORS: tuple[Color, ...] = (
    (0.33, 0.53, 0.69),
    (0.90, 0.72, 0.38),
    (0.56, 0.70, 0.48),
    (0.80, 0.44, 0.36),
    (0.62, 0.52, 0.70),
    (0.45, 0.70, 0.70),
)


def draw_levels(ladder: Ladder) -> Image.Image:
    """The shells of all levels with their triangles; below, the coarsest on the finest, and how that is refined."""
    hierarchy = ladder.hierarchy
    columns = min(IN_A_ROW, len(hierarchy.levels))
    small, large = (WIDTH // columns, min(WIDTH // columns, 440)), (WIDTH // 2, 620)
    panels = [(_show_level(ladder, level, small), _name(ladder, level)) for level in range(len(hierarchy.levels))]
    lower = [(_show_patches(ladder, large), "level 0 on the finest level")]
    batches = _count_batches(ladder)
    if batches:
        lower.append((_show_batches(ladder, large), f"level 1, by the batch that splits a vertex again: {batches}"))
    rows = [panels[k : k + columns] for k in range(0, len(panels), columns)]
    return _lay_out([*((row, small) for row in rows), (lower, large)])


def _name(ladder: Ladder, level: int) -> str:
    vertices = sum(len(mesh.X) for mesh in ladder.hierarchy.levels[level][: len(ladder.scene.shells)])
    return f"level {level}: {vertices:,} vertices"


def _aim(ladder: Ladder, size: Size) -> Camera:
    """One camera for all levels."""
    geometries = (ladder.geometry(0), ladder.given, ladder.geometry(ladder.finest))
    x = np.concatenate([x for geometry in geometries for x in geometry.shell_positions])
    return frame([Body(x, np.empty((0, 3), np.int32))], size=size)


def _pixel(camera: Camera, size: Size) -> float:
    """Size of a pixel [m] at what the camera looks at."""
    distance = float(np.linalg.norm(np.subtract(camera.target, camera.eye)))
    return 2.0 * distance * np.tan(0.5 * np.radians(camera.angle)) / size[1]


def _show_level(ladder: Ladder, level: int, size: Size) -> Image.Image:
    geometry, camera = ladder.geometry(level), _aim(ladder, size)
    lined = sum(len(mesh.triangles) for mesh in geometry.shells) <= MOST
    bodies = []
    for mesh, x in zip(geometry.shells, geometry.shell_positions, strict=True):
        # flat triangles, as they are simulated
        bodies.append(Body(*(_apart(x, mesh.triangles) if lined else (x, mesh.triangles)), SHADE))
        if lined:
            bodies.append(_outline(x, mesh.triangles, camera, _pixel(camera, size)))
    return _picture(bodies, camera, size)


def _outline(x: Floats, triangles: Ints, camera: Camera, pixel: float, sides: np.ndarray | None = None) -> Body:
    edges = np.linalg.norm(x[triangles] - x[np.roll(triangles, 1, axis=1)], axis=2)
    width = np.clip(0.02 * edges.mean(), 0.35 * pixel, 0.9 * pixel) if sides is None else 0.9 * pixel
    return Body(*make_ribbons(x, triangles, camera, float(width), sides), LINES, back_color=LINES)


def _show_patches(ladder: Ladder, size: Size) -> Image.Image:
    geometry, camera, bodies = ladder.geometry(ladder.finest), _aim(ladder, size), list[Body]()
    for i, (mesh, x) in enumerate(zip(geometry.shells, geometry.shell_positions, strict=True)):
        patches = find_patches(ladder.hierarchy, i)
        colors = color_patches(ladder.hierarchy.levels[0][i], len(COLORS))[patches]
        bodies += _colored(x, mesh.triangles, colors, COLORS)
        bodies.append(_outline(x, mesh.triangles, camera, _pixel(camera, size), find_borders(mesh, patches)))
    return _picture(bodies, camera, size)


def _count_batches(ladder: Ladder) -> int:
    hierarchy = ladder.hierarchy
    made = hierarchy.bodies[: len(ladder.scene.shells)] if isinstance(hierarchy, Decimated) else ()
    return max((len(body.batches(0)) for body in made if body is not None), default=0)


def _show_batches(ladder: Ladder, size: Size) -> Image.Image:
    hierarchy, geometry, camera, bodies = ladder.hierarchy, ladder.geometry(1), _aim(ladder, size), list[Body]()
    assert isinstance(hierarchy, Decimated)
    for i, (mesh, x) in enumerate(zip(geometry.shells, geometry.shell_positions, strict=True)):
        made, batch = hierarchy.bodies[i], np.full(len(x), -1)
        for number, each in enumerate(made.batches(0) if made is not None else ()):
            assert made is not None
            ids = made.decimation.ids[made.at[1]]
            batch[np.searchsorted(ids, made.decimation.log.removed[each])] = number % len(COLORS)
        cells, parts, vertices = split_cells(x, mesh.triangles)
        bodies += _colored(cells, parts, batch[vertices], COLORS)
        bodies += _colored(cells, parts, batch[vertices] + 1, (KEPT,))
        if len(mesh.triangles) <= MOST:
            bodies.append(_outline(x, mesh.triangles, camera, _pixel(camera, size)))
    return _picture(bodies, camera, size)


def _colored(x: Floats, triangles: Ints, colors: Longs, palette: Sequence[Color]) -> list[Body]:
    """A body of each colour."""
    return [
        Body(x, triangles[colors == k], color, back_color=color)
        for k, color in enumerate(palette)
        if np.any(colors == k)
    ]


def _apart(x: Floats, triangles: Ints) -> tuple[Floats, Ints]:
    """Triangles that do not share their vertices."""
    return x[triangles].reshape(-1, 3), np.arange(triangles.size, dtype=np.int32).reshape(-1, 3)


def _picture(bodies: Sequence[Body], camera: Camera, size: Size) -> Image.Image:
    return Image.fromarray(draw(bodies, size=size, camera=camera))


def _lay_out(rows: Sequence[tuple[Sequence[tuple[Image.Image, str]], Size]]) -> Image.Image:
    """Rows of pictures with their labels below, each row in the middle."""
    letter = 20
    font, step = ImageFont.load_default(letter), 2 * letter
    out = Image.new("RGB", (WIDTH, sum(size[1] + step for _, size in rows)), PAPER)
    pen, top = ImageDraw.Draw(out), 0
    for row, (width, height) in rows:
        left = (WIDTH - width * len(row)) // 2
        for picture, label in row:
            out.paste(picture, (left, top))
            pen.text((left + width / 2, top + height + letter), label.translate(PLAIN), INK, font, anchor="mm")
            left += width
        top += height + step
    return out
