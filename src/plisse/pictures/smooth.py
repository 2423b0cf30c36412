"""A smooth view of a coarse level: its shells drawn through Loop subdivision, everything else as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError, counted
from plisse.core.mesh import Mesh
from plisse.hierarchy.loop import subdivide
from plisse.hierarchy.maps import LinearMap
from plisse.pictures.render import Body
from plisse.pictures.stage import Part, Stage

STEPS = 2  # of subdivision
MOST = 2_000_000  # triangles of a smooth view
SMALL = 100_000  # triangles that are enough for a small picture

P = TypeVar("P", bound=Part)


class SmoothView(Generic[P]):
    """Finer surfaces that are shown instead of a level's own.

    parts: the shells, marked by their names, then the colliders. Boundaries stay where they are, and so do half-spaces:
    every new vertex is a convex combination of old ones.
    """

    def __init__(self, parts: Sequence[P]) -> None:
        self.coarse = tuple(parts)
        triangles = sum(len(part.triangles) for part in parts if part.is_shell)
        self.steps = next((k for k in range(STEPS, 0, -1) if triangles * 4**k <= MOST), 0)
        if not self.steps:
            raise SceneError(
                f"A smooth view is for coarse levels, and this one has {counted(triangles, 'triangle')}: choose one "
                "with --level, or omit --smooth."
            )
        self._maps, out, first = [], [], 0
        for part in parts:
            mesh = Mesh(np.zeros((part.last - part.first, 3)), part.triangles, getattr(part, "uv", None))
            maps: list[LinearMap] = []
            for _ in range(self.steps if part.is_shell else 0):
                mesh, finer = subdivide(mesh, rule="loop")
                maps.append(finer)
            name = f"{part.name} (smooth view)" if part.is_shell else part.name
            texture: dict[str, Any] = {} if mesh.uv is None else {"uv": mesh.uv}
            last = first + len(mesh.X)
            out.append(replace(part, name=name, triangles=mesh.triangles, first=first, last=last, **texture))
            first += len(mesh.X)
            self._maps.append(maps)
        self.parts: tuple[P, ...] = tuple(out)

    def __call__(self, x: Floats) -> Floats:
        """Positions of all finer parts [m], shape (k, 3), from those of all coarse ones, shape (n, 3)."""
        out = []
        for part, maps in zip(self.coarse, self._maps, strict=True):
            place = np.ascontiguousarray(x[part.first : part.last])
            for finer in maps:
                place = finer(place)
            out.append(place)
        return np.concatenate(out)

    def describe(self, frames: Iterable[Floats]) -> str:
        """What is to be said of the view of some coarse positions x [m], shape (n, 3) each."""
        found = simulated = crossed = count = 0
        for x in frames:
            own = self._fine.count(self(x))
            if own:
                simulated += self._coarse.count(x)
            found, crossed, count = found + own, crossed + bool(own), count + 1
        how = f"smooth view by {counted(self.steps, 'step')} of Loop subdivision"
        where = "" if count == 1 else f" in all {count:,} frames"
        if not found:
            return f"{how}, free of intersections{where}"
        where = "" if count == 1 else f" in {crossed:,} of {count:,} frames"
        there = f"{simulated:,}" if simulated else "none"
        return f"{how} with {counted(found, 'intersection')}{where}; the simulated surface has {there} there"

    def crosses(self, finer: Floats) -> bool:
        """Whether finer positions [m], shape (k, 3), intersect anything."""
        return self._fine.count(finer) > 0

    @cached_property
    def _fine(self) -> Detector:
        return _make_detector(self.parts)

    @cached_property
    def _coarse(self) -> Detector:
        return _make_detector(self.coarse)


def show_small(stage: Stage, x: Floats, *, finest: bool) -> tuple[list[Body], str]:
    """What to draw of a level beside others in a small picture, and what its label says of it.

    Coarse levels have creases two triangles wide where finer ones have folds: they are shown smooth, unless the smooth
    surface dips into what it lies on, as it does where triangles are large beside a collider's curvature.
    """
    triangles = sum(len(part.triangles) for part in stage.parts if part.is_shell)
    label = counted(triangles, "triangle")
    if finest or triangles * 4**STEPS > SMALL:
        return stage.show(x), label
    view = SmoothView(stage.parts)
    finer = view(x)
    if view.crosses(finer):
        return stage.show(x), label
    return replace(stage, parts=view.parts).show(finer), f"{label}, smooth view"


def _make_detector(parts: Sequence[Part]) -> Detector:
    triangles = np.concatenate([part.triangles + np.int32(part.first) for part in parts])
    mesh = Mesh(np.zeros((parts[-1].last, 3)), triangles)
    shells = max(part.last for part in parts if part.is_shell)
    return Detector(mesh.X, mesh.edges, mesh.triangles, shells)
