"""Texture coordinates of OBJ files: `vt` lines, and the numbers by which the corners of faces refer to them."""

from dataclasses import dataclass, field

import numpy as np

from plisse.core.arrays import Bytes, Floats, Ints, Longs
from plisse.meshes.words import SLASH, SPACE, Words, whole_numbers


@dataclass
class Texture:
    """Texture coordinates piece by piece: (k, 2) each, and the number of each corner's from 0, −1 for none, (c,) each.

    sound: whether all could be read. Where they cannot, the mesh is still of use without them.
    """

    points: list[Floats] = field(default_factory=lambda: [np.zeros((0, 2))])
    links: list[Longs] = field(default_factory=list)
    n: int = 0
    sound: bool = True

    def read(self, words: Words, on_vt: Longs, on_f: Longs, text: bytes, corners: int) -> None:
        """Takes the coordinates (`vt`) of a piece, and the second numbers (`f 1/2/3`) of its faces' corners.

        text: the words of the faces, and how many corners they are.
        """
        values, counts, bad = words.numbers(on_vt, most=2)
        before = np.repeat(self.n + np.searchsorted(on_vt, on_f), words.lines[on_f + 1] - words.lines[on_f] - 1)
        self.n += len(on_vt)
        links: Longs | None = np.full(corners, -1)
        if self.n and SLASH in text:
            links = _read_links(np.frombuffer(text, dtype=np.uint8), before)
        self.sound &= bad is None and bool((counts > 0).all()) and links is not None
        if self.sound and links is not None:
            uv = np.zeros((len(on_vt), 2))
            uv[np.arange(2) < counts[:, None]] = values
            self.points.append(uv)
            self.links.append(links)

    def of_corners(self) -> Floats | None:
        """Coordinates of all corners, NaN where there are none, shape (c, 2); None if there are not any."""
        points, links = np.concatenate(self.points), np.concatenate([np.zeros(0, np.int64), *self.links])
        self.sound &= bool((links < self.n).all())
        if not self.sound or not (links >= 0).any():
            return None
        return np.where((links >= 0)[:, None], points[links], np.nan)


def _read_links(letters: Bytes, before: Longs) -> Longs | None:
    """The number between the slashes of each corner `v/vt/vn`, from 0, −1 where there is none (c,); None if damaged.

    before: coordinates that the file has named above each corner's line, (c,), from which negative numbers count back.
    """
    blank = np.concatenate(([True], letters <= SPACE, [True]))
    begins, ends = np.flatnonzero(blank[:-1] & ~blank[1:]), np.flatnonzero(~blank[:-1] & blank[1:])
    # beyond the last slash none follows
    slashes = np.concatenate((np.flatnonzero(letters == SLASH), [len(letters)] * 2))
    first = np.searchsorted(slashes, begins)
    low, high = np.minimum(slashes[first] + 1, ends), np.minimum(slashes[first + 1], ends)
    some = high > low
    flags = np.zeros(len(letters) + 1, dtype=np.int8)
    flags[low[some]] += 1
    flags[high[some]] -= 1
    numbers = whole_numbers(np.where(np.cumsum(flags[:-1], dtype=np.int8), letters, np.uint8(SPACE)))
    if numbers is None or len(numbers) != some.sum() or (numbers == 0).any():
        return None
    links = np.full(len(begins), -1)
    links[some] = np.where(numbers > 0, numbers - 1, before[some] + numbers)
    return links if (links[some] >= 0).all() else None


def number_uv(uv: Floats) -> tuple[Floats, Longs]:
    """The different coordinates (k, 2), and which of them each corner of uv (m, 3, 2) has, −1 for NaN, (m, 3)."""
    flat = uv.reshape(-1, 2)
    known = ~np.isnan(flat[:, 0])
    points, which = np.unique(flat[known], axis=0, return_inverse=True)
    corners = np.full(len(flat), -1)
    corners[known] = which.reshape(-1)
    return points, corners.reshape(-1, 3)


def face_lines(triangles: Ints | Longs, corners: Longs | None) -> str:
    """The lines of triangles (m, 3) with the texture coordinates of their corners (m, 3), both from 1; 0 for none."""
    if corners is None:
        return "f %d %d %d\n" * len(triangles) % tuple(triangles.ravel().tolist())
    if (corners > 0).all():
        both = np.stack((triangles, corners), axis=2)
        return "f %d/%d %d/%d %d/%d\n" * len(triangles) % tuple(both.ravel().tolist())
    words = [f"{v}/{t}" if t else f"{v}" for v, t in zip(triangles.ravel(), corners.ravel(), strict=True)]
    return "f %s %s %s\n" * len(triangles) % tuple(words)
