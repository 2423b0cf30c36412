"""Hierarchies that begin with the coarsest mesh: every next level cuts each triangle in four."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from plisse.core.mesh import Mesh
from plisse.hierarchy.expand import Expansion, MidpointExpansion
from plisse.hierarchy.hierarchy import KINDS, Hierarchy, Plan
from plisse.hierarchy.loop import loop, subdivide
from plisse.hierarchy.maps import LinearMap, identity, side_by_side

# a mesh that stays in a changed scene keeps its finer levels
_finer: WeakKeyDictionary[Mesh, dict[str, tuple[Mesh, LinearMap]]] = WeakKeyDictionary()


class Subdivision(Hierarchy):
    """Levels by subdivision from `bodies`, the coarsest.

    rules: of each body, "loop" or "linear" (midpoints), which its prolongation and its finer rest shapes follow; None
    for a body that is the same on all levels.
    """

    given = 0

    def __init__(self, bodies: Sequence[Mesh], *, levels: int, rules: Sequence[str | None]) -> None:
        self._rules = tuple(rules)
        self.nested = tuple(rule == "linear" for rule in rules)
        out, self._maps = [tuple(bodies)], list[tuple[LinearMap, ...]]()
        for _ in range(levels - 1):
            steps = [_refine(mesh, rule) for mesh, rule in zip(out[-1], rules, strict=True)]
            out.append(tuple(mesh for mesh, _ in steps))
            self._maps.append(tuple(step for _, step in steps))
        self.levels = tuple(out)
        self._between: dict[tuple[bool, int, int, int], LinearMap] = {}

    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LinearMap:
        """P_fine ··· P_{coarse+1}."""
        return self._compose(coarse, fine, bodies, smooth=False)

    def smooth_between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LinearMap:
        """By Loop's rule, whatever the bodies' own is.

        Midpoints leave facets, whose curvature is nil or grows with each level. Both keep the boundary in place.
        [Zhang2022] §6.2.
        """
        count = len(self._rules) if bodies is None else bodies
        return self._compose(coarse, fine, bodies, smooth=any(self.nested[:count]))

    def _compose(self, coarse: int, fine: int, bodies: int | None, *, smooth: bool) -> LinearMap:
        count = len(self._rules) if bodies is None else bodies
        key = (smooth, coarse, fine, count)
        if key not in self._between:
            result = identity(sum(len(mesh.X) for mesh in self.levels[coarse][:count]))
            for level in range(coarse, fine):
                steps: Sequence[LinearMap] = self._maps[level][:count]
                if smooth:
                    each = zip(self.levels[level], self._rules, steps, strict=False)
                    steps = [loop(mesh) if rule else same for mesh, rule, same in each]
                result = side_by_side(steps).after(result)
            self._between[key] = result
        return self._between[key]

    def expansion(self, coarse: int, *, seed: int = 0) -> Expansion:
        return MidpointExpansion(side_by_side([step.along for step in self._maps[coarse]]))


def build_subdivision(plan: Plan) -> Subdivision:
    """By the rules "linear" and "loop".

    Bodies whose rest shape has seams take midpoints: the two sides of a seam are apart at rest, and a smooth rule would
    mix them.
    """
    each = zip(plan.bodies, plan.rules, strict=True)
    rules = ["linear" if rule is not None and mesh.rest_places is None else rule for mesh, rule in each]
    return Subdivision(plan.bodies, levels=plan.levels, rules=rules)


KINDS["loop"] = build_subdivision


def _refine(mesh: Mesh, rule: str | None) -> tuple[Mesh, LinearMap]:
    if rule is None:
        return mesh, identity(len(mesh.X))
    known = _finer.setdefault(mesh, {})
    if rule not in known:
        known[rule] = subdivide(mesh, rule=rule)
    return known[rule]
