"""Progressive shells: speed under incremental loading, safe starts, levels that agree, and bending."""

from __future__ import annotations

from functools import partial
from typing import Any

from plisse.bench.figures import Figure, Part, measure_parts
from plisse.bench.psq_agreement import measure_agreement
from plisse.bench.psq_gallery import measure_equilibrium, measure_levels, measure_maps
from plisse.bench.psq_locking import measure_locking
from plisse.bench.psq_plate import measure_plate
from plisse.bench.psq_speed import measure_loading
from plisse.bench.psq_starts import measure_starts

PARTS: dict[str, Part] = {
    "can": partial(measure_loading, name="16-can", asked=28.0, coarse=1.3),
    "mat": partial(measure_loading, name="17-mat", asked=4.0, coarse=0.9),
    "starts": measure_starts,
    "agreement": measure_agreement,
    "levels": measure_levels,
    "maps": measure_maps,
    "equilibrium": measure_equilibrium,
    "locking": measure_locking,
    "plate": measure_plate,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)
