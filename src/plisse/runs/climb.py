"""Levels that are climbed into a run folder, every step kept, a report and pictures left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plisse.core.arrays import Floats
from plisse.core.state import Checkpoint, State
from plisse.core.version import __version__
from plisse.pictures.page import make_page
from plisse.progressive.consistency import compare_levels
from plisse.progressive.events import Event, LevelEnded
from plisse.progressive.report import LevelReport, Report
from plisse.progressive.session import Session
from plisse.progressive.trajectory import compare_motions
from plisse.runs.album import Album
from plisse.runs.mend import mend_frames
from plisse.runs.recorder import Recorder
from plisse.runs.report import make_report, report_levels
from plisse.runs.store import RunStore
from plisse.runs.writing import StoreError


class Run:
    """A session that is climbed into a run folder, from where the folder stands.

    more: levels that ran out of steps get as many again. drawn: called with the last step, the seconds and the picture
    of each level that has come to its end or was interrupted, and whether it has ended.
    """

    def __init__(
        self,
        session: Session,
        store: RunStore,
        *,
        check_every: int = 10,
        more: bool = False,
        drawn: Callable[[Checkpoint, float, Path, bool], None] | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.session, self.store, self.more = session, store, more
        self._drawn = drawn
        self.spec = store.read_spec()
        self.recorder = Recorder(session, store, check_every=check_every)
        self.album = Album(session, store)
        session.listen(self.recorder)
        session.listen(self._show_ended)
        if self.dynamic and session.finest > 0:
            # finer levels look back at what the folder holds
            session.grid.depth, session.grid.older = 2, self.look_up
        known = sum(report.wall_s for report in self._level_reports())
        self.spent = max(self.spec.wall_s, known)  # seconds of earlier commands, as far as they are known

    @property
    def kept(self) -> dict[int, Checkpoint]:
        return self.recorder.kept

    @property
    def dynamic(self) -> bool:
        return self.session.is_dynamic

    @property
    def begin(self) -> int:
        """The step that levels begin with."""
        return self.session.begin or 0

    def look_up(self, level: int, step: int) -> State | None:
        """The state of a motion's level after a step, where the folder has it."""
        at = self.kept.get(level)
        if at is None or not self.begin <= step <= at.state.step:
            return None
        return self.store.read_state(level, step, self.session.scene.time.step)

    # --- levels -----------------------------------------------------------------------------------------------------

    def has_work(self, first: int, last: int) -> bool:
        """Whether one of these levels is not done yet."""
        for level in range(first, last + 1):
            if not self.is_done(level):
                return True
            if not self._may_go_on(level):
                return False
        return False

    def is_done(self, level: int) -> bool:
        """Whether a level has come as far as it is to."""
        at = self.kept.get(level)
        if at is None or not at.notes["ended"] or self._is_looser(at):
            return False
        if self.dynamic:
            return at.state.step >= self.last_step(level)
        return not self.more or _is_good_start(at.state)

    def last_step(self, level: int) -> int:
        """The last step of a motion's level: the scene's, as far as the level below has come."""
        last, below = self.session.scene.time.steps, self.kept.get(level - 1)
        return last if below is None else min(last, below.state.step)

    def _is_looser(self, at: Checkpoint) -> bool:
        """Whether it was brought less near to rest than is asked for now, which only the finest level is asked for."""
        level, ladder, notes = at.state.level, self.session.ladder, at.notes
        if level < self.session.finest:
            return False
        asked = ladder.rest()
        if asked is None:
            return bool(notes["rest"] is not None or notes["tol"] > ladder.tol(level))
        return notes["rest"] is None or bool(notes["rest"] > asked.distance / asked.size)

    def climb(self, first: int, last: int) -> None:
        """To equilibrium, or through time, on the first level and on those above it."""
        for level in range(first, last + 1):
            if not self.is_done(level):
                try:
                    for _ in self._level(level, first):
                        pass
                except StoreError:
                    raise
                except BaseException:
                    self.recorder.catch_up()
                    if self.recorder.at_work is not None:
                        self.show(level, ended=False)
                    raise
            elif self.session.grid.last(level) is None:
                self.session.grid.put(self.kept[level].state)
            if not self._may_go_on(level):
                return

    def _may_go_on(self, level: int) -> bool:
        """Whether a level can be refined; a motion can also where some of its steps were not solved."""
        return self.dynamic or _is_good_start(self.kept[level].state)

    def _level(self, level: int, first: int) -> Any:
        """The states of one level, from where it stands."""
        if level in self.kept:
            return self._take_up(self.kept[level])
        if self.dynamic:
            return self.session.animate(level, last=self.last_step(level))
        return self.session.settle(level) if level == first else self.session.refine(to_level=level)

    def _take_up(self, at: Checkpoint) -> Any:
        """Goes on with a level after its last complete step."""
        level = at.state.level
        last = self.last_step(level) if self.dynamic else at.notes["last"]
        self.store.rewind(level, at.state.step, self.recorder.frames(at.state))
        if at.notes["ended"] and not self.dynamic:
            # to a tighter tolerance, or because it ran out of steps
            last = at.state.step + self.session.scene.time.max_steps
            at = replace(at, state=replace(at.state, converged=False, stalled=False))
        start = self.store.read_frame(level, self.recorder.first_frame) if at.notes["placed"] else None
        return self.session.resume(at, start=start, last=last)

    def mend(self) -> Iterator[str]:
        """Writes frames that cannot be read again where that is possible; a line for each."""

        def starts(level: int) -> Floats:
            return self.session.ladder.geometry(level).placed

        every, first = self.session.scene.time.frame_steps, self.recorder.first_frame
        yield from mend_frames(self.store, self.kept.values(), starts, every=every, first=first)

    # --- what is left behind ----------------------------------------------------------------------------------------

    def _show_ended(self, event: Event) -> None:
        if isinstance(event, LevelEnded):
            state = event.state
            # where segments of a motion are joined, it has not come to its end yet
            if not self.dynamic or state.step >= self.last_step(state.level):
                self.show(state.level, ended=True)

    def show(self, level: int, *, ended: bool) -> None:
        """The report and the picture of a level, as far as it has come."""
        at = self.kept.get(level)
        if at is None:
            return
        self.store.write_json("report.json", self._report("running", compared=False).to_json())
        path = self.album.draw(level, at.state.x)
        if self._drawn is not None:
            self._drawn(at, self.store.read_steps(level, at.state.step)[-1]["wall"], path, ended)

    def conclude(self, status: str) -> Report:
        """Writes pictures of all levels, the report and its page, and how the run stands."""
        report = self._report(status)
        self.store.write_json("report.json", report.to_json())
        self.album.complete({level: at.state.x for level, at in sorted(self.kept.items())})
        with self.store.replacing("report.html") as path:
            path.write_text(make_page(report, self.store.folder), encoding="utf-8")
        self.note(status=status)
        return report

    def note(self, **values: Any) -> None:
        """Writes down how the run stands."""
        self.spec = replace(self.spec, wall_s=self._wall(), **values)
        self.store.write_spec(self.spec)

    def _wall(self) -> float:
        """Seconds of all commands on this run."""
        return round(self.spent + time.perf_counter() - self.began, 3)

    def where(self) -> str:
        """How far the run is kept, in words."""
        if not self.kept:
            return "nothing of the run has been saved yet"
        state = self.kept[max(self.kept)].state
        return f"the run is saved up to step {state.step} of level {state.level}"

    def _level_reports(self) -> list[LevelReport]:
        return report_levels(self.store, self.kept.values(), dynamic=self.dynamic)

    def _report(self, status: str, *, compared: bool = True) -> Report:
        ladder, threads = self.session.ladder, self.session.threads
        spec = replace(self.spec, version=__version__, threads=threads, wall_s=self._wall())
        report = make_report(spec, self.session.scene, status, self._level_reports())
        report = replace(report, auto={**report.auto, **self._chosen()})
        if not compared:
            return report
        if self.dynamic:
            if len(report.levels) > 1:
                found = compare_motions(ladder, self.store.read_frame, report.levels, threads=threads)
                report = report.with_metrics(found)
            return report
        states = {level: at.state.x for level, at in sorted(self.kept.items())}
        return report.with_metrics(compare_levels(ladder, states, threads=threads))

    def _chosen(self) -> dict[str, Any]:
        """What "auto" means on the levels below the finest, for each shell."""
        out: dict[str, Any] = {}
        if self.session.scene.hierarchy.method == "progressive":
            for level in range(self.session.finest):
                softening = asdict(self.session.ladder.softening(level))
                out |= {f"level-{level}.{name}": list(values) for name, values in softening.items()}
        return out


def _is_good_start(state: State) -> bool:
    """Whether to continue to a finer level: a state below which nothing was found is as good as an equilibrium."""
    return state.converged or state.stalled
