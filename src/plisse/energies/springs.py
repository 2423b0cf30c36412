"""Springs that pull vertices to places: handles that give way [Zhang2022] §5.4."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.potential import Hessian, Potential


class Springs(Potential):
    """½ Σ k ‖x − x*‖²: stiffness k (n,) [N/m], zero where no spring pulls, places target x* (n, 3) [m]."""

    def __init__(self, stiffness: Floats, target: Floats) -> None:
        self._stiffness, self._target = stiffness, target

    def value(self, x: Floats) -> float:
        return 0.5 * float(self._stiffness @ ((x - self._target) ** 2).sum(axis=1))

    def gradient(self, x: Floats) -> Floats:
        return np.asarray(self._stiffness[:, None] * (x - self._target))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian(diagonal=self._stiffness)

    def load(self, x: Floats) -> tuple[float, float]:
        """Σ ‖f‖ [N], which the shell balances itself where nothing else pulls."""
        return 0.0, float(np.linalg.norm(self.gradient(x), axis=1).sum())
