"""Motions that are refined by two processes, in segments and level by level, and windows: what they save and cost."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import nudged, run_levels
from plisse.bench.figures import Figure, tell
from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.progressive.events import Event, LevelEnded, LevelOpened, Stepped
from plisse.runs.climb import Run
from plisse.runs.opening import open_session
from plisse.runs.pipeline import climb_together
from plisse.runs.progress import ProgressLine
from plisse.runs.run import refine_run, run_scene
from plisse.runs.segments import SEAM, Seam, cut, dissolve, join, measure_distance, simulate
from plisse.runs.store import RunStore
from plisse.runs.windows import find_window, refine_window
from plisse.scene.scene import Scene

NAME = "32-flag"
SETS = ("shell.vertices=150", "time.duration=1.6")
DIAGONAL = "semi-diagonal"  # on level 1, the one that is divided here, full-diagonal is the same
WORKERS = 2
WINDOW = (20, 30)


@dataclass
class Stopwatch:
    """Seconds, by the clock and of the processor, of what is done under `timing`; of the levels and steps of a session.

    spent: seconds of processor time of each process that was started meanwhile.
    """

    wall: float = 0.0
    processor: float = 0.0
    spent: list[float] = field(default_factory=list)
    steps: dict[int, list[float]] = field(default_factory=dict)  # of each level, of the processor
    _lap: float = 0.0

    @contextmanager
    def timing(self) -> Iterator[None]:
        began = time.perf_counter(), time.process_time()
        yield
        self.wall += time.perf_counter() - began[0]
        self.processor += time.process_time() - began[1]

    def __call__(self, event: Event) -> None:
        """Listens to a session."""
        if isinstance(event, LevelOpened):
            self._lap, self.steps[event.level] = time.process_time(), []
        elif (isinstance(event, Stepped) and event.state.accepted) or isinstance(event, LevelEnded):
            now = time.process_time()
            if isinstance(event, Stepped):
                self.steps[event.state.level].append(now - self._lap)
            self._lap = now

    @property
    def longest(self) -> float:
        """Seconds of processor time that must pass, whatever else the machine has to do."""
        return self.processor + max(self.spent)


def measure_parallel(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Speed-up of two processes beside its bound, and how far segments are from the refinement in one piece.

    Every process has one thread. Speed-ups are ratios of processor seconds, which a busy machine does not change: those
    of the process that takes longest, and of what the first one does alone.
    """
    figures, details = list[Figure](), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        for measure in (_measure_segments, _measure_levels):
            found, more = measure(Path(folder) / measure.__name__)
            figures, details = figures + found, details | more
    return figures, details


def _preview(scene: Scene, out: Path) -> Path:
    run_scene(scene, ".", out, threads=1, to_level=0)
    return out


def _refine_in_one_piece(folder: Path) -> Stopwatch:
    watch = Stopwatch()

    def climb(run: Run, first: int, last: int, _: ProgressLine | None) -> None:
        run.session.listen(watch)
        with watch.timing():
            run.climb(first, last)

    refine_run(folder, threads=1, climb=climb)
    return watch


# --- segments ---------------------------------------------------------------------------------------------------------


def _measure_segments(folder: Path) -> tuple[list[Figure], dict[str, Any]]:
    scene = gallery_scene(NAME, sets=(*SETS, "hierarchy.levels=2"), tol=0.01, motion=DIAGONAL)
    parts = _preview(scene, folder / "parts")
    whole = Path(shutil.copytree(parts, folder / "whole"))
    alone, together, seams = _refine_in_one_piece(whole), Stopwatch(), list[Seam]()
    made, again = list[int](), list[int]()  # Newton iterations of segments, and of their joining

    def climb(run: Run, *_: object) -> None:
        cuts = cut(run.begin, run.kept[0].state.step, WORKERS)
        with together.timing():
            stores, spent = simulate(run, 1, cuts, None, each=1, check_every=10)
            together.spent += spent
            made.extend(_iterations(store, 1) for store in stores)
            for seam in join(run, 1, stores):
                seams.append(seam)
                lines = run.store.read_steps(1, seam.step + SEAM)
                again.append(lines[-1]["newton"] - lines[-1 - SEAM]["newton"])
        dissolve(stores)
        run.show(1, ended=True)

    report = refine_run(parts, threads=1, climb=climb)
    steps, level = scene.time.steps, report.levels[1]
    tell(f"segments: {steps} steps in {WORKERS} segments, {alone.processor:.1f} s and {together.longest:.1f} s")
    _, courses = run_levels(nudged(scene), 1)
    n = courses[1].x[0].shape[0]
    ours, theirs = (_positions(each, 1, n) for each in (parts, whole))
    away, noise = _distances(ours, theirs), _distances([theirs[0], *courses[1].x], theirs)
    figures = [
        Figure("segments: intersections in all frames", float(_crossings(parts, 1)), 0.0),
        Figure("segments: steps not solved", float(level.unconverged_steps or 0), 0.0),
        Figure("segments: speed-up", alone.processor / together.longest),
        Figure("segments: speed-up, by Newton iterations", _iterations(RunStore(whole), 1) / (max(made) + sum(again))),
        Figure("segments: mean distance to one piece, mm", 1e3 * float(np.mean(away))),
        Figure("segments: the same of two equal runs, mm", 1e3 * float(np.mean(noise))),
    ]
    details = {
        "vertices; steps": [n, steps],
        "bound of the speed-up": steps / (steps / WORKERS + SEAM * (WORKERS - 1)),
        "processor seconds: one piece; segments; joining": [alone.processor, *together.spent, together.processor],
        "seconds by the clock: one piece; segments": [alone.wall, together.wall],
        "Newton iterations: one piece; segments; joining": [_iterations(RunStore(whole), 1), *made, *again],
        "apart at the seam; when joined [mm]": [[1e3 * seam.apart, 1e3 * seam.left] for seam in seams],
        "largest residual of a step [m/s]: segments; one piece": [_residual(parts, 1), _residual(whole, 1)],
        "distance to one piece, mean and largest [mm]": _in_mm(away),
        "of two equal runs": _in_mm(noise),
    }
    return figures, {f"segments: {key}": _rounded(value) for key, value in details.items()}


# --- levels -----------------------------------------------------------------------------------------------------------


def _measure_levels(folder: Path) -> tuple[list[Figure], dict[str, Any]]:
    scene = gallery_scene(NAME, sets=(*SETS, "hierarchy.levels=3"), tol=0.01)
    follow = _preview(scene, folder / "follow")
    whole = Path(shutil.copytree(follow, folder / "whole"))
    window = Path(shutil.copytree(follow, folder / "window"))
    alone, together = _refine_in_one_piece(whole), Stopwatch()

    def climb(run: Run, first: int, last: int, line: ProgressLine | None) -> None:
        with together.timing():
            together.spent += climb_together(run, first, last, line, workers=WORKERS, check_every=10)

    refine_run(follow, threads=1, climb=climb)
    costs = {level: sum(steps) for level, steps in alone.steps.items()}
    tell(f"levels: {sum(costs.values()):.1f} s and {max(together.spent):.1f} s")
    finest = max(costs)
    part = refine_window(window, find_window(window, WINDOW), threads=1)
    within, all_of_it = (sum(made) for made in zip(*_of_window(whole, finest), strict=True))
    own = sum(level.newton_iterations for level in part.levels[1:])
    figures = [
        Figure("levels at the same time: frames and states that differ", float(_differing(follow, whole)), 0.0),
        Figure("levels at the same time: speed-up", sum(costs.values()) / max(together.spent)),
        Figure(
            "levels at the same time: bound, sum of costs / that of the finest", sum(costs.values()) / costs[finest]
        ),
        Figure(
            "levels at the same time: bound, step by step",
            sum(costs.values()) / critical_path([alone.steps[level] for level in sorted(costs)]),
        ),
        Figure("window: its iterations / those of its frames within all", own / within),
        Figure("window: its iterations / those of all frames", own / all_of_it),
    ]
    details = {
        "levels: vertices; steps": [[level.vertices for level in part.levels], scene.time.steps],
        "levels: processor seconds one by one; of each process": [*costs.values(), *together.spent],
        "levels: seconds by the clock: one by one; together": [alone.wall, together.wall],
        "window: share of the steps": (WINDOW[1] - WINDOW[0]) / scene.time.steps,
        "window: iterations: its own; of its frames within all; of all": [own, within, all_of_it],
    }
    return figures, {key: _rounded(value) for key, value in details.items()}


def critical_path(levels: Sequence[Sequence[float]]) -> float:
    """Seconds until the last step of the last level, where each waits for the same step of the level below."""
    ready = np.zeros(len(levels[0]))
    for steps in levels:
        now = 0.0
        for t, seconds in enumerate(steps):
            now = max(now, ready[t]) + seconds
            ready[t] = now
    return float(ready[-1])


def _of_window(folder: Path, finest: int) -> list[tuple[int, int]]:
    """Of every refined level, the iterations of the window's steps and of all."""
    out = []
    for level in range(1, finest + 1):
        made = [line["newton"] for line in RunStore(folder).read_steps(level, 10**9)]
        out.append((made[WINDOW[1] - 1] - made[WINDOW[0] - 1], made[-1]))
    return out


# --- what two folders hold --------------------------------------------------------------------------------------------


def _positions(folder: Path, level: int, n: int) -> list[Floats]:
    store = RunStore(folder)
    return [store.read_frame(level, number)[:n] for number in store.frames(level)]


def _distances(a: Sequence[Floats], b: Sequence[Floats]) -> list[float]:
    return [measure_distance(x, y) for x, y in zip(a, b, strict=True)]


def _iterations(store: RunStore, level: int) -> int:
    at = store.read_checkpoint(level)
    return 0 if at is None else at.state.newton_iterations


def _residual(folder: Path, level: int) -> float:
    return max(line["residual"] for line in RunStore(folder).read_steps(level, 10**9))


def _crossings(folder: Path, level: int) -> int:
    store, session = RunStore(folder), open_session(folder)
    detector = Detector.of(session.ladder.problem(level))
    return sum(detector.count(store.read_frame(level, number)) for number in store.frames(level))


def _differing(a: Path, b: Path) -> int:
    names = {str(path.relative_to(each)) for each in (a, b) for path in each.glob("level-*/*.np[yz]")}
    return sum(
        not ((a / name).is_file() and (b / name).is_file() and (a / name).read_bytes() == (b / name).read_bytes())
        for name in names
    )


def _in_mm(distances: Sequence[float]) -> list[float]:
    return [1e3 * float(np.mean(distances)), 1e3 * float(np.max(distances))]


def _rounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
