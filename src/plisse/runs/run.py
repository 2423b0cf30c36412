"""A whole run: a scene, or a run folder to continue, climbed to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from plisse.contact.check import use_detector_threads
from plisse.core.errors import SceneError, counted, inside
from plisse.core.state import Checkpoint
from plisse.core.version import __version__
from plisse.kernels.cache import find_cache_root
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import apply_override, scene_from_dict, scene_to_dict
from plisse.progressive.feasibility import check_start, check_support, find_enclosed
from plisse.progressive.report import Report
from plisse.progressive.scales import settle_contact
from plisse.progressive.session import Session
from plisse.progressive.sizes import check_reached, note_misses
from plisse.runs.changes import check_unchanged, keep_contact
from plisse.runs.checks import check_geometry, find_first
from plisse.runs.climb import Run
from plisse.runs.progress import ProgressLine
from plisse.runs.refined import refined_scene
from plisse.runs.report import OPEN
from plisse.runs.starts import read_start, restore_start
from plisse.runs.store import RunSpec, RunStore
from plisse.runs.writing import StoreError, lock_run
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

# takes a run from one level to another, and may say how far it is
Climb = Callable[[Run, int, int, ProgressLine | None], object]
LARGE, PER_VERTEX = 50_000, 3e-5  # vertices from which decimation is announced, and seconds that each takes


def run_scene(
    scene: Scene,
    base: str | Path,
    out: str | Path,
    *,
    threads: int,
    to_level: int | None = None,
    check_every: int = 10,
    resume: bool = False,
    overwrite: bool = False,
    source: str | None = None,
    any_size: bool = False,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> Report:
    """Runs a scene into the folder `out` and returns its report. Ctrl-C keeps what is done and is raised again.

    to_level: the finest level to run; the methods "direct" and "plain" run only that one. check_every: states between
    two checks by the independent detector. If the folder already holds a run, it is resumed (`resume`; the scene must
    be the same, only a motion may have become longer), replaced (`overwrite`), or refused. source: the frame of another
    run that a motion begins with, as "RUN:12". any_size: run even what does not seem to fit into memory.
    progress: where to report progress; quiet: only what remains of interest.
    """
    use_detector_threads(threads)
    base, out = Path(base), Path(out)
    _refuse_old(out, resume=resume, overwrite=overwrite)
    if progress:
        _say_whether_kernels_are_there(progress)
    finest = scene.hierarchy.count - 1
    last = finest if to_level is None else to_level
    if not 0 <= last <= finest:
        raise SceneError(f"There is no level {last}: the scene has levels 0 to {finest}.")
    geometry = load_geometry(scene, base)
    check_geometry(scene, geometry, to_level=last, any_size=any_size)
    if progress:
        _say_levels_are_found(scene, geometry, progress)
    store = RunStore(out)
    going_on = resume and store.exists
    run_as = keep_contact(store, scene) if going_on else scene
    session = Session(run_as, geometry, threads=threads, load=partial(load_geometry, base=base))
    first = find_first(scene, last)
    _check_levels(session, first, last)
    if not going_on:
        _check_beginning(session, first, source)
        check_support(scene)
    for note in _notes(session, geometry, first) if progress and not going_on else ():
        print(f"note: {note}", file=progress, flush=True)
    with lock_run(out):
        # another command may have been here since
        _refuse_old(out, resume=resume, overwrite=overwrite)
        going_on = resume and store.exists
        if going_on:
            spec = check_unchanged(store, scene, geometry, source)
            restore_start(session, store)
            if spec.first != first:
                raise SceneError(
                    f"{out} is a run of level {spec.first} only: continue it with --to-level {spec.first}, or "
                    "choose another --out."
                )
            if run_as is not scene:
                _lengthen(store, session, scene, geometry, progress)
        else:
            left_open = tuple(name for name in OPEN if getattr(scene.contact, name) is None)
            spec = RunSpec(
                __version__, "running", threads, first, left_open,
                base=str(base.resolve()), begin=session.begin, source=source or "",
            )  # fmt: skip
            start = session.grid.last(first)
            fill = None if start is None else partial(RunStore.write_start, state=start)
            store = RunStore.create(out, scene_to_dict(session.scene), geometry, spec, fill=fill)
        line = _live_line(session, progress, quiet=quiet)
        run = Run(session, store, check_every=check_every, drawn=_say_drawn(session, line))
        return _carry_out(run, first, last, going_on=going_on, line=line, progress=progress)


def refine_run(
    folder: str | Path,
    *,
    threads: int,
    rest: float | None = None,
    tol: float | None = None,
    levels: int | None = None,
    to_level: int | None = None,
    overrides: Sequence[str] = (),
    check_every: int = 10,
    any_size: bool = False,
    climb: Climb | None = None,
    run_as: type[Run] = Run,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> Report:
    """Continues a run from where it is: nearer to rest on its finest level, to further levels, or to its end.

    Coarser levels are not repeated, unless overrides like `contact.friction=0.5` change the scene: then level 0 goes on
    from its last state with the new values, and the finer levels are found anew. climb: how levels are simulated, here
    and one after the other by default. run_as: what is left behind is its business.
    """
    use_detector_threads(threads)
    folder = Path(folder)
    store = RunStore.open(folder)
    with lock_run(folder):
        scene = refined_scene(store.read_scene(), folder, rest=rest, tol=tol, levels=levels)
        geometry = store.read_geometry()
        check_geometry(scene, geometry, to_level=to_level, any_size=any_size)
        spec = store.read_spec()
        load = partial(load_geometry, base=Path(spec.base or folder))
        session = Session(scene, geometry, threads=threads, load=load)
        restore_start(session, store)
        if overrides:
            _change(session, store, overrides, any_size=any_size)
        store.write_json("scene.json", scene_to_dict(session.scene))
        return refine_session(
            session, store, to_level=to_level, check_every=check_every, climb=climb, run_as=run_as, progress=progress,
            quiet=quiet,
        )  # fmt: skip


def refine_session(
    session: Session,
    store: RunStore,
    *,
    to_level: int | None = None,
    check_every: int = 10,
    fresh: bool = False,
    climb: Climb | None = None,
    run_as: type[Run] = Run,
    progress: TextIO | None = None,
    quiet: bool = False,
) -> Report:
    """Climbs from where the folder stands, or else from the state that the session has of level 0.

    fresh: what the folder has of coarser levels was made for this run. climb, run_as: as `refine_run` has
    them.
    """
    last = session.finest if to_level is None else to_level
    stands = max(store.levels(), default=0)
    if not stands <= last <= session.finest:
        raise SceneError(
            f"There is no level {last} to refine to: the run is at level {stands} of 0 to {session.finest}."
        )
    _check_levels(session, stands, last)
    line = _live_line(session, progress, quiet=quiet)
    run = run_as(session, store, check_every=check_every, more=True, drawn=_say_drawn(session, line))
    going_on = bool(store.levels()) and not fresh
    return _carry_out(run, 0, last, climb=climb, going_on=going_on, line=line, progress=progress)


def _change(session: Session, store: RunStore, overrides: Sequence[str], *, any_size: bool) -> None:
    """Takes up the last state of level 0 and changes the scene; the folder is changed only if that is possible."""
    at = store.read_checkpoint(0)
    if at is not None:
        session.grid.put(at.state)
    spec, data = store.read_spec(), scene_to_dict(session.scene)
    # what the scene left open is chosen anew
    data["contact"] = {key: value for key, value in data["contact"].items() if key not in spec.open}
    for override in overrides:
        apply_override(data, override)
    with inside(f"{store.folder} with --set {' --set '.join(overrides)}"):
        scene = scene_from_dict(data, Path(spec.base or store.folder))
        if scene.time.mode != session.scene.time.mode:
            raise SceneError("time.mode cannot be changed on the way: start another run with these values.")
        if session.is_dynamic:
            raise SceneError(
                "a motion is changed from one of its frames on, as a run of its own: use `plisse run SCENE --from "
                f"{store.folder}:FRAME --out NEW` with these values."
            )
        refined_scene(scene, store.folder)
        session.change(scene)
        check_geometry(session.scene, session.ladder.given, any_size=any_size)
    store.renew(scene_to_dict(session.scene), session.ladder.given)


def _check_beginning(session: Session, first: int, source: str | None) -> None:
    """Raises SceneError where the scene cannot begin as it is, or with a frame of another run if one is given."""
    if source is None:
        check_start(session.ladder.problem(first))
        return
    start = read_start(source, session, first)
    with inside(f"--from {source}"):
        check_start(session.ladder.problem(first, start=start.x))
    session.begin_with(start)


def _lengthen(store: RunStore, session: Session, scene: Scene, geometry: Geometry, progress: TextIO | None) -> None:
    """Takes down how long the motion is to be now, and says what a run of that length would have had otherwise."""
    store.write_json("scene.json", scene_to_dict(session.scene))
    kept, anew = session.scene.contact, settle_contact(scene, geometry).contact
    if progress and kept != anew:
        print(
            f"note: contact.stiffness stays {kept.stiffness:.3g} Pa; a run of that length from the start would have "
            f"{anew.stiffness:.3g} Pa.",
            file=progress, flush=True,
        )  # fmt: skip


def _notes(session: Session, geometry: Geometry, first: int) -> list[str]:
    """What is worth knowing of a scene before it is run from a level on."""
    missed = note_misses(session.ladder, first)
    return [*geometry.notes, *session.ladder.notes, *missed, *find_enclosed(session.scene, geometry)]


def _check_levels(session: Session, first: int, last: int) -> None:
    """Raises SceneError, before anything is simulated, where a run from level to level cannot be what was asked for."""
    check_reached(session.ladder, first)
    for level in range(first, last):
        session.ladder.hierarchy.expansion(level)


def _live_line(session: Session, progress: TextIO | None, *, quiet: bool) -> ProgressLine | None:
    if progress is None:
        return None
    steps = session.scene.time.steps if session.scene.time.mode == "dynamic" else None
    line = ProgressLine(progress, steps=steps, levels=session.finest + 1, quiet=quiet)
    session.listen(line)
    return line


def _say_drawn(session: Session, line: ProgressLine | None) -> Callable[[Checkpoint, float, Path, bool], None] | None:
    """Says how each of several levels ended, and where its picture is."""
    if line is None or session.finest == 0:
        return None

    def say(at: Checkpoint, seconds: float, picture: Path, ended: bool) -> None:
        if session.is_dynamic:
            how = "to its end" if ended else "stopped"
        else:
            how = "in equilibrium" if at.state.converged else "not in equilibrium" if ended else "stopped"
        line.say(
            f"level {at.state.level}: {at.notes['vertices']:,} vertices, "
            f"{counted(at.state.step - (session.begin or 0), 'step')}, {seconds:.1f} s, {how}; picture {picture}"
        )

    return say


def _refuse_old(out: Path, *, resume: bool, overwrite: bool) -> None:
    store = RunStore(out)
    if store.exists and not resume and not overwrite:
        name = store.read_json("scene.json").get("name", "another scene")
        raise SceneError(
            f"{out} already holds a run of {name}: continue it with --resume, replace it with --overwrite, or choose "
            "another --out."
        )


def _carry_out(
    run: Run,
    first: int,
    last: int,
    *,
    climb: Climb | None = None,
    going_on: bool,
    line: ProgressLine | None,
    progress: TextIO | None,
) -> Report:
    """Climbs, and leaves a report also where it is interrupted."""
    try:
        return _climb(run, first, last, climb or _one_by_one, going_on=going_on, line=line, progress=progress)
    finally:
        if line is not None:
            line.end()


def _one_by_one(run: Run, first: int, last: int, _: ProgressLine | None) -> None:
    run.climb(first, last)


def _climb(
    run: Run,
    first: int,
    last: int,
    climb: Climb,
    *,
    going_on: bool,
    line: ProgressLine | None,
    progress: TextIO | None,
) -> Report:
    for sentence in (*_tell_version(run), *run.mend()) if going_on else ():
        if progress:
            print(sentence, file=progress, flush=True)
    if going_on and run.spec.status == "done" and not run.has_work(first, last):
        if progress:
            print(f"{run.store.folder} is already done.", file=progress, flush=True)
        return run.store.read_report()
    if going_on:
        run.store.tidy()
        _say_what_differs(run, progress)
    fresh_start = not going_on or run.spec.status == "done"
    try:
        run.note(
            status="running", threads=run.session.threads, version=__version__,
            resumed=run.spec.resumed + (0 if fresh_start else 1),
        )  # fmt: skip
        try:
            climb(run, first, last, line)
        except KeyboardInterrupt:
            run.conclude("interrupted")
            raise
        return run.conclude("done")
    except StoreError as error:
        again = f"`plisse refine {error.folder}`" if run.more else "--resume"
        raise SceneError(
            f"{error.folder} cannot be written: {error.reason}; {run.where()}: {error.remedy} and continue with "
            f"{again}."
        ) from None


def _say_whether_kernels_are_there(progress: TextIO) -> None:
    root = find_cache_root()
    if any(root.glob("*")):
        return
    message = "first run: compiling the kernels, about a minute"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = (
            f"compiling the kernels, about a minute in every run: they cannot be saved to {root} "
            f"({error.strerror}); name another folder in PLISSE_CACHE"
        )
    print(message, file=progress, flush=True)


def _say_levels_are_found(scene: Scene, geometry: Geometry, progress: TextIO) -> None:
    """Decimation of large meshes takes a while."""
    vertices = sum(len(mesh.X) for mesh in geometry.shells)
    if scene.hierarchy.kind == "decimation" and scene.hierarchy.count > 1 and vertices >= LARGE:
        seconds = f"about {vertices * PER_VERTEX:.0f} s, unless they are known already"
        print(f"finding coarser levels of {vertices:,} vertices: {seconds}", file=progress, flush=True)


def _say_what_differs(run: Run, progress: TextIO | None) -> None:
    """A run that is continued with other threads does not end with the same bits."""
    before, now = run.spec.threads, run.session.threads
    if progress is not None and before != now:
        print(
            f"started with {before} threads and continued with {now}: the result agrees within the tolerance, not to "
            "the bit",
            file=progress, flush=True,
        )  # fmt: skip


def _tell_version(run: Run) -> list[str]:
    """A line where a run was started with another version."""
    before = run.spec.version
    return [] if before == __version__ else [f"started with version {before} of plisse; this is {__version__}"]
