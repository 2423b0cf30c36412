"""Points that live on a mesh that shrinks: each has one face and three weights, and moves along with every collapse."""

from typing import NamedTuple

from plisse.core.arrays import Floats, Ints
from plisse.kernels.flatten import cross
from plisse.kernels.jit import kernel

ROUNDING = 1e-12  # weights below it are zero


class Points(NamedTuple):
    """Points in lists, one list a face."""

    face: Ints  # where each point lives, shape (p,)
    weights: Floats  # of its face's corners, none negative, their sum one, shape (p, 3)
    next: Ints  # point in the same face, -1 for the last, shape (p,)
    head: Ints  # first point of each face, -1 without any, shape (m,)
    slip: Floats  # by how much weights were below zero before rounding was cut off, at most, shape (1,)


@kernel
def place_points(points, first, vertices, start):
    """Put points from number `first` on to vertices (k,); start: a half-edge out of each vertex (n,)."""
    for k in range(vertices.size):
        h = start[vertices[k]]
        p = first + k
        points.weights[p, :] = 0.0
        points.weights[p, h % 3] = 1.0
        points.face[p] = h // 3
        points.next[p] = points.head[h // 3]
        points.head[h // 3] = p


@kernel
def relocate(points, patch):
    """Move all points of the triangles before to those after; returns their number."""
    uv, local, faces = patch.uv, patch.local, patch.faces
    before, count = patch.counts[1], patch.counts[2]
    moving = -1
    number = 0
    # take all points out, with their places in the plane for weights
    for t in range(before):
        f, c = faces[t], patch.first[t]
        p = points.head[f]
        points.head[f] = -1
        while p >= 0:
            x, y = 0.0, 0.0
            for k in range(3):
                w = points.weights[p, (c + k) % 3]
                x += w * uv[local[t, k], 0]
                y += w * uv[local[t, k], 1]
            points.weights[p, 0], points.weights[p, 1] = x, y
            following = points.next[p]
            points.next[p] = moving
            moving = p
            p = following
            number += 1
    # put each into the triangle that it is deepest in
    while moving >= 0:
        p = moving
        moving = points.next[p]
        x, y = points.weights[p, 0], points.weights[p, 1]
        best, depth = before, -1e300
        w0, w1, w2 = 0.0, 0.0, 0.0
        for t in range(before, count):
            a, b, c = local[t]
            ax, ay = uv[a, 0] - x, uv[a, 1] - y
            bx, by = uv[b, 0] - x, uv[b, 1] - y
            cx, cy = uv[c, 0] - x, uv[c, 1] - y
            area = cross(uv, a, b, c)
            u0, u1, u2 = (bx * cy - by * cx) / area, (cx * ay - cy * ax) / area, (ax * by - ay * bx) / area
            least = min(u0, u1, u2)
            if least > depth:
                best, depth = t, least
                w0, w1, w2 = u0, u1, u2
                if least >= 0.0:
                    break
        points.slip[0] = max(points.slip[0], -depth)
        _settle(points, p, faces[best], patch.first[best], w0, w1, w2)
    return number


@kernel
def _settle(points, p, f, c, w0, w1, w2):
    """Put a point into face f; its weights count from corner c on, and lose what rounding left of zero ones."""
    w0 = w0 if w0 > ROUNDING else 0.0
    w1 = w1 if w1 > ROUNDING else 0.0
    w2 = w2 if w2 > ROUNDING else 0.0
    total = w0 + w1 + w2
    points.weights[p, c] = w0 / total
    points.weights[p, (c + 1) % 3] = w1 / total
    points.weights[p, (c + 2) % 3] = w2 / total
    points.face[p] = f
    points.next[p] = points.head[f]
    points.head[f] = p
