"""Text in pieces of whole lines, and the words and numbers in them, without a loop over lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bytes, Floats, Longs

# Files are read in pieces of about this many bytes, so that memory stays near the size of the mesh.
PIECE = 1 << 24
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
NEWLINE, SLASH, MINUS, SPACE = b"\n/- "
# A backslash at the end of a line joins it with the next.
CONTINUED = re.compile(rb"\\[ \t\r]*\n")


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


def whole_numbers(letters: Bytes) -> Longs | None:
    """The numbers in a text of digits, blanks, and minus signs before numbers; None if there is anything else in it."""
    digit = (letters >= ord("0")) & (letters <= ord("9"))
    minus = letters == MINUS
    blank = letters <= SPACE
    # a minus stands before a digit and after a blank
    sound = digit | blank
    sound[1:] |= minus[1:] & blank[:-1]
    sound[:-1] &= ~minus[:-1] | digit[1:]
    if not sound.all():
        return None
    return np.fromstring(letters.tobytes(), dtype=np.int64, sep=" ") if digit.any() else np.zeros(0, np.int64)
