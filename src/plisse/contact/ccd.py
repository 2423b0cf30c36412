"""The step filter of contact: how far along a direction nothing comes too close."""

import numpy as np

from plisse.contact.candidates import Candidates
from plisse.core.arrays import Floats, Ints
from plisse.kernels.accd import CHUNK, limit_each, limit_pairs


def max_step(candidates: Candidates, x: Floats, p: Floats, *, keep: float = 0.1) -> tuple[float, Ints | None]:
    """How far along p every pair keeps its gap: an α ≤ 1 and the vertices of the pair that limits it.

    d − offset ≥ keep · (d₀ − offset) on x + a p for a in [0, α], by additive CCD ([Li2021] Algorithm 1)
    with each pair's own offset as minimal separation. α is 0 when a moving pair is already as close as its
    offset. The limiting pair is (point, triangle) or (edge, edge), shape (4,), or None when α is 1. The
    candidates must cover x and p. x: positions [m], shape (n, 3); p: displacement [m], shape (n, 3).
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    p = np.ascontiguousarray(p, dtype=np.float64)
    alpha = 1.0
    pair: Ints | None = None
    for pairs, offsets, is_edge_pair in (
        (candidates.pt, candidates.pt_offset, False),
        (candidates.ee, candidates.ee_offset, True),
    ):
        chunks = -(-len(pairs) // CHUNK)
        if chunks == 0:
            continue
        limits, which = np.empty(chunks), np.empty(chunks, dtype=np.int64)
        limit_pairs(x, p, pairs, offsets, is_edge_pair, float(keep), alpha, limits, which)
        # the first of equal ones, whatever the number of threads
        best = int(np.argmin(limits))
        if which[best] >= 0:
            alpha, pair = float(limits[best]), pairs[which[best]].copy()
    return alpha, pair


def pair_steps(candidates: Candidates, x: Floats, p: Floats, *, keep: float = 0.1) -> list[tuple[Ints, Floats]]:
    """Every pair's own step: point–triangle, then edge–edge pairs (k, 4), and the α ≤ 1 that each alone allows (k,).

    The least of them is never larger than the α of `max_step`, and the same up to rounding; it is 0 where a pair's
    gap is lost to rounding, which `max_step` does not ask once another pair's limit is so short that it need not.
    Arguments as there.
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    p = np.ascontiguousarray(p, dtype=np.float64)
    found = []
    for pairs, offsets, is_edge_pair in (
        (candidates.pt, candidates.pt_offset, False),
        (candidates.ee, candidates.ee_offset, True),
    ):
        steps = np.empty(len(pairs))
        limit_each(x, p, pairs, offsets, is_edge_pair, float(keep), steps)
        found.append((pairs, steps))
    return found
