"""How bodies look in other programs: the colours of the pictures, and materials by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from plisse.core.arrays import Floats, Singles
from plisse.pictures.render import Color
from plisse.runs.recording import RecordedBody


@dataclass(frozen=True, eq=False)
class Look:
    """A body's colour (sRGB) and its material; bodies with the same material have the same key."""

    color: Color
    material: str
    constants: Mapping[str, float]
    key: Hashable


def describe_looks(bodies: Sequence[RecordedBody]) -> list[Look]:
    """Each body in the colour that the pictures show it in."""
    looks = []
    for body in bodies:
        name = (body.material or "shell") if body.is_shell else "collider"
        key = (body.is_shell, name, tuple(sorted(body.constants.items())))
        looks.append(Look(body.color, name, body.constants, key))
    return looks


def linear(color: Color) -> Color:
    """Linear rgb of an sRGB colour, which is what USD and glTF ask for."""
    red, green, blue = (c / 12.92 if c < 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
    return red, green, blue


def make_distinct(words: Sequence[str], *, taken: Sequence[str] = ()) -> list[str]:
    """The words, numbered where one comes up again or is taken."""
    known, out = set(taken), []
    for word in words:
        found = next(name for number in count() if (name := f"{word}_{number}" if number else word) not in known)
        known.add(found)
        out.append(found)
    return out


def to_y_up(vectors: Floats) -> Singles:
    """Positions or normals (n, 3) in float32, turned from z-up to y-up: (x, y, z) → (x, z, −y)."""
    out = np.empty(vectors.shape, np.float32)
    out[:, 0], out[:, 1], out[:, 2] = vectors[:, 0], vectors[:, 2], -vectors[:, 1]
    return out
