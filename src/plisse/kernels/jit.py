"""The two ways a kernel is compiled; both find their machine code again from any clone."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from plisse.kernels.cache import attach_cache

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function for one thread: no interpreter lock, IEEE division, cached on disk."""
    compiled: F = attach_cache(njit(nogil=True, error_model="numpy")(function))
    return compiled


def parallel_kernel(function: F) -> F:
    """Compile a function whose `prange` loops run on all threads; otherwise as `kernel`."""
    compiled: F = attach_cache(njit(nogil=True, error_model="numpy", parallel=True)(function))
    return compiled
