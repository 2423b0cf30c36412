"""Levels that are climbed into a run folder, every step kept, a report and pictures left behind."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from plisse.core.errors import SceneError, counted
from plisse.core.potential import Clock, Floats
from plisse.core.state import Checkpoint, State
from plisse.core.version import __version__
from plisse.loading.scene_file import scene_from_dict
from plisse.pictures.page import make_page
from plisse.pictures.render import Camera, frame, render, render_strip
from plisse.pictures.smooth import show_small
from plisse.pictures.stage import Stage, set_stage
from plisse.progressive.assemble import System
from plisse.progressive.consistency import compare_levels
from plisse.progressive.dynamics import animate
from plisse.progressive.ladder import Ladder
from plisse.progressive.quasistatics import level_tol, refine, settle, take_up
from plisse.runs.progress import ProgressLine
from plisse.runs.store import RunStore, StoreError, lock_run
from plisse.runs.tally import LevelRun, Tally, report_level
from plisse.runs.watch import Watch
from plisse.scene.geometry import scene_size
from plisse.scene.scene import Scene
from plisse.solve.newton import Newton, make_newton

PICTURE = (1024, 768)  # pixels
STRIP = (480, 440)  # pixels of one level in the picture of all levels
OPEN = ("dhat", "offset", "stiffness")  # of contact: chosen from the scene where it leaves them open


class Run:
    """A ladder of levels that is climbed into a run folder, from where the folder stands.

    more: levels that ran out of steps get as many again.
    """

    def __init__(
        self,
        ladder: Ladder,
        store: RunStore,
        *,
        threads: int,
        check_every: int = 10,
        more: bool = False,
        progress: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self.began = time.perf_counter()
        self.ladder, self.store, self.threads, self.check_every, self.more = ladder, store, threads, check_every, more
        self.scene = ladder.scene
        self.dynamic = self.scene.time.mode == "dynamic"
        self.about = store.read_about()
        found = (store.read_checkpoint(level) for level in store.levels())
        self.kept: dict[int, Checkpoint] = {at.state.level: at for at in found if at is not None}
        known = sum(report["wall_s"] for report in self._level_reports())
        self.spent = max(self.about["wall_s"], known)  # seconds of earlier commands, as far as they are known
        self.line: ProgressLine | None = None
        if progress is not None:
            steps = self.scene.time.steps if self.dynamic else None
            self.line = ProgressLine(progress, steps=steps, levels=ladder.finest + 1, quiet=quiet)
        self._camera: Camera | None = None

    # --- levels -----------------------------------------------------------------------------------------------------

    def has_work(self, first: int, last: int) -> bool:
        """Whether one of these levels is not done yet."""
        for level in range(first, last + 1):
            if not self._is_done(level):
                return True
            if not _is_good_start(self.kept[level].state):
                return False
        return False

    def _is_done(self, level: int) -> bool:
        at = self.kept.get(level)
        if at is None or not at.notes["ended"] or self._is_looser(at):
            return False
        return self.dynamic or not self.more or _is_good_start(at.state)

    def _is_looser(self, at: Checkpoint) -> bool:
        """Whether it was solved to a looser tolerance than is asked for now, which is the finest level's."""
        level = at.state.level
        return level == self.ladder.finest and bool(at.notes["tol"] > level_tol(self.ladder, level))

    def climb(self, first: int, last: int) -> None:
        """To equilibrium, or through time, on the first level, and to equilibrium on those above it."""
        for level in range(first, last + 1):
            if not self._is_done(level):
                began = time.perf_counter()
                tools = make_newton(self.scene.solver.linear, threads=self.threads), Clock()
                if level in self.kept:
                    self._take_up(self.kept[level], tools, began)
                elif self.dynamic:
                    self._follow(animate(self.ladder.system(level), *tools), tools, began)
                elif level == first:
                    self._follow(settle(self.ladder, *tools, level=level), tools, began)
                else:
                    states = refine(self.ladder, *tools, self.kept[level - 1].state, to_level=level)
                    self._follow(states, tools, began, placed=True)
            if not _is_good_start(self.kept[level].state):
                return

    def _take_up(self, at: Checkpoint, tools: tuple[Newton, Clock], began: float) -> None:
        """Goes on with a level after its last complete step."""
        level, placed, last = at.state.level, at.notes["placed"], at.notes["last"]
        self.store.rewind(level, at.state.step, self._frames(at.state))
        if at.notes["ended"] and not self.dynamic:
            # to a tighter tolerance, or because it ran out of steps
            last = at.state.step + self.scene.time.max_steps
            at = replace(at, state=replace(at.state, converged=False, stalled=False))
        start = self.store.read_frame(level, 0) if placed else None
        if self.dynamic:
            states = animate(self.ladder.system(level), *tools, at)
        else:
            states = take_up(self.ladder, *tools, at, start=start, last=last)
        run = self._level_run(self.ladder.latest, tools, began, placed=placed)
        run.last = last
        run.take_up(at, self.store.read_steps(level, at.state.step))
        self._follow(states, tools, began, run=run)

    def _follow(
        self,
        states: Iterator[State],
        tools: tuple[Newton, Clock],
        began: float,
        *,
        run: LevelRun | None = None,
        placed: bool = False,
    ) -> None:
        """Consumes the states of one level; every complete step is kept."""
        try:
            for state in states:
                system = self.ladder.latest
                if state.level != system.level:
                    continue  # still on the way to a feasible start
                if run is None:
                    run = self._level_run(system, tools, began, placed=placed)
                    self._begin(system)
                run.tally.look(state)
                if self.line:
                    self.line.show(state)
                if state.accepted:
                    self._keep(run, state)
        except StoreError:
            raise
        except BaseException:
            # what the disk holds counts: the interruption may have come between it and our knowing of it
            at = None if run is None else self.store.read_checkpoint(run.state.level)
            if run is not None and at is not None and at.state.step > 0:
                run.state = at.state
                self.kept[at.state.level] = at
                self._close(run)
            raise
        assert run is not None
        self._close(run, ended=True)

    def _level_run(self, system: System, tools: tuple[Newton, Clock], began: float, *, placed: bool) -> LevelRun:
        start = State(system.level, 0, 0.0, system.x0, system.v0)
        tally, tol = Tally.of(system, self.check_every), level_tol(self.ladder, system.level)
        if self.line:
            size = scene_size(self.ladder.base.shells)
            places = system.name_vertices
            watch = Watch(self.scene, system.dhat, system.last_key, places, tol=tol, size=size)
            self.line.begin(tol=tol, watch=watch, began=began)
        return LevelRun(tally, *tools, start, began, last=self.scene.time.steps, tol=tol, placed=placed)

    def _begin(self, system: System) -> None:
        self.kept.pop(system.level, None)
        self.store.begin_level(system.level, system.everything.triangles, system.body, len(self.scene.shells))
        self.store.write_frame(system.level, 0, system.x0)

    def _frames(self, state: State) -> int:
        """How many frames there are after the first one up to a state, the one that closes a level not counted."""
        every = self.scene.time.frame_steps
        return 0 if every is None else state.step // every

    def _keep(self, run: LevelRun, state: State) -> None:
        """Writes a complete step; with the checkpoint, which comes last, it is done."""
        frames = self._frames(state)
        number = frames if frames > self._frames(run.state) else None
        if number is not None:
            self.store.write_frame(state.level, number, state.x)
        self.store.append_step(state.level, run.describe_step(state, number))
        before = run.state if self.dynamic and self.scene.time.integrator == "bdf2" else None
        self._commit(run, run.checkpoint(state, before=before))

    def _commit(self, run: LevelRun, at: Checkpoint) -> None:
        self.store.write_checkpoint(at)
        run.state = at.state
        self.kept[at.state.level] = at

    def _close(self, run: LevelRun, *, ended: bool = False) -> None:
        """A level's last frame and picture, at its end or where it was interrupted."""
        wall, state, every = time.perf_counter() - run.began, run.state, self.scene.time.frame_steps
        if every is None or state.step % every:
            self.store.write_frame(state.level, self._frames(state) + 1, state.x)
        if ended:
            run.tally.look(state, final=True)
            at = self.kept[state.level]
            self._commit(run, replace(run.checkpoint(state, ended=True), before=at.before))
        self.store.write_json("report.json", self._report("running", compared=False))
        path = self._draw(state.level, state.x)
        if self.line and self.ladder.finest > 0:
            how = "in equilibrium" if state.converged else "not in equilibrium" if ended else "stopped"
            self.line.say(
                f"level {state.level}: {run.tally.system.n_shell:,} vertices, {counted(state.step, 'step')}, "
                f"{wall:.1f} s, {how}; picture {path}"
            )

    # --- what is left behind ----------------------------------------------------------------------------------------

    def _draw(self, level: int, x: Floats) -> Path:
        """The picture of one level, seen as the first one is."""
        if self._camera is None:
            first = min(self.kept)
            self._camera = frame(self._stage(first).show(self.kept[first].state.x), size=PICTURE)
        stage = self._stage(level)
        with self.store.replacing(f"level-{level}/picture.png") as path:
            render(path, stage.show(x), grounds=stage.grounds, size=PICTURE, camera=self._camera)
        return self.store.folder / f"level-{level}" / "picture.png"

    def _stage(self, level: int) -> Stage:
        geometry = self.ladder.geometry(level)
        return set_stage(self.scene, [*geometry.shells, *geometry.solids])

    def conclude(self, status: str) -> dict[str, Any]:
        """Writes pictures of all levels, the report and its page, and how the run stands."""
        folder, states = self.store.folder, {level: at.state.x for level, at in sorted(self.kept.items())}
        report = self._report(status)
        self.store.write_json("report.json", report)
        for level, x in states.items():
            # a command may have been stopped before its picture
            if not (folder / f"level-{level}" / "picture.png").is_file():
                self._draw(level, x)
        if states:
            self.store.copy(f"level-{max(states)}/picture.png", "preview.png")
        if len(states) > 1:
            drawn = [show_small(self._stage(k), x, finest=k == max(states)) for k, x in states.items()]
            labels = [f"level {k}, {told}" for k, (_, told) in zip(states, drawn, strict=True)]
            grounds = self._stage(max(states)).grounds
            with self.store.replacing("levels.png") as path:
                render_strip(path, [bodies for bodies, _ in drawn], labels, grounds=grounds, size=STRIP)
        with self.store.replacing("report.html") as path:
            path.write_text(make_page(report, folder), encoding="utf-8")
        self.note(status=status)
        return report

    def note(self, **values: Any) -> None:
        """Writes down how the run stands."""
        self.about |= {"wall_s": self._wall(), **values}
        self.store.write_json("run.json", self.about)

    def _wall(self) -> float:
        """Seconds of all commands on this run."""
        return round(self.spent + time.perf_counter() - self.began, 3)

    def where(self) -> str:
        """How far the run is kept, in words."""
        if not self.kept:
            return "nothing of the run is kept yet"
        state = self.kept[max(self.kept)].state
        return f"the run is kept up to step {state.step} of level {state.level}"

    def _level_reports(self) -> list[dict[str, Any]]:
        return _report_levels(self.store, self.kept.values(), dynamic=self.dynamic)

    def _report(self, status: str, *, compared: bool = True) -> dict[str, Any]:
        about = self.about | {"version": __version__, "threads": self.threads, "wall_s": self._wall()}
        report = _make_report(about, self.scene, status, self._level_reports())
        report["auto"] |= self._chosen()
        if not self.dynamic and compared:
            states = {level: at.state.x for level, at in sorted(self.kept.items())}
            metrics = compare_levels(self.ladder, states, threads=self.threads)
            for entry in report["levels"]:
                entry["metrics"] = metrics[entry["level"]]
        return report

    def _chosen(self) -> dict[str, Any]:
        """What "auto" stands for on the levels below the finest, of each shell."""
        out: dict[str, Any] = {}
        if self.scene.hierarchy.method == "progressive":
            for level in range(self.ladder.finest):
                kept, stiffer = self.ladder.softened(level)
                out |= {f"level-{level}.compression": kept, f"level-{level}.bending": stiffer}
        return out


def read_report(folder: Path) -> dict[str, Any]:
    """A run's report; of one that is at work, or was killed, as far as it has come."""
    store = RunStore(folder)
    about = store.read_about()
    if about["status"] != "running":
        return store.read_json("report.json")
    try:
        with lock_run(folder):
            status = "killed"
    except StoreError:
        status = "killed"  # where nothing can be written, nobody is at work
    except SceneError:
        status = "running"
    scene = scene_from_dict(store.read_json("scene.json"), folder)
    found = [at for level in store.levels() if (at := store.read_checkpoint(level)) is not None]
    levels = _report_levels(store, found, dynamic=scene.time.mode == "dynamic")
    about["wall_s"] = sum(level["wall_s"] for level in levels)
    return _make_report(about, scene, status, levels)


def _report_levels(store: RunStore, found: Iterable[Checkpoint], *, dynamic: bool) -> list[dict[str, Any]]:
    """What the report says of each level, coarse to fine."""
    levels = sorted(found, key=lambda at: at.state.level)
    logs = [store.read_steps(at.state.level, at.state.step) for at in levels]
    return [report_level(at, steps, dynamic=dynamic) for at, steps in zip(levels, logs, strict=True)]


def _make_report(about: dict[str, Any], scene: Scene, status: str, levels: list[dict[str, Any]]) -> dict[str, Any]:
    """about: what run.json holds. scene: with its contact lengths filled in."""
    return {
        "version": about["version"],
        "scene": scene.name,
        "status": status,
        "resumed": about["resumed"],
        "method": scene.hierarchy.method,
        "finest": scene.hierarchy.levels - 1,
        "threads": about["threads"],
        "seed": scene.seed,
        "wall_s": about["wall_s"],
        "contact": {name: getattr(scene.contact, name) for name in OPEN},
        "auto": {f"contact.{name}": getattr(scene.contact, name) for name in about["open"]},
        "levels": levels,
    }


def _is_good_start(state: State) -> bool:
    """Whether to go on from it to a finer level: where nothing lower was found is as good as an equilibrium."""
    return state.converged or state.stalled
