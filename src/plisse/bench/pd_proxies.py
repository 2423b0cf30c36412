"""Which proxy of a coarse level predicts motions best: chosen on half of the gallery, confirmed on the other half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import measure_apart, nudged, run_direct, run_levels
from plisse.bench.figures import Figure, tell
from plisse.bench.pd_gallery import SMALL

# values of the [hierarchy] table; the first is the default
FLAT: dict[str, dict[str, Any]] = {
    "default": {},
    "compression 0.03": {"compression": 0.03},
    "compression 0.3": {"compression": 0.3},
    "compression 1": {"compression": 1.0},
    "bending 1": {"bending": 1.0},
}
CURVED: dict[str, dict[str, Any]] = {
    "default": {},
    "shell": {"prolongation": "shell"},
    "smooth": {"prolongation": "smooth"},
}
FEWER = ("hierarchy.levels=2", "hierarchy.ratio=3.6")  # of the scenes with many levels


@dataclass(frozen=True)
class Case:
    """A gallery scene at a small size, with its proxies, in the half that chooses or in the one that confirms."""

    name: str
    chooses: bool
    proxies: dict[str, dict[str, Any]]
    sets: tuple[str, ...] = ()


# scenes with even numbers choose, those with odd ones confirm
CASES = (
    Case("30-gear", True, FLAT),
    Case("32-flag", True, FLAT),
    Case("42-bunny-drop", True, FLAT, FEWER),
    Case("46-jumble-pile", True, FLAT),
    Case("34-ball-drop", True, CURVED),
    Case("40-duck", True, CURVED),
    Case("31-bouncy-cube", False, FLAT),
    Case("33-jumble", False, FLAT),
    Case("35-laundry", False, FLAT, ("time.duration=1.4",)),
    Case("43-cow-drop", False, FLAT, FEWER),
    Case("45-balloons", False, CURVED),
    Case("47-hats", False, CURVED),
)


def measure_proxies(threads: int, *, cases: tuple[Case, ...] = CASES) -> tuple[list[Figure], dict[str, Any]]:
    """Distances of level 0 to its own finest level and to direct simulation of the finest mesh, of every proxy."""
    worse, details = dict[tuple[bool, str], list[float]](), dict[str, Any]()
    for case in cases:
        sets = (*SMALL[case.name], *case.sets)
        plain = gallery_scene(case.name, sets=sets, tol=0.01)
        alone, again = run_direct(plain, threads), run_direct(nudged(plain), threads)
        found = dict[str, tuple[float, float]]()
        for proxy, values in case.proxies.items():
            session, courses = run_levels(gallery_scene(case.name, sets=sets, tol=0.01, **values), threads)
            own, direct = (measure_apart(session, courses[0], other).positions for other in (courses[-1], alone))
            found[proxy] = own, direct
            tell(f"{case.name}, {proxy}: {1e3 * own:.2f} mm to its finest, {1e3 * direct:.2f} mm to direct")
            worse.setdefault((case.chooses, proxy), []).append(direct / found["default"][1])
        noise = measure_apart(session, alone, again).positions
        details[f"{case.name}: to its own finest, to direct [mm]"] = {
            proxy: [round(1e3 * value, 2) for value in each] for proxy, each in found.items()
        } | {"two direct runs": round(1e3 * noise, 2)}
    figures = [
        Figure(
            f"{proxy}, {'choosing' if chooses else 'confirming'} half: to direct, over the default's",
            float(np.exp(np.mean(np.log(ratios)))),
        )
        for (chooses, proxy), ratios in worse.items()
        if proxy != "default"
    ]
    return figures, details
