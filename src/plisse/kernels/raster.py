"""Pictures of triangle meshes without any graphics library: visibility, shadow maps and shading.

Visibility is decided in homogeneous coordinates [Olano1997]: with columns (x w, y w, w) of a triangle's
corners, the weights λ = M⁻¹ (px, py, 1) of a pixel are all positive inside, and Σ λ = 1/w. Nothing needs
clipping. All lights are directions with a shadow map each. A picture is taken with s² samples a pixel, and
each sample asks every s²-th light only, so that a pixel has asked them all [Keller2001].
Every pixel is computed on its own: the result does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel

# Literals and indices of parallel loops are cast to int64 where they enter a kernel, or numba recompiles it.
BANDS = 16
NO_OWNER = np.zeros((0, 0), dtype=np.int32)


class Surface(NamedTuple):
    """All triangles of a picture."""

    x: np.ndarray  # positions [m], shape (n, 3)
    points: np.ndarray  # camera image (px w, py w, w, 1) [pixels, m], shape (n, 4)
    triangles: np.ndarray  # shape (m, 3)
    normals: np.ndarray  # unit normals of the corners, shape (m, 3, 3)
    colors: np.ndarray  # linear albedo of front and back, shape (m, 2, 3)


class Lights(NamedTuple):
    """Directional lights of one colour and what each of them sees."""

    directions: np.ndarray  # unit vectors towards the light, shape (k, 3)
    strengths: np.ndarray  # shape (k,)
    color: np.ndarray  # linear rgb, shape (3,)
    frames: np.ndarray  # affine map from the world to (column, row, height [m]) of the map, shape (k, 3, 4)
    maps: np.ndarray  # greatest height seen in each texel [m], shape (k, s, s), float32
    texel: float  # width of a texel [m]
    gloss: float  # share of the light that makes highlights


class Grounds(NamedTuple):
    """Planes that catch shadows. The skylight that reaches them is smooth and asked for often, hence a texture."""

    planes: np.ndarray  # n·x = d as (n, d), shape (k, 4)
    origins: np.ndarray  # the textures' middles [m], shape (k, 3)
    axes: np.ndarray  # unit vectors along columns and rows, shape (k, 2, 3)
    texel: float  # [m]
    light: np.ndarray  # share of the open sky's light, shape (k, s, s)
    open_sky: np.ndarray  # irradiance of each plane without any shadow, shape (k,)
    tones: np.ndarray  # how much lighter or darker than a level plane each one is, rgb, shape (k, 3)


class View(NamedTuple):
    """Perspective camera; a ray through sample (i, j) is forward + (j − cx)/f right − (i − cy)/f up."""

    eye: np.ndarray  # [m], shape (3,)
    axes: np.ndarray  # right, up, forward, shape (3, 3)
    focal: float  # f [samples]
    center: np.ndarray  # of what shadow maps hold; grounds fade with the distance from here [m], shape (3,)
    radius: float  # [m]


@kernel
def weigh_corners(points, a, b, c, px, py):
    """Weights λ of a triangle's corners in one pixel, times det M, and det M."""
    ax, ay, aw = points[a, 0], points[a, 1], points[a, 2]
    bx, by, bw = points[b, 0], points[b, 1], points[b, 2]
    cx, cy, cw = points[c, 0], points[c, 1], points[c, 2]
    # in coordinates relative to the pixel the last column of M⁻¹ is all that is left
    ax, ay = ax - px * aw, ay - py * aw
    bx, by = bx - px * bw, by - py * bw
    cx, cy = cx - px * cw, cy - py * cw
    la, lb, lc = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    return la, lb, lc, la * aw + lb * bw + lc * cw


@kernel
def draw_triangles(points, triangles, first, last, nearness, owner):
    """Draw rows first ≤ i < last: `nearness` keeps the greatest Σ λ q, `owner` (if any) its triangle.

    points: homogeneous image (px w, py w, w, q), shape (n, 4). Equal nearness goes to the lower index.
    """
    width = nearness.shape[1]
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        aw, bw, cw = points[a, 2], points[b, 2], points[c, 2]
        j0, j1, i0, i1 = 0, width, first, last
        if aw > 0.0 and bw > 0.0 and cw > 0.0:
            # pixel centres between the corners; a triangle that reaches behind the eye may be anywhere
            x0, x1, x2 = points[a, 0] / aw, points[b, 0] / bw, points[c, 0] / cw
            y0, y1, y2 = points[a, 1] / aw, points[b, 1] / bw, points[c, 1] / cw
            i0 = max(i0, int(np.ceil(max(-1.0, min(y0, y1, y2) - 0.5))))
            i1 = min(i1, int(np.floor(min(1e6, max(-1.0, max(y0, y1, y2) - 0.5)))) + 1)
            j0 = max(j0, int(np.ceil(max(-1.0, min(x0, x1, x2) - 0.5))))
            j1 = min(j1, int(np.floor(min(1e6, max(-1.0, max(x0, x1, x2) - 0.5)))) + 1)
        elif aw <= 0.0 and bw <= 0.0 and cw <= 0.0:
            continue
        if i0 >= i1 or j0 >= j1:
            continue
        # weights at the first pixel centre, and their change with column and row
        px, py = j0 + 0.5, i0 + 0.5
        la, lb, lc, det = weigh_corners(points, a, b, c, px, py)
        if det == 0.0:
            continue
        la, lb, lc = la / det, lb / det, lc / det
        ra, rb, rc, _ = weigh_corners(points, a, b, c, px + 1.0, py)
        da, db, dc, _ = weigh_corners(points, a, b, c, px, py + 1.0)
        ra, rb, rc = ra / det - la, rb / det - lb, rc / det - lc
        da, db, dc = da / det - la, db / det - lb, dc / det - lc
        qa, qb, qc = points[a, 3], points[b, 3], points[c, 3]
        for i in range(i0, i1):
            row = float(i - i0)
            for j in range(j0, j1):
                col = float(j - j0)
                wa, wb, wc = la + row * da + col * ra, lb + row * db + col * rb, lc + row * dc + col * rc
                if wa >= 0.0 and wb >= 0.0 and wc >= 0.0:
                    near = np.float32(wa * qa + wb * qb + wc * qc)
                    if near > nearness[i, j]:
                        nearness[i, j] = near
                        if owner.size > 0:
                            owner[i, j] = t


@parallel_kernel
def draw_view(points, triangles, nearness, owner):
    """Draw the camera's image, a band of rows at a time."""
    height = nearness.shape[0]
    for band in prange(BANDS):
        first = np.int64(band) * height // BANDS
        last = (np.int64(band) + 1) * height // BANDS
        draw_triangles(points, triangles, first, last, nearness, owner)


@kernel
def draw_map(x, triangles, frame, texels, owner):
    """Draw one shadow map (parallel projection: w = 1, q = height towards the light)."""
    points = np.empty((x.shape[0], 4))
    for v in range(x.shape[0]):
        for r in range(3):
            value = frame[r, 0] * x[v, 0] + frame[r, 1] * x[v, 1] + frame[r, 2] * x[v, 2] + frame[r, 3]
            points[v, r if r < 2 else 3] = value
        points[v, 2] = 1.0
    draw_triangles(points, triangles, np.int64(0), texels.shape[0], texels, owner)


@parallel_kernel
def draw_maps(x, triangles, frames, maps, owner):
    """Draw all shadow maps."""
    for k in prange(frames.shape[0]):
        draw_map(x, triangles, frames[k], maps[k], owner)


@kernel
def see_light(lights, k, p0, p1, p2):
    """Share of light k that reaches a point: four texels compared, bilinear between them [Reeves1987]."""
    f, size = lights.frames, lights.maps.shape[1]
    u = f[k, 0, 0] * p0 + f[k, 0, 1] * p1 + f[k, 0, 2] * p2 + f[k, 0, 3] - 0.5
    v = f[k, 1, 0] * p0 + f[k, 1, 1] * p1 + f[k, 1, 2] * p2 + f[k, 1, 3] - 0.5
    if not (u >= 0.0 and v >= 0.0 and u < size - 1 and v < size - 1):
        return 1.0
    height = np.float32(f[k, 2, 0] * p0 + f[k, 2, 1] * p1 + f[k, 2, 2] * p2 + f[k, 2, 3])
    j, i = int(u), int(v)
    s, t = u - j, v - i
    top = (1.0 - s) * (lights.maps[k, i, j] <= height) + s * (lights.maps[k, i, j + 1] <= height)
    i += 1
    bottom = (1.0 - s) * (lights.maps[k, i, j] <= height) + s * (lights.maps[k, i, j + 1] <= height)
    return (1.0 - t) * top + t * bottom


@kernel
def gather(lights, group, groups, p, n, to_eye):
    """Light of one group at a point: diffuse with shadows, diffuse without, and a soft highlight."""
    p0, p1, p2 = p[0], p[1], p[2]
    n0, n1, n2 = n[0], n[1], n[2]
    seen, full, gloss = 0.0, 0.0, 0.0
    for k in range(group, lights.directions.shape[0], groups):
        l0, l1, l2 = lights.directions[k, 0], lights.directions[k, 1], lights.directions[k, 2]
        cosine = n0 * l0 + n1 * l1 + n2 * l2
        if cosine <= 0.0:
            continue
        # off the surface by as much as a slanted plane rises within the four texels
        lift = lights.texel * (1.8 - 0.9 * cosine * cosine)
        share = see_light(lights, k, p0 + lift * n0, p1 + lift * n1, p2 + lift * n2)
        full += lights.strengths[k] * cosine
        seen += lights.strengths[k] * cosine * share
        if lights.gloss > 0.0 and share > 0.0:
            h0, h1, h2 = l0 + to_eye[0], l1 + to_eye[1], l2 + to_eye[2]
            half = (n0 * h0 + n1 * h1 + n2 * h2) / np.sqrt(h0 * h0 + h1 * h1 + h2 * h2 + 1e-12)
            gloss += lights.strengths[k] * cosine * share * max(0.0, half) ** 16
    return groups * seen, groups * full, groups * gloss * lights.gloss


@kernel
def light_surface(surface, key, sky, bounce, group, groups, t, px, py, view, work, out):
    """Colour of one sample of triangle t, tone mapped, into out, shape (3,); work: scratch, shape (3, 3)."""
    a, b, c = surface.triangles[t, 0], surface.triangles[t, 1], surface.triangles[t, 2]
    x = surface.x
    la, lb, lc, _ = weigh_corners(surface.points, a, b, c, px, py)
    total = la + lb + lc
    la, lb, lc = la / total, lb / total, lc / total
    p, n, to_eye = work[0], work[1], work[2]
    facing, length, away = 0.0, 1e-300, 1e-300
    for r in range(3):
        p[r] = la * x[a, r] + lb * x[b, r] + lc * x[c, r]
        n[r] = la * surface.normals[t, 0, r] + lb * surface.normals[t, 1, r] + lc * surface.normals[t, 2, r]
        to_eye[r] = view.eye[r] - p[r]
        length += n[r] * n[r]
        away += to_eye[r] * to_eye[r]
        # the triangle, not the interpolated normal, says which side is seen
        q, s = (r + 1) % 3, (r + 2) % 3
        flat = (x[b, q] - x[a, q]) * (x[c, s] - x[a, s]) - (x[b, s] - x[a, s]) * (x[c, q] - x[a, q])
        facing += flat * to_eye[r]
    side = 0 if facing >= 0.0 else 1
    length, away, facing = (1.0 - 2.0 * side) / np.sqrt(length), 1.0 / np.sqrt(away), 0.0
    for r in range(3):
        n[r] *= length
        to_eye[r] *= away
        facing += n[r] * to_eye[r]
    direct, _, gloss = gather(key, group, groups, p, n, to_eye)
    above, _, _ = gather(sky, group, groups, p, n, to_eye)
    below, _, _ = gather(bounce, group, groups, p, n, to_eye)
    sheen = 0.10 * (1.0 - max(0.0, facing)) ** 4
    for r in range(3):
        light = direct * key.color[r] + above * sky.color[r] + below * bounce.color[r]
        value = light * (surface.colors[t, side, r] * (1.0 - sheen) + sheen) + gloss * key.color[r]
        # shoulder that leaves dark tones alone and never clips
        out[r] = value * (1.0 + value / 9.0) / (1.0 + value)


@kernel
def light_ground_row(i, grounds, g, sky):
    """Skylight in one row of a ground's texture."""
    p, light = np.empty(3), grounds.light[g]
    middle = 0.5 * (light.shape[0] - 1)
    for j in range(light.shape[1]):
        for r in range(3):
            step = (j - middle) * grounds.axes[g, 0, r] + (i - middle) * grounds.axes[g, 1, r]
            p[r] = grounds.origins[g, r] + grounds.texel * step
        normal = grounds.planes[g, :3]
        seen, full, _ = gather(sky, np.int64(0), np.int64(1), p, normal, normal)
        light[i, j] = seen / max(full, 1e-12)


@parallel_kernel
def light_grounds(grounds, sky):
    """Fill the grounds' textures."""
    rows = grounds.light.shape[1]
    for i in prange(grounds.light.shape[0] * rows):
        light_ground_row(np.int64(i % rows), grounds, np.int64(i // rows), sky)


@kernel
def find_ground(grounds, eye, ray):
    """The nearest ground along a ray, −1 if there is none, and the inverse of its distance."""
    found, nearest = np.int64(-1), 0.0
    for g in range(grounds.planes.shape[0]):
        plane = grounds.planes[g]
        rise = plane[0] * eye[0] + plane[1] * eye[1] + plane[2] * eye[2] - plane[3]
        near = -(plane[0] * ray[0] + plane[1] * ray[1] + plane[2] * ray[2]) / rise
        # a ground is seen from above only
        if rise > 0.0 and near > nearest:
            found, nearest = np.int64(g), near
    return found, nearest


@kernel
def light_ground(view, key, sky, grounds, g, group, groups, distance, ray, work, out):
    """Turn the backdrop in `out` into what ground g shows at this distance along the ray: its tone and shadows."""
    p, n, floor = work[0], grounds.planes[g, :3], grounds.light[g]
    middle = 0.5 * (floor.shape[0] - 1)
    u, v = middle, middle
    for r in range(3):
        p[r] = view.eye[r] + distance * ray[r]
        u += (p[r] - grounds.origins[g, r]) * grounds.axes[g, 0, r] / grounds.texel
        v += (p[r] - grounds.origins[g, r]) * grounds.axes[g, 1, r] / grounds.texel
    # the texture's border is where the ground has faded into the backdrop
    fade = min(1.0, 2.0 * np.sqrt((u / middle - 1.0) ** 2 + (v / middle - 1.0) ** 2) - 1.0)
    if fade >= 0.99:
        return
    fade = max(0.0, fade)
    fade = fade * fade * (3.0 - 2.0 * fade)
    j, i = int(u), int(v)
    s, t = u - j, v - i
    above = (1.0 - t) * ((1.0 - s) * floor[i, j] + s * floor[i, j + 1])
    above += t * ((1.0 - s) * floor[i + 1, j] + s * floor[i + 1, j + 1])
    above *= grounds.open_sky[g]
    direct, direct_full, _ = gather(key, group, groups, p, n, n)
    for r in range(3):
        full = direct_full * key.color[r] + grounds.open_sky[g] * sky.color[r]
        ratio = (direct * key.color[r] + above * sky.color[r]) / max(full, 1e-12)
        out[r] *= fade + (1.0 - fade) * ratio * grounds.tones[g, r]


@kernel
def light_row(i, surface, key, sky, bounce, grounds, view, backdrop, nearness, owner, samples, image):
    """Colour one row of the picture: s × s samples a pixel, averaged after tone mapping."""
    groups = samples * samples
    height, width = nearness.shape
    color, ray, work = np.empty(3), np.empty(3), np.empty((3, 3))
    for j in range(image.shape[1]):
        for group in range(groups):
            row, col = i * samples + group // samples, j * samples + group % samples
            px, py = col + 0.5, row + 0.5
            for r in range(3):
                color[r] = backdrop[i, j, r]
                across = (px - 0.5 * width) / view.focal * view.axes[0, r]
                upward = (0.5 * height - py) / view.focal * view.axes[1, r]
                ray[r] = view.axes[2, r] + across + upward
            g, near = find_ground(grounds, view.eye, ray)
            if near > nearness[row, col]:
                light_ground(view, key, sky, grounds, g, group, groups, 1.0 / near, ray, work, color)
            elif owner[row, col] >= 0:
                t = owner[row, col]
                light_surface(surface, key, sky, bounce, group, groups, t, px, py, view, work, color)
            for r in range(3):
                image[i, j, r] += color[r] / groups


@parallel_kernel
def light_image(surface, key, sky, bounce, grounds, view, backdrop, nearness, owner, samples, image):
    """Colour the picture; image: linear rgb, zero on entry, shape (height, width, 3)."""
    half = (image.shape[0] + 1) // 2
    for i in prange(image.shape[0]):
        # even rows, then odd ones: threads take halves of the range, and both shall get half of the subject
        row = np.int64(2 * i if i < half else 2 * (i - half) + 1)
        light_row(row, surface, key, sky, bounce, grounds, view, backdrop, nearness, owner, samples, image)
