"""Edge collapses, the cheapest first, until a mesh has few enough vertices; points on it move along."""

from typing import NamedTuple

import numpy as np

from plisse.core.arrays import Bytes, Floats, Ints, Longs
from plisse.kernels.flatten import MOST_STRETCH, find_stretch, flatten, is_injective
from plisse.kernels.guards import (
    ALLOWED,
    FOREVER,
    HUB,
    INVERTED,
    STRETCHED,
    check_ears,
    check_shapes,
    check_topology,
    choose,
)
from plisse.kernels.heap import heapify, set_price, take_out
from plisse.kernels.jit import kernel
from plisse.kernels.patch import RING, gather_merge, gather_slide
from plisse.kernels.points import relocate
from plisse.kernels.surface import (
    ON_CURVE,
    following,
    one_of_two,
    preceding,
    rewind,
    source,
    target,
    turn_left,
)
from plisse.kernels.values import check_pattern, find_values, set_values

REACHED, STUCK, FULL = 0, 1, 2


class Log(NamedTuple):
    """What every collapse did, in order, with room for more; vertices and faces have the finest mesh's numbers."""

    ends: Ints  # kept and removed vertex, shape (c, 2)
    faces: Ints  # faces that vanished, left and right of kept → removed, -1 for none, shape (c, 2)
    corners: Ints  # their vertices, shape (c, 2, 3)
    places: Floats  # positions [m] of kept and removed vertex before, of the merged one after, shape (c, 3, 3)
    moved_end: Longs  # where each collapse's moved faces end, shape (c,)
    ring_end: Longs  # where each collapse's ring ends, shape (c,)
    moved: Ints  # faces that passed from the removed to the kept vertex
    ring: Ints  # neighbours of the merged vertex


class Progress(NamedTuple):
    """Counters and what was found out about edges."""

    refused: Bytes  # rule against a half-edge's edge plus one, 0 for none, shape (3m,)
    troubled: Ints  # number of refused edges at a vertex, shape (n,)
    counts: Longs  # vertices, collapses logged, stamps used, collapses tried, points relocated, whether
    # second-best places are tried; shape (6,)


VERTICES, LOGGED, STAMPS, TRIES, RELOCATED, PRESSED = range(6)


@kernel
def price_all(surface, prices, heap, progress):
    """Put all edges into the heap; those that can never collapse are marked as refused."""
    place = np.empty(3)
    size = 0
    for h in range(surface.twin.size):
        if one_of_two(surface.twin, h) != h:
            continue
        rule, _, price = choose(surface, prices, h, place)
        if rule != ALLOWED:
            progress.refused[h] = rule + 1
            continue
        heap.price[h] = price
        heap.items[size] = h
        size += 1
    heap.size[0] = size
    heapify(heap)


@kernel
def _find_on_axis(surface, patch, v, other):
    """The local number of v's neighbour along its curve that is not the local vertex `other`; -1 for none."""
    first = surface.start[v]
    g = first
    found = -1
    while True:
        if surface.curve[g] and target(surface.triangles, g) != other:
            found = target(surface.triangles, g)
        q = turn_left(surface.twin, g)
        if q < 0:
            w = source(surface.triangles, preceding(g))
            if w != other:
                found = w
            break
        if q == first:
            break
        g = q
    for k in range(RING, patch.counts[0]):
        if patch.vertices[k] == found:
            return k
    return -1


@kernel
def prepare(surface, prices, patch, progress, h, first_rest):
    """Everything about the collapse of an edge but the collapse: the rule against it, kept and removed vertex,
    whether the removed one is on a curve, and the price."""
    progress.counts[TRIES] += 1
    i, j = source(surface.triangles, h), target(surface.triangles, h)
    rule, part, price = choose(surface, prices, h, patch.place)
    if rule != ALLOWED:
        return rule, i, j, False, price
    progress.counts[STAMPS] += 1
    rule = check_topology(surface, h, progress.counts[STAMPS])
    if rule != ALLOWED:
        return rule, i, j, False, price
    rule, kept, removed, curved, factor = _examine(surface, patch, h, part, first_rest)
    if rule != ALLOWED and progress.counts[PRESSED] and surface.kind[i] == surface.kind[j]:
        # the best place will not do: either end may
        for end in range(2):
            if rule != ALLOWED:
                for k in range(3):
                    patch.place[k] = surface.X[i if end == 0 else j, k]
                rule, kept, removed, curved, factor = _examine(surface, patch, h, 2.0 + end, first_rest)
    return rule, kept, removed, curved, price * factor


@kernel
def _examine(surface, patch, h, part, first_rest):
    """Gather and flatten the patch of a collapse, and check it; arguments and results as in `choose` and `prepare`,
    with the price's factor for its price."""
    i, j = source(surface.triangles, h), target(surface.triangles, h)
    rule = check_ears(surface, h, part)
    if rule != ALLOWED:
        return rule, i, j, False, 1.0
    merge = part <= 1.0
    if part == 3.0:
        i, j = j, i
    fits = gather_merge(surface, patch, h) if merge else gather_slide(surface, patch, i, j)
    if not fits:
        return HUB, i, j, False, 1.0
    rule, factor = check_shapes(patch)
    if rule != ALLOWED:
        return rule, i, j, False, 1.0
    curved = surface.kind[j] == ON_CURVE
    on_axis, other = -1, -1
    if curved:
        on_axis = _find_on_axis(surface, patch, j, i)
        if merge:
            other = _find_on_axis(surface, patch, i, j)
    if not flatten(patch, merge, part, on_axis, other) or not is_injective(patch):
        return INVERTED, i, j, curved, 1.0
    if not find_stretch(patch) <= MOST_STRETCH:
        return STRETCHED, i, j, curved, 1.0
    if surface.corners.shape[2] > 0:
        find_values(surface.corners, patch, merge, part)
        if first_rest >= 0:
            rule = check_pattern(surface.corners, patch, first_rest)
    return rule, i, j, curved, factor


@kernel
def _write_log(surface, patch, log, progress, i, j):
    """Log the collapse of j into i before it happens; the ring follows afterwards."""
    at = progress.counts[LOGGED]
    log.ends[at, 0], log.ends[at, 1] = i, j
    log.faces[at, :] = -1
    log.corners[at, :, :] = -1
    for k in range(3):
        log.places[at, 0, k] = surface.X[i, k]
        log.places[at, 1, k] = surface.X[j, k]
        log.places[at, 2, k] = patch.place[k]
    end = log.moved_end[at - 1] if at > 0 else 0
    first = surface.start[j]
    g = first
    while True:
        f = g // 3
        side = -1
        if target(surface.triangles, g) == i:
            side = 1
        elif source(surface.triangles, preceding(g)) == i:
            side = 0
        if side >= 0:
            log.faces[at, side] = f
            for k in range(3):
                log.corners[at, side, k] = surface.triangles[f, k]
        else:
            log.moved[end] = f
            end += 1
        g = turn_left(surface.twin, g)
        if g < 0 or g == first:
            break
    log.moved_end[at] = end


@kernel
def _forget(heap, progress, surface, h):
    """An edge vanishes or changes: it leaves the heap, and is no longer refused."""
    e = one_of_two(surface.twin, h)
    take_out(heap, e)
    if progress.refused[e] > FOREVER + 1:
        progress.troubled[source(surface.triangles, e)] -= 1
        progress.troubled[target(surface.triangles, e)] -= 1
    progress.refused[e] = 0


@kernel
def _close(surface, heap, progress, g):
    """Take out the face of half-edge g, whose ends merge, and join its two neighbours along what is one edge now.

    Returns a half-edge out of the merged vertex.
    """
    twin, curve = surface.twin, surface.curve
    there, back = following(g), preceding(g)
    _forget(heap, progress, surface, there)
    _forget(heap, progress, surface, back)
    one, two = twin[there], twin[back]
    kept = curve[there] or curve[back]
    if one >= 0:
        twin[one] = two
        curve[one] = kept
    if two >= 0:
        twin[two] = one
        curve[two] = kept
    surface.face_alive[g // 3] = False
    # of the half-edges out of the apex, `back` vanishes and `one` stays
    apex = target(surface.triangles, there)
    if surface.start[apex] == back:
        surface.start[apex] = one
    return two if two >= 0 else following(one)


@kernel
def _merge(surface, prices, heap, progress, patch, log, h, i, j):
    """Make one vertex of i and j, the ends of half-edge h."""
    triangles = surface.triangles
    at = progress.counts[LOGGED]
    _forget(heap, progress, surface, h)
    back = surface.twin[h]
    out = _close(surface, heap, progress, h)
    if back >= 0:
        out = _close(surface, heap, progress, back)
    begin = log.moved_end[at - 1] if at > 0 else 0
    for k in range(begin, log.moved_end[at]):
        f = log.moved[k]
        for c in range(3):
            if triangles[f, c] == j:
                triangles[f, c] = i
    surface.start[i] = rewind(surface.twin, out)
    for k in range(3):
        surface.X[i, k] = patch.place[k]
    for k in range(10):
        prices.quadrics[i, k] += prices.quadrics[j, k]
    prices.merged[i] += prices.merged[j]
    surface.vertex_alive[j] = False
    progress.troubled[i] += progress.troubled[j]
    progress.counts[VERTICES] -= 1


@kernel
def _reprice(surface, prices, heap, progress, h, place):
    """A new price for the edge of h, one of whose ends has moved."""
    _forget(heap, progress, surface, h)
    e = one_of_two(surface.twin, h)
    rule, _, price = choose(surface, prices, e, place)
    if rule == ALLOWED:
        set_price(heap, e, price)
    else:
        progress.refused[e] = rule + 1


@kernel
def _try_again(surface, heap, progress, v):
    """Put refused edges at a vertex back into the heap: what is around them has changed."""
    first = surface.start[v]
    g = first
    while progress.troubled[v] > 0:
        q = turn_left(surface.twin, g)
        for k in range(2):
            e = one_of_two(surface.twin, g if k == 0 else preceding(g))
            if progress.refused[e] > FOREVER + 1:
                _forget(heap, progress, surface, e)
                set_price(heap, e, heap.price[e])
        if q < 0 or q == first:
            break
        g = q


@kernel
def _renew(surface, prices, heap, progress, patch, log, i):
    """After a collapse into i: log the ring, price the edges of i anew, and try again what was refused around it."""
    at = progress.counts[LOGGED]
    begin = log.ring_end[at - 1] if at > 0 else 0
    end = begin
    first = surface.start[i]
    g = first
    while True:
        log.ring[end] = target(surface.triangles, g)
        end += 1
        _reprice(surface, prices, heap, progress, g, patch.place)
        q = turn_left(surface.twin, g)
        if q < 0:
            log.ring[end] = source(surface.triangles, preceding(g))
            end += 1
            _reprice(surface, prices, heap, progress, preceding(g), patch.place)
            break
        if q == first:
            break
        g = q
    log.ring_end[at] = end
    for k in range(begin, end):
        _try_again(surface, heap, progress, log.ring[k])


@kernel
def _count_faces(surface, v):
    """Number of triangles at a vertex."""
    first = surface.start[v]
    g = first
    count = 0
    while True:
        count += 1
        g = turn_left(surface.twin, g)
        if g < 0 or g == first:
            return count


@kernel
def _has_room(surface, log, at, i, j):
    """Whether the log has room for the collapse of j into i."""
    if at == log.ends.shape[0]:
        return False
    begin = log.ring_end[at - 1] if at > 0 else 0
    other = log.moved_end[at - 1] if at > 0 else 0
    need = _count_faces(surface, i) + _count_faces(surface, j) + 2
    return begin + need <= log.ring.size and other + need <= log.moved.size


@kernel
def collapse_until(surface, prices, heap, progress, patch, points, log, goal, first_rest):
    """Collapse edges until the mesh has `goal` vertices, no edge may collapse, or the log is full; returns which.

    first_rest: number of the first corner value of a rest pattern, -1 without one.
    """
    while progress.counts[VERTICES] > goal:
        if heap.size[0] == 0:
            if progress.counts[PRESSED]:
                return STUCK
            # once more with everything, and with less of a choice
            progress.counts[PRESSED] = 1
            for v in range(surface.start.size):
                if surface.vertex_alive[v]:
                    _try_again(surface, heap, progress, v)
            continue
        h = heap.items[0]
        rule, i, j, curved, price = prepare(surface, prices, patch, progress, h, first_rest)
        if rule != ALLOWED:
            take_out(heap, h)
            progress.refused[h] = rule + 1
            if rule > FOREVER:
                progress.troubled[i] += 1
                progress.troubled[j] += 1
            continue
        if price > heap.price[h]:
            # its turn comes later
            set_price(heap, h, price)
            continue
        if not _has_room(surface, log, progress.counts[LOGGED], i, j):
            return FULL
        _write_log(surface, patch, log, progress, i, j)
        progress.counts[RELOCATED] += relocate(points, patch)
        set_values(surface.corners, patch, not curved)
        _merge(surface, prices, heap, progress, patch, log, h, i, j)
        _renew(surface, prices, heap, progress, patch, log, i)
        progress.counts[LOGGED] += 1
    return REACHED
