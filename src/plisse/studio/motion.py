"""A motion's timeline: its frames on the levels that are shown, and windows of it that are refined."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plisse.core.errors import SceneError
from plisse.runs.recording import open_recording
from plisse.runs.store import RunStore
from plisse.studio.files import run_command
from plisse.studio.view import Level, View
from plisse.studio.words import Ended

if TYPE_CHECKING:
    from plisse.studio.page import Page

PLAY_RATE = 24.0  # frames a second of a motion


class Motion:
    """folder: the run folder of the process, in which the frames are; post: takes an event; draw: shows all anew."""

    def __init__(
        self, page: Page, view: View, folder: Path, *, post: Callable[..., None], draw: Callable[[], None]
    ) -> None:
        self.page, self.view, self._folder, self._post, self._draw = page, view, folder, post, draw
        self.every: int | None = None  # steps from frame to frame, None in statics
        self.playing = False
        self._frame = self._last = 0
        self._window = (0, 0)
        self._refining = False
        self._windows: dict[int, Path] = {}  # where the frames of a level are that has only a window of them

    def take(self, every: int | None) -> None:
        """Another motion, or none: windows of the last one are no longer of any use."""
        self.every, self.playing, self._windows = every, False, {}
        for old in self._folder.glob("frames-*"):
            shutil.rmtree(old, ignore_errors=True)
        self.begin()

    def begin(self) -> None:
        """A level begins."""
        self._frame = self._last = 0
        self.page.show_frames(0, 0, playing=False)

    def follow(self, step: int) -> bool:
        """Whether the newest step is to be shown: unless an earlier frame is looked at, or all are played."""
        if self.every is None:
            return True
        follows = self._frame >= self._last
        self._last = step // self.every
        self._frame = self._last if follows else self._frame
        self.page.show_frames(self._last, self._frame, playing=self.playing)
        return follows and not self.playing

    def on_frame(self, number: int) -> None:
        self._frame = int(number)
        self.show_frame()

    def on_play(self) -> None:
        self.playing = not self.playing
        self.page.show_frames(self._last, self._frame, playing=self.playing)

    def play_on(self) -> None:
        """The next frame of a motion that is played."""
        self._frame = self._frame + 1 if self._frame < self._last else 0
        self.page.show_frames(self._last, self._frame, playing=True)
        self.show_frame()

    def show_frame(self) -> None:
        """The frame on each level that is shown, as far as it has it."""
        for number in self.view.on_show:
            try:
                x = RunStore(self._windows.get(number, self._folder)).read_frame(number, self._frame)
            except SceneError:
                continue  # not written yet, not in the window, or taken away by a change
            self.view.levels[number].x = x.astype(np.float32)
        self._draw()

    def played(self, most: int) -> Iterator[float]:
        """Shows frames in turn, and gives the seconds that each lasts; of more than `most`, every second, third …

        Nothing where there is no motion. In the end the frame is shown that was shown before.
        """
        if self.every is None or self._last == 0:
            return
        before, stride = self._frame, -(-(self._last + 1) // max(most, 2))
        for number in range(0, self._last + 1, stride):
            self._frame = number
            self.show_frame()
            yield stride / PLAY_RATE
        self._frame = before
        self.show_frame()

    # --- windows ------------------------------------------------------------------------------------------------------

    def on_window(self, ends: tuple[float, ...]) -> None:
        self._window = int(min(ends)), int(max(ends))

    def on_refine_frames(self) -> None:
        """Refines the chosen frames by the command that does the same."""
        first, last = self._window
        if self.every is None or self._last == 0:
            raise SceneError("Only a motion has frames to refine: let level 0 move first.")
        if not first < min(last, self._last):
            raise SceneError("Choose from which frame to which: drag both ends of `window`.")
        if self._refining:
            raise SceneError("Frames are being refined already: wait for them.")
        last, self._refining = min(last, self._last), True
        words = ["refine", str(self._folder), "--frames", f"{first * self.every}:{last * self.every}", "--quiet"]
        self.page.tell(f"Refining frames {first} to {last} …")
        threading.Thread(
            target=lambda: self._post("frames_refined", first, last, run_command(words)), daemon=True
        ).start()  # fmt: skip

    def on_frames_refined(self, first: int, last: int, sentence: str) -> None:
        self._refining = False
        assert self.every is not None
        own = self._folder / f"frames-{first * self.every:04d}-{last * self.every:04d}"
        finer = [level for level in RunStore(own).levels() if level not in self.view.levels or level in self._windows]
        if not finer:
            self.page.tell(sentence or "Nothing finer was found.", bad=True)
            return
        for number in finer:
            found = open_recording(own, number)
            self.view.levels[number] = Level(found.stage, found.read_frame(last).astype(np.float32))
            self.view.levels[number].ended = Ended(0, number, True)
            self._windows[number] = own
        self.view.newest, self._frame = max(finer), last
        self.page.show_frames(self._last, self._frame, playing=False)
        self._post("levels_found")
        self.page.tell(sentence or f"Frames {first} to {last} are there up to level {max(finer)}.", bad=bool(sentence))
