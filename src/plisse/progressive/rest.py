"""Rest: what counts as equilibrium, and how the last part of the way to it is gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.bodies import Bodies
from plisse.core.potential import Sum, frozen
from plisse.core.state import State
from plisse.solve.curvature import Curvature, Descent
from plisse.solve.newton import Newton, search
from plisse.solve.problem import BALANCE

NEAR = 1e-2  # part of the scene's size: a step that moves no vertex further is near rest
GROWTH, MOST_STRIDE = 2.0, 1e3  # of the inertia's time step, by full Newton steps near rest
LONG_STRIDE = 1e2  # with which inertia no longer counts
STICKING = 0.1  # slip below which friction sticks, as a part of the way that the last iteration moves a vertex
LEAST_STICK = 20.0  # its least value, times the distance that is rest, as a part of the scene's size
EASE = 30  # iterations of a level during which its shells come to resist compression in full
FULL, SHORT = 0.9, 0.5  # parts of a Newton step
STEP_ITERATIONS = 10  # of a step with a long stride, at most
MOST_COAST, COAST_RAMP = 0.9, 1.5  # part of the last motion that is carried on, and steps after which it is half of it
LED = 3  # iterations after which motion counts as coasting that the exact Hessian has led to
EXACT_RESIDUAL, EXACT_MOST = 0.1, 40  # of conjugate gradients on the exact Hessian: residual, iterations
PROBE_RESIDUAL = 1e-3
DOUBLINGS = 12  # of the way along a direction of negative curvature, or halvings


@dataclass(frozen=True)
class Rest:
    """What counts as rest. distance: of every vertex, at most [m]; size: of the scene [m].

    seed: of the push off a saddle; None where an unstable equilibrium is one, too. most_stride: of the inertia's time
    step; forces that follow the shape a step late, as wind's, need inertia not to flutter. slip: below which friction
    sticks far from rest [m].
    """

    distance: float
    size: float
    seed: int | None = 0
    most_stride: float = MOST_STRIDE
    slip: float = np.inf

    @property
    def least_stick(self) -> float:
        return min(LEAST_STICK * self.distance / self.size, 1.0)

    # --- the way ------------------------------------------------------------------------------------------------------

    def iterations(self, before: State) -> int:
        """Newton iterations of the next step, at most.

        Friction's slip is measured from where a step begins: whatever it holds creeps with every new step.
        """
        return STEP_ITERATIONS if before.stride >= LONG_STRIDE else 1

    def eased(self, before: State) -> float:
        """Part of the way, in iterations, from a level's start to where its shells resist compression in full."""
        return min(before.newton_iterations / EASE, 1.0)

    def is_near(self, state: State) -> bool:
        """Whether a state is near rest, and motion may be carried on."""
        return self.most_stride > 1.0 and state.distance <= NEAR * self.size

    def coast(self, coasted: int) -> float:
        """Part of the last motion that is carried on before Newton's method corrects it.

        The way to rest leads along curved valleys, in which single Newton steps zigzag. coasted: iterations since that
        was of no avail.
        """
        return min(MOST_COAST, coasted / (coasted + COAST_RAMP))

    def approach(self, before: State, state: State, direction: float) -> tuple[float, float]:
        """Stride and stick of the next step; direction: the longest by which the last iteration moves a vertex [m].

        Near rest inertia only slows Newton's method down, and friction, whose force depends on the slip of each step,
        would let everything that it holds creep without end: its slip is taken back with the motion that is left, so
        that the sum of all creep is bounded and contacts come to stick. Taken back any faster, what has to slide would
        gather way from almost nothing in every step.
        """
        stride, stick = before.stride, before.stick
        if state.distance <= self.distance:
            return self.most_stride, self.least_stick
        near = direction <= NEAR * self.size
        if near:
            stick = min(max(STICKING * direction / self.slip, self.least_stick), 1.0)
            if state.step_length >= FULL:
                stride = min(stride * GROWTH, self.most_stride)
        if not near or state.step_length < SHORT:
            stride = max(stride / GROWTH, 1.0)
        return stride, stick

    def seems_reached(self, before: State, distance: float) -> bool:
        """Whether a step with hardly any inertia, and with friction that sticks, has hardly moved anything.

        It has to begin where forces are balanced: what contact presses with there is what friction holds with.
        """
        long = before.stride >= min(LONG_STRIDE, self.most_stride)
        near = max(distance, before.distance) <= self.distance and before.force_balance < BALANCE
        return long and before.stick <= self.least_stick and near

    # --- the end ------------------------------------------------------------------------------------------------------

    def look(self, newton: Newton, objective: Sum, bodies: Bodies, state: State) -> tuple[State, bool]:
        """The state, or a lower one that the exact Hessian leads to, and whether it is at rest.

        It is stalled where rest is farther than allowed, but nothing lower is found on the way.
        Projected to be positive, the Hessian that Newton's method uses is too stiff along soft directions, and blind
        to those along which the energy falls away.
        """
        curvature = Curvature(newton, objective, state.x)
        descent = curvature.descend(residual=EXACT_RESIDUAL, most=EXACT_MOST)
        distances = farthest(bodies, descent.d)
        if descent.negative or max(distances) > self.distance:
            x = self._follow(objective, state.x, descent)
            if x is not None:
                moved = farthest(bodies, x - state.x)
                return replace(state, x=x, distances=moved if descent.negative else distances), False
        if not descent.negative:
            state = replace(state, distances=distances)
            if state.distance > self.distance:
                return replace(state, stalled=True), False
        if self.seed is None:
            return state, True
        rng = np.random.default_rng([self.seed, state.level, state.pushes])
        push = curvature.probe(rng, residual=PROBE_RESIDUAL, most=EXACT_MOST)
        x = None if push is None else self._follow(objective, state.x, push)
        if x is None:
            return state, True
        return replace(state, x=x, distances=farthest(bodies, x - state.x), pushes=state.pushes + 1), False

    def _follow(self, objective: Sum, x: Floats, descent: Descent) -> Floats | None:
        """Positions of lower energy along a direction, None where there are none."""
        value = objective.value(x)
        if not descent.negative:
            taken = search(objective, x, descent.d, value, objective.max_step(x, descent.d))
            return taken[0] if taken is not None and taken[1] < value else None
        d = descent.d / np.sqrt((descent.d**2).sum(axis=1).max())
        lowest, way = None, self.distance
        for _ in range(DOUBLINGS):
            part = objective.max_step(x, way * d)
            there = frozen(x + part * way * d)
            energy = objective.value(there)
            if energy < value:
                lowest, value = there, energy
            # just beyond buckling, the valley beside a saddle is nearer than what counts as rest
            shorter = lowest is None
            if not shorter and (part < 1.0 or lowest is not there):
                break
            way *= 0.5 if shorter else 2.0
        return lowest


@dataclass(frozen=True)
class Aim:
    """What ends a level: rest, or where that is None a Newton direction d with ‖d‖ ≤ √n h tol [m/s]."""

    tol: float
    rest: Rest | None = None

    def left(self, state: State) -> float:
        """How many times as far from its end a state is as it may be."""
        return state.residual / self.tol if self.rest is None else state.distance / self.rest.distance

    def describe(self, state: State) -> str:
        """How far from its end a state is."""
        if self.rest is None:
            return f"|d|/(h√n) {state.residual:.2e}"
        if not np.isfinite(state.distance):
            return "to rest –"
        return f"to rest {1e3 * state.distance:.2g} mm ({100.0 * state.distance / self.rest.size:.2g} %)"


def farthest(bodies: Bodies, d: Floats) -> tuple[float, ...]:
    """Length [m] of the longest of the displacements d (n, 3) on each simulated body."""
    lengths = np.sqrt((d**2).sum(axis=1))
    return tuple(float(bodies.part(lengths, body).max(initial=0.0)) for body in range(bodies.simulated))
