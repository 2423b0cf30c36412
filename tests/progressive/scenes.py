"""Small scenes for the physics tests: from tables to problems and sessions, and from there to states."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.grid import Grid
from plisse.core.potential import Clock, Sum
from plisse.core.state import Checkpoint, State
from plisse.kernels.threads import use_threads
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.integrators import INTEGRATORS, Statics
from plisse.progressive.march import Pace, march, recall
from plisse.progressive.rest import Rest
from plisse.progressive.scene_problem import SceneProblem
from plisse.scene.geometry import scene_size
from plisse.solve.linear import make_solver
from plisse.solve.newton import Newton

Table = dict[str, Any]
NO_CONTACT = {"enabled": False}


def make_problem(shell: Table | list[Table], **rest: Any) -> SceneProblem:
    """The problem of a scene given as tables; its start is checked."""
    use_threads(1)  # small scenes gain nothing from two
    data = {"shell": shell if isinstance(shell, list) else [shell], **rest}
    scene = scene_from_dict(data, Path())
    problem = SceneProblem(scene, load_geometry(scene, Path()))
    problem.check_distances()
    return problem


def make_newton(problem: SceneProblem) -> Newton:
    wanted = problem.scene.solver
    return Newton(make_solver(wanted.linear, precision=wanted.precision, threads=1))


def states(problem: SceneProblem, newton: Newton | None = None, at: Checkpoint | None = None) -> Iterator[State]:
    """Every state that the scene's own mode yields, the unfinished Newton iterates included. at: where to go on."""
    time, solver = problem.scene.time, problem.scene.solver
    newton, grid = newton or make_newton(problem), Grid()
    if at is not None:
        recall(problem, newton, at)
        if at.before is not None:
            grid.put(State(0, at.state.step - 1, 0.0, *at.before))
        grid.put(at.state)
    if time.mode == "dynamic":
        pace = Pace(solver.step_tol, time.steps, solver.max_iterations, solver.max_iterations)
        return march(problem, INTEGRATORS[time.integrator](time.step), newton, Clock(), pace, grid)
    last = time.max_steps + (at.state.step if at is not None else 0)
    size = scene_size([problem.shells])
    slip = problem.scene.contact.friction_speed * time.step
    rest = None if problem.scene.ends_by_tolerance else Rest(solver.rest * size, size, slip=slip)
    pace = Pace(solver.step_tol, last, 1, solver.max_iterations, rest)
    return march(problem, Statics(time.step), newton, Clock(), pace, grid)


def accepted(problem: SceneProblem) -> Iterator[State]:
    return (state for state in states(problem) if state.accepted)


def equilibrium(problem: SceneProblem) -> State:
    """The last state of a static scene, which must have converged."""
    *_, last = states(problem)
    assert last.converged, "no equilibrium within time.max_steps"
    return last


def forces(problem: SceneProblem, x: Floats) -> Floats:
    """−∇ of everything but inertia and friction [N], shape (n, 3)."""
    return -Sum(problem.potentials).gradient(x)


def at_x(problem: SceneProblem, x: float) -> np.ndarray:
    """Shell vertices whose rest position has this x."""
    return np.flatnonzero(np.abs(problem.shells.X[:, 0] - x) < 1e-9)


def without_intersections(problem: SceneProblem) -> Iterator[State]:
    """All states, each of which the independent detector finds clean and which keeps its distances."""
    detector = Detector.of(problem)
    for state in states(problem):
        assert detector.count(state.x) == 0
        assert problem.clearance(state.x) > 1.0
        yield state
