"""What the studio and the process that simulates say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plisse.core.arrays import Singles
from plisse.pictures.stage import Stage

# --- what the process is told -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Take this scene. number: told again with the answer; restart: begin where the scene puts its shells."""

    number: int
    table: dict[str, Any]
    restart: bool = False


@dataclass(frozen=True)
class Steer:
    """How to go on: refine: by itself once a level is in equilibrium; upto: the finest level; hold: not at all."""

    refine: bool = True
    upto: int | None = None
    hold: bool = False


@dataclass(frozen=True)
class Ask:
    """Send a map of values on a level's last state: "strain", "curvature" or "contact"."""

    kind: str
    level: int


@dataclass(frozen=True)
class Try:
    """Say whether the scene can begin as it says; what is shown may have been led there."""


@dataclass(frozen=True)
class Stop:
    """Come to an end."""


# --- what it answers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """A change was taken.

    levels: how many the scene has; note: what else happened, in words; every: steps from frame to frame of a motion,
    None in statics.
    """

    number: int
    levels: int
    note: str = ""
    every: int | None = None


@dataclass(frozen=True, eq=False)
class Refused:
    """A change was refused, and why; what was there before goes on.

    places: corners of the triangles that it is about [m], shape (k, 3, 3), where it is about intersections.
    """

    number: int
    sentence: str
    places: Singles | None = None


@dataclass(frozen=True, eq=False)
class Shown:
    """What the frames of a level are of: its surfaces and half-spaces."""

    number: int
    level: int
    stage: Stage
    x: Singles


@dataclass(frozen=True, eq=False)
class Frame:
    """Positions x (n, 3) [m] of a level, and how it stands.

    number: of the change that they belong to; limits: vertices that leave hardly any room for a step; seconds: that
    the last Newton iteration took.
    """

    number: int
    level: int
    x: Singles
    step: int
    time: float
    whole: bool
    converged: bool
    distance: float
    rest: float | None
    residual: float
    balance: float
    contacts: int
    iterations: int
    seconds: float
    limits: tuple[int, ...]
    intersections: int


@dataclass(frozen=True)
class Ended:
    """A level has come to its end, in equilibrium or not."""

    number: int
    level: int
    converged: bool


@dataclass(frozen=True)
class Resting:
    """There is nothing more to do until something is changed. sentence: what went wrong, if anything did."""

    number: int
    sentence: str = ""


@dataclass(frozen=True)
class Tried:
    """Whether the scene can begin as it says: an empty sentence, or why not."""

    sentence: str


@dataclass(frozen=True, eq=False)
class Map:
    """Values of a level's vertices, (n,) of the simulated ones, with the unit and what they are."""

    level: int
    kind: str
    title: str
    unit: str
    values: Singles


Word = Change | Steer | Ask | Try | Stop
Answer = Taken | Refused | Shown | Frame | Ended | Resting | Map | Tried


@dataclass(frozen=True)
class Died:
    """The process has come to an end that nobody asked for; the studio's own end of it says so."""
