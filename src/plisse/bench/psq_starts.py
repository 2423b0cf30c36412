"""Safe starts of many tightly folded states."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from plisse.bench.figures import Figure
from plisse.bench.folds import expand, fold

EXPANSIONS = 500


def measure_starts(threads: int, *, expansions: int = EXPANSIONS) -> tuple[list[Figure], dict[str, Any]]:
    """Expansions of random folded states: how many succeed, and what the independent detector finds after batches."""
    made, refused, crossings, batches, seed = Counter[str](), Counter[str](), 0, 0, 0
    ends = np.zeros(6, np.int64)
    while made.total() + refused.total() < expansions:
        folded = fold(seed)
        seed += 1
        if folded is None:
            continue
        found = expand(folded, seed=seed, smooth=seed % 2 == 1)
        (refused if found.missing else made)[folded.kind] += 1
        crossings, batches, ends = crossings + found.crossings, batches + found.batches, ends + found.tally.ends
    figures = [
        Figure("folded states: expansions that end with an intersection", float(crossings), 0.0, "lower"),
        Figure("folded states: expansions that are refused", float(refused.total())),
    ]
    details = {
        "expansions that succeed, by kind of fold": dict(made),
        "expansions that are refused, by kind of fold": dict(refused),
        "states that the detector checked": batches,
        "splits that arrived, went part of the way, found a tight place, went aside": ends[1:5].tolist(),
        "states that the coarse mesh could not show": seed - expansions,
    }
    return figures, details
