"""What a camera sees of triangles and planes, with s × s samples a pixel.

A triangle before the eye is drawn by its corners' places in the image, where the inverse of the depth is linear. One
that reaches behind the eye is drawn in homogeneous coordinates [Olano1997]: with columns (x w, y w, w) of its corners,
the weights λ = M⁻¹ (px, py, 1) of a sample are all positive inside and Σ λ = 1/w, so that nothing needs clipping.
Every sample is computed on its own: the result does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from plisse.kernels.jit import kernel
from plisse.kernels.normals import flat_normal

# Kernels take a range of elements a call, which threads share out: a call hands over every array of its tuples, and
# costs more than an element.
EDGE = 1e-9  # by how much a triangle is drawn larger than it is
NOTHING = -1  # owner of a sample that shows the backdrop; ground g is the owner −2 − g
# traits of a triangle: small in the image, seen from behind, reaching behind the eye, and SHARP << k where the k-th
# corner has the triangle's own normal
FINE, BACK, WIDE, SHARP = 1, 2, 4, 8


class View(NamedTuple):
    """Perspective camera; a ray through (px, py) [samples] is forward + (px − cx)/f right − (py − cy)/f up."""

    eye: np.ndarray  # [m], shape (3,)
    axes: np.ndarray  # right, up, forward, shape (3, 3)
    focal: float  # f [samples]
    middle: np.ndarray  # cx, cy [samples], shape (2,)


class Surface(NamedTuple):
    """All triangles of a picture."""

    x: np.ndarray  # positions [m], shape (n, 3)
    triangles: np.ndarray  # shape (m, 3)
    normals: np.ndarray  # unit normals of vertices, shape (n, 3)
    bodies: np.ndarray  # number of each vertex's body, shape (n,)
    image: np.ndarray  # column and row [samples], and inverse depth [1/m], 0 behind the eye, shape (n, 3)
    rows: np.ndarray  # first and last (exclusive) row of samples a triangle can be seen in, shape (m, 2)
    traits: np.ndarray  # shape (m,)


@kernel
def place_homogeneous(x, view, v):
    """Column and row times depth, and depth, of a vertex in the image."""
    d0, d1, d2 = x[v, 0] - view.eye[0], x[v, 1] - view.eye[1], x[v, 2] - view.eye[2]
    right = d0 * view.axes[0, 0] + d1 * view.axes[0, 1] + d2 * view.axes[0, 2]
    up = d0 * view.axes[1, 0] + d1 * view.axes[1, 1] + d2 * view.axes[1, 2]
    depth = d0 * view.axes[2, 0] + d1 * view.axes[2, 1] + d2 * view.axes[2, 2]
    return view.middle[0] * depth + view.focal * right, view.middle[1] * depth - view.focal * up, depth


@kernel
def project(start, end, x, view, image):
    """Fill Surface.image."""
    for v in range(start, end):
        right, down, depth = place_homogeneous(x, view, v)
        near = 1.0 / depth if depth > 0.0 else 0.0
        image[v, 0], image[v, 1], image[v, 2] = right * near, down * near, near


@kernel
def first_sample(place):
    """The first sample whose middle is not before a place, at least 0."""
    return np.int64(np.ceil(min(1e6, max(0.0, place - 0.5))))


@kernel
def sort_triangles(start, end, surface, view, height, crease, fine):
    """Fill Surface.rows and Surface.traits. fine: greatest length of a FINE triangle's edges [samples]."""
    x, n, image, rows = surface.x, surface.normals, surface.image, surface.rows
    e0, e1, e2 = view.eye[0], view.eye[1], view.eye[2]
    for t in range(start, end):
        a, b, c = surface.triangles[t, 0], surface.triangles[t, 1], surface.triangles[t, 2]
        nx, ny, nz = flat_normal(x, a, b, c)
        traits = 0 if nx * (e0 - x[a, 0]) + ny * (e1 - x[a, 1]) + nz * (e2 - x[a, 2]) >= 0.0 else BACK
        for k in range(3):
            v = surface.triangles[t, k]
            if nx * n[v, 0] + ny * n[v, 1] + nz * n[v, 2] < crease:
                traits |= SHARP << k
        ax, ay, bx, by, cx, cy = image[a, 0], image[a, 1], image[b, 0], image[b, 1], image[c, 0], image[c, 1]
        least, most = min(image[a, 2], image[b, 2], image[c, 2]), max(image[a, 2], image[b, 2], image[c, 2])
        rows[t, 0], rows[t, 1] = 0, height
        if least > 0.0:
            rows[t, 0] = first_sample(min(ay, by, cy))
            rows[t, 1] = min(height, first_sample(max(ay, by, cy)))
            ab, bc, ca = (
                (bx - ax) ** 2 + (by - ay) ** 2,
                (cx - bx) ** 2 + (cy - by) ** 2,
                (ax - cx) ** 2 + (ay - cy) ** 2,
            )
            if traits < SHARP and max(ab, bc, ca) <= fine * fine:
                traits |= FINE
        elif most > 0.0:
            traits |= WIDE
        else:
            rows[t, 1] = 0
        surface.traits[t] = traits


@kernel
def weigh_wide(x, triangles, view, t):
    """M⁻¹ of a triangle times its determinant, nine numbers by rows, and the determinant."""
    ax, ay, aw = place_homogeneous(x, view, triangles[t, 0])
    bx, by, bw = place_homogeneous(x, view, triangles[t, 1])
    cx, cy, cw = place_homogeneous(x, view, triangles[t, 2])
    a0, a1, a2 = by * cw - bw * cy, bw * cx - bx * cw, bx * cy - by * cx
    b0, b1, b2 = cy * aw - cw * ay, cw * ax - cx * aw, cx * ay - cy * ax
    c0, c1, c2 = ay * bw - aw * by, aw * bx - ax * bw, ax * by - ay * bx
    return a0, a1, a2, b0, b1, b2, c0, c1, c2, ax * a0 + ay * a1 + aw * a2


@kernel
def weigh_corners(image, triangles, t, px, py):
    """Weights of the corners, which sum to one, at what is seen of a triangle before the eye in one place."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    ax, ay, bx, by = image[a, 0] - px, image[a, 1] - py, image[b, 0] - px, image[b, 1] - py
    cx, cy = image[c, 0] - px, image[c, 1] - py
    la, lb, lc = (bx * cy - by * cx) * image[a, 2], (cx * ay - cy * ax) * image[b, 2], (ax * by - ay * bx) * image[c, 2]
    whole = 1.0 / (la + lb + lc)
    return la * whole, lb * whole, lc * whole


@kernel
def weigh_wide_corners(x, triangles, view, t, px, py):
    """The same of a triangle that reaches behind the eye."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2, _ = weigh_wide(x, triangles, view, t)
    la, lb, lc = a0 * px + a1 * py + a2, b0 * px + b1 * py + b2, c0 * px + c1 * py + c2
    whole = 1.0 / (la + lb + lc)
    return la * whole, lb * whole, lc * whole


@kernel
def draw_wide_triangle(surface, view, t, first, nearness, owner):
    """Draw a triangle that reaches behind the eye, and so may be anywhere."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2, det = weigh_wide(surface.x, surface.triangles, view, t)
    if det == 0.0:
        return
    for i in range(owner.shape[0]):
        py = first + i + 0.5
        ra, rb, rc = a1 * py + a2, b1 * py + b2, c1 * py + c2
        for j in range(owner.shape[1]):
            px = j + 0.5
            la, lb, lc = (a0 * px + ra) / det, (b0 * px + rb) / det, (c0 * px + rc) / det
            here = np.float32(la + lb + lc)
            if min(la, lb, lc) >= -EDGE * here and here > nearness[i, j]:
                nearness[i, j] = here
                owner[i, j] = t


@kernel
def draw_band(surface, view, planes, first, nearness, owner):
    """Say who owns the samples of some rows from the first on; equal nearness goes to the lower index.

    planes: inverse depths of grounds in the image, factors of column, row and 1, shape (k, 3).
    """
    last, width, triangles, image = first + owner.shape[0], np.int64(owner.shape[1]), surface.triangles, surface.image
    nearness[:] = 0.0
    owner[:] = NOTHING
    for t in range(triangles.shape[0]):
        i0, i1 = max(first, np.int64(surface.rows[t, 0])), min(last, np.int64(surface.rows[t, 1]))
        if i0 >= i1:
            continue
        if surface.traits[t] & WIDE:
            draw_wide_triangle(surface, view, t, first, nearness, owner)
            continue
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by, cx, cy = image[a, 0], image[a, 1], image[b, 0], image[b, 1], image[c, 0], image[c, 1]
        j0, j1 = first_sample(min(ax, bx, cx)), min(width, first_sample(max(ax, bx, cx)))
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0 or j0 >= j1:
            continue
        # weights at the first sample, and their change with row and column
        area = 1.0 / area
        ux, uy, vx, vy = (cx - bx) * area, (cy - by) * area, (ax - cx) * area, (ay - cy) * area
        wx, wy, px, py = -ux - vx, -uy - vy, j0 + 0.5, i0 + 0.5
        la, lb = ux * (py - by) - uy * (px - bx), vx * (py - cy) - vy * (px - cx)
        lc = wx * (py - ay) - wy * (px - ax)
        # samples on an edge that two triangles share must not be lost to rounding
        la, lb, lc = la + EDGE, lb + EDGE, lc + EDGE
        an, bn, cn = image[a, 2], image[b, 2], image[c, 2]
        near, across, down = la * an + lb * bn + lc * cn, -uy * an - vy * bn - wy * cn, ux * an + vx * bn + wx * cn
        for i in range(i0, i1):
            row = float(i - i0)
            ra, rb, rc, rn = la + row * ux, lb + row * vx, lc + row * wx, near + row * down
            for j in range(j0, j1):
                col = float(j - j0)
                if ra >= col * uy and rb >= col * vy and rc >= col * wy:
                    here = np.float32(rn + col * across)
                    if here > nearness[i - first, j]:
                        nearness[i - first, j] = here
                        owner[i - first, j] = t
    for g in range(planes.shape[0]):
        for i in range(owner.shape[0]):
            start = planes[g, 2] + planes[g, 1] * (first + i + 0.5)
            for j in range(width):
                here = np.float32(start + planes[g, 0] * (j + 0.5))
                if here > nearness[i, j]:
                    nearness[i, j] = here
                    owner[i, j] = NOTHING - 1 - g
