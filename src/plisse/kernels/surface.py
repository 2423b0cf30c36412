"""A triangle mesh that shrinks: half-edges over faces that keep their numbers, and its vertices' kinds.

Half-edge 3f + c runs along face f from corner c to the next; its twin runs back along the neighbouring face. Removed
faces and vertices stay in the arrays and are marked.
"""

from typing import NamedTuple

from plisse.core.arrays import Bools, Bytes, Floats, Ints
from plisse.kernels.jit import kernel

FREE, ON_CURVE, LOCKED = 0, 1, 2


class Surface(NamedTuple):
    """Connectivity and geometry of the present mesh; vertices and faces have the numbers of the finest one."""

    X: Floats  # positions [m], shape (n, 3)
    triangles: Ints  # shape (m, 3)
    corners: Floats  # values that belong to corners, interpolated along, shape (m, 3, d)
    twin: Ints  # the half-edge back, -1 on the boundary, shape (3m,)
    start: Ints  # a half-edge out of each vertex; on the boundary the one without a twin, shape (n,)
    curve: Bools  # half-edges of curves that keep their shape: boundaries, seams, borders of groups; shape (3m,)
    kind: Bytes  # FREE, ON_CURVE or LOCKED, shape (n,)
    label: Ints  # vertices of different labels never merge, shape (n,)
    vertex_alive: Bools  # shape (n,)
    face_alive: Bools  # shape (m,)
    mark: Ints  # scratch: stamps of vertices, shape (n,)


@kernel
def following(h):
    """The next half-edge of the same face."""
    return h - 2 if h % 3 == 2 else h + 1


@kernel
def preceding(h):
    """The last half-edge of the same face."""
    return h + 2 if h % 3 == 0 else h - 1


@kernel
def source(triangles, h):
    """The vertex that a half-edge leaves."""
    return triangles[h // 3, h % 3]


@kernel
def target(triangles, h):
    """The vertex that a half-edge reaches."""
    return triangles[h // 3, (h + 1) % 3]


@kernel
def turn_left(twin, h):
    """The next half-edge out of the same vertex, counter-clockwise; -1 past the boundary."""
    return twin[preceding(h)]


@kernel
def one_of_two(twin, h):
    """The half-edge that stands for the edge."""
    other = twin[h]
    return h if other < 0 or h < other else other


@kernel
def find_starts(triangles, twin, start):
    """A half-edge out of each vertex, the boundary's where there is one; fills start (n,)."""
    start[:] = -1
    for h in range(twin.size):
        v = source(triangles, h)
        if start[v] < 0 or twin[h] < 0:
            start[v] = h


@kernel
def rewind(twin, h):
    """The first half-edge of a vertex's fan, from any half-edge out of it."""
    g = h
    while twin[g] >= 0:
        g = following(twin[g])
        if g == h:
            break
    return g


@kernel
def count_shared(surface, i, j, stamp):
    """Number of vertices that are neighbours of both i and j; stamp has not been used before."""
    triangles, twin = surface.triangles, surface.twin
    mark = surface.mark
    first = surface.start[j]
    g = first
    while True:
        mark[target(triangles, g)] = stamp
        q = turn_left(twin, g)
        if q < 0:
            mark[source(triangles, preceding(g))] = stamp
            break
        if q == first:
            break
        g = q
    shared = 0
    first = surface.start[i]
    g = first
    while True:
        shared += mark[target(triangles, g)] == stamp
        q = turn_left(twin, g)
        if q < 0:
            shared += mark[source(triangles, preceding(g))] == stamp
            break
        if q == first:
            break
        g = q
    return shared


@kernel
def find_turns(triangles, twin, curve, places, bound, sharp):
    """Mark vertices at which a curve turns by more than an angle whose cosine is `bound`, seen from any of its sides.

    places: positions of the corners [m], shape (m, 3, 3); sharp: shape (n,), is added to.
    """
    for h in range(twin.size):
        if not curve[h]:
            continue
        # the next curve to the left: the boundary is one, so a fan does not end before it
        g = h
        while not curve[preceding(g)]:
            g = twin[preceding(g)]
        f, c = h // 3, h % 3
        F, C = g // 3, g % 3
        dot, one, two = 0.0, 0.0, 0.0
        for k in range(3):
            a = places[f, (c + 1) % 3, k] - places[f, c, k]
            b = places[F, (C + 2) % 3, k] - places[F, C, k]
            dot += a * b
            one += a * a
            two += b * b
        if not -dot >= bound * (one * two) ** 0.5:
            sharp[triangles[f, c]] = True
