"""How many threads kernels run on."""

import numba


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels that the calling thread starts from now on."""
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
