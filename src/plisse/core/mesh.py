"""Rest geometry and connectivity of a triangle mesh."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from plisse.core.errors import SceneError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

# A triangle counts as degenerate when its area is below this part of its longest edge squared.
FLATNESS = 1e-10


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh at rest; deformed positions live elsewhere.

    X: rest positions [m], shape (n, 3).
    triangles: vertex indices, counter-clockwise seen from outside, shape (m, 3), int32.
    """

    X: Floats
    triangles: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", np.ascontiguousarray(self.X, dtype=np.float64).reshape(-1, 3))
        triangles = np.ascontiguousarray(self.triangles, dtype=np.int32).reshape(-1, 3)
        object.__setattr__(self, "triangles", triangles)

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
        first, second = self._interior_pairs
        wings = (self._ends(first), self._opposite(first), self._opposite(second))
        return np.ascontiguousarray(np.column_stack(wings))

    @cached_property
    def _interior_pairs(self) -> tuple[Longs, Longs]:
        """Both half-edges of every edge that has exactly two, each of shape (q,)."""
        order, starts = self._half_edges
        first = starts[:-1][np.diff(starts) == 2]
        return order[first], order[first + 1]

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
        """Rest lengths [m], shape (k,)."""
        ends = self.X[self.edges]
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), dtype=np.float64)

    def local_order(self, nodes: Ints) -> Longs:
        """The order of stencils (m, k) in which one and the next share memory, shape (m,)."""
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
    a, b, c = (mesh.X[mesh.triangles[:, k]] for k in range(3))
    return np.asarray(np.cross(b - a, c - a), dtype=np.float64)


def check_manifold(mesh: Mesh, name: str) -> None:
    """Raise a SceneError unless the mesh is a clean, consistently oriented manifold triangle mesh."""
    X, triangles = mesh.X, mesh.triangles
    if len(triangles) == 0:
        raise SceneError(f"{name} has no triangles: give it a surface mesh.")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise SceneError(f"{name} has a coordinate that is not a finite number at vertex {bad[0]}: repair the file.")
    bad = np.flatnonzero((triangles < 0).any(axis=1) | (triangles >= len(X)).any(axis=1))
    if len(bad):
        raise SceneError(
            f"{name} has a triangle ({bad[0]}) whose vertex index is not in 0..{len(X) - 1}: repair the file."
        )
    used = np.zeros(len(X), dtype=bool)
    used[triangles] = True
    if not used.all():
        raise SceneError(
            f"{name} has {int((~used).sum())} vertices that no triangle uses, the first is "
            f"{int(np.argmin(used))}: remove loose vertices from the mesh."
        )
    _check_triangles(mesh, name)
    _check_edges(mesh, name)
    _check_fans(mesh, name)


def _check_triangles(mesh: Mesh, name: str) -> None:
    corners = mesh.X[mesh.triangles]
    longest = np.linalg.norm(corners - corners[:, (1, 2, 0)], axis=2).max(axis=1)
    bad = np.flatnonzero(~(mesh.triangle_areas > FLATNESS * longest**2))
    if len(bad):
        raise SceneError(f"{name} has a triangle without area ({bad[0]}): remove or repair degenerate triangles.")
    corner_sets = np.sort(mesh.triangles, axis=1)
    order = np.lexsort(corner_sets.T[::-1])
    same = np.flatnonzero((corner_sets[order[1:]] == corner_sets[order[:-1]]).all(axis=1))
    if len(same):
        pair = sorted(order[same[0] : same[0] + 2].tolist())
        raise SceneError(f"{name} has the same triangle twice ({pair[0]} and {pair[1]}): remove duplicates.")


def _check_edges(mesh: Mesh, name: str) -> None:
    _, starts = mesh._half_edges
    crowded = np.diff(starts) > 2
    if crowded.any():
        i, j = mesh.edges[np.argmax(crowded)]
        raise SceneError(
            f"{name} is not a manifold: more than two triangles share the edge ({i}, {j}); "
            "split or remove the extra ones."
        )
    first, second = (mesh._ends(half_edges) for half_edges in mesh._interior_pairs)
    alike = first[:, 0] == second[:, 0]
    if alike.any():
        i, j = first[np.argmax(alike)]
        raise SceneError(
            f"{name} is not consistently oriented: both triangles at the edge ({i}, {j}) walk it in the same "
            "direction; make all faces wind alike."
        )


def _check_fans(mesh: Mesh, name: str) -> None:
    """Refuse sheets that touch in one vertex only: the corners at a vertex must form a single fan."""
    corners = mesh.triangles.reshape(-1)
    first, second = mesh._interior_pairs
    # across an interior edge, the corner that one half-edge leaves meets the one that the other arrives at
    links = np.concatenate((first, second)), np.concatenate((_next(second), _next(first)))
    graph = coo_array((np.ones(len(links[0])), links), shape=(len(corners), len(corners)))
    count, fan = connected_components(graph, directed=False)
    vertex_of_fan = np.empty(count, dtype=np.int64)
    vertex_of_fan[fan] = corners
    fans = np.bincount(vertex_of_fan, minlength=len(mesh.X))
    if (fans > 1).any():
        raise SceneError(
            f"{name} is not a manifold: surfaces touch at vertex {int(np.argmax(fans > 1))} only; "
            "give each its own vertex there."
        )


def concatenate(meshes: Sequence[Mesh]) -> tuple[Mesh, Longs]:
    """All meshes as one, and where each one's vertices begin, shape (len(meshes) + 1,)."""
    offsets = np.concatenate(([0], np.cumsum([len(mesh.X) for mesh in meshes], dtype=np.int64)))
    if not meshes:
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32)), offsets
    if len(meshes) == 1:
        # the mesh itself, with what it has computed of itself already
        return meshes[0], offsets
    triangles = [mesh.triangles + np.int32(start) for mesh, start in zip(meshes, offsets[:-1], strict=True)]
    return Mesh(np.concatenate([mesh.X for mesh in meshes]), np.concatenate(triangles)), offsets


def rank_neighbours(n: int, i: Ints | Longs, j: Ints | Longs) -> Longs:
    """Each of n nodes' place in an order that keeps linked ones, i and j (k,), near: reverse Cuthill–McKee, (n,)."""
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n)).tocsr()
    rank = np.empty(n, np.int64)
    rank[reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)] = np.arange(n)
    return rank
