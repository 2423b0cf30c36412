"""A motion's level in segments that are refined at the same time, each by a process of its own, and then joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from plisse.contact.check import use_detector_threads
from plisse.core.arrays import Floats
from plisse.core.potential import frozen
from plisse.core.state import Checkpoint
from plisse.loading.frames import read_frame_mesh
from plisse.progressive.integrators import Integrator, Joining
from plisse.progressive.report import Report
from plisse.runs.climb import Run
from plisse.runs.processes import Task, work_on
from plisse.runs.progress import ProgressLine
from plisse.runs.store import RunStore
from plisse.runs.tally import Counts
from plisse.runs.windows import SUMS, Window, refine_window

APART = ("semi-diagonal", "full-diagonal", "vertical")  # motions whose steps need nothing of their own level
SEAM = 8  # steps after a seam that are solved again, so that nothing jumps there


@dataclass(frozen=True)
class Seam:
    """Where two segments met: after a step, how far they were apart there, and at the end of its joining [m]."""

    step: int
    apart: float
    left: float


def climb_in_segments(
    run: Run, first: int, last: int, line: ProgressLine | None, *, workers: int, threads: int, check_every: int
) -> None:
    """A motion level by level, each in as many segments as there are workers. [Zhang2024] §4.6.

    A segment begins with a safe expansion of the level below and does not know where the one before it ends. There the
    first steps are solved again from that end on, drawn more and more to where the segment is. threads: of all
    processes together.
    """
    for level in range(first, last + 1):
        if run.is_done(level):
            continue
        if level == 0:
            run.climb(0, 0)
            continue
        # a level that was begun in one piece, or whose segments were not all joined, is made again
        run.kept.pop(level, None)
        cuts = cut(run.begin, run.kept[level - 1].state.step, workers)
        parts, _ = simulate(run, level, cuts, line, each=max(1, threads // len(cuts)), check_every=check_every)
        for seam in join(run, level, parts):
            if line is not None:
                line.say(
                    f"level {level}: two segments, {1e3 * seam.apart:.2g} mm apart at step {seam.step}, are joined "
                    f"within {SEAM} steps, up to {1e3 * seam.left:.2g} mm"
                )
        dissolve(parts)
        run.show(level, ended=True)


def cut(begin: int, end: int, count: int) -> list[tuple[int, int]]:
    """Segments from step to step, none shorter than what is solved again at its seam."""
    count = max(1, min(count, (end - begin) // (SEAM + 1)))
    cuts = np.linspace(begin, end, count + 1).round().astype(int).tolist()
    return list(pairwise(cuts))


def simulate(
    run: Run,
    level: int,
    cuts: Sequence[tuple[int, int]],
    line: ProgressLine | None,
    *,
    each: int,
    check_every: int,
) -> tuple[list[RunStore], list[float]]:
    """All segments of a level, each a run of its own with so many threads; those that were begun before go on.

    Also the seconds of processor time that each has taken.
    """
    folder = run.store.folder
    stores = [RunStore(folder / "segments" / f"level-{level}-{a:04d}-{b:04d}") for a, b in cuts]
    for other in (folder / "segments").glob(f"level-{level}-*"):
        if other not in [store.folder for store in stores]:
            RunStore(other).dissolve()
    tasks = [
        Task(
            f"steps {a} to {b} of level {level}",
            _refine_segment,
            (folder, Window(a, b, level - 1), store.folder, each, check_every),
        )
        for (a, b), store in zip(cuts, stores, strict=True)
    ]

    def watch(_: Sequence[bool]) -> None:
        if line is not None:
            steps = (f"step {store.reached(level) or a}/{b}" for (a, b), store in zip(cuts, stores, strict=True))
            line.tell(f"level {level}: " + "  ".join(steps))

    return stores, work_on(tasks, most=len(tasks), watch=watch)


def _refine_segment(folder: Path, window: Window, into: Path, threads: int, check_every: int) -> None:
    into.parent.mkdir(exist_ok=True)
    use_detector_threads(threads)
    level = window.level + 1
    refine_window(folder, window, threads=threads, into=into, to_level=level, check_every=check_every, run_as=Part)


class Part(Run):
    """A run that is soon part of another one: nobody looks at it, so that pictures would be in vain."""

    def show(self, level: int, *, ended: bool) -> None: ...

    def conclude(self, status: str) -> Report:
        report = self._report(status, compared=False)
        self.store.write_json("report.json", report.to_json())
        self.note(status=status)
        return report


def join(run: Run, level: int, parts: Sequence[RunStore]) -> Iterator[Seam]:
    """One level of all segments, with every seam solved again."""
    store, session, begin = run.store, run.session, run.begin
    for part in parts:
        end = part.read_checkpoint(level)
        assert end is not None
        if part is parts[0]:
            _take_over(run, part, level, begin, end)
            continue
        seam = run.kept[level].state.step
        apart = measure_distance(run.kept[level].state.x, part.read_frame(level, seam))
        joined = seam + SEAM

        def drawn(way: Integrator, part: RunStore = part, seam: int = seam) -> Integrator:
            return Joining(way, lambda step: part.read_frame(level, step), first=seam, steps=SEAM)

        at, start = run.kept[level], store.read_frame(level, begin) if session.begin is not None else None
        for _ in session.resume(at, start=start, last=joined, join=drawn):
            pass
        yield Seam(seam, apart, measure_distance(run.kept[level].state.x, part.read_frame(level, joined)))
        _take_over(run, part, level, joined, end)


def dissolve(parts: Sequence[RunStore]) -> None:
    """Removes segments that have been joined."""
    for part in parts:
        part.dissolve()
    with suppress(OSError):
        parts[0].folder.parent.rmdir()


def _take_over(run: Run, part: RunStore, level: int, after: int, end: Checkpoint) -> None:
    """Writes the segment's frames and steps after a step to the run; its last state comes last."""
    store, h = run.store, run.session.scene.time.step
    log = part.read_steps(level, end.state.step)
    if level not in run.kept:
        mesh = read_frame_mesh(part.folder / f"level-{level}" / "mesh.npz")
        store.begin_level(level, mesh.triangles, mesh.body, mesh.shells, uv=mesh.uv)
        store.write_frame(level, after, part.read_frame(level, after), v=part.read_frame(level, after, "velocity"))
        counts, last = Counts(), None
    else:
        counts, last = Counts(**run.kept[level].notes["counts"]), store.read_steps(level, after)[-1]
    known = next((line for line in log if line["step"] == after), None)
    before, line = store.read_frame(level, after), last
    for line in _continued([line for line in log if line["step"] > after], known, last):
        x, v = (part.read_frame(level, line["step"], what) for what in ("frame", "velocity"))
        # the step before it may be another one than the segment's own
        store.write_frame(level, line["step"], x, v=v if line["step"] > after + 1 or last is None else (x - before) / h)
        store.append_step(level, line)
    assert line is not None
    notes = end.notes | {"counts": asdict(counts.plus(Counts(**end.notes["counts"]))), "begin": run.begin}
    notes |= {"placed": run.session.begin is not None, "last": run.kept[level - 1].state.step}
    at = replace(end, state=replace(end.state, x=frozen(end.state.x), newton_iterations=line["newton"]), notes=notes)
    store.write_checkpoint(at)
    run.kept[level] = at
    run.session.grid.put(at.state)


def _continued(
    lines: Sequence[dict[str, Any]], known: dict[str, Any] | None, last: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Lines of a segment's log with what has been spent before, known: the line of the step that they come after."""

    def since(line: dict[str, Any], key: str) -> Any:
        return line[key] - (0 if known is None else known[key]) + (0 if last is None else last[key])

    def split(line: dict[str, Any]) -> dict[str, float]:
        return {
            part: seconds
            - (0 if known is None else known["split"][part])
            + (0 if last is None else last["split"][part])
            for part, seconds in line["split"].items()
        }

    return [line | {key: since(line, key) for key in SUMS} | {"split": split(line)} for line in lines]


def measure_distance(a: Floats, b: Floats) -> float:
    """Root mean square distance [m] of vertices (n, 3)."""
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))
