"""Integrators: from states that are known, where the next step is expected to go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

from plisse.core.arrays import Floats
from plisse.core.grid import Grid
from plisse.core.potential import Past
from plisse.hierarchy.maps import LevelMap


@dataclass(frozen=True, eq=False)
class Prediction:
    """What an integrator says of a step before it is solved.

    t: time at its end [s]; x_hat: inertial target [m], shape (n, 3); h: effective step of the inertia [s]; base: the
    velocity afterwards is (x − base) / h; x, v: state at its start; motion: displacement to expect [m]. stride: factor
    on h for the inertia alone. own: x_hat of the level by itself [m], where that is another. past: what base is made
    of, x alone when not given: rates of whatever depends on positions are (q(x) − Σ w q(xₖ)) / h with its weights w.
    guess: where it may end [m], if that is known better than from the motion so far.
    """

    t: float
    x_hat: Floats
    h: float
    base: Floats
    x: Floats
    v: Floats
    motion: Floats
    stride: float = 1.0
    own: Floats | None = None
    past: Past = ()
    guess: Floats | None = None


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
        past = ((4.0 / 3.0, last.x), (-1.0 / 3.0, before.x))
        return Prediction(step * self.h, x_hat, h, base, last.x, last.v, self.h * last.v, past=past)


INTEGRATORS: dict[str, type[Integrator]] = {"euler": Euler, "bdf2": BDF2}


def drawn_to(y: Floats, w: float, prediction: Prediction) -> Prediction:
    """The same with a pull w/h² ‖x − y‖²_M / 2, which only moves x̂ and shortens the inertia's h."""
    firm = 1.0 / prediction.stride**2
    x_hat = (firm * prediction.x_hat + w * y) / (firm + w)
    return replace(prediction, x_hat=x_hat, stride=1.0 / sqrt(firm + w))


class Carried(Integrator):
    """Of a level above the coarsest: implicit Euler whose target x̂ = x̄ + h v̄ takes something from the level below.

    [Zhang2025] eq. 5. maps: from each level, by its number, to the next finer one. consistency: w of the pull to where
    the level below will be, P x_{l−1}ᵗ⁺¹. For another way, derive a class with an `expect` of your own and give it to
    `march`.
    """

    def __init__(self, h: float, maps: Callable[[int], LevelMap], *, consistency: float = 0.0) -> None:
        super().__init__(h)
        self._maps, self._w = maps, consistency

    @abstractmethod
    def expect(self, grid: Grid, level: int, t: int) -> Floats:
        """x̂ of step t + 1 of a level, from its states up to step t and those of the levels below."""

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        own = Euler(self.h).predict(grid, level, step)
        return self._drawn(own, self.expect(grid, level, step - 1), grid, level, step)

    def _drawn(self, own: Prediction, x_hat: Floats, grid: Grid, level: int, step: int) -> Prediction:
        """What a level would do by itself with another target, which is drawn to the level below."""
        carried = replace(own, x_hat=x_hat, own=own.x_hat)
        if self._w == 0.0:
            return carried
        below = self.prolonged(grid, level, step)
        guess = own.x + below - self.prolonged(grid, level, step - 1)
        return replace(drawn_to(below, self._w, carried), guess=guess)

    def prolonged(self, grid: Grid, level: int, t: int) -> Floats:
        """P x of the level below at step t [m]."""
        return self._maps(level - 1)(grid.at(level - 1, t).x)

    def carried(self, grid: Grid, level: int, t: int) -> Floats:
        """U (xᵗ − xᵗ⁻¹) of the level below [m]; v of step 0 stands for the step before it."""
        return self._maps(level - 1).velocity(self.h * grid.at(level - 1, t).v)


class VelPro(Carried):
    """x̂ = x_lᵗ + U (x_{l−1}ᵗ − x_{l−1}ᵗ⁻¹): own positions, velocities of the level below. [Zhang2025] §5.4.2."""

    def expect(self, grid: Grid, level: int, t: int) -> Floats:
        return grid.at(level, t).x + self.carried(grid, level, t)


class VelProBDF2(VelPro):
    """VelPro in BDF2's form: velocities of the coarsest level on all others.

    Those of the level below would enter as (4z − z²)/3 of that level's, which makes (5/3)ˡ of a disturbance.
    """

    history = 2

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        before = grid.get(level, step - 2)
        if before is None:
            return super().predict(grid, level, step)
        own = BDF2(self.h).predict(grid, level, step)
        v = (4.0 * grid.at(0, step - 1).v - grid.at(0, step - 2).v) / 3.0
        for coarse in range(level):
            v = self._maps(coarse).velocity(v)
        return self._drawn(own, own.base + own.h * v, grid, level, step)


class SemiDiagonal(Carried):
    """x̂ = P x_{l−1}ᵗ + U (x_{l−1}ᵗ − x_{l−1}ᵗ⁻¹): all from the level below. Unstable on many levels. [Zhang2024]."""

    def expect(self, grid: Grid, level: int, t: int) -> Floats:
        return self.prolonged(grid, level, t) + self.carried(grid, level, t)


class FullDiagonal(Carried):
    """x̂ = P (2 x_{l−1}ᵗ − P x_{l−2}ᵗ⁻¹), and P (2 x_0ᵗ − x_0ᵗ⁻¹) on level 1. [Zhang2025] §4."""

    def expect(self, grid: Grid, level: int, t: int) -> Floats:
        P, below = self._maps(level - 1), grid.at(level - 1, t)
        if level == 1:
            return P(below.x + self.h * below.v)
        lowest = grid.get(level - 2, t - 1)
        if lowest is None:
            # a motion begins here
            first = grid.at(level - 2, t)
            before = first.x - self.h * first.v
        else:
            before = lowest.x
        return P(2.0 * below.x - self._maps(level - 2)(before))


class Vertical(Carried):
    """x̂ = P x_{l−1}ᵗ⁺¹: each step by itself, as statics is refined, where forces act once more. Details pop.

    [Zhang2024] fig. 6.
    """

    def expect(self, grid: Grid, level: int, t: int) -> Floats:
        return self.prolonged(grid, level, t + 1)


# how a finer level's motion follows that of the level below; a scene's "direct" does not
CARRIED: dict[str, type[Carried]] = {
    "velpro": VelPro,
    "semi-diagonal": SemiDiagonal,
    "full-diagonal": FullDiagonal,
    "vertical": Vertical,
}


class Joining(Integrator):
    """Another way's steps, drawn more and more to states that are known: w = (k/(m + 1 − k))² in the k-th of m steps.

    goal: x (n, 3) [m] after a step; first: the step before the first of them.
    """

    def __init__(self, way: Integrator, goal: Callable[[int], Floats], *, first: int, steps: int) -> None:
        super().__init__(way.h)
        self.history = way.history
        self._way, self._goal, self._first, self._steps = way, goal, first, steps

    def predict(self, grid: Grid, level: int, step: int) -> Prediction:
        k = step - self._first
        w = (k / (self._steps + 1 - k)) ** 2
        return drawn_to(self._goal(step), w, self._way.predict(grid, level, step))
