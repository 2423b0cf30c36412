"""A move that stops, vertex by vertex, where something is in the way."""

from __future__ import annotations

from collections.abc import Sequence

from plisse.core.arrays import Floats
from plisse.core.potential import Potential, frozen

ROUNDS = 12  # of going on with fewer vertices
TOGETHER = 2.0  # stencils that allow less than this multiple of the step are frozen with the limiting one
NEARLY = 0.05  # and those that allow less than so much more of the way


def advance(potentials: Sequence[Potential], x: Floats, p: Floats) -> Floats:
    """As far along p as the potentials let each vertex go: those that limit a step stay behind, the others continue."""
    parts = filtering(potentials)
    for _ in range(ROUNDS):
        step = min((part.max_step(x, p) for part in parts), default=1.0)
        # following every stencil farther than what is frozen takes a hundred times as long between pressed layers
        ahead = min(1.0, TOGETHER * step + NEARLY)
        limits = [pair for part in parts for pair in part.limits(x, ahead * p)] if step < 1.0 else []
        x = frozen(x + step * p)
        if step == 1.0:
            break
        p = (1.0 - step) * p
        for nodes, allowed in limits:
            p[nodes[allowed < 1.0]] = 0.0
    return x


def filtering(potentials: Sequence[Potential]) -> list[Potential]:
    """Those that limit a step, and so must never be crossed: contact, strain limits, a user's own barriers."""
    return [part for part in potentials if type(part).max_step is not Potential.max_step]
