"""One time step: a feasible start, scripted vertices brought to their places, Newton on the incremental potential."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.potential import Clock, Potential, Sum, frozen
from plisse.energies.inertia import AugmentedLagrangian, Inertia, Rigidity
from plisse.hierarchy.advance import advance, filtering
from plisse.progressive.proxy import Prolonged
from plisse.progressive.rest import EXACT_MOST, EXACT_RESIDUAL, NEAR, Rest, farthest
from plisse.solve.curvature import Curvature
from plisse.solve.newton import Iterate, Newton, Refine, norm
from plisse.solve.problem import Problem, force_balance

ARRIVED = 0.999  # part of the way after which a scripted vertex counts as arrived [Li2020]
PULL = 1e3  # first stiffness of the augmented Lagrangian, in units of mean mass / h²
PULL_MOST = 1e9
FIRM, FIRMEST = 1e2, 1e4  # the same in units of the contact's own stiffness, where less does not hold its ground
STIFF = 1e4  # of the links that keep a lagging body in shape, in units of the pull
STILL = 0.4  # part of the distance that counts as rest: iterations of a step end when one moves nothing farther
ROOM = 0.5  # part of the room before contact that coasting, or going ahead, takes where it would touch
BALANCED = 1e-3  # resultant over load that ends a step near rest: friction that all but holds is told from what does
CUT_SHORT = 0.5  # part of an iteration that contact allows: below it, bodies go on one by one
PAST = 0.9  # part of the gap that a step goes through at most
TOUCH = 0.97  # part of contact's reach at which they stop
AHEAD = 50.0  # times contact's reach that they go at most
TOGETHER = 1.01  # bodies that are stopped by less than this multiple of a step are stopped with it
EXACT_AFTER = 8  # iterations of a step of motion after which its directions are those of the exact Hessian
LEAST_PART = 1e-3  # of what is allowed of a direction: where less is taken, it is not one of descent
UPHILL = 300.0  # times the inertia at a step's start, by which where it is expected to end may be higher than that
SETTLED = 1e-2  # a body that a round moves by less than this part of the reach is held for good


@dataclass(frozen=True, eq=False)
class Step:
    """What one step is about: start x_start, scripted places x_target, inertial target x_hat, effective step h [s]."""

    x_start: Floats
    x_target: Floats
    x_hat: Floats
    h: float
    motion: Floats  # displacement that the last step made: a guess for this one
    lagged: Sequence[Potential]
    stride: float = 1.0  # factor on the inertia's h
    guess: Floats | None = None  # where it may end


def solve_step(
    problem: Problem,
    newton: Newton,
    step: Step,
    clock: Clock,
    *,
    stop: float,
    max_iterations: int,
    bring_iterations: int,
    rest: Rest | None = None,
    coasted: int = 0,
) -> Iterator[Iterate]:
    """Newton iterates of one step; an augmented Lagrangian brings on scripted vertices that something holds back.

    max_iterations: of the step itself; bring_iterations: of bringing scripted vertices to their places before it. rest:
    where it is sought; coasted: iterations since motion was last carried on to no avail.
    """
    objective = step_objective(problem, step, clock)
    x, arrived = _start(problem, step, objective)
    if not arrived:
        for iterate in _bring(problem, newton, step, objective, x, stop=stop, max_iterations=bring_iterations):
            x = iterate.x
            yield replace(iterate, bringing=True)
    if rest is None:
        x = _ahead(problem, step, objective, x) if arrived else x
        exact = Sum([part.thawed if isinstance(part, Prolonged) else part for part in objective.parts], objective.clock)
        frozen_too = any(a is not b for a, b in zip(exact.parts, objective.parts, strict=True))
        refine = _exact_late(newton, exact) if objective.preconditions and problem.free.any() else None
        iterates = newton.iterate(objective, x, problem.free, stop=stop, max_iterations=max_iterations, refine=refine)
        for made, iterate in enumerate(iterates):
            if frozen_too and iterate.step < LEAST_PART * iterate.allowed:
                # forces with frozen offsets lead uphill here
                left = max_iterations - made
                yield from newton.iterate(exact, x, problem.free, stop=stop, max_iterations=left, refine=refine)
                return
            x = iterate.x
            yield iterate
    else:
        yield from _seek_rest(problem, newton, step, objective, x, rest, coasted, max_iterations=max_iterations)


def step_objective(problem: Problem, step: Step, clock: Clock) -> Sum:
    """The incremental potential of a step."""
    return Sum([Inertia(problem.mass, step.x_hat, step.stride * step.h), *problem.potentials, *step.lagged], clock)


def _seek_rest(
    problem: Problem,
    newton: Newton,
    step: Step,
    objective: Sum,
    x: Floats,
    rest: Rest,
    coasted: int,
    *,
    max_iterations: int,
) -> Iterator[Iterate]:
    """Newton iterates that carry a part of the motion on, until one moves nothing farther than rest allows.

    Forces have to be balanced then, too.
    """
    motion, value = step.motion, objective.value(x)
    for _ in range(max_iterations):
        iterate = _coast(problem, newton, objective, x, value, rest.coast(coasted) * motion) if coasted else None
        if iterate is not None and iterate.discarded:
            yield iterate
            iterate, coasted = None, 0
        if iterate is None:
            iterate = _let_fall(problem, objective, _iterate(newton, objective, x, problem.free))
        motion, x, value, coasted = iterate.x - x, iterate.x, iterate.value, coasted + 1
        moved = max(*farthest(problem.bodies, iterate.d), *farthest(problem.bodies, motion))
        # friction that does not slide yet is so stiff that hardly any way is left where forces are not balanced
        done = moved <= STILL * rest.distance and force_balance(problem, x, step.lagged, objective.clock) < BALANCED
        yield replace(iterate, converged=done)
        if done or iterate.stalled or moved > NEAR * rest.size:
            return


def _exact_late(newton: Newton, objective: Sum) -> Refine:
    """Leaves the first directions of a step as they are: mostly they suffice, and cost less."""
    made, exact = count(), _exact(newton, objective)
    return lambda x, p: p if next(made) < EXACT_AFTER else exact(x, p)


def _exact(newton: Newton, objective: Sum) -> Refine:
    """Makes the exact Hessian's direction of one that was found with another that is not even near it."""

    def refine(x: Floats, p: Floats) -> Floats:
        descent = Curvature(newton, objective, x).descend(residual=EXACT_RESIDUAL, most=EXACT_MOST)
        if not descent.negative:
            return descent.d
        return p if descent.short is None else descent.short

    return refine


def _iterate(newton: Newton, objective: Sum, x: Floats, free: Bools) -> Iterate:
    """One Newton iteration, with the exact Hessian where the one that is factorised is not even near it."""
    refine = _exact(newton, objective) if objective.preconditions and free.any() else None
    return next(newton.iterate(objective, x, free, stop=0.0, max_iterations=1, refine=refine))


def _coast(problem: Problem, newton: Newton, objective: Sum, x: Floats, value: float, motion: Floats) -> Iterate | None:
    """One Newton iteration from where motion leads to, None where something is in the way.

    That place may be higher: a straight line leaves a curved valley, into which the iteration leads back. It is
    discarded where it does not end below value, the objective at x [J].
    """
    p = np.where(problem.free[:, None], motion, 0.0)
    room = objective.max_step(x, p)
    y = frozen(x + (p if room == 1.0 else ROOM * room * p))
    if not np.isfinite(objective.value(y)):
        return None
    iterate = _iterate(newton, objective, y, problem.free)
    if iterate.value < value:
        return replace(iterate, stalled=False)
    return replace(iterate, x=x, value=value, discarded=True)


def _let_fall(problem: Problem, objective: Sum, iterate: Iterate) -> Iterate:
    """The iterate, and where contact cut it short, with every body at the end of its own way.

    Of a stack of sheets in the air only the lowest is about to land: the others need not wait for it. What comes to
    where contact begins to push stays there, and the others go on.
    """
    bodies = problem.bodies
    if bodies.simulated == 1 or iterate.allowed >= CUT_SHORT:
        return iterate
    # a long fall passes so many sheets that finding all of them takes longer than falling in several steps
    p = iterate.d * min(1.0 - iterate.step, AHEAD * problem.reach / max(farthest(bodies, iterate.d)))
    x = iterate.x
    for _ in range(bodies.simulated):
        of_parts = [part.limits(x, p) for part in filtering(objective.parts)]
        if not all(of_parts):
            # a user's barrier that limits everything together does not say which body may go on
            return iterate
        limits = [pair for pairs in of_parts for pair in pairs if len(pair[1])]
        step = min((float(allowed.min()) for _, allowed in limits), default=1.0)
        if step == 1.0:
            x = frozen(x + p)
            break
        ahead = np.unique(np.concatenate([nodes[allowed <= TOGETHER * step].ravel() for nodes, allowed in limits]))
        way = float(np.sqrt((p[ahead] ** 2).sum(axis=1).max()))
        step = min(max(step / PAST - TOUCH * problem.reach / way, 0.0), step)
        x, p = frozen(x + step * p), (1.0 - step) * p
        p[np.isin(bodies.of_vertex, bodies.of_vertex[ahead])] = 0.0
    value = objective.value(x)
    return replace(iterate, x=x, value=value) if value < iterate.value else iterate


def _start(problem: Problem, step: Step, objective: Sum) -> tuple[Floats, bool]:
    """A feasible start with scripted vertices at their places, or x_start and False where something is in the way."""
    if np.array_equal(step.x_target, step.x_start):
        # nothing is led anywhere: free vertices start where they are, or statics would gather momentum
        return step.x_start, True
    to_place = step.x_target - step.x_start
    # first carry the free vertices along as in the last step, then leave them where they are
    for free_motion in (step.motion, np.zeros_like(step.motion)):
        p = np.where(problem.free[:, None], free_motion, to_place)
        x = frozen(step.x_start + p)
        if objective.max_step(step.x_start, p) == 1.0 and np.isfinite(objective.value(x)):
            return x, True
    return step.x_start, False


def _ahead(problem: Problem, step: Step, objective: Sum, x: Floats) -> Floats:
    """Where the step is expected to end, or x where that would be far uphill.

    Where contact or limits are in the way, it is half of the way that each vertex has: nothing is pressed against
    anything.
    """
    if step.guess is None:
        return x
    p = np.where(problem.free[:, None], step.guess - x, 0.0)
    y = advance(objective.parts, x, p)
    if not np.array_equal(y, x + p):
        p = ROOM * (y - x)
        y = frozen(x + p)
        if objective.max_step(x, p) < 1.0:
            return x
    most = UPHILL * Inertia(problem.mass, step.x_hat, step.stride * step.h).value(x)
    return y if objective.value(y) - objective.value(x) <= most else x


def _bring(
    problem: Problem, newton: Newton, step: Step, objective: Sum, x: Floats, *, stop: float, max_iterations: int
) -> Iterator[Iterate]:
    """Pulls blocked scripted vertices to their targets until they have arrived or contact holds them for good."""
    scripted = problem.is_scripted
    weight = np.where(scripted, 1.0, 0.0)
    mean_mass = float(problem.mass[problem.mass > 0.0].mean())
    way = norm((step.x_start - step.x_target)[scripted])
    inertia, firm = mean_mass / step.h**2, FIRM * problem.firmness
    pull = AugmentedLagrangian(weight, step.x_target, PULL * inertia, np.zeros_like(x))
    stiffest = PULL_MOST * inertia
    links = _links(problem)
    used, still = 0, SETTLED * problem.reach * np.sqrt(scripted.sum())
    while used < max_iterations:
        before, weak = x, False
        shape = Rigidity(links, step.x_target, STIFF * pull.kappa)
        both = Sum([*objective.parts, pull, shape], objective.clock)
        for iterate in newton.aside.iterate(
            both, x, problem.free | scripted, stop=stop, max_iterations=max_iterations - used
        ):
            x, used = iterate.x, used + 1
            left = norm((x - step.x_target)[scripted]) / way
            # a pull by mass and time step is nothing to a shell of metal, which pushes back
            weak = pull.kappa < firm and (left > 1.0 or norm((x - before)[scripted]) <= still)
            if weak:
                yield replace(iterate, x=before)
                break
            yield iterate
            if left <= 1.0 - ARRIVED:
                return
        if weak:
            x, stiffest = before, max(stiffest, FIRMEST * firm)
            pull = AugmentedLagrangian(weight, step.x_target, firm, np.zeros_like(x))
            continue
        if norm((x - before)[scripted]) <= still:
            return
        pull = pull.updated(x) if pull.kappa >= stiffest else pull.stiffer()


def _links(problem: Problem) -> Ints:
    """Each scripted vertex linked to four spread ones of its body."""
    out = [np.empty((0, 2), np.int32)]
    for entry in problem.scripted:
        v, X = entry.vertices, entry.start
        far = [int(np.argmin(X @ d)) for d in np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])]
        for a in sorted(set(far)):
            others = np.delete(v, a)
            out.append(np.column_stack([others, np.full(len(others), v[a])]).astype(np.int32))
    return np.concatenate(out)
