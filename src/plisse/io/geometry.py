"""From a scene to meshes in the world."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Mesh
from plisse.io.meshes import load_mesh
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.pins import select_vertices
from plisse.scene.scene import Scene, Shell
from plisse.scene.sources import place_points

# Room between a body and what is put below it by default [m].
GAP = 0.01


@dataclass(frozen=True, eq=False)
class Geometry:
    """A scene's surfaces, in scene order.

    shells: rest meshes, scaled but not placed. shell_positions: their start in the world [m], (n, 3) each.
    colliders: meshes placed in the world at time 0, None for a half-space.
    pins: vertices (k,) of each pin of each shell.
    """

    shells: tuple[Mesh, ...]
    shell_positions: tuple[Floats, ...]
    colliders: tuple[Mesh | None, ...]
    pins: tuple[tuple[Ints, ...], ...]

    @property
    def solids(self) -> list[Mesh]:
        """The colliders that are meshes."""
        return [mesh for mesh in self.colliders if mesh is not None]


def load_geometry(scene: Scene, base: Path) -> Geometry:
    """Load, scale and place all surfaces; relative files are looked up from base."""
    shells = tuple(_load_body(shell, base, scene.seed) for shell in scene.shells)
    for shell, mesh in zip(scene.shells, shells, strict=True):
        if shell.pressure is not None and not mesh.is_closed:
            raise SceneError(
                f'The shell "{shell.name}" has a pressure but an open boundary: close it or drop pressure.'
            )
        if shell.pressure is not None and mesh.volume <= 0:
            raise SceneError(f'The shell "{shell.name}" faces inwards, so it holds no pressure: flip its triangles.')
    positions = tuple(_place(shell, mesh) for shell, mesh in zip(scene.shells, shells, strict=True))
    return Geometry(
        shells,
        positions,
        tuple(_load_collider(collider, base, scene.seed) for collider in scene.colliders),
        tuple(
            tuple(select_vertices(pin, mesh, x, name=shell.name) for pin in shell.pins)
            for shell, mesh, x in zip(scene.shells, shells, positions, strict=True)
        ),
    )


def place_below(scene: Scene, base: Path, *, bodies: Collection[int], floors: Collection[int]) -> Scene:
    """The scene with some colliders put under the shells.

    bodies: mesh colliders, centred under all shells, their tops GAP (thick shells: more) below the lowest vertex.
    floors: half-spaces, put as far below the lowest vertex of all shells and mesh colliders.
    """
    points = np.concatenate([_place(shell, _load_body(shell, base, scene.seed)) for shell in scene.shells])
    least, greatest = points.min(axis=0), points.max(axis=0)
    colliders = list(scene.colliders)
    gap = max(GAP, 3.0 * max(shell.material.thickness for shell in scene.shells), 3.0 * (scene.contact.offset or 0.0))
    for i in bodies:
        mesh = _load_collider(colliders[i], base, scene.seed)
        if mesh is not None:
            x, y = (least[:2] + greatest[:2]) / 2
            z = least[2] - gap - mesh.X[:, 2].max()
            colliders[i] = replace(colliders[i], translate=(float(x), float(y), float(z)))
    meshes = [_load_collider(collider, base, scene.seed) for collider in colliders] if floors else []
    lowest = min([least[2], *(mesh.X[:, 2].min() for mesh in meshes if mesh is not None)])
    for i in floors:
        colliders[i] = replace(colliders[i], half_space=HalfSpace((0.0, 0.0, float(lowest) - gap)))
    return replace(scene, colliders=tuple(colliders))


def _load_body(body: Shell | Collider, base: Path, seed: int) -> Mesh:
    if body.mesh is None:
        raise SceneError(f'"{body.name}" has no mesh.')
    try:
        mesh = load_mesh(body.mesh, base, seed=seed)
    except SceneError as error:
        raise SceneError(f"{body.name}: {error}") from None
    return Mesh(mesh.X * np.array(body.scale), mesh.triangles)


def _load_collider(collider: Collider, base: Path, seed: int) -> Mesh | None:
    if collider.mesh is None:
        return None
    mesh = _load_body(collider, base, seed)
    return Mesh(_place(collider, mesh), mesh.triangles)


def _place(body: Shell | Collider, mesh: Mesh) -> Floats:
    return place_points(mesh.X, translate=body.translate, rotate=body.rotate)
