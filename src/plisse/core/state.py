"""State: a frozen snapshot at one level and one time. Checkpoint: all that its next step depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from plisse.core.arrays import Floats, Longs


@dataclass(frozen=True, eq=False)
class State:
    """Positions x [m] and velocities v [m/s], shape (n, 3), at time t [s], with what the solver reports on the step.

    residual: ‖d‖ / (√n h) of the last Newton direction [m/s]. energy: total potential without inertia and friction [J].
    force_balance: resultant of contact, pins and loads over the applied load. accepted: the time step is complete.
    missed: largest distance of a scripted vertex from its keyframed position [m]. stalled: the line search found no
    lower energy, so that the next step would be the same. blocked: vertices that leave hardly any room for a step.

    Of statics that seeks rest: distances, how far each simulated body's farthest vertex seems to be from rest [m];
    pushes, how often the state was pushed off a saddle. Of the next step: stride and stick, factors on the inertia's
    time step and on the slip below which friction sticks; coasted, steps since motion was last carried on.

    Of motion: unexplained, root mean square acceleration of the free vertices that neither forces nor their own inertia
    account for [m/s²]; unsolved, the part of it that the step's tolerance left [m/s²].

    Where every load step is brought to rest: settled, whether the state is at rest under its loads; lead, by how much
    time the next load step goes on [s], where that is not the time step; loaded, Newton iterations up to its start.
    """

    level: int
    step: int
    time: float
    x: Floats
    v: Floats
    converged: bool = False
    accepted: bool = True
    residual: float = float("inf")
    newton_iteration: int = 1
    newton_iterations: int = 0
    energy: float = 0.0
    force_balance: float = float("inf")
    contacts: int = 0
    step_length: float = 1.0
    missed: float = 0.0
    stalled: bool = False
    blocked: tuple[int, ...] = ()
    distances: tuple[float, ...] = ()
    pushes: int = 0
    stride: float = 1.0
    stick: float = 1.0
    coasted: int = 0
    settled: bool = False
    lead: float | None = None
    loaded: int = 0
    unexplained: float = 0.0
    unsolved: float = 0.0

    @property
    def distance(self) -> float:
        """How far the farthest vertex seems to be from rest [m]."""
        return max(self.distances, default=float("inf"))


@dataclass(frozen=True, eq=False)
class Couplings:
    """Vertex pairs that contact has added to a sparsity pattern: sorted block keys (k,), see `Pattern`.

    mark: a digest of the pattern that they were added to, which has to be the same for them to mean anything.
    """

    mark: str
    keys: Longs


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A level after a complete step, with what the solver remembers at that point.

    Sums are taken in the order of contact's candidates and unknowns eliminated in an order that depends on the sparsity
    pattern: a step that starts without these memories differs in its last bits.
    before: positions and velocities (n, 3) a step earlier, for BDF2. near: positions and displacement (n, 3) [m] that
    the candidates were found for. notes: plain values of whoever runs the level.
    """

    state: State
    before: tuple[Floats, Floats] | None = None
    near: tuple[Floats, Floats] | None = None
    couplings: Couplings | None = None
    notes: dict[str, Any] = field(default_factory=dict)
