"""What the user looks at: levels and what they are compared with, maps, a motion's frames, how the work stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plisse.studio.link import Link
from plisse.studio.motion import Motion
from plisse.studio.studying import Studying
from plisse.studio.view import HOW, RAMP, View, color, describe
from plisse.studio.words import Ask, Ended, Frame, Map, Shown, Taken

if TYPE_CHECKING:
    from plisse.studio.page import Page

NOTHING = np.zeros((0, 3))


class Looking:
    """folder: the run folder of the process, in which a motion's frames are; post: takes an event."""

    def __init__(self, page: Page, view: View, link: Link, folder: Path, *, post: Callable[..., None]) -> None:
        self.page, self.view, self._link = page, view, link
        self.motion = Motion(page, view, folder, post=post, draw=self.draw)
        self.studying = Studying(page, view, folder, post=post, draw=self.draw)
        self.aimed = False
        self._count = 1  # levels of the scene
        self._edges = self._limits = False

    # --- what the process finds ---------------------------------------------------------------------------------------

    def take(self, word: Taken) -> None:
        self._count = word.levels
        self.motion.take(word.every)

    def show(self, word: Shown) -> None:
        self.view.take_shown(word)
        self.studying.forget(word.level)
        self.motion.begin()
        self.draw()
        self.show_levels()

    def move(self, word: Frame) -> None:
        shown = self.view.take_frame(word)
        if self.motion.follow(word.step) and shown:
            if self.view.is_moving:
                self.page.move(self.view.levels[word.level].x)
            else:
                self.draw()
        if self._limits and shown:
            x = self.view.levels[word.level].x
            self.page.mark("limit", x[list(word.limits)], 0.01 * float(np.ptp(x, axis=0).max()))

    def end(self, word: Ended) -> None:
        self.view.take_end(word)
        self.studying.show_small()
        self.show_levels()
        self._ask()

    def color(self, word: Map) -> None:
        if word.level == self.view.shown and word.kind == self.view.map_kind:
            self.view.map = word
            self.draw()

    # --- what the user chooses ----------------------------------------------------------------------------------------

    def on_level(self, name: str) -> None:
        self.view.level = None if name == "the newest" else int(name.removeprefix("level "))
        self.view.map = None
        self.draw()
        self._ask()

    def on_beside(self, name: str) -> None:
        self.view.beside = None if name == "nothing" else int(name.removeprefix("level "))
        self.draw()
        self.show_levels()

    def on_levels_found(self) -> None:
        self.draw()
        self.show_levels()

    def on_how(self, how: str) -> None:
        self.view.aside = how != HOW[0]
        self.draw()

    def on_wipe(self, part: float) -> None:
        self.view.wipe = part
        self.draw()

    def on_smooth(self, smooth: bool) -> None:
        self.view.smooth = smooth
        self.draw()
        self.page.tell("A smooth view: rounder than what was simulated." if smooth else "")

    def on_edges(self, edges: bool) -> None:
        self._edges = edges
        self.draw()

    def on_limits(self, limits: bool) -> None:
        self._limits = limits
        if not limits:
            self.page.mark("limit", NOTHING, 0.0)

    def on_map(self, kind: str) -> None:
        self.view.map_kind, self.view.map = kind, None
        self.draw()
        self._ask()

    def _ask(self) -> None:
        """For the map that was chosen, where the level that is shown has come to its end."""
        level = self.view.levels.get(self.view.shown)
        if self.view.map_kind != "none" and level is not None and level.ended is not None:
            self._link.ask(Ask(self.view.map_kind, self.view.shown))
        elif self.view.map_kind != "none":
            self.page.tell(f"The map appears once level {self.view.shown} has come to its end.")

    # --- what is drawn ------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Everything anew, as it has to be where the surfaces are others."""
        if not self.view.levels:
            return
        stage, x = self.view.compose()
        self.page.set_stage(stage, x, edges=self._edges and self.view.is_moving)
        found = self.view.map
        if found is not None and not self.view.smooth and self.view.beside is None and self.view.section < 0:
            colors, low, high = color(found.values)
            for part in (part for part in stage.parts if part.is_shell):
                self.page.tint(part, x[part.first : part.last], colors[part.first : part.last])
            self.page.show_legend(found.title, f"{low:.3g} {found.unit}", f"{high:.3g} {found.unit}", RAMP)
        else:
            self.page.show_legend("", "", "", RAMP)
        if not self.aimed:
            self.aimed = True
            shells = np.concatenate([x[part.first : part.last] for part in stage.parts if part.framed])
            middle, reach = 0.5 * (shells.min(axis=0) + shells.max(axis=0)), float(np.ptp(shells, axis=0).max())
            middle = middle - np.array([0.0, 0.0, 0.2 * reach])
            self.page.aim(middle + reach * np.array([1.2, -1.8, 0.9]), middle)

    def show_levels(self) -> None:
        reached = sorted(self.view.levels)
        if self.view.beside not in reached:
            self.view.beside = None
        shown = self.view.level if self.view.level in reached else None
        self.page.show_levels(reached, self._count, shown=shown, beside=self.view.beside)
        self.page.show_ends(self.view.ends())

    def show_status(self, *, busy: bool, held: bool) -> None:
        level = self.view.levels.get(self.view.newest)
        if level is not None and level.frame is not None:
            self.page.show_status(describe(level.frame, level, held=held), busy=busy)
