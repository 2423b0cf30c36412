"""State: a frozen snapshot at one level and one time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from plisse.core.potential import Floats


@dataclass(frozen=True, eq=False)
class State:
    """Positions x [m] and velocities v [m/s], shape (n, 3), at time t [s], with what the solver said of the step.

    residual: ‖d‖ / (√n h) of the last Newton direction [m/s]. energy: total potential without inertia and friction [J].
    force_balance: resultant of contact, pins and loads over the applied load. accepted: the time step is complete.
    missed: largest distance of a scripted vertex from where its keyframes want it [m].
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

    def accept(self, *, energy: float, force_balance: float, missed: float) -> State:
        """The same as the end of its time step."""
        return replace(self, accepted=True, energy=energy, force_balance=force_balance, missed=missed)
