"""Wavefront OBJ: positions, faces, objects and groups; everything else in the file is skipped."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Longs
from plisse.meshes.polygons import Polygons

Bytes = npt.NDArray[np.uint8]

# Files are read in pieces of about this many bytes, so that memory stays near the size of the mesh.
PIECE = 1 << 24
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
NEWLINE, SLASH, MINUS, SPACE = b"\n/- "
# A backslash at the end of a line joins it with the next.
CONTINUED = re.compile(rb"\\[ \t\r]*\n")
# Faces in no group, as some programs write it.
NO_GROUP = {"(null)", "off"}


@dataclass
class Words:
    """The words of a piece of text: where they begin and end (w,), and the first word of each line (k + 1,)."""

    data: Bytes
    begins: Longs
    ends: Longs
    lines: Longs

    @staticmethod
    def split(data: Bytes) -> "Words":
        blank = data <= SPACE
        edges = np.flatnonzero(np.diff(np.concatenate(([True], blank, [True])).view(np.int8)))
        begins, ends = edges[::2], edges[1::2]
        breaks = np.flatnonzero(data == NEWLINE)
        return Words(data, begins, ends, np.concatenate(([0], np.searchsorted(begins, breaks), [len(begins)])))

    def keywords(self, *words: bytes) -> list[Longs]:
        """For each keyword the lines that begin with it, counted from 0."""
        filled = np.flatnonzero(np.diff(self.lines) > 0)
        heads = self.lines[filled]
        length = self.ends[heads] - self.begins[heads]
        found = []
        for word in words:
            match = length == len(word)
            for k, letter in enumerate(word):
                at = np.minimum(self.begins[heads] + k, len(self.data) - 1)
                match &= self.data[at] == letter
            found.append(filled[match])
        return found

    def text(self, line: int) -> list[bytes]:
        """The words of one line."""
        low, high = self.lines[line : line + 2]
        return [self.data[a:b].tobytes() for a, b in zip(self.begins[low:high], self.ends[low:high], strict=True)]

    def after_keyword(self, lines: Longs, *, most: int | None = None) -> tuple[bytes, Longs]:
        """All words of the lines but the first of each, blanks between them, and how many there are in each (k,)."""
        counts = self.lines[lines + 1] - self.lines[lines] - 1
        if most is not None:
            counts = np.minimum(counts, most)
        flags = np.zeros(len(self.data) + 1, dtype=np.int8)
        first = self.lines[lines] + 1
        some = counts > 0
        flags[self.begins[first[some]]] = 1
        flags[self.ends[(first + counts)[some] - 1]] -= 1
        return np.where(np.cumsum(flags[:-1], dtype=np.int8), self.data, np.uint8(SPACE)).tobytes(), counts

    def numbers(self, lines: Longs, *, most: int) -> tuple[Floats, Longs, int | None]:
        """Numbers after the lines' keywords, at most so many of each line; how many (k,); and the first bad line."""
        text, counts = self.after_keyword(lines, most=most)
        try:
            values = np.fromstring(text, dtype=np.float64, sep=" ") if counts.any() else np.zeros(0)
        except ValueError:
            values = np.zeros(0)
        if len(values) == counts.sum():
            return values, counts, None
        for line in lines.tolist():
            if not all(NUMBER.fullmatch(word) for word in self.text(line)[1 : most + 1]):
                return values, counts, line
        return values, counts, int(lines[0])


def split_text(data: bytes) -> Iterator[tuple[Words, int]]:
    """The text in pieces of whole lines without comments, and the number of each piece's first line."""
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    at, line = 0, 1
    while at < len(data):
        end = data.find(b"\n", at + PIECE) + 1 or len(data)
        while end < len(data) and data[end - 8 : end].rstrip().endswith(b"\\"):
            end = data.find(b"\n", end) + 1 or len(data)
        piece = data[at:end]
        if CONTINUED.search(piece):
            piece = re.sub(rb"^(?:[^\n]*\\[ \t\r]*\n)+[^\n]*\n?", _join_lines, piece, flags=re.MULTILINE)
        if b" #" in piece:
            piece = re.sub(rb"[ \t]#[^\n]*", b" ", piece)
        yield Words.split(np.frombuffer(piece, dtype=np.uint8)), line
        line += piece.count(b"\n")
        at = end


def _join_lines(match: re.Match[bytes]) -> bytes:
    """The lines as one, followed by as many empty ones as lines keep their numbers."""
    text = match.group()
    joined = CONTINUED.sub(b" ", text)
    return joined + b"\n" * (text.count(b"\n") - joined.count(b"\n"))


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
    objects, groups = Runs(), Runs()
    n = faces = 0
    for words, first in split_text(data):
        on_v, on_f, on_o, on_g = words.keywords(b"v", b"f", b"o", b"g")
        values, counts, bad = words.numbers(on_v, most=3)
        if bad is None and len(short := np.flatnonzero(counts < 3)):
            bad = int(on_v[short[0]])
        if bad is not None:
            raise _line_error(path, words, bad, first, "a vertex needs three numbers")
        ring, size, bad = _read_faces(words, on_f, n + np.searchsorted(on_v, on_f))
        if bad is not None:
            raise _line_error(path, words, bad, first, "a face needs three or more vertex numbers, counted from 1")
        for line in np.sort(np.concatenate((on_o, on_g))).tolist():
            keyword, *rest = (word.decode("utf-8", errors="replace") for word in words.text(line))
            face = faces + int(np.searchsorted(on_f, line))
            if keyword == "o":
                objects.change((" ".join(rest),) if rest else (), face)
            else:
                groups.change(tuple(dict.fromkeys(name for name in rest if name not in NO_GROUP)), face)
        points.append(values.reshape(-1, 3))
        corners.append(ring)
        sizes.append(size)
        lines.append(on_f + first)
        n, faces = n + len(on_v), faces + len(on_f)
    objects.change((), faces)
    groups.change((), faces)
    return Polygons(
        np.concatenate([np.zeros((0, 3)), *points]),
        np.concatenate([np.zeros(0, np.int64), *corners]),
        np.concatenate(([0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes])))),
        objects.faces(),
        groups.faces(),
        first=1,
        lines=np.concatenate([np.zeros(0, np.int64), *lines]),
    )


def write_obj(
    path: Path,
    x: Floats,
    triangles: Ints,
    *,
    objects: Mapping[str, Longs] | None = None,
    groups: Mapping[str, Longs] | None = None,
) -> None:
    """Text file of positions (n, 3) with all digits and triangles (m, 3).

    objects, groups: triangles by name, ascending, (k,) each; objects have none in common.
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
        for k, (begin, end) in enumerate(pairwise(bounds)):
            for keyword, names in (("o", objects), ("g", groups)):
                if names and (k == 0 or owners[keyword][k] != owners[keyword][k - 1]):
                    file.write(" ".join((keyword, *owners[keyword][k])) + "\n")
            file.write("".join(map("f {} {} {}\n".format, *(triangles[begin:end].T + 1).tolist())))


def _find_runs(chosen: Longs) -> list[tuple[int, int]]:
    """Ranges of successive numbers in an ascending list (k,)."""
    cuts = np.flatnonzero(np.diff(chosen) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(chosen, cuts) if len(part)]


def _read_faces(words: Words, lines: Longs, before: Longs) -> tuple[Longs, Longs, int | None]:
    """Vertices of the faces on these lines from 0, (c,); corners of each (k,); the first line that is no face.

    before: vertices that the file has named above each line, (k,), from which negative numbers count back.
    """
    text, counts = words.after_keyword(lines)
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
    digit = (letters >= ord("0")) & (letters <= ord("9"))
    minus = letters == MINUS
    blank = letters <= SPACE
    # a minus stands before a digit and after a blank
    sound = digit | blank
    sound[1:] |= minus[1:] & blank[:-1]
    sound[:-1] &= ~minus[:-1] | digit[1:]
    ring = np.zeros(0, np.int64)
    if sound.all() and counts.any():
        ring = np.fromstring(letters.tobytes(), dtype=np.int64, sep=" ")
    if len(ring) == counts.sum() and (counts >= 3).all() and (ring != 0).all():
        back = np.repeat(before, counts)
        return np.where(ring > 0, ring - 1, back + ring), counts, None
    number = re.compile(rb"-?0*[1-9][0-9]*(/\S*)?")
    for line in lines.tolist():
        corner_words = words.text(line)[1:]
        if len(corner_words) < 3 or not all(number.fullmatch(word) for word in corner_words):
            return ring, counts, line
    raise AssertionError("a face line is not understood")


def _line_error(path: Path, words: Words, line: int, first: int, why: str) -> SceneError:
    text = b" ".join(words.text(line))[:60].decode("utf-8", errors="replace")
    return SceneError(f'{path} cannot be read: line {first + line} is "{text}", but {why}.')
