"""Everything that the user asked for: frozen, plain, serialisable."""

from dataclasses import dataclass, field

from plisse.core.errors import SceneError
from plisse.scene.colliders import Collider
from plisse.scene.levels import Levels
from plisse.scene.loads import Pressure, Wind
from plisse.scene.materials import DEFAULT_MATERIAL, PRESETS, Material
from plisse.scene.pins import Pin
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource
from plisse.scene.values import Vector, as_count, as_scale, as_vector, settle


@dataclass(frozen=True)
class Shell:
    """A simulated surface: scaled at rest, then placed by rotate [degrees] and translate [m].

    velocity: of all vertices at the start [m/s]. pressure: closed shells only.
    """

    mesh: MeshSource
    name: str = "shell"
    translate: Vector = (0.0, 0.0, 0.0)
    rotate: Vector = (0.0, 0.0, 0.0)
    scale: Vector = (1.0, 1.0, 1.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    material: Material = PRESETS[DEFAULT_MATERIAL]
    pins: tuple[Pin, ...] = ()
    pressure: Pressure | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            translate=as_vector("translate", self.translate),
            rotate=as_vector("rotate", self.rotate),
            scale=as_scale("scale", self.scale),
            velocity=as_vector("velocity [m/s]", self.velocity),
            pins=tuple(self.pins),
        )


@dataclass(frozen=True)
class Scene:
    """Shells, colliders, loads and settings. gravity: acceleration [m/s²]; seed: of everything random."""

    shells: tuple[Shell, ...]
    colliders: tuple[Collider, ...] = ()
    name: str = "scene"
    gravity: Vector = (0.0, 0.0, -9.81)
    wind: Wind | None = None
    contact: Contact = field(default_factory=Contact)
    solver: Solver = field(default_factory=Solver)
    time: Time = field(default_factory=Time)
    hierarchy: Levels = field(default_factory=Levels)
    seed: int = 0

    def __post_init__(self) -> None:
        settle(
            self,
            shells=tuple(self.shells),
            colliders=tuple(self.colliders),
            gravity=as_vector("gravity [m/s²]", self.gravity),
            seed=as_count("seed", self.seed),
        )
        if not isinstance(self.name, str):
            raise SceneError(f"name must be a word, not {self.name!r}.")
        if not self.shells:
            raise SceneError("A scene needs at least one shell: add a [[shell]] table.")
        names: set[str] = set()
        for name in [body.name for body in self.shells] + [body.name for body in self.colliders]:
            if not isinstance(name, str) or not name:
                raise SceneError(f"A body's name must be a word, not {name!r}.")
            if name in names:
                raise SceneError(f'Two bodies are called "{name}": give each its own name.')
            names.add(name)
        if self.hierarchy.levels > 1 and self.time.mode == "dynamic":
            raise SceneError('Several levels are for statics so far: set time.mode = "static" or hierarchy.levels = 1.')
