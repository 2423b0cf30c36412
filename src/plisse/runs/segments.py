"""A motion's level in segments that are refined at the same time, each by a process of its own, and then joined."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from plisse.contact.check import use_detector_threads
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError, counted
from plisse.core.potential import frozen
from plisse.core.state import Checkpoint
from plisse.loading.frames import read_frame_mesh
from plisse.progressive.integrators import Integrator, Joining
from plisse.progressive.report import Report
from plisse.progressive.session import Session
from plisse.runs.checks import check_geometry
from plisse.runs.climb import Run
from plisse.runs.refined import refined_scene
from plisse.runs.starts import restore_start
from plisse.runs.store import RunStore
from plisse.runs.tally import Counts
from plisse.runs.windows import SUMS, Window, refine_window
from plisse.runs.writing import lock_run

APART = ("semi-diagonal", "full-diagonal", "vertical")  # motions whose steps need nothing of their own level
SEAM = 8  # steps after a seam that are solved again, so that nothing jumps there
LOOK = 0.5  # seconds between two looks at how far the processes are


def refine_in_segments(
    folder: str | Path,
    *,
    workers: int,
    threads: int,
    to_level: int | None = None,
    check_every: int = 10,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> Report:
    """Refines a motion level by level, each in as many segments as there are workers. [Zhang2024] §4.6.

    A segment begins with a safe expansion of the level below and does not know where the one before it ends. There the
    first steps are solved again from that end on, drawn more and more to where the segment is.
    """
    folder = Path(folder)
    store = RunStore.open(folder)
    use_detector_threads(threads)
    with lock_run(folder):
        scene, geometry = refined_scene(store.read_scene(), folder), store.read_geometry()
        motion = scene.hierarchy.motion
        if scene.time.mode != "dynamic" or motion not in APART:
            why = (
                "it is no motion" if scene.time.mode != "dynamic" else f'every step of "{motion}" needs the one before'
            )
            ways = " or ".join(f'"{way}"' for way in APART[:2])
            raise SceneError(
                f"{folder} cannot be refined in segments, as {why}: --workers needs hierarchy.motion = {ways}."
            )
        check_geometry(scene, geometry, to_level=to_level)
        session = Session(scene, geometry, threads=threads)
        restore_start(session, store)
        run = Run(session, store, check_every=check_every)
        last = session.finest if to_level is None else to_level
        first = next((level for level in range(last + 1) if not run.is_done(level)), last + 1)
        if first == 0:
            raise SceneError(f"Level 0 of {folder} has not come to its end: continue it with `plisse run --resume`.")
        if not first <= last <= session.finest:
            raise SceneError(
                f"There is no level {last} to refine to: {folder} has levels 0 to {first - 1} of {session.finest + 1}."
            )
        # a level that was begun in one piece, or whose segments were not all joined, is made again
        run.kept.pop(first, None)
        run.note(status="running")
        try:
            for level in range(first, last + 1):
                cuts = _cut(run.begin, run.kept[level - 1].state.step, workers)
                parts = _simulate(folder, level, cuts, threads=threads, check_every=check_every, progress=progress)
                _join(run, level, parts, progress=None if quiet else progress)
        except KeyboardInterrupt:
            run.conclude("interrupted")
            raise
        return run.conclude("done")


def _cut(begin: int, end: int, count: int) -> list[tuple[int, int]]:
    """Segments from step to step, none shorter than what is solved again at its seam."""
    count = max(1, min(count, (end - begin) // (SEAM + 1)))
    cuts = np.linspace(begin, end, count + 1).round().astype(int).tolist()
    return list(pairwise(cuts))


def _simulate(
    folder: Path,
    level: int,
    cuts: Sequence[tuple[int, int]],
    *,
    threads: int,
    check_every: int,
    progress: TextIO | None,
) -> list[RunStore]:
    """All segments of a level, each a run of its own; those that an earlier command has begun go on."""
    context, each = multiprocessing.get_context("spawn"), max(1, threads // len(cuts))
    stores = [RunStore(folder / "segments" / f"level-{level}-{a:04d}-{b:04d}") for a, b in cuts]
    for other in (folder / "segments").glob(f"level-{level}-*"):
        if other not in [store.folder for store in stores]:
            RunStore(other).dissolve()
    failures = context.SimpleQueue()
    tasks = [
        context.Process(
            target=_refine_segment, args=(folder, Window(a, b, level - 1), store.folder, each, check_every, failures)
        )
        for (a, b), store in zip(cuts, stores, strict=True)
    ]
    for task in tasks:
        task.start()
    try:
        while any(task.is_alive() for task in tasks):
            time.sleep(LOOK)
            if progress is not None and progress.isatty():
                made = sum(len(store.frames(level)) for store in stores)
                print(f"\rlevel {level}: {counted(made, 'frame')} in {len(cuts)} segments", end="", file=progress)
    finally:
        for task in tasks:
            if task.is_alive():
                task.terminate()
            task.join()
    if any(task.exitcode for task in tasks):
        sentence = failures.get() if not failures.empty() else "A segment's process was stopped: try again."
        raise SceneError(sentence)
    return stores


def _refine_segment(folder: Path, window: Window, into: Path, threads: int, check_every: int, failures: Any) -> None:
    # Ctrl-C goes to all processes: the first one ends the others, which go on from their last step next time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    into.parent.mkdir(exist_ok=True)
    try:
        refine_window(folder, window, threads=threads, into=into, to_level=window.level + 1, check_every=check_every)
    except SceneError as error:
        failures.put(str(error))
        raise SystemExit(1) from None


def _join(run: Run, level: int, parts: Sequence[RunStore], *, progress: TextIO | None) -> None:
    """One level of all segments, with every seam solved again."""
    store, session, begin = run.store, run.session, run.begin
    for part in parts:
        end = part.read_checkpoint(level)
        assert end is not None
        if part is parts[0]:
            _take_over(run, part, level, begin, end)
            continue
        seam = run.kept[level].state.step
        apart = _distance(run.kept[level].state.x, part.read_frame(level, seam))
        joined = seam + SEAM

        def join(way: Integrator, part: RunStore = part, seam: int = seam) -> Integrator:
            return Joining(way, lambda step: part.read_frame(level, step), first=seam, steps=SEAM)

        at, start = run.kept[level], store.read_frame(level, begin) if session.begin is not None else None
        for _ in session.resume(at, start=start, last=joined, join=join):
            pass
        left = _distance(run.kept[level].state.x, part.read_frame(level, joined))
        if progress is not None:
            print(
                f"level {level}: two segments, {1e3 * apart:.2g} mm apart at step {seam}, are joined within {SEAM} "
                f"steps, up to {1e3 * left:.2g} mm",
                file=progress, flush=True,
            )  # fmt: skip
        _take_over(run, part, level, joined, end)
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


def _distance(a: Floats, b: Floats) -> float:
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))
