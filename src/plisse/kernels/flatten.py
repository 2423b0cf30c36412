"""The joint flattening of a patch before and after a collapse: one boundary in the plane, least-squares conformal.

The kept vertex lies at the origin and the removed one on the positive x axis, so that what is left of the edge has
y > 0. Where the edge runs along a curve, the curve's vertices lie on that axis too: it is straight before and after,
and what was on one side of it stays there. [Liu2021]
"""

import numpy as np

from plisse.kernels.jit import kernel
from plisse.kernels.patch import KEPT, MERGED, REMOVED, RING

MOST_STRETCH = 3.0  # ratio of the largest to the least of the triangles' scales of area
LEAST = 1e-9  # double area in the plane, as a part of the longest side squared, that counts as positive
ROUNDING = 1e-6  # in a sum of angles [rad]


@kernel
def number_unknowns(patch, merge, part, on_axis, other_on_axis):
    """Say which coordinates in the plane are given; returns the number of unknown ones.

    part: how far the merged vertex is from the kept to the removed one, -1 where it is unknown. on_axis,
    other_on_axis: ring vertices on the axis, or -1.
    """
    uv, unknown = patch.uv, patch.unknown
    length = 0.0
    for axis in range(3):
        length += (patch.P[REMOVED, axis] - patch.P[KEPT, axis]) ** 2
    length = np.sqrt(length)
    for v in range(RING):
        for axis in range(2):
            uv[v, axis] = 0.0
            unknown[v, axis] = -1
    uv[REMOVED, 0] = length
    count = 0
    if merge:
        if part < 0.0:
            unknown[MERGED, 0], unknown[MERGED, 1] = 0, 1
            count = 2
        else:
            uv[MERGED, 0] = part * length
    for v in range(RING, patch.counts[0]):
        unknown[v, 0] = count
        count += 1
        if v == on_axis or v == other_on_axis:
            unknown[v, 1] = -1
            uv[v, 1] = 0.0
        else:
            unknown[v, 1] = count
            count += 1
    return count


@kernel
def measure(P, a, b, c):
    """Length of a triangle's first side, and its third vertex along it and away from it."""
    ux, uy, uz = P[b, 0] - P[a, 0], P[b, 1] - P[a, 1], P[b, 2] - P[a, 2]
    vx, vy, vz = P[c, 0] - P[a, 0], P[c, 1] - P[a, 1], P[c, 2] - P[a, 2]
    length = np.sqrt(ux * ux + uy * uy + uz * uz)
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return length, (ux * vx + uy * vy + uz * vz) / length, np.sqrt(nx * nx + ny * ny + nz * nz) / length


@kernel
def assemble(patch, size):
    """Normal equations of Σ |Σ wₖ uₖ|² / 2A over all triangles, w the opposite sides and u the places, as complex
    numbers: zero where every triangle keeps its angles."""
    matrix, right, uv, unknown = patch.matrix, patch.right, patch.uv, patch.unknown
    for row in range(size):
        right[row] = 0.0
        for column in range(row + 1):
            matrix[row, column] = 0.0
    for t in range(patch.counts[2]):
        corner = patch.local[t]
        length, along, away = measure(patch.P, corner[0], corner[1], corner[2])
        scale = 1.0 / np.sqrt(length * away)
        real = (scale * (along - length), -scale * along, scale * length)
        imaginary = (scale * away, -scale * away, 0.0)
        for a in range(3):
            for b in range(3):
                re = real[a] * real[b] + imaginary[a] * imaginary[b]
                im = real[a] * imaginary[b] - imaginary[a] * real[b]
                for k in range(2):
                    row = unknown[corner[a], k]
                    if row < 0:
                        continue
                    for l in range(2):
                        value = re if k == l else (im if k == 1 else -im)
                        column = unknown[corner[b], l]
                        if column < 0:
                            right[row] -= value * uv[corner[b], l]
                        elif column <= row:
                            matrix[row, column] += value


@kernel
def solve(matrix, right, size):
    """Solve a symmetric positive definite system, given by its lower half, in place; False where it is none."""
    for row in range(size):
        for column in range(row + 1):
            s = matrix[row, column]
            for k in range(column):
                s -= matrix[row, k] * matrix[column, k]
            if column < row:
                matrix[row, column] = s / matrix[column, column]
            elif s > 0.0:
                matrix[row, row] = np.sqrt(s)
            else:
                return False
        s = right[row]
        for k in range(row):
            s -= matrix[row, k] * right[k]
        right[row] = s / matrix[row, row]
    for row in range(size - 1, -1, -1):
        right[row] /= matrix[row, row]
        for k in range(row):
            right[k] -= matrix[row, k] * right[row]
    return True


@kernel
def flatten(patch, merge, part, on_axis, other_on_axis):
    """Places in the plane of all local vertices; False where there are none. Arguments as in `number_unknowns`."""
    size = number_unknowns(patch, merge, part, on_axis, other_on_axis)
    assemble(patch, size)
    if not solve(patch.matrix, patch.right, size):
        return False
    for v in range(patch.counts[0]):
        for k in range(2):
            if patch.unknown[v, k] >= 0:
                patch.uv[v, k] = patch.right[patch.unknown[v, k]]
    return True


@kernel
def cross(uv, a, b, c):
    """Double area of a triangle in the plane, positive when counter-clockwise."""
    return (uv[b, 0] - uv[a, 0]) * (uv[c, 1] - uv[a, 1]) - (uv[b, 1] - uv[a, 1]) * (uv[c, 0] - uv[a, 0])


@kernel
def is_injective(patch):
    """Whether all triangles are the right way up and those after cover the plane once about their common vertex.

    Then the boundary is a simple polygon, and the triangles before cover it once too.
    """
    uv = patch.uv
    longest = 0.0
    for v in range(patch.counts[0]):
        longest = max(longest, uv[v, 0] ** 2 + uv[v, 1] ** 2)
    about = 0.0
    for t in range(patch.counts[2]):
        a, b, c = patch.local[t]
        area = cross(uv, a, b, c)
        if not area > LEAST * longest:
            return False
        if t >= patch.counts[1]:
            dot = (uv[b, 0] - uv[a, 0]) * (uv[c, 0] - uv[a, 0]) + (uv[b, 1] - uv[a, 1]) * (uv[c, 1] - uv[a, 1])
            about += np.arctan2(area, dot)
    if patch.counts[3]:
        return abs(about - 2.0 * np.pi) < ROUNDING
    return about < 2.0 * np.pi - ROUNDING


@kernel
def find_stretch(patch):
    """Ratio of the largest to the least scale of area from space to the plane."""
    low, high = np.inf, 0.0
    for t in range(patch.counts[2]):
        a, b, c = patch.local[t]
        length, _, away = measure(patch.P, a, b, c)
        scale = cross(patch.uv, a, b, c) / (length * away)
        low, high = min(low, scale), max(high, scale)
    return high / low
