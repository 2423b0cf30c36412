"""All levels of a scene: geometries, the maps between them, and each level's system."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Mesh
from plisse.hierarchy.hierarchy import Hierarchy, build_levels, is_flat
from plisse.hierarchy.prolongation import Prolongation
from plisse.loading.geometry import load_geometry
from plisse.progressive.assemble import Extra, Finer, Proxy, System
from plisse.progressive.scales import settle_contact
from plisse.progressive.shells import ShellModel
from plisse.scene.geometry import Geometry, scene_size
from plisse.scene.scene import Scene

WEIGHT_STRAIN = 0.2  # strain under its own weight of a sheet whose wrinkles a level cannot show, in compression
MOST_BENDING = 100.0  # factor on bending that no level exceeds
LINEAR_GAIN = 2.0  # the bending stiffness of a hinge grows so much per level of midpoints that it is evaluated on


@dataclass(frozen=True, eq=False)
class Ladder:
    """A scene on all of its levels, 0 the coarsest. base: its geometry on level 0."""

    scene: Scene
    base: Geometry
    hierarchy: Hierarchy
    extra: Extra | None = None
    _models: dict[tuple[int, tuple[float, ...], tuple[float, ...]], ShellModel] = field(default_factory=dict)
    _systems: list[System] = field(default_factory=list)

    @classmethod
    def of(cls, scene: Scene, geometry: Geometry) -> Ladder:
        """The scene on all of its levels, from its geometry on level 0."""
        return cls(settle_contact(scene, geometry), geometry, _build(scene, geometry))

    @property
    def finest(self) -> int:
        return self.hierarchy.finest

    @cached_property
    def _geometries(self) -> dict[int, Geometry]:
        return {0: self.base}

    def geometry(self, level: int) -> Geometry:
        """Rest meshes, start positions, colliders and pins of a level."""
        if level not in self._geometries:
            below, step = self.geometry(level - 1), self.hierarchy.levels[level - 1]
            assert step.prolongation is not None and step.upsampling is not None
            bodies, shells = self.hierarchy.levels[level].bodies, len(self.base.shells)
            placed = step.prolongation(np.concatenate([*below.shell_positions, *(mesh.X for mesh in below.solids)]))
            parts = np.split(placed, np.cumsum([len(mesh.X) for mesh in bodies])[:-1])
            solids = iter(zip(bodies[shells:], parts[shells:], strict=True))
            colliders = [None if c is None else _placed(*next(solids)) for c in self.base.colliders]
            pins = _finer_pins(below, [len(mesh.X) for mesh in bodies[:shells]], step.upsampling.matrix)
            finer = replace(below, shells=bodies[:shells], shell_positions=tuple(parts[:shells]))
            self._geometries[level] = replace(finer, colliders=tuple(colliders), pins=pins)
        return self._geometries[level]

    def system(self, level: int, *, start: Floats | None = None) -> System:
        """The level's potentials; start: positions to go on from."""
        progressive = self.scene.hierarchy.method == "progressive" and level < self.finest
        proxy = self._proxy(level) if progressive else None
        geometry = self.geometry(level)
        self._systems[:] = [System(self.scene, geometry, level=level, proxy=proxy, start=start, extra=self.extra)]
        return self.latest

    @property
    def latest(self) -> System:
        """The system that was made last: the one whose states a generator yields."""
        return self._systems[0]

    def _proxy(self, level: int) -> Proxy:
        settings = self.scene.hierarchy
        up = self._levels_up(level)
        rules = self.hierarchy.rules[: len(self.base.shells)]
        kept, own = self.softened(level)
        if up == 0 or all(rule == "linear" for rule in rules):
            # on nested flat meshes the finer membrane is this one, and the finer bending a multiple of this one's
            return Proxy(kept, own)

        def finer(k: int) -> Finer:
            gain = [f / (LINEAR_GAIN**k if rule == "linear" else 1.0) for f, rule in zip(own, rules, strict=True)]
            return Finer(self._model(level + k, kept, gain), self._shell_map(level, level + k))

        return Proxy(kept, own, finer(up), finer(1) if settings.preconditioner == "galerkin" else None)

    def _levels_up(self, level: int) -> int:
        """On how many levels above its own a level's elasticity is evaluated."""
        asked, most = self.scene.hierarchy.proxy_levels_up, self.finest - level
        return most if asked is None else min(asked, most)

    def softened(self, level: int) -> tuple[list[float], list[float]]:
        """Part of the compressive stiffness kept, and factor on bending, of each shell on a level.

        With r, the level's mean edge over gravity's bending length ∛(D / ρτg), D = E τ³ / 12(1 − ν²): folds of that
        length are not resolved for r > 1. "auto" then keeps s^((r − 1)/2) of the compressive stiffness, no less than s,
        with which the sheet's own weight would compress it by WEIGHT_STRAIN. Under linear prolongation it also makes
        bending r times as stiff, as evaluating it on a mesh with edges of that length would; Loop's rule is smooth.
        """
        proxy, g = self.scene.hierarchy.proxy, float(np.linalg.norm(self.scene.gravity))
        size, up = scene_size(self.base.shells), self._levels_up(level)
        kept, stiffer = [], []
        meshes = zip(self.base.shells, self.geometry(level).shells, self.hierarchy.rules, strict=False)
        for shell, (base, mesh, rule) in zip(self.scene.shells, meshes, strict=True):
            m = shell.material
            D = m.bending_modulus * m.thickness**3 / (12.0 * (1.0 - m.nu**2))
            r = float(mesh.edge_lengths.mean()) * (m.area_density * g / D) ** (1.0 / 3.0) if D > 0.0 else np.inf
            s = min(m.density * g * size / (WEIGHT_STRAIN * m.E), 1.0)
            auto = s ** min(max((r - 1.0) / 2.0, 0.0), 1.0) if s > 0.0 else 1.0
            part = auto if isinstance(proxy.compression, str) else proxy.compression
            # a curved rest shape carries its load by compression: it keeps it
            kept.append(part if is_flat(base) else 1.0)
            auto = min(max(1.0, r), MOST_BENDING) if rule == "linear" else 1.0
            stiffer.append(auto if isinstance(proxy.bending, str) else proxy.bending**up)
        return kept, stiffer

    def _shell_map(self, coarse: int, fine: int) -> Prolongation:
        return self.hierarchy.between(coarse, fine, bodies=len(self.base.shells))

    def _model(self, level: int, kept: list[float], gain: list[float]) -> ShellModel:
        key = (level, tuple(kept), tuple(gain))
        if key not in self._models:
            self._models[key] = ShellModel(
                self.scene.at(0.0), self.geometry(level).shells, compression=kept, bending=gain
            )
        return self._models[key]

    def changed(self, scene: Scene, base: str | Path) -> Ladder:
        """The ladder of a scene whose parameters were changed on the way, fit to go on from this one's states.

        Contact lengths that the scene leaves open do not grow: states that were reached keep them.
        """
        geometry = load_geometry(scene, Path(base))
        settled, before = settle_contact(scene, geometry).contact, self.scene.contact
        assert settled.offset is not None and before.offset is not None
        if scene.contact.offset is None:
            settled = replace(settled, offset=min(settled.offset, before.offset))
        ours, theirs = ([*g.shells, *g.solids] for g in (self.base, geometry))
        if [len(mesh.X) for mesh in ours] != [len(mesh.X) for mesh in theirs] or any(
            not np.array_equal(a.X, b.X) for a, b in zip(self.base.shells, geometry.shells, strict=True)
        ):
            raise SceneError("The meshes of the scene were changed, and its states do not fit them: start again.")
        same = scene.hierarchy.levels == self.finest + 1
        kept = same and _rules(scene, geometry) == self.hierarchy.rules
        hierarchy = self.hierarchy if kept else _build(scene, geometry)
        return Ladder(replace(scene, contact=settled), geometry, hierarchy, self.extra)


def build_hierarchy(scene: Scene, base: str | Path, *, extra: Extra | None = None) -> Ladder:
    """The scene on all of its levels, with files looked up from the folder `base`; extra: a user's own potentials."""
    return replace(Ladder.of(scene, load_geometry(scene, Path(base))), extra=extra)


def _build(scene: Scene, base: Geometry) -> Hierarchy:
    return build_levels([*base.shells, *base.solids], levels=scene.hierarchy.levels, rules=_rules(scene, base))


def _rules(scene: Scene, base: Geometry) -> tuple[str | None, ...]:
    """How each body grows finer: curved shells and refined colliders by Loop's rule, flat shells as the scene says."""
    shells = [scene.hierarchy.proxy.prolongation if is_flat(mesh) else "loop" for mesh in base.shells]
    return (*shells, *("loop" if c.refine else None for c in scene.colliders if c.mesh is not None))


def _placed(mesh: Mesh, X: Floats) -> Mesh:
    return mesh if np.array_equal(mesh.X, X) else Mesh(X, mesh.triangles)


def _finer_pins(below: Geometry, sizes: list[int], U: Any) -> tuple[tuple[Ints, ...], ...]:
    """A midpoint is pinned when both ends of its edge are pinned by the same pin."""
    out: list[tuple[Ints, ...]] = []
    rows = columns = 0
    for mesh, pins, size in zip(below.shells, below.pins, sizes, strict=True):
        part = U[rows : rows + size, columns : columns + len(mesh.X)]
        chosen = []
        for vertices in pins:
            mask = np.zeros(len(mesh.X))
            mask[vertices] = 1.0
            chosen.append(np.flatnonzero(part @ mask > 0.75).astype(np.int32))
        out.append(tuple(chosen))
        rows, columns = rows + size, columns + len(mesh.X)
    return tuple(out)
