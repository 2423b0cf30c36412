"""A scene's surfaces in the world, as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.scene.schedule import Track


@dataclass(frozen=True, eq=False)
class Geometry:
    """A scene's surfaces, in scene order.

    shells: rest meshes, scaled but not placed. shell_positions: their start in the world [m], (n, 3) each.
    colliders: meshes placed in the world at time 0, None for a half-space. pins: vertices (k,) of each pin of each
    shell. tracks: how each collider's vertices move, None where they do not follow a sequence. notes: what was done to
    the meshes, in sentences. regions: weight of each vertex, from 0 to 1, in each region of each shell, (n,) each;
    empty where no shell has one.
    """

    shells: tuple[Mesh, ...]
    shell_positions: tuple[Floats, ...]
    colliders: tuple[Mesh | None, ...]
    pins: tuple[tuple[Ints, ...], ...]
    tracks: tuple[Track | None, ...] = ()
    notes: tuple[str, ...] = ()
    regions: tuple[tuple[Floats, ...], ...] = ()

    @property
    def solids(self) -> list[Mesh]:
        """The colliders that are meshes."""
        return [mesh for mesh in self.colliders if mesh is not None]

    @property
    def placed(self) -> Floats:
        """Where everything starts [m], shells first, then mesh colliders, shape (n, 3)."""
        return np.concatenate([*self.shell_positions, *(mesh.X for mesh in self.solids)])

    @property
    def solid_tracks(self) -> list[Track | None]:
        """The tracks of the colliders that are meshes."""
        tracks = self.tracks or (None,) * len(self.colliders)
        return [track for mesh, track in zip(self.colliders, tracks, strict=True) if mesh is not None]

    def stopped(self, t: float) -> "Geometry":
        """The same with sequences of meshes that stay as they are at time t [s]."""
        return replace(self, tracks=tuple(None if track is None else track.stopped(t) for track in self.tracks))


def scene_size(shells: Sequence[Mesh]) -> float:
    """Diagonal of the box around all shells' rest shapes over √3 [m]."""
    X = np.concatenate([mesh.X for mesh in shells])
    return float(np.linalg.norm(np.ptp(X, axis=0)) / np.sqrt(3.0))
