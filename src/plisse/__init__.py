"""Plissé: cloth and shells with guaranteed intersection-free frictional contact.

For example::

    scene = plisse.load("tablecloth.toml")
    ladder = plisse.build_hierarchy(scene, ".")
    newton, clock = plisse.make_newton(threads=2), plisse.Clock()
    for state in plisse.preview(ladder, newton, clock):
        ...  # stop iterating and it is interrupted
    for fine in plisse.refine(ladder, newton, clock, state):
        ...  # a change of the scene: plisse.preview(ladder.changed(scene, "."), newton, clock, state)
    plisse.run_scene(scene, Path("."), Path("runs/tablecloth"), threads=2)
    plisse.export_run(Path("runs/tablecloth"), Path("tablecloth.usdc"))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plisse.core.version import __version__

if TYPE_CHECKING:
    from plisse.core.errors import SceneError
    from plisse.core.potential import Clock
    from plisse.core.state import State
    from plisse.export import export_run
    from plisse.loading.scene_file import load_scene as load
    from plisse.progressive.assemble import System, assemble
    from plisse.progressive.dynamics import animate
    from plisse.progressive.ladder import Ladder, build_hierarchy
    from plisse.progressive.quasistatics import preview, refine, relax, settle
    from plisse.runs.run import refine_run, run_scene
    from plisse.solve.newton import Newton, make_newton

# where each public name lives; imported at first use, so that `plisse --help` stays quick
_HOMES = {
    "Clock": ("plisse.core.potential", "Clock"),
    "Ladder": ("plisse.progressive.ladder", "Ladder"),
    "Newton": ("plisse.solve.newton", "Newton"),
    "SceneError": ("plisse.core.errors", "SceneError"),
    "State": ("plisse.core.state", "State"),
    "System": ("plisse.progressive.assemble", "System"),
    "animate": ("plisse.progressive.dynamics", "animate"),
    "assemble": ("plisse.progressive.assemble", "assemble"),
    "build_hierarchy": ("plisse.progressive.ladder", "build_hierarchy"),
    "export_run": ("plisse.export", "export_run"),
    "load": ("plisse.loading.scene_file", "load_scene"),
    "make_newton": ("plisse.solve.newton", "make_newton"),
    "preview": ("plisse.progressive.quasistatics", "preview"),
    "refine": ("plisse.progressive.quasistatics", "refine"),
    "refine_run": ("plisse.runs.run", "refine_run"),
    "relax": ("plisse.progressive.quasistatics", "relax"),
    "run_scene": ("plisse.runs.run", "run_scene"),
    "settle": ("plisse.progressive.quasistatics", "settle"),
}

__all__ = [
    "Clock",
    "Ladder",
    "Newton",
    "SceneError",
    "State",
    "System",
    "__version__",
    "animate",
    "assemble",
    "build_hierarchy",
    "export_run",
    "load",
    "make_newton",
    "preview",
    "refine",
    "refine_run",
    "relax",
    "run_scene",
    "settle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plisse' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
