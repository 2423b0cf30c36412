"""Motions as the benches look at them: every step of every level, with its seconds and what can be said of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.state import State
from plisse.progressive.metrics import position_error
from plisse.progressive.session import Session
from plisse.progressive.trajectory import compare_centres, compare_kinetic, describe_motion
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

GRAVITY = 9.81  # m/s²


@dataclass
class Course:
    """A level's motion, step by step: positions of its shells [m], seconds, Newton iterations, values by name.

    crossings: that the independent detector found; stretch: largest over the limit.
    """

    level: int
    x: list[Floats] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    history: dict[str, list[Any]] = field(default_factory=dict)
    unsolved: int = 0
    crossings: int = 0
    stretch: float = 0.0

    @property
    def unexplained(self) -> float:
        """Median of the unexplained acceleration, in g."""
        return float(np.median(self.history["unexplained"])) / GRAVITY

    @property
    def continuity(self) -> float:
        """Median of its square over that of what the tolerance left."""
        ratios = np.divide(self.history["unexplained"], np.maximum(self.history["unsolved"], 1e-12))
        return float(np.median(ratios**2))

    def until(self, step: int) -> Course:
        """What is said of its first steps alone."""
        return replace(self, history={name: values[:step] for name, values in self.history.items()})


def follow(session: Session, states: Iterator[State], *, check: bool = False, most: float = np.inf) -> list[Course]:
    """The courses of the levels that the states are of; check: every accepted state, by the detector.

    most: seconds of solving after which it ends with a step.
    """
    courses, detector = list[Course](), None
    began, made, spent = time.perf_counter(), 0, 0.0
    for state in states:
        if not state.accepted:
            continue
        now, problem = time.perf_counter(), session.problem
        assert problem is not None
        if not courses or courses[-1].level != state.level:
            courses.append(Course(state.level))
            made, detector = 0, Detector.of(problem) if check else None
        course = courses[-1]
        course.seconds.append(now - began)
        spent += now - began
        course.iterations.append(state.newton_iterations - made)
        made = state.newton_iterations
        course.unsolved += not state.converged
        course.x.append(problem.bodies.simulated_part(state.x))
        for name, value in (describe_motion(problem, state) | {"contacts": state.contacts}).items():
            course.history.setdefault(name, []).append(value)
        if detector is not None:
            course.crossings += detector.count(state.x)
        if problem.strain_limit is not None:
            course.stretch = max(course.stretch, problem.strain_limit.max_stretch_over_limit(course.x[-1]))
        if spent > most:
            return courses
        began = time.perf_counter()
    return courses


def run_levels(scene: Scene, threads: int, *, check: bool = False) -> tuple[Session, list[Course]]:
    """All levels of a motion."""
    session = open_session(scene, threads=threads)
    return session, follow_levels(session, check=check)


def follow_levels(session: Session, *, check: bool = False) -> list[Course]:
    """The courses of all levels, coarse to fine."""
    courses = follow(session, session.preview(), check=check)
    if session.finest > 0:
        courses += follow(session, session.refine(), check=check)
    return courses


def steps_apart(courses: Sequence[Course]) -> int:
    """Steps after which nothing has touched anything yet, on any level."""
    touching = np.any([course.history["contacts"] for course in courses], axis=0)
    return int(touching.argmax()) if touching.any() else len(touching)


def run_direct(scene: Scene, threads: int, *, level: int | None = None, check: bool = False) -> Course:
    """One level, the finest by default, simulated by itself."""
    alone = replace(scene, hierarchy=replace(scene.hierarchy, method="direct"))
    session = open_session(alone, threads=threads)
    (course,) = follow(session, session.animate(level), check=check)
    return course


def nudged(scene: Scene, by: float = 1e-8) -> Scene:
    """The scene with its first shell moved aside by next to nothing [m]: what differs then is chance."""
    first, *others = scene.shells
    x, y, z = first.translate
    return replace(scene, shells=(replace(first, translate=(x + by, y, z)), *others))


@dataclass(frozen=True)
class Apart:
    """How far two courses are apart: positions [m] (mean and largest over the steps), centres of mass [m], and kinetic
    energy, relative."""

    positions: float
    most: float
    centres: float
    kinetic: float


def measure_apart(session: Session, coarse: Course, fine: Course) -> Apart:
    """Of a coarse course, prolonged, to a fine one, or of two of one level."""
    area = np.concatenate([mesh.vertex_areas for mesh in session.ladder.geometry(fine.level).shells])
    pairs = list(zip(coarse.x, fine.x, strict=False))
    if coarse.level != fine.level:
        P = session.ladder.shell_map(coarse.level, fine.level)
        pairs = [(P(np.ascontiguousarray(a)), b) for a, b in pairs]
    distances = [position_error(area, a, b) for a, b in pairs]
    return Apart(
        float(np.mean(distances)),
        float(np.max(distances)),
        compare_centres(coarse.history, fine.history),
        compare_kinetic(coarse.history, fine.history),
    )
