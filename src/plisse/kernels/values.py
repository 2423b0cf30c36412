"""Values of corners across a collapse: texture coordinates, and the rest pattern of sewn pieces."""

import numpy as np

from plisse.kernels.flatten import cross
from plisse.kernels.guards import ALLOWED, CONE, FLOOR, PATTERN, shape
from plisse.kernels.jit import kernel
from plisse.kernels.patch import KEPT, MERGED, REMOVED


@kernel
def find_values(corners, patch, merge, part):
    """Values of the merged vertex left and right of the edge: fills patch.values.

    On a curve and in a slide they come from the triangles that vanish, one on either side; in the open, from the
    triangle before that the merged vertex lies in.
    """
    values, local = patch.values, patch.local
    if merge and part < 0.0:
        t, weights = _find_place(patch)
        f, c = patch.faces[t], patch.first[t]
        for d in range(corners.shape[2]):
            s = 0.0
            for k in range(3):
                s += weights[k] * corners[f, (c + k) % 3, d]
            values[0, d] = s
            values[1, d] = s
        return
    found = 0
    for t in range(patch.counts[1]):
        kept, removed, apex = -1, -1, -1
        for k in range(3):
            v = local[t, k]
            if v == KEPT:
                kept = k
            elif v == REMOVED:
                removed = k
            else:
                apex = k
        if kept < 0 or removed < 0:
            continue
        f, c = patch.faces[t], patch.first[t]
        side = 0 if patch.uv[local[t, apex], 1] > 0.0 else 1
        found += 1
        for d in range(corners.shape[2]):
            value = corners[f, (c + kept) % 3, d]
            if merge:
                value = (1.0 - part) * value + part * corners[f, (c + removed) % 3, d]
            values[side, d] = value
            if found == 1:
                values[1 - side, d] = value


@kernel
def _find_place(patch):
    """The triangle before that the merged vertex is deepest in, and its weights."""
    uv = patch.uv
    best, depth = 0, -np.inf
    weights = np.zeros(3)
    for t in range(patch.counts[1]):
        a, b, c = patch.local[t]
        area = cross(uv, a, b, c)
        u, v, w = cross(uv, MERGED, b, c) / area, cross(uv, a, MERGED, c) / area, cross(uv, a, b, MERGED) / area
        if min(u, v, w) > depth:
            best, depth = t, min(u, v, w)
            weights[0], weights[1], weights[2] = u, v, w
    for k in range(3):
        weights[k] = max(weights[k], 0.0)
    return best, weights / weights.sum()


@kernel
def side_of(patch, t):
    """0 for a triangle left of the edge, 1 for one on its right."""
    y = 0.0
    for k in range(3):
        y += patch.uv[patch.local[t, k], 1]
    return 0 if y > 0.0 else 1


@kernel
def check_pattern(corners, patch, first):
    """PATTERN where a triangle of the rest shape, the corner values from `first` on, would turn over or be a sliver."""
    faces = patch.faces
    worst, least = 1.0, 1.0
    after = patch.counts[1]
    for t in range(patch.counts[1]):
        f, c = faces[t], patch.first[t]
        A, B, C = corners[f, c, first:], corners[f, (c + 1) % 3, first:], corners[f, (c + 2) % 3, first:]
        x, y, z, quality = shape(A, B, C)
        worst = min(worst, quality)
        if after < patch.counts[2] and faces[after] == f:
            new = patch.values[side_of(patch, after), first:]
            X, Y, Z, quality = shape(new, B, C)
            dot = x * X + y * Y + z * Z
            if not dot >= CONE * np.sqrt((x * x + y * y + z * z) * (X * X + Y * Y + Z * Z)):
                return PATTERN
            least = min(least, quality)
            after += 1
    if not (least >= FLOOR or least >= worst):
        return PATTERN
    return ALLOWED


@kernel
def set_values(corners, patch, free):
    """Give the triangles after their merged vertex's values; free: whether there is only one side."""
    for t in range(patch.counts[1], patch.counts[2]):
        f, c = patch.faces[t], patch.first[t]
        side = 0 if free else side_of(patch, t)
        for d in range(corners.shape[2]):
            corners[f, c, d] = patch.values[side, d]
