"""Rest geometry and connectivity of a triangle mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.errors import SceneError

# A triangle has no area when its least height is below this part of its longest edge, and is a sliver below that one.
DEGENERATE = 2e-10
SLIVER = 1e-3


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh at rest; deformed positions live elsewhere.

    X: positions [m], shape (n, 3), of the rest shape unless `rest` says otherwise.
    triangles: vertex indices, counter-clockwise seen from outside, shape (m, 3), int32.
    uv: texture coordinates of the triangles' corners, NaN where there are none, shape (m, 3, 2); None without any.
    rest: rest positions of the triangles' corners [m], shape (m, 3, 3), where the rest shape is not X but e.g. a flat
    pattern, in which a vertex on a seam has several places. X then is a shape in space that does not touch itself: it
    tells contact which parts are near each other by nature.
    """

    X: Floats
    triangles: Ints
    uv: Floats | None = None
    rest: Floats | None = None

    def __post_init__(self) -> None:
        for name, dtype, kinds in (("X", np.float64, "fiu"), ("triangles", np.int32, "iu")):
            array = np.asarray(getattr(self, name))
            if array.size and (array.shape[1:] != (3,) or array.dtype.kind not in kinds):
                what = "whole numbers" if name == "triangles" else "numbers"
                raise SceneError(
                    f"A mesh needs {name} as an array of {what} of shape (n, 3), not of shape {array.shape} and type "
                    f"{array.dtype}."
                )
            object.__setattr__(self, name, np.ascontiguousarray(array, dtype=dtype).reshape(-1, 3))
        if self.uv is not None:
            object.__setattr__(self, "uv", np.ascontiguousarray(self.uv, dtype=np.float64).reshape(-1, 3, 2))
        if self.rest is not None:
            object.__setattr__(self, "rest", np.ascontiguousarray(self.rest, dtype=np.float64).reshape(-1, 3, 3))

    @cached_property
    def _half_edges(self) -> tuple[Longs, Longs]:
        """Half-edges grouped by edge, shape (3m,), and where each edge's group starts, shape (k + 1,).

        Half-edge 3t + c leaves corner c of triangle t. The grouping is stable: within an edge the lower
        triangle comes first.
        """
        t = self.triangles.astype(np.int64)
        following = t[:, (1, 2, 0)]
        key = (np.minimum(t, following) * len(self.X) + np.maximum(t, following)).reshape(-1)
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = np.flatnonzero(np.concatenate(([len(key) > 0], key[1:] != key[:-1])))
        return order, np.append(starts, len(key))

    def _ends(self, half_edges: Longs) -> Ints:
        return self.triangles.reshape(-1)[np.column_stack((half_edges, _next(half_edges)))]

    def _opposite(self, half_edges: Longs) -> Ints:
        return self.triangles.reshape(-1)[_next(_next(half_edges))]

    @cached_property
    def edges(self) -> Ints:
        """Unique edges (i < j), in lexicographic order, shape (k, 2)."""
        order, starts = self._half_edges
        return np.ascontiguousarray(np.sort(self._ends(order[starts[:-1]]), axis=1))

    @cached_property
    def triangle_edges(self) -> Ints:
        """Edge indices of each triangle's sides (0,1), (1,2), (2,0), shape (m, 3)."""
        order, starts = self._half_edges
        sides = np.empty(len(order), dtype=np.int32)
        sides[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        return sides.reshape(-1, 3)

    @cached_property
    def hinges(self) -> Ints:
        """Interior edges with both wings, in the order of `edges`, shape (q, 4).

        (v0, v1) is the shared edge as the first triangle walks it, v2 the first triangle's opposite vertex,
        v3 the second's; so (v0, v1, v2) and (v1, v0, v3) are the two triangles.
        """
        first, second = self.hinge_half_edges
        wings = (self._ends(first), self._opposite(first), self._opposite(second))
        return np.ascontiguousarray(np.column_stack(wings))

    @cached_property
    def hinge_half_edges(self) -> tuple[Longs, Longs]:
        """Both half-edges of every edge that has exactly two, in the order of `hinges`, each of shape (q,).

        Half-edge 3t + c is the side of triangle t that leaves its corner c.
        """
        order, starts = self._half_edges
        first = starts[:-1][np.diff(starts) == 2]
        return order[first], order[first + 1]

    def hinge_sides(self) -> tuple[Floats, Floats]:
        """Rest positions [m] of each hinge's v0, v1 and opposite vertex in its first triangle and in its second.

        Shape (q, 3, 3) each. Across a seam of `rest` the two have the edge at different places.
        """
        corners = self.rest_corners.reshape(-1, 3)
        first, second = (
            corners[np.column_stack((half_edges, _next(half_edges), _next(_next(half_edges))))]
            for half_edges in self.hinge_half_edges
        )
        # the second triangle walks the edge the other way
        return first, second[:, (1, 0, 2)]

    @property
    def rest_corners(self) -> Floats:
        """Rest positions [m] of the triangles' corners, shape (m, 3, 3)."""
        return self.X[self.triangles] if self.rest is None else self.rest

    @cached_property
    def rest_places(self) -> Floats | None:
        """Rest positions [m] of the vertices, shape (n, 3); None where seams give some of them several."""
        return self.X if self.rest is None else by_vertex(self.triangles, self.rest, len(self.X))

    @cached_property
    def boundary_edges(self) -> Ints:
        """Edges of one triangle only, as that triangle walks them, shape (b, 2)."""
        order, starts = self._half_edges
        return np.ascontiguousarray(self._ends(order[starts[:-1][np.diff(starts) == 1]]))

    @cached_property
    def triangle_areas(self) -> Floats:
        """Rest areas [m²], shape (m,)."""
        return 0.5 * np.asarray(np.linalg.norm(_crosses(self), axis=1), dtype=np.float64)

    @cached_property
    def vertex_areas(self) -> Floats:
        """A third of the adjacent triangles' areas [m²], shape (n,)."""
        weights = np.repeat(self.triangle_areas / 3.0, 3)
        return _sum_by(self.triangles, weights, len(self.X))

    @cached_property
    def edge_areas(self) -> Floats:
        """A third of the adjacent triangles' areas [m²], shape (k,)."""
        weights = np.repeat(self.triangle_areas / 3.0, 3)
        return _sum_by(self.triangle_edges, weights, len(self.edges))

    @cached_property
    def edge_lengths(self) -> Floats:
        """Rest lengths [m], shape (k,); along a seam the mean of both sides."""
        if self.rest is not None:
            sides = np.linalg.norm(self.rest[:, (1, 2, 0)] - self.rest, axis=2).reshape(-1)
            count = np.bincount(self.triangle_edges.reshape(-1), minlength=len(self.edges))
            return _sum_by(self.triangle_edges, sides, len(self.edges)) / count
        ends = self.X[self.edges]
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), dtype=np.float64)

    def local_order(self, nodes: Ints) -> Longs:
        """An order of stencils (m, k) in which successive ones are close in memory, shape (m,)."""
        return np.argsort(self._rank[nodes].min(axis=1), kind="stable")

    @cached_property
    def _rank(self) -> Longs:
        return rank_neighbours(len(self.X), self.edges[:, 0], self.edges[:, 1])

    @property
    def is_closed(self) -> bool:
        """Whether there is a surface and it has no boundary."""
        return len(self.triangles) > 0 and len(self.boundary_edges) == 0

    @cached_property
    def volume(self) -> float:
        """Signed enclosed volume [m³], positive when the triangles face outwards: V = Σ a·(b×c)/6."""
        corners = self.X[self.triangles]
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


def _next(half_edges: Longs) -> Longs:
    """The half-edge that follows in the same triangle."""
    return np.where(half_edges % 3 == 2, half_edges - 2, half_edges + 1)


def _sum_by(indices: Ints, weights: Floats, count: int) -> Floats:
    sums = np.bincount(indices.reshape(-1), weights=weights, minlength=count)
    return np.asarray(sums, dtype=np.float64)


def _crosses(mesh: Mesh) -> Floats:
    a, b, c = (mesh.X[mesh.triangles[:, k]] if mesh.rest is None else mesh.rest[:, k] for k in range(3))
    return np.asarray(np.cross(b - a, c - a), dtype=np.float64)


class Names(NamedTuple):
    """How messages name a vertex and a triangle, so that they can use the numbers of a file."""

    vertex: Callable[[int], str] = "vertex {}".format
    triangle: Callable[[int], str] = "triangle {}".format


class Flaw(NamedTuple):
    """A defect of a mesh: a clause that counts and names it, the remedy, and whether `repair_mesh` can repair it."""

    clause: str
    remedy: str
    mendable: bool = False


def check_manifold(mesh: Mesh, name: str, *, names: Names | None = None, mend: str = "") -> None:
    """Raise a SceneError unless the mesh is a clean, consistently oriented manifold triangle mesh.

    mend: the remedy to give instead of the usual one where repairing the file would help.
    """
    for flaw in find_flaws(mesh, names=names):
        raise SceneError(f"{name} {flaw.clause}: {mend if mend and flaw.mendable else flaw.remedy}.")


def find_flaws(mesh: Mesh, *, names: Names | None = None) -> Iterator[Flaw]:
    """What is wrong with the mesh, worst first; ends early where nothing else could be computed."""
    names = names or Names()
    X, triangles = mesh.X, mesh.triangles
    if len(triangles) == 0:
        yield Flaw("has no triangles", "give it a surface mesh")
        return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        words = tell_count(
            len(bad), "a coordinate that is not a finite number", "{} coordinates that are not finite numbers"
        )
        yield Flaw(f"has {words}, the first at {names.vertex(int(bad[0]))}", "repair the file")
        return
    bad = np.flatnonzero((triangles < 0).any(axis=1) | (triangles >= len(X)).any(axis=1))
    if len(bad):
        words = f"has a vertex index outside 0..{len(X) - 1} at {names.triangle(int(bad[0]))}"
        yield Flaw(words, "repair the file")
        return
    used = np.zeros(len(X), dtype=bool)
    used[triangles] = True
    if not used.all():
        words = f"has {int((~used).sum())} vertices that no triangle uses, starting with {names.vertex(_first(~used))}"
        yield Flaw(words, "remove loose vertices", True)
    yield from _find_bad_triangles(mesh, names)
    yield from _find_bad_edges(mesh, names)
    yield from _find_touching_fans(mesh, names)


def flatness(mesh: Mesh) -> Floats:
    """Each triangle's least height over its longest edge, 2A/l², 0 where it is a point, shape (m,)."""
    corners = mesh.X[mesh.triangles]
    longest = np.linalg.norm(corners - corners[:, (1, 2, 0)], axis=2).max(axis=1, initial=0.0)
    ratio: Floats = np.divide(2.0 * mesh.triangle_areas, longest**2, out=np.zeros(len(longest)), where=longest**2 > 0)
    return ratio


def find_duplicates(triangles: Ints) -> tuple[Longs, Longs]:
    """Triangles that have the same three corners as an earlier one, shape (k,), ascending, and that one, (k,)."""
    corner_sets = np.sort(triangles, axis=1)
    order = np.lexsort(corner_sets.T[::-1])
    new = np.ones(len(order), dtype=bool)
    new[1:] = (corner_sets[order[1:]] != corner_sets[order[:-1]]).any(axis=1)
    earliest = np.empty(len(order), dtype=np.int64)
    # lexsort is stable: the first of each set is its earliest triangle
    earliest[order] = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    again = np.flatnonzero(earliest != np.arange(len(order)))
    return again, earliest[again]


def _find_bad_triangles(mesh: Mesh, names: Names) -> Iterator[Flaw]:
    ratio = flatness(mesh)
    worst = int(np.argmin(ratio))
    flat = int((ratio <= DEGENERATE).sum())
    if flat:
        words = tell_count(flat, "a triangle without area,", "{} triangles without area, the worst being")
        yield Flaw(f"has {words} {names.triangle(worst)}", "remove degenerate triangles", True)
    again, earliest = find_duplicates(mesh.triangles)
    if len(again):
        words = tell_count(len(again), "the same triangle twice", "{} triangles that repeat others")
        pair = f"{names.triangle(int(again[0]))} repeats {names.triangle(int(earliest[0]))}"
        yield Flaw(f"has {words} ({pair})", "remove duplicates", True)
    slivers = (ratio > DEGENERATE) & (ratio < SLIVER)
    if slivers.any():
        worst = int(np.argmin(np.where(slivers, ratio, np.inf)))
        words = tell_count(int(slivers.sum()), "a sliver triangle,", "{} sliver triangles, the worst being")
        words += f" {names.triangle(worst)}, whose height is {ratio[worst]:.1e} of its longest edge"
        yield Flaw(f"has {words}", "collapse its short edge or flip its long one in a mesh editor")


def _find_bad_edges(mesh: Mesh, names: Names) -> Iterator[Flaw]:
    _, starts = mesh._half_edges
    crowded = np.diff(starts) > 2
    if crowded.any():
        i, j = mesh.edges[np.argmax(crowded)].tolist()
        words = tell_count(int(crowded.sum()), "the edge", "{} edges, the first")
        yield Flaw(
            f"is not a manifold because more than two triangles share {words} between {names.vertex(i)} and "
            f"{names.vertex(j)}",
            "split or remove the extra triangles",
        )
    first, second = (mesh._ends(half_edges) for half_edges in mesh.hinge_half_edges)
    alike = first[:, 0] == second[:, 0]
    if alike.any():
        i, j = first[np.argmax(alike)].tolist()
        words = tell_count(int(alike.sum()), "the edge", "{} edges, the first")
        yield Flaw(
            f"is not consistently oriented because both triangles at {words} between {names.vertex(i)} and "
            f"{names.vertex(j)} traverse it in the same direction",
            "orient all faces consistently",
            True,
        )


def _find_touching_fans(mesh: Mesh, names: Names) -> Iterator[Flaw]:
    """Sheets that touch in one vertex only: the corners at a vertex must form a single fan."""
    corners = mesh.triangles.reshape(-1)
    order, starts = mesh._half_edges
    # half-edges of one edge, each with the next; in a manifold these are the two triangles of an interior edge
    linked = np.ones(len(order), dtype=bool)
    linked[starts[1:] - 1] = False
    first, second = order[np.flatnonzero(linked)], order[np.flatnonzero(linked) + 1]
    alike = corners[first] == corners[second]
    # where they walk the edge in opposite directions, the corner that one leaves is the one that the other arrives at
    meets = np.where(alike, second, _next(second)), np.where(alike, _next(second), second)
    links = np.concatenate((first, _next(first))), np.concatenate(meets)
    graph = coo_array((np.ones(len(links[0])), links), shape=(len(corners), len(corners)))
    count, fan = connected_components(graph, directed=False)
    vertex_of_fan = np.empty(count, dtype=np.int64)
    vertex_of_fan[fan] = corners
    touching = np.bincount(vertex_of_fan, minlength=len(mesh.X)) > 1
    if touching.any():
        where = names.vertex(_first(touching))
        words = tell_count(int(touching.sum()), f"{where} only", "{} lone vertices, starting with " + where)
        yield Flaw(
            f"is not a manifold because surfaces touch at {words}",
            "give each surface its own vertex there",
        )


def _first(flags: Bools) -> int:
    return int(np.argmax(flags))


def tell_count(count: int, one: str, many: str) -> str:
    """One of two clauses; the second has {} for the count."""
    return one if count == 1 else many.format(count)


def concatenate(meshes: Sequence[Mesh]) -> tuple[Mesh, Longs]:
    """All meshes as one, and where each one's vertices begin, shape (len(meshes) + 1,)."""
    offsets = np.concatenate(([0], np.cumsum([len(mesh.X) for mesh in meshes], dtype=np.int64)))
    if not meshes:
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32)), offsets
    if len(meshes) == 1:
        # the mesh itself, with what it has computed of itself already
        return meshes[0], offsets
    triangles = [mesh.triangles + np.int32(start) for mesh, start in zip(meshes, offsets[:-1], strict=True)]
    uv = None
    if any(mesh.uv is not None for mesh in meshes):
        uv = np.concatenate([_nowhere(mesh) if mesh.uv is None else mesh.uv for mesh in meshes])
    rest = None
    if any(mesh.rest is not None for mesh in meshes):
        rest = np.concatenate([mesh.rest_corners for mesh in meshes])
    return Mesh(np.concatenate([mesh.X for mesh in meshes]), np.concatenate(triangles), uv, rest), offsets


def _nowhere(mesh: Mesh) -> Floats:
    """Texture coordinates of a mesh without any, in a row with others."""
    return np.full((len(mesh.triangles), 3, 2), np.nan)


def by_vertex(triangles: Ints, corners: Floats, n: int) -> Floats | None:
    """Values of the triangles' corners (m, 3, k) as values of n vertices, (n, k); None where a vertex has several.

    Vertices of no triangle get NaN.
    """
    values = np.full((n, corners.shape[2]), np.nan)
    values[triangles] = corners
    return values if np.array_equal(values[triangles], corners, equal_nan=True) else None


def find_bounds(points: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Least and greatest coordinates of points (n, k), shape (2, k); along memory, which is much faster than across."""
    columns = np.ascontiguousarray(points.T)
    return np.stack([columns.min(axis=1), columns.max(axis=1)])


def rank_neighbours(n: int, i: Ints | Longs, j: Ints | Longs) -> Longs:
    """Each of n nodes' place in an order that keeps linked ones, i and j (k,), near: reverse Cuthill–McKee, (n,)."""
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n)).tocsr()
    rank = np.empty(n, np.int64)
    rank[reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)] = np.arange(n)
    return rank
