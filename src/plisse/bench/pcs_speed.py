"""Time to the finest equilibrium: progressive against direct simulation, from the same flat start."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from plisse.bench.climb import Climb, climb, gallery_scene, tighten
from plisse.bench.figures import Figure

SCENE = "05-sphere"
PLAIN_STEPS = 20  # of plain stepping that are timed; how many it needs in all is counted two levels coarser
PLAIN_H = (0.3, 0.05)  # time steps of plain stepping [s]: that of the scene, and the smallest that [Zhang2022] uses


def measure_speed(threads: int, *, levels: int, asked: float, plain: bool) -> tuple[list[Figure], dict[str, Any]]:
    """Speed-ups at ε = 0.01, at equal energy, and at ε = 0.001 for a hierarchy over the 1.5K-triangle base."""
    ours = climb(gallery_scene(SCENE, levels=levels), threads=threads)
    direct = climb(gallery_scene(SCENE, levels=levels, method="direct"), threads=threads)
    size = f"{len(ours.session.ladder.geometry(levels - 1).shells[0].triangles) / 1000:.0f}K triangles"
    last = levels - 1
    figures = [
        Figure(f"{size}: direct / progressive at ε = 0.01", direct.wall / ours.wall, asked, "higher"),
        Figure(f"{size}: steps on the finest level", float(ours.states[last].step), 15.0, "lower"),
        Figure(f"{size}: force balance, % of the weight", 100 * ours.states[last].force_balance, 2.0, "lower"),
    ]
    energy, direct_energy = ours.states[last].energy, direct.states[last].energy
    details: dict[str, Any] = {
        "progressive, s": round(ours.wall, 1),
        "direct, s": round(direct.wall, 1),
        "steps per level": ours.steps,
        "direct steps": direct.steps,
        "seconds per level": _per_level(ours),
        "energy of both, J": [round(energy, 5), round(direct_energy, 5)],
    }
    tight, direct_tight = tighten(ours, 1e-3), tighten(direct, 1e-3)
    details |= _equal_energy(tight, direct_tight, max(energy, direct_energy))
    details |= {
        "ε = 0.001: direct / progressive": round(direct_tight.wall / tight.wall, 2),
        "ε = 0.001: steps on the finest level, both": [tight.states[last].step, direct_tight.states[last].step],
        "ε = 0.001: seconds of both": [round(tight.wall, 1), round(direct_tight.wall, 1)],
        "ε = 0.001: energy of both": [round(run.states[last].energy, 5) for run in (tight, direct_tight)],
    }
    if plain:
        for h in PLAIN_H:
            seconds, timed, needed = _plain_seconds(levels, h, threads)
            name = f"{size}: plain stepping, h = {h:g} s, / progressive"
            figures.append(Figure(name, seconds / ours.wall, 50.0, "higher"))
            details[f"plain stepping, h = {h:g} s: seconds, timed steps, needed steps"] = [
                round(seconds),
                timed,
                needed,
            ]
    return figures, {f"{size}: {key}": value for key, value in details.items()}


def _plain_seconds(levels: int, h: float, threads: int) -> tuple[float, int, int]:
    """Seconds that steps solved to the tolerance take to equilibrium, how many were timed, and how many it needs."""
    scene = gallery_scene(SCENE, sets=(f"time.h={h}",), levels=levels, method="plain")
    count = climb(scene, threads=threads, level=levels - 3).steps[0]
    some = climb(scene, threads=threads, most=PLAIN_STEPS)
    timed = len(some.seconds[levels - 1])
    needed = timed if some.converged else max(count, timed)
    return some.wall / timed * needed, timed, needed


def _per_level(done: Climb) -> list[float]:
    ends = [0.0, *(done.seconds[level][-1] for level in sorted(done.seconds))]
    return [round(b - a, 2) for a, b in pairwise(ends)]


def _equal_energy(ours: Climb, direct: Climb, energy: float) -> dict[str, Any]:
    """Seconds of both until the potential of the finest mesh is as low as the higher of both at ε = 0.01."""
    mine, theirs = ours.time_at(energy), direct.time_at(energy)
    ratio = round(theirs / mine, 2) if mine and theirs else None
    return {"equal energy: direct / progressive": ratio, "equal energy: seconds of both": [mine, theirs]}
