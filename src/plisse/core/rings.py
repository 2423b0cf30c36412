"""Neighbourhoods of vertices on a mesh."""

from __future__ import annotations

from plisse.core.arrays import Bools, Ints


def within_rings(triangles: Ints, chosen: Bools, rings: int) -> Bools:
    """Vertices (n,) within so many rings of triangles (m, 3) about the chosen ones (n,)."""
    out = chosen.copy()
    for _ in range(rings):
        out[triangles[out[triangles].any(axis=1)]] = True
    return out
