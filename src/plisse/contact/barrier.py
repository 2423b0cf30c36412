"""The contact barrier of a whole scene's surface with itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.contact import candidates as broad
from plisse.contact.ccd import max_step
from plisse.contact.exact import barrier_blocks, project_blocks
from plisse.contact.friction import Contacts
from plisse.core.potential import (
    Blocks,
    DenseBlocks,
    Floats,
    Hessian,
    Ints,
    KronBlocks,
    Potential,
    scatter_vectors,
)
from plisse.kernels import barrier

PARALLEL = 1e-3  # edge pairs are mollified below ‖u × v‖² = PARALLEL ‖ū‖² ‖v̄‖², rest lengths [Li2020] §4
CLOSE = 0.2  # pairs with a smaller part of dhat left take the projected exact Hessian
SOON = 1.5  # pairs within this multiple of the active range enter the sparsity pattern ahead of time


@dataclass(frozen=True, eq=False)
class _Near:
    """Candidates with each pair's constants: stiffness κ A [J], mollifier threshold [m⁴] (0 for point–triangle)."""

    candidates: broad.Candidates
    pairs: Ints
    offset: Floats
    dhat: Floats
    stiffness: Floats
    threshold: Floats


@dataclass(frozen=True, eq=False)
class _Touching:
    """The active pairs at one state."""

    x: Floats
    near: _Near
    weights: Floats  # witness weights of all candidates (k, 4)
    D: Floats  # squared distances of all candidates (k,)
    active: Ints


class Barrier(Potential):
    """Σ κ A m(c) b(D) over point–triangle and edge–edge pairs with offset < d < offset + dhat. [Li2021] §4.

    A is a quarter of the point's area, or of the sum of both edges' areas; where one side is a collider the shell's
    side counts, so that a coarse collider mesh weighs no more than a fine one. κ scales with the pair's own dhat:
    pairs whose reach is limited by their rest distance push with the same pressure. `max_step` is additive CCD.
    """

    kind = "contact"

    def __init__(self, surface: broad.Surface, *, kappa: float, margin: float) -> None:
        self.surface, self._kappa, self._margin = surface, kappa, margin
        self._areas()
        self._near: _Near | None = None
        self._touching: _Touching | None = None
        self.builds = 0  # how often the candidate list was made

    def _areas(self) -> None:
        s = self.surface
        corner = s.X[s.triangles]
        area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
        n = len(s.X)
        self._point_area = np.bincount(s.triangles.ravel(), np.repeat(area / 3.0, 3), minlength=n)
        self._edge_key = s.edges[:, 0].astype(np.int64) * n + s.edges[:, 1]
        sides = np.sort(s.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1).astype(np.int64)
        at = np.searchsorted(self._edge_key, sides[:, 0] * n + sides[:, 1])
        self._edge_area = np.bincount(at, np.repeat(area / 3.0, 3), minlength=len(s.edges))
        self._edge_length2 = ((s.X[s.edges[:, 0]] - s.X[s.edges[:, 1]]) ** 2).sum(axis=1)

    def _edge(self, ends: Ints) -> Ints:
        """Indices of edges given by their end vertices (k, 2)."""
        low, high = ends.min(axis=1).astype(np.int64), ends.max(axis=1)
        return np.asarray(np.searchsorted(self._edge_key, low * len(self.surface.X) + high), np.int32)

    def _with_constants(self, found: broad.Candidates) -> _Near:
        s, pt, ee = self.surface, found.pt, found.ee
        shell = s.deformable
        triangle_area = self._point_area[pt[:, 1:]].min(axis=1)
        pt_area = np.where(
            shell[pt[:, 0]], self._point_area[pt[:, 0]], np.minimum(triangle_area, self._point_area[pt[:, 0]])
        )
        first, second = self._edge(ee[:, :2]), self._edge(ee[:, 2:])
        area_a, area_b = self._edge_area[first], self._edge_area[second]
        ee_area = np.where(shell[ee[:, 0]], np.where(shell[ee[:, 2]], area_a + area_b, 2.0 * area_a), 2.0 * area_b)
        dhat = np.concatenate([found.pt_dhat, found.ee_dhat])
        area = 0.25 * np.concatenate([pt_area, ee_area])
        threshold = np.concatenate(
            [np.zeros(len(pt)), PARALLEL * self._edge_length2[first] * self._edge_length2[second]]
        )
        offset = np.concatenate([found.pt_offset, found.ee_offset])
        return _Near(found, np.concatenate([pt, ee]), offset, dhat, self._kappa * area * dhat / s.dhat, threshold)

    def _cover(self, x: Floats, p: Floats) -> _Near:
        """Candidates that are complete along x → x + p; the last list while it still is."""
        if self._near is None or not self._near.candidates.covers(x, p):
            self._near = self._with_constants(broad.build(self.surface, x, p, self._margin))
            self._touching = None
            self.builds += 1
        return self._near

    def _touch(self, x: Floats) -> _Touching:
        memo = self._touching
        if memo is not None and memo.x is x and not x.flags.writeable:
            return memo
        near = self._cover(x, np.zeros_like(x))
        weights, D = np.empty((len(near.pairs), 4)), np.empty(len(near.pairs))
        barrier.witnesses(x, near.pairs, len(near.candidates.pt), weights, D)
        active = np.flatnonzero(D < (near.offset + near.dhat) ** 2)
        self._touching = _Touching(x, near, weights, D, active.astype(np.int32))
        return self._touching

    def value(self, x: Floats) -> float:
        t = self._touch(x)
        a, near = t.active, t.near
        out = np.empty(len(a))
        barrier.barrier_energy(
            x, near.pairs[a], t.D[a], near.offset[a], near.dhat[a], near.stiffness[a], near.threshold[a], out
        )
        return float(out.sum())

    def _slopes(self, x: Floats) -> tuple[_Touching, Floats, Floats, Floats]:
        t = self._touch(x)
        a, near = t.active, t.near
        gradients, blocks, forces = np.empty((len(a), 4, 3)), np.empty((len(a), 3, 3)), np.empty(len(a))
        barrier.barrier_slopes(
            x, near.pairs[a], t.weights[a], t.D[a], near.offset[a], near.dhat[a], near.stiffness[a], near.threshold[a],
            gradients, blocks, forces,
        )  # fmt: skip
        return t, gradients, blocks, forces

    def gradient(self, x: Floats) -> Floats:
        t, gradients, _, _ = self._slopes(x)
        return scatter_vectors(t.near.pairs[t.active], gradients, len(x))

    def _exact(self, x: Floats, t: _Touching, rows: Ints) -> Floats:
        near = t.near
        constants = (near.offset[rows], near.dhat[rows], near.stiffness[rows], near.threshold[rows])
        return barrier_blocks(x, near.pairs[rows], t.weights[rows], t.D[rows], *constants)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        t, _, blocks, _ = self._slopes(x)
        a, near = t.active, t.near
        if not psd:
            return Hessian((DenseBlocks(near.pairs[a], self._exact(x, t, a)),))
        # sliding along a pair that turns shrinks its gap to second order; the closed form does not know that, and
        # Newton would run into the same pair again and again, a tenth of the gap left each time
        close = np.sqrt(t.D[a]) < near.offset[a] + CLOSE * near.dhat[a]
        tight, a = a[close], a[~close]
        parts: list[Blocks] = [KronBlocks(near.pairs[a], t.weights[a], blocks[~close])]
        if len(tight):
            parts.append(DenseBlocks(near.pairs[tight], project_blocks(self._exact(x, t, tight))))
        edge_pairs = a[near.threshold[a] > 0.0]
        u = x[near.pairs[edge_pairs, 1]] - x[near.pairs[edge_pairs, 0]]
        v = x[near.pairs[edge_pairs, 3]] - x[near.pairs[edge_pairs, 2]]
        m = edge_pairs[(np.cross(u, v) ** 2).sum(axis=1) < near.threshold[edge_pairs]]
        if len(m):
            curvature = np.empty((len(m), 10, 3, 3))
            barrier.mollified_blocks(
                x,
                near.pairs[m],
                t.D[m],
                near.offset[m],
                near.dhat[m],
                near.stiffness[m],
                near.threshold[m],
                curvature,
            )
            parts.append(DenseBlocks(near.pairs[m], curvature))
        return Hessian(tuple(parts))

    def max_step(self, x: Floats, p: Floats) -> float:
        return float(max_step(self._cover(x, p).candidates, x, p)[0])

    def soon(self, x: Floats) -> tuple[Ints, ...]:
        """Pairs that are active or nearly so: the part of the sparsity pattern that contact needs now and shortly."""
        t = self._touch(x)
        reach = t.near.offset + SOON * t.near.dhat
        return (t.near.pairs[t.D < reach**2],)

    def contacts(self, x: Floats) -> Contacts:
        """Active contacts for lagged friction."""
        t, _, _, forces = self._slopes(x)
        pairs, w = t.near.pairs[t.active], t.weights[t.active]
        r = np.einsum("ka,kai->ki", w, x[pairs])
        return Contacts(pairs, w, r / np.linalg.norm(r, axis=1)[:, None], forces)

    def count(self, x: Floats) -> int:
        """Number of active pairs."""
        return len(self._touch(x).active)

    def closest(self, x: Floats) -> tuple[float, Ints]:
        """Smallest d / offset over all near pairs (> 1 in every admissible state), and that pair's vertices."""
        t = self._touch(x)
        if len(t.D) == 0:
            return np.inf, np.empty(0, np.int32)
        ratio = np.sqrt(t.D) / t.near.offset
        worst = int(ratio.argmin())
        return float(ratio[worst]), t.near.pairs[worst]
