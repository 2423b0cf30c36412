"""Bodies that are not simulated: triangle meshes and half-spaces, at rest or keyframed."""

from dataclasses import dataclass

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats
from plisse.scene.schedule import Keyframe, check_motion, pose, rotation, transform_points
from plisse.scene.sources import MeshSource
from plisse.scene.values import Vector, as_flag, as_scale, as_vector, settle


@dataclass(frozen=True)
class HalfSpace:
    """Solid below the plane through point [m] with the given outward normal (stored at unit length)."""

    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        point, normal = as_vector("point [m]", self.point), np.array(as_vector("normal", self.normal))
        length = float(np.linalg.norm(normal))
        if length == 0:
            raise SceneError("normal must not be zero: a half-space needs a direction.")
        # a unit vector stays as it is, so that writing and reading a scene changes nothing
        unit = normal if abs(length - 1) < 1e-12 else normal / length
        settle(self, point=point, normal=tuple(float(part) for part in unit))


@dataclass(frozen=True)
class Collider:
    """A mesh or a half-space: scaled, rotated [degrees], translated [m] into place, then moved by keyframes.

    pivot: centre of the motion's rotation and scaling in the world [m]; translate when not given.
    refine: the mesh is a coarse one that is Loop-subdivided level by level, as the shells are.
    """

    name: str = "collider"
    mesh: MeshSource | None = None
    half_space: HalfSpace | None = None
    translate: Vector = (0.0, 0.0, 0.0)
    rotate: Vector = (0.0, 0.0, 0.0)
    scale: Vector = (1.0, 1.0, 1.0)
    motion: tuple[Keyframe, ...] = ()
    pivot: Vector | None = None
    refine: bool = False

    def __post_init__(self) -> None:
        if (self.mesh is None) == (self.half_space is None):
            raise SceneError("A collider is either a mesh or a half-space: give one of them.")
        settle(
            self,
            translate=as_vector("translate", self.translate),
            rotate=as_vector("rotate", self.rotate),
            scale=as_scale("scale", self.scale),
            motion=check_motion(self.motion),
            refine=as_flag("refine", self.refine),
        )
        if self.refine and self.mesh is None:
            raise SceneError("A half-space cannot be refined: remove refine.")
        if self.pivot is not None:
            settle(self, pivot=as_vector("pivot", self.pivot))

    @property
    def center(self) -> Vector:
        """Pivot of the motion [m]."""
        return self.translate if self.pivot is None else self.pivot


def move_collider(collider: Collider, X: Floats, t: float) -> Floats:
    """Positions [m] at time t [s] of the placed collider vertices X [m], both (n, 3)."""
    return transform_points(X, collider.motion, t, pivot=collider.center)


def move_half_space(collider: Collider, t: float) -> tuple[Floats, Floats]:
    """Point [m] and unit normal, each (3,), of a half-space collider at time t [s]."""
    if collider.half_space is None:
        raise SceneError(f"{collider.name} is not a half-space.")
    # points go by the map itself, normals by its inverse transpose
    placing, factors = rotation(collider.rotate), np.array(collider.scale)
    point = placing @ (factors * np.array(collider.half_space.point)) + np.array(collider.translate)
    normal = placing @ (np.array(collider.half_space.normal) / factors)
    turn, _, scale = pose(collider.motion, t)
    normal = turn @ (normal / scale)
    return move_collider(collider, point[None, :], t)[0], normal / np.linalg.norm(normal)
