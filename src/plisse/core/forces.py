"""Forces, by what they come from."""

from __future__ import annotations

from collections.abc import Iterable

from plisse.core.arrays import Floats
from plisse.core.potential import Potential


def forces(potentials: Iterable[Potential], x: Floats) -> dict[str, Floats]:
    """Forces −∇E [N] of potentials at positions x (n, 3) [m], shape (n, 3) each, by the name of their class."""
    out: dict[str, Floats] = {}
    for part in potentials:
        name, force = type(part).__name__, -part.gradient(x)
        out[name] = out[name] + force if name in out else force
    return out
