"""Whether levels have the sizes that were asked for."""

from __future__ import annotations

from math import ceil

from plisse.core.errors import SceneError
from plisse.hierarchy.misses import Miss
from plisse.progressive.ladder import Ladder
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

KEY = "hierarchy.levels"


def check_asked(scene: Scene, geometry: Geometry) -> None:
    """Raises SceneError where a level below the finest is to have as many vertices as the scene's own meshes."""
    levels, vertices = scene.hierarchy, sum(len(mesh.X) for mesh in geometry.shells)
    if not isinstance(levels.levels, tuple) or levels.levels[-1] < vertices:
        return
    raise SceneError(
        f"A level below the finest is to have {levels.levels[-1]:,} vertices, but the finest has only {vertices:,}: "
        "ask for smaller levels, or use a finer mesh."
    )


def check_reached(ladder: Ladder, level: int) -> None:
    """Raises SceneError where a body has far more vertices on a level than it was to have."""
    for miss in ladder.hierarchy.misses(level):
        if miss.is_grave:
            raise SceneError(tell_miss(ladder, miss))


def note_misses(ladder: Ladder, level: int, *, key: str = KEY) -> list[str]:
    """A sentence about each body that has a few more vertices on a level than it was to have; key: as below."""
    return [tell_miss(ladder, miss, key=key) for miss in ladder.hierarchy.misses(level) if not miss.is_grave]


def tell_miss(ladder: Ladder, miss: Miss, *, key: str = KEY) -> str:
    """Which body has how many vertices, why, and what to ask for instead; key: where sizes are asked for."""
    scene = ladder.scene
    names = [*(shell.name for shell in scene.shells), *(c.name for c in scene.colliders if c.mesh is not None)]
    # sizes are asked for all shells together, and each body gets its part
    vertices = sum(len(mesh.X) for mesh in ladder.given.shells)
    least = ceil(miss.vertices / miss.finest * vertices)
    return (
        f"{names[miss.body]} cannot have fewer than {miss.vertices:,} vertices, and level {miss.level} asks for "
        f"{miss.wanted:,}: {miss.reason}; set {key} to sizes from {least:,} vertices up, or to fewer levels."
    )
