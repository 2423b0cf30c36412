"""Wavefront OBJ: positions, texture coordinates, faces, objects and groups; everything else in the file is skipped."""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.meshes.polygons import Polygons
from plisse.meshes.texture import Texture, face_lines, number_uv
from plisse.meshes.words import SLASH, SPACE, Words, split_text, whole_numbers

# Faces in no group, as some programs write it.
NO_GROUP = {"(null)", "off"}


@dataclass
class Runs:
    """Which faces a name holds, as ranges."""

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    since: int = 0

    def change(self, names: tuple[str, ...], face: int) -> None:
        """From this face on, faces belong to these names."""
        for name in self.names:
            self.ranges.setdefault(name, [])
            if face > self.since:
                self.ranges[name].append((self.since, face))
        self.names, self.since = names, face

    def faces(self) -> dict[str, Longs]:
        return {
            name: np.unique(np.concatenate([np.arange(*span, dtype=np.int64) for span in spans]))
            for name, spans in self.ranges.items()
            if spans
        }


def read_obj_polygons(path: Path) -> Polygons:
    """Vertices and faces of a file, with the faces of its objects (`o`) and groups (`g`)."""
    data = path.read_bytes()
    if b"\0" in data:
        raise SceneError(f"{path} cannot be read: it is binary data, not an OBJ file.")
    points, corners, sizes, lines = list[Floats](), list[Longs](), list[Longs](), list[Longs]()
    objects, groups, texture = Runs(), Runs(), Texture()
    n = faces = 0
    for words, first in split_text(data):
        on_v, on_f, on_o, on_g, on_vt = words.keywords(b"v", b"f", b"o", b"g", b"vt")
        values, counts, bad = words.numbers(on_v, most=3)
        if bad is None and len(short := np.flatnonzero(counts < 3)):
            bad = int(on_v[short[0]])
        if bad is not None:
            raise _line_error(path, words, bad, first, "a vertex needs three numbers")
        text, size = words.after_keyword(on_f)
        ring, bad = _read_faces(words, on_f, text, size, n + np.searchsorted(on_v, on_f))
        if bad is not None:
            raise _line_error(path, words, bad, first, "a face needs three or more vertex numbers, counted from 1")
        for line in np.sort(np.concatenate((on_o, on_g))).tolist():
            keyword, *rest = (word.decode("utf-8", errors="replace") for word in words.text(line))
            face = faces + int(np.searchsorted(on_f, line))
            if keyword == "o":
                objects.change((" ".join(rest),) if rest else (), face)
            else:
                groups.change(tuple(dict.fromkeys(name for name in rest if name not in NO_GROUP)), face)
        texture.read(words, on_vt, on_f, text, len(ring))
        points.append(values.reshape(-1, 3))
        corners.append(ring)
        sizes.append(size)
        lines.append(on_f + first)
        n, faces = n + len(on_v), faces + len(on_f)
    objects.change((), faces)
    groups.change((), faces)
    uv = texture.of_corners()
    odd = () if texture.sound else ("has damaged texture coordinates, which were left out",)
    return Polygons(
        np.concatenate([np.zeros((0, 3)), *points]),
        np.concatenate([np.zeros(0, np.int64), *corners]),
        np.concatenate(([0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes])))),
        objects.faces(),
        groups.faces(),
        first=1,
        lines=np.concatenate([np.zeros(0, np.int64), *lines]),
        notes=odd,
        uv=uv,
    )


def write_obj(
    path: Path,
    x: Floats,
    triangles: Ints,
    *,
    objects: Mapping[str, Longs] | None = None,
    groups: Mapping[str, Longs] | None = None,
    uv: Floats | None = None,
) -> None:
    """Text file of positions (n, 3) with all digits and triangles (m, 3).

    objects, groups: triangles by name, ascending, (k,) each; objects have none in common. uv: texture coordinates of
    the triangles' corners, (m, 3, 2), NaN where there are none.
    """
    runs = [
        (keyword, name, begin, end)
        for keyword, names in (("o", objects or {}), ("g", groups or {}))
        for name, chosen in names.items()
        for begin, end in _find_runs(chosen)
    ]
    bounds = sorted({0, len(triangles), *(bound for run in runs for bound in run[2:])})
    owners: dict[str, list[list[str]]] = {keyword: [[] for _ in bounds] for keyword in "og"}
    for keyword, name, begin, end in runs:
        for k in range(bisect_left(bounds, begin), bisect_left(bounds, end)):
            owners[keyword][k].append(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(map("v {} {} {}\n".format, *x.T.tolist())))
        points, corners = (np.zeros((0, 2)), None) if uv is None else number_uv(uv)
        file.write("".join(map("vt {} {}\n".format, *points.T.tolist())))
        for k, (begin, end) in enumerate(pairwise(bounds)):
            for keyword, names in (("o", objects), ("g", groups)):
                if names and (k == 0 or owners[keyword][k] != owners[keyword][k - 1]):
                    file.write(" ".join((keyword, *owners[keyword][k])) + "\n")
            file.write(face_lines(triangles[begin:end] + 1, None if corners is None else corners[begin:end] + 1))


def _find_runs(chosen: Longs) -> list[tuple[int, int]]:
    """Ranges of successive numbers in an ascending list (k,)."""
    cuts = np.flatnonzero(np.diff(chosen) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(chosen, cuts) if len(part)]


def _read_faces(words: Words, lines: Longs, text: bytes, counts: Longs, before: Longs) -> tuple[Longs, int | None]:
    """Vertices of the faces on these lines from 0, (c,), and the first line that is no face.

    text: the lines' words but the first of each, and how many (k,). before: vertices that the file has named above each
    line, (k,), from which negative numbers count back.
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    if SLASH in text:
        # texture and normal: from a slash to the blank that follows
        marks = np.flatnonzero((letters == SLASH) | (letters == SPACE) | (letters < SPACE))
        slash = letters[marks] == SLASH
        dead = np.zeros(len(letters), dtype=bool)
        dead[marks[slash]] = True
        spans = np.repeat(slash, np.diff(np.append(marks, len(letters))))
        dead[marks[0] if len(marks) else 0 :] |= spans
        letters = np.where(dead, np.uint8(SPACE), letters)
    found = whole_numbers(letters)
    ring = np.zeros(0, np.int64) if found is None else found
    if len(ring) == counts.sum() and (counts >= 3).all() and (ring != 0).all():
        back = np.repeat(before, counts)
        return np.where(ring > 0, ring - 1, back + ring), None
    number = re.compile(rb"-?0*[1-9][0-9]*(/\S*)?")
    for line in lines.tolist():
        corner_words = words.text(line)[1:]
        if len(corner_words) < 3 or not all(number.fullmatch(word) for word in corner_words):
            return ring, line
    raise AssertionError("a face line is not understood")


def _line_error(path: Path, words: Words, line: int, first: int, why: str) -> SceneError:
    text = b" ".join(words.text(line))[:60].decode("utf-8", errors="replace")
    return SceneError(f'{path} cannot be read: line {first + line} is "{text}", but {why}.')
