"""Problem: what a time step needs, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.contact.touching import ContactPotential
from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.bodies import Bodies
from plisse.core.mesh import Mesh
from plisse.core.potential import Clock, Past, Potential, Sum, frozen
from plisse.energies.strain_limit import StrainLimit

BALANCE = 0.02  # equilibrium asks for a resultant below this part of the applied load


@dataclass(frozen=True, eq=False)
class Scripted:
    """Vertices that are led: indices (k,), positions at the start (k, 3) [m], and their path.

    at: positions (k, 3) [m] at a time [s]; last_key: time [s] after which they rest.
    """

    vertices: Ints
    start: Floats
    at: Callable[[float], Floats]
    last_key: float = 0.0


class Problem:
    """Positions x (n, 3) [m] that minimise potentials, step by step.

    x0, v0: positions [m] and velocities [m/s] at the start, at rest when not given; free: vertices that the solver
    moves, shape (n,); mass: of the vertices [kg], shape (n,), zero where they only collide. potentials: those that stay
    the same from step to step, see `at` and `lagged` for the others. bodies: whose vertices they are, a single body's
    when not given. scripted: vertices that are led; the rest of those that are not free is fixed. strain_limit: the one
    among the potentials, if any. surface: everything that can collide, None where nothing does. reach: distance [m]
    within which a led vertex has arrived. last_key: time [s] after which nothing that is prescribed changes any more.
    """

    def __init__(
        self,
        x0: Floats,
        free: Bools,
        mass: Floats,
        potentials: Sequence[Potential],
        *,
        v0: Floats | None = None,
        bodies: Bodies | None = None,
        scripted: Sequence[Scripted] = (),
        strain_limit: StrainLimit | None = None,
        surface: Mesh | None = None,
        reach: float = np.inf,
        last_key: float = 0.0,
        level: int = 0,
    ) -> None:
        self.x0, self.free, self.mass, self.potentials = frozen(x0), free, mass, potentials
        self.v0 = np.zeros_like(x0) if v0 is None else v0
        self.bodies = Bodies.single(len(x0)) if bodies is None else bodies
        self.scripted, self.strain_limit, self.surface = scripted, strain_limit, surface
        self.reach, self.last_key, self.level = reach, last_key, level

    def at(self, t: float) -> Problem:
        """The problem with everything that is keyed in time as it is at t [s]."""
        return self

    def lagged(self, x: Floats, v: Floats, h: float, motion: Floats, *, stick: float = 1.0) -> list[Potential]:
        """Potentials that are lagged at the start x, v of a step of h [s].

        motion: the displacement to expect [m]; stick: factor on the slip below which friction sticks.
        """
        return []

    def damping(self, past: Past, h: float) -> list[Potential]:
        """Potentials that resist the rates of a step in motion, see `Prediction`: past, and h [s] of its rates."""
        return []

    def eased(self, part: float) -> Problem:
        """The problem at a part of the way, in iterations, from a level's start to where nothing is made easier."""
        return self

    # --- what is prescribed -------------------------------------------------------------------------------------------

    @cached_property
    def is_scripted(self) -> Bools:
        """Whether a vertex is led, shape (n,)."""
        out = np.zeros(len(self.x0), bool)
        for entry in self.scripted:
            out[entry.vertices] = True
        return out

    def prescribed(self, x: Floats, t: float) -> Floats:
        """x with every scripted vertex at its place of time t [s]."""
        out = x.copy()
        for entry in self.scripted:
            out[entry.vertices] = entry.at(t)
        return out

    def missed(self, x: Floats, t: float) -> float:
        """Largest distance [m] of a scripted vertex from its place of time t [s]."""
        return float(np.sqrt(((x - self.prescribed(x, t)) ** 2).sum(axis=1).max(initial=0.0)))

    @property
    def firmness(self) -> float:
        """How stiff contact is about a vertex [N/m], 0 where nothing touches."""
        return 0.0

    @property
    def stretch_work(self) -> Floats:
        """E τ A about each vertex [J], (n,): twice the work that stretches it to twice its length, were it linear."""
        return np.zeros(len(self.x0))

    @property
    def simulated_triangles(self) -> int:
        """Triangles of the simulated bodies' surfaces."""
        if self.surface is None:
            return 0
        return int(self.bodies.is_simulated[self.surface.triangles[:, 0]].sum())

    # --- contact ------------------------------------------------------------------------------------------------------

    @property
    def contact_parts(self) -> list[ContactPotential]:
        return [part for part in self.potentials if isinstance(part, ContactPotential)]

    @property
    def barrier(self) -> Barrier | None:
        """The contact of surfaces with each other, if there is any."""
        return next((part for part in self.potentials if isinstance(part, Barrier)), None)

    def contact_count(self, x: Floats) -> int:
        return sum(part.count(x) for part in self.contact_parts)

    def clearance(self, x: Floats) -> float:
        """Smallest distance over the contact offset; above 1 in every admissible state."""
        return min((part.clearance(x) for part in self.contact_parts), default=np.inf)


def potential_energy(problem: Problem, x: Floats, clock: Clock) -> float:
    """Total potential without inertia and friction [J]."""
    return Sum(problem.potentials, clock).value(x)


def all_forces(problem: Problem, x: Floats, lagged: Sequence[Potential], clock: Clock) -> Floats:
    """The gradient of everything but inertia [N], shape (n, 3)."""
    return Sum([*problem.potentials, *lagged], clock).gradient(x)


def force_balance(
    problem: Problem, x: Floats, lagged: Sequence[Potential], clock: Clock, *, forces: Floats | None = None
) -> float:
    """‖Σ forces on the free vertices‖ over the applied load: inner forces cancel, so contact, pins and loads remain.

    forces: `all_forces`, where they are known.
    """
    parts = [*problem.potentials, *lagged]
    forces = all_forces(problem, x, lagged, clock) if forces is None else forces
    open_load, closed_load = Sum(parts, clock).load(x)
    load = open_load if open_load > 0.0 else closed_load
    # what is led loads the bodies, too
    load = max(load, float(np.linalg.norm(forces[problem.is_scripted], axis=1).sum()))
    if load == 0.0:
        # nothing but what holds: its pull is the load, but one that moves the bodies by less than the reach within a
        # second is rounding
        least = float(problem.mass.sum()) * problem.reach if np.isfinite(problem.reach) else 0.0
        load = max(float(np.linalg.norm(forces[~problem.free], axis=1).sum()), least)
    resultant = float(np.linalg.norm(forces[problem.free].sum(axis=0)))
    return resultant / load if load > 0.0 else resultant
