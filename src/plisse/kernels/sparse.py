"""Products of sparse rows with positions."""

from numba import prange

from plisse.kernels.jit import parallel_kernel


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
