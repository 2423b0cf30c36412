"""Plissé: cloth and shells with guaranteed intersection-free frictional contact.

scene = plisse.load("tablecloth.toml")
ladder = plisse.build_hierarchy(scene, ".")
newton, clock = plisse.make_newton(threads=2), plisse.Clock()
for state in plisse.preview(ladder, newton, clock):
    ...  # stop iterating and it is interrupted
for fine in plisse.refine(ladder, newton, clock, state):
    ...  # a change of the scene: plisse.preview(ladder.changed(scene, "."), newton, clock, state)
plisse.run_scene(scene, ".", "runs/tablecloth", threads=2)
plisse.export("runs/tablecloth", "tablecloth.usdc")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plisse.core.version import __version__

if TYPE_CHECKING:
    from plisse.core.errors import IntersectionError, SceneError
    from plisse.core.forces import forces
    from plisse.core.mesh import Mesh
    from plisse.core.potential import Clock
    from plisse.core.state import State
    from plisse.export import export_run as export
    from plisse.loading.scene_file import load_scene as load
    from plisse.loading.scene_table import scene_from_dict, scene_to_dict
    from plisse.progressive.assemble import System, assemble
    from plisse.progressive.dynamics import animate
    from plisse.progressive.ladder import Ladder, build_hierarchy
    from plisse.progressive.metrics import count_folds, curvature_distance, curvatures, position_error
    from plisse.progressive.quasistatics import preview, refine, relax, settle
    from plisse.runs.climb import read_report
    from plisse.runs.recording import Recording, open_recording
    from plisse.runs.run import refine_run, run_scene
    from plisse.scene.citations import cite
    from plisse.scene.scene import Scene
    from plisse.solve.newton import Newton, make_newton

# where each public name lives; imported at first use, so that `plisse --help` stays quick
_HOMES = {
    "Clock": ("plisse.core.potential", "Clock"),
    "IntersectionError": ("plisse.core.errors", "IntersectionError"),
    "Ladder": ("plisse.progressive.ladder", "Ladder"),
    "Mesh": ("plisse.core.mesh", "Mesh"),
    "Newton": ("plisse.solve.newton", "Newton"),
    "Recording": ("plisse.runs.recording", "Recording"),
    "Scene": ("plisse.scene.scene", "Scene"),
    "SceneError": ("plisse.core.errors", "SceneError"),
    "State": ("plisse.core.state", "State"),
    "System": ("plisse.progressive.assemble", "System"),
    "animate": ("plisse.progressive.dynamics", "animate"),
    "assemble": ("plisse.progressive.assemble", "assemble"),
    "build_hierarchy": ("plisse.progressive.ladder", "build_hierarchy"),
    "cite": ("plisse.scene.citations", "cite"),
    "count_folds": ("plisse.progressive.metrics", "count_folds"),
    "curvature_distance": ("plisse.progressive.metrics", "curvature_distance"),
    "curvatures": ("plisse.progressive.metrics", "curvatures"),
    "export": ("plisse.export", "export_run"),
    "forces": ("plisse.core.forces", "forces"),
    "load": ("plisse.loading.scene_file", "load_scene"),
    "make_newton": ("plisse.solve.newton", "make_newton"),
    "open_recording": ("plisse.runs.recording", "open_recording"),
    "position_error": ("plisse.progressive.metrics", "position_error"),
    "preview": ("plisse.progressive.quasistatics", "preview"),
    "read_report": ("plisse.runs.climb", "read_report"),
    "refine": ("plisse.progressive.quasistatics", "refine"),
    "refine_run": ("plisse.runs.run", "refine_run"),
    "relax": ("plisse.progressive.quasistatics", "relax"),
    "run_scene": ("plisse.runs.run", "run_scene"),
    "scene_from_dict": ("plisse.loading.scene_table", "scene_from_dict"),
    "scene_to_dict": ("plisse.loading.scene_table", "scene_to_dict"),
    "settle": ("plisse.progressive.quasistatics", "settle"),
}

__all__ = [
    "Clock",
    "IntersectionError",
    "Ladder",
    "Mesh",
    "Newton",
    "Recording",
    "Scene",
    "SceneError",
    "State",
    "System",
    "__version__",
    "animate",
    "assemble",
    "build_hierarchy",
    "cite",
    "count_folds",
    "curvature_distance",
    "curvatures",
    "export",
    "forces",
    "load",
    "make_newton",
    "open_recording",
    "position_error",
    "preview",
    "read_report",
    "refine",
    "refine_run",
    "relax",
    "run_scene",
    "scene_from_dict",
    "scene_to_dict",
    "settle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plisse' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
