"""The gallery's motions at small sizes: whether levels are solved, free of intersections and near to each other."""

from __future__ import annotations

from typing import Any

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import measure_apart, run_levels
from plisse.bench.figures import Figure, tell

BODIES = ("shell.1.resolution=3", "shell.2.resolution=4", "shell.3.subdivisions=2", "shell.4.subdivisions=2")
HOOKS = tuple(f"collider.{k}.resolution=20" for k in range(5))
# what makes every motion small: two levels, some hundred vertices on the finest, a short time
SMALL = {
    "30-gear": ("shell.vertices=150", "hierarchy.levels=2", "collider.0.resolution=40", "time.duration=0.5"),
    "31-bouncy-cube": ("shell.0.vertices=400", "shell.1.resolution=4", "hierarchy.levels=[200]", "time.duration=0.55"),
    "32-flag": ("shell.vertices=60", "hierarchy.levels=2", "time.duration=2"),
    "33-jumble": (
        *BODIES, "shell.0.vertices=300", "shell.5.subdivisions=2", "shell.6.resolution=5", "hierarchy.levels=[350]",
        "time.duration=0.5",
    ),
    "34-ball-drop": ("shell.vertices=500", "hierarchy.levels=[200]", "time.h=0.002", "time.duration=0.06"),
    "35-laundry": ("shell.vertices=150", "hierarchy.levels=2", "collider.0.resolution=48", "time.duration=2"),
    "36-spin-cycle": (
        "shell.vertices=80", "hierarchy.levels=2", "collider.0.subdivisions=3", "time.h=0.02", "time.duration=1.9",
    ),
    "37-toy-toss": (
        "shell.resolution=20", "hierarchy.levels=[400]", "time.h=0.02", "time.duration=0.7",
        *(f"collider.{k}.{key}" for k in range(3) for key in ("around=48", "across=12")),
    ),
    "38-octocats": ("shell.0.resolution=20", "shell.1.resolution=20", "hierarchy.levels=[700]", "time.duration=0.8"),
    "39-sky-dancers": (
        *(f"shell.{k}.resolution=30" for k in range(3)), "hierarchy.levels=[600]", "time.h=0.04", "time.duration=1.6",
    ),
    "40-duck": ("shell.resolution=16", "hierarchy.levels=[150]", "time.h=0.01", "time.duration=0.1"),
    "41-trampolines": (
        "shell.0.vertices=400", "shell.1.shape=duck", "shell.1.resolution=16", "shell.2.subdivisions=2",
        "shell.3.resolution=4", "hierarchy.levels=2", "hierarchy.ratio=3", "time.duration=0.4",
    ),
    "42-bunny-drop": (
        "shell.vertices=400", "hierarchy.levels=8", "hierarchy.ratio=1.2", "collider.0.resolution=32",
        "time.h=0.02", "time.duration=0.44",
    ),
    "43-cow-drop": (
        "shell.vertices=400", "hierarchy.levels=4", "collider.0.resolution=44", "time.h=0.02", "time.duration=0.5",
    ),
    "44-flag-dense": ("shell.vertices=300", "hierarchy.levels=4", "time.duration=2"),
    "45-balloons": ("shell.0.resolution=20", "shell.1.resolution=20", "hierarchy.levels=[700]", "time.duration=0.2"),
    "46-jumble-pile": (*BODIES, "shell.0.vertices=300", "hierarchy.levels=[300]", "time.duration=0.8"),
    "47-hats": (
        *(f"shell.{k}.vertices=150" for k in range(5)), *HOOKS, "hierarchy.levels=[350]", "time.h=0.02",
        "time.duration=1",
    ),
}  # fmt: skip


def measure_levels(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Intersections in all accepted states, stretches, steps that were not solved, distances between levels."""
    crossings, unsolved, stretch, kinetic, details = 0, 0, 0.0, 0.0, dict[str, Any]()
    for name, sets in SMALL.items():
        session, courses = run_levels(gallery_scene(name, sets=sets, tol=0.01), threads, check=True)
        apart = measure_apart(session, courses[0], courses[-1])
        found = sum(course.crossings for course in courses)
        crossings, unsolved = crossings + found, unsolved + sum(course.unsolved for course in courses)
        stretch = max(stretch, *(course.stretch for course in courses))
        kinetic = max(kinetic, apart.kinetic)
        tell(f"{name}: {1e3 * apart.positions:.3g} mm, {found} intersections")
        details[name] = {
            "vertices": [len(course.x[0]) for course in courses],
            "iterations a step": [round(sum(course.iterations) / len(course.iterations), 1) for course in courses],
            "steps not solved": [course.unsolved for course in courses],
            "level 0 to the finest: positions, largest, centres [mm], kinetic energy": [
                *(round(1e3 * value, 2) for value in (apart.positions, apart.most, apart.centres)),
                round(apart.kinetic, 4),
            ],
        }
    figures = [
        Figure("intersections in all accepted states", float(crossings), 0.0),
        Figure("steps not solved", float(unsolved), 0.0),
        Figure("largest stretch over its limit", stretch, 1.0),
        Figure("largest distance of the curves of kinetic energy, relative", kinetic, 0.1),
    ]
    return figures, details
