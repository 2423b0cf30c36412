"""How a feasible state of a coarse level becomes one of the next finer level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.core.arrays import Bools, Floats
from plisse.core.errors import SceneError
from plisse.core.potential import Clock, Potential, Sum, frozen
from plisse.energies.inertia import Inertia
from plisse.energies.strain_limit import StrainLimit
from plisse.hierarchy.advance import advance, filtering
from plisse.hierarchy.maps import LinearMap
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

PATIENCE = 20  # Newton iterations of the strain relief that may pass without mending a triangle,
MENDED = 0.98  # or bringing the largest stretch so near to its limit
NEAR_RINGS = 3  # about triangles over their limit within which vertices move where new ones are no choice
RELIEF = 1e4  # stiffness that pulls triangles back to their rest shape, in units of the strain limit's


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
        problem = make_problem(x)
        yield x
        x = yield from below_limit(problem, newton, clock, x, wanted, self._midpoints.new, h=h)
        p = np.where(problem.free[:, None], wanted - x, 0.0)
        x = advance(problem.potentials, x, p) if p.any() else x
        yield x
        return Start(problem, x, wanted)


def below_limit(
    problem: Problem,
    newton: Newton,
    clock: Clock,
    x: Floats,
    wanted: Floats | None,
    new: Bools | None,
    *,
    h: float,
    firmness: float = 1.0,
) -> Generator[Floats, None, Floats]:
    """Positions without a triangle over its strain limit from x (n, 3) [m], near those wanted if any are.

    new: vertices (n,) that the coarse level does not have, which move first; None for those near such triangles.
    firmness: of contact meanwhile.
    """
    moving = (NEAR_RINGS if new is None else problem.free & new, problem.free)
    for relieved in relieve_strain(problem, newton, clock, x, wanted, moving, h=h, firmness=firmness):
        x = relieved
        yield x
    if problem.strain_limit is not None and problem.strain_limit.broken(x).any():
        raise SceneError(
            f"Level {problem.level} cannot be brought below the strain limit from level {problem.level - 1}: raise "
            'strain_limit, or use hierarchy.prolongation = "linear".'
        )
    return x


def relieve_strain(
    problem: Problem,
    newton: Newton,
    clock: Clock,
    x: Floats,
    target: Floats | None,
    moving: Sequence[Bools | int],
    *,
    h: float,
    firmness: float = 1.0,
) -> Iterator[Floats]:
    """Positions (n, 3) [m] on the way to where every triangle is below its strain limit, if that can be reached.

    target: where vertices are wanted (n, 3) [m], None for wherever they come to lie. moving: vertices (n,) that may
    move, or the number of rings about triangles over their limit within which free ones do, one choice after the other
    until one suffices. Contact, so many times as firm, and the user's own barriers are kept.
    """
    limit = problem.strain_limit
    if limit is None:
        return
    others = [part for part in filtering(problem.potentials) if part is not limit]
    free, barriers = np.zeros(len(x), bool), list[Potential]()
    for vertices in moving:
        fewest, least, since = len(x), np.inf, 0
        while since < PATIENCE:
            over = limit.broken(x)
            if not over.any():
                return
            count, most = int(over.sum()), limit.max_stretch_over_limit(x)
            since = 0 if count < fewest or most - 1.0 < MENDED * (least - 1.0) else since + 1
            fewest = min(fewest, count)
            least = most if since == 0 else least
            before = free
            free = vertices if isinstance(vertices, np.ndarray) else problem.free & limit.around(over, vertices, len(x))
            if not np.array_equal(free, before):
                barriers = [part.around(free, firmness) if isinstance(part, Barrier) else part for part in others]
            inertia = Inertia(problem.mass, x if target is None else target, h)
            parts = [inertia, *barriers, *relief_of(limit, over)]
            objective = Sum(parts, clock)
            (iterate,) = newton.iterate(objective, x, free, stop=0.0, max_iterations=1, once=True)
            x_next = iterate.x
            if iterate.allowed < 1.0 and iterate.step > 0.0:
                # what holds one triangle back is no reason for others to wait
                farther = advance(parts, x_next, (1.0 - iterate.step) * iterate.d)
                x_next = farther if objective.value(farther) < iterate.value else x_next
            if iterate.step == 0.0 or np.array_equal(x_next, x):
                break
            x = x_next
            yield x


def relief_of(limit: StrainLimit, over: Bools) -> list[Potential]:
    """The limit of the other triangles, and what pulls those over it (m,) back to their rest shape."""
    return [limit.without(over), limit.relief(over, stiffness=RELIEF)]
