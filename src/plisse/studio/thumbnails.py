"""Small pictures of a level for the panel: points of its surfaces, shaded, the nearest drawn last."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.pictures.stage import Stage

WIDTH, HEIGHT = 120, 90  # pixels
SAMPLES = 80_000  # points, about
ACROSS, FRAME, CHOSEN = 4, 2, (30, 90, 170)  # fabrics in a row, and what is around the chosen one
ABOVE = 3.0  # pixels by which shells are moved towards the eye
BACK = 244  # grey of what is behind
EYE = np.array([0.55, -0.75, 0.37])  # where it is seen from
LIGHT = np.array([0.3, -0.5, 0.81])


def draw_thumbnail(stage: Stage, x: Floats, *, width: int = WIDTH, height: int = HEIGHT) -> Ints:
    """An image (height, width, 3), 0 to 255, of surfaces at x (n, 3) [m], which fill it."""
    toward = EYE / np.linalg.norm(EYE)
    across = np.cross([0.0, 0.0, 1.0], toward)
    across /= np.linalg.norm(across)
    up = np.cross(toward, across)
    framed = np.concatenate([x[part.first : part.last] for part in stage.parts if part.framed])
    middle = 0.5 * (framed.min(axis=0) + framed.max(axis=0))
    seen = (framed - middle) @ np.stack([across, up], axis=1)
    scale = 0.92 * min(width / max(np.ptp(seen[:, 0]), 1e-9), height / max(np.ptp(seen[:, 1]), 1e-9))
    centre = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    image = np.full((height, width, 3), BACK, np.uint8)
    points, colors = (np.concatenate(each) for each in zip(*_sample(stage, x, scale), strict=True))
    column = np.rint(0.5 * width + scale * ((points - middle) @ across - centre[0])).astype(int)
    row = np.rint(0.5 * height - scale * ((points - middle) @ up - centre[1])).astype(int)
    inside = np.flatnonzero((column >= 0) & (column < width) & (row >= 0) & (row < height))
    order = inside[np.argsort(points[inside] @ toward, kind="stable")]
    image[row[order], column[order]] = colors[order]
    return image.astype(np.int32)


@cache
def fabrics() -> dict[str, Ints]:
    """How each fabric of the presets drapes, with its name below; `tools/make_fabrics.py` draws them."""
    with as_file(files("plisse").joinpath("studio/fabrics.npz")) as path, np.load(path) as found:
        return {name: found[name].astype(np.int32) for name in found.files}


def draw_fabrics(chosen: str | None) -> Ints:
    """All fabrics, the chosen one in a frame, as an image (height, width, 3), 0 to 255."""
    tiles = []
    for name, image in fabrics().items():
        tile = np.pad(image, ((FRAME, FRAME), (FRAME, FRAME), (0, 0)), constant_values=255)
        if name == chosen:
            tile[:FRAME] = tile[-FRAME:] = tile[:, :FRAME] = tile[:, -FRAME:] = CHOSEN
        tiles.append(tile)
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % ACROSS)
    rows = [np.concatenate(tiles[k : k + ACROSS], axis=1) for k in range(0, len(tiles), ACROSS)]
    return np.concatenate(rows)


def _sample(stage: Stage, x: Floats, scale: float) -> list[tuple[Floats, Ints]]:
    """Points of every part, two a pixel or more, with their colours."""
    out = []
    for part in stage.parts:
        corners = x[part.first : part.last][part.triangles]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        double = np.linalg.norm(normal, axis=1)
        wanted = 2.0 * double * scale**2
        counts = np.ceil(wanted * min(1.0, SAMPLES / max(wanted.sum(), 1.0))).astype(int) + 1
        of = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        # a sequence that fills the triangle evenly, however many points it gets
        u, v = np.modf(0.5 + 0.7548776662 * number)[0], np.modf(0.5 + 0.5698402910 * number)[0]
        u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
        weights = np.stack([1.0 - u - v, u, v], axis=1)
        light = np.abs(normal @ (LIGHT / np.linalg.norm(LIGHT))) / np.maximum(double, 1e-30)
        shade = (0.35 + 0.65 * light)[of, None] * np.array(part.color)
        # what a shell lies on does not show between two of its points
        nearer = (ABOVE / scale if part.is_shell else 0.0) * EYE
        out.append((np.einsum("ki,kij->kj", weights, corners[of]) + nearer, np.rint(255.0 * shade).astype(np.int32)))
    return out
