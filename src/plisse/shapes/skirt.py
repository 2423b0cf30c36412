"""A skirt sewn from flat panels: the mesh of an example."""

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.shapes.patches import cut_cells

# Inner vertices move by at most this part of a cell, so that folds find their places by themselves.
JITTER = 0.2


def sew_skirt(
    *,
    waist: float = 0.12,
    length: float = 0.45,
    flare: float = 0.5,
    panels: int = 2,
    across: int = 20,
    along: int = 14,
    seed: int = 0,
) -> Mesh:
    """A cone about the z axis that opens downwards from its waist at z = 0, with its pattern [m] as uv.

    waist: its radius [m]; length: from waist to hem along the cloth [m]; flare: part of a full circle that the panels
    make together in the plane. They are sectors of a ring, each with `across` × `along` cells, side by side.
    Laid flat, the cone is its pattern but for what polygons lack of circles: it has next to no strain.
    """
    around = panels * across
    row, column = np.mgrid[0 : along + 1, 0 : around + 1].astype(np.float64)
    moved = np.random.default_rng(seed).uniform(-JITTER, JITTER, size=(2, along - 1, around))
    moved[:, :, ::across] = 0.0  # seams stay straight
    row[1:-1, :-1] += moved[0]
    column[1:-1, :-1] += moved[1]
    down, turn = length * (1.0 - row / along), 2.0 * np.pi / around * column
    radius = waist + flare * down
    X = np.stack([radius * np.cos(turn), radius * np.sin(turn), -np.sqrt(1.0 - flare**2) * down], axis=2)
    rising, falling = (np.linalg.norm(a - b, axis=2) for a, b in ((X[:-1, :-1], X[1:, 1:]), (X[:-1, 1:], X[1:, :-1])))
    places = np.arange((along + 1) * around).reshape(along + 1, around)[:, np.arange(around + 1) % around]
    triangles, uv = list[Ints](), list[Floats]()
    for first in range(0, around, across):
        cells, corners = np.s_[:, first : first + across], np.s_[:, first : first + across + 1]
        cut = (falling < rising)[cells]
        triangles.append(cut_cells(places[corners], cut))
        # the sector upright, the waist above: seen from outside it is not mirrored
        angle = flare * (turn[corners] - np.pi / around * (2 * first + across))
        flat = (radius[corners] / flare)[..., None] * np.stack([np.sin(angle), -np.cos(angle)], axis=2)
        flat[..., 0] += first / across * 2.2 * (waist / flare + length) * np.sin(np.pi * flare / panels)
        own = np.arange(flat.size // 2).reshape(flat.shape[:2])
        uv.append(flat.reshape(-1, 2)[cut_cells(own, cut)])
    return Mesh(X[:, :-1].reshape(-1, 3), np.concatenate(triangles), np.concatenate(uv))
