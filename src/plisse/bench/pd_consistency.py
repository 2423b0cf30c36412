"""Whether finer levels keep the preview's motion, beside levels that move by themselves and beside mere chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course, follow_levels, measure_apart, nudged, run_direct, run_levels
from plisse.bench.figures import Figure, tell
from plisse.bench.jitter import open_jittered
from plisse.bench.pd_gallery import SMALL
from plisse.progressive.metrics import Projection
from plisse.progressive.session import Session

PULLS = (0.0, 0.1, 0.25, 0.5)
# the scenes on which it is tried, and jittered runs of each: the bodies of a pile come to lie as chance has it
PULLED = {"31-bouncy-cube": 1, "47-hats": 1, "46-jumble-pile": 4}


@dataclass(frozen=True)
class Case:
    """A gallery scene at a small size, and how many times nearer than direct simulation levels are to be."""

    name: str
    sets: tuple[str, ...]
    nearer: float


CASES = (
    Case("31-bouncy-cube", ("shell.0.vertices=1600", "shell.1.resolution=8", "hierarchy.levels=[400]"), 10.0),
    Case("32-flag", ("shell.vertices=200", "hierarchy.levels=3", "time.duration=3"), 10.0),
    Case("33-jumble", SMALL["33-jumble"], 4.0),
    Case("30-gear", ("shell.vertices=200", "hierarchy.levels=3", "time.duration=0.8"), 4.0),
)


def measure_consistency(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Distances of level 0 to the finest, of all levels together and of each by itself, and of two equal runs."""
    figures, details = list[Figure](), dict[str, Any]()
    for case in CASES:
        scene = gallery_scene(case.name, sets=case.sets, tol=0.01)
        session, courses = run_levels(scene, threads, check=True)
        finest = session.finest
        alone = [run_direct(scene, threads, level=level) for level in (0, finest)]
        ours = measure_apart(session, courses[0], courses[-1])
        theirs = measure_apart(session, *alone)
        noise = measure_apart(session, run_direct(nudged(scene), threads), alone[1])
        tell(f"{case.name}: {1e3 * ours.positions:.2f} mm, direct {1e3 * theirs.positions:.2f} mm")
        figures += [
            Figure(
                f"{case.name}: mean distance, direct / ours", theirs.positions / ours.positions, case.nearer, "higher"
            ),
            Figure(
                f"{case.name}: centres of mass, direct / ours", theirs.centres / ours.centres, case.nearer, "higher"
            ),
            Figure(f"{case.name}: kinetic energy, relative", ours.kinetic, 0.1),
            Figure(f"{case.name}: intersections", float(sum(course.crossings for course in courses)), 0.0),
            Figure(f"{case.name}: stretch over the limit", max(course.stretch for course in courses), 1.0),
        ]
        details[case.name] = {
            "vertices": [len(course.x[0]) for course in courses],
            "ours: mean, largest, centres [mm], kinetic": _in_mm(ours),
            "direct": _in_mm(theirs),
            "two equal direct runs": _in_mm(noise),
            "finest to direct finest": _in_mm(measure_apart(session, courses[-1], alone[1])),
            "steps not solved": [course.unsolved for course in courses],
        }
    return figures, details


def measure_pull(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """d and what lies outside of the coarse level's reach, with a stronger and stronger pull to the level below.

    Where there are several runs, means with the standard error of each.
    """
    figures, details = list[Figure](), dict[str, Any]()
    for name, runs in PULLED.items():
        means = []
        for w in PULLS:
            scene, found = gallery_scene(name, sets=SMALL[name], tol=0.01, consistency=w), []
            for seed in range(runs):
                session = open_jittered(scene, seed, threads=threads)
                courses = follow_levels(session)
                found.append(_split(session, courses[-2], courses[-1]))
            d, enrichment = 1e3 * np.mean(found, axis=0)
            tell(f"{name}, w = {w:g}: d {d:.2f} mm, enrichment {enrichment:.2f} mm")
            means.append((d, enrichment))
            key = f"{name}, w = {w:g}: d, enrichment [mm]"
            details[key] = [round(float(d), 3), round(float(enrichment), 3)]
            if runs > 1:
                errors = 1e3 * np.std(found, axis=0, ddof=1) / np.sqrt(runs)
                details[f"{key}, standard errors"] = [round(float(error), 3) for error in errors]
        d, enrichment = np.diff(means, axis=0).max(axis=0)
        figures += [
            Figure(f"{name}: largest rise of d with w, mm", float(d), 0.0),
            Figure(f"{name}: largest rise of the enrichment with w, mm", float(enrichment), 0.0),
        ]
    return figures, details


def _split(session: Session, coarse: Course, fine: Course) -> tuple[float, float]:
    """Root mean square of Π x_l − x_{l−1} and of x_l − P Π x_l [m], means over the steps."""
    P = session.ladder.shell_map(coarse.level, fine.level)
    project = Projection(P)
    d, rest = [], []
    for a, b in zip(coarse.x, fine.x, strict=True):
        off = project.apart(np.ascontiguousarray(b), np.ascontiguousarray(a))
        left = b - P(np.ascontiguousarray(a)) - P.linear(off)
        d.append(np.sqrt((off**2).sum(axis=1).mean()))
        rest.append(np.sqrt((left**2).sum(axis=1).mean()))
    return float(np.mean(d)), float(np.mean(rest))


def _in_mm(apart: Any) -> list[float]:
    return [round(1e3 * v, 3) for v in (apart.positions, apart.most, apart.centres)] + [round(apart.kinetic, 4)]
