"""Products of sparse matrices; symmetric ones of 3×3 blocks as `scatter` stores them."""

import numpy as np
from numba import prange

from plisse.kernels.jit import kernel, parallel_kernel


@parallel_kernel
def multiply(indptr, indices, data, x, out):
    """out = A x for A in CSR and x (n, 3)."""
    for i in prange(indptr.shape[0] - 1):
        a, b, c = 0.0, 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j, w = indices[k], data[k]
            a += w * x[j, 0]
            b += w * x[j, 1]
            c += w * x[j, 2]
        out[i, 0] = a
        out[i, 1] = b
        out[i, 2] = c


@kernel
def transpose_blocks(block_ptr, block_col, lower_ptr, lower_row, lower_slot):
    """The blocks left of the diagonal: row j has those of rows lower_row at block positions lower_slot, transposed."""
    n = block_ptr.shape[0] - 1
    lower_ptr[:] = 0
    for i in range(n):
        for slot in range(block_ptr[i] + 1, block_ptr[i + 1]):
            lower_ptr[block_col[slot] + 1] += 1
    for i in range(n):
        lower_ptr[i + 1] += lower_ptr[i]
    filled = lower_ptr[:-1].copy()
    for i in range(n):
        for slot in range(block_ptr[i] + 1, block_ptr[i + 1]):
            at = filled[block_col[slot]]
            lower_row[at] = i
            lower_slot[at] = slot
            filled[block_col[slot]] += 1


@parallel_kernel
def multiply_symmetric(block_ptr, block_col, lower_ptr, lower_row, lower_slot, values, x, out):
    """out = A x for vectors (3n,); each row gathers both of its halves, so that no two threads write the same entry."""
    for i in prange(block_ptr.shape[0] - 1):
        _multiply_row(block_ptr, block_col, lower_ptr, lower_row, lower_slot, values, x, out, i)


@kernel
def _multiply_row(block_ptr, block_col, lower_ptr, lower_row, lower_slot, values, x, out, i):
    a, b, c = 0.0, 0.0, 0.0
    for k in range(lower_ptr[i], lower_ptr[i + 1]):
        j = np.int64(lower_row[k])
        width = 3 * np.int64(block_ptr[j + 1] - block_ptr[j])
        r0 = 9 * np.int64(block_ptr[j]) - 3 * j + 3 * np.int64(lower_slot[k] - block_ptr[j])
        r1 = r0 + width - 1
        r2 = r1 + width - 2
        x0, x1, x2 = x[3 * j], x[3 * j + 1], x[3 * j + 2]
        a += values[r0] * x0 + values[r1] * x1 + values[r2] * x2
        b += values[r0 + 1] * x0 + values[r1 + 1] * x1 + values[r2 + 1] * x2
        c += values[r0 + 2] * x0 + values[r1 + 2] * x1 + values[r2 + 2] * x2
    width = 3 * np.int64(block_ptr[i + 1] - block_ptr[i])
    r0 = 9 * np.int64(block_ptr[i]) - 3 * i
    r1 = r0 + width
    r2 = r1 + width - 1
    x0, x1, x2 = x[3 * i], x[3 * i + 1], x[3 * i + 2]
    a += values[r0] * x0 + values[r0 + 1] * x1 + values[r0 + 2] * x2
    b += values[r0 + 1] * x0 + values[r1] * x1 + values[r1 + 1] * x2
    c += values[r0 + 2] * x0 + values[r1 + 1] * x1 + values[r2] * x2
    for k in range(1, block_ptr[i + 1] - block_ptr[i]):
        j = 3 * np.int64(block_col[block_ptr[i] + k])
        q0 = r0 + 3 * k
        q1 = q0 + width - 1
        q2 = q1 + width - 2
        x0, x1, x2 = x[j], x[j + 1], x[j + 2]
        a += values[q0] * x0 + values[q0 + 1] * x1 + values[q0 + 2] * x2
        b += values[q1] * x0 + values[q1 + 1] * x1 + values[q1 + 2] * x2
        c += values[q2] * x0 + values[q2 + 1] * x1 + values[q2 + 2] * x2
    out[3 * i], out[3 * i + 1], out[3 * i + 2] = a, b, c


@parallel_kernel
def scale_to_single(indptr, indices, values, scale, out):
    """out = S A S in single precision for the diagonal matrix S of scale (n,)."""
    for i in prange(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = scale[i] * values[k] * scale[indices[k]]
