"""Which vertices belong to which body: the one place that knows in what order bodies lie in an array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from plisse.core.arrays import Bools, Floats, Ints, Longs

Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies whose vertices follow each other: first those that are simulated, then those that only collide.

    names, sizes: of each body, sizes in vertices; simulated: how many of them are simulated.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    simulated: int

    @classmethod
    def single(cls, n: int, name: str = "body") -> Bodies:
        """One simulated body of n vertices."""
        return cls((name,), (n,), 1)

    @cached_property
    def starts(self) -> Longs:
        """Where each body's vertices begin, and where the last one's end, shape (bodies + 1,)."""
        return np.concatenate(([0], np.cumsum(self.sizes, dtype=np.int64)))

    @property
    def n(self) -> int:
        """Vertices in all."""
        return int(self.starts[-1])

    @property
    def n_simulated(self) -> int:
        """Vertices of the simulated bodies."""
        return int(self.starts[self.simulated])

    @cached_property
    def of_vertex(self) -> Ints:
        """Body that each vertex belongs to, shape (n,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes).astype(np.int32)

    @cached_property
    def is_simulated(self) -> Bools:
        """Whether a vertex belongs to a simulated body, shape (n,)."""
        return np.arange(self.n) < self.n_simulated

    def simulated_part(self, x: Array) -> Array:
        """The rows of x (n, …) that belong to simulated bodies."""
        return cast(Array, x[: self.n_simulated])

    def split(self, x: Floats) -> list[Floats]:
        """x (n, …) body by body."""
        return np.split(x, self.starts[1:-1])

    def part(self, x: Floats, body: int) -> Floats:
        """The rows of x (n, …) that belong to one body."""
        return x[self.starts[body] : self.starts[body + 1]]

    def name_of(self, vertex: int) -> str:
        """Name of the body that a vertex belongs to."""
        return self.names[int(self.of_vertex[vertex])]

    def own_number(self, vertex: int) -> int:
        """A vertex in the numbering of its own body."""
        return int(vertex - self.starts[self.of_vertex[vertex]])

    def name_vertices(self, vertices: Iterable[int]) -> str:
        """Vertices in the numbering of their own bodies: "12, 14 of cloth and 3 of ball"."""
        of_body: dict[int, set[int]] = {}
        for vertex in vertices:
            of_body.setdefault(int(self.of_vertex[vertex]), set()).add(self.own_number(vertex))
        listed = (f"{', '.join(map(str, sorted(own)))} of {self.names[body]}" for body, own in of_body.items())
        return " and ".join(listed)


def relay(x: Floats, before: Bodies, after: Bodies, fresh: Floats) -> Floats:
    """Positions (n, 3) of other bodies: x where a body of the same name and size was there before, else `fresh`."""
    if before.names == after.names and before.sizes == after.sizes:
        return x
    out = fresh.copy()
    known = {name: k for k, name in enumerate(before.names)}
    for k, (name, size) in enumerate(zip(after.names, after.sizes, strict=True)):
        if name in known and before.sizes[known[name]] == size:
            out[after.starts[k] : after.starts[k + 1]] = before.part(x, known[name])
    return out


def lay_out(simulated: Sequence[tuple[str, int]], colliding: Sequence[tuple[str, int]]) -> Bodies:
    """Bodies by name and number of vertices."""
    every = [*simulated, *colliding]
    return Bodies(tuple(name for name, _ in every), tuple(size for _, size in every), len(simulated))
