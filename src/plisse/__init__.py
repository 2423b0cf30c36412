"""Plissé: cloth and shells with guaranteed intersection-free frictional contact.

For example::

    session = plisse.open_session("tablecloth.toml", threads=2)
    for state in session.preview():
        ...  # stop iterating and it is interrupted
    for state in session.refine():
        ...  # a change of the scene: session.change(scene), then session.preview() again
    plisse.run_scene(plisse.load("tablecloth.toml"), ".", "runs/tablecloth", threads=2)
    plisse.export_run("runs/tablecloth", "tablecloth.usdc")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plisse.core.version import __version__

if TYPE_CHECKING:
    from plisse.core.bodies import Bodies
    from plisse.core.derivatives import check_potential
    from plisse.core.errors import IntersectionError, SceneError
    from plisse.core.forces import forces
    from plisse.core.grid import Grid
    from plisse.core.mesh import Mesh
    from plisse.core.potential import Clock, Potential, Sum
    from plisse.core.state import State
    from plisse.export import export_run
    from plisse.loading.scene_file import load_scene as load
    from plisse.loading.scene_table import scene_from_dict, scene_to_dict
    from plisse.progressive.integrators import BDF2, Euler, Integrator, Statics
    from plisse.progressive.march import Pace, march
    from plisse.progressive.mechanics import Mechanics, measure_mechanics
    from plisse.progressive.metrics import count_folds, curvature_distance, curvatures, position_error
    from plisse.progressive.report import Report
    from plisse.progressive.session import Session
    from plisse.runs.opening import open_session
    from plisse.runs.recording import Recording, open_recording
    from plisse.runs.report import read_report
    from plisse.runs.run import refine_run, run_scene
    from plisse.scene.citations import cite
    from plisse.scene.scene import Scene
    from plisse.solve.newton import Newton, make_newton
    from plisse.solve.problem import Problem

# where each public name lives; imported at first use, so that `plisse --help` stays quick
_HOMES = {
    "BDF2": "plisse.progressive.integrators",
    "Bodies": "plisse.core.bodies",
    "Clock": "plisse.core.potential",
    "Euler": "plisse.progressive.integrators",
    "Grid": "plisse.core.grid",
    "Integrator": "plisse.progressive.integrators",
    "IntersectionError": "plisse.core.errors",
    "Mechanics": "plisse.progressive.mechanics",
    "Mesh": "plisse.core.mesh",
    "Newton": "plisse.solve.newton",
    "Pace": "plisse.progressive.march",
    "Potential": "plisse.core.potential",
    "Problem": "plisse.solve.problem",
    "Recording": "plisse.runs.recording",
    "Report": "plisse.progressive.report",
    "Scene": "plisse.scene.scene",
    "SceneError": "plisse.core.errors",
    "Session": "plisse.progressive.session",
    "State": "plisse.core.state",
    "Statics": "plisse.progressive.integrators",
    "Sum": "plisse.core.potential",
    "check_potential": "plisse.core.derivatives",
    "cite": "plisse.scene.citations",
    "count_folds": "plisse.progressive.metrics",
    "curvature_distance": "plisse.progressive.metrics",
    "curvatures": "plisse.progressive.metrics",
    "export_run": "plisse.export",
    "forces": "plisse.core.forces",
    "load": "plisse.loading.scene_file:load_scene",
    "make_newton": "plisse.solve.newton",
    "march": "plisse.progressive.march",
    "measure_mechanics": "plisse.progressive.mechanics",
    "open_recording": "plisse.runs.recording",
    "open_session": "plisse.runs.opening",
    "position_error": "plisse.progressive.metrics",
    "read_report": "plisse.runs.report",
    "refine_run": "plisse.runs.run",
    "run_scene": "plisse.runs.run",
    "scene_from_dict": "plisse.loading.scene_table",
    "scene_to_dict": "plisse.loading.scene_table",
}

__all__ = [
    "BDF2",
    "Bodies",
    "Clock",
    "Euler",
    "Grid",
    "Integrator",
    "IntersectionError",
    "Mechanics",
    "Mesh",
    "Newton",
    "Pace",
    "Potential",
    "Problem",
    "Recording",
    "Report",
    "Scene",
    "SceneError",
    "Session",
    "State",
    "Statics",
    "Sum",
    "__version__",
    "check_potential",
    "cite",
    "count_folds",
    "curvature_distance",
    "curvatures",
    "export_run",
    "forces",
    "load",
    "make_newton",
    "march",
    "measure_mechanics",
    "open_recording",
    "open_session",
    "position_error",
    "read_report",
    "refine_run",
    "run_scene",
    "scene_from_dict",
    "scene_to_dict",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plisse' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
