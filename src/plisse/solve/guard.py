"""Numbers that are not finite stop a solve with a sentence, before a factorisation that would not return."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from plisse.core.arrays import Bools, Floats
from plisse.core.errors import SceneError
from plisse.core.potential import Hessian, Sum

NAMED = 5  # vertices that are named one by one


def start_value(objective: Sum, x: Floats, free: Bools) -> float:
    """The objective's value [J] at x (n, 3); raises SceneError where one of both is not finite."""
    astray: Bools = np.asarray(~np.isfinite(x).all(axis=1))
    if astray.any():
        raise SceneError(f"The positions are not finite{_at(astray)}: start from another state or mesh.")
    value = objective.value(x)
    if not math.isfinite(value):
        raise _blame(objective, x, free)
    return value


def check_linear_system(
    gradient: Floats, hessian: Hessian, values: Floats, objective: Sum, x: Floats, free: Bools
) -> None:
    """Raises SceneError unless gradient and Hessian at x (n, 3), and the matrix values made of it, are finite.

    What prescribed vertices have does not matter. A sum is finite only if all of its numbers are, and costs no memory.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        sums = [values.sum(), *(each[free].sum() for each in (gradient, *hessian.rank_one))]
    if not all(map(math.isfinite, sums)):
        raise _blame(objective, x, free)


def _blame(objective: Sum, x: Floats, free: Bools) -> SceneError:
    """The first potential with a result that is not finite, in a sentence."""
    for part in objective.parts:
        for what, bad in _results(part.value(x), part.gradient(x), part.hessian(x), free):
            return SceneError(
                f"The {what} of {type(part).__name__} is not finite{_at(bad)}: if this energy is your own, look there "
                "for a division by zero, or for a root or logarithm outside its domain; otherwise start from a state "
                "that is less deformed or less close to contact."
            )
    return SceneError("The sum of all energies or of their derivatives overflows: use smaller stiffnesses or sizes.")


def _results(value: float, gradient: Floats, hessian: Hessian, free: Bools) -> Iterator[tuple[str, Bools]]:
    """Which results are not finite, and at which of the free vertices (n,)."""
    slope, curve = ~np.isfinite(gradient).all(axis=1) & free, _where(hessian, free)
    if not math.isfinite(value):
        yield "energy", slope if slope.any() else curve
    if slope.any():
        yield "gradient", slope
    if curve.any():
        yield "Hessian", curve


def _where(hessian: Hessian, free: Bools) -> Bools:
    """The free vertices (n,) at which a Hessian is not finite."""
    bad = np.zeros(len(free), bool)
    for block in hessian.blocks:
        m, k = block.nodes.shape
        pairs = ~np.isfinite(block.dense().reshape(m, k, 3, k, 3)).all(axis=(2, 4))
        both = free[block.nodes]
        bad[block.nodes[(pairs & both[:, :, None] & both[:, None, :]).any(axis=2)]] = True
    if hessian.diagonal is not None:
        bad |= ~np.isfinite(hessian.diagonal)
    for vector in hessian.rank_one:
        bad |= ~np.isfinite(vector).all(axis=1)
    return bad & free


def _at(bad: Bools) -> str:
    """' at vertices 1, 2 and 3 (…)', or nothing where there are none."""
    found: Sequence[int] = np.flatnonzero(bad).tolist()
    if not found:
        return ""
    named, more = ", ".join(map(str, found[:NAMED])), len(found) - NAMED
    also = f" and {more:,} more" if more > 0 else ""
    return f" at {'vertex' if len(found) == 1 else 'vertices'} {named}{also} (counted from 0 over all bodies)"
