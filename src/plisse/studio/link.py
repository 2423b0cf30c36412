"""The studio's end of the process that simulates: starts it, hears it, and starts another one where it dies."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from plisse.studio.words import Answer, Change, Died, Steer, Stop, Word
from plisse.studio.work import work

PATIENCE = 3.0  # seconds that a process has to come to an end by itself


class Link:
    """hear: is called with every answer, on a thread of its own. folder: where the process keeps its run."""

    def __init__(self, base: Path, folder: Path, *, threads: int, hear: Callable[[Answer | Died], None]) -> None:
        self._base, self._folder, self._threads, self._hear = base, folder, threads, hear
        self._steer = Steer()
        self._number = 0
        self._closing = False
        self._outbox: queue.SimpleQueue[Word | None] = queue.SimpleQueue()
        self._start()
        # a process at work listens only between two iterations, and a pipe does not hold much
        threading.Thread(target=self._send, daemon=True, name="plisse-words").start()

    def _start(self) -> None:
        context = get_context("spawn")
        theirs, self._words = context.Pipe(duplex=False)
        answers, ours = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(theirs, ours, str(self._base), str(self._folder), self._threads), daemon=True
        )
        self.process.start()
        # ours alone hold the ends from here on, so that an end of the process is seen
        theirs.close()
        ours.close()
        self._listener = threading.Thread(target=self._listen, args=(answers,), daemon=True, name="plisse-answers")
        self._listener.start()

    def _listen(self, answers: Connection) -> None:
        try:
            while True:
                self._hear(answers.recv())
        except (EOFError, OSError):
            if not self._closing:
                self._hear(Died())

    def change(self, table: dict[str, Any], *, restart: bool = False) -> int:
        """Has the process take a scene; its answer has the number that is returned."""
        self._number += 1
        self._say(Change(self._number, table, restart))
        return self._number

    def steer(self, steer: Steer) -> None:
        self._steer = steer
        self._say(steer)

    def ask(self, word: Word) -> None:
        self._say(word)

    def _say(self, word: Word) -> None:
        self._outbox.put(word)

    def _send(self) -> None:
        """Sends what is said; of changes that wait only the last one."""
        while True:
            words = [self._outbox.get()]
            with suppress(queue.Empty):
                while True:
                    words.append(self._outbox.get_nowait())
            for word in thin_out(words):
                if word is None:
                    return
                with suppress(OSError):  # it has died, which the listener tells
                    self._words.send(word)

    def revive(self, table: dict[str, Any]) -> int:
        """Another process, which goes on from the last state that the dead one kept."""
        self._end()
        self._start()
        self._say(self._steer)
        return self.change(table)

    def close(self) -> None:
        """Ends the process."""
        self._closing = True
        self._end()
        self._outbox.put(None)

    def _end(self) -> None:
        self._say(Stop())
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._words.close()


def thin_out(words: Sequence[Word | None]) -> list[Word | None]:
    """Without changes that a later one replaces; that begins again where one of them would have."""
    changes = [word for word in words if isinstance(word, Change)]
    if len(changes) < 2:
        return list(words)
    last = replace(changes[-1], restart=any(change.restart for change in changes))
    return [last if word is changes[-1] else word for word in words if word not in changes[:-1]]
