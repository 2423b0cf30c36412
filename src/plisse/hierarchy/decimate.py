"""From a fine mesh to coarser ones: edge collapses, and where every finer vertex lies on every coarser mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import Mesh, check_manifold
from plisse.hierarchy.collapses import Collapses, enlarge_log, make_log, read_log
from plisse.hierarchy.curves import Curves, find_curves
from plisse.kernels.collapse import FULL, LOGGED, STUCK, TRIES, VERTICES, Progress, collapse_until, price_all
from plisse.kernels.guards import RULES, Prices
from plisse.kernels.heap import Heap
from plisse.kernels.patch import make_patch
from plisse.kernels.points import Points, place_points
from plisse.kernels.quadrics import fill_quadrics
from plisse.kernels.surface import Surface, find_starts

NOISE = 0.02  # of the normals' directions, as a part of their length
FIRMNESS = 5.0  # of curves and creases against being cut short, beside surfaces
FIRMNESS_JAGGED = 0.02  # of curves of which only the course counts
CREASE = float(np.cos(np.radians(60.0)))  # triangles that meet at a greater angle form a crease
UNEVENNESS = 3.0  # greatest part that chance adds to a price at first, lest regular meshes collapse row by row
A_COLLAPSE = 10  # entries of the log's lists that there is room for at first


@dataclass(frozen=True)
class Stopped:
    """Why decimation ended early.

    vertices: number that was reached. wanted: number that was asked for. refused: of each rule, how many of the
    remaining edges it holds back.
    """

    vertices: int
    wanted: int
    refused: dict[str, int]


@dataclass(frozen=True, eq=False)
class Decimation:
    """Meshes of several sizes, coarse to fine, and how they belong together.

    meshes: the last is the one that was given. ids: of each level, the given mesh's number of each vertex, ascending.
    faces: likewise of each triangle. places: for each coarse and finer level, the coarse triangle that each fine vertex
    lies in, (n_fine,), and its weights there, (n_fine, 3). log: all collapses; the first log_start[level] of them lead
    from the given mesh to the level. stopped: None where all sizes were reached; otherwise the coarsest mesh is as
    coarse as could be. slip: by how much weights had to be lifted to zero, at most; more than rounding is a bug.
    tries: collapses that were examined, refused ones included.
    """

    meshes: tuple[Mesh, ...]
    ids: tuple[Ints, ...]
    faces: tuple[Ints, ...]
    places: dict[tuple[int, int], tuple[Ints, Floats]]
    log: Collapses
    log_start: tuple[int, ...]
    stopped: Stopped | None
    slip: float
    tries: int

    def batches(self, level: int) -> list[Longs]:
        """Collapses that, undone, lead from a level to the next finer one: batches of independent ones, in order."""
        return self.log.batches(self.log_start[level + 1], self.log_start[level])


def decimate(
    mesh: Mesh, targets: Sequence[int], *, groups: Sequence[Bools] = (), fixed: Bools | None = None, seed: int = 0
) -> Decimation:
    """Coarser meshes with about the given numbers of vertices, coarse to fine.

    mesh: a manifold. targets: a size that the present mesh is not above gives no level. groups: vertices (n,) that
    never merge with others, and whose outlines stay. fixed: vertices (n,) that are neither moved nor removed. seed: of
    the small differences in price that keep regular meshes irregular.
    """
    check_manifold(mesh, "The mesh to decimate")
    work = _Work(mesh, find_curves(mesh, groups, fixed), seed)
    stopped = None
    for wanted in reversed(targets):
        before = work.size
        stopped = work.shrink(wanted)
        if work.size < before:
            work.keep_level()
        if stopped is not None:
            break
    return work.finish(stopped)


class _Work:
    """A decimation on its way."""

    def __init__(self, mesh: Mesh, curves: Curves, seed: int) -> None:
        n, m = len(mesh.X), len(mesh.triangles)
        self._mesh = mesh
        values = [part for part in (mesh.uv, mesh.rest) if part is not None]
        corners = np.concatenate(values, axis=2) if values else np.empty((m, 3, 0))
        self._first_rest = -1 if mesh.rest is None else corners.shape[2] - 3
        start = np.empty(n, np.int32)
        find_starts(mesh.triangles, curves.twin, start)
        self._surface = Surface(
            X=mesh.X.copy(),
            triangles=mesh.triangles.copy(),
            corners=corners,
            twin=curves.twin,
            start=start,
            curve=curves.along,
            kind=curves.kind,
            label=curves.label,
            vertex_alive=np.ones(n, bool),
            face_alive=np.ones(m, bool),
            mark=np.zeros(n, np.int32),
        )
        origin = 0.5 * (mesh.X.min(axis=0) + mesh.X.max(axis=0))
        quadrics = np.zeros((n, 10))
        firm = FIRMNESS * curves.along - (FIRMNESS - FIRMNESS_JAGGED) * curves.jagged
        fill_quadrics(mesh.X, mesh.triangles, curves.twin, firm, origin, NOISE, CREASE, FIRMNESS, quadrics)
        self._prices = Prices(quadrics, origin, UNEVENNESS, seed, np.ones(n, np.int32))
        self._heap = Heap(
            np.empty(3 * m, np.int32), np.full(3 * m, -1, np.int32), np.zeros(3 * m), np.zeros(1, np.int32)
        )
        counts = np.zeros(6, np.int64)
        counts[VERTICES] = n
        self._progress = Progress(np.zeros(3 * m, np.uint8), np.zeros(n, np.int32), counts)
        self._log = make_log(n, A_COLLAPSE * n)
        self._patch = make_patch(corners.shape[2])
        self._points = Points(
            np.empty(0, np.int32), np.empty((0, 3)), np.empty(0, np.int32), np.full(m, -1, np.int32), np.zeros(1)
        )
        self._meshes, self._first_point, self._log_start = [mesh], [0], [0]
        self._ids, self._faces = [np.arange(n, dtype=np.int32)], [np.arange(m, dtype=np.int32)]
        self._maps: list[list[tuple[Ints, Floats]]] = [[]]
        self._track(self._ids[0])
        price_all(self._surface, self._prices, self._heap, self._progress)

    @property
    def size(self) -> int:
        return int(self._progress.counts[VERTICES])

    def _track(self, vertices: Ints) -> None:
        """More points, at the present vertices."""
        first, count = len(self._points.face), len(vertices)
        self._points = self._points._replace(
            face=np.concatenate((self._points.face, np.empty(count, np.int32))),
            weights=np.concatenate((self._points.weights, np.empty((count, 3)))),
            next=np.concatenate((self._points.next, np.empty(count, np.int32))),
        )
        place_points(self._points, first, vertices, self._surface.start)

    def shrink(self, wanted: int) -> Stopped | None:
        """Collapse edges until the present mesh has so many vertices, or say why not."""
        while True:
            end = collapse_until(
                self._surface, self._prices, self._heap, self._progress, self._patch, self._points, self._log, wanted,
                self._first_rest,
            )  # fmt: skip
            if end == FULL:
                self._log = enlarge_log(self._log)
            elif end == STUCK:
                alive = np.repeat(self._surface.face_alive, 3)
                counts = np.bincount(self._progress.refused[alive], minlength=len(RULES) + 1)[1:]
                refused = {rule: int(count) for rule, count in zip(RULES, counts, strict=True) if count}
                return Stopped(self.size, wanted, refused)
            else:
                return None

    def keep_level(self) -> None:
        """The present mesh becomes a level, and its vertices are tracked from now on."""
        surface, given = self._surface, self._mesh
        ids = np.flatnonzero(surface.vertex_alive).astype(np.int32)
        number = np.full(len(surface.X), -1, np.int32)
        number[ids] = np.arange(len(ids), dtype=np.int32)
        faces = np.flatnonzero(surface.face_alive).astype(np.int32)
        rank = np.full(len(surface.triangles), -1, np.int32)
        rank[faces] = np.arange(len(faces), dtype=np.int32)
        corners = surface.corners[faces]
        self._meshes.append(
            Mesh(
                surface.X[ids],
                number[surface.triangles[faces]],
                None if given.uv is None else corners[:, :, :2].copy(),
                None if given.rest is None else corners[:, :, self._first_rest :].copy(),
            )
        )
        bounds = [*self._first_point, len(self._points.face)]
        self._maps.append(
            [
                (rank[self._points.face[first:last]], self._points.weights[first:last].copy())
                for first, last in pairwise(bounds)
            ]
        )
        self._first_point.append(len(self._points.face))
        self._ids.append(ids)
        self._faces.append(faces)
        self._log_start.append(int(self._progress.counts[LOGGED]))
        self._track(ids)

    def finish(self, stopped: Stopped | None) -> Decimation:
        finest = len(self._meshes) - 1
        places = {
            (finest - k, finest - fine): place for k, maps in enumerate(self._maps) for fine, place in enumerate(maps)
        }
        counts = self._progress.counts
        return Decimation(
            tuple(self._meshes[::-1]),
            tuple(self._ids[::-1]),
            tuple(self._faces[::-1]),
            places,
            read_log(self._log, int(counts[LOGGED])),
            tuple(self._log_start[::-1]),
            stopped,
            float(self._points.slip[0]),
            int(counts[TRIES]),
        )
