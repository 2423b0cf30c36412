"""What is kept of one level while it runs, and what the report says of it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from plisse.contact.check import Detector
from plisse.core.potential import Clock
from plisse.core.state import Checkpoint, State
from plisse.progressive.report import LevelReport, MechanicsReport, RestReport
from plisse.progressive.rest import Aim
from plisse.progressive.trajectory import SERIES, describe_motion, report_motion
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

HISTORY = ("distance", "residual", "energy", "force_balance", "contacts", "step_length")
PARTS = ("elastic", "contact", "ccd", "linear")
LINEAR = ("symbolic", "numeric", "solve")


@dataclass
class Counts:
    """What the invariants were over a level's states."""

    seen: int = 0
    intersections: int = 0
    checked: int = 0
    unconverged: int = 0  # complete time steps that did not meet the tolerance
    missed: float = 0.0  # largest distance of a scripted vertex from its place [m]
    distance: float | None = None  # smallest, over the offset
    stretch: float = 0.0  # largest, over the limit

    def plus(self, other: Counts) -> Counts:
        """Those of both together."""
        distances = [each.distance for each in (self, other) if each.distance is not None]
        return Counts(
            seen=self.seen + other.seen,
            intersections=self.intersections + other.intersections,
            checked=self.checked + other.checked,
            unconverged=self.unconverged + other.unconverged,
            missed=max(self.missed, other.missed),
            distance=min(distances, default=None),
            stretch=max(self.stretch, other.stretch),
        )


@dataclass
class Tally:
    """Watches the states of a level."""

    detector: Detector
    problem: Problem
    every: int = 10  # states between two checks by the independent detector
    counts: Counts = field(default_factory=Counts)
    last_checked: State | None = field(default=None, repr=False)

    @classmethod
    def of(cls, problem: Problem, every: int) -> Tally:
        return cls(Detector.of(problem), problem, every)

    def look(self, state: State, *, final: bool = False) -> None:
        """Counts a Newton iterate; looks closely at some of them and at the final one."""
        n = self.counts
        n.seen += not final
        if state.accepted and not final:
            n.unconverged += not state.converged
            n.missed = max(n.missed, state.missed)
        if (n.seen % self.every and not final) or self.last_checked is state:
            return
        self.last_checked = state
        n.checked += 1
        n.intersections += self.detector.count(state.x)
        near = self.problem.clearance(state.x)
        if np.isfinite(near):
            n.distance = float(near) if n.distance is None else min(n.distance, float(near))
        limit = self.problem.strain_limit
        if limit is not None:
            n.stretch = max(n.stretch, limit.max_stretch_over_limit(self.problem.bodies.simulated_part(state.x)))


@dataclass
class LevelRun:
    """A level at work. state: after its last complete step; began: when, on the clock of perf_counter [s].

    last: number of the last step; aim: what ends it; placed: whether its problem was made with start positions; moves:
    through time, not to rest; begin: the step that it begins with.
    """

    tally: Tally
    newton: Newton
    clock: Clock
    state: State
    began: float
    last: int
    aim: Aim
    placed: bool
    moves: bool
    begin: int = 0
    lap: float = field(default_factory=time.perf_counter)

    def take_up(self, at: Checkpoint, steps: list[dict[str, Any]]) -> None:
        """Goes on counting where an earlier command stopped. steps: the level's log so far."""
        self.state, self.tally.counts = at.state, Counts(**at.notes.get("counts_before", at.notes["counts"]))
        if self.tally.counts.seen % self.tally.every == 0:
            self.tally.last_checked = at.state
        if steps:
            line = steps[-1]
            self.began -= line["wall"]
            self.clock.seconds.update(line["split"])
            self.newton.analyses += line["symbolic"]
            self.newton.factorisations += line["numeric"]
            if self.tally.problem.barrier is not None:
                self.tally.problem.barrier.builds += line["candidates"]

    def describe_step(self, state: State, frame: int | None) -> dict[str, Any]:
        """A line of the log: the step, and what the level has cost up to it."""
        now, barrier = time.perf_counter(), self.tally.problem.barrier
        lap, self.lap = now - self.lap, now
        return {
            "step": state.step,
            "time": state.time,
            "frame": frame,
            "newton": state.newton_iterations,
            "converged": state.converged,
            **{name: getattr(state, name) for name in HISTORY},
            "distance": state.distance if state.distances else None,
            **(describe_motion(self.tally.problem, state) if self.moves else {}),
            "seconds": round(lap, 6),
            "wall": round(now - self.began, 6),
            "split": {part: round(self.clock.seconds[part], 6) for part in (*PARTS, *LINEAR)},
            "symbolic": self.newton.analyses,
            "numeric": self.newton.factorisations,
            "candidates": barrier.builds if barrier is not None else 0,
        }

    def checkpoint(self, state: State, *, before: State | None = None, ended: bool = False) -> Checkpoint:
        """The level as it stands after a step; before: the state a step earlier, where the next one needs it."""
        problem = self.tally.problem
        notes = {
            "counts": asdict(self.tally.counts),
            "last": self.last,
            "tol": self.aim.tol,
            "rest": None if self.aim.rest is None else self.aim.rest.distance / self.aim.rest.size,
            "size": None if self.aim.rest is None else self.aim.rest.size,
            "bodies": problem.bodies.names[: problem.bodies.simulated],
            "placed": self.placed,
            "begin": self.begin,
            "ended": ended,
            "vertices": problem.bodies.n_simulated,
            "triangles": problem.simulated_triangles,
            "limited": problem.strain_limit is not None,
        }
        return Checkpoint(
            state,
            None if before is None else (before.x, before.v),
            None if problem.barrier is None else problem.barrier.memory,
            self.newton.memory,
            notes,
        )


def _report_rest(state: State, notes: dict[str, Any]) -> RestReport | None:
    if notes["rest"] is None:
        return None
    size = notes["size"]
    bodies = dict(zip(notes["bodies"], state.distances, strict=False))
    return RestReport(state.distance, state.distance / size, notes["rest"], bodies, state.pushes)


def report_level(at: Checkpoint, steps: list[dict[str, Any]], *, dynamic: bool) -> LevelReport:
    """What the report says of a level: of its last complete step, and of its log up to there."""
    state, notes, counts = at.state, at.notes, Counts(**at.notes["counts"])
    none: dict[str, Any] = {"wall": 0.0, "symbolic": 0, "numeric": 0, "candidates": 0, "split": {}}
    last = steps[-1] if steps else none
    split = {part: round(last["split"].get(part, 0.0), 4) for part in PARTS}
    split["other"] = round(max(last["wall"] - sum(split.values()), 0.0), 4)
    history = {name: [line.get(name) for line in steps] for name in (HISTORY + SERIES if dynamic else HISTORY)}
    return LevelReport(
        level=state.level,
        vertices=notes["vertices"],
        triangles=notes["triangles"],
        steps=state.step - notes.get("begin", 0),
        begin=notes.get("begin", 0),
        newton_iterations=state.newton_iterations,
        wall_s=round(last["wall"], 3),
        stalled=state.stalled,
        converged=counts.unconverged == 0 if dynamic else state.converged,
        residual=state.residual,
        rest=_report_rest(state, notes),
        force_balance=state.force_balance,
        energy=state.energy,
        intersections=counts.intersections,
        states_checked=counts.checked,
        contacts=state.contacts,
        unconverged_steps=counts.unconverged if dynamic else None,
        missed_keyframes=counts.missed if dynamic else state.missed,
        min_distance_over_offset=counts.distance,
        max_stretch_over_limit=counts.stretch if notes["limited"] else None,
        time_split=split,
        linear_split={part: round(last["split"].get(part, 0.0), 4) for part in LINEAR},
        symbolic_factorisations=last["symbolic"],
        numeric_factorisations=last["numeric"],
        candidate_builds=last["candidates"],
        history=history,
        motion=report_motion(history, begin=notes.get("begin", 0)) if dynamic else None,
        mechanics=None if notes.get("mechanics") is None else MechanicsReport(**notes["mechanics"]),
    )
