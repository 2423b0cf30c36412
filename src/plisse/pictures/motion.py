"""Plots of a motion: a line for each level, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plisse.pictures.plot import Series, draw_plot, section
from plisse.progressive.report import LevelReport

MOST_BODIES = 4  # whose paths are drawn


def draw_motion(levels: Sequence[LevelReport]) -> str:
    """The section of a report's page about motion, nothing in statics."""
    if not any(level.motion is not None and level.history.get("kinetic") for level in levels):
        return ""
    steps = [float(step) for step in range(1, 1 + max(level.steps for level in levels))]

    def lines(values: Callable[[LevelReport], Sequence[Any]]) -> Series:
        return {
            f"level {level.level}": [*(known := values(level)), *(None,) * (len(steps) - len(known))]
            for level in levels
        }

    def plot(title: str, y_label: str, values: Callable[[LevelReport], Sequence[Any]]) -> str:
        return draw_plot(title, steps, lines(values), y_label, x_label="step")

    bodies = len(levels[-1].history["centres"][0]) if levels[-1].history["centres"] else 0
    plots = [
        plot("Kinetic energy", "energy [J]", lambda level: level.history["kinetic"]),
        plot("Kinetic and potential energy", "energy [J]", _total),
        plot("Distance to the finest level", "error, RMS [mm]", _distances),
        plot("Unexplained acceleration", "RMS [m/s²]", lambda level: level.history["unexplained"]),
        plot("Contacts", "contacts", lambda level: level.history["contacts"]),
        plot(
            "Spin", "angular momentum [kg m²/s]", lambda level: np.linalg.norm(level.history["spin"], axis=1).tolist()
        ),
    ]
    for body in range(min(bodies, MOST_BODIES)):
        title = "Height of the centre of mass" + (f", shell {body + 1}" if bodies > 1 else "")
        plots.append(plot(title, "z [m]", partial(_heights, body=body)))
    return section("Motion", plots)


def _heights(level: LevelReport, *, body: int) -> list[float]:
    return [centres[body][2] for centres in level.history["centres"]]


def _total(level: LevelReport) -> list[float]:
    return [
        kinetic + potential
        for kinetic, potential in zip(*(level.history[k] for k in ("kinetic", "energy")), strict=True)
    ]


def _distances(level: LevelReport) -> list[float]:
    found = None if level.metrics is None else level.metrics.distances_to_finest
    # that of the start is left out: all other plots begin with the first step
    return [1e3 * value for value in found[1:]] if found else []
