"""How the levels of a scene are made, and what each shell's rest shape is taken for."""

from __future__ import annotations

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, find_flaws
from plisse.hierarchy.flatness import is_developable, is_flat
from plisse.hierarchy.hierarchy import Hierarchy, Plan, build_hierarchy
from plisse.scene.geometry import Geometry
from plisse.scene.levels import CURVED
from plisse.scene.scene import Scene, Shell


def plan_levels(scene: Scene, geometry: Geometry) -> Hierarchy:
    """The levels of a scene, from what its settings and the shapes of its shells ask for."""
    settings, vertices = scene.hierarchy, sum(len(mesh.X) for mesh in geometry.shells)
    curved, chosen = CURVED[settings.kind], settings.proxy.prolongation
    shells = [curved if kind == "curved" and chosen == "linear" else chosen for kind in kinds_of_rest(scene, geometry)]
    solids = [curved if collider.refine else None for collider in scene.colliders if collider.mesh is not None]
    if settings.kind == "decimation":
        _check_solids(scene, geometry)
    regions = geometry.regions or ((),) * len(geometry.shells)
    groups = [
        [*pins, *(np.flatnonzero(weights >= 0.5).astype(np.int32) for weights in each)]
        for pins, each in zip(geometry.pins, regions, strict=True)
    ]
    plan = Plan(
        bodies=[*geometry.shells, *geometry.solids],
        rules=[*shells, *solids],
        levels=settings.count,
        parts=[target / vertices for target in settings.targets(vertices)],
        groups=[*groups, *([] for _ in solids)],
    )
    return build_hierarchy(settings.kind, plan)


def _check_solids(scene: Scene, geometry: Geometry) -> None:
    """Raises SceneError where a collider is to be decimated, which unlike a shell need not be a manifold."""
    for collider, mesh in zip(scene.colliders, geometry.colliders, strict=True):
        flaw = next(find_flaws(mesh), None) if mesh is not None and collider.refine else None
        if flaw is not None:
            raise SceneError(
                f"{collider.name} cannot be made coarser with the levels, as its mesh {flaw.clause}: remove refine, "
                "which keeps it as it is on all levels, or mend its mesh."
            )


def kinds_of_rest(scene: Scene, geometry: Geometry) -> tuple[str, ...]:
    """What each shell's rest shape is to the levels: "flat", "developable" or "curved".

    A tube or a cone of cloth that folds more finely than the coarsest mesh can show is treated as a flat piece is; one
    of sheet metal or paper carries its load by compression, and its facets would be seen.
    """
    g, levels = float(np.linalg.norm(scene.gravity)), scene.hierarchy
    vertices = sum(len(mesh.X) for mesh in geometry.shells)
    # the given mesh is the coarsest, or the finest
    longer = 1.0 if levels.kind == "loop" or levels.count == 1 else np.sqrt(vertices / levels.targets(vertices)[0])
    return tuple(
        "flat" if is_flat(mesh)
        else "developable"
        if levels.count > 1 and longer * edge_over_fold(shell, mesh, g) > 1.0 and is_developable(mesh)
        else "curved"
        for shell, mesh in zip(scene.shells, geometry.shells, strict=True)
    )  # fmt: skip


def edge_over_fold(shell: Shell, mesh: Mesh, gravity: float) -> float:
    """A mesh's mean edge over gravity's bending length ∛(D / ρτg), D = E τ³ / 12(1 − ν²)."""
    m = shell.material
    D = m.bending_modulus * m.thickness**3 / (12.0 * (1.0 - m.nu**2))
    return float(mesh.edge_lengths.mean()) * (m.area_density * gravity / D) ** (1.0 / 3.0) if D > 0.0 else np.inf
