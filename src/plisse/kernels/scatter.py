"""Race-free scatter of stencil gradients and Hessians: every thread owns a range of rows.

Each thread scans all stencils and adds only what falls in its own rows, so no two threads write the same entry, sums
have a fixed order, and the result does not depend on the number of threads. `parts` is how many ranges there are: the
number of threads.

Matrices are symmetric, stored as the upper triangle of 3×3 blocks over the free vertices in the scalar CSR form
that PARDISO reads: block row i holds its diagonal block first, then the blocks right of it in column order.
"""

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@parallel_kernel
def add_vectors(nodes, vectors, out, parts):
    """out[nodes[s, a]] += vectors[s, a] for stencils (m, k), vectors (m, k, 3), out (n, 3)."""
    n = out.shape[0]
    for part in prange(parts):
        _add_vectors_in(nodes, vectors, out, n * part // parts, n * (part + 1) // parts)


@kernel
def _add_vectors_in(nodes, vectors, out, lo, hi):
    k = nodes.shape[1]
    for s in range(nodes.shape[0]):
        for a in range(k):
            i = nodes[s, a]
            if lo <= i < hi:
                out[i, 0] += vectors[s, a, 0]
                out[i, 1] += vectors[s, a, 1]
                out[i, 2] += vectors[s, a, 2]


@parallel_kernel
def find_slots(nodes, free_index, block_ptr, block_col, slots):
    """Block positions of all node pairs a ≤ b of a stencil: −1 where a node is prescribed, −2 where there is none."""
    for s in prange(nodes.shape[0]):
        _find_slots_of(nodes, free_index, block_ptr, block_col, slots, s)


@kernel
def _find_slots_of(nodes, free_index, block_ptr, block_col, slots, s):
    k = nodes.shape[1]
    q = 0
    for a in range(k):
        for b in range(a, k):
            i, j = free_index[nodes[s, a]], free_index[nodes[s, b]]
            if i < 0 or j < 0:
                slots[s, q] = -1
            else:
                if i > j:
                    i, j = j, i
                lo, hi = block_ptr[i], block_ptr[i + 1]
                end = hi
                while lo < hi:
                    mid = (lo + hi) // 2
                    if block_col[mid] < j:
                        lo = mid + 1
                    else:
                        hi = mid
                slots[s, q] = lo if lo < end and block_col[lo] == j else -2
            q += 1


@kernel
def _add_block(values, block_ptr, i, slot, transposed, a00, a01, a02, a10, a11, a12, a20, a21, a22):
    """Adds the 3×3 block A (or its transpose) at block position slot of block row i; scalars stay in registers."""
    nb = np.int64(block_ptr[i + 1] - block_ptr[i])
    row0 = 9 * np.int64(block_ptr[i]) - 3 * i
    q = np.int64(slot - block_ptr[i])
    if q == 0:
        values[row0] += a00
        values[row0 + 1] += 0.5 * (a01 + a10)
        values[row0 + 2] += 0.5 * (a02 + a20)
        values[row0 + 3 * nb] += a11
        values[row0 + 3 * nb + 1] += 0.5 * (a12 + a21)
        values[row0 + 6 * nb - 1] += a22
        return
    if transposed:
        a01, a10, a02, a20, a12, a21 = a10, a01, a20, a02, a21, a12
    at = row0 + 3 * q
    values[at] += a00
    values[at + 1] += a01
    values[at + 2] += a02
    at += 3 * nb - 1
    values[at] += a10
    values[at + 1] += a11
    values[at + 2] += a12
    at += 3 * nb - 2
    values[at] += a20
    values[at + 1] += a21
    values[at + 2] += a22


@parallel_kernel
def add_dense(nodes, slots, free_index, block_ptr, blocks, values, parts):
    """Adds blocks (m, k(k+1)/2, 3, 3), the upper block triangle of each stencil's Hessian, row by row."""
    rows = block_ptr.shape[0] - 1
    for part in prange(parts):
        _add_dense_in(
            nodes,
            slots,
            free_index,
            block_ptr,
            blocks,
            values,
            rows * part // parts,
            rows * (part + 1) // parts,
        )


@kernel
def _add_dense_in(nodes, slots, free_index, block_ptr, blocks, values, lo, hi):
    k = nodes.shape[1]
    for s in range(nodes.shape[0]):
        q = -1
        for a in range(k):
            i = free_index[nodes[s, a]]
            for b in range(a, k):
                q += 1
                slot = slots[s, q]
                if slot < 0:
                    continue
                j = free_index[nodes[s, b]]
                row = min(i, j)
                if lo <= row < hi:
                    A = blocks[s, q]
                    _add_block(
                        values, block_ptr, row, slot, i > j,
                        A[0, 0], A[0, 1], A[0, 2], A[1, 0], A[1, 1], A[1, 2], A[2, 0], A[2, 1], A[2, 2],
                    )  # fmt: skip


@parallel_kernel
def add_outer(nodes, slots, free_index, block_ptr, vectors, scale, values, parts):
    """Adds scale[s] v vᵀ for stencil vectors v (m, k, 3)."""
    rows = block_ptr.shape[0] - 1
    for part in prange(parts):
        _add_outer_in(
            nodes,
            slots,
            free_index,
            block_ptr,
            vectors,
            scale,
            values,
            rows * part // parts,
            rows * (part + 1) // parts,
        )


@kernel
def _add_outer_in(nodes, slots, free_index, block_ptr, vectors, scale, values, lo, hi):
    k = nodes.shape[1]
    for s in range(nodes.shape[0]):
        v = vectors[s]
        q = -1
        for a in range(k):
            i = free_index[nodes[s, a]]
            for b in range(a, k):
                q += 1
                slot = slots[s, q]
                if slot < 0:
                    continue
                j = free_index[nodes[s, b]]
                row = min(i, j)
                if lo <= row < hi:
                    k0, k1, k2 = scale[s] * v[a, 0], scale[s] * v[a, 1], scale[s] * v[a, 2]
                    _add_block(
                        values, block_ptr, row, slot, i > j,
                        k0 * v[b, 0], k0 * v[b, 1], k0 * v[b, 2],
                        k1 * v[b, 0], k1 * v[b, 1], k1 * v[b, 2],
                        k2 * v[b, 0], k2 * v[b, 1], k2 * v[b, 2],
                    )  # fmt: skip


@parallel_kernel
def add_kron(nodes, slots, free_index, block_ptr, weights, matrices, values, parts):
    """Adds w wᵀ ⊗ M for stencil weights w (m, k) and symmetric matrices M (m, 3, 3)."""
    rows = block_ptr.shape[0] - 1
    for part in prange(parts):
        _add_kron_in(
            nodes,
            slots,
            free_index,
            block_ptr,
            weights,
            matrices,
            values,
            rows * part // parts,
            rows * (part + 1) // parts,
        )


@kernel
def _add_kron_in(nodes, slots, free_index, block_ptr, weights, matrices, values, lo, hi):
    k = nodes.shape[1]
    for s in range(nodes.shape[0]):
        q = -1
        for a in range(k):
            i = free_index[nodes[s, a]]
            for b in range(a, k):
                q += 1
                slot = slots[s, q]
                if slot < 0:
                    continue
                j = free_index[nodes[s, b]]
                row = min(i, j)
                if lo <= row < hi:
                    w, M = weights[s, a] * weights[s, b], matrices[s]
                    _add_block(
                        values, block_ptr, row, slot, False,
                        w * M[0, 0], w * M[0, 1], w * M[0, 2],
                        w * M[1, 0], w * M[1, 1], w * M[1, 2],
                        w * M[2, 0], w * M[2, 1], w * M[2, 2],
                    )  # fmt: skip


@kernel
def add_diagonal(diagonal, free_index, block_ptr, values):
    """Adds diagonal[v] · I₃ at every free vertex v."""
    for v in range(diagonal.shape[0]):
        i = free_index[v]
        if i >= 0:
            nb = block_ptr[i + 1] - block_ptr[i]
            row0 = 9 * np.int64(block_ptr[i]) - 3 * i
            values[row0] += diagonal[v]
            values[row0 + 3 * nb] += diagonal[v]
            values[row0 + 6 * nb - 1] += diagonal[v]


@kernel
def scalar_csr(block_ptr, block_col, indptr, indices):
    """Expands the block pattern to the scalar upper-triangular CSR pattern."""
    for i in range(block_ptr.shape[0] - 1):
        nb = block_ptr[i + 1] - block_ptr[i]
        row0 = 9 * np.int64(block_ptr[i]) - 3 * i
        for r in range(3):
            at = row0 if r == 0 else (row0 + 3 * nb if r == 1 else row0 + 6 * nb - 1)
            indptr[3 * i + r] = at
            for c in range(r, 3):
                indices[at] = 3 * i + c
                at += 1
            for q in range(block_ptr[i] + 1, block_ptr[i + 1]):
                for c in range(3):
                    indices[at] = 3 * block_col[q] + c
                    at += 1
    n = block_ptr.shape[0] - 1
    indptr[3 * n] = 9 * np.int64(block_ptr[n]) - 3 * n
