"""Everything the user asked for: frozen, plain, serialisable."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.record import Record, count, factors, fill_in, number, table, tables, three, turn, word
from plisse.core.values import Vector
from plisse.scene.colliders import Collider
from plisse.scene.levels import Levels
from plisse.scene.loads import Pressure, Wind
from plisse.scene.materials import Material
from plisse.scene.pins import Pin
from plisse.scene.presets import DEFAULT_MATERIAL, PRESETS
from plisse.scene.regions import Region
from plisse.scene.schedule import stop_motion
from plisse.scene.settings import Contact, Solver, Time, own_friction
from plisse.scene.sources import MeshSource, SavedFrame


@dataclass(frozen=True)
class Shell(Record):
    """A simulated surface: scaled at rest, then placed by `rotate` and `translate`."""

    mesh: MeshSource
    name: str = word("used in messages, reports and exports", default="shell", shown="`shell-0` …")
    scale: Vector = factors("scales the rest shape", default=(1.0, 1.0, 1.0))
    rotate: Vector = turn("rotation about the fixed axes x, then y, then z")
    translate: Vector = three("m", "position of the mesh's origin", default=(0.0, 0.0, 0.0))
    rest_on: str | None = word(
        "name of a collider or another shell: the shell is centred above it without touching; replaces `translate`",
        default=None, shown="none",
    )  # fmt: skip
    drop_height: float | None = number(
        "m",
        "height of its lowest vertex above the highest one of what it rests on (without `rest_on`: of all colliders)",
        default=None, shown="with `rest_on`, just enough not to touch", above=0,
    )  # fmt: skip
    rest: str | None = word(
        "rest shape where the mesh is only the start: a mesh file with the same faces in the same order, whose "
        "vertices may be split along seams, or `\"uv\"`, the mesh's texture coordinates; `unit`, `up` and `scale` "
        "apply to both",
        default=None, shown="the mesh itself",
    )  # fmt: skip
    uv_unit: float | None = number(
        "m", 'with `rest = "uv"`: length of one unit of the texture coordinates', default=None, shown="none", above=0
    )
    start: SavedFrame | None = table(
        SavedFrame,
        "start from a frame of an earlier run, where it is in the world; everything else is placed as if the shell "
        "started from its mesh",
        default=None,
    )
    velocity: Vector = three("m/s", "initial velocity of all free vertices; dynamics only", default=(0.0, 0.0, 0.0))
    spin: Vector = three(
        "deg/s", "initial angular velocity about the fixed axes, through the shell's centre of mass, in addition to "
        "`velocity`; dynamics only", default=(0.0, 0.0, 0.0),
    )  # fmt: skip
    material: Material = table(
        Material, "name of a preset, or a table", default=PRESETS[DEFAULT_MATERIAL], shown=f'`"{DEFAULT_MATERIAL}"`'
    )
    pins: tuple[Pin, ...] = tables(Pin, "pin", "vertices that are held or moved")
    pressure: Pressure | None = table(Pressure, "closed shells only: a number or a table", default=None)
    friction: float | None = own_friction()
    regions: tuple[Region, ...] = tables(Region, "region", "parts with other materials")

    def check(self) -> None:
        fill_in(self, pins=tuple(self.pins), regions=tuple(self.regions))
        for i, region in enumerate(self.regions):
            try:
                region.over(self.material)
            except SceneError as error:
                raise SceneError(f"region.{i}: {error}") from None
            ours, theirs = self.material.bending, (region.material or self.material).bending
            if theirs != ours:
                raise SceneError(
                    f'region.{i}.material has bending = "{theirs}", but a shell bends in one way, and this one\'s '
                    f'material has "{ours}": give both the same bending.'
                )
        if self.rest == "uv" and self.uv_unit is None:
            raise SceneError(
                'rest = "uv" needs the length of one unit of the texture coordinates: add uv_unit = "1 m".'
            )
        if self.rest != "uv" and self.uv_unit is not None:
            raise SceneError('uv_unit applies only to rest = "uv": remove it or set rest.')
        if self.rest == "uv" and len(set(self.scale)) > 1:
            raise SceneError('rest = "uv" has no axes along which to scale it differently: give scale one number.')

    @property
    def materials(self) -> tuple[Material, ...]:
        """The shell's material, then those of its regions."""
        return (self.material, *(region.over(self.material) for region in self.regions))


@dataclass(frozen=True)
class Keyed:
    """A value that changes over time: its place in the scene and its keys [s], interpolated linearly."""

    path: tuple[str | int, ...]
    times: tuple[float, ...]
    values: tuple[float | Vector, ...]

    def at(self, t: float) -> float | Vector:
        """The value at time t [s]; constant before the first key and after the last one."""
        now = [
            float(np.interp(t, self.times, column))
            for column in np.array(self.values, float).reshape(len(self.times), -1).T
        ]
        return (now[0], now[1], now[2]) if len(now) == 3 else now[0]

    def stopped(self, t: float) -> "Keyed":
        """The keys up to time t [s], and the value of that time as the last one."""
        if self.times[-1] <= t:
            return self
        known = [(time, value) for time, value in zip(self.times, self.values, strict=True) if time < t]
        return Keyed(self.path, (*(time for time, _ in known), t), (*(value for _, value in known), self.at(t)))


@dataclass(frozen=True)
class Scene(Record):
    """Shells, colliders, loads and settings.

    keyed: values that change over time; the scene itself holds their final values.
    """

    shells: tuple[Shell, ...] = tables(Shell, "shell", "a simulated surface; at least one")
    colliders: tuple[Collider, ...] = tables(Collider, "collider", "a body that is not simulated")
    name: str = word("used in reports", default="scene", shown="name of the file")
    gravity: Vector = three(
        "m/s²", "gravitational acceleration; may be keyframed", default=(0.0, 0.0, -9.81), keyed=True
    )
    wind: Wind | None = table(Wind, "drag by moving air", default=None)
    contact: Contact = table(Contact, "contact and friction", factory=Contact)
    solver: Solver = table(Solver, "Newton's method", factory=Solver)
    time: Time = table(Time, "equilibrium or motion", factory=Time)
    hierarchy: Levels = table(Levels, "levels of resolution", factory=Levels)
    seed: int = count("seed of everything random", default=0)
    keyed: tuple[Keyed, ...] = ()

    def check(self) -> None:
        fill_in(self, shells=tuple(self.shells), colliders=tuple(self.colliders))
        if not self.shells:
            raise SceneError("A scene needs at least one shell: add a [[shell]] table.")
        names: set[str] = set()
        for name in [body.name for body in self.shells] + [body.name for body in self.colliders]:
            if name in names:
                raise SceneError(f'Two bodies are called "{name}": give each its own name.')
            names.add(name)
        if self.hierarchy.count > 1 and self.time.mode == "dynamic":
            self._check_motion()

    def _check_motion(self) -> None:
        """Raises SceneError where a motion cannot have several levels."""
        motion = self.hierarchy.motion
        if self.time.integrator != "euler" and motion not in ("velpro", "direct"):
            raise SceneError(
                f'hierarchy.motion = "{motion}" is known for implicit Euler only: use time.integrator = "euler", or '
                'motion = "velpro".'
            )
        if self.time.frame_steps != 1:
            raise SceneError(
                "A motion with several levels needs a frame of every step, which the next finer level looks back at: "
                "leave out time.frame_every."
            )

    def friction_of(self, body: Shell | Collider) -> float:
        """Coulomb's μ of a body: its own, or the scene's."""
        return self.contact.friction if body.friction is None else body.friction

    @property
    def ends_by_tolerance(self) -> bool:
        """Whether `solver.tol` decides: in dynamics, and where statics is to end as published and not at rest."""
        published = self.hierarchy.preset == "paper" or self.hierarchy.method == "plain"
        return self.solver.tol is not None or published or self.time.mode == "dynamic"

    @property
    def leads(self) -> bool:
        """Whether pins or colliders are led along a path."""
        pins = [pin for shell in self.shells for pin in shell.pins]
        sequences = any(c.mesh is not None and c.mesh.sequence is not None for c in self.colliders)
        return sequences or any(c.motion for c in self.colliders) or any(pin.motion for pin in pins)

    @property
    def last_key(self) -> float:
        """Time [s] after which no value changes."""
        return max((keyed.times[-1] for keyed in self.keyed), default=0.0)

    def at(self, t: float) -> "Scene":
        """The scene with every keyframed value as it is at time t [s]."""
        scene: Any = self
        for keyed in self.keyed:
            scene = _replaced(scene, keyed.path, keyed.at(t))
        return scene if isinstance(scene, Scene) else self

    def stopped(self, t: float) -> "Scene":
        """The scene in which everything that is keyframed stays as it is at time t [s]; sequences of meshes go on."""
        keyed = tuple(entry.stopped(t) for entry in self.keyed)
        scene = self.at(t)
        shells = tuple(
            replace(shell, pins=tuple(replace(pin, motion=stop_motion(pin.motion, t)) for pin in shell.pins))
            for shell in scene.shells
        )
        colliders = tuple(replace(each, motion=stop_motion(each.motion, t)) for each in scene.colliders)
        return replace(scene, shells=shells, colliders=colliders, keyed=keyed)


def _replaced(place: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A record or tuple with one value in it replaced."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return tuple(_replaced(part, rest, value) if i == first else part for i, part in enumerate(place))
    return replace(place, **{first: _replaced(getattr(place, first), rest, value)})
