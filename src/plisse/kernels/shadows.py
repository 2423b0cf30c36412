"""Light that reaches points: every light is a direction with a map of what it sees.

Lights are taken a few at a time: their maps are drawn, asked, and drawn over by those of the next ones. Positions are
relative to the middle of what the maps hold, so that single precision suffices.
"""

from typing import NamedTuple

import numpy as np

from plisse.kernels.jit import kernel

LOWEST = np.float32(-1e30)
NEXT = np.uint32(1)  # with indices that cannot be negative, numba does not look whether they are
HALF, ONE, STEEP, FLAT, NEARER = np.float32(0.5), np.float32(1.0), np.float32(2.2), np.float32(1.3), np.float32(0.25)
BLOCK = 1024  # points that are placed in maps at once
# Between the corners of a triangle no point is farther from the nearest than 1/√3 of the longest edge, and a third of
# it from them and the middle: up to these lengths, in texels, points leave hardly a hole in a map.
DENSE, MIDDLED, LARGE = 1.0, 1.75, 4.0


class Casters(NamedTuple):
    """What casts shadows: points, hardly farther apart than texels, and the triangles that are larger."""

    points: np.ndarray  # positions [m], shape (3, n), float32
    corners: np.ndarray  # positions of the triangles' corners [m], shape (m, 3, 3), float32


class Lights(NamedTuple):
    """Directional lights of one kind."""

    directions: np.ndarray  # unit vectors towards the light, shape (k, 3), float32
    strengths: np.ndarray  # shape (k,), float32
    frames: np.ndarray  # affine map from positions to (column, row, height [m]) of the map, shape (k, 3, 4), float32
    texel: float  # width of a texel [m], float32


class Receivers(NamedTuple):
    """Points that light falls on."""

    points: np.ndarray  # [m], shape (3, r), float32
    normals: np.ndarray  # unit vectors, shape (3, r), float32
    light: np.ndarray  # what has reached them of some kinds of lights, shape (k, r), float32
    full: np.ndarray  # what would have reached them without shadows, shape (k, r), float32


@kernel
def draw_points(points, frame, texels):
    """Note the heights of points in the texels that they lie in."""
    size, n = np.float32(texels.shape[0]), points.shape[1]
    columns, rows, heights = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    # in variables of their own: as far as the compiler knows, writing to an array may change the frame
    a0, a1, a2, a3 = frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3]
    b0, b1, b2, b3 = frame[1, 0], frame[1, 1], frame[1, 2], frame[1, 3]
    c0, c1, c2, c3 = frame[2, 0], frame[2, 1], frame[2, 2], frame[2, 3]
    for start in range(0, n, BLOCK):
        x, y, z = points[0, start : start + BLOCK], points[1, start : start + BLOCK], points[2, start : start + BLOCK]
        for k in range(len(x)):
            columns[k] = a0 * x[k] + a1 * y[k] + a2 * z[k] + a3
            rows[k] = b0 * x[k] + b1 * y[k] + b2 * z[k] + b3
            heights[k] = c0 * x[k] + c1 * y[k] + c2 * z[k] + c3
        for k in range(len(x)):
            col, row = columns[k], rows[k]
            if col >= 0.0 and row >= 0.0 and col < size and row < size:
                i, j = np.uint32(row), np.uint32(col)
                texels[i, j] = max(texels[i, j], heights[k])


@kernel
def narrow(weight, change, low, high):
    """Columns low ≤ j ≤ high, less those where weight − j change is negative."""
    if change > 0.0:
        return low, min(high, weight / change)
    if change < 0.0:
        return max(low, weight / change), high
    return low, high if weight >= 0.0 else -1.0


@kernel
def draw_corners(corners, frame, texels):
    """Note the heights of triangles in the texels whose middles they cover."""
    size = float(texels.shape[0])
    a0, a1, a2, a3 = frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3]
    b0, b1, b2, b3 = frame[1, 0], frame[1, 1], frame[1, 2], frame[1, 3]
    c0, c1, c2, c3 = frame[2, 0], frame[2, 1], frame[2, 2], frame[2, 3]
    for t in range(corners.shape[0]):
        x, y, z = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
        ax, ay, ah = a0 * x + a1 * y + a2 * z + a3, b0 * x + b1 * y + b2 * z + b3, c0 * x + c1 * y + c2 * z + c3
        x, y, z = corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2]
        bx, by, bh = a0 * x + a1 * y + a2 * z + a3, b0 * x + b1 * y + b2 * z + b3, c0 * x + c1 * y + c2 * z + c3
        x, y, z = corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2]
        cx, cy, ch = a0 * x + a1 * y + a2 * z + a3, b0 * x + b1 * y + b2 * z + b3, c0 * x + c1 * y + c2 * z + c3
        i0, i1 = max(0.0, np.ceil(min(ay, by, cy) - 0.5)), min(size, np.ceil(max(ay, by, cy) - 0.5))
        j0, j1 = max(0.0, np.ceil(min(ax, bx, cx) - 0.5)), min(size, np.ceil(max(ax, bx, cx) - 0.5))
        area = (float(bx) - ax) * (float(cy) - ay) - (float(by) - ay) * (float(cx) - ax)
        if not (i0 < i1 and j0 < j1) or area == 0.0:
            continue
        # weights and height at the first texel's middle, and their change with row and column
        ux, uy, vx, vy = (cx - bx) / area, (cy - by) / area, (ax - cx) / area, (ay - cy) / area
        wx, wy = -ux - vx, -uy - vy
        la = ux * (i0 + 0.5 - by) - uy * (j0 + 0.5 - bx)
        lb = vx * (i0 + 0.5 - cy) - vy * (j0 + 0.5 - cx)
        lc = 1.0 - la - lb
        height, down = ch + la * (ah - ch) + lb * (bh - ch), ux * (ah - ch) + vx * (bh - ch)
        across, first, count = np.float32(-uy * (ah - ch) - vy * (bh - ch)), np.int64(j0), j1 - j0 - 1.0
        for i in range(np.int64(i0), np.int64(i1)):
            row, low, high = i - i0, 0.0, count
            # the columns where no weight is negative
            low, high = narrow(la + row * ux, uy, low, high)
            low, high = narrow(lb + row * vx, vy, low, high)
            low, high = narrow(lc + row * wx, wy, low, high)
            start = np.int64(np.ceil(low))
            here = np.float32(height + row * down + start * across)
            for j in range(first + start, first + np.int64(np.floor(high)) + 1):
                texels[i, j] = max(texels[i, j], here)
                here += across


@kernel
def draw_maps(start, end, casters, lights, first, maps):
    """Draw what some of the lights from the first on see: the greatest height in each texel of their maps."""
    for k in range(start, end):
        frame, texels = lights.frames[first + k], maps[k]
        texels[:] = LOWEST
        draw_points(casters.points, frame, texels)
        draw_corners(casters.corners, frame, texels)
        # points leave a hole here and there: no texel is deeper than both its neighbours
        for i in range(1, texels.shape[0] - 1):
            above, here, below = texels[i - 1], texels[i], texels[i + 1]
            for j in range(texels.shape[1]):
                here[j] = max(here[j], min(above[j], below[j]))


@kernel
def gather(start, end, receivers, kind, lights, first, maps):
    """Add what the lights of these maps, from the first on, give to receivers."""
    n, size, texel = end - start, np.float32(maps.shape[1] - 1), np.float32(lights.texel)
    x, y, z = receivers.points[0, start:end], receivers.points[1, start:end], receivers.points[2, start:end]
    nx, ny, nz = receivers.normals[0, start:end], receivers.normals[1, start:end], receivers.normals[2, start:end]
    columns, rows, heights = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    cosines, light, full = np.empty(n, np.float32), receivers.light[kind, start:end], receivers.full[kind, start:end]
    for k in range(maps.shape[0]):
        f, d, texels = lights.frames[first + k], lights.directions[first + k], maps[k]
        strength, d0, d1, d2 = lights.strengths[first + k], d[0], d[1], d[2]
        a0, a1, a2, a3, b0, b1, b2, b3 = f[0, 0], f[0, 1], f[0, 2], f[0, 3], f[1, 0], f[1, 1], f[1, 2], f[1, 3]
        c0, c1, c2, c3, a3, b3 = f[2, 0], f[2, 1], f[2, 2], f[2, 3], a3 - HALF, b3 - HALF
        for r in range(n):
            cosine = nx[r] * d0 + ny[r] * d1 + nz[r] * d2
            # off the surface by as much as a slanted plane rises within the four texels and their points
            lift = texel * (STEEP - FLAT * cosine * cosine)
            p, q, s = x[r] + lift * nx[r], y[r] + lift * ny[r], z[r] + lift * nz[r]
            columns[r], rows[r] = a0 * p + a1 * q + a2 * s + a3, b0 * p + b1 * q + b2 * s + b3
            heights[r], cosines[r] = c0 * p + c1 * q + c2 * s + c3, cosine
        for r in range(n):
            if cosines[r] <= 0.0:
                continue
            share, u, v = strength * cosines[r], columns[r], rows[r]
            full[r] += share
            if u >= 0.0 and v >= 0.0 and u < size and v < size:
                # four texels compared, bilinear between them [Reeves1987]
                j, i, h = np.uint32(u), np.uint32(v), heights[r]
                s, t, j1, i1 = u - np.float32(j), v - np.float32(i), j + NEXT, i + NEXT
                top = (ONE - s) * np.float32(texels[i, j] <= h) + s * np.float32(texels[i, j1] <= h)
                bottom = (ONE - s) * np.float32(texels[i1, j] <= h) + s * np.float32(texels[i1, j1] <= h)
                share *= (ONE - t) * top + t * bottom
            light[r] += share


class Disc(NamedTuple):
    """Many lights close to a few that have maps."""

    owners: np.ndarray  # the light whose map each one asks, shape (k,)
    shifts: (
        np.ndarray
    )  # by how much it asks aside for each metre to what is in the way [texels/m], shape (k, 2), float32
    least: float  # distance that what is in the way is taken to have at least [m]


@kernel
def soften(start, end, receivers, numbers, lights, maps, disc):
    """Ask all lights of a disc at the receivers with these numbers, shape (k,), for the first kind of light.

    They are asked in the maps of the lights they are close to, where what is in the way of those appears to be for
    them, as in [Fernando2005].
    """
    few, size = maps.shape[0], np.float32(maps.shape[1] - 1)
    columns, rows, heights, shares = (
        np.empty(few, np.float32), np.empty(few, np.float32), np.empty(few, np.float32), np.empty(few, np.float32)
    )  # fmt: skip
    for number in range(start, end):
        r, gap, count = numbers[number], np.float32(0.0), 0
        nx, ny, nz = receivers.normals[0, r], receivers.normals[1, r], receivers.normals[2, r]
        # how far away what is in the way of some of the lights is
        for k in range(few):
            d, f = lights.directions[k], lights.frames[k]
            cosine = nx * d[0] + ny * d[1] + nz * d[2]
            lift = np.float32(lights.texel) * (STEEP - FLAT * cosine * cosine)
            x, y = receivers.points[0, r] + lift * nx, receivers.points[1, r] + lift * ny
            z, shares[k] = receivers.points[2, r] + lift * nz, max(cosine, np.float32(0.0))
            columns[k] = f[0, 0] * x + f[0, 1] * y + f[0, 2] * z + f[0, 3] - HALF
            rows[k] = f[1, 0] * x + f[1, 1] * y + f[1, 2] * z + f[1, 3] - HALF
            heights[k] = f[2, 0] * x + f[2, 1] * y + f[2, 2] * z + f[2, 3]
            if columns[k] >= 0.0 and rows[k] >= 0.0 and columns[k] < size and rows[k] < size:
                j, i = np.uint32(columns[k]), np.uint32(rows[k])
                for e in range(4):
                    texel = maps[k, i + e // 2, j + e % 2]
                    if texel > heights[k]:
                        gap += texel - heights[k]
                        count += 1
        if count:
            gap /= np.float32(count)
        # the lights ask around at least as far as the steps of texels show
        seen, away = np.float32(0.0), max(gap, np.float32(disc.least))
        for v in range(disc.owners.shape[0]):
            k = disc.owners[v]
            u, w, h = columns[k] + disc.shifts[v, 0] * away, rows[k] + disc.shifts[v, 1] * away, heights[k]
            share = shares[k]
            if u >= 0.0 and w >= 0.0 and u < size and w < size:
                # the slope of the surface itself is not in the way
                j, i, h, texels = np.uint32(u), np.uint32(w), h + NEARER * gap, maps[k]
                s, t, j1, i1 = u - np.float32(j), w - np.float32(i), j + NEXT, i + NEXT
                top = (ONE - s) * np.float32(texels[i, j] <= h) + s * np.float32(texels[i, j1] <= h)
                bottom = (ONE - s) * np.float32(texels[i1, j] <= h) + s * np.float32(texels[i1, j1] <= h)
                share *= (ONE - t) * top + t * bottom
            seen += share
        receivers.light[0, r] = seen / np.float32(disc.owners.shape[0])


@kernel
def cut_triangles(triangles, longest, texel, orders, first, large, corners):
    """Say how each triangle casts its shadow: by its corners and how many points more, or as a large one.

    longest: squares of longest edges [m²], shape (m,). orders: into how many parts edges are cut, shape (m,). first:
    of each triangle's points, shape (m + 1,). large: numbers of the large triangles; their count is returned. corners:
    which vertices are points, shape (n,), zero on entry.
    """
    count, first[0] = 0, 0
    for t in range(longest.shape[0]):
        parts, order, own = np.sqrt(longest[t]) / texel, 1, 0
        if parts > LARGE:
            large[count] = t
            count += 1
        elif parts > MIDDLED:
            order = int(np.ceil(parts / DENSE))
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            # of two triangles at an edge, which wind it unlike, one has its points
            own = (order - 1) * ((a < b) + (b < c) + (c < a)) + (order - 1) * (order - 2) // 2
        elif parts > DENSE:
            own = 1
        if parts <= LARGE:
            for k in range(3):
                corners[triangles[t, k]] = 1
        orders[t], first[t + 1] = order, first[t] + own
    return count


@kernel
def sample_triangles(start, end, x, triangles, orders, first, points):
    """Spread points over triangles, as `cut_triangles` has said, into points, shape (3, k)."""
    third = np.float32(1.0 / 3.0)
    for t in range(start, end):
        at, order, a, b, c = first[t], orders[t], triangles[t, 0], triangles[t, 1], triangles[t, 2]
        if order == 1:
            if first[t + 1] > at:
                for r in range(3):
                    points[r, at] = (x[a, r] + x[b, r] + x[c, r]) * third
            continue
        step = np.float32(1.0) / np.float32(order)
        for i in range(order + 1):
            for j in range(order + 1 - i):
                inside = i > 0 and j > 0 and i + j < order
                on_edge = (j == 0 and a < b) or (i + j == order and b < c) or (i == 0 and c < a)
                if inside or (on_edge and i < order and j < order and i + j > 0):
                    u, v = np.float32(i) * step, np.float32(j) * step
                    for r in range(3):
                        points[r, at] = x[a, r] + u * (x[b, r] - x[a, r]) + v * (x[c, r] - x[a, r])
                    at += 1


@kernel
def measure_triangles(start, end, x, triangles, longest):
    """The square of each triangle's longest edge [m²], shape (m,)."""
    for t in range(start, end):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ab, bc, ca = 0.0, 0.0, 0.0
        for r in range(3):
            ab += (x[b, r] - x[a, r]) ** 2
            bc += (x[c, r] - x[b, r]) ** 2
            ca += (x[a, r] - x[c, r]) ** 2
        longest[t] = max(ab, bc, ca)
