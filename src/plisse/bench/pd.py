"""Progressive dynamics: speed of previews, consistency, continuity and stability of levels, processes."""

from __future__ import annotations

from typing import Any

from plisse.bench.figures import Figure, Part, measure_parts
from plisse.bench.pd_consistency import measure_consistency, measure_pull
from plisse.bench.pd_continuity import measure_continuity, measure_stability
from plisse.bench.pd_gallery import measure_levels
from plisse.bench.pd_outcomes import measure_outcomes
from plisse.bench.pd_parallel import measure_parallel
from plisse.bench.pd_proxies import measure_proxies
from plisse.bench.pd_speed import measure_speed

PARTS: dict[str, Part] = {
    "speed": measure_speed,
    "levels": measure_levels,
    "consistency": measure_consistency,
    "pull": measure_pull,
    "continuity": measure_continuity,
    "stability": measure_stability,
    "parallel": measure_parallel,
    "outcomes": measure_outcomes,
    "proxies": measure_proxies,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)
