"""How many threads kernels run on, and kernels that threads share."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels that the calling thread starts from now on."""
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


def share_out(part: Callable[..., None], count: int, *arguments: Any, block: int = 4096) -> None:
    """Calls a kernel part(start, end, *arguments) for all blocks of a range, on as many threads as kernels may use.

    For long work: each call costs some microseconds, but a parallel loop inside a kernel would compile all that it
    calls a second time.
    """
    threads, starts = numba.get_num_threads(), range(0, count, block)

    def call(start: int) -> None:
        part(start, min(count, start + block), *arguments)

    if threads == 1 or len(starts) == 1:
        for start in starts:
            call(start)
    else:
        list(_open_pool(threads).map(call, starts))


@cache
def _open_pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
