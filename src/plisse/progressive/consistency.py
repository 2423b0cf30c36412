"""How near the levels of a finished run are to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import concatenate
from plisse.progressive.ladder import Ladder
from plisse.progressive.metrics import (
    CURVATURES,
    Projection,
    count_folds,
    curvature_distance,
    geometric_consistency,
    position_error,
)
from plisse.progressive.report import LevelMetrics
from plisse.progressive.shells import ShellModel


def compare_levels(ladder: Ladder, states: Mapping[int, Floats], *, threads: int = 1) -> dict[int, LevelMetrics]:
    """Metrics of each level's positions x (n, 3), shells first: to the finest level there is and to the next one.

    Position errors [m] are measured through the level's own prolongation, curvature distances through Loop's rule.
    """
    order = sorted(states)
    shells = {k: len(concatenate(ladder.geometry(k).shells)[0].X) for k in order}
    x = {k: np.ascontiguousarray(states[k][: shells[k]]) for k in order}
    out: dict[int, LevelMetrics] = {}
    for at, level in enumerate(order):
        entry: dict[str, Any] = {"folds": count_folds(concatenate(ladder.geometry(level).shells)[0], x[level])}
        for name, other in (("next", order[min(at + 1, len(order) - 1)]), ("finest", order[-1])):
            apart = _between(ladder, level, other, x) if other > level else (None, None)
            entry[f"position_error_to_{name}"], entry[f"curvature_distance_to_{name}"] = apart
        entry["geometric_consistency"] = None
        if at and order[at - 1] == level - 1:
            below = ladder.geometry(level - 1)
            mass = ShellModel(ladder.scene, below.shells, regions=below.regions).mass
            projection = Projection(
                ladder.shell_map(level - 1, level), linear=ladder.scene.solver.linear, threads=threads
            )
            entry["geometric_consistency"] = geometric_consistency(projection, mass, x[level], x[level - 1])
        out[level] = LevelMetrics(**entry)
    return out


def compare_motions(
    ladder: Ladder, frame: Callable[[int, int], Floats], steps: Mapping[int, int], *, begin: int = 0
) -> dict[int, LevelMetrics]:
    """Metrics of each level's motion: position errors [m], the mean over all steps that both levels have.

    frame: positions (n, 3) [m], shells first, of a level after a step; steps: the last one of each level; begin: the
    first one of all.
    """
    order = sorted(steps)

    def apart(coarse: int, fine: int) -> float | None:
        if coarse == fine:
            return None
        area = np.concatenate([mesh.vertex_areas for mesh in ladder.geometry(fine).shells])
        P, common = ladder.shell_map(coarse, fine), range(begin, min(steps[coarse], steps[fine]) + 1)
        pairs = ((P(frame(coarse, step)[: P.coarse]), frame(fine, step)[: P.fine]) for step in common)
        return float(np.mean([position_error(area, prolonged, x) for prolonged, x in pairs]))

    return {
        level: LevelMetrics(
            position_error_to_next=apart(level, order[min(at + 1, len(order) - 1)]),
            position_error_to_finest=apart(level, order[-1]),
        )
        for at, level in enumerate(order)
    }


def _between(ladder: Ladder, coarse: int, fine: int, x: Mapping[int, Floats]) -> tuple[float, dict[str, float]]:
    """Position error [m] and the four curvature distances of two levels."""
    mesh, _ = concatenate(ladder.geometry(fine).shells)
    prolonged = ladder.shell_map(coarse, fine)(x[coarse])
    smooth = ladder.smooth_shell_map(coarse, fine)(x[coarse])
    distances = curvature_distance(mesh.triangles, mesh.vertex_areas, smooth, x[fine])
    named = {name: float(value) for name, value in zip(CURVATURES, distances, strict=True)}
    return position_error(mesh.vertex_areas, prolonged, x[fine]), named
