"""Levels by decimation: speed and growth, cost of the maps, what prolongation adds to smooth shapes, and prediction."""

from __future__ import annotations

from typing import Any

from plisse.bench.figures import Figure, Part, measure_parts
from plisse.bench.hierarchy_maps import measure_approximation, measure_maps
from plisse.bench.hierarchy_prediction import measure_prediction
from plisse.bench.hierarchy_speed import measure_speed

PARTS: dict[str, Part] = {
    "speed": measure_speed,
    "maps": measure_maps,
    "approximation": measure_approximation,
    "prediction": measure_prediction,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)
