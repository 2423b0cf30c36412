"""Gallery scenes climbed level by level with a stopwatch, for the benches of progressive cloth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from plisse.core.state import State
from plisse.loading.examples import gallery_file
from plisse.loading.scene_file import load_scene
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene


def gallery_scene(name: str, *, sets: tuple[str, ...] = (), tol: float | None = 0.01, **hierarchy: Any) -> Scene:
    """A scene of the gallery with other values in its [hierarchy] table; without tol, it ends at rest."""
    with as_file(gallery_file(name)) as path:
        scene = load_scene(path, list(sets))
    solver, levels = replace(scene.solver, tol=tol), replace(scene.hierarchy, **hierarchy)
    return replace(scene, solver=solver, hierarchy=levels)


@dataclass
class Climb:
    """What a climb left behind: the last state of each level, and seconds and energy after every step of it."""

    session: Session
    states: dict[int, State] = field(default_factory=dict)
    seconds: dict[int, list[float]] = field(default_factory=dict)  # since the start
    energies: dict[int, list[float]] = field(default_factory=dict)

    @property
    def steps(self) -> list[int]:
        return [state.step for state in self.states.values()]

    @property
    def wall(self) -> float:
        return self.seconds[max(self.seconds)][-1]

    @property
    def converged(self) -> bool:
        return all(state.converged for state in self.states.values())

    def time_at(self, energy: float) -> float | None:
        """Seconds until the finest level's potential was no more than `energy`, if it ever was."""
        last = max(self.energies)
        pairs = zip(self.seconds[last], self.energies[last], strict=True)
        return next((seconds for seconds, value in pairs if value <= energy), None)

    def follow(self, states: Iterator[State], began: float, *, most: int | None = None) -> None:
        """Consumes states, `most` steps at most."""
        for state in states:
            if not state.accepted:
                continue
            self.states[state.level] = state
            self.seconds.setdefault(state.level, []).append(time.perf_counter() - began)
            self.energies.setdefault(state.level, []).append(state.energy)
            if most is not None and len(self.seconds[state.level]) >= most:
                break


def climb(
    scene: Scene, *, threads: int, level: int | None = None, most: int | None = None, folder: str | Path = "."
) -> Climb:
    """All levels of a progressive or cascadic scene, or one level (the finest when not given) of a direct one.

    folder: where its mesh files are.
    """
    began = time.perf_counter()
    session = open_session(scene, folder, threads=threads)
    done = Climb(session)
    if scene.hierarchy.method in ("direct", "plain"):
        done.follow(session.settle(session.finest if level is None else level), began, most=most)
    else:
        done.follow(session.preview(), began)
        done.follow(session.refine(), began)
    return done


def tighten(done: Climb, tol: float) -> Climb:
    """The finest level's state brought to a tighter tolerance, seconds counted on from where it was."""
    last = max(done.states)
    out = Climb(done.session, dict(done.states), dict(done.seconds), dict(done.energies))
    begin = done.seconds[last][-1]
    out.seconds[last], out.energies[last] = list(done.seconds[last]), list(done.energies[last])
    out.follow(done.session.settle(last, tol=tol), time.perf_counter() - begin)
    return out
