"""The gallery of shells at small sizes: levels that agree, maps that predict, and the published way to equilibrium."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, tell
from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.core.state import State
from plisse.progressive.metrics import Projection, curvature_distance, geometric_consistency, position_error
from plisse.progressive.session import Session
from plisse.runs.opening import open_session


def _sized(vertices: int, coarse: int) -> tuple[str, ...]:
    return (f"shell.vertices={vertices}", f"hierarchy.levels=[{coarse}]")


_MONSTER = ("shell.resolution=40", "hierarchy.levels=[600]")
_HALF_TURNS = tuple(
    f"shell.pin.{k}.motion.0.{key}" for k in (0, 1) for key in (f"rotate=[{180 - 360 * k},0,0]", "time=5")
)
# what makes every scene of the gallery of shells small: levels of some hundred and some thousand vertices
SMALL = {
    "16-can": _sized(1200, 300),
    "17-mat": (*_sized(1200, 300), *_HALF_TURNS),
    "18-plate-buckle": _sized(1600, 400),
    "19-plate-shear": _sized(3600, 900),
    "20-dome": _sized(2000, 500),
    "21-pumpkin": _sized(3000, 600),
    "22-cage": (*_MONSTER, "collider.0.resolution=40"),
    "23-character": _MONSTER,
    "24-pocket": _sized(2000, 450),
    "25-hat-decimated": _sized(1200, 300),
    "26-cow": ("shell.resolution=44", "hierarchy.levels=[500]"),
    "27-cutter": (*_MONSTER, "collider.0.resolution=100"),
    "28-bunny-blanket": (*_sized(1600, 400), "collider.0.resolution=32"),
    "29-star": _sized(1000, 150),
}
FLAT = ("17-mat", "18-plate-buckle", "19-plate-shear", "28-bunny-blanket")
CHOOSING = tuple(name for name in SMALL if name not in FLAT)[::2]  # maps are compared on these, and confirmed on others
MAPS = ("linear", "shell", "smooth")
BUDGET = 240.0  # seconds after which a run counts as not at rest
TOLERANCES = (0.01, 0.001)  # published [m/s]
MOST_TURNS = 0.25  # part of a level's last steps in which its energy may rise


@dataclass
class Course:
    """A scene that was taken up all of its levels."""

    name: str
    session: Session
    states: dict[int, State] = field(default_factory=dict)
    energies: dict[int, list[float]] = field(default_factory=dict)
    checked: int = 0
    crossings: int = 0
    over_limit: int = 0
    stopped: str = ""

    @property
    def at_rest(self) -> bool:
        return not self.stopped and len(self.states) == self.session.finest + 1 and all(
            state.converged for state in self.states.values()
        )  # fmt: skip


def follow(name: str, threads: int, *, tol: float | None = None, levels: int | None = None, **hierarchy: Any) -> Course:
    """A scene of the gallery at its small size; every accepted state is checked by the independent detector."""
    scene = gallery_scene(name, sets=SMALL[name], tol=tol, **hierarchy)
    course = Course(name, open_session(scene, threads=threads))
    began = time.perf_counter()
    try:
        for state in _climb(course.session, levels):
            course.stopped = "out of time" if time.perf_counter() - began > BUDGET else ""
            if state.accepted:
                _check(course, state)
            if course.stopped:
                break
    except SceneError as error:
        course.stopped = str(error)
    tell(f"{name} {hierarchy or ''}: {'at rest' if course.at_rest else course.stopped or 'not at rest'}")
    return course


def _climb(session: Session, levels: int | None) -> Iterator[State]:
    yield from session.preview()
    yield from session.refine(to_level=None if levels is None else levels - 1)


def _check(course: Course, state: State) -> None:
    problem = course.session.problem
    assert problem is not None
    if state.level not in course.states:
        course.energies[state.level] = []
    course.states[state.level] = state
    if state.time > problem.last_key:
        # before that, energy follows the loads
        course.energies[state.level].append(state.energy)
    course.checked += 1
    course.crossings += Detector.of(problem).count(state.x)
    limit = problem.strain_limit
    course.over_limit += int(limit is not None and limit.max_stretch_over_limit(state.x) >= 1.0)


# --- levels that agree ------------------------------------------------------------------------------------------------


def measure_levels(threads: int, *, names: Sequence[str] = tuple(SMALL)) -> tuple[list[Figure], dict[str, Any]]:
    """Every scene at rest on every level, feasible on the way; how far neighbouring levels are apart."""
    courses = [follow(name, threads) for name in names]
    figures = [
        Figure("gallery of shells: scenes not at rest", float(sum(not course.at_rest for course in courses)), 0.0),
        Figure("gallery of shells: intersections, all accepted states", float(sum(c.crossings for c in courses)), 0.0),
        Figure("gallery of shells: states over a strain limit", float(sum(c.over_limit for c in courses)), 0.0),
    ]
    details: dict[str, Any] = {"gallery of shells: accepted states": sum(c.checked for c in courses)}
    for course in courses:
        details |= {f"{course.name}: {key}": value for key, value in _consistency(course).items()}
    return figures, details


def _consistency(course: Course) -> dict[str, Any]:
    """Figures between neighbouring levels; lengths as parts of the scene's extent."""
    out = dict[str, Any]({"stopped": course.stopped} if course.stopped else {})
    for level in sorted(course.states)[:-1]:
        session, (coarse, fine) = course.session, (course.states[level].x, course.states[level + 1].x)
        known, between = session.ladder.geometry(level + 1), session.ladder.shell_map(level, level + 1)
        mesh, n_coarse, n = known.shells[0], between.coarse, len(known.shells[0].X)
        extent, mass = float(np.ptp(mesh.X, axis=0).max()), session.ladder.problem(level).mass[:n_coarse]
        d = geometric_consistency(Projection(between), mass, fine[:n], coarse[:n_coarse])
        curves = curvature_distance(mesh.triangles, mesh.vertex_areas, between(coarse[:n_coarse]), fine[:n])
        out[f"levels {level} and {level + 1}"] = {
            "position error, % of the extent": _short(100.0 * _error(course, level, level + 1) / extent),
            "√(d / mass), % of the extent": _short(100.0 * np.sqrt(d / mass.sum()) / extent),
            "distance of mean curvatures": _short(curves[0]),
        }
    return out


def _error(course: Course, coarse: int, fine: int) -> float:
    """Position error [m] of a level, prolonged by the map of a finer one, to that one."""
    ladder = course.session.ladder
    shells, between = ladder.geometry(fine).shells, ladder.shell_map(coarse, fine)
    area = np.concatenate([mesh.vertex_areas for mesh in shells])
    return position_error(area, between(course.states[coarse].x[: between.coarse]), course.states[fine].x[: len(area)])


def _short(value: float) -> float:
    return float(f"{value:.3g}")


# --- maps that predict ------------------------------------------------------------------------------------------------


def measure_maps(threads: int, *, names: Sequence[str] = ()) -> tuple[list[Figure], dict[str, Any]]:
    """Error of level 0 to its own finest result, with each map; the mean over scenes that choose and that confirm."""
    curved = [name for name in SMALL if name not in FLAT and (not names or name in names)]
    errors: dict[str, dict[str, float]] = {name: _errors_of_maps(name, threads) for name in curved}
    figures = []
    for which, chosen in (("choosing", True), ("confirming", False)):
        rows = [row for name, row in errors.items() if (name in CHOOSING) == chosen and len(row) == len(MAPS)]
        for rule in MAPS if rows else ():
            mean = np.exp(np.mean([np.log(row[rule]) for row in rows]))
            figures.append(Figure(f"{len(rows)} {which} scenes, map {rule}: mean error of level 0, %", float(mean)))
    details = {f"{name}: error of level 0 to its own finest result, % of the extent": errors[name] for name in errors}
    return figures, details


def _errors_of_maps(name: str, threads: int) -> dict[str, float]:
    """Errors as parts of the extent [%]; maps with which a level did not come to rest are left out."""
    out = {}
    for rule in MAPS:
        course = follow(name, threads, prolongation=rule)
        if course.at_rest:
            extent = float(np.ptp(course.session.ladder.given.shells[0].X, axis=0).max())
            out[rule] = _short(100.0 * _error(course, 0, course.session.finest) / extent)
    return out


# --- the published way to equilibrium ---------------------------------------------------------------------------------


def measure_equilibrium(threads: int, *, names: Sequence[str] = tuple(SMALL)) -> tuple[list[Figure], dict[str, Any]]:
    """The iteration with frozen offsets, one Newton iteration a step, down to the published tolerances."""
    figures, details = [], dict[str, Any]()
    for tol in TOLERANCES:
        courses = [follow(name, threads, tol=tol, preset="paper") for name in names]
        missed = [course.name for course in courses if not _reaches(course, tol)]
        cycling = [course.name for course in courses if any(map(_cycles, course.energies.values()))]
        figures += [
            Figure(f"published stepping, ε = {tol:g}: scenes of {len(names)} that miss it", float(len(missed)), 0.0),
            Figure(f"published stepping, ε = {tol:g}: scenes that cycle", float(len(cycling)), 0.0),
            Figure(f"published stepping, ε = {tol:g}: intersections", float(sum(c.crossings for c in courses)), 0.0),
        ]
        details[f"ε = {tol:g}: scenes that miss it, and that cycle"] = [missed, cycling]
        for course in courses:
            details[f"{course.name}, ε = {tol:g}: steps of levels, last |αp|/(h√n), how it ended"] = [
                [state.step for state in course.states.values()],
                [_short(step) for step in _last_steps(course)],
                "at rest" if course.at_rest else course.stopped or "nothing lower is found, forces not in balance",
            ]
    return figures, details


def _reaches(course: Course, tol: float) -> bool:
    """Whether every level of a scene ends with a step as short as published; its forces need not be in balance."""
    return len(course.states) == course.session.finest + 1 and max(_last_steps(course)) <= tol


def _last_steps(course: Course) -> list[float]:
    """‖αp‖ / (h √n) of each level's last step [m/s]."""
    return [state.residual * state.step_length for state in course.states.values()]


def _cycles(energies: Sequence[float]) -> bool:
    """Whether energy goes up and down in the last quarter of a level's steps."""
    last = np.array(energies[-max(len(energies) // 4, 4) :])
    rises = np.diff(last) > 1e-6 * np.abs(last).max(initial=0.0)
    return len(last) > 4 and bool(rises.mean() > MOST_TURNS)
