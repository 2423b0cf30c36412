"""The independent detector: counts intersections with ipctk, whose code the solver does not use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import ipctk
import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.bodies import Bodies
from plisse.core.mesh import Mesh


def use_detector_threads(threads: int) -> None:
    ipctk.set_num_threads(min(threads, os.cpu_count() or 1))


class Collides(Protocol):
    """What the detector needs to know of a problem."""

    @property
    def surface(self) -> Mesh | None: ...

    @property
    def bodies(self) -> Bodies: ...


class Detector:
    """Intersections of shells with themselves, with one another and with mesh colliders.

    X (n, 3) rest positions [m], edges and triangles of everything. Vertices from `first_collider` on belong to
    colliders; colliders among themselves are not asked, scenes may let them overlap.
    """

    def __init__(self, X: Floats, edges: Ints, triangles: Ints, first_collider: int) -> None:
        self._edges, self._triangles = np.asfortranarray(edges), np.asfortranarray(triangles)
        self._mesh = ipctk.CollisionMesh(np.asfortranarray(X), self._edges, self._triangles)
        self._first_collider = first_collider
        if first_collider < len(X):
            self._mesh.can_collide = ipctk.make_static_obstacle_filter(first_collider)

    @classmethod
    def of(cls, problem: Collides) -> Detector:
        """The detector of everything in a problem that can collide."""
        mesh = problem.surface or Mesh(np.zeros((problem.bodies.n, 3)), np.zeros((0, 3), np.int32))
        return cls(mesh.X, mesh.edges, mesh.triangles, problem.bodies.n_simulated)

    def count(self, x: Floats) -> int:
        """Number of edge–triangle pairs that intersect."""
        return len(self.intersections(x))

    def intersections(self, x: Floats) -> list[tuple[int, int]]:
        """(edge, triangle) indices of every intersecting pair."""
        x = np.asfortranarray(x)
        if not ipctk.has_intersections(self._mesh, x, broad_phase=ipctk.LBVH()):
            return []
        # one by one: that there are any is an error
        tree = ipctk.LBVH()
        tree.build(x, self._edges, self._triangles, 0.0)
        found = []
        for pair in tree.detect_edge_face_candidates():
            edge, triangle = self._edges[pair.edge_id], self._triangles[pair.face_id]
            both = np.concatenate([edge, triangle])
            if len(set(both)) == 5 and both.min() < self._first_collider:
                if ipctk.is_edge_intersecting_triangle(*x[edge], *x[triangle]):
                    found.append((int(pair.edge_id), int(pair.face_id)))
        return found


def mark_triangles(mesh: Mesh, found: Sequence[tuple[int, int]]) -> Longs:
    """The triangles of a mesh that take part in intersections (edge, triangle), ascending, shape (k,)."""
    marked = np.asarray(np.isin(mesh.triangle_edges, [edge for edge, _ in found]).any(axis=1))
    marked[[triangle for _, triangle in found]] = True
    return np.flatnonzero(marked)
