"""Plissé: cloth and shells with guaranteed intersection-free frictional contact.

session = plisse.open_session("tablecloth.toml", threads=2)
for state in session.preview():
    ...  # stop iterating and it is interrupted
for state in session.refine():
    ...  # a change of the scene: session.change(scene), then session.preview() again
plisse.run_scene(plisse.load("tablecloth.toml"), ".", "runs/tablecloth", threads=2)
plisse.export("runs/tablecloth", "tablecloth.usdc")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plisse.core.version import __version__

if TYPE_CHECKING:
    from plisse.core.derivatives import check_potential
    from plisse.core.errors import SceneError
    from plisse.core.grid import Grid
    from plisse.core.mesh import Mesh
    from plisse.core.potential import Clock, Potential, Sum
    from plisse.core.state import State
    from plisse.export import export_run as export
    from plisse.loading.scene_file import load_scene as load
    from plisse.progressive.integrators import BDF2, Euler, Integrator, Statics
    from plisse.progressive.march import Pace, march
    from plisse.progressive.session import Session
    from plisse.runs.opening import open_session
    from plisse.runs.run import refine_run, run_scene
    from plisse.scene.scene import Scene
    from plisse.solve.newton import Newton, make_newton
    from plisse.solve.problem import Problem

# where each public name lives; imported at first use, so that `plisse --help` stays quick
_HOMES = {
    "BDF2": "plisse.progressive.integrators",
    "Clock": "plisse.core.potential",
    "Euler": "plisse.progressive.integrators",
    "Grid": "plisse.core.grid",
    "Integrator": "plisse.progressive.integrators",
    "Mesh": "plisse.core.mesh",
    "Newton": "plisse.solve.newton",
    "Pace": "plisse.progressive.march",
    "Potential": "plisse.core.potential",
    "Problem": "plisse.solve.problem",
    "Scene": "plisse.scene.scene",
    "SceneError": "plisse.core.errors",
    "Session": "plisse.progressive.session",
    "State": "plisse.core.state",
    "Statics": "plisse.progressive.integrators",
    "Sum": "plisse.core.potential",
    "check_potential": "plisse.core.derivatives",
    "export": "plisse.export:export_run",
    "load": "plisse.loading.scene_file:load_scene",
    "make_newton": "plisse.solve.newton",
    "march": "plisse.progressive.march",
    "open_session": "plisse.runs.opening",
    "refine_run": "plisse.runs.run",
    "run_scene": "plisse.runs.run",
}

__all__ = [
    "BDF2",
    "Clock",
    "Euler",
    "Grid",
    "Integrator",
    "Mesh",
    "Newton",
    "Pace",
    "Potential",
    "Problem",
    "Scene",
    "SceneError",
    "Session",
    "State",
    "Statics",
    "Sum",
    "__version__",
    "check_potential",
    "export",
    "load",
    "make_newton",
    "march",
    "open_session",
    "refine_run",
    "run_scene",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plisse' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
