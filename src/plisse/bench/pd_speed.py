"""What a step of a preview costs beside a step of direct simulation of the finest mesh, in the middle of a motion.

All levels, and those that are simulated by themselves, take their steps in turns, so that whatever else the machine has
to do slows all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, tell
from plisse.core.state import State
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

STEPS = 20  # whose median is taken, after a first one that is not counted
BUDGET = 240.0  # seconds of a level after which fewer steps have to do


@dataclass(frozen=True)
class Case:
    """A gallery scene, the step before those that are timed, and how many times faster previews are to be.

    sets: what makes it smaller than published, where that would take hours.
    """

    name: str
    middle: int
    asked: float
    sets: tuple[str, ...] = ()


# of the vertices of the jumble, which has 228,000
FIFTH = (
    "shell.0.vertices=25000", "shell.1.resolution=28", "shell.2.resolution=38", "shell.6.resolution=42",
    *(f"shell.{k}.subdivisions=5" for k in (3, 4, 5)), "hierarchy.levels=[900, 3700, 15000]",
)  # fmt: skip

CASES = (
    Case("32-flag", 25, 75.0),
    Case("35-laundry", 25, 21.0, ("shell.vertices=1450",)),
    Case("38-octocats", 30, 30.0),
    Case("45-balloons", 10, 55.0),
    Case("47-hats", 70, 30.0),
    Case("33-jumble", 30, 52.0, FIFTH),
)


@dataclass
class Pace:
    """A level whose steps are timed: processor seconds and Newton iterations of each."""

    level: int
    states: Iterator[State]
    seconds: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)

    def step(self) -> None:
        """One more step, unless the steps that were made have taken long enough."""
        if len(self.seconds) > 2 and sum(self.seconds) > BUDGET:
            return
        began = time.process_time()
        for state in self.states:
            if state.accepted and state.level == self.level:
                self.iterations.append(state.newton_iteration)
                break
        self.seconds.append(time.process_time() - began)

    @property
    def of_step(self) -> float:
        """Median of the seconds of a step; the first one also makes a feasible start."""
        return float(np.median(self.seconds[1:]))

    @property
    def of_iteration(self) -> float:
        return float(np.sum(self.seconds[1:]) / np.sum(self.iterations[1:]))


def measure_speed(threads: int, *, cases: tuple[Case, ...] = CASES) -> tuple[list[Figure], dict[str, Any]]:
    """Medians of seconds a step: previews, every finer level, direct simulation of the finest and the coarsest mesh."""
    figures, details = list[Figure](), dict[str, Any]()
    for case in cases:
        found, more = measure_case(gallery_scene(case.name, sets=case.sets, tol=0.01), case)
        figures += found
        details |= more
    return figures, details


def measure_case(scene: Scene, case: Case) -> tuple[list[Figure], dict[str, Any]]:
    """One scene: all levels from the preview's state at the middle on, and the same by themselves.

    Always on one thread: processor time says nothing else.
    """
    last = case.middle + 1 + STEPS
    scene = replace(scene, time=replace(scene.time, duration=last * scene.time.step))
    session = open_session(scene, threads=1)
    for _ in session.animate(0, last=case.middle):
        pass
    # finer levels begin in the middle, with safe expansions
    session.begin = case.middle
    levels = [Pace(level, copy(session).animate(level, last=last)) for level in range(session.finest + 1)]
    for each in levels:
        each.step()
        tell(f"{case.name}, level {each.level}: a first step of {each.seconds[0]:.3g} s")
    alone = [_alone(scene, session.grid.at(level, case.middle), last) for level in (0, session.finest)]
    for _ in range(STEPS):
        for each in (*levels, *alone):
            each.step()
    tell(f"{case.name}: {' '.join(f'{each.of_step:.3g}' for each in (*levels, *alone))} s a step")
    name, (coarse, direct) = case.name.partition("-")[2], alone
    figures = [
        Figure(f"{name}: finest direct step / preview step", _ratio(direct, levels[0]), case.asked, "higher"),
        Figure(f"{name}: preview step / coarse direct step", _ratio(levels[0], coarse), 2.0),
        Figure(
            f"{name}: each finer level / the one below, at most",
            max(_ratio(b, a) for a, b in pairwise(levels)),
            3.7,
        ),
        Figure(
            f"{name}: finest progressive / direct, per iteration", levels[-1].of_iteration / direct.of_iteration, 1.1
        ),
    ]
    more = {
        "vertices": [sum(len(mesh.X) for mesh in session.ladder.geometry(each.level).shells) for each in levels],
        "seconds a step": [round(each.of_step, 4) for each in levels],
        "coarse and finest direct": [round(each.of_step, 4) for each in alone],
        "iterations a step": [round(float(np.mean(each.iterations[1:])), 1) for each in (*levels, *alone)],
        "milliseconds an iteration": [round(1e3 * each.of_iteration, 2) for each in (*levels, *alone)],
        "steps that were timed": [len(each.seconds) - 1 for each in (*levels, *alone)],
    }
    return figures, {f"{name}: {key}": value for key, value in more.items()}


def _ratio(a: Pace, b: Pace) -> float:
    """Of the medians of the steps that both have made: a motion's steps are not alike."""
    both = min(len(a.seconds), len(b.seconds))
    return float(np.median(a.seconds[1:both]) / np.median(b.seconds[1:both]))


def _alone(scene: Scene, start: State, last: int) -> Pace:
    """A level by itself from a state on."""
    scene = replace(scene, hierarchy=replace(scene.hierarchy, method="direct"))
    session: Session = open_session(scene, threads=1)
    session.begin_with(start)
    return Pace(start.level, session.animate(start.level, last=last))
