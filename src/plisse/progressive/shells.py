"""Mass, elasticity and body loads of all shells on one level's rest meshes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh, concatenate
from plisse.core.potential import Past, Potential
from plisse.energies.bending import Bending
from plisse.energies.loads import Gravity, PressureLoad, WindDrag
from plisse.energies.membrane import Membrane
from plisse.energies.plate import Plate
from plisse.energies.strain_limit import StrainLimit
from plisse.progressive.softening import Softening
from plisse.scene.materials import BENDINGS
from plisse.scene.scene import Scene, Shell

LIMIT_STIFFNESS = 0.1  # κ of the strain-limit barrier as a part of the membrane's Young's modulus

Elastic = Membrane | Bending | Plate


class ShellModel:
    """The shells of a scene as one mesh, vertices in scene order, with their potentials.

    regions: weights of the vertices in each region of each shell, see `Geometry`. softening: how the shells differ from
    what their materials say, not at all when not given. pins: vertices (k,) of each pin of each shell; plates are
    clamped where triangles are pinned. room: vertices that positions have beyond the shells', for colliders.
    """

    def __init__(
        self,
        scene: Scene,
        meshes: Sequence[Mesh],
        *,
        regions: Sequence[Sequence[Floats]] = (),
        softening: Softening | None = None,
        pins: Sequence[Sequence[Ints]] = (),
        room: int = 0,
    ) -> None:
        self.mesh, self.starts = concatenate(meshes)
        self.n, self._room = len(self.mesh.X), room
        self._counts = [len(mesh.triangles) for mesh in meshes]
        self._hinge_counts = [len(mesh.hinges) for mesh in meshes]
        regions = regions or [()] * len(meshes)
        self._weights = [
            [weights[mesh.triangles].mean(axis=1) for weights in each]
            for mesh, each in zip(meshes, regions, strict=True)
        ]
        self._hinge_weights = [
            [_at_hinges(mesh, weights) for weights in each] for mesh, each in zip(meshes, regions, strict=True)
        ]
        self._held = np.concatenate(
            [_held(mesh, each) for mesh, each in zip(meshes, pins or [()] * len(meshes), strict=True)]
        )
        ones = (1.0,) * len(meshes)
        self._softening = softening or Softening(ones, ones, ones)
        closed = zip(scene.shells, meshes, self.starts, strict=False)
        self.pressures = [self._pressure(shell, mesh, int(first)) for shell, mesh, first in closed if shell.pressure]
        self._take_materials(scene)
        self._take_loads(scene)

    def _take_materials(self, scene: Scene) -> None:
        self.scene = scene
        self.thickness, self.E, self.nu = (self._per_triangle(value) for value in ("thickness", "E", "nu"))
        area_density = self._per_triangle("density") * self.thickness
        per_corner = np.repeat(self.mesh.triangle_areas * area_density / 3.0, 3)
        n = self.n + self._room
        self.mass = np.asarray(np.bincount(self.mesh.triangles.ravel(), per_corner, minlength=n), float)
        self._damps = any(material.damping for shell in scene.shells for material in shell.materials)
        self.elastic: list[Elastic] = [self._membrane(self._softening), *self._bending(self._softening.bending)]
        self.limit = self.strain_limit()

    def _take_loads(self, scene: Scene) -> None:
        self.scene = scene
        self.loads: list[Potential] = [*self.pressures]
        if any(scene.gravity):
            self.loads.insert(0, Gravity(self.mass, np.asarray(scene.gravity)))

    def of(self, scene: Scene) -> ShellModel:
        """The same shells with the materials and loads of another scene.

        Potentials whose materials are the same stay what they are: the sparsity pattern is known by their arrays.
        """
        model = copy(self)
        values = [shell.pressure.value for shell in scene.shells if shell.pressure is not None]
        model.pressures = [part.changed(value) for part, value in zip(self.pressures, values, strict=True)]
        shells = zip(self.scene.shells, scene.shells, strict=True)
        if any(a.material != b.material or a.regions != b.regions for a, b in shells):
            model._take_materials(scene)
        model._take_loads(scene)
        return model

    def keeping(self, compression: Floats) -> ShellModel:
        """The same shells with another part of each one's compressive stiffness (shells,)."""
        model = copy(self)
        membrane, *others = self.elastic
        assert isinstance(membrane, Membrane)
        model.elastic = [membrane.keeping(np.repeat(compression, self._counts)), *others]
        return model

    def _per_triangle(self, value: str, *, sharp: bool = False) -> Floats:
        return self._spread(value, self._counts, self._weights, sharp)

    def _per_hinge(self, value: str) -> Floats:
        return self._spread(value, self._hinge_counts, self._hinge_weights, False)

    def _spread(self, value: str, counts: list[int], weights: list[list[Floats]], sharp: bool) -> Floats:
        """A value of the materials on all elements: regions are blended by weight, or if sharp have only their inside.

        Elements of the weight 1 cover the same surface on all levels, so that finer ones bring no new strain limits.
        """
        out = []
        for shell, count, of_regions in zip(self.scene.shells, counts, weights, strict=True):
            own, *others = (getattr(material, value) for material in shell.materials)
            each = np.full(count, np.inf if own is None else own)
            for region, there, w in zip(shell.regions, others, of_regions, strict=True):
                if region.gives(value, shell.material):
                    there = np.inf if there is None else there
                    each = np.where(w == 1.0, there, each) if sharp else (1.0 - w) * each + w * there
            out.append(each)
        return np.concatenate(out)

    def _membrane(self, softening: Softening) -> Membrane:
        kept, part = (np.repeat(each, self._counts) for each in (softening.compression, softening.membrane))
        damping = self._per_triangle("damping") if self._damps else None
        return Membrane(
            self.mesh, E=part * self.E, nu=self.nu, thickness=self.thickness, compression=kept, damping=damping
        )  # fmt: skip

    def _bending(self, factor: Sequence[float]) -> list[Elastic]:
        """One potential for the shells of each kind of bending that there is."""
        parts: list[Elastic] = []
        for kind in BENDINGS:
            bends = [shell.material.bending == kind for shell in self.scene.shells]
            if not any(bends):
                continue
            counts, spread = (
                (self._hinge_counts, self._per_hinge) if kind == "hinge" else (self._counts, self._per_triangle)
            )
            some, triangles = np.repeat(bends, counts), np.repeat(bends, self._counts)
            E = spread("bending_modulus") * np.repeat(factor, counts)
            E, nu, thickness = (each[some] for each in (E, spread("nu"), spread("thickness")))
            mesh = self.mesh if all(bends) else _part(self.mesh, triangles)
            damping = spread("damping")[some] if self._damps else None
            parts.append(
                Bending(mesh, E=E, nu=nu, thickness=thickness, damping=damping)
                if kind == "hinge"
                else Plate(mesh, E=E, nu=nu, thickness=thickness, held=self._held[triangles], damping=damping)
            )
        return parts

    def _pressure(self, shell: Shell, mesh: Mesh, first: int) -> PressureLoad:
        assert shell.pressure is not None
        placed = Mesh(self.mesh.X, (mesh.triangles + first).astype(np.int32))
        return PressureLoad(placed, shell.pressure.value, gas=shell.pressure.kind == "gas")

    def strain_limit(self, *, selected: np.ndarray | None = None) -> StrainLimit | None:
        """The strain-limit barrier of the triangles that have a limit, or of the selected ones (m,) among them."""
        limit = self.limits
        some = np.isfinite(limit) if selected is None else np.isfinite(limit) & selected
        if not np.isfinite(limit).any():
            return None
        onset = self._per_triangle("strain_onset", sharp=True)
        return StrainLimit(
            self.mesh, selected=some, onset=onset, limit=limit, kappa=LIMIT_STIFFNESS * self.E, thickness=self.thickness
        )

    @property
    def limits(self) -> Floats:
        """Largest principal stretch allowed of each triangle, infinite where there is none, shape (m,)."""
        return self._per_triangle("strain_limit", sharp=True)

    def damping(self, past: Past, h: float) -> list[Potential]:
        """What resists the strain rates of a step, see `Problem.damping`."""
        return [damped for part in self.elastic if (damped := part.damped(past, h)) is not None]

    def wind(self, x: Floats, v: Floats, h: float, *, air: Callable[[Floats], Floats] | None = None) -> WindDrag | None:
        """The wind's drag, lagged at the start x, v of a step; air: its velocity at points, if not the same at all."""
        w = self.scene.wind
        if w is None:
            return None
        wind = np.asarray(w.velocity) if air is None else air(x[self.mesh.triangles].mean(axis=1))
        return WindDrag(
            self.mesh.triangles, x, v, h, wind=wind, air_density=w.air_density,
            drag_normal=w.drag_normal, drag_tangential=w.drag_tangential, law=w.law,
        )  # fmt: skip


def _at_hinges(mesh: Mesh, weights: Floats) -> Floats:
    """The mean over both triangles of each hinge (q,) of the mean of their corners' weights (n,)."""
    edge, wings = weights[mesh.hinges[:, :2]].sum(axis=1), weights[mesh.hinges[:, 2:]].sum(axis=1)
    return np.asarray((2.0 * edge + wings) / 6.0)


def _part(mesh: Mesh, triangles: Bools) -> Mesh:
    """The mesh of some of the triangles (m,), with all of the vertices."""
    rest = None if mesh.rest is None else mesh.rest[triangles]
    return replace(mesh, triangles=mesh.triangles[triangles], uv=None, rest=rest)


def firm_pins(scene: Scene, pins: Sequence[Sequence[Ints]]) -> list[list[Ints]]:
    """Vertices (k,) of each pin of each shell that holds them in their places, not by springs."""
    return [
        [vertices for pin, vertices in zip(shell.pins, each, strict=True) if pin.stiffness is None]
        for shell, each in zip(scene.shells, pins, strict=True)
    ]


def _held(mesh: Mesh, pins: Sequence[Ints]) -> Bools:
    """Triangles (m,) whose corners are all pinned, and those of a neighbour too.

    One alone is no clamp: pinning a boundary pins all corners of the triangles that have two of their sides on it.
    """
    pinned = np.zeros(len(mesh.X), bool)
    for vertices in pins:
        pinned[vertices] = True
    whole: Bools = np.all(pinned[mesh.triangles], axis=1)
    first, second = (half_edges // 3 for half_edges in mesh.hinge_half_edges)
    both = whole[first] & whole[second]
    held = np.zeros(len(mesh.triangles), bool)
    held[first[both]] = held[second[both]] = True
    return held
