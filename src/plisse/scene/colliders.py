"""Bodies that are not simulated: triangle meshes and half-spaces, at rest or keyframed."""

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.record import Record, factors, fill_in, flag, table, tables, three, turn, word
from plisse.core.values import Vector
from plisse.scene.schedule import Keyframe, check_motion, pose, rotation, transform_points
from plisse.scene.settings import own_friction
from plisse.scene.sources import MeshSource


@dataclass(frozen=True)
class HalfSpace(Record):
    """Everything below a plane is solid."""

    point: Vector = three("m", "a point of the plane", default=(0.0, 0.0, 0.0))
    normal: Vector = three(None, "points out of the solid; of any length", default=(0.0, 0.0, 1.0))

    def check(self) -> None:
        normal = np.array(self.normal)
        length = float(np.linalg.norm(normal))
        if length == 0:
            raise SceneError("normal must not be zero: give a half-space a direction.")
        # a unit vector stays as it is, so that writing and reading a scene changes nothing
        unit = normal if abs(length - 1) < 1e-12 else normal / length
        fill_in(self, normal=tuple(float(part) for part in unit))


@dataclass(frozen=True)
class Collider(Record):
    """A body that is not simulated: a mesh or a half-space, scaled, rotated, translated, then moved by keyframes."""

    name: str = word("used in messages, reports and exports", default="collider", shown="`collider-0` …")
    mesh: MeshSource | None = None
    half_space: HalfSpace | None = table(HalfSpace, "instead of a mesh: everything below a plane", default=None)
    scale: Vector = factors("scales the mesh, before it is rotated", default=(1.0, 1.0, 1.0))
    rotate: Vector = turn("rotation about the fixed axes x, then y, then z")
    translate: Vector = three(
        "m", "position of the mesh's origin", default=(0.0, 0.0, 0.0),
        shown="`[0, 0, 0]`; a generated shape on which no shell rests is centred below all shells instead",
    )  # fmt: skip
    motion: tuple[Keyframe, ...] = tables(Keyframe, "motion", "keyframes; meshes only, a half-space cannot move")
    pivot: Vector | None = three("m", "centre of the motion's rotation and scaling", default=None, shown="`translate`")
    refine: bool = flag(
        "`true`: it has levels as the shells have; by subdivision the mesh is coarse and is refined by Loop's rule, by "
        "decimation it is the finest level; `false`: it is the same on all levels; meshes only",
        default=False,
    )
    friction: float | None = own_friction()

    def check(self) -> None:
        if (self.mesh is None) == (self.half_space is None):
            raise SceneError("A collider is either a mesh or a half-space: give one of them.")
        fill_in(self, motion=check_motion(self.motion))
        if self.mesh is None and (self.refine or self.motion):
            which = "refined: remove refine" if self.refine else "moved: use a box for a moving floor"
            raise SceneError(f"A half-space cannot be {which}.")
        if self.mesh is not None and self.mesh.sequence is not None and self.motion:
            raise SceneError("A sequence of meshes already moves: remove motion.")

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
