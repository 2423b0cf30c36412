"""What prolongation leaves strained: released before a level begins, first without contact, then where it is tight.

A prolonged thin shell holds a hundred times the energy of the state that it leads to, in strains of the length of a
coarse edge, and triangles that found little room hold as much again. Under contact, the few pairs among these would
cut every step of the whole level short.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.contact.touching import ContactPotential
from plisse.core.arrays import Bools, Floats
from plisse.core.potential import Clock, Potential, Sum, frozen
from plisse.energies.inertia import Inertia
from plisse.hierarchy.advance import advance, filtering
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

SMOOTHING = 5  # Newton iterations without contact
THIN, WIDE = 0.5, 2.0  # area over that at rest of triangles that are relaxed among others
RINGS = 2  # of triangles about them that move along
MOST = 40  # Newton iterations of that
# Of contact, times what it has otherwise: layers that are strained against each other have to slide until they come
# free, and can slide by no more than the root of their gap in a step.
FIRMNESS = 1e3
GAIN, PATIENCE = 0.02, 3  # part of the energy that so many iterations must gain
MOSTLY = 0.25  # part of the vertices: where more are concerned, the level itself is the place to relax them


def relax_target(problem: Problem, newton: Newton, clock: Clock, x: Floats, edge: float) -> Floats:
    """Positions near x (n, 3) [m] without strains of wavelengths below some coarse edges; contact is not looked at.

    Vertices are held with E τ A/ℓ², ℓ = edge [m]: what is longer than that stays.
    """
    hold = problem.stretch_work / edge**2
    if not hold.any():
        return x
    parts = [part for part in problem.eased(0.0).potentials if _is_free_of_limits(part)]
    objective = Sum([Inertia(hold, x, 1.0), *parts], clock)
    for iterate in newton.iterate(objective, frozen(x), problem.free, stop=0.0, max_iterations=SMOOTHING):
        x = iterate.x
    return x


def relax_locally(
    problem: Problem, newton: Newton, clock: Clock, x: Floats, behind: Bools, *, h: float
) -> Generator[Floats, None, Floats]:
    """Feasible positions with less strain about triangles that are thin or wide, and vertices that are behind (n,).

    [Zhang2023] §4.4.3. Differs: all patches at once, and what holds one back does not hold the others; contact is much
    stiffer from the first iteration on, not in stages.
    """
    free = _around(problem, x, behind) & problem.free
    if not free.any() or free.sum() > MOSTLY * problem.free.sum():
        return x
    limit = problem.strain_limit
    kept = [part for part in problem.eased(0.0).potentials if limit is None or part is not limit]
    parts = [part.firmer(FIRMNESS) if isinstance(part, Barrier) else part for part in kept]
    objective = Sum([Inertia(problem.mass, x, h), *parts], clock)
    values = list[float]()
    for _ in range(MOST):
        (iterate,) = newton.iterate(objective, frozen(x), free, stop=0.0, max_iterations=1)
        x, value = iterate.x, iterate.value
        if iterate.allowed < 1.0:
            farther = advance(objective.parts, x, (1.0 - iterate.step) * iterate.d)
            there = objective.value(farther)
            x, value = (farther, there) if there < value else (x, value)
        yield x
        values.append(value)
        if iterate.stalled or (len(values) > PATIENCE and values[-PATIENCE - 1] - value < GAIN * abs(value)):
            break
    return x


def _is_free_of_limits(part: Potential) -> bool:
    return not isinstance(part, ContactPotential) and part not in filtering([part])


def _around(problem: Problem, x: Floats, behind: Bools) -> Bools:
    """Vertices (n,) within some rings of those that are behind, or of simulated triangles with strange areas."""
    mesh = problem.surface
    if mesh is None:
        return np.zeros(len(x), bool)
    triangles = mesh.triangles[problem.bodies.is_simulated[mesh.triangles[:, 0]]]
    part = _areas(x, triangles) / np.maximum(_areas(mesh.X, triangles), np.finfo(float).tiny)
    out = behind.copy()
    out[triangles[(part < THIN) | (part > WIDE)]] = True
    for _ in range(RINGS if out.any() else 0):
        out[triangles[out[triangles].any(axis=1)]] = True
    return out


def _areas(x: Floats, triangles: np.ndarray) -> Floats:
    a, b, c = (x[triangles[:, k]] for k in range(3))
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1))
