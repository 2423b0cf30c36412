"""What the exact Hessian says of a state: how far rest is, or along what its energy falls away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.potential import Sum
from plisse.solve.iterative import Operator
from plisse.solve.newton import Newton


@dataclass(frozen=True, eq=False)
class Descent:
    """A direction d (n, 3) [m]: the exact Hessian's −H⁻¹∇E, or one along which the curvature is negative.

    short: what conjugate gradients had come to before they met negative curvature (n, 3) [m], None for nothing yet.
    """

    d: Floats
    negative: bool
    short: Floats | None = None


class Curvature:
    """The exact Hessian of an objective at x, for conjugate gradients with Newton's last factorisation."""

    def __init__(self, newton: Newton, objective: Sum, x: Floats) -> None:
        hessian = objective.hessian(x, psd=False)
        pattern, self._values = newton.matrix(objective, hessian)
        self._operator, self._rows, self._newton = Operator(pattern), newton.unknowns, newton
        self._rank_one = [u[self._rows].ravel() for u in hessian.rank_one]
        self._products = hessian.products
        self._gradient, self._shape = objective.gradient(x), x.shape

    def descend(self, *, residual: float, most: int) -> Descent:
        """From the gradient: Newton's direction to a relative residual, in the factor's norm, or negative curvature."""
        return self._solve(-self._gradient[self._rows].ravel(), residual, most)

    def probe(self, rng: np.random.Generator, *, residual: float, most: int) -> Descent | None:
        """Negative curvature that a random start finds, None where it finds none.

        What is symmetric has a symmetric gradient, from which no way leads off a saddle.
        """
        found = self._solve(rng.normal(size=3 * len(self._rows)), residual, most)
        if not found.negative:
            return None
        # a saddle falls off on both sides: the gradient decides, and where there is none the random start
        return Descent(-found.d, True) if float((self._gradient * found.d).sum()) > 0.0 else found

    def _multiply(self, d: Floats) -> Floats:
        out = self._operator.multiply(self._values, d[None])[0]
        for u in self._rank_one:
            out += float(np.einsum("n,n->", u, d)) * u
        for product in self._products:
            out += product(self._spread(d))[self._rows].ravel()
        return np.asarray(out)

    def _solve(self, b: Floats, residual: float, most: int) -> Descent:
        s, r = np.zeros_like(b), b
        z = self._newton.precondition(r)
        d, rz = z, _dot(r, z)
        goal = residual**2 * rz
        for iteration in range(most):
            Hd = self._multiply(d)
            curvature = _dot(d, Hd)
            if curvature <= 0.0:
                return Descent(self._spread(d), rz > 0.0, self._spread(s) if iteration else None)
            step = rz / curvature
            s = s + step * d
            r = r - step * Hd
            z = self._newton.precondition(r)
            before, rz = rz, _dot(r, z)
            if rz <= goal:
                break
            d = z + (rz / before) * d
        return Descent(self._spread(s), False)

    def _spread(self, d: Floats) -> Floats:
        out = np.zeros(self._shape)
        out[self._rows] = d.reshape(-1, 3)
        return out


def _dot(a: Floats, b: Floats) -> float:
    """aᵀb; not by BLAS, which has threads of its own."""
    return float(np.einsum("n,n->", a, b))
