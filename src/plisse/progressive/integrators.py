"""Integrators: from states that are known, where the next step is expected to go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from plisse.core.arrays import Floats
from plisse.core.grid import Grid


@dataclass(frozen=True, eq=False)
class Prediction:
    """What an integrator says of a step before it is solved.

    t: time at its end [s]; x_hat: inertial target [m], shape (n, 3); h: effective step of the inertia [s]; base: the
    velocity afterwards is (x − base) / h; x, v: state at its start; motion: displacement to expect [m].
    """

    t: float
    x_hat: Floats
    h: float
    base: Floats
    x: Floats
    v: Floats
    motion: Floats


class Integrator(ABC):
    """h: time step [s]; history: steps that it looks back; seeks_rest: whether an equilibrium ends the march."""

    history: int = 1
    seeks_rest: bool = False
    each: bool = False  # every load step is brought to rest

    def __init__(self, h: float) -> None:
        self.h = h

    @abstractmethod
    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        """What to expect of a level's step, from the grid's states before it."""


class Statics(Integrator):
    """x̂ = xᵗ: every step forgets its velocity, so that energy only falls. [Zhang2022] Algorithm 2.

    target: x̂ of the level's first step, where a coarser level expects it to be. each: time only goes on from states
    that are at rest, up to last_key [s].
    """

    seeks_rest = True

    def __init__(self, h: float, *, target: Floats | None = None, each: bool = False, last_key: float = 0.0) -> None:
        super().__init__(h)
        self._target, self.each, self._last_key = target, each, last_key

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        last = grid.at(level, step - 1)
        x_hat = last.x if self._target is None or last.step > 0 else self._target
        t = last.time + self.h
        if self.each and last.time < self._last_key:
            lead = self.h if last.lead is None else last.lead
            t = min(last.time + lead, self._last_key) if last.settled or last.step == 0 else last.time
        return Prediction(t, x_hat, self.h, last.x, last.x, last.v, self.h * last.v)


class Euler(Integrator):
    """Implicit Euler: x̂ = xᵗ + h vᵗ."""

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        last, h = grid.at(level, step - 1), self.h
        return Prediction(step * h, last.x + h * last.v, h, last.x, last.x, last.v, h * last.v)


class BDF2(Euler):
    """x̂ = (4xᵗ − xᵗ⁻¹)/3 + h̃ (4vᵗ − vᵗ⁻¹)/3 with h̃ = 2h/3 in place of h; the first step is implicit Euler's."""

    history = 2

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        before = grid.get(level, step - 2)
        if before is None:
            return super().predict(grid, level, step)
        last, h = grid.at(level, step - 1), 2.0 * self.h / 3.0
        base = (4.0 * last.x - before.x) / 3.0
        x_hat = base + h * (4.0 * last.v - before.v) / 3.0
        return Prediction(step * self.h, x_hat, h, base, last.x, last.v, self.h * last.v)


INTEGRATORS: dict[str, type[Integrator]] = {"euler": Euler, "bdf2": BDF2}
