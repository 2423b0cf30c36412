"""Pairs of primitives that may touch during a motion, for the barrier, the line search and the CCD alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from plisse.core.arrays import Bools, Bytes, Floats, Ints, Longs
from plisse.kernels.pairs import DEFORMABLE, PASSIVE, Buffer, Motion, compact, find_pairs, find_range
from plisse.kernels.tree import Forest, fill_still, fit_leaves, fit_nodes, order_patches, sweep_vertices

LEAF = 12  # triangles in a leaf at most; measured
CHUNKS = 64  # units of parallel work, the same for any number of threads


@dataclass(frozen=True, eq=False)
class Patches:
    """Trees over a surface, made once from its rest shape.

    tree: number of each vertex's tree, shape (n,); role: its PASSIVE and DEFORMABLE bits, shape (n,);
    rows: most primitives in a leaf;
    chunks: first leaf of each unit of work, shape (c + 1,); turn: order in which they are taken, shape (c,).
    counts: pairs that the last search found in each slot, a memo of the room to reserve, shape (2c,).
    """

    forest: Forest
    tree: Ints
    role: Bytes
    rows: int
    chunks: Ints
    turn: Ints
    counts: Longs


@dataclass(frozen=True, eq=False)
class CollisionSurface:
    """Everything that can touch: connectivity, rest shape, and the pair rule's two lengths.

    edges: shape (ne, 2); triangles: shape (nt, 3); points: vertices that take part as points, shape (np,).
    body: shell or collider that a vertex belongs to, shape (n,).
    passive: vertex never moves, shape (n,); pairs of four passive vertices, and of two colliders, are left out.
    X: rest positions [m], shape (n, 3); deformable: vertex of a shell, shape (n,).
    offset: distance that is never reached [m]; dhat: reach of the barrier beyond it [m].

    Within one deformable body both lengths are limited to a quarter of the pair's rest distance, so that
    neighbours in the rest shape do not push each other and yet cannot pass through each other.
    """

    edges: Ints
    triangles: Ints
    points: Ints
    body: Ints
    passive: Bools
    X: Floats
    deformable: Bools
    offset: float
    dhat: float

    def __post_init__(self) -> None:
        # one type and layout each, so that every kernel is compiled once
        for name in ("edges", "triangles", "points", "body"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int32))
        for name in ("passive", "deformable"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.bool_))
        object.__setattr__(self, "X", np.ascontiguousarray(self.X, dtype=np.float64))
        object.__setattr__(self, "offset", float(self.offset))
        object.__setattr__(self, "dhat", float(self.dhat))

    @cached_property
    def patches(self) -> Patches:
        """The box trees' order, made at first use."""
        return build_patches(self.edges, self.triangles, self.points, self.body, self.passive, self.deformable, self.X)

    def like(self, other: CollisionSurface) -> CollisionSurface:
        """This surface with the order of another one's trees, if the same vertices are connected and can move.

        The boxes are fitted anew at every use: what has moved since that order was made only makes them less compact.
        """
        names = ("edges", "triangles", "points", "body", "passive", "deformable")
        if all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names):
            self.__dict__["patches"] = replace(other.patches, counts=other.patches.counts.copy())
        return self

    def around(self, moving: Bools) -> CollisionSurface:
        """The same surface where only some vertices (n,) move."""
        passive = self.passive | ~moving
        other, patches = replace(self, passive=passive), self.patches
        role = np.where(passive, patches.role | PASSIVE, patches.role).astype(np.uint8)
        forest = patches.forest._replace(still=np.empty_like(patches.forest.still))
        fill_still(forest, passive)
        # the order of the trees stays as it is
        other.__dict__["patches"] = replace(patches, forest=forest, role=role, counts=patches.counts.copy())
        return other


@dataclass(frozen=True, eq=False)
class Candidates:
    """All pairs that can become active while the vertices stay near one path.

    The states covered are {y : |y_i − x_i − s p_i| ≤ margin for all i, for one s in [0, 1]}: a convex set,
    so the whole segment between two covered states is covered. s is common to all vertices, because it is
    the relative motion of a pair that was bounded.

    pt: point and triangle, shape (k, 4); ee: first and second edge, shape (k, 4); offset and dhat of each
    pair [m], shape (k,), by the rule of `CollisionSurface`. x, p: reference positions and displacement [m], shape
    (n, 3).
    """

    pt: Ints
    ee: Ints
    pt_offset: Floats
    pt_dhat: Floats
    ee_offset: Floats
    ee_dhat: Floats
    x: Floats
    p: Floats
    margin: float

    def covers(self, x: Floats, p: Floats) -> bool:
        """Whether every pair that matters on the segment from x to x + p [m], both (n, 3), is in the list."""
        for y in (x, x + p):
            lo, hi = find_range(y, self.x, self.p, self.margin)
            if lo > hi:
                return False
        return True


def build(surface: CollisionSurface, x: Floats, p: Floats, margin: float) -> Candidates:
    """Pairs that can come closer than offset + dhat in the states of `Candidates` around x, x + p.

    Broad phase: boxes of the swept vertices, each body in the frame of its own mean motion, so that common
    motion costs nothing. Filter: d(x) − (motion bound of the pair about its mean) − 2 margin ≤ offset + dhat.
    x: positions [m], shape (n, 3); p: displacement [m], shape (n, 3); margin [m].
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    p = np.ascontiguousarray(p, dtype=np.float64)
    patches = surface.patches
    forest, tree = patches.forest, patches.tree
    extent = max((float(np.abs(a).max()) for a in (x, p) if a.size), default=0.0)
    if not np.isfinite(extent):
        raise FloatingPointError("Positions and displacements must be finite numbers to find contact pairs.")
    # rounding of x + p must not count as having left the margin
    margin = float(margin) + 1e-14 * extent
    trees = len(forest.trees)
    size = np.maximum(np.bincount(tree, minlength=trees), 1)
    drift = np.stack([np.bincount(tree, p[:, k], minlength=trees) / size for k in range(3)], axis=1)
    motion = Motion(x, p, surface.X, tree, patches.role, drift, surface.offset, surface.dhat, margin)
    # float32 holds a coordinate of size 3 extent to 2e-7 extent; four roundings happen on the way
    reach = 0.5 * (surface.offset + surface.dhat) + margin + 1e-6 * extent
    vertices = np.empty((len(x), 6), np.float32)
    sweep_vertices(x, p, tree, drift, reach, vertices)
    boxes = np.empty((len(forest.primitives), 6), np.float32)
    nodes = np.empty((2 * len(forest.leaf_tree), 6), np.float32)
    fit_leaves(forest, vertices, boxes, nodes)
    fit_nodes(forest, nodes)
    # the last build's counts are a good guess of the room; where it was too small the search is done again
    while True:
        buffer = _reserve(patches.counts)
        find_pairs(forest, nodes, boxes, motion, patches.rows, patches.chunks, patches.turn, buffer)
        patches.counts[:] = buffer.found
        if np.all(buffer.found <= np.diff(buffer.start)):
            break
    to = np.concatenate(([0], np.cumsum(buffer.found)))
    pairs, offset, dhat = np.empty((to[-1], 4), np.int32), np.empty(to[-1]), np.empty(to[-1])
    compact(buffer, to, pairs, offset, dhat)
    k = int(to[len(to) // 2])
    return Candidates(pairs[:k], pairs[k:], offset[:k], dhat[:k], offset[k:], dhat[k:], x, p, margin)


def _reserve(counts: Longs) -> Buffer:
    """Empty buffers with some room beyond the counts."""
    start = np.concatenate(([0], np.cumsum(counts + counts // 4 + 64)))
    room = int(start[-1])
    return Buffer(np.empty((room, 4), np.int32), np.empty(room), np.empty(room), start, np.zeros(len(counts), np.int64))


def build_patches(
    edges: Ints,
    triangles: Ints,
    points: Ints,
    body: Ints,
    passive: Bools,
    deformable: Bools,
    X: Floats,
) -> Patches:
    """Sort each body's triangles into compact patches of the rest shape, which also own the edges and points.

    Edges without a triangle and points without an edge are sorted as items in their own right.
    """
    labels, numbers = np.unique(body, return_inverse=True)
    tree: Ints = numbers.astype(np.int32)
    alone = _find_alone(edges, triangles)
    used = np.zeros(len(X), dtype=np.bool_)
    used[triangles.ravel()] = True
    used[edges.ravel()] = True
    lonely = points[~used[points]]
    # items: triangles, edges of no triangle, points of neither
    centres = np.concatenate([X[triangles].mean(axis=1), X[edges[alone]].mean(axis=1), X[lonely]])
    owner = np.concatenate([tree[triangles[:, 0]], tree[edges[alone, 0]], tree[lonely]])
    columns = np.ascontiguousarray(centres.T)
    leaf = np.empty(len(centres), dtype=np.int32)
    leaves = np.ones(len(labels), dtype=np.int32)
    first_leaf = np.zeros(len(labels), dtype=np.int32)
    total = 0
    for b in range(len(labels)):
        order = np.flatnonzero(owner == b).astype(np.int32)
        while len(order) > LEAF * leaves[b]:
            leaves[b] *= 2
        order_patches(columns, order, int(leaves[b]))
        bounds = len(order) * np.arange(leaves[b] + 1) // leaves[b]
        leaf[order] = total + np.repeat(np.arange(leaves[b]), np.diff(bounds))
        first_leaf[b] = total
        total += int(leaves[b])
    # a vertex or an edge goes to the first leaf that has an item with it
    triangle_leaf, edge_item_leaf, point_item_leaf = np.split(leaf, np.cumsum([len(triangles), len(alone)]))
    vertex_leaf = np.full(len(X), total, dtype=np.int32)
    np.minimum.at(vertex_leaf, triangles, triangle_leaf[:, None])
    np.minimum.at(vertex_leaf, edges[alone], edge_item_leaf[:, None])
    np.minimum.at(vertex_leaf, lonely, point_item_leaf)
    edge_leaf = _find_edge_leaves(edges, triangles, triangle_leaf, total)
    edge_leaf[alone] = edge_item_leaf
    # one row of primitives: leaf by leaf, in each leaf points, edges, triangles
    primitives = np.concatenate([points[:, None][:, [0, 0, 0]], edges[:, [0, 1, 1]], triangles])
    leaf_of = np.concatenate([vertex_leaf[points], edge_leaf, triangle_leaf])
    kind = np.repeat([0, 1, 2], [len(points), len(edges), len(triangles)])
    slot = 3 * leaf_of.astype(np.int64) + kind
    bounds = np.concatenate(([0], np.cumsum(np.bincount(slot, minlength=3 * total))))
    start = bounds[3 * np.arange(total)[:, None] + np.arange(4)].astype(np.int32)
    primitives = np.ascontiguousarray(primitives[np.argsort(slot, kind="stable")], dtype=np.int32)
    leaf_tree = np.repeat(np.arange(len(labels), dtype=np.int32), leaves)
    leaf_node = ((first_leaf + leaves)[leaf_tree] + np.arange(total)).astype(np.int32)
    trees = np.stack([first_leaf, leaves, 2 * first_leaf, np.zeros_like(leaves)], axis=1)
    trees[tree[~passive], 3] |= 1
    trees[tree[deformable], 3] |= 2
    forest = Forest(primitives, start, leaf_tree, leaf_node, trees, np.empty(2 * total, np.uint8))
    fill_still(forest, passive)
    role = np.where(passive, PASSIVE, 0) | np.where(deformable, DEFORMABLE, 0)
    rows = int((start[:, 3] - start[:, 0]).max(initial=1))
    count = max(1, min(CHUNKS, total))
    chunks = (total * np.arange(count + 1) // count).astype(np.int32)
    turn = np.argsort(np.arange(count) * 0.6180339887498949 % 1.0, kind="stable").astype(np.int32)
    counts = np.full(2 * count, 4 * len(points) // count, dtype=np.int64)
    return Patches(forest, tree, role.astype(np.uint8), rows, chunks, turn, counts)


def _keys(edges: Ints) -> Longs:
    """One number an edge, whatever its direction."""
    pairs = np.sort(edges.astype(np.int64), axis=1)
    keys: Longs = (pairs[:, 0] << 32) + pairs[:, 1]
    return keys


def _sides(triangles: Ints) -> Ints:
    """The three edges of each triangle, shape (3 nt, 2)."""
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def _find_alone(edges: Ints, triangles: Ints) -> Longs:
    """Numbers of the edges that belong to no triangle."""
    return np.flatnonzero(~np.isin(_keys(edges), _keys(_sides(triangles))))


def _find_edge_leaves(edges: Ints, triangles: Ints, triangle_leaf: Ints, total: int) -> Ints:
    """First leaf with a triangle of each edge; `total` where there is none."""
    keys = _keys(edges)
    order = np.argsort(keys, kind="stable")
    sides = _keys(_sides(triangles))
    place = np.searchsorted(keys, sides, sorter=order)
    inside = place < len(keys)
    inside[inside] = keys[order[place[inside]]] == sides[inside]
    found = np.full(len(edges), total, dtype=np.int32)
    np.minimum.at(found, order[place[inside]], np.tile(triangle_leaf, 3)[inside])
    return found
