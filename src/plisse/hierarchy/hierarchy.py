"""Levels 0..L of several bodies, coarse to fine, and the maps between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.hierarchy.expand import Expansion
from plisse.hierarchy.maps import LevelMap


class Hierarchy(ABC):
    """Rest meshes of all bodies on all levels.

    given: the level whose meshes are the scene's own, 0 or the finest. nested: of each body, whether finer meshes of
    it are the coarse one with midpoints, so that the finer membrane's energy is the coarse one's, and the finer
    bending's a multiple of it.
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

    @abstractmethod
    def expansion(self, coarse: int) -> Expansion:
        """How a feasible state of a level becomes one of the next finer level."""


# makes a hierarchy of the scene's meshes: bodies, the prolongation of each that is simulated, which of the others are
# refined, number of levels
Builder = Callable[[Sequence[Mesh], Sequence[str], Sequence[bool], int], Hierarchy]
KINDS: dict[str, Builder] = {}


def build_hierarchy(
    kind: str, bodies: Sequence[Mesh], *, prolongations: Sequence[str], refined: Sequence[bool], levels: int
) -> Hierarchy:
    """The hierarchy of a kind. prolongations: of the bodies that are simulated; refined: whether the others are."""
    if kind not in KINDS:
        raise SceneError(f'There is no hierarchy of the kind "{kind}": choose from {", ".join(KINDS)}.')
    return KINDS[kind](bodies, prolongations, refined, levels)
