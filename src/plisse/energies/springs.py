"""Springs that pull vertices to places: handles that give way [Zhang2022] §5.4."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats
from plisse.energies.inertia import Inertia


class Springs(Inertia):
    """½ Σ k ‖x − x*‖²: stiffness k (n,) [N/m], zero where no spring pulls, places target x* (n, 3) [m]."""

    def __init__(self, stiffness: Floats, target: Floats) -> None:
        super().__init__(stiffness, target, 1.0)

    def load(self, x: Floats) -> tuple[float, float]:
        """Σ ‖f‖ [N], which the shell balances itself where nothing else pulls."""
        return 0.0, float(np.linalg.norm(self.gradient(x), axis=1).sum())
