"""Collapses that can be undone at the same time."""

import numpy as np

from plisse.kernels.jit import kernel


@kernel
def colour_collapses(ends, ring_start, ring, first, last, batch):
    """Number the batches in which the collapses first..last are undone; fills batch (last - first,), returns how many.

    A collapse can be undone once the whole ring of its merged vertex exists, as its triangles then are what they were
    after it; two at once when neither the merged vertices nor their rings meet. [Zhang2023] Algorithms 6 and 7.
    """
    n = max(ring.max(), ends.max()) + 1
    # from which batch on a vertex can be used, and the last batch that used it
    since, taken = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    pending = np.empty(last - first, np.int64)
    for k in range(last - first):
        since[ends[first + k, 1]] = last
        pending[k] = last - 1 - k
    size = pending.size
    now = 0
    while size > 0:
        waiting = 0
        for k in range(size):
            c = pending[k]
            i = ends[c, 0]
            ready = since[i] < now and taken[i] < now
            at = ring_start[c]
            while ready and at < ring_start[c + 1]:
                v = ring[at]
                ready = since[v] < now and taken[v] < now
                at += 1
            if not ready:
                pending[waiting] = c
                waiting += 1
                continue
            batch[c - first] = now
            taken[i] = now
            for at in range(ring_start[c], ring_start[c + 1]):
                taken[ring[at]] = now
            since[ends[c, 1]] = now
        size = waiting
        now += 1
    return now
