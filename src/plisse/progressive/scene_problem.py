"""From a scene to the Problem of one of its levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface
from plisse.contact.friction import lag_friction
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Floats, Ints
from plisse.core.bodies import Bodies, lay_out
from plisse.core.errors import SceneError
from plisse.core.mesh import concatenate
from plisse.core.potential import Past, Potential, frozen
from plisse.energies.springs import Springs
from plisse.hierarchy.maps import LevelMap
from plisse.progressive.air import Air
from plisse.progressive.proxy import Prolonged
from plisse.progressive.scales import pressure_of_unit_barrier, settle_contact
from plisse.progressive.shells import ShellModel, firm_pins
from plisse.progressive.softening import Softening
from plisse.scene.colliders import Collider, move_half_space
from plisse.scene.geometry import Geometry
from plisse.scene.pins import Pin
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Track, transform_points
from plisse.solve.problem import Problem, Scripted

ROUNDING = 1e-9  # of places, as a part of the scene's extent


@dataclass(frozen=True, eq=False)
class Finer:
    """A finer level's shells, and the map of the coarse level's shell vertices to theirs."""

    model: ShellModel
    P: LevelMap


@dataclass(frozen=True, eq=False)
class Proxy:
    """What stands for elasticity and loads on a coarse level.

    softening: of the level's own shells. finer: where elasticity and loads are evaluated instead, if not there.
    """

    softening: Softening
    finer: Finer | None = None


class SceneProblem(Problem):
    """One level of a scene: its shells, then its mesh colliders.

    start: positions (n, 3) [m] to continue from; scripted vertices that are elsewhere are moved to their places.
    model: the level's shells, made here when not given. ease: part of its compressive stiffness with which each shell
    begins, see `eased`. centres: centre of mass of each shell at the start [m], about which it spins, this level's when
    not given. extra: makes further potentials of the finished problem, e.g. forces that no scene file knows. like: a
    problem of the same level before a change, of which contact search keeps what it can.
    """

    def __init__(
        self,
        scene: Scene,
        geometry: Geometry,
        *,
        level: int = 0,
        proxy: Proxy | None = None,
        model: ShellModel | None = None,
        ease: Sequence[float] | None = None,
        start: Floats | None = None,
        centres: Sequence[Floats] | None = None,
        extra: Extra | None = None,
        like: SceneProblem | None = None,
    ) -> None:
        self.scene = scene = settle_contact(scene, geometry)
        surface, _ = concatenate([*geometry.shells, *geometry.solids])
        bodies = lay_out_scene(scene, geometry)
        if model is None:
            own = None if proxy is None else proxy.softening
            room = bodies.n - bodies.n_simulated
            model = ShellModel(
                scene.at(0.0), geometry.shells, regions=geometry.regions, pins=firm_pins(scene, geometry.pins),
                softening=own, room=room,
            )  # fmt: skip
        self.model, self.shells = model, model.mesh
        placed = geometry.placed
        x0 = frozen(placed if start is None else start.copy())
        free, scripted = _prescribe(scene, geometry, bodies, placed, x0)
        self._springs, self._stiffness = _spring(scene, geometry, bodies, placed)
        led = (*scripted, *self._springs)
        v0 = _throw(scene, bodies, x0, centres_of_mass(model, x0) if centres is None else centres)
        v0[~free] = 0.0
        assert scene.contact.dhat is not None
        super().__init__(
            x0, free, _mass_of(model, proxy), (), v0=v0, bodies=bodies, scripted=scripted, surface=surface,
            reach=scene.contact.dhat, last_key=max([scene.last_key, *(entry.last_key for entry in led)]), level=level,
        )  # fmt: skip
        self._proxy, self._time, self._ease = proxy, 0.0, ease
        self._air = Air(scene) if Air.blows_unevenly(scene) else None
        self.extra: Sequence[Potential] = ()
        self._contact = self._make_contact(start, like)
        colliding: list[Shell | Collider] = [*scene.shells, *(c for c in scene.colliders if c.mesh is not None)]
        self._mu = np.array([scene.friction_of(body) for body in colliding])[bodies.of_vertex]
        planes = [scene.friction_of(collider) for collider in scene.colliders if collider.half_space is not None]
        # what rubs, each with the coefficient of its plane if it is one
        sources = zip(self._contact, [None, *planes], strict=True) if self._contact else ()
        rough = bool(bodies.simulated_part(self._mu).any())
        self._rubbing = [(source, mu) for source, mu in sources if (rough if mu is None else mu > 0.0)]
        self._compose(proxy)
        if extra is not None:
            self.extra = extra(self)
            self._compose(proxy)

    # --- energies -----------------------------------------------------------------------------------------------------

    def at(self, t: float) -> SceneProblem:
        keyed = self.scene.keyed
        same = all(entry.at(t) == entry.at(self._time) for entry in keyed)
        pulled = any(not np.array_equal(entry.at(t), entry.at(self._time)) for entry in self._springs)
        if same and self._air is None and not pulled:
            return self
        other, scene, proxy = copy(self), self.scene.at(t), self._proxy
        other._time = t
        if same:
            if pulled:
                other._compose(proxy)
            return other
        other.model = self.model.of(scene)
        if proxy is not None and proxy.finer is not None:
            proxy = replace(proxy, finer=Finer(proxy.finer.model.of(scene), proxy.finer.P))
        other.mass = _mass_of(other.model, proxy)
        other._compose(proxy)
        return other

    def _compose(self, proxy: Proxy | None) -> None:
        """All potentials: elasticity and loads, of this level's mesh or of a finer one's; the strain limit; contact."""
        self._finer = proxy.finer if proxy is not None else None
        own = [*self.model.elastic, *self.model.loads]
        self.elastic: list[Potential] = own
        if self._finer is not None:
            self.elastic = [Prolonged([*self._finer.model.elastic, *self._finer.model.loads], self._finer.P, own)]
        self.strain_limit = self.model.limit
        if self.strain_limit is not None:
            self.elastic.append(self.strain_limit)
        springs = [Springs(self._stiffness, self._spring_places())] if self._springs else []
        self.potentials = [*self.elastic, *springs, *self._contact, *self.extra]

    def _spring_places(self) -> Floats:
        """Where springs pull their vertices to now [m], (n, 3)."""
        out = np.array(self.x0)
        for entry in self._springs:
            out[entry.vertices] = entry.at(self._time)
        return out

    def eased(self, part: float) -> SceneProblem:
        """With shells that give way to compression at first, the less the larger the part (0 to 1)."""
        if self._ease is None or part >= 1.0:
            return self
        other, first = copy(self), np.asarray(self._ease)
        own = np.ones_like(first) if self._proxy is None else np.asarray(self._proxy.softening.compression)
        other.model = self.model.keeping(first ** (1.0 - part) * own**part)
        other._compose(self._proxy)
        return other

    def lagged(self, x: Floats, v: Floats, h: float, motion: Floats, *, stick: float = 1.0) -> list[Potential]:
        """Friction and wind."""
        out, speed = self._wind(x, v, h), self.scene.contact.friction_speed
        assert speed is not None
        rubbing = [
            lag_friction(source.contacts(x), x, mu=self._mu, plane=plane, speed=stick * speed, h=h, motion=motion)
            for source, plane in self._rubbing
        ]
        return [*(part for parts in rubbing for part in parts), *out]

    def damping(self, past: Past, h: float) -> list[Potential]:
        """That of the materials."""
        own = self.model.damping(past, h)
        if not own or self._finer is None:
            return own
        P, part = self._finer.P, self.bodies.simulated_part
        return [Prolonged(self._finer.model.damping([(w, frozen(P(part(x)))) for w, x in past], h), P, own)]

    def _wind(self, x: Floats, v: Floats, h: float) -> list[Potential]:
        air = None if self._air is None else partial(self._air.velocity, t=self._time)
        own = self.model.wind(x, v, h, air=air)
        if own is None:
            return []
        if self._finer is None:
            return [own]
        P, part = self._finer.P, self.bodies.simulated_part
        fine = self._finer.model.wind(P(part(x)), P.velocity(part(v)), h, air=air)
        assert fine is not None
        return [Prolonged([fine], P, [own])]

    # --- contact ------------------------------------------------------------------------------------------------------

    def _make_contact(self, start: Floats | None, like: SceneProblem | None) -> list[Barrier | PlaneContact]:
        settings = self.scene.contact
        assert settings.offset is not None and settings.dhat is not None and settings.stiffness is not None
        assert self.surface is not None
        if not settings.enabled:
            return []
        offset, dhat = settings.offset, settings.dhat
        kappa = settings.stiffness / pressure_of_unit_barrier(offset, dhat)
        passive = ~self.free & ~self.is_scripted
        surface = CollisionSurface(
            edges=self.surface.edges,
            triangles=self.surface.triangles,
            points=np.arange(self.bodies.n, dtype=np.int32),
            body=self.bodies.of_vertex,
            passive=passive,
            X=self.surface.X,
            deformable=self.bodies.is_simulated,
            offset=offset,
            dhat=dhat,
        )
        if like is not None and like.barrier is not None:
            surface = surface.like(like.barrier.surface)
        movable = np.flatnonzero(~self.bodies.simulated_part(passive)).astype(np.int32)
        area = self.shells.vertex_areas[movable]
        planes = [move_half_space(collider, 0.0) for collider in self.scene.colliders if collider.half_space]
        return [
            Barrier(surface, kappa=kappa, margin=0.25 * dhat, start=start),
            *(PlaneContact(*plane, movable, area, kappa=kappa, dhat=dhat, offset=offset) for plane in planes),
        ]

    @property
    def firmness(self) -> float:
        """Rise of the reference pressure over the barrier's reach, on a vertex's mean area [N/m]."""
        settings = self.scene.contact
        assert settings.stiffness is not None and settings.dhat is not None
        return settings.stiffness / settings.dhat * float(self.shells.vertex_areas.mean()) if settings.enabled else 0.0

    @property
    def stretch_work(self) -> Floats:
        model, out = self.model, np.zeros(self.bodies.n)
        per_corner = np.repeat(model.mesh.triangle_areas * model.E * model.thickness / 3.0, 3)
        out[: model.n] = np.bincount(model.mesh.triangles.ravel(), per_corner, minlength=model.n)
        return out

    def check_distances(self) -> None:
        """Raises SceneError unless every pair starts farther apart than the offset."""
        offset, x = self.scene.contact.offset, self.x0
        assert offset is not None
        for part in self._contact:
            if isinstance(part, PlaneContact) and part.clearance(x) <= 1.0:
                gap = part.gaps(x)
                lowest = self.bodies.name_vertices([int(part.vertices[gap.argmin()])])
                raise SceneError(
                    f"{int((gap <= offset).sum())} vertices start below a half-space or within contact.offset = "
                    f"{offset:g} m of it, the lowest, {lowest}, at {gap.min():.3g} m: raise the shell, e.g. with "
                    "drop_height, or lower the offset."
                )
        if self.barrier is None:
            return
        ratio, pair = self.barrier.closest(x)
        if ratio <= 1.0:
            here, there = self.bodies.name_of(pair[0]), self.bodies.name_of(pair[3])
            raise SceneError(
                f"{here} and {there} start closer than contact.offset = {offset:g} m, namely "
                f"{1e3 * ratio * offset:.3g} mm at vertices {self.bodies.name_vertices(pair)} (counted from 0): move "
                "them apart or lower contact.offset."
            )


Extra = Callable[[SceneProblem], Sequence[Potential]]


def _mass_of(model: ShellModel, proxy: Proxy | None) -> Floats:
    """Mass of all vertices (n,) [kg]; in dynamics Pᵀm where loads come through P, so that all vertices fall alike."""
    if proxy is None or proxy.finer is None or model.scene.time.mode == "static":
        return model.mass
    out, P, fine = model.mass.copy(), proxy.finer.P.linear, proxy.finer.model
    out[: P.coarse] = P.matrix.T @ fine.mass[: P.fine]
    return out


def centres_of_mass(model: ShellModel, x: Floats) -> list[Floats]:
    """Of each shell at positions x (n, 3) [m]."""
    return [np.average(x[a:b], axis=0, weights=model.mass[a:b]) for a, b in pairwise(model.starts)]


def _throw(scene: Scene, bodies: Bodies, x: Floats, centres: Sequence[Floats]) -> Floats:
    """Velocities (n, 3) [m/s] at the start: each shell's own, and its spin about its centre."""
    v = np.zeros((bodies.n, 3))
    for shell, centre, span in zip(scene.shells, centres, pairwise(bodies.starts), strict=False):
        own = slice(*span)
        v[own] = shell.velocity
        if any(shell.spin):
            v[own] += np.cross(np.radians(shell.spin), x[own] - centre)
    return v


def lay_out_scene(scene: Scene, geometry: Geometry) -> Bodies:
    """A scene's shells, then its mesh colliders."""
    solids = [collider.name for collider in scene.colliders if collider.mesh is not None]
    return lay_out(
        [(shell.name, len(mesh.X)) for shell, mesh in zip(scene.shells, geometry.shells, strict=True)],
        [(name, len(mesh.X)) for name, mesh in zip(solids, geometry.solids, strict=True)],
    )


def _prescribe(
    scene: Scene, geometry: Geometry, bodies: Bodies, placed: Floats, x0: Floats
) -> tuple[np.ndarray, list[Scripted]]:
    """Free vertices (n,), and those that follow keyframes or a track."""
    free, scripted, extent = bodies.is_simulated.copy(), list[Scripted](), float(np.abs(placed).max(initial=0.0))
    for shell, pins, first in zip(scene.shells, geometry.pins, bodies.starts, strict=False):
        for pin, vertices in zip(shell.pins, pins, strict=True):
            if pin.stiffness is not None:
                continue
            chosen = (vertices + first).astype(np.int32)
            free[chosen] = False
            # a finer level's that found no room where it is held has to be led there
            if pin.motion or not np.allclose(x0[chosen], placed[chosen], rtol=0.0, atol=ROUNDING * extent):
                scripted.append(_follow(chosen, placed[chosen], pin, shell))
    solids = [collider for collider in scene.colliders if collider.mesh is not None]
    spans = zip(bodies.starts[bodies.simulated :], bodies.starts[bodies.simulated + 1 :], strict=False)
    for collider, track, (first, last) in zip(solids, geometry.solid_tracks, spans, strict=True):
        vertices = np.arange(first, last, dtype=np.int32)
        # one that was moved or refined since the start positions were found has to be led to its place
        if collider.motion or track is not None or not np.array_equal(x0[vertices], placed[vertices]):
            scripted.append(_follow(vertices, placed[vertices], collider, collider, track))
    return free, scripted


def _spring(scene: Scene, geometry: Geometry, bodies: Bodies, placed: Floats) -> tuple[list[Scripted], Floats]:
    """Vertices that springs pull along keyframes, and the stiffness of every vertex (n,) [N/m]: by area, so that a pin
    is as stiff on all levels.
    """
    entries, stiffness = list[Scripted](), np.zeros(bodies.n)
    for i, (shell, pins) in enumerate(zip(scene.shells, geometry.pins, strict=False)):
        for pin, vertices in zip(shell.pins, pins, strict=True):
            if pin.stiffness is not None:
                chosen = (vertices + bodies.starts[i]).astype(np.int32)
                area = geometry.shells[i].vertex_areas[vertices]
                stiffness[chosen] += pin.stiffness * area / area.sum()
                entries.append(_follow(chosen, placed[chosen], pin, shell))
    return entries, stiffness


def hold(scene: Scene, geometry: Geometry, x: Floats, t: float) -> Floats:
    """x (n, 3) [m] with everything that is not free where it is held, or led to at time t [s]."""
    placed = geometry.placed
    free, scripted = _prescribe(scene, geometry, lay_out_scene(scene, geometry), placed, placed)
    out = np.where(free[:, None], x, placed)
    for entry in scripted:
        out[entry.vertices] = entry.at(t)
    return out


def _follow(
    vertices: Ints, start: Floats, body: Pin | Collider, owner: Shell | Collider, track: Track | None = None
) -> Scripted:
    """Vertices on the track, or else the keyframes, of a pin or a collider."""
    if track is not None:
        return Scripted(vertices, start, track.at, float(track.times[-1]))
    pivot = owner.translate if body.pivot is None else body.pivot
    path = partial(_move, start, body, pivot)
    return Scripted(vertices, start, path, body.motion[-1].time if body.motion else 0.0)


def _move(start: Floats, body: Pin | Collider, pivot: tuple[float, float, float], t: float) -> Floats:
    return transform_points(start, body.motion, t, pivot=pivot)
