"""Vertices that are held or led along a motion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Longs, Mesh
from plisse.scene.schedule import Keyframe, check_motion
from plisse.scene.values import Vector, as_count, as_flag, as_number, as_vector, settle

# Positions on a face of the box count as inside in spite of rounding [m].
SLACK = 1e-9
# A boundary that turns by more than this at a vertex has a corner there [degrees].
CORNER = 45.0


@dataclass(frozen=True)
class Ball:
    """All points within radius [m] of center [m]."""

    center: Vector
    radius: float

    def __post_init__(self) -> None:
        settle(
            self,
            center=as_vector("center", self.center),
            radius=as_number("radius [m]", self.radius, above=0),
        )


@dataclass(frozen=True)
class Pin:
    """Exactly one selection of a shell's vertices, fixed or moved by keyframes about the pivot.

    vertices: indices. box: (least, greatest) corner and sphere: ball, both in the world at the start [m].
    corners: where the rest boundary turns sharply. boundary: all boundary vertices.
    pivot: centre of rotation and scaling in the world [m]; the shell's own origin when not given.
    """

    vertices: tuple[int, ...] | None = None
    box: tuple[Vector, Vector] | None = None
    sphere: Ball | None = None
    corners: bool = False
    boundary: bool = False
    motion: tuple[Keyframe, ...] = ()
    pivot: Vector | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            corners=as_flag("corners", self.corners),
            boundary=as_flag("boundary", self.boundary),
            motion=check_motion(self.motion),
        )
        given = (self.vertices is not None, self.box is not None, self.sphere is not None)
        if sum((*given, self.corners, self.boundary)) != 1:
            raise SceneError("A pin selects by exactly one of vertices, box, sphere, corners and boundary.")
        if self.vertices is not None:
            settle(self, vertices=tuple(as_count("vertices", index) for index in _listed(self.vertices)))
        if self.box is not None:
            settle(self, box=_as_box(self.box))
        if self.pivot is not None:
            settle(self, pivot=as_vector("pivot", self.pivot))


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SceneError(f"vertices must be a list of indices, not {value!r}.")
    return value


def _as_box(value: object) -> tuple[Vector, Vector]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise SceneError(f"box must be two corners [[x, y, z], [x, y, z]], not {value!r}.")
    least, greatest = (as_vector("box", corner) for corner in value)
    if any(a > b for a, b in zip(least, greatest, strict=True)):
        raise SceneError("box must give its least corner first, then its greatest.")
    return least, greatest


def select_vertices(pin: Pin, mesh: Mesh, positions: Floats, *, name: str = "the shell") -> Ints:
    """Sorted indices of the pinned vertices, shape (k,); positions: placed at the start [m], shape (n, 3)."""
    if pin.vertices is not None:
        chosen: Longs = np.unique(np.array(pin.vertices, dtype=np.int64))
        if len(chosen) and chosen[-1] >= len(mesh.X):
            last = len(mesh.X) - 1
            raise SceneError(
                f"A pin of {name} names vertex {chosen[-1]}, but the last one is {last}: correct the list."
            )
    elif pin.box is not None:
        least, greatest = np.array(pin.box)
        inside = (positions >= least - SLACK) & (positions <= greatest + SLACK)
        chosen = np.flatnonzero(inside.all(axis=1))
    elif pin.sphere is not None:
        distance = np.linalg.norm(positions - np.array(pin.sphere.center), axis=1)
        chosen = np.flatnonzero(distance <= pin.sphere.radius + SLACK)
    else:
        boundary = np.unique(mesh.boundary_edges).astype(np.int64)
        chosen = boundary[_turns_sharply(mesh)[boundary]] if pin.corners else boundary
    if len(chosen) == 0:
        raise SceneError(f"A pin of {name} selects no vertex: move or enlarge its selection.")
    return chosen.astype(np.int32)


def _turns_sharply(mesh: Mesh) -> npt.NDArray[np.bool_]:
    edges = mesh.boundary_edges
    direction = mesh.X[edges[:, 1]] - mesh.X[edges[:, 0]]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # a boundary vertex is left by one boundary edge and reached by one
    leaving = np.zeros_like(mesh.X)
    arriving = np.zeros_like(mesh.X)
    leaving[edges[:, 0]] = direction
    arriving[edges[:, 1]] = direction
    return np.asarray((leaving * arriving).sum(axis=1) < np.cos(np.radians(CORNER)))
