"""Box trees over surface patches: one implicit binary tree a body, ordered once, refitted at every use.

A leaf is a patch of a few neighbouring triangles that also owns some of their edges and points, so that every
primitive has exactly one owner. Boxes are float32 (lo x, y, z, hi x, y, z); who makes them adds a slack that
covers the rounding. The order comes from the rest shape: cloth hardly stretches, so a patch stays compact
however it folds.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from plisse.core.arrays import Bools, Bytes, Floats, Ints, Singles
from plisse.kernels.jit import kernel, parallel_kernel


class Forest(NamedTuple):
    """Connectivity of the trees of all bodies.

    Nodes of one tree are stored as a heap from node 1 on: the children of k are 2k and 2k + 1, and the last
    half are the leaves. Leaves of all trees are numbered in one row, and so are the primitives of all
    leaves: leaf l owns the points start[l, 0]:start[l, 1], the edges start[l, 1]:start[l, 2], the triangles
    start[l, 2]:start[l, 3].
    """

    primitives: Ints  # vertices; those of points and edges repeat their last one, shape (m, 3)
    start: Ints  # shape (nl, 4)
    leaf_tree: Ints  # tree that a leaf belongs to, shape (nl,)
    leaf_node: Ints  # place of a leaf's node, shape (nl,)
    trees: Ints  # first leaf, number of leaves (2ᵏ), place of node 0, bits: 1 can move, 2 is a shell; shape (nb, 4)
    still: Bytes  # nodes below which nothing can move, shape of their places


@kernel
def _select(values: Floats, order: Ints, first: int, last: int, middle: int) -> None:
    """Reorder order[first:last] so that order[middle] is as if sorted and splits the rest (quickselect)."""
    lo, hi = first, last - 1
    while lo < hi:
        pivot = values[order[(lo + hi) // 2]]
        i, j = lo, hi
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            hi = j
        elif middle >= i:
            lo = i
        else:
            return


@kernel
def order_patches(centres: Floats, order: Ints, leaves: int) -> None:
    """Sort items into `leaves` (a power of two) compact patches of equal size by splitting the longest axis.

    centres: one point of each item [m], shape (3, m); order: item ids, permuted in place, shape (m,).
    """
    count = order.size
    parts = 1
    while parts < leaves:
        for part in range(parts):
            first, last = count * part // parts, count * (part + 1) // parts
            middle = count * (2 * part + 1) // (2 * parts)
            axis, longest = 0, -1.0
            for k in range(3):
                lo, hi = np.inf, -np.inf
                for i in range(first, last):
                    lo = min(lo, centres[k, order[i]])
                    hi = max(hi, centres[k, order[i]])
                if hi - lo > longest:
                    axis, longest = k, hi - lo
            if first < middle < last:
                _select(centres[axis], order, first, last, middle)
        parts *= 2


@parallel_kernel
def sweep_vertices(x: Floats, p: Floats, tree: Ints, drift: Floats, reach: float, out: Singles) -> None:
    """Boxes of {x + s (p − drift of its body), s in [0, 1]} inflated by reach, shape (n, 6)."""
    for i in prange(x.shape[0]):
        for k in range(3):
            a = x[i, k]
            b = a + p[i, k] - drift[tree[i], k]
            out[i, k] = min(a, b) - reach
            out[i, 3 + k] = max(a, b) + reach


@parallel_kernel
def fit_leaves(forest: Forest, vertices: Singles, boxes: Singles, nodes: Singles) -> None:
    """Boxes of all primitives, shape (m, 6), and of the leaves' nodes from the vertices' boxes."""
    primitives, start, leaf_node = forest.primitives, forest.start, forest.leaf_node
    for leaf in prange(leaf_node.size):
        node = leaf_node[leaf]
        nodes[node, :3] = np.inf
        nodes[node, 3:] = -np.inf
        for i in range(start[leaf, 0], start[leaf, 3]):
            a, b, c = primitives[i, 0], primitives[i, 1], primitives[i, 2]
            for k in range(3):
                lo = min(vertices[a, k], vertices[b, k], vertices[c, k])
                hi = max(vertices[a, 3 + k], vertices[b, 3 + k], vertices[c, 3 + k])
                boxes[i, k] = lo
                boxes[i, 3 + k] = hi
                nodes[node, k] = min(nodes[node, k], lo)
                nodes[node, 3 + k] = max(nodes[node, 3 + k], hi)


@kernel
def fill_still(forest: Forest, passive: Bools) -> None:
    """Marks the nodes below which all vertices are passive (n,)."""
    still = forest.still
    still[:] = 1
    for leaf in range(len(forest.leaf_node)):
        for i in range(forest.start[leaf, 0], forest.start[leaf, 3]):
            for k in range(3):
                if not passive[forest.primitives[i, k]]:
                    still[forest.leaf_node[leaf]] = 0
    for tree in range(len(forest.trees)):
        leaves, base = forest.trees[tree, 1], forest.trees[tree, 2]
        for node in range(leaves - 1, 0, -1):
            still[base + node] = still[base + 2 * node] & still[base + 2 * node + 1]


@kernel
def fit_nodes(forest: Forest, nodes: Singles) -> None:
    """Boxes of inner nodes from their children, bottom up."""
    for tree in range(len(forest.trees)):
        leaves, base = forest.trees[tree, 1], forest.trees[tree, 2]
        for node in range(leaves - 1, 0, -1):
            left, right = base + 2 * node, base + 2 * node + 1
            for k in range(3):
                nodes[base + node, k] = min(nodes[left, k], nodes[right, k])
                nodes[base + node, 3 + k] = max(nodes[left, 3 + k], nodes[right, 3 + k])
