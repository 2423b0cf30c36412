"""One map for several bodies whose own maps are of different kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from plisse.core.arrays import Floats
from plisse.hierarchy.maps import LevelMap, LinearMap, side_by_side


class Together(LevelMap):
    """Maps of bodies whose vertices follow each other, each applied to its own."""

    def __init__(self, parts: Sequence[LevelMap]) -> None:
        self.parts = tuple(parts)
        coarse, fine = (np.cumsum([0, *sizes]) for sizes in zip(*((p.coarse, p.fine) for p in parts), strict=True))
        self.coarse, self.fine = int(coarse[-1]), int(fine[-1])
        self.kept = np.concatenate([p.kept + first for p, first in zip(parts, fine, strict=False)]).astype(np.int32)
        self._coarse, self._fine = coarse[1:-1], fine[1:-1]

    def __call__(self, x: Floats) -> Floats:
        return np.concatenate([part(own) for part, own in self._coarse_parts(x)])

    def pull_back(self, x: Floats, g: Floats) -> Floats:
        each = zip(self._coarse_parts(x), np.split(g, self._fine), strict=True)
        return np.concatenate([part.pull_back(own, forces) for (part, own), forces in each])

    def push_forward(self, x: Floats, d: Floats) -> Floats:
        each = zip(self._coarse_parts(x), np.split(d, self._coarse), strict=True)
        return np.concatenate([part.push_forward(own, moved) for (part, own), moved in each])

    @cached_property
    def linear(self) -> LinearMap:
        return side_by_side([part.linear for part in self.parts])

    @cached_property
    def thawed(self) -> LevelMap:
        thawed = [part.thawed for part in self.parts]
        return self if all(a is b for a, b in zip(thawed, self.parts, strict=True)) else put_together(thawed)

    def interpolate(self, values: Floats) -> Floats:
        return np.concatenate([part.interpolate(own) for part, own in self._coarse_parts(values)])

    def restrict(self, x: Floats) -> Floats:
        return np.concatenate([part.restrict(own) for part, own in self._fine_parts(x)])

    def average(self, values: Floats) -> Floats:
        return np.concatenate([part.average(own) for part, own in self._fine_parts(values)])

    def _coarse_parts(self, x: Floats) -> Iterator[tuple[LevelMap, Floats]]:
        return zip(self.parts, np.split(x, self._coarse), strict=True)

    def _fine_parts(self, x: Floats) -> Iterator[tuple[LevelMap, Floats]]:
        return zip(self.parts, np.split(x, self._fine), strict=True)


def put_together(parts: Sequence[LevelMap]) -> LevelMap:
    """The map of bodies whose vertices follow each other."""
    if len(parts) == 1:
        return parts[0]
    linear = [part for part in parts if type(part) is LinearMap]
    return side_by_side(linear) if len(linear) == len(parts) else Together(parts)
