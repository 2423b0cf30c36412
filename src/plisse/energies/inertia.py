"""Quadratic pulls of vertices towards targets: inertia, and the augmented Lagrangian of scripted vertices."""

from __future__ import annotations

import numpy as np

from plisse.core.potential import Floats, Hessian, Potential


class Inertia(Potential):
    """1/(2 h²) Σ m ‖x − x̂‖²: mass m (n,) [kg], inertial target x_hat (n, 3) [m], step h [s]."""

    def __init__(self, mass: Floats, x_hat: Floats, h: float) -> None:
        self._stiffness = mass / h**2
        self._target = x_hat

    def value(self, x: Floats) -> float:
        return 0.5 * float(self._stiffness @ ((x - self._target) ** 2).sum(axis=1))

    def gradient(self, x: Floats) -> Floats:
        return np.asarray(self._stiffness[:, None] * (x - self._target))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian(diagonal=self._stiffness)


class AugmentedLagrangian(Potential):
    """κ/2 Σ m ‖x − x*‖² − Σ √m λ·(x − x*) over scripted vertices that contact holds back from their targets x*.

    weight m (n,) is zero at vertices that are not scripted; multiplier λ (n, 3). [Li2020] supplement, "moving
    collision objects and boundary conditions".
    """

    def __init__(self, weight: Floats, target: Floats, kappa: float, multiplier: Floats) -> None:
        self._weight, self._target, self.kappa, self._multiplier = weight, target, kappa, multiplier

    def value(self, x: Floats) -> float:
        off = x - self._target
        pull = 0.5 * self.kappa * (self._weight @ (off**2).sum(axis=1))
        return float(pull - np.sqrt(self._weight) @ (self._multiplier * off).sum(axis=1))

    def gradient(self, x: Floats) -> Floats:
        pull = self.kappa * self._weight[:, None] * (x - self._target)
        return np.asarray(pull - np.sqrt(self._weight)[:, None] * self._multiplier)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian(diagonal=self.kappa * self._weight)

    def updated(self, x: Floats) -> AugmentedLagrangian:
        """The same with the multipliers advanced by the present violation."""
        off = x - self._target
        multiplier = self._multiplier - self.kappa * np.sqrt(self._weight)[:, None] * off
        return AugmentedLagrangian(self._weight, self._target, self.kappa, multiplier)

    def stiffer(self) -> AugmentedLagrangian:
        return AugmentedLagrangian(self._weight, self._target, 4.0 * self.kappa, self._multiplier)
