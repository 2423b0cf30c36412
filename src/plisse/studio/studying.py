"""What helps to understand a state: a section through it, distances between two points, small pictures, the report."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.studio.files import failure
from plisse.studio.places import meet
from plisse.studio.thumbnails import HEIGHT, WIDTH, draw_thumbnail
from plisse.studio.view import SECTIONS, View

if TYPE_CHECKING:
    from plisse.studio.page import Page

NOTHING = np.zeros((0, 3))
MOST_ACROSS = 3  # thumbnails side by side
EDGE = 2  # pixels between them


class Studying:
    """folder: the run folder of the process; post: takes an event; draw: shows all anew."""

    def __init__(
        self, page: Page, view: View, folder: Path, *, post: Callable[..., None], draw: Callable[[], None]
    ) -> None:
        self.page, self.view, self._folder, self._post, self._draw = page, view, folder, post, draw
        self._points: list[Floats] = []
        self._small: dict[int, Ints] = {}  # picture of each level

    # --- section ------------------------------------------------------------------------------------------------------

    def on_section(self, across: str) -> None:
        self.view.section = SECTIONS.index(across) - 1
        self.page.allow_cut(self.view.section >= 0)
        self._draw()

    def on_cut(self, part: float) -> None:
        self.view.cut = part
        self._draw()

    # --- distance -----------------------------------------------------------------------------------------------------

    def on_measure(self) -> None:
        self._points = []
        self.page.mark("measure", NOTHING, 0.0)
        self.page.await_pick("Measure")
        self.page.tell("Click the first of two points.")

    def on_pointed(self, origin: Floats, direction: Floats) -> None:
        """A click: the nearest point of any surface under it."""
        stage, x = self.view.compose()
        found = (meet(origin, direction, x[p.first : p.last], p.triangles) for p in stage.parts if len(p.triangles))
        hits = [hit[0] for hit in found if hit is not None]
        if not hits:
            self.page.tell("There is no surface: click on one.")
            return
        self._points.append(origin + min(hits) * direction / np.linalg.norm(direction))
        self.page.mark("measure", np.array(self._points), 0.012 * float(np.ptp(x, axis=0).max()))
        if len(self._points) < 2:
            self.page.tell("Click the second point.")
            return
        way = self._points[1] - self._points[0]
        each = ", ".join(f"{axis} {100.0 * part:+.2f}" for axis, part in zip("xyz", way, strict=True))
        self.page.await_pick(None)
        self.page.tell(f"{100.0 * float(np.linalg.norm(way)):.2f} cm in a straight line ({each} cm).")

    # --- small pictures -----------------------------------------------------------------------------------------------

    def show_small(self) -> None:
        """Small pictures of all levels that have come to their end, coarse to fine."""
        ended = {number: level for number, level in self.view.levels.items() if level.ended is not None}
        self._small = {number: image for number, image in self._small.items() if number in ended}
        for number, level in ended.items():
            if number not in self._small:
                self._small[number] = draw_thumbnail(level.stage, level.x.astype(np.float64))
        self.page.show_small(_tile([self._small[number] for number in sorted(self._small)]))

    def forget(self, level: int) -> None:
        """A level begins anew, and those above it."""
        self._small = {number: image for number, image in self._small.items() if number < level}

    # --- report -------------------------------------------------------------------------------------------------------

    def on_report(self) -> None:
        """The report of the command line on what was reached, in a process of its own."""
        self.page.tell("Writing the report …")
        words = [sys.executable, "-m", "plisse.cli", "report", str(self._folder)]

        def ask() -> None:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self._post("reported", done.stdout, failure(done))

        threading.Thread(target=ask, daemon=True).start()

    def on_reported(self, text: str, sentence: str) -> None:
        if sentence:
            raise SceneError(sentence)
        self.page.tell("")
        self.page.show_report(text)


def _tile(images: list[Ints]) -> Ints | None:
    """Images of one size in rows, None where there are none."""
    if not images:
        return None
    rows = -(-len(images) // MOST_ACROSS)
    across = min(len(images), MOST_ACROSS)
    out = np.full((rows * (HEIGHT + EDGE), across * (WIDTH + EDGE), 3), 255, np.int32)
    for k, image in enumerate(images):
        row, column = (k // MOST_ACROSS) * (HEIGHT + EDGE), (k % MOST_ACROSS) * (WIDTH + EDGE)
        out[row : row + HEIGHT, column : column + WIDTH] = image
    return out
