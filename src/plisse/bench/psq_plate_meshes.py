"""Flat strips and discs, from regular meshes to Delaunay's of random points, for comparisons with closed forms."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from plisse.core.arrays import Bools, Floats
from plisse.core.mesh import Mesh
from plisse.shapes import catalogue as shapes

STRIPS = ("uniform", "alternating", "jittered", "delaunay")
DISCS = ("rings", "jittered rings", "delaunay")
JITTER = 0.25  # of a cell, in each direction
APART = 0.75  # of a cell: least distance of random points
CLOSE = 1e-9


def make_strip(kind: str, cells: int, *, width: float, collar: bool, seed: int = 1) -> Mesh:
    """A strip from x = 0 to 1 m, y around 0; with a collar one column of cells longer, to be clamped."""
    cell = 1.0 / cells
    across, start = max(round(width / cell), 1), -cell if collar else 0.0
    x, y = np.linspace(start, 1.0, cells + 1 + int(collar)), np.linspace(-0.5 * width, 0.5 * width, across + 1)
    if kind in ("uniform", "alternating"):
        mesh = shapes.grid(1.0 - start, width, resolution=(len(x) - 1, across), diagonals=kind)
        return Mesh(mesh.X + np.array([0.5 * (1.0 + start), 0.0, 0.0]), mesh.triangles)
    if kind == "jittered":
        mesh = shapes.grid(1.0 - start, width, resolution=(len(x) - 1, across), diagonals=kind, seed=seed)
        X = mesh.X + np.array([0.5 * (1.0 + start), 0.0, 0.0])
        if collar:
            X[np.abs(X[:, 0]) < 0.45 * cell, 0] = 0.0  # the clamp's edge is straight
        return Mesh(X, mesh.triangles)
    sides = [(at, side) for at in x for side in (y[0], y[-1])]
    columns = [(at, row) for at in ((start, 0.0, 1.0) if collar else (0.0, 1.0)) for row in y[1:-1]]
    low, high = np.array([0.5 * cell, y[0] + 0.5 * cell]), np.array([1.0 - 0.5 * cell, y[-1] - 0.5 * cell])
    return _triangulate(_throw(np.array(sides + columns), low, high, APART * cell, seed))


def make_disc(kind: str, rings: int, *, collar: bool, seed: int = 1) -> Mesh:
    """A disc of radius 1 m; with a collar one ring of cells wider, to be clamped."""
    last = rings + int(collar)
    circles = [np.zeros((1, 2)), *(_circle(k, k / rings) for k in range(1, last + 1))]
    if kind == "rings":
        return _triangulate(np.concatenate(circles))
    if kind == "jittered rings":
        rng = np.random.default_rng(seed)
        inner = np.concatenate(circles[:rings])
        inner += rng.uniform(-JITTER, JITTER, inner.shape) / rings
        return _triangulate(np.concatenate([inner, *circles[rings:]]))
    low = np.full(2, -1.0)
    points = _throw(np.concatenate(circles[rings:]), low, -low, APART / rings, seed, radius=1.0 - 0.5 / rings)
    return _triangulate(points)


def sew_tube(mesh: Mesh) -> Mesh:
    """A strip without collar, sewn together at its ends: its vertices lie on a tube, its rest shape stays flat."""
    X, last = mesh.X, np.flatnonzero(np.abs(mesh.X[:, 0] - 1.0) < CLOSE)
    first = np.flatnonzero(np.abs(X[:, 0]) < CLOSE)
    place = np.arange(len(X))
    place[last[np.argsort(X[last, 1])]] = first[np.argsort(X[first, 1])]
    kept, triangles = np.unique(place[mesh.triangles], return_inverse=True)
    radius, angle = 0.5 / np.pi, 2.0 * np.pi * X[kept, 0]
    tube = np.column_stack((radius * np.sin(angle), X[kept, 1], -radius * np.cos(angle)))
    return Mesh(tube, triangles.reshape(-1, 3).astype(np.int32), rest=X[mesh.triangles])


def _circle(count: int, radius: float) -> Floats:
    angle = 2.0 * np.pi * np.arange(6 * count) / (6 * count)
    return radius * np.column_stack((np.cos(angle), np.sin(angle)))


def _throw(known: Floats, low: Floats, high: Floats, apart: float, seed: int, *, radius: float = np.inf) -> Floats:
    """Known points (k, 2) and as many random ones as fit in between, none closer to another than `apart`."""
    rng = np.random.default_rng(seed)
    count = int(40 * np.prod((high - low) / apart))
    thrown = rng.uniform(low, high, (count, 2))
    thrown = thrown[np.hypot(*thrown.T) < radius]
    thrown = thrown[cKDTree(known).query(thrown)[0] > apart]
    pairs = cKDTree(thrown).query_pairs(apart, output_type="ndarray")
    taken: Bools = np.zeros(len(thrown), bool)
    waiting = ~taken
    # of two that are too close the first thrown stays, unless one before has ruled it out
    while waiting.any():
        open_pairs = pairs[waiting[pairs].all(axis=1)]
        new = waiting.copy()
        new[open_pairs.max(axis=1)] = False
        taken |= new
        ruled_out = pairs[new[pairs].any(axis=1)].ravel()
        waiting &= ~new
        waiting[ruled_out] = False
    return np.concatenate([known, thrown[taken]])


def _triangulate(points: Floats) -> Mesh:
    triangles = Delaunay(points).simplices
    a, b = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    triangles = np.where((area < 0.0)[:, None], triangles[:, (0, 2, 1)], triangles)
    # points along a straight side may make triangles without any area
    triangles = triangles[np.abs(area) > CLOSE * np.abs(area).max()]
    return Mesh(np.column_stack((points, np.zeros(len(points)))), triangles.astype(np.int32))
