"""Levels 0..L of several bodies, coarse to fine, and the maps between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plisse.core.arrays import Ints
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.hierarchy.expand import Expansion
from plisse.hierarchy.maps import LevelMap
from plisse.hierarchy.misses import Miss


class Hierarchy(ABC):
    """Rest meshes of all bodies on all levels.

    given: the level whose meshes are the scene's own, 0 or the finest. nested: of each body, whether a coarse mesh's
    own elasticity stands for that of finer ones. Of midpoints on flat shapes it does exactly: the finer membrane's
    energy is the coarse one's, and the finer bending's a multiple of it.
    """

    levels: tuple[tuple[Mesh, ...], ...]
    given: int
    nested: tuple[bool, ...]

    @property
    def finest(self) -> int:
        return len(self.levels) - 1

    @abstractmethod
    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        """The map from one level to a finer one, of the first `bodies` bodies, or of all."""

    @abstractmethod
    def smooth_between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        """The same along a smooth surface, through which curvatures can be compared."""

    def misses(self, level: int) -> tuple[Miss, ...]:
        """Bodies that have more vertices on a level than they were to have, for kinds in which that can happen."""
        return ()

    @abstractmethod
    def expansion(self, coarse: int, *, seed: int = 0) -> Expansion:
        """How a feasible state of a level becomes one of the next finer level; seed: of what is random in it."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What a hierarchy is made of.

    bodies: the scene's own meshes. rules: the prolongation of each, None for a body that is the same on all levels.
    levels: how many there are. parts: numbers of vertices of the levels below the finest, coarse to fine, as parts of
    what the finest has, for kinds that begin with that. groups: of each body, vertices (k,) that belong together, as
    those of a pin do: coarse levels keep them apart from the others.
    """

    bodies: Sequence[Mesh]
    rules: Sequence[str | None]
    levels: int
    parts: Sequence[float] = ()
    groups: Sequence[Sequence[Ints]] = ()


KINDS: dict[str, Callable[[Plan], Hierarchy]] = {}


def build_hierarchy(kind: str, plan: Plan) -> Hierarchy:
    """The hierarchy of a kind."""
    if kind not in KINDS:
        raise SceneError(f'There is no hierarchy of the kind "{kind}": choose from {", ".join(KINDS)}.')
    return KINDS[kind](plan)
