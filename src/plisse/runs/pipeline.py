"""Levels of a motion that are simulated at the same time, each following the frames of the one below as they appear."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plisse.contact.check import use_detector_threads
from plisse.core.state import State
from plisse.progressive.session import Session
from plisse.runs.climb import Run
from plisse.runs.processes import Task, work_on
from plisse.runs.progress import ProgressLine
from plisse.runs.starts import restore_start
from plisse.runs.store import RunStore

WAIT = 0.02  # seconds between two looks for a step of the level below


def climb_together(
    run: Run, first: int, last: int, line: ProgressLine | None, *, workers: int, check_every: int
) -> list[float]:
    """All levels that are not done, at the same time and to the bit as one after the other. [Zhang2025] §5.4.2.

    This process holds the folder, shows levels and writes the report; each other one writes its level's own folder.
    Seconds of processor time of each level.
    """
    store, steps = run.store, run.session.scene.time.steps
    # levels above one that has to go on have to go on as well
    todo = range(next((level for level in range(first, last + 1) if not run.is_done(level)), last + 1), last + 1)
    tasks = [Task(f"level {level}", _follow, (store.folder, level, run.session.threads, check_every)) for level in todo]
    shown = 0

    def watch(done: Sequence[bool]) -> None:
        nonlocal shown
        while shown < len(todo) and done[shown]:
            run.recorder.reread()
            run.show(todo[shown], ended=True)
            shown += 1
        if line is not None and shown < len(todo):
            line.tell("  ".join(f"level {level}: step {store.reached(level) or 0}/{steps}" for level in todo[shown:]))

    try:
        return work_on(tasks, most=workers, watch=watch)
    except BaseException:
        store.tidy()
        run.recorder.reread()
        for level in todo[shown:]:
            run.show(level, ended=False)
        raise


def _follow(folder: Path, level: int, threads: int, check_every: int) -> None:
    """One level to its end, in a process of its own."""
    use_detector_threads(threads)
    store = RunStore.open(folder)
    session = Session(store.read_scene(), store.read_geometry(), threads=threads)
    restore_start(session, store)
    Follower(level, session, store, check_every=check_every).climb(level, level)


class Follower(Run):
    """A run of which this process simulates one level, while those below it may still be at work."""

    def __init__(self, level: int, session: Session, store: RunStore, **options: Any) -> None:
        super().__init__(session, store, **options)
        self._own = level
        self._reached = dict[int, int]()  # by the levels below, when they were last looked at

    def last_step(self, level: int) -> int:
        return self.session.scene.time.steps

    def look_up(self, level: int, step: int) -> State | None:
        """The state of a level after a step; those of the levels below are waited for."""
        if level >= self._own or not self.begin <= step <= self.last_step(level):
            return super().look_up(level, step)
        while step > self._reached.get(level, -1):
            reached = self.store.reached(level)
            if reached is not None:
                self._reached[level] = reached
            if reached is None or step > reached:
                time.sleep(WAIT)
        return self.store.read_state(level, step, self.session.scene.time.step)

    def show(self, level: int, *, ended: bool) -> None:
        """The process that started this one does."""
