"""Whether a potential's derivatives are those of its value."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.potential import Hessian, Potential, frozen

STEPS = (1e-5, 1e-6, 1e-7)  # of central differences, in units of the size of x; the best of them counts
CLOSE = 1e-4  # largest relative error that is taken for rounding
DIRECTIONS = 4  # random ones that are tried


def check_potential(potential: Potential, x: Floats, *, seed: int = 0) -> None:
    """Raises SceneError where gradient or Hessian at x (n, 3) [m] are not derivatives, or the Hessian is not PSD.

    Central differences along random directions: of the value for the gradient, of the gradient for the Hessian with
    psd=False. With psd=True the Hessian may differ, but uᵀHu must not be negative. Give an x at which the potential is
    active and smooth. A potential whose Hessian is meant as an approximation only has to pass the first and the last.
    """
    name, x = type(potential).__name__, frozen(np.array(x, np.float64))
    value, gradient = potential.value(x), potential.gradient(x)
    if not np.isfinite(value) or gradient.shape != x.shape or not np.isfinite(gradient).all():
        raise SceneError(
            f"{name}: its value at x is {value:g} and its gradient has the shape {gradient.shape}: both must be finite "
            f"and the shape {x.shape}."
        )
    rng, size = np.random.default_rng(seed), max(float(np.abs(x - x.mean(axis=0)).max()), 1e-9)
    steps = [size * step for step in STEPS]
    for _ in range(DIRECTIONS):
        p = rng.normal(size=x.shape)
        slopes = [(potential.value(x + h * p) - potential.value(x - h * p)) / (2.0 * h) for h in steps]
        _compare(name, "gradient", "value", float((gradient * p).sum()), slopes)
        q = rng.normal(size=x.shape)
        changes = [
            ((potential.gradient(x + h * p) - potential.gradient(x - h * p)) * q).sum() / (2.0 * h) for h in steps
        ]
        exact = float((q * apply_hessian(potential.hessian(x, psd=False), p)).sum())
        _compare(name, "Hessian (psd=False)", "gradient", exact, changes)
        curvature = float((p * apply_hessian(potential.hessian(x), p)).sum())
        scale = float(np.abs(apply_hessian(potential.hessian(x), p)).sum() * np.abs(p).max())
        if curvature < -1e-9 * scale:
            raise SceneError(f"{name}: its Hessian (psd=True) is not positive semidefinite: project its blocks.")


def _compare(name: str, what: str, of: str, found: float, differences: list[float]) -> None:
    off = min(abs(found - expected) / max(abs(found), abs(expected), 1e-12) for expected in differences)
    if off > CLOSE:
        expected = min(differences, key=lambda value: abs(found - value))
        hint = "its sign is wrong" if abs(found + expected) < CLOSE * abs(found) else "one of the two is wrong"
        raise SceneError(
            f"{name}: along a random direction its {what} says {found:.6g}, but differences of its {of} say "
            f"{expected:.6g}: {hint}."
        )


def apply_hessian(hessian: Hessian, p: Floats) -> Floats:
    """H p, shape (n, 3)."""
    out = np.zeros_like(p)
    for block in hessian.blocks:
        m, k = block.nodes.shape
        local = np.einsum("mij,mj->mi", block.dense(), p[block.nodes].reshape(m, 3 * k))
        np.add.at(out, block.nodes, local.reshape(*block.nodes.shape, 3))
    if hessian.diagonal is not None:
        out += hessian.diagonal[:, None] * p
    for u in hessian.rank_one:
        out += float((u * p).sum()) * u
    for product in hessian.products:
        out += product(p)
    return out
