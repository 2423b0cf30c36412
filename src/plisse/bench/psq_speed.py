"""Shells under incremental loading: progressive to the finest equilibrium against direct simulation of the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, tell
from plisse.contact.check import Detector
from plisse.progressive.events import Event, LevelBegan, LevelEnded, LevelOpened
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene

BUDGET = 900.0  # seconds of direct simulation that are measured; the rest of its loading is extrapolated


@dataclass(frozen=True)
class Loading:
    """Direct simulation under incremental loading: after every iteration, the part of the loading and the seconds."""

    parts: tuple[float, ...]
    seconds: tuple[float, ...]
    iterations: int

    @property
    def reached(self) -> float:
        """The part of the loading that was measured."""
        return self.parts[-1]

    def total(self, whole: Loading) -> float:
        """Seconds of all of the loading, if it is as hard from here on as the rest is for one that was run to its end.

        The first load steps are the easy ones: the mean pace would flatter direct simulation.
        """
        if self.reached == 1.0:
            return self.seconds[-1]
        return self.seconds[-1] * whole.seconds[-1] / float(np.interp(self.reached, whole.parts, whole.seconds))


def clock_of(threads: int) -> Callable[[], float]:
    """Seconds; of one thread those of the processor, which other work on the machine does not change."""
    return time.process_time if threads == 1 else time.perf_counter


class Stopwatch:
    """When levels were opened, began and ended [s]."""

    def __init__(self, threads: int) -> None:
        self._now = clock_of(threads)
        self.marks = dict[int, list[float]]()
        self.at_work = -1

    def __call__(self, event: Event) -> None:
        if isinstance(event, LevelOpened):
            self.at_work = event.level
            self.marks[event.level] = [self._now()]
        elif isinstance(event, LevelBegan | LevelEnded):
            self.marks[self.at_work].append(self._now())

    def starts(self) -> list[float]:
        """Seconds that each level took to find its start."""
        return [began - opened for opened, began, *_ in self.marks.values()]

    def solves(self) -> list[float]:
        """Seconds that each level took from there to its end."""
        return [marks[-1] - marks[1] for marks in self.marks.values()]


def measure_loading(
    threads: int, *, name: str, asked: float, coarse: float, sets: tuple[str, ...] = ()
) -> tuple[list[Figure], dict[str, Any]]:
    """Speed-up over direct simulation, the preview against a direct coarse one, and the share of safe starts."""
    scene = gallery_scene(name, sets=sets, tol=None)
    session, watch = open_session(scene, threads=threads), Stopwatch(threads)
    session.listen(watch)
    crossings, iterations, converged = 0, list[int](), True
    for level in range(session.finest + 1):
        for _ in session.preview() if level == 0 else session.refine(to_level=level):
            pass
        state = session.grid.last(level)
        assert session.problem is not None and state is not None
        crossings += Detector.of(session.problem).count(state.x)
        iterations.append(state.newton_iterations)
        converged = converged and state.converged
    starts, solves = watch.starts(), watch.solves()
    tell(f"{name}: starts {_short(starts)} s, solves {_short(solves)} s, iterations {iterations}")
    ours = sum(starts) + sum(solves)
    coarse_direct = _load_directly(scene, threads, 0)
    tell(f"{name}: direct on the coarse mesh {coarse_direct.seconds[-1]:.1f} s, {coarse_direct.iterations} iterations")
    direct = _load_directly(scene, threads, session.finest, budget=BUDGET)
    seconds, coarse_seconds = direct.total(coarse_direct), coarse_direct.seconds[-1]
    size = f"{name.partition('-')[2]}, {len(session.ladder.given.placed) / 1000:.0f}K vertices"
    figures = [
        Figure(f"{size}: direct / progressive", seconds / ours, asked, "higher"),
        Figure(f"{size}: preview / direct on the coarse mesh", solves[0] / coarse_seconds, coarse, "lower"),
        Figure(f"{size}: safe starts, % of the progressive time", 100.0 * sum(starts[1:]) / ours, 40.0, "lower"),
        Figure(f"{size}: intersections on all levels", float(crossings), 0.0, "lower"),
        Figure(f"{size}: levels not at rest", float(not converged), 0.0, "lower"),
    ]
    details = {
        "progressive, s": round(ours, 1),
        "direct, s": round(seconds, 1),
        "of these measured": round(direct.seconds[-1], 1),
        "part of the loading that direct simulation reached": round(direct.reached, 3),
        "direct, s, by its mean pace": round(direct.seconds[-1] / direct.reached, 1),
        "direct iterations up to there": direct.iterations,
        "seconds of starts": _short(starts),
        "seconds of solves": _short(solves),
        "Newton iterations": iterations,
        "coarse direct, s": round(coarse_seconds, 2),
    }
    return figures, {f"{size}: {key}": value for key, value in details.items()}


def _load_directly(scene: Scene, threads: int, level: int, *, budget: float = np.inf) -> Loading:
    """Direct simulation on a level's mesh to its equilibrium, or for so many seconds."""
    session = open_session(replace(scene, hierarchy=replace(scene.hierarchy, method="direct")), threads=threads)
    now = clock_of(threads)
    began, last_key = now(), session.ladder.problem(level).last_key
    parts, seconds = [0.0], [0.0]
    for state in session.settle(level):
        parts.append(min(state.time / last_key, 1.0))
        seconds.append(now() - began)
        if seconds[-1] > budget:
            break
    # what comes after the loading belongs to it
    return Loading(tuple(parts), tuple(seconds), state.newton_iterations)


def _short(seconds: list[float]) -> list[float]:
    return [round(each, 2) for each in seconds]
