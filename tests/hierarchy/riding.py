"""Coarse and fine meshes of a surface that share no vertices, and where the fine ones are on the coarse one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, Delaunay, cKDTree

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.hierarchy.shell_map import ShellMap

Surface = Callable[[Floats], Floats]  # parameters (n, 2) in the unit square, or directions (n, 3), to positions (n, 3)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two meshes, and the fine one's homes and weights on the coarse one; parameters of both sets of vertices."""

    coarse: Mesh
    fine: Mesh
    home: Ints
    weights: Floats
    kept: Ints
    s_coarse: Floats
    s_fine: Floats

    def map(self, **options: Any) -> ShellMap:
        return ShellMap(self.coarse, self.fine, self.home, self.weights, self.kept, **options)


def scatter(n: int, *, around: tuple[bool, bool], jitter: float = 0.25, seed: int = 0) -> Floats:
    """Points (k, 2) in the unit square near a grid of n × n cells; those on a border stay there."""
    lines = [np.arange(n) / n if closed else np.arange(n + 1) / n for closed in around]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
    moved = points + jitter / n * np.random.default_rng(seed).uniform(-1.0, 1.0, points.shape)
    for axis, closed in enumerate(around):
        if not closed:
            border = (points[:, axis] == 0.0) | (points[:, axis] == 1.0)
            moved[border, axis] = points[border, axis]
    return moved


def triangulate(points: Floats, *, around: tuple[bool, bool]) -> tuple[Ints, Delaunay, Ints]:
    """Triangles (m, 3), a triangulation of the points and of copies next to the square, and its triangles in ours."""
    steps = [(-1, 0, 1) if closed else (0,) for closed in around]
    shifts = [(a, b) for a in steps[0] for b in steps[1]]
    tiled = Delaunay(np.concatenate([points + shift for shift in shifts]))
    simplices = tiled.simplices.copy()
    corners = tiled.points[simplices]
    e1, e2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    turned = e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0] < 0.0
    simplices[turned] = simplices[turned][:, (0, 2, 1)]
    middles = corners.mean(axis=1)
    own = np.ones(len(simplices), bool)
    for axis, closed in enumerate(around):
        if closed:
            own &= (middles[:, axis] >= 0.0) & (middles[:, axis] < 1.0)
    triangles = simplices % len(points)
    numbers = {tuple(sorted(t)): i for i, t in enumerate(triangles[own].tolist())}
    return (
        triangles[own].astype(np.int32),
        tiled,
        np.array([numbers.get(tuple(sorted(t)), -1) for t in triangles.tolist()]),
    )


def ride(
    surface: Surface, n_coarse: int, n_fine: int, *, around: tuple[bool, bool] = (False, False), jitter: float = 0.25
) -> Pair:
    """A surface over the unit square, whose sides may be joined, at two resolutions."""
    s_coarse = scatter(n_coarse, around=around, jitter=jitter, seed=1)
    s_fine = scatter(n_fine, around=around, jitter=jitter, seed=2)
    coarse, tiled, number = triangulate(s_coarse, around=around)
    fine, _, _ = triangulate(s_fine, around=around)
    simplex = tiled.find_simplex(s_fine, tol=1e-9)
    assert (simplex >= 0).all() and (number[simplex] >= 0).all()
    across = tiled.transform[simplex]
    part = np.einsum("nij,nj->ni", across[:, :2], s_fine - across[:, 2])
    weights = np.maximum(np.column_stack([part, 1.0 - part.sum(axis=1)]), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    home = number[simplex].astype(np.int32)
    # the triangulation's corners are in another order than ours
    corners = tiled.simplices[simplex] % len(s_coarse)
    at = (corners[:, None, :] == coarse[home][:, :, None]).argmax(axis=2)
    weights = np.take_along_axis(weights, at, axis=1)
    kept = cKDTree(surface(s_fine)).query(surface(s_coarse))[1].astype(np.int32)
    meshes = Mesh(surface(s_coarse), coarse), Mesh(surface(s_fine), fine)
    return Pair(*meshes, home, weights, kept, s_coarse, s_fine)


def ride_ball(surface: Surface, n_coarse: int, n_fine: int) -> Pair:
    """A surface over the unit sphere, at two numbers of vertices."""
    (d_coarse, coarse), (d_fine, fine) = (_ball(n) for n in (n_coarse, n_fine))
    a, b, c = (d_coarse[coarse[:, k]] for k in range(3))
    outward = np.cross(b - a, c - a)
    home = (d_fine @ (outward / np.einsum("ij,ij->i", outward, a)[:, None]).T).argmax(axis=1).astype(np.int32)
    weights = np.linalg.solve(np.stack([a, b, c], axis=2)[home], d_fine[:, :, None])[..., 0]
    weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum(axis=1, keepdims=True)
    kept = cKDTree(surface(d_fine)).query(surface(d_coarse))[1].astype(np.int32)
    meshes = Mesh(surface(d_coarse), coarse), Mesh(surface(d_fine), fine)
    return Pair(*meshes, home, weights, kept, d_coarse, d_fine)


def _ball(n: int) -> tuple[Floats, Ints]:
    """Directions (n, 3) spread evenly by the golden angle, and their triangles."""
    z, turn = 1.0 - (2.0 * np.arange(n) + 1.0) / n, np.pi * (1.0 + np.sqrt(5.0)) * np.arange(n)
    r = np.sqrt(1.0 - z**2)
    points = np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
    triangles = ConvexHull(points).simplices
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0.0
    triangles[inward] = triangles[inward][:, (0, 2, 1)]
    return points, triangles.astype(np.int32)


def sheet(s: Floats) -> Floats:
    return np.column_stack([s, np.zeros(len(s))])


def bend(X: Floats, *, angle: float = 1.5) -> Floats:
    """A unit sheet rolled up by an angle along x without strain; heights are kept along the normal."""
    radius, turn = 1.0 / angle, angle * (X[:, 0] - 0.5)
    r = radius + X[:, 2]
    return np.column_stack([r * np.sin(turn), X[:, 1], r * np.cos(turn) - radius])


def tube(s: Floats) -> Floats:
    turn = 2.0 * np.pi * s[:, 0]
    return np.column_stack([0.3 * np.cos(turn), 0.3 * np.sin(turn), 1.5 * s[:, 1]])


def dome(s: Floats) -> Floats:
    u, v = 2.0 * s.T - 1.0
    return np.column_stack([s, 0.25 * (1.0 - u**2) * (1.0 - v**2)])


def torus(s: Floats) -> Floats:
    a, b = 2.0 * np.pi * s.T
    r = 0.35 + 0.15 * np.cos(b)
    return np.column_stack([r * np.cos(a), r * np.sin(a), 0.15 * np.sin(b)])


def potato(d: Floats) -> Floats:
    """A closed surface with bumps and hollows."""
    x, y, z = d.T
    r = 0.4 * (1.0 + 0.15 * np.sin(3.0 * x + 1.0) * np.cos(4.0 * y) + 0.1 * np.sin(5.0 * z) + 0.1 * x * y)
    return r[:, None] * d


PAIRS: dict[str, Callable[[], Pair]] = {
    "sheet": lambda: ride(sheet, 8, 32),
    "tube": lambda: ride(tube, 12, 48, around=(True, False)),
    "dome": lambda: ride(dome, 8, 32),
    "torus": lambda: ride(torus, 14, 42, around=(True, True)),
    "potato": lambda: ride_ball(potato, 150, 2400),
}
