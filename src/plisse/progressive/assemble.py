"""From a scene to the potentials of one level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import Surface
from plisse.contact.friction import Friction
from plisse.contact.halfspace import HalfSpace
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, concatenate
from plisse.core.potential import Floats, Ints, Potential, frozen
from plisse.energies.bending import Bending
from plisse.energies.loads import Gravity, Pressure, Wind
from plisse.energies.membrane import Membrane
from plisse.energies.strain_limit import StrainLimit
from plisse.io.geometry import Geometry, load_geometry
from plisse.scene.colliders import move_half_space
from plisse.scene.pins import select_vertices
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe, transform_points

LIMIT_STIFFNESS = 0.1  # κ of the strain-limit barrier as a part of the membrane's Young's modulus
LOAD_FACTOR = 40.0  # the barrier's reference pressure as a multiple of the scene's own load per area
STOP_FACTOR = 10.0  # the same for the pressure that stops a falling sheet in one step
PULL_STRAIN = 0.02  # membrane strain that scripted motion is taken to cause
MIDWAY = 0.5  # part of dhat at which the reference pressure is reached


@dataclass(frozen=True, eq=False)
class Scripted:
    """Vertices that follow keyframes: indices (k,) and their positions at the start (k, 3) [m]."""

    vertices: Ints
    start: Floats
    motion: tuple[Keyframe, ...]
    pivot: tuple[float, float, float]


class System:
    """One level of a scene: rest shapes, start positions, masses and potentials.

    All shells come first in scene order, then the mesh colliders; arrays run over all of these n vertices.
    """

    def __init__(self, scene: Scene, geometry: Geometry) -> None:
        self.scene = scene
        self.shells, self._shell_starts = concatenate(geometry.shells)
        solids = [mesh for mesh in geometry.colliders if mesh is not None]
        self.everything, starts = concatenate([*geometry.shells, *solids])
        self.n_shell, self.n = len(self.shells.X), len(self.everything.X)
        self.body = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32)
        self.x0 = frozen(np.concatenate([*geometry.shell_positions, *(mesh.X for mesh in solids)]))
        self._shell_materials()
        self._prescribe(geometry, starts)
        self._loads(geometry)
        self._elastic()
        self._contact()

    # --- what the user prescribed ---------------------------------------------------------------------------------

    def _per_triangle(self, value: Callable[[Shell], float]) -> Floats:
        return np.repeat([float(value(shell)) for shell in self.scene.shells], self._triangle_counts)

    def _shell_materials(self) -> None:
        counts = np.diff(self._shell_starts)
        first = self.shells.triangles[:, 0]
        shell_of = np.searchsorted(self._shell_starts, first, side="right") - 1
        self._triangle_counts = np.bincount(shell_of, minlength=len(counts))
        density = self._per_triangle(lambda s: s.material.area_density)
        self.mass = np.zeros(self.n)
        per_corner = np.repeat(self.shells.triangle_areas * density / 3.0, 3)
        self.mass[: self.n_shell] = np.bincount(self.shells.triangles.ravel(), per_corner, minlength=self.n_shell)
        self.v0 = np.zeros((self.n, 3))
        self.v0[: self.n_shell] = np.repeat([shell.velocity for shell in self.scene.shells], counts, axis=0)

    def _prescribe(self, geometry: Geometry, starts: NDArray[np.int64]) -> None:
        """Free vertices, fixed ones, and those that follow keyframes."""
        self.free = np.zeros(self.n, bool)
        self.free[: self.n_shell] = True
        self.scripted: list[Scripted] = []
        for shell, mesh, positions, first in zip(
            self.scene.shells, geometry.shells, geometry.shell_positions, starts, strict=False
        ):
            for pin in shell.pins:
                chosen = (select_vertices(pin, mesh, positions, name=shell.name) + first).astype(np.int32)
                self.free[chosen] = False
                if pin.motion:
                    pivot = shell.translate if pin.pivot is None else pin.pivot
                    self.scripted.append(Scripted(chosen, self.x0[chosen], pin.motion, pivot))
        self.v0[~self.free] = 0.0
        solids = [c for c in self.scene.colliders if c.mesh is not None]
        spans = pairwise(starts[len(geometry.shells) :])
        for collider, (first, last) in zip(solids, spans, strict=True):
            if collider.motion:
                vertices = np.arange(first, last, dtype=np.int32)
                self.scripted.append(Scripted(vertices, self.x0[vertices], collider.motion, collider.center))
        self.is_scripted = np.zeros(self.n, bool)
        for entry in self.scripted:
            self.is_scripted[entry.vertices] = True
        self.passive = ~self.free & ~self.is_scripted
        self.last_key = max((entry.motion[-1].time for entry in self.scripted), default=0.0)

    def prescribed(self, x: Floats, t: float) -> Floats:
        """x with every scripted vertex at its place of time t [s]."""
        out = x.copy()
        for entry in self.scripted:
            out[entry.vertices] = transform_points(entry.start, entry.motion, t, pivot=entry.pivot)
        return out

    def missed(self, x: Floats, t: float) -> float:
        """Largest distance [m] of a scripted vertex from its place of time t [s]."""
        return float(np.sqrt(((x - self.prescribed(x, t)) ** 2).sum(axis=1).max(initial=0.0)))

    def name_of(self, vertex: int) -> str:
        """Name of the body that a vertex belongs to."""
        names = [*(s.name for s in self.scene.shells), *(c.name for c in self.scene.colliders if c.mesh is not None)]
        return names[self.body[vertex]]

    # --- energies ---------------------------------------------------------------------------------------------------

    def _loads(self, geometry: Geometry) -> None:
        scene = self.scene
        self.loads: list[Potential] = []
        if any(scene.gravity):
            self.loads.append(Gravity(self.mass, np.asarray(scene.gravity)))
        self.pressures: list[Pressure] = []
        for shell, mesh, first in zip(scene.shells, geometry.shells, self._shell_starts, strict=False):
            if shell.pressure is not None:
                self.pressures.append(self._pressure(shell, mesh, int(first)))
        self.loads += self.pressures

    def _pressure(self, shell: Shell, mesh: Mesh, first: int) -> Pressure:
        assert shell.pressure is not None
        padded = Mesh(self.everything.X, (mesh.triangles + first).astype(np.int32))
        return Pressure(padded, shell.pressure.value, gas=shell.pressure.kind == "gas")

    def _elastic(self) -> None:
        mesh = self.shells
        E = self._per_triangle(lambda s: s.material.E)
        nu = self._per_triangle(lambda s: s.material.nu)
        thickness = self._per_triangle(lambda s: s.material.thickness)
        E_bend = self._per_triangle(lambda s: s.material.bending_modulus)
        # a hinge lies within one shell: it takes the material of its first vertex's shell
        shell_of_hinge = np.searchsorted(self._shell_starts, mesh.hinges[:, 0], side="right") - 1
        first_triangle = np.concatenate([[0], np.cumsum(self._triangle_counts)[:-1]])[shell_of_hinge]
        self.elastic: list[Potential] = [
            Membrane(mesh, E=E, nu=nu, thickness=thickness),
            Bending(mesh, E=E_bend[first_triangle], nu=nu[first_triangle], thickness=thickness[first_triangle]),
        ]
        limit = self._per_triangle(lambda s: s.material.strain_limit or np.inf)
        self.strain_limit: StrainLimit | None = None
        if np.isfinite(limit).any():
            onset = self._per_triangle(lambda s: s.material.strain_onset)
            self.strain_limit = StrainLimit(
                mesh,
                selected=np.isfinite(limit),
                onset=onset,
                limit=limit,
                kappa=LIMIT_STIFFNESS * E,
                thickness=thickness,
            )
            self.elastic.append(self.strain_limit)

    # --- contact ----------------------------------------------------------------------------------------------------

    def _contact(self) -> None:
        settings = self.scene.contact
        thinnest = min(shell.material.thickness for shell in self.scene.shells)
        self.size = float(np.linalg.norm(np.ptp(self.shells.X, axis=0)) / np.sqrt(3.0))
        self.offset = settings.offset if settings.offset is not None else thinnest
        self.dhat = settings.dhat if settings.dhat is not None else max(1e-3 * self.size, self.offset)
        self.stiffness = settings.stiffness if settings.stiffness is not None else self._reference_pressure()
        kappa = self.stiffness / _pressure_of_unit_barrier(self.offset, self.dhat)
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
        if not settings.enabled:
            return
        self.barrier = Barrier(self.surface, kappa=kappa, margin=0.25 * self.dhat)
        movable = np.flatnonzero(~self.passive[: self.n_shell]).astype(np.int32)
        for collider in self.scene.colliders:
            if collider.half_space is not None:
                if collider.motion:
                    raise SceneError(
                        f"{collider.name} is a half-space, which cannot move: use a box for a moving floor."
                    )
                point, normal = move_half_space(collider, 0.0)
                area = self.shells.vertex_areas[movable]
                self.half_spaces.append(
                    HalfSpace(point, normal, movable, area, kappa=kappa, dhat=self.dhat, offset=self.offset)
                )

    def _reference_pressure(self) -> float:
        """What the barrier should be able to push back with halfway into its range [Pa].

        LOAD_FACTOR times the pressures that rest on contact, and in dynamics STOP_FACTOR times what stops a sheet
        within one step: ρ τ v / h at the speed of falling through the scene.
        """
        scene, h = self.scene, self.scene.time.step
        heaviest = max(shell.material.area_density for shell in scene.shells)
        g = float(np.linalg.norm(scene.gravity))
        load = heaviest * g * len(scene.shells)
        load += max((abs(s.pressure.value) for s in scene.shells if s.pressure), default=0.0)
        if scene.wind is not None:
            load += 0.5 * scene.wind.air_density * float(np.dot(scene.wind.velocity, scene.wind.velocity))
        if self.scripted:
            # handles and moving colliders load contact through the membrane's tension
            load += PULL_STRAIN * max(s.material.E * s.material.thickness for s in scene.shells) / self.size
        pressure = LOAD_FACTOR * load
        if scene.time.mode == "dynamic":
            extent = float(np.ptp(self.x0, axis=0).max())
            speed = max(float(np.linalg.norm(shell.velocity)) for shell in scene.shells)
            speed += min(np.sqrt(2.0 * g * extent), g * scene.time.duration)
            pressure += STOP_FACTOR * heaviest * speed / h
        # without any load: what moves a sheet by dhat in one step
        return pressure if pressure > 0.0 else LOAD_FACTOR * heaviest * self.dhat / h**2

    def check_start(self) -> None:
        """Raises SceneError unless every pair starts farther apart than the offset."""
        if self.barrier is None:
            return
        for plane in self.half_spaces:
            if plane.min_distance_over_offset(self.x0) <= 1.0:
                gap = plane.gaps(self.x0)
                raise SceneError(
                    f"{int((gap <= self.offset).sum())} vertices start below a half-space or within contact.offset = "
                    f"{self.offset:g} m of it, the lowest at {gap.min():.3g} m: raise the shell or lower the offset."
                )
        ratio, pair = self.barrier.closest(self.x0)
        if ratio <= 1.0:
            here, there = self.name_of(pair[0]), self.name_of(pair[3])
            raise SceneError(
                f"{here} and {there} start closer than contact.offset = {self.offset:g} m at vertices "
                f"{list(map(int, pair))}: move them apart or lower contact.offset."
            )

    def step_potentials(self, x: Floats, v: Floats, h: float, motion: Floats) -> list[Potential]:
        """The potentials that are lagged at the start x, v of a step: friction and wind."""
        scene = self.scene
        out: list[Potential] = []
        mu, speed = scene.contact.friction, scene.contact.friction_speed
        if mu > 0.0:
            for source in (self.barrier, *self.half_spaces):
                if source is not None:
                    found = source.contacts(x)
                    if len(found.nodes):
                        out.append(Friction(found, x, mu=mu, speed=speed, h=h, motion=motion))
        if scene.wind is not None:
            w = scene.wind
            out.append(
                Wind(
                    self.shells.triangles, x, v, h, wind=np.asarray(w.velocity), air_density=w.air_density,
                    drag_normal=w.drag_normal, drag_tangential=w.drag_tangential, law=w.law,
                )
            )  # fmt: skip
        return out

    @property
    def contact_parts(self) -> list[Potential]:
        return [*([self.barrier] if self.barrier is not None else []), *self.half_spaces]

    @property
    def static_parts(self) -> list[Potential]:
        """Everything that does not change from step to step."""
        return [*self.elastic, *self.loads, *self.contact_parts]

    def applied_load(self, x: Floats, lagged: list[Potential]) -> float:
        """What the force balance is measured against [N]: weight and wind, or pressures where there are neither.

        A pressure balances itself over a closed shell, and is often so large that a body's weight would not count.
        """
        load = float(self.mass.sum() * np.linalg.norm(self.scene.gravity))
        load += sum(part.load(x) for part in lagged if isinstance(part, Wind))
        return load if load > 0.0 else sum(pressure.load(x) for pressure in self.pressures)

    def contact_count(self, x: Floats) -> int:
        count = self.barrier.count(x) if self.barrier is not None else 0
        return count + sum(int((plane.gaps(x) < self.offset + self.dhat).sum()) for plane in self.half_spaces)

    def min_distance_over_offset(self, x: Floats) -> float:
        parts = [plane.min_distance_over_offset(x) for plane in self.half_spaces]
        return min([*parts, self.barrier.closest(x)[0] if self.barrier is not None else np.inf])


def assemble(scene: Scene, base: str | Path) -> System:
    """The scene's system, with files looked up from the folder `base`."""
    return System(scene, load_geometry(scene, Path(base)))


def _pressure_of_unit_barrier(offset: float, dhat: float) -> float:
    """Force per area −κ b′ 2d [1/m · κ] of a barrier with κ = 1 at the gap MIDWAY · dhat."""
    d = offset + MIDWAY * dhat
    width = dhat * (2.0 * offset + dhat)
    y = (d * d - offset * offset) / width
    slope = -2.0 * (y - 1.0) * np.log(y) - (y - 1.0) ** 2 / y
    return float(-slope / width * 2.0 * d)
