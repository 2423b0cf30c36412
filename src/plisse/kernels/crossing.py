"""Whether two triangles keep clear of each other, as they are."""

import math
from typing import NamedTuple

from plisse.core.arrays import Bytes, Floats, Ints
from plisse.kernels.distance import edge_edge, point_triangle
from plisse.kernels.jit import kernel


class Scenery(NamedTuple):
    """What the rule of contact needs to know of vertices, see `contact.candidates.CollisionSurface`."""

    X: Floats  # rest positions [m], shape (n, 3)
    body: Ints  # shape (n,)
    deformable: Bytes  # whether a vertex belongs to a shell, shape (n,)
    planes: Floats  # unit normal of each half-space and its distance from the origin [m], shape (k, 4)
    offset: float  # smallest distance [m]
    dhat: float  # reach of the barrier beyond it [m]


class Clearance(NamedTuple):
    """What is asked of a pair: d ≥ own · offset + room · dhat.

    own: 1, or less for pairs within one body; room: part of the barrier's reach that is left to it.
    """

    own: float
    room: float


@kernel
def _point_triangle(x: Floats, p: int, a: int, b: int, c: int) -> float:
    return point_triangle(
        x[p, 0], x[p, 1], x[p, 2], x[a, 0], x[a, 1], x[a, 2],
        x[b, 0], x[b, 1], x[b, 2], x[c, 0], x[c, 1], x[c, 2],
    )[0]  # fmt: skip


@kernel
def _edge_edge(x: Floats, a: int, b: int, c: int, d: int) -> float:
    return edge_edge(
        x[a, 0], x[a, 1], x[a, 2], x[b, 0], x[b, 1], x[b, 2],
        x[c, 0], x[c, 1], x[c, 2], x[d, 0], x[d, 1], x[d, 2],
    )[0]  # fmt: skip


@kernel
def _volume(x: Floats, a: int, b: int, c: int, d: int) -> float:
    """Six times the signed volume of a tetrahedron [m³]."""
    ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    wx, wy, wz = x[d, 0] - x[a, 0], x[d, 1] - x[a, 1], x[d, 2] - x[a, 2]
    return ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx)


@kernel
def pierces(x: Floats, p: int, q: int, a: int, b: int, c: int) -> bool:
    """Whether the edge pq passes through the inside of the triangle abc; what only touches it has no distance to it."""
    above, below = _volume(x, a, b, c, p), _volume(x, a, b, c, q)
    if above * below >= 0.0:
        return False
    one, two, three = _volume(x, p, q, a, b), _volume(x, p, q, b, c), _volume(x, p, q, c, a)
    return (one > 0.0 and two > 0.0 and three > 0.0) or (one < 0.0 and two < 0.0 and three < 0.0)


@kernel
def _apart(x: Floats, f: Ints, g: Ints, reach: float) -> bool:
    """Whether the plane of triangle f has all of g on one side of it, and farther than reach [m]."""
    a, b, c = f[0], f[1], f[2]
    ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    least = reach * math.sqrt(nx * nx + ny * ny + nz * nz)
    above = below = 0
    for k in range(3):
        v = g[k]
        s = nx * (x[v, 0] - x[a, 0]) + ny * (x[v, 1] - x[a, 1]) + nz * (x[v, 2] - x[a, 2])
        above += s > least
        below += s < -least
    return above == 3 or below == 3


@kernel
def _needed(scenery: Scenery, asked: Clearance, same: bool, square_at_rest: float) -> float:
    """The distance [m] that is asked of a pair with a squared distance at rest [m²]."""
    offset, dhat = scenery.offset, scenery.dhat
    if not same:
        return offset + asked.room * dhat
    quarter = 0.25 * math.sqrt(square_at_rest)
    return asked.own * min(offset, quarter) + asked.room * min(dhat, quarter)


@kernel
def keeps_clear(x: Floats, scenery: Scenery, f: Ints, g: Ints, asked: Clearance) -> bool:
    """Whether two triangles f, g (3,) do not cross, and every pair of their parts has the distance asked of it."""
    if not (scenery.deformable[f[0]] or scenery.deformable[g[0]]):
        return True
    same = scenery.body[f[0]] == scenery.body[g[0]]
    X = scenery.X
    shared = 0
    for k in range(3):
        shared += f[k] == g[0] or f[k] == g[1] or f[k] == g[2]
    reach = scenery.offset + asked.room * scenery.dhat
    if shared == 0 and (_apart(x, f, g, reach) or _apart(x, g, f, reach)):
        return True
    if shared < 2:
        for turn in range(2):
            s, t = (f, g) if turn == 0 else (g, f)
            for k in range(3):
                p, q = s[k], s[(k + 1) % 3]
                apart = p != t[0] and p != t[1] and p != t[2] and q != t[0] and q != t[1] and q != t[2]
                if apart and pierces(x, p, q, t[0], t[1], t[2]):
                    return False
    square = reach * reach
    for turn in range(2):
        s, t = (f, g) if turn == 0 else (g, f)
        for k in range(3):
            p = s[k]
            if p == t[0] or p == t[1] or p == t[2]:
                continue
            D = _point_triangle(x, p, t[0], t[1], t[2])
            if D < square:
                rest = _point_triangle(X, p, t[0], t[1], t[2]) if same else 0.0
                least = _needed(scenery, asked, same, rest)
                if D < least * least:
                    return False
    for k in range(3):
        p, q = f[k], f[(k + 1) % 3]
        for l in range(3):
            r, s2 = g[l], g[(l + 1) % 3]
            if p == r or p == s2 or q == r or q == s2:
                continue
            D = _edge_edge(x, p, q, r, s2)
            if D < square:
                rest = _edge_edge(X, p, q, r, s2) if same else 0.0
                least = _needed(scenery, asked, same, rest)
                if D < least * least:
                    return False
    return True
