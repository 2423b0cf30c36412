"""Progressive cloth: speed, cost of a preview step, and how near the levels are to each other."""

from __future__ import annotations

from typing import Any

from plisse.bench.figures import Figure, Part, measure_parts
from plisse.bench.pcs_interruption import measure_interruption
from plisse.bench.pcs_levels import measure_levels
from plisse.bench.pcs_preview import measure_preview
from plisse.bench.pcs_speed import measure_speed

PARTS: dict[str, Part] = {
    "speed-93k": lambda threads: measure_speed(threads, levels=4, asked=5.0, plain=True),
    "speed-371k": lambda threads: measure_speed(threads, levels=5, asked=10.0, plain=False),
    "preview": measure_preview,
    "interruption": measure_interruption,
    "levels": measure_levels,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)
