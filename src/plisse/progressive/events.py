"""What a Session tells whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plisse.core.state import State
from plisse.progressive.rest import Aim
from plisse.progressive.scene_problem import SceneProblem
from plisse.scene.scene import Scene


@dataclass(frozen=True)
class LevelOpened:
    """Work on a level begins; a feasible start of it may have to be found first."""

    level: int


@dataclass(frozen=True, eq=False)
class LevelBegan:
    """A level's problem is made, and its first step comes next.

    placed: whether it was made from positions that a coarser level or an earlier state gave; resumed: whether it goes
    on from a checkpoint; last: number of its last step.
    """

    problem: SceneProblem
    aim: Aim
    last: int
    placed: bool
    resumed: bool


@dataclass(frozen=True, eq=False)
class Stepped:
    """A Newton iteration is done; where `state.accepted`, a whole step."""

    state: State


@dataclass(frozen=True, eq=False)
class LevelEnded:
    """A level has come to its end. state: after its last step."""

    state: State


@dataclass(frozen=True, eq=False)
class Changed:
    """The scene was changed; the next preview starts from the present coarse state."""

    scene: Scene


Event = LevelOpened | LevelBegan | Stepped | LevelEnded | Changed
Listener = Callable[[Event], None]
