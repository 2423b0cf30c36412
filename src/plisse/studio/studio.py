"""The studio: one thread that takes what the user does and what the process finds, in order, and shows the result."""

from __future__ import annotations

import queue
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from plisse.core.errors import SceneError
from plisse.export.target import need
from plisse.runs.store import RunStore
from plisse.runs.writing import lock_run
from plisse.studio.document import Version, open_document
from plisse.studio.editing import Editing
from plisse.studio.files import Files
from plisse.studio.link import Link
from plisse.studio.looking import Looking
from plisse.studio.motion import PLAY_RATE
from plisse.studio.view import View
from plisse.studio.words import Died, Ended, Frame, Map, Refused, Resting, Shown, Steer, Taken, Tried, Try

MOST_DEATHS, DEATHS_WITHIN = 3, 120.0  # of processes that are replaced, and within so many seconds

Events = list[tuple[str, tuple[Any, ...]]]


class Studio:
    """source: a scene file, a run folder, or None for a small scene to begin with."""

    def __init__(self, source: Path | None, *, host: str, port: int, threads: int, names: tuple[str, ...] = ()) -> None:
        need("viser", extra="studio", purpose="The studio")
        from plisse.studio.page import Page

        self._events: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._closing = ExitStack()
        try:
            is_run = source is not None and RunStore(source).exists
            if source is not None and is_run:
                self._closing.enter_context(lock_run(source))
            self.document = open_document(source)
            self.folder = self._closing.enter_context(_scratch())
            if source is not None and is_run:
                shutil.copytree(source, self.folder, dirs_exist_ok=True)
            self.page = Page(host, port, self.post, names=names, waiting=self._events.qsize)
            self._closing.callback(self.page.close)
            self.link = Link(self.document.base, self.folder, threads=threads, hear=partial(self.post, "heard"))
            self._closing.callback(self.link.close)
        except BaseException:
            self._closing.close()
            raise
        view = View()
        self.editing = Editing(self.document, self.page, view, self._send)
        self.looking = Looking(self.page, view, self.link, self.folder, post=self.post)
        self.files = Files(
            self.document, self.page, view, self.folder, post=self.post, replaced=self._take_other,
            played=self.looking.motion.played,
        )  # fmt: skip
        self.steer = Steer()
        self.good: Version | None = None  # the last one that could be simulated
        self._asked: dict[int, Version] = {}
        self._busy = True
        self._saved = ""  # name of the scene file that was saved last
        self._deaths: list[float] = []

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.page.gate.address

    def post(self, name: str, *values: Any) -> None:
        """Takes an event from any thread."""
        self._events.put((name, values))

    def close(self) -> None:
        self._closing.close()

    def run(self, *, said: TextIO | None = None) -> None:
        """Works until it is interrupted, or is posted "stop"."""
        self.editing.show_place()
        self.files.show()
        self.page.show_status([f"<b>{self.document.name}</b>: starting …"], busy=True)
        self._send(self.document.now)
        while True:
            for name, values in self._wait():
                if name == "stop":
                    return
                self._handle(name, values, said)
            if self.looking.motion.playing:
                self.looking.motion.play_on()

    def _handle(self, name: str, values: tuple[Any, ...], said: TextIO | None) -> None:
        looking = self.looking
        places = (self, self.editing, looking, looking.motion, looking.studying, self.files)
        handler = next(found for place in places if (found := getattr(place, f"on_{name}", None)))
        try:
            try:
                handler(*values)
            except SceneError as error:
                self.page.show_refusal(str(error))
                if not self.editing.dragging:
                    self.editing.show_place()
        except Exception as error:  # a defect of ours must not end the session
            traceback.print_exc(file=said)
            self.page.tell(f"That went wrong inside the studio ({error}).", bad=True)

    def _wait(self) -> Events:
        """The events that are there, at least one unless a motion is played."""
        events: Events = []
        try:
            events.append(self._events.get(timeout=1.0 / PLAY_RATE if self.looking.motion.playing else None))
            while True:
                events.append(self._events.get_nowait())
        except queue.Empty:
            return thin_out(events)

    # --- the scene and its simulation ---------------------------------------------------------------------------------

    def _send(self, version: Version) -> None:
        """Has the process take a version of the scene."""
        self._asked[self.link.change(self._named(version), restart=version.restart)] = version
        self._busy = True
        self.page.show_history(self.document.undoable, self.document.redoable)

    def _named(self, version: Version) -> dict[str, Any]:
        return {"name": self.document.name} | version.table

    def _take_other(self, version: Version) -> None:
        """Another scene in place of this one."""
        self.looking.aimed = False
        self.editing.choose(())
        self.editing.changed(version)

    def on_heard(self, word: Any) -> None:
        """What the process says."""
        looking = self.looking
        if isinstance(word, Taken):
            self.good = self._asked.get(word.number, self.good)
            self._asked = {number: version for number, version in self._asked.items() if number > word.number}
            self.page.tell(word.note)
            looking.take(word)
        elif isinstance(word, Refused):
            self._refuse(word)
        elif isinstance(word, Shown):
            looking.show(word)
        elif isinstance(word, Frame):
            self._busy = True
            looking.move(word)
            looking.show_status(busy=True, held=self.steer.hold)
        elif isinstance(word, Ended):
            looking.end(word)
        elif isinstance(word, Resting):
            self._busy = False
            looking.show_status(busy=False, held=self.steer.hold)
            self.page.tell(word.sentence, bad=True) if word.sentence else None
        elif isinstance(word, Map):
            looking.color(word)
        elif isinstance(word, Tried):
            if word.sentence:
                said = f"{self._saved} is saved, but cannot be run as it is, as its shells start elsewhere than here"
                self.page.tell(f"{said}: {word.sentence}", bad=True)
        elif isinstance(word, Died):
            self._revive()

    def _revive(self) -> None:
        """Another process in place of one that died, with the last scene that was simulated; not again and again."""
        now = time.monotonic()
        self._deaths = [*(died for died in self._deaths if now - died < DEATHS_WITHIN), now]
        if len(self._deaths) > MOST_DEATHS:
            self.page.tell("The simulation's process has died too often: save the scene and open it anew.", bad=True)
            return
        if self.good is not None:
            self.document.withdraw(self.good)
            self.editing.choose(self.editing.chosen)
            self.editing.show_place()
        self.page.tell("The simulation's process has died; another one goes on from the last state.", bad=True)
        version = self.document.now
        self._asked[self.link.revive(self._named(version))] = version

    def _refuse(self, word: Refused) -> None:
        """The last version that could be simulated is the scene again, unless something newer is under way."""
        if self._asked.pop(word.number, None) is not self.document.now:
            return
        if self.good is not None:
            self.document.withdraw(self.good)
        self._busy = False
        self.page.show_refusal(word.sentence)
        self.page.mark_triangles(word.places)
        self.page.show_history(self.document.undoable, self.document.redoable)
        if not self.editing.dragging:
            self.editing.choose(self.editing.chosen)
            self.editing.show_place()

    def on_saved(self, name: str) -> None:
        self._saved = name
        self.link.ask(Try())

    def on_refine(self, refine: bool) -> None:
        self._take_steer(refine=refine)

    def on_upto(self, name: str) -> None:
        self._take_steer(upto=None if name == "the finest" else int(name.removeprefix("level ")))

    def on_hold(self) -> None:
        self._take_steer(hold=not self.steer.hold)
        self.page.show_held(self.steer.hold)

    def _take_steer(self, **says: Any) -> None:
        self.steer = replace(self.steer, **says)
        self.link.steer(self.steer)

    def on_complain(self, sentence: str) -> None:
        self.page.tell(sentence, bad=True)

    def on_came(self) -> None:
        """Another window was opened: it sees what all others see."""
        self.looking.show_status(busy=self._busy, held=self.steer.hold)


def thin_out(events: Events) -> Events:
    """Without events that a later one replaces: frames of a level, steps of one drag, values on the way."""
    out: Events = []
    seen: set[object] = set()
    for name, values in reversed(events):
        key: object = None
        if name == "heard" and isinstance(values[0], Frame):
            key = ("frame", values[0].level, values[0].number)
        elif name == "drag" and values[1] == "update":
            key = ("drag", values[0])
        elif name == "set" and values[0].control in ("slider", "number", "vector"):
            key = ("set", values[0].path)
        elif name in ("wipe", "frame"):
            key = name
        if key is None or key not in seen:
            out.append((name, values))
        seen.add(key)
    return out[::-1]


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that is removed at the end."""
    folder = tempfile.mkdtemp(prefix="plisse-studio-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
