"""Windows of a motion: some of its frames, refined as a run of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError
from plisse.core.potential import frozen
from plisse.core.state import Checkpoint
from plisse.core.version import __version__
from plisse.loading.frames import read_frame_mesh
from plisse.loading.scene_file import scene_to_dict
from plisse.progressive.report import Report
from plisse.progressive.session import Session
from plisse.runs.refined import refined_scene
from plisse.runs.run import refine_run, refine_session
from plisse.runs.store import RunSpec, RunStore
from plisse.runs.tally import HISTORY, Counts
from plisse.runs.writing import lock_run

SUMS = ("newton", "wall", "symbolic", "numeric", "candidates")  # of the log: what a level has cost up to a step
Frames = tuple[int | None, int | None]  # from one frame to another, both included; None for the first, and the last


@dataclass(frozen=True)
class Window:
    """Frames `first` to `last` of a motion, which has them on the levels up to `level`."""

    first: int
    last: int
    level: int

    def folder(self, run: Path) -> Path:
        """Where the window of a run is refined."""
        return run / f"frames-{self.first:04d}-{self.last:04d}"


def find_window(folder: Path, frames: Frames) -> Window:
    """The window that is asked for; a SceneError where the run has no such frames, or nothing finer is to come."""
    store = RunStore.open(folder)
    scene, spec = refined_scene(store.read_scene(), folder), store.read_spec()
    if scene.time.mode != "dynamic":
        raise SceneError(f"{folder} is no motion: refine its frames one by one, with --frame N.")
    found = (store.read_checkpoint(level) for level in store.levels())
    reached = {at.state.level: at.state.step for at in found if at is not None}
    begin, end = spec.begin or 0, reached.get(0, 0)
    first, last = begin if frames[0] is None else frames[0], end if frames[1] is None else frames[1]
    if not begin <= first < last <= end:
        raise SceneError(
            f"--frames {first}:{last} is no window of {folder}, which has frames {begin} to {end} of level 0: choose "
            "two of them, the earlier one first."
        )
    level = max(level for level, step in reached.items() if step >= last)
    if level == scene.hierarchy.count - 1:
        raise SceneError(f"{folder} has frames {first} to {last} of its finest level already: choose others.")
    return Window(first, last, level)


def refine_window(
    folder: str | Path, window: Window, *, threads: int, into: Path | None = None, **options: Any
) -> Report:
    """Refines some frames of a motion on the levels above the finest that has them.

    The window becomes a run of its own, by default in the run's folder, with what the coarser levels have of it, and
    goes on where it is when it is asked for again. A finer level begins with the safe expansion of the first frame and
    with the velocities of the level below. options: as `refine_run` has them.
    """
    folder = Path(folder)
    own = window.folder(folder) if into is None else into
    if RunStore(own).exists:
        return refine_run(own, threads=threads, **options)
    store = RunStore.open(folder)
    scene, spec, geometry = store.read_scene(), store.read_spec(), store.read_geometry()
    finest, to_level = scene.hierarchy.count - 1, options.get("to_level")
    if to_level is not None and not window.level < to_level <= finest:
        raise SceneError(
            f"--to-level {to_level}: {folder} has these frames up to level {window.level} of 0 to {finest}; choose "
            "a finer one that there is."
        )
    scene = replace(scene, time=replace(scene.time, duration=window.last * scene.time.step))
    session = Session(scene, geometry, threads=threads)
    # a window from the scene's own start on is the beginning of the whole refinement
    session.begin = None if window.first == 0 and spec.begin is None else window.first

    def fill(made: RunStore) -> None:
        for level in range(window.level + 1):
            _copy_level(store, made, level, window, begin=session.begin)

    begun = RunSpec(__version__, "running", threads, 0, spec.open, base=spec.base, begin=session.begin)
    with lock_run(own):
        made = RunStore.create(own, scene_to_dict(session.scene), geometry, begun, fill=fill)
        return refine_session(session, made, fresh=True, **options)


def _copy_level(store: RunStore, made: RunStore, level: int, window: Window, *, begin: int | None) -> None:
    """Writes what a level has of a window into the window's own folder; its last state comes last."""
    mesh = read_frame_mesh(store.folder / f"level-{level}" / "mesh.npz")
    made.begin_level(level, mesh.triangles, mesh.body, mesh.shells, uv=mesh.uv)
    for number in range(window.first, window.last + 1):
        x, v = (store.read_frame(level, number, what) for what in ("frame", "velocity"))
        made.write_frame(level, number, x, v=v)
    log = store.read_steps(level, window.last)
    lines = _rebased(log, window.first)
    for line in lines:
        made.append_step(level, line)
    at = store.read_checkpoint(level)
    assert at is not None
    end = lines[-1]
    known = {name: end[name] for name in (*HISTORY, "converged", "time") if name != "distance"}
    state = replace(
        at.state, **known, step=window.last, x=frozen(x), v=v, newton_iterations=end["newton"], missed=0.0, blocked=()
    )
    # what was seen of the whole level does not belong to the window
    counts = Counts(unconverged=sum(not line["converged"] for line in lines))
    notes = {key: value for key, value in at.notes.items() if key not in ("mechanics", "counts_before")}
    notes |= {"counts": asdict(counts), "last": window.last, "begin": begin or 0, "ended": True}
    notes["placed"] = begin is not None or at.notes["placed"]
    made.write_checkpoint(Checkpoint(state, notes=notes))


def _rebased(log: Sequence[dict[str, Any]], first: int) -> list[dict[str, Any]]:
    """The lines after a step, with what has been spent since."""
    before = next((line for line in log if line["step"] == first), None)
    if before is None:
        return list(log)
    return [
        line
        | {key: line[key] - before[key] for key in SUMS}
        | {"split": {part: seconds - before["split"][part] for part, seconds in line["split"].items()}}
        for line in log
        if line["step"] > first
    ]
