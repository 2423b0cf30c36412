"""Faces with any number of corners, as mesh files hold them, and how they become triangles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.core.mesh import tell_count

# Quads are cut along their first diagonal unless the other one is shorter by this part: grids stay regular.
SHORTER = 1e-6
# Faces of more corners are cut only if they are convex: ear clipping takes quadratic time.
MOST_CORNERS = 2000
# A corner counts as straight when its triangle's double area is below this part of its longest side squared.
FLAT_TURN = 1e-9


@dataclass(frozen=True, eq=False)
class Polygons:
    """Vertices and faces in a file's own order and units.

    X: positions, shape (n, 3). corners: vertices of all faces in a row, counted from 0, shape (c,).
    starts: where each face's corners begin, shape (p + 1,). objects, groups: faces by name, (k,) each.
    points: vertices by name, (k,) each. first: the number that the file gives its first vertex and face.
    numbers: place of each face in the file, from 0, shape (p,). lines: its line, from 1, or None.
    attributes: further numbers of each vertex by name, (n,) each.
    notes: what is odd about the file, as sentences that begin with a verb.
    uv: texture coordinates of the corners, NaN where there are none, shape (c, 2); None without any.
    """

    X: Floats
    corners: Longs
    starts: Longs
    objects: dict[str, Longs] = field(default_factory=dict)
    groups: dict[str, Longs] = field(default_factory=dict)
    points: dict[str, Longs] = field(default_factory=dict)
    first: int = 0
    numbers: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    lines: Longs | None = None
    notes: tuple[str, ...] = ()
    attributes: dict[str, Floats] = field(default_factory=dict)
    uv: Floats | None = None

    def __post_init__(self) -> None:
        if self.uv is not None:
            known = np.asarray(np.isfinite(self.uv).all(axis=1))
            object.__setattr__(self, "uv", np.where(known[:, None], self.uv, np.nan) if known.any() else None)
        if len(self.numbers) != len(self.starts) - 1:
            object.__setattr__(self, "numbers", np.arange(len(self.starts) - 1))

    @property
    def sizes(self) -> Longs:
        """Number of corners of each face, shape (p,)."""
        return np.diff(self.starts)

    def name_vertex(self, i: int) -> str:
        return f"vertex {i + self.first}"

    def name_face(self, face: int) -> str:
        line = "" if self.lines is None else f" (line {self.lines[face]})"
        return f"face {self.numbers[face] + self.first}{line}"

    def keep(self, faces: Longs) -> Polygons:
        """The chosen faces, ascending (k,), with all vertices; names of other faces are dropped."""
        flags = np.zeros(len(self.numbers), dtype=bool)
        flags[faces] = True
        place = np.cumsum(flags) - 1
        objects, groups = (
            {name: place[old] for name, all_ in names.items() if len(old := all_[flags[all_]])}
            for names in (self.objects, self.groups)
        )
        return replace(
            self,
            corners=self.corners[np.repeat(flags, self.sizes)],
            uv=None if self.uv is None else self.uv[np.repeat(flags, self.sizes)],
            starts=_starts(self.sizes[flags]),
            objects=objects,
            groups=groups,
            numbers=self.numbers[flags],
            lines=None if self.lines is None else self.lines[flags],
        )

    def vertices_by_name(self) -> dict[str, Longs]:
        """Vertices of each group's faces, and the named points, sorted."""
        found = {name: np.unique(self.corners[self._of_faces(faces)]) for name, faces in self.groups.items()}
        for name, vertices in self.points.items():
            found[name] = np.union1d(found.get(name, np.zeros(0, np.int64)), vertices)
        return found

    def _of_faces(self, faces: Longs) -> Bools:
        flags = np.zeros(len(self.numbers), dtype=bool)
        flags[faces] = True
        return np.repeat(flags, self.sizes)


def check_polygons(polygons: Polygons, name: str) -> None:
    """Raise a SceneError if there are no faces, or they use vertices that are not there or have no place."""
    if len(polygons.numbers) == 0:
        raise SceneError(f"{name} has no faces, only {len(polygons.X)} vertices: save it as a surface mesh.")
    n, corners = len(polygons.X), polygons.corners
    bad = np.flatnonzero((corners < 0) | (corners >= n))
    if len(bad):
        face = polygons.name_face(int(np.searchsorted(polygons.starts, bad[0], side="right")) - 1)
        least, most = polygons.first, n - 1 + polygons.first
        given = f"uses vertex {corners[bad[0]] + polygons.first}, but vertices are numbered {least} to {most}"
        raise SceneError(f"{name} is damaged, {face} {given}: export the file again.")
    used = np.zeros(n, dtype=bool)
    used[corners] = True
    bad = np.flatnonzero(used & ~np.isfinite(polygons.X).all(axis=1))
    if len(bad):
        words = tell_count(
            len(bad), "a coordinate that is not a finite number", "{} vertices that are not finite, the first"
        )
        raise SceneError(f"{name} has {words} at {polygons.name_vertex(int(bad[0]))}: export the file again.")


def drop_repeats(polygons: Polygons) -> tuple[Polygons, Longs]:
    """Without corners that repeat the one before, and faces left with less than three; and the faces affected (k,)."""
    starts, sizes = polygons.starts, polygons.sizes
    if not len(sizes):
        return polygons, np.zeros(0, np.int64)
    before = np.arange(len(polygons.corners)) - 1
    filled = sizes > 0
    before[starts[:-1][filled]] = starts[1:][filled] - 1
    keep = polygons.corners != polygons.corners[before]
    face = np.repeat(np.arange(len(sizes)), sizes)
    left = np.bincount(face[keep], minlength=len(sizes))
    affected = np.flatnonzero((left < sizes) | (left < 3))
    if not len(affected):
        return polygons, affected
    uv = None if polygons.uv is None else polygons.uv[keep]
    slim = replace(polygons, corners=polygons.corners[keep], starts=_starts(left), uv=uv)
    return slim.keep(np.flatnonzero(left >= 3)), affected


def triangulate(polygons: Polygons, name: str) -> tuple[Ints, Longs, Floats | None]:
    """Triangles (m, 3), the face that each is part of (m,), in the order of the faces, and their corners' uv (m, 3, 2).

    Quads are cut along their shorter diagonal unless it lies outside; convex faces become fans, others are cut ear
    by ear in the plane of their Newell normal. Faces have at least three corners.
    """
    places = cut_faces(polygons, name)
    uv = None if polygons.uv is None else polygons.uv[places]
    return (
        polygons.corners[places].astype(np.int32),
        np.repeat(np.arange(len(polygons.sizes)), polygons.sizes - 2),
        uv,
    )


def cut_faces(polygons: Polygons, name: str) -> Longs:
    """The triangles by their corners' places among the corners of all faces, shape (m, 3)."""
    sizes, corners, starts = polygons.sizes, polygons.corners, polygons.starts
    if (sizes == 3).all():
        return np.arange(len(corners)).reshape(-1, 3)
    out = _starts(sizes - 2)
    triangles = np.empty((out[-1], 3), dtype=np.int64)
    for size in np.unique(sizes).tolist():
        faces = np.flatnonzero(sizes == size)
        around = starts[faces, None] + np.arange(size)
        rings, places = corners[around], out[faces, None] + np.arange(size - 2)
        if size == 4:
            triangles[places] = np.take_along_axis(around, _cut_quads(polygons.X, rings), axis=1).reshape(-1, 2, 3)
        else:
            first = np.broadcast_to(around[:, :1], around[:, 2:].shape)
            triangles[places] = np.stack((first, around[:, 1:-1], around[:, 2:]), axis=2)
        if size > 4:
            for k in np.flatnonzero(~_are_convex(polygons.X, rings)).tolist():
                if size > MOST_CORNERS:
                    face = polygons.name_face(int(faces[k]))
                    raise SceneError(f"{name} has a face of {size} corners that is not convex, {face}: split it.")
                triangles[places[k]] = around[k][clip_ears(_flatten(polygons.X[rings[k]]))]
    return triangles


def _starts(sizes: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def _cut_quads(X: Floats, rings: Longs) -> Longs:
    """Two triangles for each quad (k, 4), one after the other, by its corners 0 to 3, shape (k, 6)."""
    a, b, c, d = (X[rings[:, k]] for k in range(4))
    with np.errstate(over="ignore", invalid="ignore"):
        ac, bd = np.linalg.norm(a - c, axis=1), np.linalg.norm(b - d, axis=1)
        # a diagonal lies inside if the triangles on both of its sides face the same way
        inside_ac = np.einsum("ij,ij->i", np.cross(b - a, c - a), np.cross(c - a, d - a)) > 0
        inside_bd = np.einsum("ij,ij->i", np.cross(b - a, d - a), np.cross(c - b, d - b)) > 0
        other = np.where(inside_ac == inside_bd, bd < (1 - SHORTER) * ac, inside_bd)
    return np.where(other[:, None], (0, 1, 3, 1, 2, 3), (0, 1, 2, 0, 2, 3))


def _are_convex(X: Floats, rings: Longs) -> Bools:
    """Whether fans from the first corner cover the faces (k, size): all corners turn left, all triangles face up."""
    x = X[rings] - X[rings[:, :1]]
    with np.errstate(over="ignore", invalid="ignore"):
        fans = np.cross(x[:, 1:-1], x[:, 2:])
        normals = fans.sum(axis=1)[:, None]
        sides = np.roll(x, -1, axis=1) - x
        turns = np.cross(np.roll(sides, 1, axis=1), sides)
        return ((turns * normals).sum(axis=2) > 0).all(axis=1) & ((fans * normals).sum(axis=2) > 0).all(axis=1)


def _flatten(x: Floats) -> Floats:
    """Corners (k, 3) in the plane across their Newell normal, scaled to order one, counter-clockwise, (k, 2)."""
    x = x - x.mean(axis=0)
    x = x / (np.abs(x).max() or 1.0)
    normal = np.cross(x, np.roll(x, -1, axis=0)).sum(axis=0)
    axis = int(np.argmax(np.abs(normal)))
    # dropping the coordinate along which the normal is longest keeps the plane's straight lines and its turns
    flat = x[:, [(axis + 1) % 3, (axis + 2) % 3]]
    return flat if normal[axis] >= 0 else flat * (-1.0, 1.0)


def clip_ears(flat: Floats) -> Longs:
    """Triangles of a simple counter-clockwise polygon (k, 2), by places in it, shape (k − 2, 3).

    Ear clipping: the roundest corner whose triangle holds no other corner is cut off, again and again. Only corners
    that do not turn left can lie in an ear. A polygon that crosses itself runs out of ears; its roundest corner goes.
    """
    points = [(float(x), float(y)) for x, y in flat]
    ring = list(range(len(points)))
    roundness = {v: _ear(points, ring, k) for k, v in enumerate(ring)}
    triangles = []
    while len(ring) > 3:
        k = max(range(len(ring)), key=lambda k: roundness[ring[k]])
        triangles.append((ring[k - 1], ring[k], ring[(k + 1) % len(ring)]))
        del ring[k]
        for near in (k - 1, k % len(ring)):
            roundness[ring[near]] = _ear(points, ring, near % len(ring))
    return np.array([*triangles, tuple(ring)], dtype=np.int64)


def _ear(points: list[tuple[float, float]], ring: list[int], k: int) -> float:
    """Double area over longest side squared of the triangle at a place of the ring; below −1 if it is no ear."""
    a, b, c = points[ring[k - 1]], points[ring[k]], points[ring[(k + 1) % len(ring)]]
    longest = max(_squared(a, b), _squared(b, c), _squared(c, a))
    turn = _turn(a, b, c) / longest if longest > 0 else 0.0
    if turn <= FLAT_TURN:
        return turn - 3.0
    for j in range(len(ring)):
        p = points[ring[j]]
        if p not in (a, b, c) and _turn(a, b, p) >= 0 and _turn(b, c, p) >= 0 and _turn(c, a, p) >= 0:
            if _turn(points[ring[j - 1]], p, points[ring[(j + 1) % len(ring)]]) <= 0:
                return turn - 3.0
    return turn


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _squared(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2
