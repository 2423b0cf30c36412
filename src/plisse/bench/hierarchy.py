"""Levels by decimation: speed and growth, cost of the maps, what prolongation adds to smooth shapes, and prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plisse.bench.figures import Figure, use_threads
from plisse.bench.hierarchy_maps import measure_approximation, measure_maps
from plisse.bench.hierarchy_prediction import measure_prediction
from plisse.bench.hierarchy_speed import measure_speed

PARTS: dict[str, Callable[[int], tuple[list[Figure], dict[str, Any]]]] = {
    "speed": measure_speed,
    "maps": measure_maps,
    "approximation": measure_approximation,
    "prediction": measure_prediction,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    use_threads(threads)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    for name in PARTS if part is None else (part,):
        found, more = PARTS[name](threads)
        figures += found
        details |= more
    return figures, details
