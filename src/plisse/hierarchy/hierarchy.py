"""Levels 0..L of several bodies, coarse to fine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plisse.core.mesh import Mesh
from plisse.hierarchy.loop import subdivide
from plisse.hierarchy.prolongation import Prolongation, identity, side_by_side

FLAT = 1e-6  # a rest shape is flat when no vertex is farther from a plane than this part of its extent


@dataclass(frozen=True, eq=False)
class Level:
    """Rest meshes of all bodies, and the maps to the next finer level over their vertices one after the other.

    prolongation: P, where a finer level is expected to be; upsampling: U, midpoints, which leave the surface as it is.
    Both are None on the finest level.
    """

    bodies: tuple[Mesh, ...]
    prolongation: Prolongation | None = None
    upsampling: Prolongation | None = None


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Levels, coarse to fine; rules: how each body grows finer, see `build_levels`."""

    levels: tuple[Level, ...]
    rules: tuple[str | None, ...]

    @property
    def finest(self) -> int:
        return len(self.levels) - 1

    @cached_property
    def _between(self) -> dict[tuple[int, int, int], Prolongation]:
        return {}

    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> Prolongation:
        """P from one level to a finer one, P_fine ··· P_{coarse+1}, of the first `bodies` bodies, or of all."""
        count = len(self.levels[0].bodies) if bodies is None else bodies
        key = (coarse, fine, count)
        if key not in self._between:
            sizes = [sum(len(mesh.X) for mesh in self.levels[k].bodies[:count]) for k in range(coarse, fine + 1)]
            result = identity(sizes[0])
            for k in range(coarse, fine):
                step = self.levels[k].prolongation
                assert step is not None
                result = step.head(sizes[k - coarse + 1], sizes[k - coarse]).after(result)
            self._between[key] = result
        return self._between[key]


def build_levels(bodies: Sequence[Mesh], *, levels: int, rules: Sequence[str | None]) -> Hierarchy:
    """A hierarchy whose coarsest level is `bodies`.

    rules: of each body, "loop" or "linear" (midpoints), which its prolongation and its finer rest shapes follow; None
    for a body that is the same on all levels.
    """
    out: list[Level] = []
    current = tuple(bodies)
    for _ in range(levels - 1):
        parts = [
            (mesh, identity(len(mesh.X)), identity(len(mesh.X))) if rule is None else subdivide(mesh, rule=rule)
            for mesh, rule in zip(current, rules, strict=True)
        ]
        out.append(Level(current, side_by_side([p for _, p, _ in parts]), side_by_side([u for _, _, u in parts])))
        current = tuple(mesh for mesh, _, _ in parts)
    return Hierarchy((*out, Level(current)), tuple(rules))


def is_flat(mesh: Mesh) -> bool:
    """Whether all rest positions lie in one plane."""
    X = mesh.X if mesh.rest is None else mesh.rest.reshape(-1, 3)
    centred = X - X.mean(axis=0)
    extent = float(np.abs(centred).max())
    normal = np.linalg.svd(centred.T @ centred)[0][:, 2]
    return bool(np.abs(centred @ normal).max() <= FLAT * extent)
