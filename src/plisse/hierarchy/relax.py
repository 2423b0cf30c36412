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
from plisse.core.rings import within_rings
from plisse.energies.inertia import Inertia
from plisse.hierarchy.advance import advance, filtering
from plisse.hierarchy.expand import relief_of
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

SMOOTHING = 5  # Newton iterations without contact
THIN, WIDE = 0.5, 2.0  # area of triangles that are relaxed among others, over that at rest or where they are wanted
RINGS = 2  # of triangles about them that move along
MOST = 40  # Newton iterations of that
# Of contact, times what it has otherwise: layers that are strained against each other have to slide until they come
# free, and can slide by no more than the root of their gap in a step.
FIRMNESS = 1e3
GAIN, PATIENCE = 0.02, 3  # part of the energy that so many iterations must gain
MOSTLY = 0.25  # part of the vertices: where more are concerned, the level itself is the place to relax them


def relax_target(problem: Problem, newton: Newton, clock: Clock, x: Floats, curved: Bools, edge: float) -> Floats:
    """Positions near x (n, 3) [m] without strains of wavelengths below some coarse edges; contact is not looked at.

    Vertices are held with E τ A/ℓ², ℓ = edge [m]: what is longer than that stays. curved: vertices (n,) of bodies that
    are not flat at rest. Flat ones are prolonged along the coarse surface, which strains them little, and which is
    clear: layers that press on each other would only be drawn through each other.
    """
    hold, free = problem.stretch_work / edge**2, problem.free & curved
    if not hold[free].any():
        return x
    parts = [part for part in problem.eased(0.0).potentials if _is_free_of_limits(part)]
    objective = Sum([Inertia(hold, x, 1.0), *parts], clock)
    for iterate in newton.iterate(objective, frozen(x), free, stop=0.0, max_iterations=SMOOTHING):
        x = iterate.x
    return x


def relax_locally(
    problem: Problem, newton: Newton, clock: Clock, x: Floats, target: Floats, *, h: float
) -> Generator[Floats, None, Floats]:
    """Feasible positions with less strain about triangles that are thin or wide, and vertices that missed their target.

    target: where vertices were wanted (n, 3) [m]. Triangles over their strain limit are pulled back meanwhile.
    [Zhang2023] §4.4.3. Differs: all patches at once, and what holds one back does not hold the others; contact is much
    stiffer from the first iteration on, not in stages.
    """
    free = _around(problem, x, target) & problem.free
    if not free.any() or free.sum() > MOSTLY * problem.free.sum():
        return x
    limit = problem.strain_limit
    kept = [part for part in problem.eased(0.0).potentials if limit is None or part is not limit]
    parts = [part.around(free, FIRMNESS) if isinstance(part, Barrier) else part for part in kept]
    inertia, values = Inertia(problem.mass, x, h), list[float]()
    for _ in range(MOST):
        limits = [] if limit is None else relief_of(limit, limit.broken(x))
        objective = Sum([inertia, *parts, *limits], clock)
        (iterate,) = newton.iterate(objective, frozen(x), free, stop=0.0, max_iterations=1, once=True)
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


def _around(problem: Problem, x: Floats, target: Floats) -> Bools:
    """Vertices (n,) within some rings of those off their target, or of simulated triangles with strange areas."""
    mesh = problem.surface
    if mesh is None:
        return np.zeros(len(x), bool)
    triangles = mesh.triangles[problem.bodies.is_simulated[mesh.triangles[:, 0]]]
    area, at_rest = _areas(x, triangles), _areas(mesh.X, triangles)
    # what is stretched where it is wanted, as a wrung mat is, is not strange
    wide = area > WIDE * np.maximum(at_rest, _areas(target, triangles))
    out = (x != target).any(axis=1)
    out[triangles[(area < THIN * at_rest) | wide]] = True
    return within_rings(triangles, out, RINGS)


def _areas(x: Floats, triangles: np.ndarray) -> Floats:
    a, b, c = (x[triangles[:, k]] for k in range(3))
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1))
