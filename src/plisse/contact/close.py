"""Pairs that a start leaves closer together than contact would let them come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plisse.contact.candidates import Candidates
from plisse.core.arrays import Bools, Floats, Ints
from plisse.kernels import barrier

SLACK = 1e-3  # a pair within this part of its offset counts as too close
LEFT = 0.5  # part of the distance at the start that becomes its offset, and its dhat
# Times what other contact has: with so short a reach they would be squeezed to a thousandth of it, and what is squeezed
# like that can slide by no more than the root of its gap times its radius in a step, and all others with it.
FIRMNESS = 1e3


@dataclass(frozen=True, eq=False)
class ClosePairs:
    """Point–triangle and edge–edge pairs (k, 4) with an offset [m] of their own (k,), which is also their dhat.

    Triangles that share a vertex or an edge do not push each other and may fold together. When they are subdivided,
    their parts do not share it any more, and lie closer than their offset: they keep half of the distance that they
    have, and so can neither pass through each other nor throw each other apart.
    """

    pt: Ints
    pt_offset: Floats
    ee: Ints
    ee_offset: Floats
    touched: Bools

    def relax(self, found: Candidates) -> tuple[Candidates, Floats]:
        """The candidates with these pairs' own offset and dhat, and how many times as firm each of all is (k,)."""
        if len(self.pt) + len(self.ee) == 0:
            return found, np.ones(len(found.pt) + len(found.ee))
        pt_offset, pt_dhat, pt = self._own(found.pt, found.pt_offset, found.pt_dhat, self.pt, self.pt_offset)
        pairs = _in_order(found.ee)
        ee_offset, ee_dhat, ee = self._own(pairs, found.ee_offset, found.ee_dhat, self.ee, self.ee_offset)
        relaxed = replace(found, pt_offset=pt_offset, pt_dhat=pt_dhat, ee_offset=ee_offset, ee_dhat=ee_dhat)
        return relaxed, np.where(np.concatenate([pt, ee]), FIRMNESS, 1.0)

    def _own(self, pairs: Ints, offset: Floats, dhat: Floats, close: Ints, own: Floats) -> tuple[Floats, Floats, Bools]:
        some = np.flatnonzero(self.touched[pairs].all(axis=1))
        rows = np.concatenate([close, pairs[some]])
        _, name = np.unique(rows, axis=0, return_inverse=True)
        name = name.ravel()
        value = np.full(len(rows), np.inf)
        value[name[: len(close)]] = own
        limit = value[name[len(close) :]]
        offset, dhat, is_close = offset.copy(), dhat.copy(), np.zeros(len(pairs), bool)
        offset[some], dhat[some] = np.minimum(offset[some], limit), np.minimum(dhat[some], limit)
        is_close[some] = np.isfinite(limit)
        return offset, dhat, is_close


def find_close(found: Candidates, x: Floats, body: Ints) -> ClosePairs:
    """The candidates within one body that are closer than their offset at x (n, 3) [m]."""
    pairs, offset = np.concatenate([found.pt, found.ee]), np.concatenate([found.pt_offset, found.ee_offset])
    weights, D = np.empty((len(pairs), 4)), np.empty(len(pairs))
    barrier.witnesses(x, pairs, len(found.pt), weights, D)
    d = np.sqrt(D)
    near = (d <= offset * (1.0 + SLACK)) & (body[pairs[:, 0]] == body[pairs[:, 3]])
    pt = np.flatnonzero(near[: len(found.pt)])
    ee = np.flatnonzero(near[len(found.pt) :])
    touched = np.zeros(len(x), bool)
    touched[pairs[near]] = True
    own = LEFT * d
    return ClosePairs(found.pt[pt], own[pt], _in_order(found.ee[ee]), own[len(found.pt) + ee], touched)


def _in_order(edges: Ints) -> Ints:
    """Edge–edge pairs (k, 4) with the edge of the lower vertex first: the search leaves it open."""
    return np.where((edges[:, 0] > edges[:, 2])[:, None], edges[:, [2, 3, 0, 1]], edges)
