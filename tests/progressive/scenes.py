"""Small scenes for the physics tests: from tables to a System, and from there to states."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plisse.contact.check import Detector
from plisse.core.potential import Clock, Floats, Sum
from plisse.core.state import State
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.assemble import System
from plisse.progressive.dynamics import animate
from plisse.progressive.quasistatics import relax
from plisse.runs.run import use_threads
from plisse.solve.linear import make_solver
from plisse.solve.newton import Newton

Table = dict[str, Any]
NO_CONTACT = {"enabled": False}


def make_system(shell: Table | list[Table], **rest: Any) -> System:
    """The System of a scene given as tables; its start is checked."""
    use_threads(1)  # small scenes gain nothing from two
    data = {"shell": shell if isinstance(shell, list) else [shell], **rest}
    scene = scene_from_dict(data, Path())
    system = System(scene, load_geometry(scene, Path()))
    system.check_start()
    return system


def make_newton(system: System) -> Newton:
    wanted = system.scene.solver
    return Newton(make_solver(wanted.linear, precision=wanted.precision, threads=1))


def states(system: System) -> Iterator[State]:
    """Every state that the scene's own mode yields, the unfinished Newton iterates included."""
    walk = animate if system.scene.time.mode == "dynamic" else relax
    return walk(system, make_newton(system), Clock())


def accepted(system: System) -> Iterator[State]:
    return (state for state in states(system) if state.accepted)


def equilibrium(system: System) -> State:
    """The last state of a static scene, which must have converged."""
    *_, last = states(system)
    assert last.converged, "no equilibrium within time.max_steps"
    return last


def forces(system: System, x: Floats) -> Floats:
    """−∇ of everything but inertia and friction [N], shape (n, 3)."""
    return -Sum(system.static_parts).gradient(x)


def make_detector(system: System) -> Detector:
    mesh = system.everything
    return Detector(mesh.X, mesh.edges, mesh.triangles, system.n_shell)


def at_x(system: System, x: float) -> np.ndarray:
    """Shell vertices whose rest position has this x."""
    return np.flatnonzero(np.abs(system.shells.X[:, 0] - x) < 1e-9)


def without_intersections(system: System) -> Iterator[State]:
    """All states, each of which the independent detector finds clean and which keeps its distances."""
    detector = make_detector(system)
    for state in states(system):
        assert detector.count(state.x) == 0
        assert system.min_distance_over_offset(state.x) > 1.0
        yield state
