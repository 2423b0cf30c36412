"""A picture of a hierarchy: its levels side by side, and how they lie on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from plisse.core.arrays import Floats, Ints, Longs
from plisse.hierarchy.decimated import Decimated
from plisse.hierarchy.hierarchy import Hierarchy
from plisse.pictures.camera import Camera, Size
from plisse.pictures.patches import Patches, color_patches, cut_along, cut_between, find_crossings
from plisse.pictures.render import INK, PLAIN, Body, Color, draw, frame
from plisse.pictures.ribbons import frame_triangles, trace_lines
from plisse.progressive.ladder import Ladder

WIDTH = 1600  # pixels
IN_A_ROW = 4  # levels
MOST = 15_000  # triangles of a level whose edges can still be told apart
FEW = 5_000  # the same where they are drawn over colours
THIN = 0.03  # half the width of an edge's line, as a part of the edges' mean length
SAMPLES = 4  # along each side of a pixel; with fewer, lines look dashed
PAPER = (246, 246, 245)
# of levels, of edges, of what level 0 has already, and of patches
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
    batches = _count_batches(ladder)
    small, large = (WIDTH // columns, min(WIDTH // columns, 440)), (WIDTH // 2 if batches else WIDTH, 620)
    panels = [(_show_level(ladder, level, small), _name(ladder, level)) for level in range(len(hierarchy.levels))]
    lower = [(_show_patches(ladder, large), "triangles of level 0 on the finest level")]
    if batches:
        label = f"level 1: its vertices come back in {batches} batches of splits; pale ones are level 0's"
        lower.append((_show_batches(ladder, large), label))
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


def _show_level(ladder: Ladder, level: int, size: Size) -> Image.Image:
    geometry, camera = ladder.geometry(level), _aim(ladder, size)
    lined = sum(len(mesh.triangles) for mesh in geometry.shells) <= MOST
    bodies = []
    for mesh, x in zip(geometry.shells, geometry.shell_positions, strict=True):
        # flat triangles, as they are simulated
        bodies.append(Body(*(_apart(x, mesh.triangles) if lined else (x, mesh.triangles)), SHADE))
        if lined:
            bodies.append(_outline(x, mesh.triangles, camera, size))
    return _picture(bodies, camera, size)


def _show_patches(ladder: Ladder, size: Size) -> Image.Image:
    """Triangles of the coarsest level on the finest surface. [Zhang2023] fig. 7"""
    hierarchy, geometry, camera = ladder.hierarchy, ladder.geometry(ladder.finest), _aim(ladder, size)
    bodies = list[Body]()
    for i, x in enumerate(geometry.shell_positions):
        coarse = hierarchy.levels[0][i]
        patches, colors = _find_patches(hierarchy, i, x), color_patches(coarse, len(COLORS))
        bodies += _colored(patches.x, patches.triangles, colors[patches.of], COLORS)
        lines = trace_lines(patches.borders, patches.normals, camera, 2.0 * _line(coarse.edge_lengths, camera, size))
        bodies.append(Body(*lines, LINES, back_color=LINES))
    return _picture(bodies, camera, size)


def _find_patches(hierarchy: Hierarchy, body: int, x: Floats) -> Patches:
    """The finest surface, at positions x (n, 3) [m], cut along the edges of the coarsest."""
    coarse, fine = hierarchy.levels[0][body], hierarchy.levels[-1][body]
    made = hierarchy.bodies[body] if isinstance(hierarchy, Decimated) else None
    if made is None or made.at[0] == made.at[-1]:
        # subdivision puts the parts of all triangles one after the other
        return cut_along(fine, x, np.arange(len(fine.triangles)) % len(coarse.triangles))
    home, weights = made.decimation.places[made.at[0], made.at[-1]]
    return cut_between(fine, x, home.astype(np.int64), find_crossings(coarse, fine, home, weights))


def _count_batches(ladder: Ladder) -> int:
    hierarchy = ladder.hierarchy
    made = hierarchy.bodies[: len(ladder.scene.shells)] if isinstance(hierarchy, Decimated) else ()
    return max((len(body.batches(0)) for body in made if body is not None), default=0)


def _show_batches(ladder: Ladder, size: Size) -> Image.Image:
    """The surroundings of level 1's vertices, coloured by the batch of splits in which each appears again."""
    hierarchy, geometry, camera, bodies = ladder.hierarchy, ladder.geometry(1), _aim(ladder, size), list[Body]()
    assert isinstance(hierarchy, Decimated)
    for made, mesh, x in zip(hierarchy.bodies, geometry.shells, geometry.shell_positions, strict=False):
        batch = np.zeros(len(x), np.int64)
        if made is not None:
            ids, removed = made.decimation.ids[made.at[1]], made.decimation.log.removed
            for number, each in enumerate(made.batches(0)):
                batch[np.searchsorted(ids, removed[each])] = 1 + number % len(COLORS)
        cells = cut_between(mesh, x, batch)
        bodies += _colored(cells.x, cells.triangles, cells.of, (KEPT, *COLORS))
        if len(mesh.triangles) <= FEW:
            bodies.append(_outline(x, mesh.triangles, camera, size))
    return _picture(bodies, camera, size)


def _outline(x: Floats, triangles: Ints, camera: Camera, size: Size) -> Body:
    """All edges."""
    lengths = np.linalg.norm(x[triangles] - x[np.roll(triangles, 1, axis=1)], axis=2)
    ribbons = frame_triangles(x, triangles, camera, _line(lengths, camera, size))
    return Body(*ribbons, LINES, back_color=LINES)


def _line(lengths: Floats, camera: Camera, size: Size) -> float:
    """Half the width of a line [m]: thinner where edges, of these lengths [m], are short."""
    distance = float(np.linalg.norm(np.subtract(camera.target, camera.eye)))
    pixel = 2.0 * distance * np.tan(0.5 * np.radians(camera.angle)) / size[1]
    return float(np.clip(THIN * lengths.mean(), 0.2 * pixel, 0.8 * pixel))


def _colored(x: Floats, triangles: Ints, colors: Longs, palette: Sequence[Color]) -> list[Body]:
    """A body of each colour."""
    found = [(triangles[colors == k], color) for k, color in enumerate(palette)]
    return [Body(x, own, color, back_color=color) for own, color in found if len(own)]


def _apart(x: Floats, triangles: Ints) -> tuple[Floats, Ints]:
    """Triangles that do not share their vertices."""
    return x[triangles].reshape(-1, 3), np.arange(triangles.size, dtype=np.int32).reshape(-1, 3)


def _picture(bodies: Sequence[Body], camera: Camera, size: Size) -> Image.Image:
    return Image.fromarray(draw(bodies, size=size, camera=camera, supersample=SAMPLES))


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
