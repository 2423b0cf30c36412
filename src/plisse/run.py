"""A whole run: generators consumed, frames written, invariants checked, a report and a picture left behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numba
import numpy as np

from plisse._version import __version__
from plisse.contact.check import Detector, use_detector_threads
from plisse.core.errors import SceneError
from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.io.render import COLLIDER_COLOR, SHELL_COLORS, Body, Ground, render
from plisse.io.run_store import RunStore
from plisse.io.scene_file import scene_to_dict
from plisse.kernels.cache import find_cache_root
from plisse.progressive.assemble import System, assemble
from plisse.progressive.dynamics import animate
from plisse.progressive.quasistatics import relax
from plisse.scene.scene import Scene
from plisse.solve.newton import Newton, make_newton

CHECK_EVERY = 10  # accepted states between two looks of the independent detector
PICTURE = (1024, 768)  # pixels


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels and of the detector; the linear solver is told when it is made."""
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    use_detector_threads(threads)


class ProgressLine:
    """One live line on a terminal, plain lines a few seconds apart elsewhere."""

    def __init__(self, stream: TextIO, steps: int | None) -> None:
        self._stream, self._steps = stream, steps
        self._live = stream.isatty()
        self._began = self._shown = time.perf_counter()
        self._width = 0

    def show(self, state: State) -> None:
        now = time.perf_counter()
        if now - self._shown < (0.1 if self._live else 5.0):
            return
        self._shown = now
        each = (now - self._began) / max(state.step, 1)
        # how many steps equilibrium takes is not known ahead: its force balance shows how near it is
        eta = f"ETA {each * (self._steps - state.step):.0f} s" if self._steps else f"balance {state.force_balance:.3f}"
        self._print(
            f"level {state.level}  step {state.step}{f'/{self._steps}' if self._steps else ''}  "
            f"newton {state.newton_iteration}  "
            f"|d|/(h√n) {state.residual:.2e}  contacts {state.contacts}  α {state.step_length:.2f}  "
            f"{each:.2f} s/step  {eta}"
        )

    def end(self) -> None:
        if self._live and self._width:
            self._stream.write("\n")

    def _print(self, text: str) -> None:
        if self._live:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


@dataclass
class Tally:
    """What the invariants were over a run's accepted states."""

    detector: Detector
    system: System
    accepted: int = 0
    intersections: int = 0
    checked: int = 0
    unconverged: int = 0  # complete time steps that did not meet the tolerance
    missed: float = 0.0
    distance: float = np.inf
    stretch: float = 0.0
    last_checked: State | None = field(default=None, repr=False)

    def look(self, state: State, *, final: bool = False) -> None:
        """Counts an accepted Newton iterate; looks closely at every tenth and at the final one."""
        self.accepted += not final
        if state.accepted and not final:
            self.unconverged += not state.converged
            self.missed = max(self.missed, state.missed)
        if (self.accepted % CHECK_EVERY and not final) or self.last_checked is state:
            return
        self.last_checked = state
        self.checked += 1
        self.intersections += self.detector.count(state.x)
        self.distance = min(self.distance, self.system.min_distance_over_offset(state.x))
        if self.system.strain_limit is not None:
            self.stretch = max(
                self.stretch, self.system.strain_limit.max_stretch_over_limit(state.x[: self.system.n_shell])
            )


def run_scene(scene: Scene, base: Path, out: Path, *, threads: int, progress: TextIO | None = None) -> dict[str, Any]:
    """Runs a scene into the folder `out` and returns its report. Ctrl-C keeps what is done and is raised again."""
    began = time.perf_counter()
    use_threads(threads)
    system = assemble(scene, base)
    everything = system.everything
    detector = Detector(everything.X, everything.edges, everything.triangles, system.n_shell)
    _check_start(system, detector)
    if progress and (out / "report.json").exists():
        print(f"replacing the run in {out}", file=progress, flush=True)
    store = RunStore.create(out, scene_to_dict(scene), everything.triangles, system.body, len(scene.shells))
    newton, clock = make_newton(scene.solver.linear, threads=threads), Clock()
    tally = Tally(detector, system)
    state = State(0, 0, 0.0, system.x0, system.v0)
    store.write_frame(0, 0, state.x)
    dynamic = scene.time.mode == "dynamic"
    if progress and not any(find_cache_root().glob("*")):
        print("first run: compiling the kernels, about a minute", file=progress, flush=True)
    line = ProgressLine(progress, scene.time.steps if dynamic else None) if progress else None
    solving = time.perf_counter()
    interrupted = False
    written, frame = 0, 0
    try:
        for latest in _states(system, newton, clock):
            tally.look(latest)
            if line:
                line.show(latest)
            if not latest.accepted:
                continue
            state = latest
            if dynamic and state.step % scene.time.frame_every == 0:
                frame, written = frame + 1, state.step
                store.write_frame(0, frame, state.x)
    except KeyboardInterrupt:
        interrupted = True
    tally.look(state, final=True)
    if state.step != written:
        store.write_frame(0, frame + 1, state.x)
    wall = time.perf_counter() - solving
    if line:
        line.end()
    report = _report(
        scene,
        system,
        newton,
        clock,
        tally,
        state,
        threads=threads,
        wall=wall,
        total=time.perf_counter() - began,
    )
    store.write_json("report.json", report)
    draw_state(system, state, out / "preview.png")
    if interrupted:
        raise KeyboardInterrupt
    return report


def _states(system: System, newton: Newton, clock: Clock) -> Iterator[State]:
    return (animate if system.scene.time.mode == "dynamic" else relax)(system, newton, clock)


def _check_start(system: System, detector: Detector) -> None:
    if not system.scene.contact.enabled:
        return
    found = detector.count(system.x0)
    if found:
        pair = detector.intersections(system.x0)[0]
        edge, triangle = system.everything.edges[pair[0]], system.everything.triangles[pair[1]]
        here, there = system.name_of(edge[0]), system.name_of(triangle[0])
        remedy = "move them apart" if here != there else "mend its mesh, e.g. merge vertices that coincide"
        raise SceneError(
            f"The scene starts with {found} intersections, the first between edge {edge.tolist()} of {here} and "
            f"triangle {triangle.tolist()} of {there} (vertices counted over shells, then colliders): {remedy}."
        )
    system.check_start()


def _report(
    scene: Scene,
    system: System,
    newton: Newton,
    clock: Clock,
    tally: Tally,
    state: State,
    *,
    threads: int,
    wall: float,
    total: float,
) -> dict[str, Any]:
    seconds = clock.seconds
    split = {part: round(seconds[part], 4) for part in ("elastic", "contact", "ccd", "linear")}
    split["other"] = round(max(wall - sum(split.values()), 0.0), 4)
    return {
        "version": __version__,
        "scene": scene.name,
        "threads": threads,
        "seed": scene.seed,
        "wall_s": round(total, 3),
        "contact": {"dhat": system.dhat, "offset": system.offset, "stiffness": system.stiffness},
        "levels": [
            {
                "level": 0,
                "vertices": system.n_shell,
                "triangles": len(system.shells.triangles),
                "steps": state.step,
                "newton_iterations": state.newton_iterations,
                "wall_s": round(wall, 3),
                "converged": state.converged if scene.time.mode == "static" else tally.unconverged == 0,
                "residual": state.residual,
                "force_balance": state.force_balance,
                "energy": state.energy,
                "intersections": tally.intersections,
                "states_checked": tally.checked,
                "contacts": state.contacts,
                "unconverged_steps": tally.unconverged if scene.time.mode == "dynamic" else None,
                "missed_keyframes": state.missed if scene.time.mode == "static" else tally.missed,
                "min_distance_over_offset": tally.distance if np.isfinite(tally.distance) else None,
                "max_stretch_over_limit": tally.stretch if system.strain_limit is not None else None,
                "time_split": split,
                "linear_split": {part: round(seconds[part], 4) for part in ("symbolic", "numeric", "solve")},
                "symbolic_factorisations": newton.analyses,
                "numeric_factorisations": newton.factorisations,
                "candidate_builds": system.barrier.builds if system.barrier is not None else 0,
            }
        ],
    }


def draw_state(system: System, state: State, path: Path) -> None:
    """The picture of a state: each shell in its own colour, colliders grey, the first level floor as ground."""
    bodies = []
    triangle_body = system.body[system.everything.triangles[:, 0]]
    for body in range(int(system.body.max()) + 1):
        triangles = system.everything.triangles[triangle_body == body]
        if body < len(system.scene.shells):
            bodies.append(Body(state.x, triangles, SHELL_COLORS[body % len(SHELL_COLORS)]))
        else:
            bodies.append(Body(state.x, triangles, COLLIDER_COLOR, two_sided=False, framed=False))
    ground = next((Ground(p.normal, p.level) for p in system.half_spaces if p.normal[2] > 0.99), None)
    render(path, bodies, ground=ground, size=PICTURE)
