"""Hierarchies that begin with the finest mesh: the coarser ones come from collapsing its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.mesh import Mesh, concatenate
from plisse.hierarchy.baselines import affine_map, intrinsic_map
from plisse.hierarchy.decimate import Decimation
from plisse.hierarchy.expand import Expansion
from plisse.hierarchy.flatness import is_flat
from plisse.hierarchy.hierarchy import KINDS, Hierarchy, Plan
from plisse.hierarchy.keeping import decimate_once
from plisse.hierarchy.maps import LevelMap, LinearMap, identity
from plisse.hierarchy.misses import Miss
from plisse.hierarchy.shell_map import ShellMap
from plisse.hierarchy.split_expansion import SplitExpansion
from plisse.hierarchy.splits import OfBody, Splits, find_splits
from plisse.hierarchy.together import put_together

LEAST = 4  # vertices that a body keeps on every level
HELD = 8  # groups of so few vertices stay where they are: a pin that holds a corner is not to move


class Baseline(LinearMap):
    """A linear map to compare with. Coarse positions are found as those of the shell map are."""

    def __init__(self, known: LinearMap, shell: ShellMap) -> None:
        super().__init__(known.matrix, along=None if known.along is known else known.along, kept=known.kept)
        self._shell = shell

    def restrict(self, x: Floats) -> Floats:
        return self._shell.restrict(x)

    def average(self, values: Floats) -> Floats:
        return self._shell.average(values)


def _make_map(rule: str, coarse: Mesh, fine: Mesh, home: Ints, weights: Floats, kept: Ints) -> LevelMap:
    """The map by a rule. home: the coarse triangle of each fine vertex (n,); weights: its weights there (n, 3)."""
    if rule == "smooth":
        return ShellMap(coarse, fine, home, weights, kept)
    shell = ShellMap(coarse, fine, home, weights, kept, phong=0.0, frozen=rule == "printed")
    if rule == "intrinsic":
        return Baseline(intrinsic_map(coarse, home, weights, kept), shell)
    if rule == "affine":
        return Baseline(affine_map(coarse, fine, home, weights, kept), shell)
    return shell


@dataclass(frozen=True, eq=False)
class Coarsened:
    """One body on all levels.

    at: of each level, which of the decimation's meshes it has. wanted: of each level, how many vertices it was to have.
    rule: of its maps. again: whether the decimation was known before.
    """

    decimation: Decimation
    at: tuple[int, ...]
    wanted: tuple[int, ...]
    rule: str
    again: bool

    def mesh(self, level: int) -> Mesh:
        return self.decimation.meshes[self.at[level]]

    def between(self, coarse: int, fine: int) -> LevelMap:
        i, j = self.at[coarse], self.at[fine]
        if i == j:
            return identity(len(self.mesh(coarse).X))
        known = self.decimation
        kept = np.searchsorted(known.ids[j], known.ids[i]).astype(np.int32)
        return _make_map(self.rule, known.meshes[i], known.meshes[j], *known.places[i, j], kept)

    def batches(self, level: int) -> list[Longs]:
        """Collapses whose undoing leads from a level to the next finer one: batches of independent ones, in order."""
        return [batch for mesh in range(self.at[level], self.at[level + 1]) for batch in self.decimation.batches(mesh)]


class Decimated(Hierarchy):
    """Levels by decimation. [Zhang2023] §4.1

    Differs: the map between any two levels is tracked through all collapses between them, not composed of those of the
    levels in between. A vertex then lies in one triangle of every coarser level, whose frame it follows, and a preview
    does not depend on what other levels there are.
    """

    def __init__(self, plan: Plan) -> None:
        self.given = plan.levels - 1
        self.nested = tuple(rule == "linear" for rule in plan.rules)
        groups = plan.groups or [()] * len(plan.bodies)
        each = zip(plan.bodies, plan.rules, groups, strict=True)
        self._bodies = [_coarsen(mesh, rule, some, plan.parts) for mesh, rule, some in each]
        self.levels = tuple(
            tuple(
                mesh if body is None else body.mesh(level) for mesh, body in zip(plan.bodies, self._bodies, strict=True)
            )
            for level in range(plan.levels)
        )
        self._between: dict[tuple[int, int, int], LevelMap] = {}
        self._splits: dict[int, Splits] = {}

    @property
    def bodies(self) -> tuple[Coarsened | None, ...]:
        """How each body was made coarser, None where it is the same on all levels."""
        return tuple(self._bodies)

    def misses(self, level: int) -> tuple[Miss, ...]:
        """Bodies that have more vertices on a level than they were to have."""
        found = []
        for number, body in enumerate(self._bodies):
            stopped = None if body is None else body.decimation.stopped
            if body is None or stopped is None:
                continue
            has, wanted, finest = len(body.mesh(level).X), body.wanted[level], len(body.decimation.meshes[-1].X)
            if has > wanted:
                found.append(Miss(number, level, has, wanted, finest, stopped.refused))
        return tuple(found)

    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        count = len(self._bodies) if bodies is None else bodies
        key = (coarse, fine, count)
        if key not in self._between:
            each = zip(self._bodies[:count], self.levels[coarse], strict=False)
            self._between[key] = put_together(
                [identity(len(mesh.X)) if body is None else body.between(coarse, fine) for body, mesh in each]
            )
        return self._between[key]

    def smooth_between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        return self.between(coarse, fine, bodies=bodies)

    def expansion(self, coarse: int, *, seed: int = 0) -> Expansion:
        if coarse not in self._splits:
            each = zip(self._bodies, self.levels[coarse + 1], strict=True)
            self._splits[coarse] = find_splits(
                [
                    OfBody(mesh)
                    if body is None
                    else OfBody(mesh, body.decimation, body.at[coarse], body.at[coarse + 1])
                    for body, mesh in each
                ]
            )
        meshes, between = self.levels[coarse + 1], self.between(coarse, coarse + 1)
        fine = concatenate(meshes)[0].triangles
        coarsened = [mesh for mesh, body in zip(self.levels[coarse], self._bodies, strict=True) if body is not None]
        edge = float(np.concatenate([mesh.edge_lengths for mesh in coarsened]).mean()) if coarsened else np.inf
        curved = np.repeat([not is_flat(mesh) for mesh in meshes], [len(mesh.X) for mesh in meshes])
        return SplitExpansion(self._splits[coarse], between, fine, curved=curved, edge=edge, seed=seed)


def _coarsen(mesh: Mesh, rule: str | None, groups: Sequence[Ints], parts: Sequence[float]) -> Coarsened | None:
    if rule is None:
        return None
    n = len(mesh.X)
    # a level that is hardly coarser than the next finer one is that one
    sizes = [max(round(part * n), LEAST) for part in parts]
    targets = sorted({size for size in sizes if size < n})
    masks, fixed = [], np.zeros(n, bool)
    for group in groups:
        mask = np.zeros(n, bool)
        mask[group] = True
        masks.append(mask)
        if len(group) <= HELD:
            fixed |= mask
    known, again = decimate_once(mesh, targets, groups=masks, fixed=fixed)
    # where decimation stopped early, its coarsest mesh stands for all that were to be coarser
    coarsest = len(known.meshes) - 1 - len(targets)
    at = [coarsest + targets.index(size) if size < n else len(known.meshes) - 1 for size in sizes]
    at = [max(i, 0) for i in at]
    return Coarsened(known, (*at, len(known.meshes) - 1), (*(min(size, n) for size in sizes), n), rule, again)


KINDS["decimation"] = Decimated
