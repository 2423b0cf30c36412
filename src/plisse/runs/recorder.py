"""A session's listener that keeps every complete step in a run folder."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

from plisse.core.state import Checkpoint, State
from plisse.progressive.events import Event, LevelBegan, LevelEnded, LevelOpened, Stepped
from plisse.progressive.mechanics import measure_mechanics, report_mechanics
from plisse.progressive.session import Session
from plisse.runs.store import RunStore
from plisse.runs.tally import LevelRun, Tally


class Recorder:
    """Writes frames, the log of steps and checkpoints.

    kept: the checkpoint of each level as the disk holds it. at_work: the level that is being marched. check_every:
    states from one look of the independent detector to the next.
    """

    def __init__(self, session: Session, store: RunStore, *, check_every: int) -> None:
        self._session, self._store, self._check_every = session, store, check_every
        self.kept = dict[int, Checkpoint]()
        self.reread()
        self.at_work: LevelRun | None = None
        self._began = time.perf_counter()

    def __call__(self, event: Event) -> None:
        if isinstance(event, LevelOpened):
            self._began, self.at_work = time.perf_counter(), None
        elif isinstance(event, LevelBegan):
            self._begin(event)
        elif isinstance(event, Stepped):
            assert self.at_work is not None
            self.at_work.tally.look(event.state)
            if event.state.accepted:
                self._keep(self.at_work, event.state)
        elif isinstance(event, LevelEnded):
            self.close(ended=True)

    def reread(self) -> None:
        """Takes what the disk holds, where others write to it."""
        found = (self._store.read_checkpoint(level) for level in self._store.levels())
        self.kept = {at.state.level: at for at in found if at is not None}

    def _begin(self, event: LevelBegan) -> None:
        problem, level = event.problem, event.problem.level
        first = self._session.grid.last(level) if self._session.begin is not None else None
        start = State(level, 0, 0.0, problem.x0, problem.v0) if first is None else first
        tally = Tally.of(problem, self._check_every)
        tools = self._session.newton, self._session.clock
        run = LevelRun(
            tally, *tools, start, self._began,
            last=event.last, aim=event.aim, placed=event.placed, begin=self._session.begin or 0,
            moves=self._session.is_dynamic,
        )  # fmt: skip
        if event.resumed:
            at = self._session.grid.last(level)
            assert at is not None
            run.take_up(replace(self.kept[level], state=at), self._store.read_steps(level, at.step))
        else:
            self.kept.pop(level, None)
            assert problem.surface is not None
            mesh, bodies = problem.surface, problem.bodies
            self._store.begin_level(level, mesh.triangles, bodies.of_vertex, bodies.simulated, uv=mesh.uv)
            moves = self._session.is_dynamic
            self._store.write_frame(level, self.frames(start), start.x, v=start.v if moves else None)
        self.at_work = run

    @property
    def first_frame(self) -> int:
        """Number of every level's first frame."""
        every = self._session.scene.time.frame_steps
        return 0 if every is None else (self._session.begin or 0) // every

    def frames(self, state: State) -> int:
        """Number of the last frame up to a state, the one that closes a level not counted."""
        every = self._session.scene.time.frame_steps
        return 0 if every is None else state.step // every

    def _keep(self, run: LevelRun, state: State) -> None:
        """Writes a complete step; with the checkpoint, which comes last, it is done."""
        frames, time = self.frames(state), self._session.scene.time
        number = frames if frames > self.frames(run.state) else None
        if number is not None:
            self._store.write_frame(state.level, number, state.x, v=state.v if time.mode == "dynamic" else None)
        self._store.append_step(state.level, run.describe_step(state, number))
        before = run.state if time.mode == "dynamic" and time.integrator == "bdf2" else None
        self._commit(run, run.checkpoint(state, before=before))

    def _commit(self, run: LevelRun, at: Checkpoint) -> None:
        self._store.write_checkpoint(at)
        run.state = at.state
        self.kept[at.state.level] = at

    def catch_up(self) -> None:
        """After an interruption: what the disk holds counts, as it may have come between that and our knowing."""
        at = None if self.at_work is None else self._store.read_checkpoint(self.at_work.state.level)
        if self.at_work is not None and at is not None and at.state.step > 0:
            self.at_work.state = at.state
            self.kept[at.state.level] = at
            self.close()

    def close(self, *, ended: bool = False) -> None:
        """A level's last frame, at its end or where it was interrupted."""
        run = self.at_work
        assert run is not None
        state, every = run.state, self._session.scene.time.frame_steps
        if every is None or state.step % every:
            v = state.v if self._session.is_dynamic else None
            self._store.write_frame(state.level, self.frames(state) + 1, state.x, v=v)
        if ended:
            at, problem = self.kept[state.level], self._session.problem
            assert problem is not None
            run.tally.look(state, final=True)
            borne = report_mechanics(measure_mechanics(problem.at(state.time), state.x))
            # a motion that is made longer goes on as if it had not ended here: only the notes know of it
            notes = {**run.checkpoint(state, ended=True).notes, "mechanics": asdict(borne)}
            if self._session.is_dynamic:
                notes["counts_before"] = at.notes["counts"]
            self._commit(run, replace(at, notes=notes))
