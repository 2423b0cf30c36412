"""A feasible start on a finer level from a coarse level's state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plisse.core.errors import SceneError
from plisse.core.potential import Clock, Floats, Potential, Sum, frozen
from plisse.energies.arap import Arap
from plisse.energies.inertia import Inertia
from plisse.progressive.assemble import System
from plisse.solve.newton import Newton

ROUNDS = 12  # of going on with fewer vertices
TOGETHER = 2.0  # stencils that allow less than this multiple of the step are frozen with the limiting one
NEARLY = 0.05  # and those that allow less than so much more of the way
PATIENCE = 20  # Newton iterations of the strain relaxation that may pass without mending a triangle
UNDER = 1e-6  # part of the limit by which a stretch must stay below it


def safe_start(
    system: System, newton: Newton, clock: Clock, x_up: Floats, target: Floats, odd: NDArray[np.bool_]
) -> Iterator[Floats]:
    """Positions after each Newton iteration of the strain relaxation, and last the start. [Zhang2022] Algorithm 1.

    x_up: coarse positions and midpoints, free of intersections as the surface is what it was; target: where the
    prolongation wants the vertices; odd: the midpoints among them (n,).
    Differs: even vertices help where odd ones alone cannot mend a triangle; the last move freezes the vertices that
    limit it and goes on with the others.
    """
    x = frozen(x_up)
    barriers = list(system.contact_parts)
    if system.strain_limit is not None:
        for relaxed in _relax_strain(system, newton, clock, x, target, odd):
            x = relaxed
            yield x
        barriers.append(system.strain_limit)
    p = np.where(system.free[:, None], target - x, 0.0)
    yield advance(barriers, x, p) if p.any() else x


def advance(barriers: Sequence[Potential], x: Floats, p: Floats) -> Floats:
    """As far along p as the barriers let each vertex go: those that limit a step stay behind, the others go on."""
    for _ in range(ROUNDS):
        found = [pair for part in barriers for pair in part.limits(x, p)]
        step = min((float(allowed.min(initial=1.0)) for _, allowed in found), default=1.0)
        x = frozen(x + step * p)
        if step == 1.0:
            break
        p = (1.0 - step) * p
        for nodes, allowed in found:
            p[nodes[allowed < min(1.0, TOGETHER * step + NEARLY)]] = 0.0
    return x


def _relax_strain(
    system: System, newton: Newton, clock: Clock, x: Floats, target: Floats, odd: NDArray[np.bool_]
) -> Iterator[Floats]:
    """Moves odd vertices, then all free ones, until every triangle is below its strain limit."""
    model = system.model
    inertia = Inertia(system.mass, target, system.scene.time.step)
    for moving in (system.free & odd, system.free):
        fewest, since = len(odd), 0
        while since < PATIENCE:
            over = _over_limit(system, x)
            if not over.any():
                return
            since = 0 if over.sum() < fewest else since + 1
            fewest = min(fewest, int(over.sum()))
            pull = Arap(model.mesh, selected=over, kappa=model.E, thickness=model.thickness)
            kept = model.strain_limit(selected=~over)
            assert kept is not None
            objective = Sum([inertia, *system.contact_parts, kept, pull], clock)
            (iterate,) = newton.iterate(objective, x, moving, stop=0.0, max_iterations=1)
            if iterate.step == 0.0 or np.array_equal(iterate.x, x):
                break
            x = iterate.x
            yield x
    if _over_limit(system, x).any():
        raise SceneError(
            f"Level {system.level} cannot be brought below the strain limit from level {system.level - 1}: raise "
            'strain_limit, or use hierarchy.prolongation = "linear".'
        )


def _over_limit(system: System, x: Floats) -> NDArray[np.bool_]:
    """Triangles (m,) whose stretch is not below their limit."""
    limit = system.model.limits
    limited = np.isfinite(limit)
    over = np.zeros(len(limit), bool)
    assert system.strain_limit is not None
    over[limited] = system.strain_limit.stretches(x)[:, 0] >= limit[limited] * (1.0 - UNDER)
    return over
