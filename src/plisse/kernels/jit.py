"""The two ways a kernel is compiled; both find their machine code again from any clone."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

# idle threads sleep instead of spinning: on a busy machine, and beside the linear solver's own threads, a spinning
# team waits for a core that its own members hold (4 × slower, measured); read when numba starts its threads
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

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
