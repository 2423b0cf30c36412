"""Values that are costly to make, kept for when they are asked for again."""

import os
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

V = TypeVar("V")

# Clocks of file systems tick every few milliseconds: a file younger than this [ns] may change again unnoticed.
FRESH = 20_000_000


class Memo(Generic[V]):
    """The values that were asked for last, by key: as many as fit into `room` by their `size`, and always one."""

    def __init__(self, room: int, size: Callable[[V], int]) -> None:
        self._room, self._size = room, size
        self._kept: dict[Hashable, V] = {}

    def get(self, key: Hashable | None, make: Callable[[], V]) -> V:
        """The very object that was made for this key before, or else a new one; without a key always a new one."""
        if key is None:
            return make()
        value = self._kept.pop(key) if key in self._kept else make()
        self._kept[key] = value  # the one used last stands last
        while len(self._kept) > 1 and sum(map(self._size, self._kept.values())) > self._room:
            del self._kept[next(iter(self._kept))]
        return value


def stamp_file(path: Path) -> Hashable | None:
    """What tells a file from all others and from its own earlier versions.

    None where it cannot be told: the file is missing, or so fresh that it may change again within the clock's tick.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    if abs(time.time_ns() - found.st_mtime_ns) < FRESH:
        return None
    # messages name a file as it was asked for
    return str(path), os.path.abspath(path), found.st_ino, found.st_size, found.st_mtime_ns
