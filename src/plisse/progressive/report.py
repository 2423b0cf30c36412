"""What every consumer reads of a run: plain data with a JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from plisse.core.errors import SceneError


@dataclass(frozen=True)
class LevelMetrics:
    """How near a level's last state is to other levels' states; None where there is no such level.

    position errors [m], geometric_consistency [kg m²]: of a motion the means over its steps; curvature distances by the
    names of `metrics.CURVATURES`. Of motions only: distances_to_finest, the position error of every step from the start
    on [m]; centre_error, mean distance of the bodies' centres of mass [m]; kinetic_error, of the kinetic energy's
    curve, relative, in L².
    """

    folds: int | None = None
    position_error_to_next: float | None = None
    position_error_to_finest: float | None = None
    curvature_distance_to_next: Mapping[str, float] | None = None
    curvature_distance_to_finest: Mapping[str, float] | None = None
    geometric_consistency: float | None = None
    distances_to_finest: Sequence[float] | None = None
    centre_error_to_finest: float | None = None
    kinetic_error_to_finest: float | None = None


@dataclass(frozen=True)
class MotionReport:
    """Of a level in motion.

    first_contact: the first step after which anything touches. unexplained: acceleration that neither forces nor the
    level's own inertia account for [m/s²]; continuity: its square over that of the part which the tolerance left, 1
    where a level is simulated by itself [Zhang2025] §8.1. Medians over the steps.
    """

    first_contact: int | None = None
    unexplained: float | None = None
    continuity: float | None = None


@dataclass(frozen=True)
class RestReport:
    """How far a level's last state seems to be from rest.

    distance: of the farthest vertex [m]; part: the same over the scene's size; asked: the part below which a state is
    at rest; bodies: distance of each shell's farthest vertex [m]; pushes: how often an unstable state was pushed on.
    """

    distance: float
    part: float
    asked: float
    bodies: Mapping[str, float] = field(default_factory=dict)
    pushes: int = 0


@dataclass(frozen=True)
class MechanicsReport:
    """What a level's last state bears, without friction.

    pins: force with which each shell is held [N]; colliders: force with which each collider pushes the shells [N].
    strain (principal stretch less one), stress (principal Cauchy stress of the membrane [Pa]), curvature (principal
    [1/m]): the largest size on a triangle, and the one that 99 of 100 triangles do not exceed.
    """

    pins: Mapping[str, Sequence[float]]
    colliders: Mapping[str, Sequence[float]]
    strain: Sequence[float]
    stress: Sequence[float]
    curvature: Sequence[float]


@dataclass(frozen=True)
class LevelReport:
    """One level: its last state, the invariants over all of its states, and what it has cost [s].

    rest: None where not rest but solver.tol ends the level. unconverged_steps: of a motion, None in statics.
    begin: number of the step that a motion begins with. missed_keyframes: largest distance of a scripted vertex from
    its place [m]. history: values of every step by name.
    """

    level: int
    vertices: int
    triangles: int
    steps: int
    newton_iterations: int
    wall_s: float
    converged: bool
    intersections: int
    states_checked: int
    begin: int = 0
    stalled: bool = False
    residual: float = float("inf")
    rest: RestReport | None = None
    force_balance: float = float("inf")
    energy: float = 0.0
    contacts: int = 0
    unconverged_steps: int | None = None
    missed_keyframes: float = 0.0
    min_distance_over_offset: float | None = None
    max_stretch_over_limit: float | None = None
    time_split: Mapping[str, float] = field(default_factory=dict)
    linear_split: Mapping[str, float] = field(default_factory=dict)
    symbolic_factorisations: int = 0
    numeric_factorisations: int = 0
    candidate_builds: int = 0
    history: Mapping[str, list[Any]] = field(default_factory=dict)
    metrics: LevelMetrics | None = None
    mechanics: MechanicsReport | None = None
    motion: MotionReport | None = None

    @property
    def distance_to_rest(self) -> float | None:
        """Of the farthest vertex [m]."""
        return None if self.rest is None else self.rest.distance

    @property
    def part_to_rest(self) -> float | None:
        """The same over the scene's size."""
        return None if self.rest is None else self.rest.part

    @property
    def pushes(self) -> int | None:
        """How often an unstable state was pushed on."""
        return None if self.rest is None else self.rest.pushes


@dataclass(frozen=True)
class Report:
    """A run as it stands.

    status: running, killed, interrupted or done. kind: of levels; finest: number of the finest one; pinned: whether a
    vertex is held.
    ramped: something is keyframed, and statics followed it without coming to rest, so that the path depends on its
    speed. contact: lengths [m] and stiffness [Pa] in use; auto: what was chosen for values that the scene leaves open.
    """

    version: str
    scene: str
    status: str
    threads: int
    wall_s: float
    levels: tuple[LevelReport, ...]
    resumed: int = 0
    method: str = "progressive"
    kind: str = "loop"
    finest: int = 0
    seed: int = 0
    pinned: bool = False
    ramped: bool = False
    contact: Mapping[str, float] = field(default_factory=dict)
    auto: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """A report that `to_json` gave; a SceneError where it is none."""
        try:
            levels = tuple(_read_level(level) for level in data["levels"])
            return cls(**{**data, "levels": levels})
        except (KeyError, TypeError) as error:
            raise SceneError(
                f"The report was written by another version of plisse ({error}): run the scene again."
            ) from None

    def of_level(self, number: int) -> Report:
        """What it says of one level."""
        chosen = tuple(level for level in self.levels if level.level == number)
        if not chosen:
            has = ", ".join(str(level.level) for level in self.levels)
            raise SceneError(f"There is no level {number} in the report{f': it has level {has}' if has else ''}.")
        return replace(self, levels=chosen)

    def with_metrics(self, metrics: Mapping[int, LevelMetrics]) -> Report:
        """The same with what is known of the distances between levels."""
        return replace(self, levels=tuple(replace(level, metrics=metrics[level.level]) for level in self.levels))


def _read_level(data: Mapping[str, Any]) -> LevelReport:
    metrics, rest, mechanics, motion = (data.get(key) for key in ("metrics", "rest", "mechanics", "motion"))
    known = {
        "metrics": None if metrics is None else LevelMetrics(**metrics),
        "rest": None if rest is None else RestReport(**rest),
        "mechanics": None if mechanics is None else MechanicsReport(**mechanics),
        "motion": None if motion is None else MotionReport(**motion),
    }
    return LevelReport(**{**data, **known})


METRICS = tuple(entry.name for entry in fields(LevelMetrics))
