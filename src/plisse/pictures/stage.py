"""What is drawn of a scene, said once: its surfaces with their colours, its half-spaces, and what is framed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.pictures.render import Body, Color, Ground
from plisse.scene.colliders import Collider, move_half_space
from plisse.scene.scene import Scene, Shell

SHELL_COLORS: tuple[Color, ...] = (
    (0.78, 0.36, 0.27),
    (0.27, 0.45, 0.62),
    (0.83, 0.63, 0.28),
    (0.38, 0.55, 0.42),
    (0.55, 0.40, 0.58),
    (0.30, 0.58, 0.60),
)
COLLIDER_COLOR: Color = (0.70, 0.70, 0.69)


@dataclass(frozen=True, eq=False)
class Part:
    """One surface of a scene, wherever its vertices are.

    color: sRGB in 0..1. framed: whether pictures are to hold it. triangles: shape (m, 3), numbered from the part's own
    first vertex. first, last: its rows among the positions of all parts.
    """

    name: str
    is_shell: bool
    color: Color
    framed: bool
    triangles: Ints
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Plane:
    """The boundary of a half-space through `point` [m], shape (3,); normal: unit vector out of the solid, (3,)."""

    name: str
    point: Floats
    normal: Floats

    @property
    def ground(self) -> Ground:
        x, y, z = (float(part) for part in self.normal)
        return Ground((x, y, z), float(self.normal @ self.point))

    def square(self, middle: Floats, reach: float) -> Floats:
        """A square around the point nearest to `middle` [m], with sides of 2 `reach` [m], shape (4, 3).

        Its corners are counter-clockwise as seen from outside.
        """
        helper = np.array([0.0, 1.0, 0.0]) if abs(self.normal[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
        first = np.cross(helper, self.normal)
        first /= np.linalg.norm(first)
        second = np.cross(self.normal, first)
        nearest = middle - (self.normal @ (middle - self.point)) * self.normal
        ways = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        return np.ascontiguousarray(nearest + reach * (ways @ np.stack([first, second])))


@dataclass(frozen=True, eq=False)
class Stage:
    """A scene as pictures, films and exports show it. parts: shells, then colliders that are meshes."""

    parts: tuple[Part, ...]
    planes: tuple[Plane, ...]

    @property
    def grounds(self) -> list[Ground]:
        return [plane.ground for plane in self.planes]

    def show(self, x: Floats) -> list[Body]:
        """What to draw of the positions x [m] of all parts, shape (n, 3)."""
        return [
            Body(x[part.first : part.last], part.triangles, part.color, two_sided=part.is_shell, framed=part.framed)
            for part in self.parts
        ]


def set_stage(scene: Scene, meshes: Sequence[Mesh]) -> Stage:
    """The stage of a scene. meshes: those of its shells, then of its colliders; only their sizes and triangles count.

    Each shell has its own colour, colliders are grey. Shells are framed, and so are figures that move by themselves.
    """
    bodies: list[Shell | Collider] = [*scene.shells, *(c for c in scene.colliders if c.half_space is None)]
    parts, first = [], 0
    for number, (body, mesh) in enumerate(zip(bodies, meshes, strict=True)):
        is_shell, last = number < len(scene.shells), first + len(mesh.X)
        color = SHELL_COLORS[number % len(SHELL_COLORS)] if is_shell else COLLIDER_COLOR
        framed = is_shell or (body.mesh is not None and body.mesh.sequence is not None)
        parts.append(Part(body.name, is_shell, color, framed, mesh.triangles, first, last))
        first = last
    # a half-space does not move
    planes = [Plane(c.name, *move_half_space(c, 0.0)) for c in scene.colliders if c.half_space is not None]
    return Stage(tuple(parts), tuple(planes))
