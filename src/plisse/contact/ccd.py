"""The step filter of contact: how far along a direction nothing comes too close."""

import numpy as np
from numpy.typing import NDArray

from plisse.contact.candidates import Candidates
from plisse.kernels.accd import CHUNK, limit_pairs


def max_step(
    candidates: Candidates, x: NDArray[np.float64], p: NDArray[np.float64], *, keep: float = 0.1
) -> tuple[float, NDArray[np.int32] | None]:
    """Largest α ≤ 1 found for which every pair keeps d − offset ≥ keep · (d₀ − offset) on x + a p, a in [0, α].

    Additive CCD ([Li2021] Algorithm 1) with each pair's own offset as minimal separation; α is 0 when a pair is
    already as close as its offset. Also returns the vertices of the limiting pair, shape (4,), (point, triangle) or
    (edge, edge), or None when α is 1. The candidates must cover x and p.
    x: positions [m], shape (n, 3); p: displacement [m], shape (n, 3).
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    p = np.ascontiguousarray(p, dtype=np.float64)
    pt, ee = candidates.pt, candidates.ee
    parts = -(-len(pt) // CHUNK)
    chunks = parts + -(-len(ee) // CHUNK)
    if chunks == 0:
        return 1.0, None
    limits = np.empty(chunks)
    which = np.empty(chunks, dtype=np.int64)
    limit_pairs(x, p, pt, candidates.pt_offset, ee, candidates.ee_offset, float(keep), limits, which)
    best = int(np.argmin(limits))
    if which[best] < 0:
        return 1.0, None
    pair = (pt if best < parts else ee)[which[best]]
    return float(limits[best]), pair.copy()
