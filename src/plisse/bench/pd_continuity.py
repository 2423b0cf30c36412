"""How smooth motions of finer levels are, and whether many levels stay stable, by every integrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course, run_levels, steps_apart
from plisse.bench.figures import Figure, tell
from plisse.bench.pd_gallery import SMALL
from plisse.loading.scene_table import scene_from_dict
from plisse.scene.scene import Scene

# integrators with the pull to the level below; the first is the published one, the second the default
WAYS = (("velpro", 0.0), ("velpro", 1.0), ("full-diagonal", 0.0), ("semi-diagonal", 0.0), ("direct", 0.0))
# as coarse a first level, relative to the finest, as on eight
BUNNY = (*SMALL["42-bunny-drop"], "shell.vertices=200", "hierarchy.levels=16", f"hierarchy.ratio={1.2 ** (7 / 15):.6f}")
EXACT = 1e-3  # by which n may differ from 1 where nothing touches
BROKEN = 10.0  # times the preview's largest kinetic energy on a finer level: the motion has broken
TWICE = 2.0  # times that: it has begun to break


def hanging_sheet(levels: int, motion: str, *, w: float, h: float, duration: float) -> Scene:
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
            "hierarchy": {"kind": "decimation", "levels": levels, "ratio": ratio, "motion": motion, "consistency": w},
        }
    )  # fmt: skip


def measure_continuity(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """n and the unexplained acceleration in g, medians over the steps of the finest level, at 0.01 m/s."""
    figures, details = list[Figure](), dict[str, Any]()
    for levels in (4, 16):
        for way, w in WAYS:
            _, courses = run_levels(hanging_sheet(levels, way, w=w, h=0.02, duration=1.0), threads)
            finest, name = courses[-1], f"pinned sheet, {levels} levels, {way}, w = {w:g}"
            tell(f"{name}: n {finest.continuity:.3g}, {finest.unexplained:.3g} g")
            if (way, w) == WAYS[0]:
                figures.append(Figure(f"{name}: n", finest.continuity, 1.3))
            details[name] = describe(courses)
    return _measure_bunny(threads, figures, details)


def _measure_bunny(threads: int, figures: list[Figure], details: dict[str, Any]) -> tuple[list[Figure], dict[str, Any]]:
    """The same of a cloth that falls on a bunny, on 16 levels, also of the steps before it touches anything."""
    for way, w in WAYS:
        scene = gallery_scene("42-bunny-drop", sets=BUNNY, tol=0.01, motion=way, consistency=w)
        _, courses = run_levels(scene, threads)
        name, apart = f"bunny, 16 levels, {way}, w = {w:g}", steps_apart(courses)
        falling = [course.until(apart) for course in courses]
        tell(f"{name}: n {courses[-1].continuity:.3g}, {courses[-1].unexplained:.3g} g; {falling[-1].continuity:.6g}")
        before = max(course.continuity for course in falling)
        figures.append(Figure(f"{name}: n before contact, largest of all levels", before, 1.0 + EXACT))
        if (way, w) == WAYS[0]:
            figures.append(Figure(f"{name}: n", courses[-1].continuity, 1.3))
        details[name] = {"steps before contact": apart, **describe(courses)}
        details[f"{name}, before contact"] = {
            "n": [round(course.continuity, 6) for course in falling],
            "unexplained, g": [float(f"{course.unexplained:.3g}") for course in falling],
        }
    return figures, details


def measure_stability(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Whether kinetic energy stays what it is on level 0, at h = 0.01 s."""
    figures, details = list[Figure](), dict[str, Any]()
    for levels in (8, 16):
        for way, w in WAYS[:4]:
            _, courses = run_levels(hanging_sheet(levels, way, w=w, h=0.01, duration=0.5), threads)
            peaks = [max(course.history["kinetic"]) for course in courses]
            worst, name = max(peaks) / peaks[0], f"{levels} levels, {way}, w = {w:g}"
            tell(f"{name}: {worst:.3g} × the preview's kinetic energy")
            asked, better = (1.5, "lower") if way != "semi-diagonal" else (BROKEN if levels == 16 else None, "higher")
            figures.append(Figure(f"{name}: largest kinetic energy over the preview's", worst, asked, better))
            details[name] = {**describe(courses), "broken after step": [_breaks(each, peaks[0]) for each in courses]}
    return figures, details


def _breaks(course: Course, most: float) -> int | None:
    """The first step after which kinetic energy is twice the preview's largest."""
    broken = np.array(course.history["kinetic"]) > TWICE * most
    return int(broken.argmax()) + 1 if broken.any() else None


def describe(courses: list[Course]) -> Mapping[str, Any]:
    """Figures of every level, coarse to fine."""
    return {
        "n": [round(course.continuity, 3) for course in courses],
        "unexplained, g": [round(course.unexplained, 3) for course in courses],
        "iterations a step": [round(float(np.mean(course.iterations)), 1) for course in courses],
        "largest kinetic energy, J": [float(f"{max(course.history['kinetic']):.3g}") for course in courses],
        "steps not solved": [course.unsolved for course in courses],
    }
