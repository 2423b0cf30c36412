"""A crushed can on its coarsest level, by every way to simulate it there, beside the converged one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, tell
from plisse.bench.psq_agreement import lobes
from plisse.core.potential import Sum
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.scene import Scene
from plisse.scene.sources import GivenMesh, MeshSource

SIZES = ("shell.vertices=12000", "hierarchy.levels=[750,3000]")
NEAR = 0.1  # part of the converged can's load by which a coarse one's may differ
# ways to stand in for the finest mesh on level 0; from the first one the can is refined
WAYS: dict[str, dict[str, Any]] = {
    "its own mesh (the default, and direct simulation)": {"prolongation": "linear"},
    'membrane = "auto"': {"membrane": "auto"},
    "map shell": {"prolongation": "shell"},
    "map smooth": {"prolongation": "smooth"},
}


@dataclass(frozen=True)
class Crushed:
    """lobes: around the middle; load: on the upper plate [N]; height: of what is left [m]."""

    lobes: int
    load: float
    height: float


def measure_locking(threads: int, *, sets: tuple[str, ...] = SIZES) -> tuple[list[Figure], dict[str, Any]]:
    """Lobes and load of coarse cans against those of the converged one; all are crushed by the same way."""
    scene = gallery_scene("16-can", sets=sets, tol=None)
    sessions, found = dict[str, Session](), dict[str, Crushed]()
    for name, way in WAYS.items():
        levels = replace(scene.hierarchy, **way)
        session = sessions[name] = open_session(replace(scene, hierarchy=levels), threads=threads)
        for _ in session.preview():
            pass
        found[name] = _look(session, 0)
        tell(f"{name}: {found[name]}")
    coarse = next(iter(sessions.values()))
    for _ in coarse.refine():
        pass
    converged = _look(coarse, coarse.finest)
    tell(f"converged: {converged}")
    session = open_session(_loop(scene, coarse), threads=threads)
    for _ in session.preview():
        pass
    found["Loop's rule from the same coarse mesh"] = _look(session, 0)
    figures = []
    for name, can in found.items():
        apart, more = float(abs(can.lobes - converged.lobes)), can.load / converged.load
        figures += [
            Figure(f"coarse can, {name}: lobes more or less than converged", apart, 0.0),
            Figure(f"coarse can, {name}: load over converged at equal shortening", more, 1.0 + NEAR),
        ]
    details = {f"can, {name}": str(can) for name, can in {**found, "converged": converged}.items()}
    return figures, details


def _loop(scene: Scene, session: Session) -> Scene:
    """The scene with the coarsest mesh of another one as level 0 of a subdivision, as published [Zhang2022]."""
    mesh, (shell,) = session.ladder.geometry(0).shells[0], scene.shells
    source = MeshSource(mesh=GivenMesh.of(mesh))
    levels = replace(scene.hierarchy, kind="loop", levels=session.finest + 1, preset="paper", prolongation=None)
    return replace(scene, shells=(replace(shell, mesh=source),), hierarchy=levels)


def _look(session: Session, level: int) -> Crushed:
    state, shape = session.grid.last(level), session.ladder.geometry(level)
    assert state is not None
    problem, X = session.ladder.problem(level, start=state.x).at(state.time), shape.shell_positions[0]
    forces, x = Sum(problem.potentials).gradient(state.x), state.x[: len(X)]
    load = float(problem.bodies.part(forces[:, 2], 1).sum())
    return Crushed(lobes(X, x), abs(load), float(np.ptp(x[:, 2])))
