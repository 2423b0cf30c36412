"""Vertex splits into places that keep clear of everything, one after the other, each checked against all that is there.

A box tree over the finer mesh's triangles holds those that are there; its order is made once, and a triangle that
changes or appears widens or narrows the boxes above it.
"""

import math
from typing import NamedTuple

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.kernels.crossing import Clearance, Scenery, keeps_clear
from plisse.kernels.jit import kernel

DEPTH = 64  # of the traversal stack
STAR = 512  # triangles about a split, at most
HALVINGS = 6  # of the way to the targets
RINGS, SAMPLES = 5, 48  # random directions: distances that are tried, and directions for each
GRADES = 4  # of what is asked of places, from wide to tight
NEAREST = 0.5  # the first of these distances, as a part of that to the nearest neighbour
SHRINK = 0.2  # from one to the next
THIN, THINNEST = 0.05, 1e-5  # area over that at rest of the smallest triangle, and where nothing else is found
SLIVER = 1e-6  # height over side of the flattest triangle: whether something crosses a flatter one is up to rounding

# how a split ended
WAITS, ARRIVED, PART, TIGHT, ASIDE, STUCK = 0, 1, 2, 3, 4, 5


class Growing(NamedTuple):
    """A mesh on its way from one level to the next, in the finer one's numbers.

    triangles: -1 in the first place of those that are not there yet. head, link: corners 3 t + k at each vertex as
    linked lists. leaf: place of a triangle in the tree; at: the triangle of each place, -1 for none. boxes: lowest and
    highest coordinates of the tree's nodes [m], the children of node k being 2k and 2k + 1.
    """

    x: Floats  # positions [m], shape (n, 3)
    target: Floats  # where vertices are wanted [m], shape (n, 3)
    there: Bools  # vertices that exist, shape (n,)
    triangles: Ints  # shape (m, 3)
    head: Ints  # shape (n,)
    link: Ints  # shape (3 m,)
    leaf: Ints  # shape (m,)
    at: Ints  # shape (leaves,)
    boxes: Floats  # shape (2 leaves, 6)
    mark: Longs  # number of the last look at each triangle, shape (m,)
    looks: Longs  # shape (1,)


class Record(NamedTuple):
    """Splits; see `hierarchy.splits`."""

    kept: Ints  # shape (c,)
    new: Ints  # shape (c,)
    faces: Ints  # shape (c, 2)
    corners: Ints  # shape (c, 2, 3)
    moved: Ints
    moved_start: Longs  # shape (c + 1,)
    ring: Ints
    ring_start: Longs  # shape (c + 1,)


@kernel
def _attach(mesh: Growing, f: int, k: int) -> None:
    v = mesh.triangles[f, k]
    mesh.link[3 * f + k] = mesh.head[v]
    mesh.head[v] = 3 * f + k


@kernel
def _detach(mesh: Growing, f: int, k: int) -> None:
    v, corner = mesh.triangles[f, k], 3 * f + k
    if mesh.head[v] == corner:
        mesh.head[v] = mesh.link[corner]
        return
    at = mesh.head[v]
    while mesh.link[at] != corner:
        at = mesh.link[at]
    mesh.link[at] = mesh.link[corner]


@kernel
def _fit_box(mesh: Growing, f: int) -> None:
    """The box of a triangle, empty where it is not there, and of all nodes above it."""
    boxes, node = mesh.boxes, mesh.at.size + mesh.leaf[f]
    a, b, c = mesh.triangles[f, 0], mesh.triangles[f, 1], mesh.triangles[f, 2]
    for k in range(3):
        if a < 0:
            boxes[node, k], boxes[node, 3 + k] = np.inf, -np.inf
        else:
            boxes[node, k] = min(mesh.x[a, k], mesh.x[b, k], mesh.x[c, k])
            boxes[node, 3 + k] = max(mesh.x[a, k], mesh.x[b, k], mesh.x[c, k])
    node //= 2
    while node > 0:
        left, right = 2 * node, 2 * node + 1
        same = True
        for k in range(3):
            lo, hi = min(boxes[left, k], boxes[right, k]), max(boxes[left, 3 + k], boxes[right, 3 + k])
            same = same and lo == boxes[node, k] and hi == boxes[node, 3 + k]
            boxes[node, k], boxes[node, 3 + k] = lo, hi
        if same:
            break
        node //= 2


@kernel
def fill(mesh: Growing) -> None:
    """The corner lists and the boxes of the triangles that are there."""
    mesh.head[:] = -1
    mesh.boxes[:, :3] = np.inf
    mesh.boxes[:, 3:] = -np.inf
    leaves = mesh.at.size
    for f in range(len(mesh.triangles)):
        if mesh.triangles[f, 0] < 0:
            continue
        for k in range(3):
            _attach(mesh, f, k)
            for i in range(3):
                v = mesh.triangles[f, i]
                node = leaves + mesh.leaf[f]
                mesh.boxes[node, k] = min(mesh.boxes[node, k], mesh.x[v, k])
                mesh.boxes[node, 3 + k] = max(mesh.boxes[node, 3 + k], mesh.x[v, k])
    for node in range(leaves - 1, 0, -1):
        for k in range(3):
            mesh.boxes[node, k] = min(mesh.boxes[2 * node, k], mesh.boxes[2 * node + 1, k])
            mesh.boxes[node, 3 + k] = max(mesh.boxes[2 * node, 3 + k], mesh.boxes[2 * node + 1, 3 + k])


@kernel
def _gather(mesh: Growing, v: int, star: Ints, count: int) -> int:
    """Adds the triangles about a vertex that are not marked yet to a star, marks them, and returns its size."""
    look, corner = mesh.looks[0], mesh.head[v]
    while corner >= 0:
        f = corner // 3
        if mesh.mark[f] != look and count < star.size:
            mesh.mark[f] = look
            star[count] = f
            count += 1
        corner = mesh.link[corner]
    return count


@kernel
def _area2(x: Floats, f: Ints) -> float:
    """Square of twice the area of a triangle [m⁴]."""
    a, b, c = f[0], f[1], f[2]
    ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return nx * nx + ny * ny + nz * nz


@kernel
def _longest2(x: Floats, f: Ints) -> float:
    """Square of a triangle's longest side [m²]."""
    longest = 0.0
    for k in range(3):
        a, b = f[k], f[(k + 1) % 3]
        longest = max(longest, (x[b, 0] - x[a, 0]) ** 2 + (x[b, 1] - x[a, 1]) ** 2 + (x[b, 2] - x[a, 2]) ** 2)
    return longest


@kernel
def _above_planes(mesh: Growing, scenery: Scenery, v: int, asked: Clearance) -> bool:
    if not scenery.deformable[v]:
        return True
    for k in range(len(scenery.planes)):
        height = -scenery.planes[k, 3]
        for i in range(3):
            height += scenery.planes[k, i] * mesh.x[v, i]
        if height < scenery.offset + asked.room * scenery.dhat:
            return False
    return True


@kernel
def _star_is_clear(mesh: Growing, scenery: Scenery, star: Ints, count: int, asked: Clearance, thin: float) -> bool:
    """Whether the marked triangles of a star keep clear of one another and of all others."""
    x, look, leaves, boxes = mesh.x, mesh.looks[0], mesh.at.size, mesh.boxes
    for i in range(count):
        f = mesh.triangles[star[i]]
        area2 = _area2(x, f)
        # three vertices of a straight border have no area at rest either
        if area2 < thin * thin * _area2(scenery.X, f) or area2 < SLIVER * SLIVER * _longest2(x, f) ** 2:
            return False
    for i in range(count):
        for j in range(i):
            if not keeps_clear(x, scenery, mesh.triangles[star[i]], mesh.triangles[star[j]], asked):
                return False
    reach = scenery.offset + asked.room * scenery.dhat
    stack = np.empty(DEPTH, np.int32)
    for i in range(count):
        f = mesh.triangles[star[i]]
        a, b, c = f[0], f[1], f[2]
        lx, hx = min(x[a, 0], x[b, 0], x[c, 0]) - reach, max(x[a, 0], x[b, 0], x[c, 0]) + reach
        ly, hy = min(x[a, 1], x[b, 1], x[c, 1]) - reach, max(x[a, 1], x[b, 1], x[c, 1]) + reach
        lz, hz = min(x[a, 2], x[b, 2], x[c, 2]) - reach, max(x[a, 2], x[b, 2], x[c, 2]) + reach
        stack[0] = 1
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if (
                boxes[node, 0] > hx
                or boxes[node, 3] < lx
                or boxes[node, 1] > hy
                or boxes[node, 4] < ly
                or boxes[node, 2] > hz
                or boxes[node, 5] < lz
            ):
                continue
            if node < leaves:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node
                top += 2
                continue
            g = mesh.at[node - leaves]
            if mesh.mark[g] != look and not keeps_clear(x, scenery, f, mesh.triangles[g], asked):
                return False
    return True


@kernel
def _random(seed: int, number: int) -> float:
    """One of evenly spread numbers in [0, 1), the same for the same seed and number (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number + 1) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@kernel
def _try(
    mesh: Growing, scenery: Scenery, star: Ints, count: int, i: int, j: int, asked: Clearance, thin: float
) -> bool:
    above = _above_planes(mesh, scenery, i, asked) and _above_planes(mesh, scenery, j, asked)
    return above and _star_is_clear(mesh, scenery, star, count, asked, thin)


@kernel
def _place_between(mesh: Growing, v: int, px: float, py: float, pz: float, part: float) -> None:
    """A vertex at a part of the way from p to its target, at the target itself for 1."""
    x, target = mesh.x, mesh.target
    if part == 1.0:
        x[v, 0], x[v, 1], x[v, 2] = target[v, 0], target[v, 1], target[v, 2]
    else:
        x[v, 0] = px + part * (target[v, 0] - px)
        x[v, 1] = py + part * (target[v, 1] - py)
        x[v, 2] = pz + part * (target[v, 2] - pz)


@kernel
def _graded(wide: Clearance, tight: Clearance, grade: int) -> Clearance:
    """What is asked at first, and less and less of it: no room, then ever smaller parts of the own offset."""
    if grade == 0:
        return wide
    part = (grade - 1) / (GRADES - 2)
    return Clearance(wide.own ** (1.0 - part) * tight.own**part, tight.room)


@kernel
def _find_places(
    mesh: Growing, scenery: Scenery, star: Ints, count: int, i: int, j: int, wide: Clearance, tight: Clearance,
    seed: int, effort: int,
) -> int:  # fmt: skip
    """Places for the ends i, j of an edge that begins as a point; returns how it ended."""
    x = mesh.x
    px, py, pz = x[i, 0], x[i, 1], x[i, 2]
    nearest = np.inf
    for n in range(count):
        for k in range(3):
            v = mesh.triangles[star[n], k]
            if v != i and v != j:
                nearest = min(nearest, (x[v, 0] - px) ** 2 + (x[v, 1] - py) ** 2 + (x[v, 2] - pz) ** 2)
    samples = SAMPLES * effort
    for grade in range(GRADES):
        asked, thin = _graded(wide, tight, grade), THIN if grade == 0 else THINNEST
        part = 1.0
        for _ in range(HALVINGS):
            # both on their way; then one of them while the other stays
            for who in range(3):
                _place_between(mesh, i, px, py, pz, part if who != 1 else 0.0)
                _place_between(mesh, j, px, py, pz, part if who != 2 else 0.0)
                if _try(mesh, scenery, star, count, i, j, asked, thin):
                    if grade > 0:
                        return TIGHT
                    return ARRIVED if part == 1.0 and who == 0 else PART
            part *= 0.5
        # anywhere for the new one, nearer and nearer; where that was to no avail, for the other one in turn
        x[i, 0], x[i, 1], x[i, 2] = px, py, pz
        x[j, 0], x[j, 1], x[j, 2] = px, py, pz
        far = NEAREST * math.sqrt(nearest)
        for ring in range(RINGS):
            for k in range(samples):
                # stratified in height, random about the axis
                z = 2.0 * (k + _random(seed, 2 * (ring * samples + k))) / samples - 1.0
                angle = 2.0 * math.pi * _random(seed, 2 * (ring * samples + k) + 1)
                r = math.sqrt(max(1.0 - z * z, 0.0))
                v = i if effort > 1 and k % 2 else j
                x[v, 0] = px + far * r * math.cos(angle)
                x[v, 1] = py + far * r * math.sin(angle)
                x[v, 2] = pz + far * z
                if _try(mesh, scenery, star, count, i, j, asked, thin):
                    return ASIDE
                x[v, 0], x[v, 1], x[v, 2] = px, py, pz
            far *= SHRINK
    return STUCK


@kernel
def _open(mesh: Growing, splits: Record, c: int) -> None:
    """Splits a vertex in two that lie in the same place."""
    i, j = splits.kept[c], splits.new[c]
    mesh.there[j] = True
    for k in range(3):
        mesh.x[j, k] = mesh.x[i, k]
    for n in range(splits.moved_start[c], splits.moved_start[c + 1]):
        f = splits.moved[n]
        for k in range(3):
            if mesh.triangles[f, k] == i:
                _detach(mesh, f, k)
                mesh.triangles[f, k] = j
                _attach(mesh, f, k)
    for side in range(2):
        f = splits.faces[c, side]
        if f >= 0:
            for k in range(3):
                mesh.triangles[f, k] = splits.corners[c, side, k]
                _attach(mesh, f, k)


@kernel
def _close(mesh: Growing, splits: Record, c: int) -> None:
    """Undoes `_open`."""
    i, j = splits.kept[c], splits.new[c]
    for side in range(2):
        f = splits.faces[c, side]
        if f >= 0:
            for k in range(3):
                _detach(mesh, f, k)
            mesh.triangles[f, 0] = -1
    for n in range(splits.moved_start[c], splits.moved_start[c + 1]):
        f = splits.moved[n]
        for k in range(3):
            if mesh.triangles[f, k] == j:
                _detach(mesh, f, k)
                mesh.triangles[f, k] = i
                _attach(mesh, f, k)
    mesh.there[j] = False


@kernel
def _is_ready(mesh: Growing, splits: Record, c: int) -> bool:
    """Whether a vertex has the same neighbours as when it was merged."""
    if not mesh.there[splits.kept[c]]:
        return False
    for at in range(splits.ring_start[c], splits.ring_start[c + 1]):
        if not mesh.there[splits.ring[at]]:
            return False
    return True


@kernel
def split_batch(
    mesh: Growing, scenery: Scenery, splits: Record, batch: Longs, wide: Clearance, tight: Clearance,
    seed: int, effort: int, ends: Ints,
) -> None:  # fmt: skip
    """Splits vertices where there is room; ends: how each of the batch ended, (b,)."""
    star = np.empty(STAR, np.int32)
    for n in range(batch.size):
        c = batch[n]
        ends[n] = WAITS
        if not _is_ready(mesh, splits, c):
            continue
        i, j = splits.kept[c], splits.new[c]
        px, py, pz = mesh.x[i, 0], mesh.x[i, 1], mesh.x[i, 2]
        _open(mesh, splits, c)
        mesh.looks[0] += 1
        count = _gather(mesh, j, star, _gather(mesh, i, star, 0))
        ends[n] = _find_places(mesh, scenery, star, count, i, j, wide, tight, seed + 7919 * c, effort)
        if ends[n] == STUCK:
            mesh.x[i, 0], mesh.x[i, 1], mesh.x[i, 2] = px, py, pz
            _close(mesh, splits, c)
            continue
        for k in range(count):
            _fit_box(mesh, star[k])


@kernel
def move_on(mesh: Growing, scenery: Scenery, vertices: Ints, wide: Clearance, behind: Bools) -> int:
    """Vertices go on towards their targets as far as there is room; marks those still behind (n,), counts who moved."""
    star = np.empty(STAR, np.int32)
    x, moved = mesh.x, 0
    for n in range(vertices.size):
        v = vertices[n]
        px, py, pz = x[v, 0], x[v, 1], x[v, 2]
        mesh.looks[0] += 1
        count = _gather(mesh, v, star, 0)
        part, found = 1.0, False
        for _ in range(HALVINGS):
            _place_between(mesh, v, px, py, pz, part)
            if _try(mesh, scenery, star, count, v, v, wide, THIN):
                found = True
                break
            part *= 0.5
        behind[v] = not (found and part == 1.0)
        if not found:
            x[v, 0], x[v, 1], x[v, 2] = px, py, pz
            continue
        moved += 1
        for k in range(count):
            _fit_box(mesh, star[k])
    return moved
