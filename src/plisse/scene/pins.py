"""Selections of vertices, and pins: vertices that are held or led along a motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.errors import SceneError, suggest
from plisse.core.mesh import Mesh
from plisse.core.record import Record, box, fill_in, flag, indices, number, table, tables, three, word
from plisse.core.values import Vector
from plisse.scene.schedule import Keyframe, check_motion

# Positions on a face of the box count as inside in spite of rounding [m].
SLACK = 1e-9
# A boundary that turns by more than this at a vertex has a corner there [degrees].
CORNER = 45.0

Values = TypeVar("Values")


@dataclass(frozen=True)
class Ball(Record):
    """All points within a radius of a centre, in world coordinates at the start."""

    center: Vector = three("m", "centre of the ball")
    radius: float = number("m", "radius of the ball", above=0)


@dataclass(frozen=True)
class Selection(Record):
    """Exactly one way to select vertices of a shell."""

    what: ClassVar[str]  # what messages call it
    selectors: ClassVar[tuple[str, ...]] = ("vertices", "ids", "group", "box", "sphere", "corners", "boundary")

    vertices: tuple[int, ...] | None = indices("vertex numbers, counted from 0 in the order of the mesh", default=None)
    ids: str | None = word(
        "text file of vertex numbers, relative to the scene; `#` starts a comment", default=None, shown="none"
    )
    group: str | None = word(
        "name of a vertex group in the mesh file: OBJ `g` (how Blender exports vertex groups), USD subset",
        default=None, shown="none",
    )  # fmt: skip
    box: tuple[Vector, Vector] | None = box("vertices inside a box, in world coordinates at the start", default=None)
    sphere: Ball | None = table(Ball, "vertices inside a ball, in world coordinates at the start", default=None)
    corners: bool = flag("vertices where the boundary turns by more than 45° at rest", default=False)
    boundary: bool = flag("all boundary vertices", default=False)
    near: Vector | None = three(
        "m", "with `corners` or `boundary`: only the corner, or the boundary loop, nearest to this point at the start",
        default=None, shown="all corners or loops",
    )  # fmt: skip

    def check(self) -> None:
        if sum(getattr(self, name) not in (None, False) for name in self.selectors) != 1:
            *most, last = self.selectors
            raise SceneError(f"A {self.what} needs exactly one of {', '.join(most)} and {last}: give one.")
        if self.near is not None and not (self.corners or self.boundary):
            raise SceneError(
                "near chooses among corners or boundary loops: use it with corners or boundary, or remove it."
            )


@dataclass(frozen=True)
class Pin(Selection):
    """Vertices of a shell, selected by exactly one criterion; without motion they are held in place."""

    what: ClassVar[str] = "pin"

    motion: tuple[Keyframe, ...] = tables(Keyframe, "motion", "keyframes that the vertices follow")
    pivot: Vector | None = three(
        "m", "centre of the motion's rotation and scaling", default=None, shown="the shell's `translate`"
    )
    stiffness: float | None = number(
        "N/m", "of springs, all of them together, that pull the vertices to their places instead of holding them there",
        default=None, shown="held firmly", above=0,
    )  # fmt: skip

    def check(self) -> None:
        fill_in(self, motion=check_motion(self.motion))
        super().check()


def select_vertices(
    by: Selection,
    mesh: Mesh,
    positions: Floats,
    *,
    name: str = "the shell",
    vertex_of_id: Ints | None = None,
    groups: Mapping[str, Ints] | None = None,
    listed: Sequence[int] | None = None,
) -> Ints:
    """Sorted indices of the selected vertices, shape (k,); positions: placed at the start [m], shape (n, 3).

    vertex_of_id: the mesh's vertex of each vertex of its file, −1 where it was dropped. groups: the mesh's vertices by
    name. listed: what the selection's file of ids holds.
    """
    who = f"A {by.what} of {name}"
    numbers = by.vertices if by.ids is None else listed
    if numbers is not None:
        chosen = _by_number(np.asarray(numbers, dtype=np.int64), len(mesh.X), who, vertex_of_id)
    elif by.group is not None:
        chosen = find_named(by.group, groups or {}, who, "group").astype(np.int64)
    elif by.box is not None:
        least, greatest = np.array(by.box)
        inside = (positions >= least - SLACK) & (positions <= greatest + SLACK)
        chosen = np.flatnonzero(inside.all(axis=1))
    elif by.sphere is not None:
        distance = np.linalg.norm(positions - np.array(by.sphere.center), axis=1)
        chosen = np.flatnonzero(distance <= by.sphere.radius + SLACK)
    else:
        chosen = _on_boundary(by, mesh, positions)
    if len(chosen) == 0:
        raise SceneError(f"{who} selects no vertex: move or enlarge its selection.")
    return chosen.astype(np.int32)


def find_named(name: str, known: Mapping[str, Values], who: str, kind: str) -> Values:
    """What a mesh holds of its vertices under a name; a SceneError where it has no such group or attribute."""
    if name not in known:
        have = f"its mesh has {', '.join(sorted(known)[:12])}" if known else "its mesh has none"
        raise SceneError(
            f'{who} names the vertex {kind} "{name}"{suggest(name, known)}, but {have}: correct the name or export the '
            f"mesh with its {kind}s."
        )
    return known[name]


def _by_number(numbers: Longs, size: int, who: str, vertex_of_id: Ints | None) -> Longs:
    chosen: Longs = np.unique(numbers)
    last = (size if vertex_of_id is None else len(vertex_of_id)) - 1
    if len(chosen) and (chosen[-1] > last or chosen[0] < 0):
        wrong = chosen[-1] if chosen[-1] > last else chosen[0]
        raise SceneError(f"{who} names vertex {wrong}, but vertices go from 0 to {last}: correct the list.")
    if vertex_of_id is None:
        return chosen
    found = vertex_of_id[chosen].astype(np.int64)
    if (found < 0).any():
        wrong = chosen[np.argmax(found < 0)]
        raise SceneError(f"{who} names vertex {wrong}, which no triangle uses: correct the list.")
    return np.unique(found)


def _on_boundary(by: Selection, mesh: Mesh, positions: Floats) -> Longs:
    boundary = np.unique(mesh.boundary_edges).astype(np.int64)
    chosen = boundary[_turns_sharply(mesh)[boundary]] if by.corners else boundary
    if by.near is None or len(chosen) == 0:
        return chosen
    nearest = chosen[np.argmin(np.linalg.norm(positions[chosen] - np.array(by.near), axis=1))]
    if by.corners:
        return np.array([nearest])
    i, j = mesh.boundary_edges.T
    links = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(len(mesh.X), len(mesh.X)))
    _, loop = connected_components(links, directed=False)
    return np.asarray(chosen[loop[chosen] == loop[nearest]])


def _turns_sharply(mesh: Mesh) -> Bools:
    edges = mesh.boundary_edges
    direction = mesh.X[edges[:, 1]] - mesh.X[edges[:, 0]]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # a boundary vertex is left by one boundary edge and reached by one
    leaving = np.zeros_like(mesh.X)
    arriving = np.zeros_like(mesh.X)
    leaving[edges[:, 0]] = direction
    arriving[edges[:, 1]] = direction
    return np.asarray((leaving * arriving).sum(axis=1) < np.cos(np.radians(CORNER)))
