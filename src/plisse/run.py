"""A whole run: generators consumed, frames written, invariants checked, a report and pictures left behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import numba
import numpy as np

from plisse._version import __version__
from plisse.contact.check import Detector, use_detector_threads
from plisse.core.errors import SceneError
from plisse.core.potential import Clock, Floats
from plisse.core.state import State
from plisse.io.geometry import Geometry
from plisse.io.page import write_page
from plisse.io.progress import ProgressLine
from plisse.io.render import COLLIDER_COLOR, SHELL_COLORS, Body, Camera, Ground, frame, render, render_strip
from plisse.io.run_store import RunStore
from plisse.io.scene_file import scene_from_dict, scene_to_dict
from plisse.kernels.cache import find_cache_root
from plisse.progressive.assemble import System
from plisse.progressive.consistency import compare_levels
from plisse.progressive.dynamics import animate
from plisse.progressive.ladder import Ladder, build_hierarchy
from plisse.progressive.quasistatics import refine, settle
from plisse.scene.colliders import move_half_space
from plisse.scene.scene import Scene
from plisse.solve.newton import Newton, make_newton

PICTURE = (1024, 768)  # pixels
STRIP = (480, 440)  # pixels of one level in the picture of all levels
HISTORY = ("residual", "energy", "force_balance", "contacts", "step_length")


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels and of the detector; the linear solver is told when it is made."""
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    use_detector_threads(threads)


@dataclass
class Tally:
    """What the invariants were over a level's accepted states."""

    detector: Detector
    system: System
    every: int = 10  # accepted states from one look of the independent detector to the next
    accepted: int = 0
    intersections: int = 0
    checked: int = 0
    unconverged: int = 0  # complete time steps that did not meet the tolerance
    missed: float = 0.0
    distance: float = np.inf
    stretch: float = 0.0
    last_checked: State | None = field(default=None, repr=False)

    @classmethod
    def of(cls, system: System, every: int) -> Tally:
        mesh = system.everything
        return cls(Detector(mesh.X, mesh.edges, mesh.triangles, system.n_shell), system, every)

    def look(self, state: State, *, final: bool = False) -> None:
        """Counts an accepted Newton iterate; looks closely at some of them and at the final one."""
        self.accepted += not final
        if state.accepted and not final:
            self.unconverged += not state.converged
            self.missed = max(self.missed, state.missed)
        if (self.accepted % self.every and not final) or self.last_checked is state:
            return
        self.last_checked = state
        self.checked += 1
        self.intersections += self.detector.count(state.x)
        self.distance = min(self.distance, self.system.min_distance_over_offset(state.x))
        if self.system.strain_limit is not None:
            self.stretch = max(
                self.stretch, self.system.strain_limit.max_stretch_over_limit(state.x[: self.system.n_shell])
            )


@dataclass
class LevelRun:
    """One level of a run: its last state, and what the report says of it."""

    tally: Tally
    newton: Newton
    clock: Clock
    state: State
    wall: float = 0.0
    frames: int = 0
    written: State | None = None
    history: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in HISTORY})

    def keep(self, state: State) -> None:
        self.state = state
        for name, values in self.history.items():
            values.append(getattr(state, name))


class Run:
    """A ladder of levels that is climbed into a run folder."""

    def __init__(
        self, ladder: Ladder, store: RunStore, *, threads: int, check_every: int, progress: TextIO | None
    ) -> None:
        self.ladder, self.store, self.threads, self.check_every = ladder, store, threads, check_every
        self.scene = ladder.scene
        self.dynamic = self.scene.time.mode == "dynamic"
        self.levels: dict[int, LevelRun] = {}
        self.earlier: list[dict[str, Any]] = []  # what the report says of levels that are not run again
        self.line: ProgressLine | None = None
        if progress is not None:
            steps = self.scene.time.steps if self.dynamic else None
            self.line = ProgressLine(progress, steps=steps, levels=ladder.finest + 1)
        self._camera: Camera | None = None

    def climb(self, start: State | None, *, level: int, to_level: int, tol: float | None = None) -> None:
        """From a level's state, or its very start, to equilibrium there and on the levels above."""
        state = start
        if self.dynamic:
            state = self._follow(animate(self.ladder.system(level), *self._tools()))
        elif start is None or not start.converged or tol is not None:
            state = self._follow(settle(self.ladder, *self._tools(), level=level, start=start, tol=tol))
        # a level that found nothing lower is as good a start as one in equilibrium; one that ran out of steps is not
        enough = self.scene.time.max_steps
        while state is not None and state.level < to_level and (state.converged or state.step < enough):
            state = self._follow(refine(self.ladder, *self._tools(), state, to_level=state.level + 1))

    def _tools(self) -> tuple[Newton, Clock]:
        """A solver and a clock for one level, so that the report can tell levels apart."""
        self._newton, self._clock = make_newton(self.scene.solver.linear, threads=self.threads), Clock()
        return self._newton, self._clock

    def _follow(self, states: Iterator[State]) -> State | None:
        """Consumes the states of one level, the last of which is kept whatever happens."""
        began, run, state = time.perf_counter(), None, None
        try:
            for state in states:
                system = self.ladder.latest
                if state.level != system.level:
                    continue  # still on the way to a feasible start
                if run is None:
                    run = self._begin(system)
                run.tally.look(state)
                if self.line:
                    self.line.show(state)
                if not state.accepted:
                    continue
                run.keep(state)
                if self.dynamic and state.step % self.scene.time.frame_every == 0:
                    self._write_frame(run)
        finally:
            if run is not None:
                self._end(run, time.perf_counter() - began)
        return run.state if run is not None else None

    def _begin(self, system: System) -> LevelRun:
        start = State(system.level, 0, 0.0, system.x0, system.v0)
        run = LevelRun(Tally.of(system, self.check_every), self._newton, self._clock, start)
        self.levels[system.level] = run
        self.store.begin_level(system.level, system.everything.triangles, system.body, len(self.scene.shells))
        self.store.remove(f"level-{system.level}/picture.png")
        self.store.write_frame(system.level, 0, system.x0)
        return run

    def _write_frame(self, run: LevelRun) -> None:
        run.frames, run.written = run.frames + 1, run.state
        self.store.write_frame(run.state.level, run.frames, run.state.x)

    def _end(self, run: LevelRun, wall: float) -> None:
        run.wall = wall
        # first what another command can go on from: whatever comes after may be interrupted
        self.store.write_state(run.state)
        if run.written is not run.state and run.state.step > 0:
            self._write_frame(run)
        run.tally.look(run.state, final=True)
        self.store.write_json("report.json", self._report(wall, compared=False))
        path = self._draw(run.state.level, run.state.x)
        if self.line and self.ladder.finest > 0:
            self.line.say(
                f"level {run.state.level}: {run.tally.system.n_shell} vertices, {run.state.step} steps, {wall:.1f} s, "
                f"{'in equilibrium' if run.state.converged else 'not in equilibrium'}; picture {path}"
            )
        elif self.line:
            self.line.end()

    def _draw(self, level: int, x: Floats) -> Path:
        """The picture of one level, seen as the first one was."""
        bodies, ground = describe(self.scene, self.ladder.geometry(level), x)
        self._camera = self._camera or frame(bodies, size=PICTURE)
        path = self.store.folder / f"level-{level}" / "picture.png"
        render(path, bodies, ground=ground, size=PICTURE, camera=self._camera)
        return path

    def conclude(self, total: float) -> dict[str, Any]:
        """Writes pictures of all levels, the report and its page."""
        report = self._report(total)
        self.store.write_json("report.json", report)
        states = self._states()
        for level, x in states.items():
            # an interruption may have come before its picture
            if not (self.store.folder / f"level-{level}" / "picture.png").is_file():
                self._draw(level, x)
        if states:
            self.store.copy(f"level-{max(states)}/picture.png", "preview.png")
        if len(states) > 1:
            drawn = [describe(self.scene, self.ladder.geometry(k), x) for k, x in states.items()]
            sizes = [sum(len(mesh.triangles) for mesh in self.ladder.geometry(k).shells) for k in states]
            labels = [f"level {k}, {size:,} triangles" for k, size in zip(states, sizes, strict=True)]
            path = self.store.folder / "levels.png"
            render_strip(path, [bodies for bodies, _ in drawn], labels, ground=drawn[-1][1], size=STRIP)
        write_page(report, self.store.folder, self.store.folder / "report.html")
        return report

    def _states(self) -> dict[int, Floats]:
        """The last positions of each level, those of earlier commands included."""
        earlier = {state.level: state.x for state in self.store.read_states()}
        return dict(sorted((earlier | {k: run.state.x for k, run in self.levels.items()}).items()))

    def _report(self, total: float, *, compared: bool = True) -> dict[str, Any]:
        contact = self.scene.contact
        levels = [self._level_report(run) for run in self.levels.values()]
        report: dict[str, Any] = {
            "version": __version__,
            "scene": self.scene.name,
            "method": self.scene.hierarchy.method,
            "threads": self.threads,
            "seed": self.scene.seed,
            "wall_s": round(total, 3),
            "contact": {"dhat": contact.dhat, "offset": contact.offset, "stiffness": contact.stiffness},
            "levels": sorted([*self.earlier, *levels], key=lambda entry: int(entry["level"])),
        }
        if not self.dynamic and compared:
            metrics = compare_levels(self.ladder, self._states(), threads=self.threads)
            for entry in report["levels"]:
                entry["metrics"] = metrics[entry["level"]]
        return report

    def _level_report(self, run: LevelRun) -> dict[str, Any]:
        seconds, state, tally, system = run.clock.seconds, run.state, run.tally, run.tally.system
        split = {part: round(seconds[part], 4) for part in ("elastic", "contact", "ccd", "linear")}
        split["other"] = round(max(run.wall - sum(split.values()), 0.0), 4)
        return {
            "level": state.level,
            "vertices": system.n_shell,
            "triangles": len(system.shells.triangles),
            "steps": state.step,
            "newton_iterations": state.newton_iterations,
            "wall_s": round(run.wall, 3),
            "converged": tally.unconverged == 0 if self.dynamic else state.converged,
            "residual": state.residual,
            "force_balance": state.force_balance,
            "energy": state.energy,
            "intersections": tally.intersections,
            "states_checked": tally.checked,
            "contacts": state.contacts,
            "unconverged_steps": tally.unconverged if self.dynamic else None,
            "missed_keyframes": tally.missed if self.dynamic else state.missed,
            "min_distance_over_offset": tally.distance if np.isfinite(tally.distance) else None,
            "max_stretch_over_limit": tally.stretch if system.strain_limit is not None else None,
            "time_split": split,
            "linear_split": {part: round(seconds[part], 4) for part in ("symbolic", "numeric", "solve")},
            "symbolic_factorisations": run.newton.analyses,
            "numeric_factorisations": run.newton.factorisations,
            "candidate_builds": system.barrier.builds if system.barrier is not None else 0,
            "history": run.history,
        }


def run_scene(
    scene: Scene,
    base: Path,
    out: Path,
    *,
    threads: int,
    to_level: int | None = None,
    check_every: int = 10,
    progress: TextIO | None = None,
) -> dict[str, Any]:
    """Runs a scene into the folder `out` and returns its report. Ctrl-C keeps what is done and is raised again.

    to_level: the finest level to go to; the methods "direct" and "plain" run that one alone. check_every: states from
    one look of the independent detector to the next.
    """
    began = time.perf_counter()
    use_threads(threads)
    if progress and not any(find_cache_root().glob("*")):
        print("first run: compiling the kernels, about a minute", file=progress, flush=True)
    ladder = build_hierarchy(scene, base)
    last = ladder.finest if to_level is None else to_level
    if not 0 <= last <= ladder.finest:
        raise SceneError(f"There is no level {last}: the scene has levels 0 to {ladder.finest}.")
    first = last if scene.hierarchy.method in ("direct", "plain") else 0
    check_start(ladder.system(first))
    if progress and (out / "report.json").exists():
        print(f"replacing the run in {out}", file=progress, flush=True)
    store = RunStore.create(out, scene_to_dict(ladder.scene), ladder.base)
    run = Run(ladder, store, threads=threads, check_every=check_every, progress=progress)
    return _climb(run, None, began, level=first, to_level=last)


def refine_run(
    folder: Path,
    *,
    threads: int,
    tol: float | None = None,
    levels: int | None = None,
    to_level: int | None = None,
    check_every: int = 10,
    progress: TextIO | None = None,
) -> dict[str, Any]:
    """Goes on with a run where it stands: to a tighter tol on its finest level, to further levels, or to its end.

    Coarser levels are not repeated.
    """
    began = time.perf_counter()
    use_threads(threads)
    store = RunStore.open(folder)
    scene = scene_from_dict(store.read_json("scene.json"), folder)
    if scene.time.mode == "dynamic":
        raise SceneError(f"{folder} is a run in time, which cannot be refined so far: run its scene again.")
    if levels is not None and levels <= scene.hierarchy.levels:
        has = scene.hierarchy.levels
        raise SceneError(f"{folder} has {has} levels already: ask for more, e.g. --levels {has + 1}.")
    solver = scene.solver if tol is None else replace(scene.solver, tol=tol)
    scene = replace(scene, solver=solver, hierarchy=replace(scene.hierarchy, levels=levels or scene.hierarchy.levels))
    ladder = Ladder.of(scene, store.read_geometry())
    states = store.read_states()
    if scene.hierarchy.method in ("direct", "plain"):
        raise SceneError(f"{folder} is a run of one level alone (hierarchy.method), which cannot be refined.")
    if not states:
        raise SceneError(f"{folder} holds no state to go on from: run its scene again.")
    last = ladder.finest if to_level is None else to_level
    state = states[-1]
    if not state.level <= last <= ladder.finest:
        raise SceneError(
            f"There is no level {last} to refine to: the run stands at level {state.level} of 0 to {ladder.finest}."
        )
    run = Run(ladder, store, threads=threads, check_every=check_every, progress=progress)
    # the tolerance is the finest level's: a coarser one that has converged stays as it is
    tighter = tol if state.level == ladder.finest else None
    known = store.read_json("report.json").get("levels", []) if (folder / "report.json").is_file() else []
    again = state.level if tighter is not None or not state.converged else state.level + 1
    run.earlier = [entry for entry in known if entry["level"] < again]
    store.write_json("scene.json", scene_to_dict(scene))
    return _climb(run, state, began, level=state.level, to_level=last, tol=tighter)


def _climb(
    run: Run, start: State | None, began: float, *, level: int, to_level: int, tol: float | None = None
) -> dict[str, Any]:
    interrupted = False
    try:
        run.climb(start, level=level, to_level=to_level, tol=tol)
    except KeyboardInterrupt:
        interrupted = True
    report = run.conclude(time.perf_counter() - began)
    if interrupted:
        raise KeyboardInterrupt
    return report


def check_start(system: System) -> None:
    """Raises SceneError where bodies start inside of each other or closer than the contact offset."""
    if not system.scene.contact.enabled:
        return
    mesh = system.everything
    detector = Detector(mesh.X, mesh.edges, mesh.triangles, system.n_shell)
    found = detector.count(system.x0)
    if found:
        pair = detector.intersections(system.x0)[0]
        edge, triangle = mesh.edges[pair[0]], mesh.triangles[pair[1]]
        here, there = system.name_of(edge[0]), system.name_of(triangle[0])
        remedy = "move them apart" if here != there else "mend its mesh, e.g. merge vertices that coincide"
        raise SceneError(
            f"The scene starts with {found} intersections, the first between edge {edge.tolist()} of {here} and "
            f"triangle {triangle.tolist()} of {there} (vertices counted over shells, then colliders): {remedy}."
        )
    system.check_start()


def describe(scene: Scene, geometry: Geometry, x: Floats) -> tuple[list[Body], Ground | None]:
    """What to draw of a level's positions x: each shell in its own colour, colliders grey, a floor as ground."""
    bodies, first = [], 0
    for number, mesh in enumerate([*geometry.shells, *geometry.solids]):
        place, first = x[first : first + len(mesh.X)], first + len(mesh.X)
        if number < len(geometry.shells):
            bodies.append(Body(place, mesh.triangles, SHELL_COLORS[number % len(SHELL_COLORS)]))
        else:
            bodies.append(Body(place, mesh.triangles, COLLIDER_COLOR, two_sided=False, framed=False))
    planes = (move_half_space(c, 0.0) for c in scene.colliders if c.half_space is not None)
    floors = (Ground((0.0, 0.0, 1.0), float(normal @ point)) for point, normal in planes if normal[2] > 0.99)
    return bodies, next(floors, None)
