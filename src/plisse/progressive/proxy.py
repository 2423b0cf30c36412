"""A finer level's energies as those of a coarse level."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.potential import Hessian, Pattern, Potential, Sum, frozen
from plisse.hierarchy.maps import LevelMap
from plisse.solve.iterative import Operator


class Prolonged(Potential):
    """E(P x): energies of a finer level at the prolonged positions, of the first vertices of x. [Zhang2022] eq. 3.

    Its gradient is Pᵀ∇E. Its Hessian with psd is not near Pᵀ∇²E P, but that of `own`, the same energies on the level's
    own mesh: a preconditioner. Without psd it is a product.
    """

    preconditions = True

    def __init__(self, fine: Sequence[Potential], P: LevelMap, own: Sequence[Potential]) -> None:
        self._fine, self._P, self._own = Sum(fine), P, own
        self._at: tuple[Floats, Floats] | None = None
        self._value: float | None = None
        self._gradient: Floats | None = None
        self._operator: tuple[Pattern, Operator] | None = None

    @property
    def thawed(self) -> Prolonged:
        """The same with its exact gradient, itself where it has that."""
        P = self._P.thawed
        return self if P is self._P else Prolonged(self._fine.parts, P, self._own)

    def _prolonged(self, x: Floats) -> Floats:
        """P x; what was found out about the last read-only x is remembered."""
        if self._at is None or self._at[0] is not x or x.flags.writeable:
            self._at = (x, frozen(self._P(x[: self._P.coarse])))
            self._value = self._gradient = None
        return self._at[1]

    def value(self, x: Floats) -> float:
        y = self._prolonged(x)
        if self._value is None:
            self._value = self._fine.value(y)
        return self._value

    def gradient(self, x: Floats) -> Floats:
        y = self._prolonged(x)
        if self._gradient is None:
            self._gradient = np.zeros_like(x)
            self._gradient[: self._P.coarse] = self._P.pull_back(x[: self._P.coarse], self._fine.gradient(y))
        return self._gradient

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Sum(self._own).hessian(x) if psd else Hessian(products=(self._product(x),))

    def _product(self, x: Floats) -> Callable[[Floats], Floats]:
        """d ↦ Pᵀ∇²E P d for d (n, 3)."""
        P, y = self._P, self._prolonged(x)
        hessian, fixed = self._fine.hessian(y, psd=False), tuple(self._fine.stencils())
        if self._operator is None:
            # what is lagged has blocks, but no stencils that stay
            pattern = Pattern.of(np.ones(P.fine, bool), [*fixed, *(block.nodes for block in hessian.blocks)])
            self._operator = pattern, Operator(pattern)
        pattern, operator = self._operator
        values = pattern.assemble(hessian, fixed=fixed)
        assert values is not None

        def product(d: Floats) -> Floats:
            fine = P.push_forward(x[: P.coarse], d[: P.coarse])
            bent = np.empty_like(fine)
            bent[pattern.rows] = operator.multiply(values, fine[pattern.rows].reshape(1, -1)).reshape(-1, 3)
            for u in hessian.rank_one:
                bent += float(np.einsum("ij,ij->", u, fine)) * u
            for fine_product in hessian.products:
                bent += fine_product(fine)
            out = np.zeros_like(d)
            out[: P.coarse] = P.pull_back(x[: P.coarse], bent)
            return out

        return product

    def stencils(self) -> Sequence[Ints]:
        return Sum(self._own).stencils()

    def load(self, x: Floats) -> tuple[float, float]:
        """Those of the level's own energies."""
        return Sum(self._own).load(x)
