"""All levels of a scene: geometries, the maps between them, and each level's Problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import StartAgain
from plisse.core.mesh import Mesh
from plisse.hierarchy.hierarchy import Hierarchy
from plisse.hierarchy.maps import LevelMap
from plisse.progressive.planning import kinds_of_rest, plan_levels
from plisse.progressive.rest import MOST_STRIDE, Rest
from plisse.progressive.scales import settle_contact
from plisse.progressive.scene_problem import Extra, Finer, Proxy, SceneProblem, centres_of_mass
from plisse.progressive.shells import ShellModel, firm_pins
from plisse.progressive.softening import (
    Softening,
    least_kept,
    soften_compression,
    soften_membrane,
    stiffen_bending,
)
from plisse.scene.geometry import Geometry, scene_size
from plisse.scene.scene import Scene
from plisse.scene.schedule import Track

NOTES = {
    "developable": "{} is curved at rest, but could be cut from flat cloth: its levels are made as those of a flat "
    "one. Finer ones keep its facets, coarse ones give way to compression.",
    "curved": "{} is curved at rest: Loop's rule rounds it on finer levels, and all levels resist compression in full.",
}
LINEAR_GAIN = 2.0  # the bending stiffness of a hinge grows so much per level of midpoints that it is evaluated on

ModelKey = tuple[int, Softening | None, int]


@dataclass(frozen=True, eq=False)
class Ladder:
    """A scene on all of its levels, 0 the coarsest. given: its geometry as the scene's own meshes give it."""

    scene: Scene
    given: Geometry
    hierarchy: Hierarchy
    extra: Extra | None = None
    _geometries: dict[int, Geometry] = field(default_factory=dict)
    _models: dict[ModelKey, ShellModel] = field(default_factory=dict)

    @classmethod
    def of(cls, scene: Scene, geometry: Geometry, *, extra: Extra | None = None) -> Ladder:
        """The scene on all of its levels. extra: a user's own potentials."""
        return cls(settle_contact(scene, geometry), geometry, plan_levels(scene, geometry), extra)

    @property
    def finest(self) -> int:
        return self.hierarchy.finest

    @property
    def notes(self) -> tuple[str, ...]:
        """What shells that are not flat were taken for."""
        settings = self.scene.hierarchy
        if self.finest == 0 or settings.kind != "loop" or settings.proxy.prolongation != "linear":
            return ()
        named = zip(self.scene.shells, self._kinds, strict=True)
        return tuple(NOTES[kind].format(shell.name) for shell, kind in named if kind in NOTES)

    @cached_property
    def _kinds(self) -> tuple[str, ...]:
        return kinds_of_rest(self.scene, self.given)

    # --- geometry -----------------------------------------------------------------------------------------------------

    def geometry(self, level: int) -> Geometry:
        """Rest meshes, start positions, colliders, pins and regions of a level."""
        if level == self.hierarchy.given:
            return self.given
        if level not in self._geometries:
            self._geometries[level] = self._carry(level, up=level > self.hierarchy.given)
        return self._geometries[level]

    def _carry(self, level: int, *, up: bool) -> Geometry:
        """A level's geometry from that of the next coarser or finer level.

        Coarse positions are fitted to the finest level at once: they are the same whatever levels are in between.
        """
        bodies, shells, given = self.hierarchy.levels[level], len(self.given.shells), self.hierarchy.given
        known = self.geometry(level - 1 if up else level + 1)
        source = known if up else self.given
        carry = self.hierarchy.between(level - 1, level) if up else self.hierarchy.between(level, given).restrict
        ends = np.cumsum([len(mesh.X) for mesh in bodies])[:-1]
        parts = np.split(carry(source.placed), ends)
        solids = iter(zip(bodies[shells:], parts[shells:], strict=True))
        colliders = [None if c is None else _placed(*next(solids)) for c in self.given.colliders]
        return replace(
            known,
            shells=bodies[:shells],
            shell_positions=tuple(parts[:shells]),
            colliders=tuple(colliders),
            pins=self._carry_pins(known, level, up=up),
            tracks=_carry_tracks(source, lambda placed: np.split(carry(placed), ends)[shells:]),
            regions=self._carry_weights(known, level, up=up),
        )

    def _carry_pins(self, known: Geometry, level: int, *, up: bool) -> tuple[tuple[np.ndarray, ...], ...]:
        step = self.shell_map(level - 1, level) if up else self.shell_map(level, level + 1)
        carry = step.carry_up if up else step.carry_down
        firsts_from = np.cumsum([0, *(len(mesh.X) for mesh in known.shells)])
        firsts_to = np.cumsum([0, *(len(mesh.X) for mesh in self.hierarchy.levels[level][: len(known.shells)])])
        return tuple(
            tuple((carry(chosen + first) - to).astype(np.int32) for chosen in pins)
            for pins, first, to in zip(known.pins, firsts_from, firsts_to, strict=False)
        )

    def _carry_weights(self, known: Geometry, level: int, *, up: bool) -> tuple[tuple[Floats, ...], ...]:
        """Weights of regions, which are linear along the coarser surface."""
        step = self.shell_map(level - 1, level) if up else self.shell_map(level, level + 1)
        carry = step.interpolate if up else step.average
        sizes_from = np.cumsum([len(mesh.X) for mesh in known.shells])
        sizes_to = np.cumsum([len(mesh.X) for mesh in self.hierarchy.levels[level][: len(known.shells)]])

        def carried(shell: int, weights: Floats) -> Floats:
            everywhere = np.zeros(sizes_from[-1])
            np.split(everywhere, sizes_from[:-1])[shell][:] = weights
            return np.split(carry(everywhere), sizes_to[:-1])[shell]

        return tuple(tuple(carried(i, weights) for weights in each) for i, each in enumerate(known.regions))

    # --- problems -----------------------------------------------------------------------------------------------------

    def problem(self, level: int, *, start: Floats | None = None, like: SceneProblem | None = None) -> SceneProblem:
        """What a step of the level needs; start: positions to continue from; like: see SceneProblem."""
        progressive = self.scene.hierarchy.method == "progressive" and level < self.finest
        proxy = self.proxy(level) if progressive else None
        geometry = self.geometry(level)
        softening = None if proxy is None else proxy.softening
        model = self._model(level, softening, room=sum(len(mesh.X) for mesh in geometry.solids))
        return SceneProblem(
            self.scene, geometry, level=level, proxy=proxy, model=model, ease=self._ease(level), start=start,
            centres=self._centres, extra=self.extra, like=like,
        )  # fmt: skip

    @cached_property
    def _centres(self) -> list[Floats] | None:
        """Where each shell's axis of spin begins, the same on all levels; None where none spins."""
        if not any(any(shell.spin) for shell in self.scene.shells):
            return None
        room = sum(len(mesh.X) for mesh in self.given.solids)
        return centres_of_mass(self._model(self.hierarchy.given, None, room=room), self.given.placed)

    def _ease(self, level: int) -> list[float] | None:
        """Part of its compressive stiffness with which each shell of a level begins, None where all begin with theirs.

        Where level 0 gives way to compression, folds have to form that it could not show. Under full stiffness they
        would be those of its triangles, and stay.
        """
        settings = self.scene.hierarchy
        if level == 0 or settings.method != "progressive" or self.proxy(level - 1).finer is not None:
            return None
        auto = isinstance(settings.proxy.compression, str)
        coarsest, own = self.softening(0).compression, self.softening(level).compression
        own = own if level < self.finest else (1.0,) * len(own)
        ease = tuple(
            (least_kept(self.scene, self.given, shell) if auto else kept) if kept < full else full
            for shell, kept, full in zip(self.scene.shells, coarsest, own, strict=True)
        )
        return list(ease) if ease != own else None

    def proxy(self, level: int) -> Proxy:
        """What stands for the finest level's elasticity on a coarse one."""
        up = self._levels_up(level)
        nested = self.hierarchy.nested[: len(self.given.shells)]
        softening = self.softening(level)
        if up == 0 or all(nested):
            # on nested flat meshes the finer membrane is this one, and the finer bending a multiple of this one's
            return Proxy(softening)
        of_finer = softening.of_finer(LINEAR_GAIN**up, tuple(nested))
        return Proxy(softening, Finer(self._model(level + up, of_finer), self.shell_map(level, level + up)))

    def _levels_up(self, level: int) -> int:
        """On how many levels above its own a level's elasticity is evaluated."""
        asked, most = self.scene.hierarchy.proxy_levels_up, self.finest - level
        return most if asked is None else min(asked, most)

    def softening(self, level: int) -> Softening:
        """How the shells of a level differ from what their materials say."""
        compression, membrane, bending = list[float](), list[float](), list[float]()
        scene, up = self.scene, self._levels_up(level)
        meshes = zip(
            self._kinds, self.geometry(level).shells, self.given.shells, self.hierarchy.nested, strict=False
        )  # fmt: skip
        for shell, (kind, mesh, given, nested) in zip(scene.shells, meshes, strict=True):
            compression.append(soften_compression(scene, self.given, shell, kind, mesh))
            membrane.append(soften_membrane(scene, shell, kind, given, mesh))
            # decimated meshes keep their curvature, and bend as they are
            stiffens = nested and (kind == "flat" or self.hierarchy.given == 0)
            bending.append(stiffen_bending(scene, shell, mesh, up=up, stiffens=stiffens))
        return Softening(tuple(compression), tuple(membrane), tuple(bending))

    def shell_map(self, coarse: int, fine: int) -> LevelMap:
        """The map of the shells' vertices from one level to a finer one."""
        return self.hierarchy.between(coarse, fine, bodies=len(self.given.shells))

    def smooth_shell_map(self, coarse: int, fine: int) -> LevelMap:
        """The same along a smooth surface."""
        return self.hierarchy.smooth_between(coarse, fine, bodies=len(self.given.shells))

    @property
    def h(self) -> float:
        """The time step in use [s]."""
        scene = self.scene
        if scene.ends_by_tolerance:
            return scene.time.step
        return scene.time.step_of(scene_size(self.given.shells), keyed=scene.leads or scene.last_key > 0.0)

    def tol(self, level: int) -> float:
        """The tolerance of a level [m/s]: that of the finest one, and where each is solved for its own sake."""
        settings, tol = self.scene.hierarchy, self.scene.solver.step_tol
        return tol * settings.proxy.coarse_tol if settings.method == "progressive" and level < self.finest else tol

    def rest(self, part: float | None = None) -> Rest | None:
        """What counts as rest on every level, None where the tolerance decides.

        part: of the scene's size, in place of the scene's own.
        """
        scene, solver = self.scene, self.scene.solver
        if part is None and scene.ends_by_tolerance:
            return None
        size, seed = scene_size(self.given.shells), scene.seed if solver.leave_saddles else None
        most_stride = 1.0 if scene.wind is not None else MOST_STRIDE
        assert scene.contact.friction_speed is not None
        slip = scene.contact.friction_speed * self.h
        return Rest((solver.rest if part is None else part) * size, size, seed, most_stride, slip)

    def _model(self, level: int, softening: Softening | None, *, room: int = 0) -> ShellModel:
        key = (level, softening, room)
        if key not in self._models:
            geometry = self.geometry(level)
            self._models[key] = ShellModel(
                self.scene.at(0.0), geometry.shells, regions=geometry.regions, softening=softening,
                pins=firm_pins(self.scene, geometry.pins), room=room,
            )  # fmt: skip
        return self._models[key]

    # --- changes ------------------------------------------------------------------------------------------------------

    def changed(self, scene: Scene, geometry: Geometry) -> Ladder:
        """The ladder of a scene that was changed on the way, fit to continue from this one's states.

        Shells keep their rest meshes; colliders may come and go. Contact lengths that the scene leaves open do not
        grow: states that were reached keep them. What did not change is kept: meshes, their finer levels, models.
        """
        fits = [_fits(a, b) for a, b in zip(self.given.shells, geometry.shells, strict=False)]
        if len(self.given.shells) != len(geometry.shells) or not all(fits):
            raise StartAgain("The meshes of the scene were changed, and its states do not fit them: start again.")
        geometry = _with_known(geometry, self.given)
        settled, before = settle_contact(scene, geometry).contact, self.scene.contact
        assert settled.offset is not None and before.offset is not None
        if scene.contact.offset is None:
            settled = replace(settled, offset=min(settled.offset, before.offset))
        scene = replace(scene, contact=settled)
        ladder = Ladder(scene, geometry, plan_levels(scene, geometry), self.extra)
        coarsest = zip(*(each.hierarchy.levels[0][: len(geometry.shells)] for each in (self, ladder)), strict=True)
        if not all(_fits(a, b) for a, b in coarsest):
            raise StartAgain(
                "Pins, regions and hierarchy.levels shape the levels that decimation makes, and the change gives the "
                "scene others, which its states do not fit: start again."
            )
        if _shells_on_all_levels(ladder) == _shells_on_all_levels(self):
            ladder._models.update({key: model.of(scene.at(0.0)) for key, model in self._models.items()})
        return ladder


def _shells_on_all_levels(ladder: Ladder) -> list[object]:
    """What a model of the shells is made for: meshes, weights of regions, clamps, which shells hold which pressure."""
    count = len(ladder.given.shells)
    meshes = [mesh for level in ladder.hierarchy.levels for mesh in level[:count]]
    weights = [[w.tobytes() for w in each] for each in ladder.given.regions]
    clamps = [
        [vertices.tobytes() for vertices in pins] if shell.material.bending == "plate" else None
        for shell, pins in zip(ladder.scene.shells, firm_pins(ladder.scene, ladder.given.pins), strict=True)
    ]
    return [*meshes, weights, clamps, *(shell.pressure and shell.pressure.kind for shell in ladder.scene.shells)]


def _carry_tracks(known: Geometry, carry: Callable[[Floats], list[Floats]]) -> tuple[Track | None, ...]:
    """The colliders' tracks on another level; carry: from where everything is to where its mesh colliders are there."""
    if not any(known.tracks):
        return known.tracks
    ends = np.cumsum([len(x) for x in known.shell_positions] + [len(mesh.X) for mesh in known.solids])[:-1]
    number = np.cumsum([mesh is not None for mesh in known.colliders]) - 1

    def carried(solid: int, track: Track) -> Track:
        frames, placed = list[Floats](), known.placed.copy()
        for x in track.positions:
            np.split(placed, ends)[len(known.shells) + solid][:] = x
            frames.append(carry(placed)[solid])
        return Track(track.times, np.stack(frames))

    pairs = zip(number, known.tracks, strict=True)
    return tuple(None if track is None else carried(int(solid), track) for solid, track in pairs)


def _placed(mesh: Mesh, X: Floats) -> Mesh:
    return mesh if np.array_equal(mesh.X, X) else replace(mesh, X=X)


def _is_same(a: Mesh, b: Mesh) -> bool:
    return a is b or (_fits(a, b) and np.array_equal(a.rest_corners, b.rest_corners))


def _fits(a: Mesh, b: Mesh) -> bool:
    """Whether states of one are states of the other; only their rest shapes may differ."""
    return np.array_equal(a.X, b.X) and np.array_equal(a.triangles, b.triangles)


def _with_known(geometry: Geometry, known: Geometry) -> Geometry:
    """The geometry with meshes that are known already in place of equal ones, so that what is kept of them serves."""

    def replaced(mesh: Mesh) -> Mesh:
        return next((old for old in (*known.shells, *known.solids) if _is_same(old, mesh)), mesh)

    colliders = tuple(None if mesh is None else replaced(mesh) for mesh in geometry.colliders)
    return replace(geometry, shells=tuple(replaced(mesh) for mesh in geometry.shells), colliders=colliders)
