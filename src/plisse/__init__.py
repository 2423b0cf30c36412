"""Plissé: cloth and shells with guaranteed intersection-free frictional contact.

scene = plisse.load("tablecloth.toml")
system = plisse.assemble(scene, ".")
for state in plisse.relax(system, plisse.make_newton(threads=2), plisse.Clock()):
    ...  # stop iterating and it is interrupted
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plisse._version import __version__

if TYPE_CHECKING:
    from plisse.core.errors import SceneError
    from plisse.core.potential import Clock
    from plisse.core.state import State
    from plisse.io.scene_file import load_scene as load
    from plisse.progressive.assemble import System, assemble
    from plisse.progressive.dynamics import animate
    from plisse.progressive.quasistatics import relax
    from plisse.run import run_scene
    from plisse.solve.newton import Newton, make_newton

# where each public name lives; imported at first use, so that `plisse --help` stays quick
_HOMES = {
    "Clock": ("plisse.core.potential", "Clock"),
    "Newton": ("plisse.solve.newton", "Newton"),
    "SceneError": ("plisse.core.errors", "SceneError"),
    "State": ("plisse.core.state", "State"),
    "System": ("plisse.progressive.assemble", "System"),
    "animate": ("plisse.progressive.dynamics", "animate"),
    "assemble": ("plisse.progressive.assemble", "assemble"),
    "load": ("plisse.io.scene_file", "load_scene"),
    "make_newton": ("plisse.solve.newton", "make_newton"),
    "relax": ("plisse.progressive.quasistatics", "relax"),
    "run_scene": ("plisse.run", "run_scene"),
}

__all__ = [
    "Clock",
    "Newton",
    "SceneError",
    "State",
    "System",
    "__version__",
    "animate",
    "assemble",
    "load",
    "make_newton",
    "relax",
    "run_scene",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plisse' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
