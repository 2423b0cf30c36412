"""From a scene to the potentials of one level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import Surface
from plisse.contact.friction import lag_friction
from plisse.contact.halfspace import HalfSpace
from plisse.core.errors import SceneError
from plisse.core.mesh import concatenate
from plisse.core.potential import Floats, Ints, Potential, frozen
from plisse.energies.loads import Wind
from plisse.hierarchy.prolongation import Prolongation
from plisse.loading.geometry import load_geometry
from plisse.progressive.proxy import Galerkin, Prolonged
from plisse.progressive.scales import pressure_of_unit_barrier, settle_contact
from plisse.progressive.shells import ShellModel
from plisse.scene.colliders import Collider, move_half_space
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe, Track, transform_points


@dataclass(frozen=True, eq=False)
class Scripted:
    """Vertices that follow keyframes or a track: indices (k,) and their positions at the start (k, 3) [m]."""

    vertices: Ints
    start: Floats
    motion: tuple[Keyframe, ...]
    pivot: tuple[float, float, float]
    track: Track | None = None

    def at(self, t: float) -> Floats:
        """Positions (k, 3) [m] at time t [s]."""
        if self.track is not None:
            return self.track.at(t)
        return transform_points(self.start, self.motion, t, pivot=self.pivot)

    @property
    def last_key(self) -> float:
        """Time [s] after which they rest."""
        if self.track is not None:
            return float(self.track.times[-1])
        return self.motion[-1].time if self.motion else 0.0


@dataclass(frozen=True, eq=False)
class Finer:
    """A finer level's shells, and the map of the coarse level's shell vertices to theirs."""

    model: ShellModel
    P: Prolongation


@dataclass(frozen=True, eq=False)
class Proxy:
    """What stands for elasticity and loads on a coarse level.

    compression, bending: of the level's own mesh, one number a shell (see `ShellModel`). finer: where both are
    evaluated instead, if not there. one_up: the next level, whose Galerkin product then is the Hessian.
    """

    compression: Sequence[float]
    bending: Sequence[float]
    finer: Finer | None = None
    one_up: Finer | None = None


class System:
    """One level of a scene: rest shapes, start positions, masses and potentials.

    All shells come first in scene order, then the mesh colliders; arrays run over all of these n vertices.
    start: positions (n, 3) [m] to go on from; scripted vertices that are not at their places there are led to them.
    extra: makes further potentials of the finished system, e.g. forces that no scene file knows.
    """

    def __init__(
        self,
        scene: Scene,
        geometry: Geometry,
        *,
        level: int = 0,
        proxy: Proxy | None = None,
        start: Floats | None = None,
        extra: Extra | None = None,
    ) -> None:
        self.scene, self.level = settle_contact(scene, geometry), level
        solids = geometry.solids
        self.everything, starts = concatenate([*geometry.shells, *solids])
        self.n = len(self.everything.X)
        own = {} if proxy is None else {"compression": proxy.compression, "bending": proxy.bending}
        room = self.n - sum(len(mesh.X) for mesh in geometry.shells)
        self.model = ShellModel(scene.at(0.0), geometry.shells, regions=geometry.regions, **own, room=room)
        self.shells, self.n_shell, self.mass = self.model.mesh, self.model.n, self.model.mass
        self.body = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32)
        placed = np.concatenate([*geometry.shell_positions, *(mesh.X for mesh in solids)])
        self.x0 = frozen(placed if start is None else start.copy())
        self._prescribe(geometry, starts, placed)
        self._proxy, self._time = proxy, 0.0
        self._elastic(proxy)
        self._contact(start)
        self.extra: Sequence[Potential] = () if extra is None else extra(self)

    # --- what the user prescribed ---------------------------------------------------------------------------------

    def _prescribe(self, geometry: Geometry, starts: NDArray[np.int64], placed: Floats) -> None:
        """Free vertices, fixed ones, and those that follow keyframes."""
        self.free = np.zeros(self.n, bool)
        self.free[: self.n_shell] = True
        self.scripted: list[Scripted] = []
        for shell, pins, first in zip(self.scene.shells, geometry.pins, starts, strict=False):
            for pin, vertices in zip(shell.pins, pins, strict=True):
                chosen = (vertices + first).astype(np.int32)
                self.free[chosen] = False
                if pin.motion:
                    pivot = shell.translate if pin.pivot is None else pin.pivot
                    self.scripted.append(Scripted(chosen, placed[chosen], pin.motion, pivot))
        solids = [c for c in self.scene.colliders if c.mesh is not None]
        spans = pairwise(starts[len(geometry.shells) :])
        for collider, track, (first, last) in zip(solids, geometry.solid_tracks, spans, strict=True):
            vertices = np.arange(first, last, dtype=np.int32)
            # one that was moved or refined since the start positions were found has to be led to its place
            if collider.motion or track is not None or not np.array_equal(self.x0[vertices], placed[vertices]):
                self.scripted.append(Scripted(vertices, placed[vertices], collider.motion, collider.center, track))
        self.is_scripted = np.zeros(self.n, bool)
        for entry in self.scripted:
            self.is_scripted[entry.vertices] = True
        self.passive = ~self.free & ~self.is_scripted
        self.last_key = max([self.scene.last_key, *(entry.last_key for entry in self.scripted)])
        self.v0 = np.zeros((self.n, 3))
        counts = np.diff(self.model.starts)
        self.v0[: self.n_shell] = np.repeat([shell.velocity for shell in self.scene.shells], counts, axis=0)
        self.v0[~self.free] = 0.0

    def prescribed(self, x: Floats, t: float) -> Floats:
        """x with every scripted vertex at its place of time t [s]."""
        out = x.copy()
        for entry in self.scripted:
            out[entry.vertices] = entry.at(t)
        return out

    def missed(self, x: Floats, t: float) -> float:
        """Largest distance [m] of a scripted vertex from its place of time t [s]."""
        return float(np.sqrt(((x - self.prescribed(x, t)) ** 2).sum(axis=1).max(initial=0.0)))

    def name_of(self, vertex: int) -> str:
        """Name of the body that a vertex belongs to."""
        names = [*(s.name for s in self.scene.shells), *(c.name for c in self.scene.colliders if c.mesh is not None)]
        return names[self.body[vertex]]

    def name_vertices(self, vertices: Iterable[int]) -> str:
        """Vertices in the numbering of their own bodies: "12, 14 of cloth and 3 of ball"."""
        of_body: dict[int, list[int]] = {}
        for vertex in vertices:
            of_body.setdefault(int(self.body[vertex]), []).append(int(vertex))
        first = {body: int(np.searchsorted(self.body, body)) for body in of_body}
        told = [
            f"{', '.join(str(vertex - first[body]) for vertex in sorted(set(found)))} of {self.name_of(found[0])}"
            for body, found in of_body.items()
        ]
        return " and ".join(told)

    # --- energies ---------------------------------------------------------------------------------------------------

    def follow(self, t: float) -> None:
        """Takes keyframed loads and materials as they are at time t [s]."""
        keyed = self.scene.keyed
        if all(entry.at(t) == entry.at(self._time) for entry in keyed):
            return
        self._time = t
        scene, proxy = self.scene.at(t), self._proxy
        self.model = self.model.of(scene)
        self.mass = self.model.mass
        if proxy is not None:
            finer, up = (None if of is None else Finer(of.model.of(scene), of.P) for of in (proxy.finer, proxy.one_up))
            proxy = replace(proxy, finer=finer, one_up=up)
        self._elastic(proxy)

    def _elastic(self, proxy: Proxy | None) -> None:
        """Elasticity and loads, of this level's mesh or of a finer one's, and the strain limit of this one's."""
        own = [*self.model.elastic, *self.model.loads]
        self._finer = proxy.finer if proxy is not None else None
        self.elastic: list[Potential] = own
        if proxy is not None and proxy.finer is not None:
            finer, up = proxy.finer, proxy.one_up
            fine = [*finer.model.elastic, *finer.model.loads]
            hessian = own if up is None else [Galerkin([*up.model.elastic, *up.model.loads], up.P)]
            self.elastic = [Prolonged(fine, finer.P, hessian)]
        self.strain_limit = self.model.limit
        if self.strain_limit is not None:
            self.elastic.append(self.strain_limit)

    def _wind(self, x: Floats, v: Floats, h: float) -> list[Potential]:
        own = self.model.wind(x, v, h)
        if own is None:
            return []
        if self._finer is None:
            return [own]
        P = self._finer.P
        fine = self._finer.model.wind(P(x[: self.n_shell]), P(v[: self.n_shell]), h)
        assert fine is not None
        return [Prolonged([fine], P, [own])]

    # --- contact ----------------------------------------------------------------------------------------------------

    def _contact(self, start: Floats | None) -> None:
        settings = self.scene.contact
        assert settings.offset is not None and settings.dhat is not None and settings.stiffness is not None
        self.offset, self.dhat, self.stiffness = settings.offset, settings.dhat, settings.stiffness
        kappa = self.stiffness / pressure_of_unit_barrier(self.offset, self.dhat)
        self.surface = Surface(
            edges=self.everything.edges,
            triangles=self.everything.triangles,
            points=np.arange(self.n, dtype=np.int32),
            body=self.body,
            passive=self.passive,
            X=self.everything.X,
            deformable=np.arange(self.n) < self.n_shell,
            offset=self.offset,
            dhat=self.dhat,
        )
        self.barrier: Barrier | None = None
        self.half_spaces: list[HalfSpace] = []
        # what rubs, each with the coefficient of its plane if it is one
        self._rubbing: list[tuple[Barrier | HalfSpace, float | None]] = []
        if not settings.enabled:
            return
        self.barrier = Barrier(self.surface, kappa=kappa, margin=0.25 * self.dhat, start=start)
        bodies: list[Shell | Collider] = [*self.scene.shells, *(c for c in self.scene.colliders if c.mesh is not None)]
        self._mu = np.array([self.scene.friction_of(body) for body in bodies])[self.body]
        if self._mu[: self.n_shell].any():
            self._rubbing.append((self.barrier, None))
        movable = np.flatnonzero(~self.passive[: self.n_shell]).astype(np.int32)
        for collider in self.scene.colliders:
            if collider.half_space is not None:
                point, normal = move_half_space(collider, 0.0)
                area = self.shells.vertex_areas[movable]
                plane = HalfSpace(point, normal, movable, area, kappa=kappa, dhat=self.dhat, offset=self.offset)
                self.half_spaces.append(plane)
                if self.scene.friction_of(collider) > 0.0:
                    self._rubbing.append((plane, self.scene.friction_of(collider)))

    def check_start(self) -> None:
        """Raises SceneError unless every pair starts farther apart than the offset."""
        if self.barrier is None:
            return
        for plane in self.half_spaces:
            if plane.min_distance_over_offset(self.x0) <= 1.0:
                gap = plane.gaps(self.x0)
                lowest = self.name_vertices([int(plane.vertices[gap.argmin()])])
                raise SceneError(
                    f"{int((gap <= self.offset).sum())} vertices start below a half-space or within contact.offset = "
                    f"{self.offset:g} m of it, the lowest, {lowest}, at {gap.min():.3g} m: raise the shell, e.g. with "
                    "drop_height, or lower the offset."
                )
        ratio, pair = self.barrier.closest(self.x0)
        if ratio <= 1.0:
            here, there, near = self.name_of(pair[0]), self.name_of(pair[3]), 1e3 * ratio * self.offset
            raise SceneError(
                f"{here} and {there} start closer than contact.offset = {self.offset:g} m, namely {near:.3g} mm at "
                f"vertices {self.name_vertices(pair)} (counted from 0): move them apart or lower contact.offset."
            )

    def step_potentials(self, x: Floats, v: Floats, h: float, motion: Floats) -> list[Potential]:
        """The potentials that are lagged at the start x, v of a step: friction and wind."""
        out: list[Potential] = []
        for source, plane in self._rubbing:
            speed = self.scene.contact.friction_speed
            out += lag_friction(source.contacts(x), x, mu=self._mu, plane=plane, speed=speed, h=h, motion=motion)
        out += self._wind(x, v, h)
        return out

    @property
    def contact_parts(self) -> list[Potential]:
        return [*([self.barrier] if self.barrier is not None else []), *self.half_spaces]

    @property
    def static_parts(self) -> list[Potential]:
        """Everything that does not change from step to step."""
        return [*self.elastic, *self.contact_parts, *self.extra]

    def applied_load(self, x: Floats, lagged: list[Potential]) -> float:
        """What the force balance is measured against [N]: weight and wind, or pressures where there are neither.

        A pressure balances itself over a closed shell, and is often so large that a body's weight would not count.
        """
        load = float(self.mass.sum() * np.linalg.norm(self.model.scene.gravity))
        load += sum(part.load(x) for part in lagged if isinstance(part, Wind | Prolonged))
        return load if load > 0.0 else sum(pressure.load(x) for pressure in self.model.pressures)

    def contact_count(self, x: Floats) -> int:
        count = self.barrier.count(x) if self.barrier is not None else 0
        return count + sum(int((plane.gaps(x) < self.offset + self.dhat).sum()) for plane in self.half_spaces)

    def min_distance_over_offset(self, x: Floats) -> float:
        parts = [plane.min_distance_over_offset(x) for plane in self.half_spaces]
        return min([*parts, self.barrier.closest(x)[0] if self.barrier is not None else np.inf])


Extra = Callable[[System], Sequence[Potential]]


def assemble(scene: Scene, base: str | Path, *, extra: Extra | None = None) -> System:
    """The scene's system, with files looked up from the folder `base`; extra: see `System`."""
    return System(scene, load_geometry(scene, Path(base)), extra=extra)
