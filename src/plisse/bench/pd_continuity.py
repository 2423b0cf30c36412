"""How smooth motions of finer levels are, and whether many levels stay stable, by every integrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plisse.bench.courses import Course, run_levels
from plisse.bench.figures import Figure, tell
from plisse.loading.scene_table import scene_from_dict
from plisse.scene.scene import Scene

WAYS = ("velpro", "full-diagonal", "semi-diagonal", "direct")
BROKEN = 10.0  # times the preview's largest kinetic energy on a finer level: the motion has broken


def hanging_sheet(levels: int, motion: str, *, h: float, duration: float) -> Scene:
    """A square metre of cotton that falls from the horizontal, held at two corners; 196 to 2,809 vertices."""
    ratio = (2809 / 196) ** (1.0 / (levels - 1))
    return scene_from_dict(
        {
            "name": f"hanging sheet, {levels} levels",
            "shell": [
                {
                    "shape": "grid", "width": 1.0, "height": 1.0, "vertices": 2809, "material": "cotton",
                    "pin": [{"corners": True, "near": [-0.5, 0.5, 0]}, {"corners": True, "near": [0.5, 0.5, 0]}],
                }
            ],
            "time": {"mode": "dynamic", "h": h, "duration": duration},
            "hierarchy": {"kind": "decimation", "levels": levels, "ratio": ratio, "motion": motion},
        }
    )  # fmt: skip


def bunny_drop(motion: str) -> Scene:
    """The gallery's sheet that falls on a bunny, 16 levels, at a small size."""
    from plisse.bench.climb import gallery_scene

    return gallery_scene("42-bunny-drop", tol=0.01, levels=16, motion=motion)


def measure_continuity(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """n and the unexplained acceleration in g, medians over the steps of the finest level, at 0.01 m/s."""
    figures, details = list[Figure](), dict[str, Any]()
    for levels in (4, 16):
        for way in WAYS:
            _, courses = run_levels(hanging_sheet(levels, way, h=0.02, duration=1.0), threads)
            finest = courses[-1]
            tell(f"{levels} levels, {way}: n {finest.continuity:.3g}, {finest.unexplained:.3g} g")
            if way == "velpro":
                figures.append(Figure(f"pinned sheet, {levels} levels, VelPro: n", finest.continuity, 1.3))
            details[f"pinned sheet, {levels} levels, {way}"] = describe(courses)
    return figures, details


def measure_stability(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Whether kinetic energy stays what it is on level 0, at h = 0.01 s."""
    figures, details = list[Figure](), dict[str, Any]()
    for levels in (8, 16):
        for way in WAYS[:3]:
            _, courses = run_levels(hanging_sheet(levels, way, h=0.01, duration=0.5), threads)
            peaks = [max(course.history["kinetic"]) for course in courses]
            worst = max(peaks) / peaks[0]
            tell(f"{levels} levels, {way}: {worst:.3g} × the preview's kinetic energy")
            breaks = way == "semi-diagonal" and levels == 16
            asked, better = (BROKEN, "higher") if breaks else (1.5, "lower")
            name = f"{levels} levels, {way}: largest kinetic energy over the preview's"
            figures.append(Figure(name, worst, None if way == "semi-diagonal" and levels == 8 else asked, better))
            details[f"{levels} levels, {way}"] = describe(courses)
    return figures, details


def describe(courses: list[Course]) -> Mapping[str, Any]:
    """Figures of every level, coarse to fine."""
    return {
        "n": [round(course.continuity, 3) for course in courses],
        "unexplained, g": [round(course.unexplained, 3) for course in courses],
        "iterations a step": [round(float(np.mean(course.iterations)), 1) for course in courses],
        "largest kinetic energy, J": [float(f"{max(course.history['kinetic']):.3g}") for course in courses],
        "steps not solved": [course.unsolved for course in courses],
    }
