"""What a run can be refined to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plisse.core.errors import SceneError
from plisse.scene.scene import Scene


def refined_scene(
    scene: Scene, folder: Path, *, rest: float | None = None, tol: float | None = None, levels: int | None = None
) -> Scene:
    """A run's scene with another end of its finest level and number of levels."""
    if scene.time.mode == "dynamic" and levels is not None:
        raise SceneError(
            f"{folder} is a motion, whose preview depends on the levels that follow it: start another run with --set "
            f"hierarchy.levels={levels}."
        )
    if scene.time.mode == "dynamic" and scene.hierarchy.count == 1:
        raise SceneError(
            f"{folder} is a motion with one level, which cannot be refined: continue it with `plisse run SCENE --out "
            f"{folder} --resume`, or start another run with e.g. --set hierarchy.levels=2."
        )
    if scene.time.mode == "dynamic" and (rest is not None or tol is not None):
        raise SceneError(
            f"{folder} is a motion, whose steps are solved once: start another run with --set solver.tol=... instead."
        )
    if scene.hierarchy.method in ("direct", "plain"):
        raise SceneError(
            f"{folder} is a run of a single level (hierarchy.method), which cannot be refined: continue it with "
            f"`plisse run SCENE --out {folder} --resume`."
        )
    has = scene.hierarchy.count
    if levels is not None and scene.hierarchy.kind != "loop":
        raise SceneError(
            f"The levels of {folder} are found from its meshes, the finest, so that it cannot get more of them: start "
            "again with other hierarchy.levels."
        )
    if levels is not None and levels <= has:
        raise SceneError(f"{folder} already has {has} levels: ask for more, e.g. --levels {has + 1}.")
    solver, was_tol = scene.solver, scene.ends_by_tolerance
    if rest is not None and tol is not None:
        raise SceneError("--rest and --tol are two ways to end a level: give one of them.")
    if rest is not None:
        if not was_tol and rest > solver.rest:
            raise SceneError(
                f"--rest {rest:g} is looser than {solver.rest:g}, to which {folder} is solved: give a smaller one."
            )
        if scene.hierarchy.preset == "paper":
            raise SceneError('--rest: hierarchy.preset = "paper" ends levels by solver.tol; use --tol.')
        solver = replace(solver, rest=rest, tol=None)
    if tol is not None:
        if was_tol and tol > solver.step_tol:
            raise SceneError(
                f"--tol {tol:g} is looser than {solver.step_tol:g}, to which {folder} is solved: give a smaller one."
            )
        solver = replace(solver, tol=tol)
    hierarchy = scene.hierarchy if levels is None else replace(scene.hierarchy, levels=levels)
    return replace(scene, solver=solver, hierarchy=hierarchy)
