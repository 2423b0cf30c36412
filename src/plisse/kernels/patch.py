"""The few triangles that an edge collapse touches, before and after, and their joint map to the plane.

Two kinds of collapse: a *merge* moves both ends to a new place, a *slide* moves the removed vertex onto the kept one
and leaves everything else at that one untouched. Local vertices are numbered 0 for the kept one, 1 for the removed
one, 2 for the merged one (a slide has none, and its after-triangles turn about 0), and from 3 on for the ring.
"""

from typing import NamedTuple

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.kernels.jit import kernel
from plisse.kernels.surface import following, preceding, source, target, turn_left

MOST_RING = 40  # vertices about a patch; more would make a hub of the merged vertex
KEPT, REMOVED, MERGED, RING = 0, 1, 2, 3
SIZE = MOST_RING + RING + 2


class Patch(NamedTuple):
    """Scratch space for one collapse."""

    vertices: Ints  # of the local vertices, shape (SIZE,)
    P: Floats  # their positions [m], shape (SIZE, 3)
    uv: Floats  # and in the plane, shape (SIZE, 2)
    unknown: Ints  # number of each coordinate in the plane among the unknown ones, -1 for given ones, shape (SIZE, 2)
    local: Ints  # local vertices of the triangles, those before and then those after, shape (2 SIZE, 3)
    faces: Ints  # their faces, shape (2 SIZE,)
    first: Ints  # in a triangle before, the corner of its face that is its first local vertex, shape (2 SIZE,)
    counts: Ints  # local vertices, triangles before, triangles in all, whether the ring is closed; shape (4,)
    matrix: Floats  # of the flattening, shape (2 SIZE, 2 SIZE)
    right: Floats  # shape (2 SIZE,)
    place: Floats  # where the merged vertex goes [m], shape (3,)
    values: Floats  # corner values of the merged vertex, left and right of the edge, shape (2, d)


def make_patch(d: int) -> Patch:
    """Scratch space for meshes with d values a corner."""
    ints = [np.zeros(shape, np.int32) for shape in ((SIZE,), (SIZE, 2), (2 * SIZE, 3), (2 * SIZE,), (2 * SIZE,), (4,))]
    floats = [np.zeros(shape) for shape in ((SIZE, 3), (SIZE, 2), (2 * SIZE, 2 * SIZE), (2 * SIZE,), (3,), (2, d))]
    return Patch(
        ints[0], floats[0], floats[1], ints[1], ints[2], ints[3], ints[4], ints[5], floats[2], floats[3], floats[4],
        floats[5],
    )  # fmt: skip


@kernel
def _add_vertex(surface, patch, v):
    """The new local vertex's number, or -1 where there are too many."""
    k = patch.counts[0]
    if k >= MOST_RING + RING:
        return -1
    patch.counts[0] = k + 1
    patch.vertices[k] = v
    for axis in range(3):
        patch.P[k, axis] = surface.X[v, axis]
    return k


@kernel
def _add_triangle(patch, at, h, a, b, c):
    """A local triangle (a, b, c) of the face of half-edge h, which leaves a."""
    patch.local[at, 0], patch.local[at, 1], patch.local[at, 2] = a, b, c
    patch.faces[at] = h // 3
    patch.first[at] = h % 3


@kernel
def _set_ends(surface, patch, i, j):
    for axis in range(3):
        patch.P[KEPT, axis] = surface.X[i, axis]
        patch.P[REMOVED, axis] = surface.X[j, axis]
        patch.P[MERGED, axis] = patch.place[axis]
    patch.vertices[KEPT], patch.vertices[REMOVED], patch.vertices[MERGED] = i, j, i
    patch.counts[0] = RING


@kernel
def _walk(surface, patch, g, end, hub, last, count):
    """Add the fan of a hub's triangles from half-edge g until `end` or the boundary, going on from ring vertex `last`.

    Returns the last ring vertex, -1 where there are too many, and the number of triangles.
    """
    while g >= 0 and g != end:
        k = _add_vertex(surface, patch, source(surface.triangles, preceding(g)))
        if k < 0:
            return -1, count
        _add_triangle(patch, count, g, hub, last, k)
        count += 1
        last = k
        g = turn_left(surface.twin, g)
    return last, count


@kernel
def gather_merge(surface, patch, h):
    """The stars of both ends of half-edge h, which runs from the kept vertex to the removed one; False if too large."""
    triangles, twin = surface.triangles, surface.twin
    i, j = source(triangles, h), target(triangles, h)
    _set_ends(surface, patch, i, j)
    back = twin[h]
    patch.counts[3] = back >= 0
    if back >= 0:
        # round from the left apex: the kept vertex's fan to the right apex, then the removed one's back
        apex = _add_vertex(surface, patch, source(triangles, preceding(h)))
        last, count = _walk(surface, patch, turn_left(twin, h), following(back), KEPT, apex, 0)
        if last < 0:
            return False
        right = last
        last, count = _walk(surface, patch, turn_left(twin, back), following(h), REMOVED, last, count)
        if last < 0:
            return False
        # the walk came back to where it began
        patch.counts[0] -= 1
        patch.local[count - 1, 2] = apex
    else:
        first = _add_vertex(surface, patch, target(triangles, surface.start[j]))
        last, count = _walk(surface, patch, surface.start[j], following(h), REMOVED, first, 0)
        if last < 0:
            return False
        apex, right = last, -1
        last, count = _walk(surface, patch, turn_left(twin, h), -1, KEPT, last, count)
        if last < 0:
            return False
    around = count
    _add_triangle(patch, count, h, KEPT, REMOVED, apex)
    count += 1
    if back >= 0:
        _add_triangle(patch, count, back, REMOVED, KEPT, right)
        count += 1
    patch.counts[1] = count
    for t in range(around):
        _add_triangle(
            patch, count + t, 3 * patch.faces[t] + patch.first[t], MERGED, patch.local[t, 1], patch.local[t, 2]
        )
    patch.counts[2] = count + around
    return True


@kernel
def gather_slide(surface, patch, i, j):
    """The star of the removed vertex j, which slides onto its neighbour i; False if too large."""
    triangles, twin = surface.triangles, surface.twin
    _set_ends(surface, patch, i, j)
    first = surface.start[j]
    closed = twin[first] >= 0
    if closed:
        while target(triangles, first) != i:
            first = turn_left(twin, first)
    patch.counts[3] = 0
    g = first
    v = target(triangles, first)
    start = KEPT if v == i else _add_vertex(surface, patch, v)
    last, count = start, 0
    while True:
        v = source(triangles, preceding(g))
        q = turn_left(twin, g)
        if v == i:
            k = KEPT
        else:
            k = _add_vertex(surface, patch, v)
            if k < 0:
                return False
        _add_triangle(patch, count, g, REMOVED, last, k)
        count += 1
        last = k
        if q < 0 or q == first:
            break
        g = q
    patch.counts[1] = count
    after = count
    for t in range(count):
        if patch.local[t, 1] != KEPT and patch.local[t, 2] != KEPT:
            _add_triangle(patch, after, 3 * patch.faces[t] + patch.first[t], KEPT, patch.local[t, 1], patch.local[t, 2])
            after += 1
    patch.counts[2] = after
    return True
