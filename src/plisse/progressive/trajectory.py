"""A motion in few numbers: energy, centres of mass and spin, step by step, and how near levels are to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.state import State
from plisse.progressive.ladder import Ladder
from plisse.progressive.metrics import Projection, geometric_consistency, position_error
from plisse.progressive.report import LevelMetrics, LevelReport, MotionReport
from plisse.progressive.shells import ShellModel
from plisse.solve.problem import Problem

SERIES = ("kinetic", "unexplained", "unsolved", "centres", "spin")  # of a level's history, in motion only


def describe_motion(problem: Problem, state: State) -> dict[str, Any]:
    """A step's values by the names of SERIES.

    kinetic: energy [J]; centres: of mass of each simulated body [m]; spin: angular momentum of all of them about their
    common centre of mass [kg m²/s]; the accelerations of `State` [m/s²].
    """
    bodies = problem.bodies
    x, v, m = (bodies.simulated_part(values) for values in (state.x, state.v, problem.mass))
    of_body = bodies.simulated_part(bodies.of_vertex)
    mass = np.bincount(of_body, m, bodies.simulated)
    centres = np.column_stack([np.bincount(of_body, m * x[:, k], bodies.simulated) for k in range(3)]) / mass[:, None]
    middle = mass @ centres / mass.sum()
    return {
        "kinetic": 0.5 * float(m @ np.einsum("ij,ij->i", v, v)),
        "unexplained": state.unexplained,
        "unsolved": state.unsolved,
        "centres": centres.tolist(),
        "spin": (m @ np.cross(x - middle, v)).tolist(),
    }


def report_motion(history: Mapping[str, Sequence[Any]], *, begin: int = 0) -> MotionReport:
    """What the report says of a level's motion, from its history after the step that it begins with."""
    touching = np.flatnonzero(history["contacts"])
    unexplained, unsolved = (np.array(history[name], float) for name in ("unexplained", "unsolved"))
    known = unsolved > 0.0
    return MotionReport(
        first_contact=begin + int(touching[0]) + 1 if len(touching) else None,
        unexplained=float(np.median(unexplained)) if len(unexplained) else None,
        continuity=float(np.median((unexplained[known] / unsolved[known]) ** 2)) if known.any() else None,
    )


def compare_motions(
    ladder: Ladder, frame: Callable[[int, int], Floats], levels: Sequence[LevelReport], *, threads: int = 1
) -> dict[int, LevelMetrics]:
    """Metrics of each level's motion, coarse to fine, over all steps that both levels have.

    frame: positions (n, 3) [m], shells first, of a level after a step.
    """
    finest, out = levels[-1], dict[int, LevelMetrics]()
    for at, level in enumerate(levels):
        to_next, to_finest = (
            () if other is level else _distances(ladder, frame, level, other)
            for other in (levels[min(at + 1, len(levels) - 1)], finest)
        )
        consistency = None
        if at and levels[at - 1].level == level.level - 1:
            consistency = _consistency(ladder, frame, levels[at - 1], level, threads)
        out[level.level] = LevelMetrics(
            position_error_to_next=_mean(to_next),
            position_error_to_finest=_mean(to_finest),
            distances_to_finest=to_finest or None,
            geometric_consistency=consistency,
            centre_error_to_finest=None if level is finest else compare_centres(level.history, finest.history),
            kinetic_error_to_finest=None if level is finest else compare_kinetic(level.history, finest.history),
        )
    return out


def compare_centres(a: Mapping[str, Sequence[Any]], b: Mapping[str, Sequence[Any]]) -> float:
    """Distance of the bodies' centres of mass in two histories [m]: the mean over bodies and common steps."""
    common = min(len(a["centres"]), len(b["centres"]))
    apart = np.subtract(a["centres"][:common], b["centres"][:common])
    return float(np.linalg.norm(apart, axis=2).mean())


def compare_kinetic(a: Mapping[str, Sequence[Any]], b: Mapping[str, Sequence[Any]]) -> float:
    """How far the kinetic energy of history a is from that of b over their common steps, relative to b's, in L²."""
    common = min(len(a["kinetic"]), len(b["kinetic"]))
    of_a, of_b = (np.array(each["kinetic"][:common]) for each in (a, b))
    return float(np.sqrt(((of_a - of_b) ** 2).sum() / max((of_b**2).sum(), np.finfo(float).tiny)))


def _common(a: LevelReport, b: LevelReport) -> range:
    """The steps that two levels have, their start included."""
    return range(b.begin, b.begin + min(a.steps, b.steps) + 1)


def _distances(
    ladder: Ladder, frame: Callable[[int, int], Floats], coarse: LevelReport, fine: LevelReport
) -> list[float]:
    """Position errors [m] of every common step, the start included."""
    area = np.concatenate([mesh.vertex_areas for mesh in ladder.geometry(fine.level).shells])
    P = ladder.shell_map(coarse.level, fine.level)
    return [
        position_error(area, P(frame(coarse.level, step)[: P.coarse]), frame(fine.level, step)[: P.fine])
        for step in _common(coarse, fine)
    ]


def _consistency(
    ladder: Ladder, frame: Callable[[int, int], Floats], below: LevelReport, level: LevelReport, threads: int
) -> float:
    """Geometric consistency [kg m²], the mean over the steps."""
    geometry, P = ladder.geometry(below.level), ladder.shell_map(below.level, level.level)
    mass = ShellModel(ladder.scene, geometry.shells, regions=geometry.regions).mass
    projection = Projection(P, linear=ladder.scene.solver.linear, threads=threads)
    found = [
        geometric_consistency(
            projection,
            mass,
            frame(level.level, step)[: P.fine],
            np.ascontiguousarray(frame(below.level, step)[: P.coarse]),
        )
        for step in _common(below, level)
    ]
    return float(np.mean(found))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
