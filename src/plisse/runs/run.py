"""A whole run: a scene, or a run folder to continue, climbed to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numba

from plisse.core.version import __version__
from plisse.runs.checks import check_geometry
from plisse.runs.climb import OPEN, Run
from plisse.contact.check import use_detector_threads
from plisse.core.errors import SceneError
from plisse.runs.changes import name_change
from plisse.loading.geometry import load_geometry
from plisse.scene.geometry import Geometry
from plisse.runs.store import RunStore, StoreError, lock_run
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.kernels.cache import find_cache_root
from plisse.progressive.feasibility import check_start, check_support, find_enclosed
from plisse.progressive.ladder import Ladder
from plisse.scene.scene import Scene


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels and of the detector; the linear solver gets them when it is created."""
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    use_detector_threads(threads)


def run_scene(
    scene: Scene,
    base: Path,
    out: Path,
    *,
    threads: int,
    to_level: int | None = None,
    check_every: int = 10,
    resume: bool = False,
    overwrite: bool = False,
    any_size: bool = False,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Runs a scene into the folder `out` and returns its report. Ctrl-C keeps what is done and is raised again.

    to_level: the finest level to run; the methods "direct" and "plain" run only that one. check_every: states between
    two checks by the independent detector. If the folder already holds a run, it is resumed (`resume`; the scene must be
    the same), replaced (`overwrite`), or refused. any_size: run even what does not seem to fit into memory. progress:
    where to report progress; quiet: only what remains of interest.
    """
    use_threads(threads)
    _refuse_old(out, resume=resume, overwrite=overwrite)
    if progress:
        _say_whether_kernels_are_there(progress)
    finest = scene.hierarchy.levels - 1
    last = finest if to_level is None else to_level
    if not 0 <= last <= finest:
        raise SceneError(f"There is no level {last}: the scene has levels 0 to {finest}.")
    geometry = load_geometry(scene, base)
    check_geometry(scene, geometry, to_level=last, any_size=any_size)
    ladder = Ladder.of(scene, geometry)
    first = last if scene.hierarchy.method in ("direct", "plain") else 0
    store = RunStore(out)
    going_on = resume and store.exists
    if not going_on:
        check_start(ladder.system(first))
        check_support(scene)
    for note in (*geometry.notes, *find_enclosed(scene, geometry)) if progress and not going_on else ():
        print(f"note: {note}", file=progress, flush=True)
    with lock_run(out):
        # another command may have been here since
        _refuse_old(out, resume=resume, overwrite=overwrite)
        going_on = resume and store.exists
        if going_on:
            about = _check_unchanged(store, scene, ladder.base)
            if about["first"] != first:
                raise SceneError(
                    f"{out} is a run of level {about['first']} only: continue it with --to-level {about['first']}, or "
                    "choose another --out."
                )
        else:
            about = {
                "version": __version__,
                "status": "running",
                "threads": threads,
                "resumed": 0,
                "wall_s": 0.0,
                "first": first,
                "open": [name for name in OPEN if getattr(scene.contact, name) is None],
            }
            store = RunStore.create(out, scene_to_dict(ladder.scene), ladder.base, about)
        run = Run(ladder, store, threads=threads, check_every=check_every, progress=progress, quiet=quiet)
        return _carry_out(run, first, last, going_on=going_on, progress=progress)


def refine_run(
    folder: Path,
    *,
    threads: int,
    tol: float | None = None,
    levels: int | None = None,
    to_level: int | None = None,
    check_every: int = 10,
    any_size: bool = False,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Continues a run from where it is: to a tighter tol on its finest level, to further levels, or to its end.

    Coarser levels are not repeated.
    """
    use_threads(threads)
    store = RunStore.open(folder)
    with lock_run(folder):
        scene = _refined(scene_from_dict(store.read_json("scene.json"), folder), folder, tol=tol, levels=levels)
        geometry = store.read_geometry()
        check_geometry(scene, geometry, to_level=to_level, any_size=any_size)
        ladder = Ladder.of(scene, geometry)
        last = ladder.finest if to_level is None else to_level
        stands = max(store.levels(), default=0)
        if not stands <= last <= ladder.finest:
            raise SceneError(
                f"There is no level {last} to refine to: the run is at level {stands} of 0 to {ladder.finest}."
            )
        run = Run(ladder, store, threads=threads, check_every=check_every, more=True, progress=progress, quiet=quiet)
        store.write_json("scene.json", scene_to_dict(scene))
        return _carry_out(run, 0, last, going_on=True, progress=progress)


def _refined(scene: Scene, folder: Path, *, tol: float | None, levels: int | None) -> Scene:
    """A run's scene with another tolerance and number of levels."""
    if scene.time.mode == "dynamic":
        raise SceneError(
            f"{folder} is a dynamic run, which cannot be refined: continue it with `plisse run SCENE --out {folder} "
            "--resume`."
        )
    if scene.hierarchy.method in ("direct", "plain"):
        raise SceneError(
            f"{folder} is a run of a single level (hierarchy.method), which cannot be refined: continue it with "
            f"`plisse run SCENE --out {folder} --resume`."
        )
    has = scene.hierarchy.levels
    if levels is not None and levels <= has:
        raise SceneError(f"{folder} already has {has} levels: ask for more, e.g. --levels {has + 1}.")
    if tol is not None and tol > scene.solver.tol:
        raise SceneError(
            f"--tol {tol:g} is looser than {scene.solver.tol:g}, to which {folder} is solved: give a smaller one."
        )
    solver = scene.solver if tol is None else replace(scene.solver, tol=tol)
    return replace(scene, solver=solver, hierarchy=replace(scene.hierarchy, levels=levels or has))


def _refuse_old(out: Path, *, resume: bool, overwrite: bool) -> None:
    store = RunStore(out)
    if store.exists and not resume and not overwrite:
        name = store.read_json("scene.json").get("name", "another scene")
        raise SceneError(
            f"{out} already holds a run of {name}: continue it with --resume, replace it with --overwrite, or choose "
            "another --out."
        )


def _check_unchanged(store: RunStore, scene: Scene, geometry: Geometry) -> dict[str, Any]:
    """What run.json says of a run, if it is of this very scene."""
    about, old = store.read_about(), store.read_json("scene.json")
    # what the scene left open was filled in when the run began
    contact = {key: value for key, value in old["contact"].items() if key not in about["open"]}
    change = name_change(old | {"contact": contact}, scene_to_dict(scene), store.read_geometry(), geometry)
    if change is not None:
        raise SceneError(
            f"{store.folder} holds a run of another scene, {change}: undo that to resume it, replace it with "
            "--overwrite, or choose another --out."
        )
    return about


def _carry_out(run: Run, first: int, last: int, *, going_on: bool, progress: TextIO | None) -> dict[str, Any]:
    """Climbs, and leaves a report also where it is interrupted."""
    try:
        return _climb(run, first, last, going_on=going_on, progress=progress)
    finally:
        if run.line:
            run.line.end()


def _climb(run: Run, first: int, last: int, *, going_on: bool, progress: TextIO | None) -> dict[str, Any]:
    if going_on and run.about["status"] == "done" and not run.has_work(first, last):
        if progress:
            print(f"{run.store.folder} is already done.", file=progress, flush=True)
        return run.store.read_json("report.json")
    if going_on:
        run.store.tidy()
        _say_what_differs(run, progress)
    fresh_start = not going_on or run.about["status"] == "done"
    try:
        run.note(
            status="running", threads=run.threads, version=__version__,
            resumed=run.about["resumed"] + (0 if fresh_start else 1),
        )  # fmt: skip
        try:
            run.climb(first, last)
        except KeyboardInterrupt:
            run.conclude("interrupted")
            raise
        return run.conclude("done")
    except StoreError as error:
        again = f"`plisse refine {error.folder}`" if run.more else "--resume"
        raise SceneError(
            f"{error.folder} cannot be written: {error.reason}; {run.where()}: {error.remedy} and continue with {again}."
        ) from None


def _say_whether_kernels_are_there(progress: TextIO) -> None:
    root = find_cache_root()
    if any(root.glob("*")):
        return
    told = "first run: compiling the kernels, about a minute"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = (
            f"compiling the kernels, about a minute in every run: they cannot be saved to {root} "
            f"({error.strerror}); name another folder in PLISSE_CACHE"
        )
    print(told, file=progress, flush=True)


def _say_what_differs(run: Run, progress: TextIO | None) -> None:
    """A run that is continued with other threads, or another version, does not end with the same bits."""
    about = run.about
    if progress is None:
        return
    if about["threads"] != run.threads:
        print(
            f"started with {about['threads']} threads and continued with {run.threads}: the result agrees within the "
            "tolerance, not to the bit",
            file=progress, flush=True,
        )  # fmt: skip
    if about["version"] != __version__:
        print(f"started with version {about['version']} and continued with {__version__}", file=progress, flush=True)
