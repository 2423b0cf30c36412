"""What direct simulation of the finest mesh costs at some places of a loading, where it would take hours to get to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plisse.bench.figures import tell
from plisse.core.arrays import Floats
from plisse.core.state import State
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

CALM = (40, 6)  # steps of the middle levels and of the finest one, in which a refined frame forgets the preview
STEPS = 3  # load steps that are timed at each place, after one that is not


@dataclass(frozen=True)
class Pace:
    """part: of the loading; seconds and Newton iterations: of a load step there."""

    part: float
    seconds: float
    iterations: float


def measure_paces(scene: Scene, threads: int, parts: Sequence[float], clock: Callable[[], float]) -> list[Pace]:
    """Load steps of direct simulation, begun with the frames of the preview at these parts of the loading, refined."""
    session = open_session(scene, threads=threads)
    last_key = session.ladder.problem(0).last_key
    frames: dict[float, State] = {}
    for state in session.preview():
        due = [part for part in parts if part not in frames and state.time >= part * last_key]
        frames |= dict.fromkeys(due, state)
        if len(frames) == len(parts):
            break
    return [_pace(session, part, frames[part], clock) for part in parts]


def _pace(session: Session, part: float, frame: State, clock: Callable[[], float]) -> Pace:
    x = _refined(session, frame)
    direct = replace(session.scene, hierarchy=replace(session.scene.hierarchy, method="direct"))
    alone, finest = Session(direct, session.ladder.given, threads=session.threads), session.finest
    alone.grid.put(State(finest, 0, frame.time, x, np.zeros_like(x)))
    marks, iterations = list[float](), list[int]()
    for state in alone.settle(finest):
        if state.accepted:
            marks.append(clock())
            iterations.append(state.newton_iterations)
        if len(marks) > STEPS:
            break
    pace = Pace(part, (marks[-1] - marks[0]) / STEPS, (iterations[-1] - iterations[0]) / STEPS)
    tell(
        f"direct simulation at {part:.0%} of the loading: {pace.seconds:.1f} s, {pace.iterations:.1f} iterations a step"
    )
    return pace


def _refined(session: Session, frame: State) -> Floats:
    """A frame of the preview on the finest level, calm but not at rest."""
    t = frame.time
    stopped = Session(session.scene.stopped(t), session.ladder.given.stopped(t), threads=session.threads)
    stopped.grid.put(State(0, 0, t, frame.x, np.zeros_like(frame.x)))
    for level in range(1, session.finest + 1):
        most = CALM[level == session.finest]
        for state in stopped.refine(to_level=level):
            if state.level == level and state.accepted and state.step >= most:
                break
    last = stopped.grid.last(session.finest)
    assert last is not None
    return last.x
