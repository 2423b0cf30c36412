"""A run's report as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plisse.core.errors import counted
from plisse.progressive.report import LevelMetrics, LevelReport, Report

# what is shown of a level: its label, its field in the report, how it is written
ROWS = (
    ("vertices", "vertices", "count"),
    ("triangles", "triangles", "count"),
    ("steps", "steps", "count"),
    ("Newton iterations", "newton_iterations", "count"),
    ("time [s]", "wall_s", "number"),
    ("converged", "converged", "truth"),
    ("distance to rest [m]", "distance_to_rest", "number"),
    ("distance to rest / size", "part_to_rest", "number"),
    ("pushes off a saddle", "pushes", "count"),
    ("residual [m/s]", "residual", "number"),
    ("force balance", "force_balance", "number"),
    ("energy [J]", "energy", "number"),
    ("missed keyframes [m]", "missed_keyframes", "number"),
    ("contacts", "contacts", "count"),
    ("intersections", "intersections", "count"),
    ("states checked", "states_checked", "count"),
    ("least distance / offset", "min_distance_over_offset", "number"),
    ("largest stretch / limit", "max_stretch_over_limit", "number"),
)


RAMPED = ' The path there depends on the speed of the keyframes: with time.each = "equilibrium" it would not.'


def summarise(report: Report) -> str:
    """Verdict, what was chosen, a column a level, and where the time went."""
    levels = report.levels
    lines = [verdict(report), ""]
    lines += [f"plisse {report.version}, {counted(report.threads, 'thread')}, {report.wall_s:.1f} s in all"]
    if report.auto:
        lines.append(f"chosen from the scene: {tell_chosen(report.auto)}")
    if levels:
        lines += ["", *_columns(levels), *_forces(levels[-1]), "", *_times(levels)]
    return "\n".join(lines)


def tell_chosen(auto: Mapping[str, Any]) -> str:
    """The values chosen for what a scene leaves open; one number per shell if there are several."""
    parts = []
    for key, value in auto.items():
        numbers = value if isinstance(value, list) else [value]
        parts.append(f"{key} = {', '.join(_number(number) for number in numbers)}")
    return "; ".join(parts)


def verdict(report: Report) -> str:
    """One sentence on how the run stands."""
    levels, name = report.levels, report.scene
    if not levels:
        return f"{name}: nothing has been computed yet."
    last, status = levels[-1], report.status
    found = sum(level.intersections for level in levels)
    checked = sum(level.states_checked for level in levels)
    clean = f"{counted(found, 'intersection')} in {counted(checked, 'checked state')}"
    if status != "done":
        remedy = "" if status == "running" else "; continue with --resume"
        return f"{name}: {status} at step {last.begin + last.steps} of level {last.level}; {clean}{remedy}."
    static = last.unconverged_steps is None
    if static:
        ended = "in equilibrium" if last.converged else "NOT in equilibrium"
        where = f"on level {last.level} ({last.triangles:,} triangles){_criterion(last)}"
        return f"{name}: {ended} {where}; {clean}.{RAMPED if report.ramped else ''}"
    missed = last.unconverged_steps
    ended = "every step met its tolerance" if not missed else f"{missed} steps did NOT meet their tolerance"
    begun = f" from step {last.begin} on" if last.begin else ""
    return f"{name}: {last.steps} time steps{begun}, {ended}; {clean}."


def _criterion(level: LevelReport) -> str:
    """By what a level ended, and how far from it."""
    if level.rest is None:
        return f", by solver.tol: residual {_number(level.residual)} m/s"
    rest = level.rest
    far = f", {_number(1e3 * rest.distance)} mm or {100.0 * rest.part:.2g} % of the size from rest"
    return f"{far} ({100.0 * rest.asked:.2g} % is asked)"


def _columns(levels: Sequence[LevelReport]) -> list[str]:
    table = [["", *(f"level {level.level}" for level in levels)]]
    for name, key, form in ROWS:
        values = [getattr(level, key) for level in levels]
        if any(value is not None for value in values):
            table.append([name, *(_write(value, form) for value in values)])
    metrics, motions = [level.metrics or LevelMetrics() for level in levels], [level.motion for level in levels]
    compared: list[tuple[str, list[Any], float]] = [
        ("first contact, step", [getattr(of, "first_contact", None) for of in motions], 1.0),
        ("unexplained acceleration [m/s²]", [getattr(of, "unexplained", None) for of in motions], 1.0),
        ("distance to finest [mm]", [of.position_error_to_finest for of in metrics], 1e3),
        ("centres of mass to finest [mm]", [of.centre_error_to_finest for of in metrics], 1e3),
        ("kinetic energy to finest [%]", [of.kinetic_error_to_finest for of in metrics], 100.0),
    ]
    for name, values, scale in compared:
        if any(value is not None for value in values):
            table.append([name, *(_number(None if value is None else scale * value) for value in values)])
    return align(table)


def list_frames(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each frame, from the lines of the log of steps."""
    names = ("frame", "time", "newton", "residual", "energy", "contacts", "seconds")
    table = [["frame", "time [s]", "Newton iterations", "residual [m/s]", "energy [J]", "contacts", "took [s]"]]
    for line in lines:
        whole = ("frame", "newton", "contacts")
        table.append([f"{line[name]:,}" if name in whole else _number(line[name]) for name in names])
    return align(table)


def _forces(level: LevelReport) -> list[str]:
    """What the last level's pins and colliders bear, and how its shells are strained."""
    if level.mechanics is None:
        return []
    borne = level.mechanics

    def vector(force: Sequence[float]) -> str:
        return f"({', '.join(_number(value) for value in force)}) N"

    lines = [f"pins hold {name} with {vector(force)}" for name, force in borne.pins.items()]
    lines += [f"{name} pushes with {vector(force)}" for name, force in borne.colliders.items()]
    lines.append(
        f"largest strain {_number(borne.strain[0])}, stress {_number(borne.stress[0])} Pa, "
        f"curvature {_number(borne.curvature[0])} 1/m; 99 % of the triangles have at most "
        f"{_number(borne.strain[1])}, {_number(borne.stress[1])} Pa, {_number(borne.curvature[1])} 1/m"
    )
    return ["", *lines]


def _times(levels: Sequence[LevelReport]) -> list[str]:
    parts = list(dict.fromkeys(part for level in levels for part in level.time_split))
    total = sum(sum(level.time_split.values()) for level in levels)
    table = [["time [s]", *(f"level {level.level}" for level in levels), "share"]]
    for part in parts:
        seconds = [level.time_split.get(part, 0.0) for level in levels]
        share = f"{100.0 * sum(seconds) / total:.0f} %" if total else "–"
        table.append([part, *(f"{value:.2f}" for value in seconds), share])
    return align(table)


def align(table: list[list[str]]) -> list[str]:
    """Lines of a table, its first column flush left and the others flush right."""
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    ]


def _write(value: Any, form: str) -> str:
    if value is None:
        return "–"
    if form == "truth":
        return "yes" if value else "no"
    return f"{value:,}" if form == "count" else _number(value)


def _number(value: Any) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.3g}"
