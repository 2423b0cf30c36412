"""Point–triangle and edge–edge pairs that can come close: leaves against trees, then an exact filter."""

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from plisse.core.arrays import Bytes, Floats, Ints, Longs, Singles
from plisse.kernels.distance import edge_edge, point_triangle
from plisse.kernels.jit import kernel, parallel_kernel
from plisse.kernels.tree import Forest

PASSIVE, DEFORMABLE = np.uint8(1), np.uint8(2)
FAR = np.float32(np.inf)
BATCH = 4096  # pairs that are filtered at once
DEPTH = 64  # of the traversal stack: twice the depth of the deepest tree that int32 can number


class Motion(NamedTuple):
    """What the filter knows of the vertices and of the pair rule."""

    x: Floats  # positions [m], shape (n, 3)
    p: Floats  # displacement [m], shape (n, 3)
    X: Floats  # rest positions [m], shape (n, 3)
    tree: Ints  # tree of each vertex, shape (n,)
    role: Bytes  # PASSIVE and DEFORMABLE bits, shape (n,)
    drift: Floats  # mean displacement of each tree's vertices [m], shape (nb, 3)
    offset: float
    dhat: float
    margin: float


class Buffer(NamedTuple):
    """Room for all pairs, in slots: first of the chunks' point–triangle, then of their edge–edge pairs.

    Slot s is start[s]:start[s + 1]; pairs that do not fit are still counted.
    """

    pairs: Ints  # shape (room, 4)
    offset: Floats  # shape (room,)
    dhat: Floats  # shape (room,)
    start: Longs  # shape (2c + 1,)
    found: Longs  # number of pairs, shape (2c,)


@kernel
def _distance(x: Floats, a: int, b: int, c: int, d: int, is_edge_pair: bool) -> float:
    """Squared distance [m²] of the edges (a, b), (c, d) or of the point a and the triangle (b, c, d)."""
    if is_edge_pair:
        return edge_edge(
            x[a, 0], x[a, 1], x[a, 2], x[b, 0], x[b, 1], x[b, 2],
            x[c, 0], x[c, 1], x[c, 2], x[d, 0], x[d, 1], x[d, 2],
        )[0]  # fmt: skip
    return point_triangle(
        x[a, 0], x[a, 1], x[a, 2], x[b, 0], x[b, 1], x[b, 2],
        x[c, 0], x[c, 1], x[c, 2], x[d, 0], x[d, 1], x[d, 2],
    )[0]  # fmt: skip


@kernel
def _speed2(p: Floats, i: int, mx: float, my: float, mz: float) -> float:
    ux, uy, uz = p[i, 0] - mx, p[i, 1] - my, p[i, 2] - mz
    return ux * ux + uy * uy + uz * uz


@kernel
def bound_motion(p: Floats, a: int, b: int, c: int, d: int, is_edge_pair: bool) -> float:
    """How much closer [m] the displacement p can bring a pair, relative to the pair's mean motion.

    l = max |pᵢ − p̄| over the one primitive + the same over the other ([Li2021] Algorithm 1).
    """
    mx = 0.25 * (p[a, 0] + p[b, 0] + p[c, 0] + p[d, 0])
    my = 0.25 * (p[a, 1] + p[b, 1] + p[c, 1] + p[d, 1])
    mz = 0.25 * (p[a, 2] + p[b, 2] + p[c, 2] + p[d, 2])
    one = _speed2(p, a, mx, my, mz)
    other = max(_speed2(p, c, mx, my, mz), _speed2(p, d, mx, my, mz))
    second = _speed2(p, b, mx, my, mz)
    if is_edge_pair:
        one = max(one, second)
    else:
        other = max(other, second)
    return math.sqrt(one) + math.sqrt(other)


@kernel
def _find_leaves(forest: Forest, nodes: Singles, drift: Floats, first: int, last: int) -> tuple[Ints, int]:
    """Pairs of leaves with overlapping boxes, shape (room, 2), and their number.

    The first of a pair is in first:last; the second is the same leaf, a later one, or one of a later tree.
    """
    leaf_tree, leaf_node, trees, still = forest.leaf_tree, forest.leaf_node, forest.trees, forest.still
    stack = np.empty(DEPTH, np.int32)
    found = np.empty((1024, 2), np.int32)
    count = 0
    for leaf in range(first, last):
        own = leaf_tree[leaf]
        at = leaf_node[leaf]
        for tree in range(own, len(trees)):
            # something must be able to move, and something must be a shell
            if trees[own, 3] | trees[tree, 3] != 3:
                continue
            # this leaf's box as the other tree sees it: swept along the bodies' relative drift
            ex, ey, ez = (
                drift[own, 0] - drift[tree, 0],
                drift[own, 1] - drift[tree, 1],
                drift[own, 2] - drift[tree, 2],
            )
            lx, hx = nodes[at, 0] + np.float32(min(ex, 0.0)), nodes[at, 3] + np.float32(max(ex, 0.0))
            ly, hy = nodes[at, 1] + np.float32(min(ey, 0.0)), nodes[at, 4] + np.float32(max(ey, 0.0))
            lz, hz = nodes[at, 2] + np.float32(min(ez, 0.0)), nodes[at, 5] + np.float32(max(ez, 0.0))
            base, width = trees[tree, 2], trees[tree, 1]
            # in its own tree the later leaves are those below the right siblings of its ancestors
            top = 0
            node = 1
            if own == tree:
                node = at - base
                stack[0] = node
                top = 1
                while node > 1:
                    if node % 2 == 0:
                        stack[top] = node + 1
                        top += 1
                    node //= 2
            else:
                stack[0] = 1
                top = 1
            while top > 0:
                top -= 1
                node = stack[top]
                k = base + node
                if (
                    still[at] & still[k]
                    or nodes[k, 0] > hx
                    or nodes[k, 3] < lx
                    or nodes[k, 1] > hy
                    or nodes[k, 4] < ly
                    or nodes[k, 2] > hz
                    or nodes[k, 5] < lz
                ):
                    continue
                if node < width:
                    stack[top] = 2 * node + 1
                    stack[top + 1] = 2 * node
                    top += 2
                    continue
                if count == found.shape[0]:
                    longer = np.empty((2 * count, 2), np.int32)
                    for i in range(count):
                        longer[i, 0], longer[i, 1] = found[i, 0], found[i, 1]
                    found = longer
                found[count, 0] = leaf
                found[count, 1] = trees[tree, 0] + node - width
                count += 1
    return found, count


@kernel
def _match_leaves(
    forest: Forest,
    nodes: Singles,
    boxes: Singles,
    drift: Floats,
    found: Ints,
    done: int,
    last: int,
    query: Singles,
    kept: Ints,
    raw: Longs,
    counts: Longs,
) -> int:
    """Primitives with overlapping boxes in leaf pairs done:last, while there is room; returns the next pair.

    raw: (point, triangle) in row 0, (edge, edge) in row 1, shape (2, room); counts: their numbers, shape
    (2,). query, kept: scratch for one leaf's boxes, shapes (r, 6) and (r,).
    """
    start, leaf_tree, leaf_node = forest.start, forest.leaf_tree, forest.leaf_node
    room = raw.shape[1] - kept.size * kept.size
    column = np.empty((6, len(kept)), np.float32)
    hit = np.empty(len(kept), np.uint8)
    seen_leaf = seen_tree = -1
    lx = ly = lz = hx = hy = hz = FAR
    counts[:] = 0
    for n in range(done, last):
        if counts[0] > room or counts[1] > room:
            return n
        leaf, other = found[n, 0], found[n, 1]
        own, tree = leaf_tree[leaf], leaf_tree[other]
        first = start[leaf, 0]
        if leaf != seen_leaf or tree != seen_tree:
            # the leaf's boxes swept along the bodies' relative drift
            seen_leaf, seen_tree = leaf, tree
            for k in range(3):
                e = drift[own, k] - drift[tree, k]
                back, ahead = np.float32(min(e, 0.0)), np.float32(max(e, 0.0))
                for i in range(first, start[leaf, 3]):
                    query[i - first, k] = boxes[i, k] + back
                    query[i - first, 3 + k] = boxes[i, 3 + k] + ahead
            lx = ly = lz = FAR
            hx = hy = hz = -FAR
            for i in range(start[leaf, 3] - first):
                lx, ly, lz = min(lx, query[i, 0]), min(ly, query[i, 1]), min(lz, query[i, 2])
                hx, hy, hz = max(hx, query[i, 3]), max(hy, query[i, 4]), max(hz, query[i, 5])
        m = leaf_node[other]
        # points against triangles, edges against edges, triangles against points
        for kind in range(3 if leaf != other else 2):
            # only primitives that meet the other leaf's box are compared
            left = 0
            for i in range(start[leaf, kind] - first, start[leaf, kind + 1] - first):
                kept[left] = i
                left += (
                    (query[i, 0] <= nodes[m, 3])
                    & (query[i, 3] >= nodes[m, 0])
                    & (query[i, 1] <= nodes[m, 4])
                    & (query[i, 4] >= nodes[m, 1])
                    & (query[i, 2] <= nodes[m, 5])
                    & (query[i, 5] >= nodes[m, 2])
                )
            if left == 0:
                continue
            for k in range(left):
                for e in range(6):
                    column[e, k] = query[kept[k], e]
            # a pair is one number, first member in the upper half; point or first edge comes first
            to = kind & 1
            own_shift, other_shift = (0, 32) if kind == 2 else (32, 0)
            count = counts[to]
            for j in range(start[other, 2 - kind], start[other, 3 - kind]):
                jlx, jly, jlz, jhx, jhy, jhz = (
                    boxes[j, 0], boxes[j, 1], boxes[j, 2], boxes[j, 3], boxes[j, 4], boxes[j, 5]
                )  # fmt: skip
                if jlx > hx or jhx < lx or jly > hy or jhy < ly or jlz > hz or jhz < lz:
                    continue
                for k in range(left):
                    hit[k] = (
                        (column[0, k] <= jhx)
                        & (column[3, k] >= jlx)
                        & (column[1, k] <= jhy)
                        & (column[4, k] >= jly)
                        & (column[2, k] <= jhz)
                        & (column[5, k] >= jlz)
                    )
                # within a leaf two edges meet once
                end = j - first if leaf == other and kind == 1 else start[leaf, 3]
                code = np.int64(j) << other_shift
                for k in range(left):
                    raw[to, count] = code | (np.int64(first + kept[k]) << own_shift)
                    count += hit[k] & (kept[k] < end)
            counts[to] = count
    return last


@kernel
def _filter(
    raw: Longs, count: int, is_edge_pair: bool, primitives: Ints, motion: Motion, buffer: Buffer, slot: int
) -> None:
    """Keep pairs that can come closer than offset + dhat, each limited to a quarter of the rest distance."""
    x, p, X, tree, role = motion.x, motion.p, motion.X, motion.tree, motion.role
    pairs, offsets, dhats = buffer.pairs, buffer.offset, buffer.dhat
    place, found = buffer.start[slot], buffer.found[slot]
    room = buffer.start[slot + 1] - place
    for n in range(count):
        i, j = raw[n] >> 32, raw[n] & 0xFFFFFFFF
        a, b, c, d = primitives[i, 0], primitives[i, 1], primitives[j, 0], primitives[j, 1]
        if not is_edge_pair:
            b, c, d = primitives[j, 0], primitives[j, 1], primitives[j, 2]
            if a == b:
                continue
        elif b == c or b == d:
            continue
        if a == c or a == d:
            continue
        square = _distance(x, a, b, c, d, is_edge_pair)
        near = bound_motion(p, a, b, c, d, is_edge_pair) + 2.0 * motion.margin
        offset, dhat = motion.offset, motion.dhat
        reach = near + offset + dhat
        if square > reach * reach or role[a] & role[b] & role[c] & role[d] & PASSIVE:
            continue
        if tree[a] == tree[d] and role[a] & DEFORMABLE:
            quarter = 0.25 * math.sqrt(_distance(X, a, b, c, d, is_edge_pair))
            offset = min(offset, quarter)
            dhat = min(dhat, quarter)
            reach = near + offset + dhat
            if square > reach * reach:
                continue
        if found < room:
            pairs[place + found, 0] = a
            pairs[place + found, 1] = b
            pairs[place + found, 2] = c
            pairs[place + found, 3] = d
            offsets[place + found] = offset
            dhats[place + found] = dhat
        found += 1
    buffer.found[slot] = found


@kernel
def _find_chunk(
    forest: Forest,
    nodes: Singles,
    boxes: Singles,
    motion: Motion,
    rows: int,
    first: int,
    last: int,
    buffer: Buffer,
    chunk: int,
) -> None:
    """All pairs of leaves first:last with themselves and with later leaves and trees."""
    drift = motion.drift
    found, total = _find_leaves(forest, nodes, drift, first, last)
    query = np.empty((rows, 6), np.float32)
    kept = np.empty(rows, np.int32)
    raw = np.empty((2, BATCH + rows * rows), np.int64)
    counts = np.zeros(2, np.int64)
    slots = buffer.found.size // 2
    # as a variable, so that the kernel below is compiled for one type of it
    done = first - first
    while done < total:
        done = _match_leaves(forest, nodes, boxes, drift, found, done, total, query, kept, raw, counts)
        for kind in range(2):
            slot = kind * slots + chunk
            _filter(raw[kind], counts[kind], kind == 1, forest.primitives, motion, buffer, slot)


@parallel_kernel
def find_pairs(
    forest: Forest,
    nodes: Singles,
    boxes: Singles,
    motion: Motion,
    rows: int,
    chunks: Ints,
    turn: Ints,
    buffer: Buffer,
) -> None:
    """Fill the buffer with the pairs of each chunk of leaves.

    nodes, boxes: of the trees' nodes and of the primitives [m]; rows: most primitives in a leaf;
    chunks: first leaf of each, shape (c + 1,); turn: the order in which they are taken, which spreads
    busy regions over the threads, shape (c,).
    """
    for k in prange(turn.size):
        chunk = turn[k]
        _find_chunk(forest, nodes, boxes, motion, rows, chunks[chunk], chunks[chunk + 1], buffer, chunk)


@kernel
def compact(buffer: Buffer, to: Longs, pairs: Ints, offset: Floats, dhat: Floats) -> None:
    """Copy the slots' pairs into arrays without gaps; slot s goes to to[s]:to[s + 1]."""
    for slot in range(to.size - 1):
        shift = to[slot] - buffer.start[slot]
        for i in range(buffer.start[slot], buffer.start[slot] + buffer.found[slot]):
            for k in range(4):
                pairs[shift + i, k] = buffer.pairs[i, k]
            offset[shift + i] = buffer.offset[i]
            dhat[shift + i] = buffer.dhat[i]


@kernel
def find_range(y: Floats, x: Floats, p: Floats, margin: float) -> tuple[float, float]:
    """The interval of s in [0, 1] with |y_i − x_i − s p_i| ≤ margin for all i; empty when lo > hi."""
    lo, hi = 0.0, 1.0
    for i in range(x.shape[0]):
        rx, ry, rz = y[i, 0] - x[i, 0], y[i, 1] - x[i, 1], y[i, 2] - x[i, 2]
        pp = p[i, 0] * p[i, 0] + p[i, 1] * p[i, 1] + p[i, 2] * p[i, 2]
        s = (rx * p[i, 0] + ry * p[i, 1] + rz * p[i, 2]) / pp
        # a vertex that hardly moves decides nothing about s
        if pp <= 1e-24 * margin * margin:
            s = 0.0
        rx, ry, rz = rx - s * p[i, 0], ry - s * p[i, 1], rz - s * p[i, 2]
        spare = margin * margin - rx * rx - ry * ry - rz * rz
        if not spare >= 0.0:
            return 1.0, 0.0
        if pp > 1e-24 * margin * margin:
            half = math.sqrt(spare / pp)
            lo = max(lo, s - half)
            hi = min(hi, s + half)
            if lo > hi:
                return 1.0, 0.0
    return lo, hi
