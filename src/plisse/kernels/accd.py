"""Additive continuous collision detection: how far a pair may move and still keep its distance."""

import math

import numpy as np
from numba import prange

from plisse.core.arrays import Floats, Ints, Longs
from plisse.kernels.distance import edge_edge, point_triangle
from plisse.kernels.jit import kernel, parallel_kernel

ROUNDS = 256  # advances of one pair; the time reached so far is safe whenever it stops
CLOSE = 1.05  # a gap below this multiple of the one to keep ends the advance
CHUNK = 2048  # pairs in a unit of parallel work


@kernel
def _limit_pair(
    x: Floats,
    p: Floats,
    a: int,
    b: int,
    c: int,
    d: int,
    is_edge_pair: bool,
    offset: float,
    keep: float,
    limit: float,
) -> float:
    """A t ≤ limit up to which the pair keeps its gap: distance(s) − offset ≥ keep · gap(0) for all s ≤ t.

    Motion is taken relative to the pair's mean, y(t) = x + t (p − p̄). From y the pair advances by the
    larger of two safe amounts: (gap − gap to keep) / l with the bound l on the relative speed ([Li2021]
    Algorithm 1), and the time that the slab between the closest points stays that wide, which sliding along
    each other does not shorten: n·(y_i − y_j) is linear in t for all vertices i of the one primitive and j
    of the other. Differs: the slab; and the gap to keep holds all along, not only at the samples.
    """
    mx = 0.25 * (p[a, 0] + p[b, 0] + p[c, 0] + p[d, 0])
    my = 0.25 * (p[a, 1] + p[b, 1] + p[c, 1] + p[d, 1])
    mz = 0.25 * (p[a, 2] + p[b, 2] + p[c, 2] + p[d, 2])
    pax, pay, paz = p[a, 0] - mx, p[a, 1] - my, p[a, 2] - mz
    pbx, pby, pbz = p[b, 0] - mx, p[b, 1] - my, p[b, 2] - mz
    pcx, pcy, pcz = p[c, 0] - mx, p[c, 1] - my, p[c, 2] - mz
    pdx, pdy, pdz = p[d, 0] - mx, p[d, 1] - my, p[d, 2] - mz
    # positions relative to the first vertex: the distance of things far from the origin keeps its digits
    ox, oy, oz = x[a, 0], x[a, 1], x[a, 2]
    one = pax * pax + pay * pay + paz * paz
    second = pbx * pbx + pby * pby + pbz * pbz
    other = max(pcx * pcx + pcy * pcy + pcz * pcz, pdx * pdx + pdy * pdy + pdz * pdz)
    if is_edge_pair:
        one = max(one, second)
    else:
        other = max(other, second)
    speed = math.sqrt(one) + math.sqrt(other)
    t = 0.0
    kept = 0.0
    for turn in range(ROUNDS):
        ax, ay, az = t * pax, t * pay, t * paz
        bx, by, bz = x[b, 0] - ox + t * pbx, x[b, 1] - oy + t * pby, x[b, 2] - oz + t * pbz
        cx, cy, cz = x[c, 0] - ox + t * pcx, x[c, 1] - oy + t * pcy, x[c, 2] - oz + t * pcz
        dx, dy, dz = x[d, 0] - ox + t * pdx, x[d, 1] - oy + t * pdy, x[d, 2] - oz + t * pdz
        # the vector between the closest points, from the second primitive to the first
        if is_edge_pair:
            square, u, v = edge_edge(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz)
            nx = (1.0 - u) * ax + u * bx - (1.0 - v) * cx - v * dx
            ny = (1.0 - u) * ay + u * by - (1.0 - v) * cy - v * dy
            nz = (1.0 - u) * az + u * bz - (1.0 - v) * cz - v * dz
        else:
            square, wb, wc, wd = point_triangle(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz)
            nx = ax - wb * bx - wc * cx - wd * dx
            ny = ay - wb * by - wc * cy - wd * dy
            nz = az - wb * bz - wc * cz - wd * dz
        distance = math.sqrt(square)
        # (d² − ξ²) / (d + ξ), not d − ξ, keeps the digits of a small gap
        gap = (square - offset * offset) / (distance + offset) if square > 0.0 else -offset
        if turn == 0:
            if not gap > 0.0:
                return 0.0
            kept = keep * gap
        elif gap <= CLOSE * kept:
            return t
        spare = gap - kept
        if spare >= speed * (limit - t):
            return limit
        # a gap that x + t p itself is not computed to cannot be kept
        if kept <= 1e-15 * (abs(ox) + abs(oy) + abs(oz) + abs(mx) + abs(my) + abs(mz) + speed):
            return 0.0
        advance = spare / speed
        # time until the slab along n is only offset + kept wide
        nx, ny, nz = nx / distance, ny / distance, nz / distance
        sb = nx * bx + ny * by + nz * bz
        sc = nx * cx + ny * cy + nz * cz
        sd = nx * dx + ny * dy + nz * dz
        sa = nx * ax + ny * ay + nz * az
        va = nx * pax + ny * pay + nz * paz
        vb = nx * pbx + ny * pby + nz * pbz
        vc = nx * pcx + ny * pcy + nz * pcz
        vd = nx * pdx + ny * pdy + nz * pdz
        wide = offset + kept
        slab = min(_cross(sa - sc - wide, va - vc), _cross(sa - sd - wide, va - vd))
        if is_edge_pair:
            slab = min(slab, _cross(sb - sc - wide, vb - vc), _cross(sb - sd - wide, vb - vd))
        else:
            slab = min(slab, _cross(sa - sb - wide, va - vb))
        t += max(advance, slab)
        if t >= limit:
            return limit
    return t


@kernel
def _cross(spare: float, rate: float) -> float:
    """Time until spare + t rate is 0; never when it does not shrink."""
    if rate >= 0.0:
        return np.inf if spare >= 0.0 else 0.0
    return max(spare, 0.0) / -rate


@kernel
def _limit_chunk(
    x: Floats,
    p: Floats,
    pairs: Ints,
    offsets: Floats,
    is_edge_pair: bool,
    keep: float,
    limit: float,
    first: int,
    last: int,
) -> tuple[float, int]:
    """Smallest limit of the pairs first:last, and the first pair that has it, −1 for none."""
    found = -1
    for i in range(first, last):
        a, b, c, d = pairs[i, 0], pairs[i, 1], pairs[i, 2], pairs[i, 3]
        t = _limit_pair(x, p, a, b, c, d, is_edge_pair, offsets[i], keep, limit)
        if t < limit:
            limit = t
            found = i
    return limit, found


@parallel_kernel
def limit_pairs(
    x: Floats,
    p: Floats,
    pairs: Ints,
    offsets: Floats,
    is_edge_pair: bool,
    keep: float,
    limit: float,
    limits: Floats,
    which: Longs,
) -> None:
    """For each chunk the smallest step below `limit` and the number of its pair, −1 for none.

    limits, which: shape (⌈pairs / CHUNK⌉,).
    """
    for chunk in prange(limits.size):
        first, last = chunk * CHUNK, min((chunk + 1) * CHUNK, len(pairs))
        limits[chunk], which[chunk] = _limit_chunk(x, p, pairs, offsets, is_edge_pair, keep, limit, first, last)


@parallel_kernel
def limit_each(
    x: Floats, p: Floats, pairs: Ints, offsets: Floats, is_edge_pair: bool, keep: float, out: Floats
) -> None:
    """The step ≤ 1 that each pair alone allows, into out (k,)."""
    for i in prange(out.size):
        out[i] = _limit_pair(
            x, p, pairs[i, 0], pairs[i, 1], pairs[i, 2], pairs[i, 3], is_edge_pair, offsets[i], keep, 1.0
        )
