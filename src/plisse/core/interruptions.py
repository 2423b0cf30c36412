"""Ctrl-C and SIGTERM, held back where they must not come in between."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def holding_interruptions() -> Iterator[None]:
    """Signals wait until what is done meanwhile is complete."""
    held: list[int] = []
    try:
        # a mask would not do: it holds for one thread, and any of the libraries' threads may be handed the signal
        before = {
            number: signal.signal(number, lambda number, _: held.append(number))
            for number in (signal.SIGINT, signal.SIGTERM)
        }
    except ValueError:  # only a program's first thread hears of signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])
