"""How near coarse levels at rest are to the finest: progressive (default and printed), cascadic, direct; gallery."""

from __future__ import annotations

from typing import Any

import numpy as np

from plisse.bench.climb import Climb, climb, gallery_scene
from plisse.bench.figures import Figure
from plisse.progressive.consistency import compare_levels
from plisse.progressive.ladder import Ladder
from plisse.progressive.metrics import CURVATURES

LEVELS = 3  # up to 24K triangles, on which every method comes to rest within minutes
MOST_STEPS = 400  # on a level; the row then says that it has not converged
# published parameters: soft membranes with a strain limit, a curved hat, a twisted ribbon; then full stiffness
PUBLISHED = ("15-strain-limit", "07-bunny", "14-hat", "11-ribbon")
STIFF = ("05-sphere", "06-cube")
DRAPES = ("05-sphere", "06-cube", "07-bunny", "08-dragon", "10-bending", "15-strain-limit")
METHODS: dict[str, dict[str, Any]] = {
    "progressive": {},
    "printed": {"prolongation": "loop", "compression": 1.0, "bending": 1.0},
    "cascadic": {"method": "cascadic"},
    "direct": {"method": "direct"},
}


def measure_levels(threads: int, *, levels: int = LEVELS) -> tuple[list[Figure], dict[str, Any]]:
    """Position errors [mm] and curvature distances to each method's own finest level, folds and energies."""
    table: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys((*PUBLISHED, *STIFF, *DRAPES)):
        table[name] = {method: _measure(name, levels, threads, **keys) for method, keys in METHODS.items()}
        print(name, flush=True)
        for method, row in table[name].items():
            print("  " + method, row, flush=True)
    return _figures(table, levels), dict(table)


def _measure(name: str, levels: int, threads: int, **keys: Any) -> dict[str, Any]:
    scene = gallery_scene(name, sets=(f"time.max_steps={MOST_STEPS}",), tol=None, levels=levels, **keys)
    if scene.hierarchy.method == "direct":
        runs = [climb(scene, threads=threads, level=level) for level in range(levels)]
        done = Climb(runs[-1].session, {level: run.states[level] for level, run in enumerate(runs)})
    else:
        done = climb(scene, threads=threads)
    return describe(done.session.ladder, done, threads)


def describe(ladder: Ladder, done: Climb, threads: int) -> dict[str, Any]:
    """One row of the table."""
    metrics = compare_levels(ladder, {level: state.x for level, state in done.states.items()}, threads=threads)
    last = max(metrics)
    curvature = {
        name: [round((metrics[k].curvature_distance_to_finest or {})[name], 1) for k in range(last)]
        for name in CURVATURES
    }
    return {
        "steps": done.steps,
        "converged": done.converged,
        "position error, mm": [round(1e3 * (metrics[k].position_error_to_finest or 0.0), 2) for k in range(last)],
        "curvature distance": curvature,
        "folds": [metrics[k].folds for k in range(last + 1)],
        "energy, J": round(done.states[last].energy, 5),
    }


def _figures(table: dict[str, dict[str, Any]], levels: int) -> list[Figure]:
    figures = []
    for name in (*PUBLISHED, *STIFF):
        for level in range(levels - 1):
            asked = 3.0 if level == 0 else 5.0
            for what, ratio in (("position", _position), ("mean curvature", _mean_curvature)):
                value = ratio(table[name]["direct"], level) / ratio(table[name]["progressive"], level)
                figures.append(Figure(f"{name}, level {level}: {what}, direct / progressive", value, asked, "higher"))
    gains = [_position(table[name]["printed"], 0) / _position(table[name]["progressive"], 0) for name in DRAPES]
    figures.append(
        Figure("level 0 position error, printed Loop / default, mean of drapes", float(np.mean(gains)), 3.0, "higher")
    )
    for name in DRAPES:
        folds = table[name]["progressive"]["folds"]
        apart = 100 * abs(folds[0] / max(folds[-1], 1) - 1)
        figures.append(Figure(f"{name}: folds on level 0, % off", apart, 20.0, "lower"))
        ours = table[name]["progressive"]["energy, J"]
        for method in ("direct", "printed"):
            other = table[name][method]["energy, J"]
            above = 100 * (ours - other) / abs(other)
            figures.append(Figure(f"{name}: energy above that of the {method} one, %", above, 0.1, "lower"))
    return figures


def _position(row: dict[str, Any], level: int) -> float:
    return float(row["position error, mm"][level])


def _mean_curvature(row: dict[str, Any], level: int) -> float:
    return float(row["curvature distance"]["mean"][level])
