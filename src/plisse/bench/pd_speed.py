"""What a step of a preview costs beside a step of direct simulation of the finest mesh, in the middle of a motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course, follow
from plisse.bench.figures import Figure, tell
from plisse.core.state import State
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

STEPS = 20  # whose median is taken
BUDGET = 240.0  # seconds of a level after which fewer steps have to do


@dataclass(frozen=True)
class Case:
    """A gallery scene at full size, the step before those that are timed, and how many times faster previews are."""

    name: str
    middle: int
    asked: float


CASES = (
    Case("35-laundry", 25, 21.0),
    Case("38-octocats", 30, 30.0),
    Case("33-jumble", 30, 52.0),
    Case("32-flag", 25, 75.0),
    Case("47-hats", 30, 30.0),
    Case("45-balloons", 30, 55.0),
)


def measure_speed(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Medians of seconds a step: previews, every finer level, direct simulation of the finest and the coarsest mesh."""
    figures, details = list[Figure](), dict[str, Any]()
    for case in CASES:
        found, more = measure_case(gallery_scene(case.name, tol=0.01), case, threads)
        figures += found
        details |= more
    return figures, details


def measure_case(scene: Scene, case: Case, threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """One scene: all levels from the preview's state at the middle on, and the same by themselves."""
    time = replace(scene.time, duration=(case.middle + STEPS) * scene.time.step)
    scene = replace(scene, time=time)
    session = open_session(scene, threads=threads)
    (preview,) = follow(session, session.preview())
    # finer levels begin in the middle, with safe expansions
    session.begin = case.middle
    levels, starts = [preview], [session.grid.at(0, case.middle)]
    for level in range(1, session.finest + 1):
        levels += follow(session, session.animate(level), most=BUDGET)
        starts.append(session.grid.at(level, case.middle))
        tell(f"{case.name}, level {level}: {len(levels[-1].seconds)} steps, {_median(levels[-1]):.3g} s each")
    alone = [_alone(scene, starts[level], threads) for level in (0, session.finest)]
    name = case.name.partition("-")[2]
    step, coarse, direct = _median(preview), *(_median(course) for course in alone)
    ratios = [_median(b) / _median(a) for a, b in pairwise(levels)]
    per_iteration = _per_iteration(levels[-1]) / _per_iteration(alone[1])
    figures = [
        Figure(f"{name}: finest direct step / preview step", direct / step, case.asked, "higher"),
        Figure(f"{name}: preview step / coarse direct step", step / coarse, 2.0),
        Figure(f"{name}: each finer level / the one below, at most", max(ratios), 3.7),
        Figure(f"{name}: finest progressive / direct, per iteration", per_iteration, 1.1),
    ]
    more = {
        "vertices": [len(course.x[0]) for course in levels],
        "seconds a step": [round(_median(course), 4) for course in levels],
        "coarse and finest direct": [round(coarse, 4), round(direct, 4)],
        "steps that were timed": [len(course.seconds[-STEPS:]) for course in (*levels, *alone)],
    }
    return figures, {f"{name}: {key}": value for key, value in more.items()}


def _alone(scene: Scene, start: State, threads: int) -> Course:
    """A level by itself from a state on."""
    session: Session = open_session(
        replace(scene, hierarchy=replace(scene.hierarchy, method="direct")), threads=threads
    )
    session.begin_with(start)
    (course,) = follow(session, session.animate(start.level), most=BUDGET)
    return course


def _median(course: Course) -> float:
    return float(np.median(course.seconds[-STEPS:]))


def _per_iteration(course: Course) -> float:
    return float(np.sum(course.seconds) / np.sum(course.iterations))
