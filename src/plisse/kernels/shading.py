"""Colours of a picture: what each pixel shows of surfaces and grounds, in the light that reaches them.

A pixel's samples of one triangle or ground, and of fine triangles beside it, are coloured once: a fragment. The key
light is gathered there. The soft light of sky and floor is gathered at the vertices of fine triangles, which are small
in the image, in the fragments of other ones, and in the texels of grounds.
"""

from typing import NamedTuple

import numpy as np

from plisse.kernels.jit import kernel
from plisse.kernels.normals import flat_normal
from plisse.kernels.visibility import (
    BACK,
    FINE,
    NOTHING,
    SHARP,
    WIDE,
    draw_band,
    weigh_corners,
    weigh_wide_corners,
)


class Grounds(NamedTuple):
    """Planes that catch shadows. The skylight that reaches them is smooth and asked for often, hence a texture."""

    planes: np.ndarray  # n·x = d as (n, d), shape (k, 4)
    origins: np.ndarray  # the textures' middles [m], shape (k, 3)
    axes: np.ndarray  # along columns and rows, of a texel's length [m], shape (k, 2, 3)
    views: np.ndarray  # M of (column, row, 1) w = M (px, py, 1), from the image to the texture, shape (k, 3, 3)
    sky: np.ndarray  # light of the sky, shape (k, s, s), float32
    open: np.ndarray  # light of the key on each plane without any shadow, shape (k,)
    tones: np.ndarray  # what light on a plane is multiplied with for its share of the backdrop, rgb, shape (3,)
    shaded: np.ndarray  # first and last column and row that the key light's shadows can reach, shape (k, 4)


class Fragments(NamedTuple):
    """What the pixels show, row by row; only the first ones of each row are there."""

    counts: np.ndarray  # how many, and how many receivers of the key's light and of soft light, shape (height, 3)
    columns: np.ndarray  # shape (height, k), as are all below
    owners: np.ndarray
    shares: np.ndarray  # of the pixel
    places: np.ndarray  # in the image [samples], of grounds in their textures, shape (height, k, 2)
    lit: np.ndarray  # number among the row's receivers of the key's light, −1 if it is none
    soft: np.ndarray  # number among the row's receivers of soft light, −1 if it is none


class Palette(NamedTuple):
    """How light becomes colour."""

    lights: np.ndarray  # linear rgb of key, sky and bounce, shape (3, 3)
    towards: np.ndarray  # direction of the key light, shape (3,)
    gloss: float  # share of the key light that makes highlights
    albedos: np.ndarray  # linear rgb, fronts and backs of bodies in turn, shape (2 b, 3)
    paper: np.ndarray  # tint of the backdrop, linear rgb, shape (3,)
    codes: np.ndarray  # sRGB bytes of linear values i/(len − 1), shape (c,)


@kernel
def is_continued(triangles, traits, mine, other):
    """Whether two owners are fine triangles that share a vertex and are seen from the same side."""
    if mine < 0 or other < 0 or traits[mine] != traits[other] or not traits[mine] & FINE:
        return False
    a, b, c = triangles[mine, 0], triangles[mine, 1], triangles[mine, 2]
    for k in range(3):
        v = triangles[other, k]
        if v == a or v == b or v == c:
            return True
    return False


@kernel
def see_row(i, row, first, owner, surface, grounds, samples, wanted, fragments):
    """Find the fragments of row i of pixels. owner: of samples from the first row on; row: where the pixels' begin."""
    total, width, views = samples * samples, owner.shape[1] // samples, grounds.views
    down, across, shares = np.arange(total) // samples, np.arange(total) % samples, 1.0 / np.arange(total + 1)
    middle, middle_sample, shown, lit, soft = 0.5 * (grounds.sky.shape[1] - 1), 0.5 * (samples - 1), 0, 0, 0
    owners = np.empty(total, np.int64)
    for j in range(width):
        left, taken, alike = j * samples, 0, True
        for e in range(total):
            owners[e] = owner[row + down[e], left + across[e]]
            alike &= owners[e] == owners[0]
        if alike and owners[0] == NOTHING:
            continue
        for k in range(total):
            if taken >> k & 1:
                continue
            mine, count, own, px, py = owners[k], total, total, middle_sample, middle_sample
            if alike:
                taken = -1
            else:
                count, own, px, py = 0, 0, 0.0, 0.0
                for e in range(k, total):
                    if owners[e] == mine:
                        own += 1
                        px += across[e]
                        py += down[e]
                    elif taken >> e & 1 or not is_continued(surface.triangles, surface.traits, mine, owners[e]):
                        continue
                    count += 1
                    taken |= 1 << e
                if mine == NOTHING:
                    continue
                px, py = px * shares[own], py * shares[own]
            # where light has to be known for it
            px, py = left + px + 0.5, first + row + py + 0.5
            fragments.lit[i, shown], fragments.soft[i, shown] = -1, -1
            if mine < 0:
                g = NOTHING - 1 - mine
                w = 1.0 / (views[g, 2, 0] * px + views[g, 2, 1] * py + views[g, 2, 2])
                u = (views[g, 0, 0] * px + views[g, 0, 1] * py + views[g, 0, 2]) * w
                v = (views[g, 1, 0] * px + views[g, 1, 1] * py + views[g, 1, 2]) * w
                if (u - middle) ** 2 + (v - middle) ** 2 >= middle * middle:
                    continue
                px, py, box = u, v, grounds.shaded
                if u >= box[g, 0] and u <= box[g, 1] and v >= box[g, 2] and v <= box[g, 3]:
                    fragments.lit[i, shown] = lit
                    lit += 1
            else:
                fragments.lit[i, shown] = lit
                lit += 1
                if surface.traits[mine] & FINE:
                    back = 1 if surface.traits[mine] & BACK else 0
                    for c in range(3):
                        wanted[2 * surface.triangles[mine, c] + back] = 1
                else:
                    fragments.soft[i, shown] = soft
                    soft += 1
            fragments.columns[i, shown], fragments.owners[i, shown] = j, mine
            fragments.places[i, shown, 0], fragments.places[i, shown, 1] = px, py
            fragments.shares[i, shown] = count * shares[total]
            shown += 1
    fragments.counts[i, 0], fragments.counts[i, 1], fragments.counts[i, 2] = shown, lit, soft


@kernel
def see(top, bottom, surface, view, grounds, planes, samples, wanted, fragments):
    """Find the fragments of some rows of a picture, and where light has to be known.

    planes: inverse depths of grounds in the image, see `draw_band`. wanted: 1 for vertices of fine triangles that are
    seen, fronts and backs in turn, shape (2 n,); zero on entry.
    """
    nearness = np.empty(((bottom - top) * samples, fragments.columns.shape[1] // samples), np.float32)
    owner = np.empty(nearness.shape, np.int32)
    draw_band(surface, view, planes, top * samples, nearness, owner)
    for i in range(top, bottom):
        see_row(i, (i - top) * samples, top * samples, owner, surface, grounds, samples, wanted, fragments)


@kernel
def place_vertices(start, end, surface, center, wanted, numbers, soft):
    """Fill the receivers of soft light that are vertices, relative to a center [m] (3,).

    numbers: those of the wanted fronts and backs of vertices.
    """
    for v in range(start, end):
        for back in range(2):
            if wanted[2 * v + back]:
                number = numbers[2 * v + back]
                for r in range(3):
                    soft.points[r, number] = surface.x[v, r] - center[r]
                    soft.normals[r, number] = (1.0 - 2.0 * back) * surface.normals[v, r]


@kernel
def place_row(i, surface, view, grounds, center, fragments, starts, lit, soft):
    x, triangles, middle = surface.x, surface.triangles, 0.5 * (grounds.sky.shape[1] - 1)
    for k in range(fragments.counts[i, 0]):
        mine, px, py = fragments.owners[i, k], fragments.places[i, k, 0], fragments.places[i, k, 1]
        if fragments.lit[i, k] < 0:
            continue
        number = starts[i, 0] + fragments.lit[i, k]
        if mine < 0:
            g = NOTHING - 1 - mine
            for r in range(3):
                aside = (px - middle) * grounds.axes[g, 0, r] + (py - middle) * grounds.axes[g, 1, r]
                lit.points[r, number] = grounds.origins[g, r] - center[r] + aside
                lit.normals[r, number] = grounds.planes[g, r]
            continue
        traits, a, b, c = surface.traits[mine], triangles[mine, 0], triangles[mine, 1], triangles[mine, 2]
        if traits & WIDE:
            la, lb, lc = weigh_wide_corners(x, triangles, view, mine, px, py)
        else:
            la, lb, lc = weigh_corners(surface.image, triangles, mine, px, py)
        n, turn = surface.normals, -1.0 if traits & BACK else 1.0
        if traits < SHARP:
            n0 = la * n[a, 0] + lb * n[b, 0] + lc * n[c, 0]
            n1 = la * n[a, 1] + lb * n[b, 1] + lc * n[c, 1]
            n2 = la * n[a, 2] + lb * n[b, 2] + lc * n[c, 2]
        else:
            n0, n1, n2 = flat_normal(x, a, b, c)
            # corners that are not sharp have their vertex's normal
            wa, wb = 0.0 if traits & SHARP else la, 0.0 if traits & (SHARP << 1) else lb
            wc = 0.0 if traits & (SHARP << 2) else lc
            own = 1.0 - wa - wb - wc
            n0 = own * n0 + wa * n[a, 0] + wb * n[b, 0] + wc * n[c, 0]
            n1 = own * n1 + wa * n[a, 1] + wb * n[b, 1] + wc * n[c, 1]
            n2 = own * n2 + wa * n[a, 2] + wb * n[b, 2] + wc * n[c, 2]
        # towards the eye
        turn /= np.sqrt(n0 * n0 + n1 * n1 + n2 * n2) + 1e-300
        lit.normals[0, number], lit.normals[1, number], lit.normals[2, number] = turn * n0, turn * n1, turn * n2
        for r in range(3):
            lit.points[r, number] = la * x[a, r] + lb * x[b, r] + lc * x[c, r] - center[r]
        if fragments.soft[i, k] >= 0:
            again = starts[i, 1] + fragments.soft[i, k]
            for r in range(3):
                soft.points[r, again], soft.normals[r, again] = lit.points[r, number], lit.normals[r, number]


@kernel
def place_fragments(top, bottom, surface, view, grounds, center, fragments, starts, lit, soft):
    """Fill the receivers that are fragments of some rows; starts: the first ones of each row, shape (height, 2)."""
    for i in range(top, bottom):
        place_row(i, surface, view, grounds, center, fragments, starts, lit, soft)


@kernel
def color_row(i, surface, grounds, fragments, starts, numbers, lit, soft, eye, palette, picture):
    height, width, last, k = picture.shape[0], picture.shape[1], palette.codes.shape[0] - 1, 0
    triangles, lights, tint, sky, paper = surface.triangles, palette.lights, palette.paper, grounds.sky, 0.0
    t0, t1, t2, middle = palette.towards[0], palette.towards[1], palette.towards[2], 0.5 * (sky.shape[1] - 1)
    for j in range(width):
        # neutral studio paper: lightest behind the subject, a little darker towards the corners
        away = ((j + 0.5 - 0.5 * width) / (0.5 * width)) ** 2 + ((i + 0.5 - 0.45 * height) / (0.5 * height)) ** 2
        paper, left = 0.84 - 0.26 * min(1.0, away / 2.2), 1.0
        r0, r1, r2 = 0.0, 0.0, 0.0
        while k < fragments.counts[i, 0] and fragments.columns[i, k] == j:
            mine, share, number = fragments.owners[i, k], fragments.shares[i, k], fragments.lit[i, k]
            px, py, again = fragments.places[i, k, 0], fragments.places[i, k, 1], fragments.soft[i, k]
            number, left, k = starts[i, 0] + number if number >= 0 else number, left - share, k + 1
            if mine < 0:
                g, col, row = NOTHING - 1 - mine, np.int64(px), np.int64(py)
                s, t = px - col, py - row
                above = (1.0 - t) * ((1.0 - s) * sky[g, row, col] + s * sky[g, row, col + 1])
                above += t * ((1.0 - s) * sky[g, row + 1, col] + s * sky[g, row + 1, col + 1])
                direct = grounds.open[g] if number < 0 else lit.light[0, number]
                # the texture's border is where the ground has faded into the backdrop
                fade = max(0.0, 2.0 * np.sqrt((px - middle) ** 2 + (py - middle) ** 2) / middle - 1.0)
                fade = fade * fade * (3.0 - 2.0 * fade)
                whole, fade = share * paper * (1.0 - fade), share * paper * fade
                r0 += tint[0] * (fade + whole * grounds.tones[0] * (direct * lights[0, 0] + above * lights[1, 0]))
                r1 += tint[1] * (fade + whole * grounds.tones[1] * (direct * lights[0, 1] + above * lights[1, 1]))
                r2 += tint[2] * (fade + whole * grounds.tones[2] * (direct * lights[0, 2] + above * lights[1, 2]))
                continue
            back, a, b, c = (
                1 if surface.traits[mine] & BACK else 0,
                triangles[mine, 0],
                triangles[mine, 1],
                triangles[mine, 2],
            )
            if again >= 0:
                above, below = soft.light[0, starts[i, 1] + again], soft.light[1, starts[i, 1] + again]
            else:
                la, lb, lc = weigh_corners(surface.image, triangles, mine, px, py)
                na, nb, nc = numbers[2 * a + back], numbers[2 * b + back], numbers[2 * c + back]
                above = la * soft.light[0, na] + lb * soft.light[0, nb] + lc * soft.light[0, nc]
                below = la * soft.light[1, na] + lb * soft.light[1, nb] + lc * soft.light[1, nc]
            direct, n0, n1, n2 = (
                lit.light[0, number],
                lit.normals[0, number],
                lit.normals[1, number],
                lit.normals[2, number],
            )
            e0, e1, e2 = eye[0] - lit.points[0, number], eye[1] - lit.points[1, number], eye[2] - lit.points[2, number]
            whole = 1.0 / (np.sqrt(e0 * e0 + e1 * e1 + e2 * e2) + 1e-300)
            e0, e1, e2 = e0 * whole, e1 * whole, e2 * whole
            sheen = 1.0 - min(1.0, max(0.0, n0 * e0 + n1 * e1 + n2 * e2))
            sheen = 0.10 * (sheen * sheen) * (sheen * sheen)
            h0, h1, h2 = e0 + t0, e1 + t1, e2 + t2
            half = max(0.0, n0 * h0 + n1 * h1 + n2 * h2) ** 2 / (h0 * h0 + h1 * h1 + h2 * h2 + 1e-12)
            half *= half
            half *= half
            gloss, skin = palette.gloss * direct * half * half, 2 * surface.bodies[a] + back
            c0 = direct * lights[0, 0] + above * lights[1, 0] + below * lights[2, 0]
            c1 = direct * lights[0, 1] + above * lights[1, 1] + below * lights[2, 1]
            c2 = direct * lights[0, 2] + above * lights[1, 2] + below * lights[2, 2]
            c0 = c0 * (palette.albedos[skin, 0] * (1.0 - sheen) + sheen) + gloss * lights[0, 0]
            c1 = c1 * (palette.albedos[skin, 1] * (1.0 - sheen) + sheen) + gloss * lights[0, 1]
            c2 = c2 * (palette.albedos[skin, 2] * (1.0 - sheen) + sheen) + gloss * lights[0, 2]
            # shoulder that leaves dark tones alone and never clips
            r0 += share * c0 * (1.0 + c0 / 9.0) / (1.0 + c0)
            r1 += share * c1 * (1.0 + c1 / 9.0) / (1.0 + c1)
            r2 += share * c2 * (1.0 + c2 / 9.0) / (1.0 + c2)
        r0, r1, r2 = r0 + left * paper * tint[0], r1 + left * paper * tint[1], r2 + left * paper * tint[2]
        picture[i, j, 0] = palette.codes[np.int64(min(1.0, max(0.0, r0)) * last + 0.5)]
        picture[i, j, 1] = palette.codes[np.int64(min(1.0, max(0.0, r1)) * last + 0.5)]
        picture[i, j, 2] = palette.codes[np.int64(min(1.0, max(0.0, r2)) * last + 0.5)]


@kernel
def color(top, bottom, surface, grounds, fragments, starts, numbers, lit, soft, eye, palette, picture):
    """Colour some rows of a picture, sRGB bytes, shape (height, width, 3).

    eye: relative to what receivers are [m], shape (3,).
    """
    for i in range(top, bottom):
        color_row(i, surface, grounds, fragments, starts, numbers, lit, soft, eye, palette, picture)
