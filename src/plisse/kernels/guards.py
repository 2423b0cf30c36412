"""Which edges may collapse, where their merged vertex goes, and what the collapse must not do to the triangles."""

from typing import NamedTuple

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.kernels.jit import kernel
from plisse.kernels.quadrics import evaluate, find_minimum, find_minimum_between
from plisse.kernels.surface import FREE, LOCKED, count_shared, following, preceding, source, target, turn_left

# why an edge must not collapse; names for reports, in the order of the numbers
RULES = ("group", "locked", "bridge", "ear", "link", "hub", "fold", "sliver", "inverted", "stretched", "pattern")
GROUP, LOCK, BRIDGE, EAR, LINK, HUB, FOLD, SLIVER, INVERTED, STRETCHED, PATTERN = range(11)
ALLOWED = -1
FOREVER = BRIDGE  # rules up to this one depend on nothing that other collapses change

CONE = 0.5  # cosine of the largest angle between a triangle's normals before and after
FAIR = 0.5  # quality below which a collapse costs more
STEEPNESS = 3.0  # power of quality in that surcharge
FLOOR = 0.3  # quality below which no triangle may fall, unless one was worse before
END = 0.02  # parts of an edge so near to an end are at the end


class Prices(NamedTuple):
    """What the order of collapses follows from."""

    quadrics: Floats  # shape (n, 10)
    origin: Floats  # that quadrics are relative to [m], shape (3,)
    unevenness: float  # greatest part that chance adds to a price at first
    seed: int
    merged: Ints  # number of fine vertices that have become one, shape (n,)


@kernel
def chance(seed, i, j):
    """A number in 0..1 that looks random and depends on the seed and the two vertices only."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(min(i, j)) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(max(i, j)) * np.uint64(0x94D049BB133111EB)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@kernel
def find_tips(surface, h):
    """Which ends of an edge on a curve are tips of ears, triangles with two sides on curves: 0 none, 1 the source,
    2 the target, 3 both."""
    curve, back = surface.curve, surface.twin[h]
    source_is, target_is = curve[preceding(h)], curve[following(h)]
    if back >= 0:
        source_is |= curve[following(back)]
        target_is |= curve[preceding(back)]
    return source_is + 2 * target_is


@kernel
def choose(surface, prices, h, place):
    """How the edge of half-edge h, from i to j, would collapse: the rule against it, the part, and the price.

    part: -1 where both ends move to the place of least cost, 0..1 where they move to that part of the way from i to j
    along a curve, 2 where j slides onto i, 3 where i slides onto j. place (3,): where the merged vertex goes [m].
    """
    X = surface.X
    i, j = source(surface.triangles, h), target(surface.triangles, h)
    if surface.label[i] != surface.label[j]:
        return GROUP, -1.0, 0.0
    one, two = surface.kind[i], surface.kind[j]
    if one == LOCKED and two == LOCKED:
        return LOCK, -1.0, 0.0
    if one != FREE and two != FREE and not surface.curve[h]:
        return BRIDGE, -1.0, 0.0
    q = prices.quadrics[i] + prices.quadrics[j]
    o = prices.origin
    if one == FREE and two == FREE:
        part = -1.0
        x, y, z = find_minimum(q)
        place[0], place[1], place[2] = x + o[0], y + o[1], z + o[2]
    else:
        tips = find_tips(surface, h) if surface.curve[h] else 0
        if tips == 3:
            return EAR, -1.0, 0.0
        if one == two:
            part = find_minimum_between(q, X[i] - o, X[j] - X[i])
            if tips > 0:
                part = 1.0 + tips
            elif part < END:
                part = 2.0
            elif part > 1.0 - END:
                part = 3.0
        else:
            part = 2.0 if one > two else 3.0
        if part <= 1.0:
            for k in range(3):
                place[k] = X[i, k] + part * (X[j, k] - X[i, k])
        else:
            v = i if part == 2.0 else j
            for k in range(3):
                place[k] = X[v, k]
    cost = evaluate(q, place[0] - o[0], place[1] - o[1], place[2] - o[2])
    uneven = prices.unevenness * (2.0 / (prices.merged[i] + prices.merged[j])) ** 2
    price = max(cost, 0.0) * (1.0 + uneven * chance(prices.seed, i, j))
    return ALLOWED, part, price


@kernel
def check_ears(surface, h, part):
    """EAR where an ear would lose its tip, else ALLOWED; part as in `choose`.

    The tip may take up another vertex of its ear: the curve is straight there in the plane, and stays what it was.
    """
    if surface.curve[h]:
        tips = find_tips(surface, h)
        if tips > 0 and part != 1.0 + tips:
            return EAR
    return ALLOWED


@kernel
def check_topology(surface, h, stamp):
    """The rule that the connectivity about an edge breaks, or ALLOWED."""
    twin = surface.twin
    back = twin[h]
    i, j = source(surface.triangles, h), target(surface.triangles, h)
    if count_shared(surface, i, j, stamp) != (2 if back >= 0 else 1):
        return LINK
    if back >= 0:
        # the third vertices must not be joined on both sides: that is a tetrahedron
        one, two = turn_left(twin, h), turn_left(twin, back)
        if one >= 0 and two >= 0:
            if turn_left(twin, one) == following(back) and turn_left(twin, two) == following(h):
                return LINK
    return ALLOWED


@kernel
def shape(A, B, C):
    """A triangle's normal, of the length of its double area, and its quality 4√3 A / Σ l²."""
    ux, uy, uz = B[0] - A[0], B[1] - A[1], B[2] - A[2]
    vx, vy, vz = C[0] - A[0], C[1] - A[1], C[2] - A[2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    squares = ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz
    squares += (vx - ux) ** 2 + (vy - uy) ** 2 + (vz - uz) ** 2
    return x, y, z, 2.0 * np.sqrt(3.0) * np.sqrt(x * x + y * y + z * z) / squares


@kernel
def check_shapes(patch):
    """FOLD where a triangle turns too far, SLIVER where one becomes too thin, else ALLOWED; and the factor by which
    triangles that are thinner than before and than fair ones raise the price."""
    P, local, faces = patch.P, patch.local, patch.faces
    worst, least = 1.0, 1.0
    after = patch.counts[1]
    for t in range(patch.counts[1]):
        x, y, z, quality = shape(P[local[t, 0]], P[local[t, 1]], P[local[t, 2]])
        worst = min(worst, quality)
        # triangles after have the order of those before, some of which are gone
        if after < patch.counts[2] and faces[after] == faces[t]:
            X, Y, Z, quality = shape(P[local[after, 0]], P[local[after, 1]], P[local[after, 2]])
            dot = x * X + y * Y + z * Z
            if not dot >= CONE * np.sqrt((x * x + y * y + z * z) * (X * X + Y * Y + Z * Z)):
                return FOLD, 1.0
            least = min(least, quality)
            after += 1
    if not (least >= FLOOR or least >= worst):
        return SLIVER, 1.0
    fair = min(FAIR, worst)
    return ALLOWED, (fair / least) ** STEEPNESS if least < fair else 1.0
