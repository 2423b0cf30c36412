"""How a feasible state of a coarse level becomes one of the next finer level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Floats
from plisse.core.errors import SceneError
from plisse.core.potential import Clock, Potential, Sum, frozen
from plisse.energies.inertia import Inertia
from plisse.hierarchy.maps import LinearMap
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

ROUNDS = 12  # of going on with fewer vertices
TOGETHER = 2.0  # stencils that allow less than this multiple of the step are frozen with the limiting one
NEARLY = 0.05  # and those that allow less than so much more of the way
PATIENCE = 20  # Newton iterations of the strain relief that may pass without mending a triangle
RELIEF = 10.0  # stiffness that pulls triangles back to their rest shape, in units of the strain limit's


@dataclass(frozen=True, eq=False)
class Start:
    """A finer level's problem, a feasible start x (n, 3) [m] of it, and where the coarse level expects it to be."""

    problem: Problem
    x: Floats
    target: Floats


class Expansion(ABC):
    """From a feasible coarse state to a feasible finer one."""

    @abstractmethod
    def __call__(
        self,
        x: Floats,
        target: Floats | None,
        make_problem: Callable[[Floats], Problem],
        newton: Newton,
        clock: Clock,
        *,
        h: float,
    ) -> Generator[Floats, None, Start]:
        """Yields positions whenever it may be interrupted, and returns the start.

        x: coarse positions (n_coarse, 3) [m]; target: where the finer vertices are wanted (n, 3) [m], None for as near
        to the coarse surface as can be; make_problem: the finer level's problem from feasible positions; h: step that
        weighs the way to the target against strain [s].
        """


class MidpointExpansion(Expansion):
    """Midpoints leave the surface as it is, so they are free of intersections; strain relief; then to the target.

    [Zhang2022] Algorithm 1. Differs: even vertices help where odd ones alone cannot mend a triangle; the last move
    freezes the vertices that limit it and continues with the others.
    """

    def __init__(self, midpoints: LinearMap) -> None:
        self._midpoints = midpoints

    def __call__(
        self,
        x: Floats,
        target: Floats | None,
        make_problem: Callable[[Floats], Problem],
        newton: Newton,
        clock: Clock,
        *,
        h: float,
    ) -> Generator[Floats, None, Start]:
        x = frozen(self._midpoints(x))
        wanted = x if target is None else target
        yield x
        return (yield from finish_start(make_problem(x), newton, clock, x, wanted, self._midpoints.new, h=h))


def finish_start(
    problem: Problem, newton: Newton, clock: Clock, x: Floats, wanted: Floats, new: Bools, *, h: float
) -> Generator[Floats, None, Start]:
    """From positions x (n, 3) [m] without intersections to a feasible start: strain relief, then as far as wanted.

    new: vertices (n,) that the coarse level does not have, which move first.
    """
    for relieved in relieve_strain(problem, newton, clock, x, wanted, (problem.free & new, problem.free), h=h):
        x = relieved
        yield x
    if problem.strain_limit is not None and problem.strain_limit.broken(x).any():
        raise SceneError(
            f"Level {problem.level} cannot be brought below the strain limit from level {problem.level - 1}: raise "
            'strain_limit, or use hierarchy.prolongation = "linear".'
        )
    p = np.where(problem.free[:, None], wanted - x, 0.0)
    x = advance(problem.potentials, x, p) if p.any() else x
    yield x
    return Start(problem, x, wanted)


def advance(potentials: Sequence[Potential], x: Floats, p: Floats) -> Floats:
    """As far along p as the potentials let each vertex go: those that limit a step stay behind, the others continue."""
    for _ in range(ROUNDS):
        limits = [(part, part.limits(x, p)) for part in filtering(potentials)]
        found = [pair for _, pairs in limits for pair in pairs]
        # what sets no limit stencil by stencil may still set one for all
        steps = [part.max_step(x, p) for part, pairs in limits if not pairs]
        step = min([1.0, *steps, *(float(allowed.min(initial=1.0)) for _, allowed in found)])
        x = frozen(x + step * p)
        if step == 1.0:
            break
        p = (1.0 - step) * p
        for nodes, allowed in found:
            p[nodes[allowed < min(1.0, TOGETHER * step + NEARLY)]] = 0.0
    return x


def filtering(potentials: Sequence[Potential]) -> list[Potential]:
    """Those that limit a step, and so must never be crossed: contact, strain limits, a user's own barriers."""
    return [part for part in potentials if type(part).max_step is not Potential.max_step]


def relieve_strain(
    problem: Problem,
    newton: Newton,
    clock: Clock,
    x: Floats,
    target: Floats | None,
    moving: Sequence[Bools],
    *,
    h: float,
) -> Iterator[Floats]:
    """Positions (n, 3) [m] on the way to where every triangle is below its strain limit, if that can be reached.

    target: where vertices are wanted (n, 3) [m], None for wherever they come to lie. moving: vertices (n,) that may
    move, one choice after the other until one suffices. Contact and the user's own barriers are kept.
    """
    limit = problem.strain_limit
    if limit is None:
        return
    barriers = [part for part in filtering(problem.potentials) if part is not limit]
    for vertices in moving:
        fewest, since = len(x), 0
        while since < PATIENCE:
            over = limit.broken(x)
            if not over.any():
                return
            since = 0 if over.sum() < fewest else since + 1
            fewest = min(fewest, int(over.sum()))
            inertia = Inertia(problem.mass, x if target is None else target, h)
            parts = [inertia, *barriers, limit.without(over), limit.relief(over, stiffness=RELIEF)]
            (iterate,) = newton.iterate(Sum(parts, clock), x, vertices, stop=0.0, max_iterations=1)
            if iterate.step == 0.0 or np.array_equal(iterate.x, x):
                break
            x = iterate.x
            yield x
