"""What runs in a process of its own: one scene's session, driven step by step, so that any touch stops it at once."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from plisse.core.errors import IntersectionError, SceneError, StartAgain
from plisse.core.state import State
from plisse.core.version import __version__
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.pictures.stage import set_stage
from plisse.progressive.events import Event, LevelBegan, LevelEnded, LevelOpened
from plisse.progressive.feasibility import check_start, check_support
from plisse.progressive.mechanics import measure_mechanics
from plisse.progressive.session import Session
from plisse.progressive.sizes import check_reached
from plisse.runs.checks import check_geometry, find_first
from plisse.runs.recorder import Recorder
from plisse.runs.report import OPEN
from plisse.runs.store import RunSpec, RunStore
from plisse.scene.scene import Scene
from plisse.studio.words import (
    Ask,
    Change,
    Ended,
    Frame,
    Map,
    Refused,
    Resting,
    Shown,
    Steer,
    Stop,
    Taken,
    Tried,
    Try,
    Word,
)  # fmt: skip

RATES = ((5_000, 30.0), (50_000, 15.0))  # frames a second that are shown of a level of up to so many vertices
LARGE = RATES[-1][0]  # vertices from which only whole steps are shown
CHECK_EVERY = 10  # states between two looks of the independent detector


def work(told: Connection, tells: Connection, base: str, folder: str, threads: int) -> None:
    """The process: takes words until it is told to stop, or until nobody is there any more."""
    # Ctrl-C is for the studio itself, which then tells us to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    try:
        Work(told, tells, Path(base), RunStore(Path(folder)), threads).run()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    finally:
        tells.close()


@dataclass
class Work:
    """One scene at work. store: the run folder in which everything that was reached is kept."""

    told: Connection
    tells: Connection
    base: Path
    store: RunStore
    threads: int
    session: Session | None = None
    recorder: Recorder | None = None
    number: int = 0  # of the change that is worked on
    steer: Steer = field(default_factory=Steer)
    states: Iterator[State] | None = None
    next_sent: float = 0.0  # when the next frame may be sent
    last_state: float = 0.0

    def run(self) -> None:
        while True:
            words = self._listen()
            # of several changes only the last one counts, and none is worth another iteration before it
            changes = [word for word in words if isinstance(word, Change)]
            for word in words:
                if isinstance(word, Stop):
                    return
                if isinstance(word, Steer):
                    self._take_steer(word)
                elif isinstance(word, Ask):
                    self._answer(word)
                elif isinstance(word, Try):
                    self._try()
            if changes:
                restart = any(change.restart for change in changes)
                self._take(Change(changes[-1].number, changes[-1].table, restart))
            if self.states is not None:
                # also where the next change has come already: who drags without pause sees the preview follow
                self._step(self.states)

    def _listen(self) -> list[Word]:
        """All that has been said; waits for a word where there is nothing to do."""
        words: list[Word] = []
        while self.told.poll(0.0) or (self.states is None and not words):
            words.append(self.told.recv())
        return words

    def _step(self, states: Iterator[State]) -> None:
        """One Newton iteration, or what comes next."""
        try:
            state = next(states)
        except StopIteration:
            self.states = self._go_on()
            return
        except SceneError as error:
            self._rest(str(error))
            return
        except Exception as error:  # a defect of ours must not take the page with it
            traceback.print_exc()
            self._rest(f"The simulation stopped on an error of its own ({error}): change something to go on.")
            return
        self._show(state)

    def _rest(self, sentence: str = "") -> None:
        self.states = None
        self.tells.send(Resting(self.number, sentence))

    # --- the scene ----------------------------------------------------------------------------------------------------

    def _take(self, change: Change) -> None:
        """Takes a scene, from where the last one stood if that is possible."""
        note = ""
        try:
            scene = scene_from_dict(change.table, self.base)
            session = self.session
            if session is None:
                self._open(scene)
            elif change.restart or session.is_dynamic or not session.grid.levels:
                self._open(scene, afresh=True)
            else:
                try:
                    self._change(session, scene)
                except StartAgain:
                    self._open(scene, afresh=True)
                    note = "The shells begin again, because what was reached does not fit the changed scene."
        except IntersectionError as error:
            places = error.x[error.triangles[error.marked]].astype(np.float32)
            self.tells.send(Refused(change.number, str(error), places))
            return
        except SceneError as error:
            self.tells.send(Refused(change.number, str(error)))
            return
        except MemoryError:
            self.tells.send(Refused(change.number, "There is not enough memory for that: ask for fewer levels."))
            return
        self.number = change.number
        session = self.session
        assert session is not None
        every = session.scene.time.frame_steps if session.is_dynamic else None
        self.tells.send(Taken(self.number, session.finest + 1, note, every))
        reached = session.grid.levels
        for level in reached:
            state = session.grid.last(level)
            assert state is not None
            if state.converged or self.steer.hold or level < reached[-1]:  # otherwise it is as it goes on
                self._say_what_is_shown(level, state.x)
            if state.converged:
                self._send_frame(state, 0.0)
                self.tells.send(Ended(self.number, level, True))
        self.states = None if self.steer.hold else self._begin()

    def _change(self, session: Session, scene: Scene) -> None:
        """Takes a changed scene; the preview goes on from its present state."""
        check_geometry(scene, load_geometry(scene, self.base))
        check_support(scene)
        session.change(scene)
        self._close()
        self.store.renew(scene_to_dict(session.scene), session.ladder.given)
        assert self.recorder is not None
        self.recorder.kept.clear()

    def _open(self, scene: Scene, *, afresh: bool = False) -> None:
        """A new session, which goes on from what the folder holds unless it is to begin afresh."""
        geometry = load_geometry(scene, self.base)
        check_geometry(scene, geometry)
        load = partial(load_geometry, base=self.base)
        session = Session(scene, geometry, threads=self.threads, load=load, interactive=True)
        first = find_first(scene, session.finest)
        check_reached(session.ladder, first)
        check_start(session.ladder.problem(first))
        check_support(scene)
        known = () if afresh else self._known(session)
        for state in known:
            session.grid.put(state)
        self._close()
        if not any(state.converged for state in known):
            left_open = tuple(name for name in OPEN if getattr(scene.contact, name) is None)
            spec = RunSpec(__version__, "running", self.threads, first, left_open, base=str(self.base.resolve()))
            RunStore.create(self.store.folder, scene_to_dict(session.scene), geometry, spec)
        self.session, self.recorder = session, Recorder(session, self.store, check_every=CHECK_EVERY)
        session.listen(self._hear)
        session.listen(self.recorder)

    def _known(self, session: Session) -> list[State]:
        """The states that the folder holds of this scene; of another scene, only that of level 0 to go on from."""
        if not self.store.exists or session.is_dynamic:
            return []
        found = [self.store.read_checkpoint(level) for level in self.store.levels() if level <= session.finest]
        states = [at.state for at in found if at is not None]
        if any(len(state.x) != len(session.ladder.geometry(state.level).placed) for state in states):
            return []
        same = self.store.read_json("scene.json") == json.loads(json.dumps(scene_to_dict(session.scene)))
        return states if same else [replace(states[0], converged=False, stalled=False)] if states else []

    def _close(self) -> None:
        """Leaves the level at work where it is."""
        close = getattr(self.states, "close", None)
        self.states = None
        if close is not None:
            close()

    # --- the way ------------------------------------------------------------------------------------------------------

    def _begin(self) -> Iterator[State] | None:
        """The preview, or the finest level that was begun, or the next one."""
        session = self.session
        assert session is not None
        level = session.grid.levels[-1] if session.grid.levels else find_first(session.scene, session.finest)
        state = session.grid.last(level)
        if session.is_dynamic:
            done = state is not None and state.step >= session.scene.time.steps
        else:
            done = state is not None and (state.converged or state.stalled)
        if done:
            return self._go_on()
        return iter(session.animate(level) if session.is_dynamic else session.settle(level))

    def _go_on(self) -> Iterator[State] | None:
        """The next finer level, if it is to be refined and the last one ended well."""
        session = self.session
        assert session is not None
        reached = session.grid.levels[-1]
        state = session.grid.last(reached)
        assert state is not None
        most = session.finest if self.steer.upto is None else min(self.steer.upto, session.finest)
        good = session.is_dynamic or state.converged or state.stalled
        if self.steer.hold or not self.steer.refine or reached >= most or not good:
            self._rest("" if good else f"Level {reached} has found no equilibrium: change something to go on.")
            return None
        return iter(session.refine(to_level=reached + 1))

    def _take_steer(self, steer: Steer) -> None:
        self.steer = steer
        session = self.session
        if session is None:
            return
        if steer.hold:
            if self.states is not None:
                self._close()
                assert self.recorder is not None
                self.recorder.catch_up()
                self._rest()
        elif self.states is None:
            self.states = self._begin()

    # --- what is told -------------------------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        if isinstance(event, LevelOpened):
            self.last_state = time.perf_counter()
        elif isinstance(event, LevelBegan):
            self._say_what_is_shown(event.problem.level, event.problem.x0)
        elif isinstance(event, LevelEnded):
            self.tells.send(Ended(self.number, event.state.level, event.state.converged))

    def _say_what_is_shown(self, level: int, x: np.ndarray) -> None:
        session = self.session
        assert session is not None
        geometry = session.ladder.geometry(level)
        stage = set_stage(session.scene, [*geometry.shells, *geometry.solids])
        self.tells.send(Shown(self.number, level, stage, x.astype(np.float32)))
        self.next_sent = 0.0

    def _show(self, state: State) -> None:
        """Sends a state, unless one was sent a moment ago."""
        now = time.perf_counter()
        seconds, self.last_state = now - self.last_state, now
        session = self.session
        assert session is not None
        if session.problem is None or len(state.x) != len(session.problem.x0) or state.level != session.problem.level:
            return  # on the way to a finer level's start
        ends = state.accepted and (state.converged or state.stalled)
        if not ends and (now < self.next_sent or (len(state.x) > LARGE and not state.accepted)):
            return
        pace = 1.0 / next((rate for most, rate in RATES if len(state.x) <= most), RATES[-1][1])
        # by the clock and not by the last one, or it would be fewer
        self.next_sent = max(self.next_sent + pace, now)
        self._send_frame(state, seconds)

    def _send_frame(self, state: State, seconds: float) -> None:
        session = self.session
        assert session is not None
        rest = session.ladder.rest()
        run = self.recorder.at_work if self.recorder is not None else None
        found = 0 if run is None else run.tally.counts.intersections
        self.tells.send(
            Frame(
                self.number, state.level, state.x.astype(np.float32), state.step, state.time, state.accepted,
                state.converged, state.distance, None if rest is None else rest.distance, state.residual,
                state.force_balance, state.contacts, state.newton_iterations, seconds, state.blocked, found,
            )
        )  # fmt: skip

    def _try(self) -> None:
        """Whether the scene could begin as it says."""
        session, sentence = self.session, ""
        if session is not None:
            try:
                problem = session.ladder.problem(find_first(session.scene, session.finest))
                check_start(problem)
                problem.check_distances()
            except SceneError as error:
                sentence = str(error)
        self.tells.send(Tried(sentence))

    def _answer(self, ask: Ask) -> None:
        """A map of a level's last state."""
        session = self.session
        state = None if session is None else session.grid.last(ask.level)
        if session is None or state is None:
            return
        problem = session.ladder.problem(ask.level, start=state.x)
        n, triangles = problem.bodies.n_simulated, problem.shells.triangles
        found = measure_mechanics(problem, state.x)
        if ask.kind == "strain":
            title, unit, values = "largest strain", "%", _at_vertices(100.0 * found.strain.max(axis=1), triangles, n)
        elif ask.kind == "curvature":
            each = np.abs(found.curvature).max(axis=1)
            title, unit, values = "largest curvature", "1/m", _at_vertices(each, triangles, n)
        else:
            forces = np.linalg.norm(problem.bodies.simulated_part(found.contact), axis=1)
            title, unit, values = "contact pressure", "Pa", forces / problem.shells.vertex_areas[:n]
        self.tells.send(Map(ask.level, ask.kind, title, unit, values.astype(np.float32)))


def _at_vertices(values: np.ndarray, triangles: np.ndarray, n: int) -> np.ndarray:
    """The mean over the triangles about each vertex."""
    corners = triangles.ravel()
    counts = np.maximum(np.bincount(corners, minlength=n), 1)
    return np.asarray(np.bincount(corners, np.repeat(values, 3), minlength=n) / counts)
