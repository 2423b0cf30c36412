"""The contact barrier of a whole scene's surface with itself."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plisse.contact import candidates as broad
from plisse.contact.ccd import max_step, pair_steps
from plisse.contact.close import ClosePairs, find_close
from plisse.contact.exact import barrier_blocks, project_blocks
from plisse.contact.friction import Contacts
from plisse.contact.touching import ContactPotential
from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.potential import Blocks, DenseBlocks, Hessian, KronBlocks, scatter_vectors
from plisse.kernels import barrier

PARALLEL = 1e-3  # edge pairs are mollified below ‖u × v‖² = PARALLEL ‖ū‖² ‖v̄‖², rest lengths [Li2020] §4
CLOSE = 0.2  # pairs with a smaller part of dhat left take the projected exact Hessian
LONGEST = 64.0  # edge lengths that a vertex may move relative to its body in one step
SOON = 2.5  # pairs within this multiple of the active range enter the sparsity pattern ahead of time
FAR = 3.0  # the same for pairs that are no neighbours at rest, which are four times as far apart as dhat there


@dataclass(frozen=True, eq=False)
class _Near:
    """Candidates with each pair's constants: stiffness κ A [J], mollifier threshold [m⁴] (0 for point–triangle)."""

    candidates: broad.Candidates
    pairs: Ints
    offset: Floats
    dhat: Floats
    stiffness: Floats
    threshold: Floats
    reach2: Floats  # squared distance at which the pair becomes active [m²]


@dataclass(frozen=True, eq=False)
class _Touching:
    """Distances of all candidates at one state x, and the active pairs with their constants (see `_Near`)."""

    x: Floats
    near: _Near
    D: Floats  # squared distances of all candidates (k,)
    active: Ints
    pairs: Ints
    weights: Floats  # witness weights (m, 4)
    constants: tuple[Floats, Floats, Floats, Floats, Floats]  # D, offset, dhat, stiffness, threshold

    @cached_property
    def slopes(self) -> tuple[Floats, Floats, Floats, Bools]:
        """Gradients (m, 4, 3), closed-form blocks (m, 3, 3), normal forces (m,) [N], whether mollified (m,)."""
        m = len(self.pairs)
        out = np.empty((m, 4, 3)), np.empty((m, 3, 3)), np.empty(m), np.empty(m, np.bool_)
        barrier.barrier_slopes(self.x, self.pairs, self.weights, *self.constants, *out)
        return out


class Barrier(ContactPotential):
    """Σ κ A m(c) b(D) over point–triangle and edge–edge pairs with offset < d < offset + dhat. [Li2021] §4.

    A is a quarter of the point's area, or of the sum of both edges' areas; where one side is a collider the shell's
    side counts, so that a coarse collider mesh weighs no more than a fine one. κ scales with the pair's own dhat:
    pairs whose reach is limited by their rest distance push with the same pressure. `max_step` is additive CCD.
    start: positions that may hold pairs closer than their offset within one body, see `ClosePairs`.
    """

    def __init__(
        self, surface: broad.CollisionSurface, *, kappa: float, margin: float, start: Floats | None = None
    ) -> None:
        self.surface, self._kappa, self._margin = surface, kappa, margin
        self._areas()
        self._close: ClosePairs | None = None
        if start is not None:
            self._close = find_close(broad.build(surface, start, np.zeros_like(start), margin), start, surface.body)
        self._near: _Near | None = None
        self._touching: _Touching | None = None
        self.builds = 0  # how often the candidate list was made

    def around(self, moving: Bools, firmness: float) -> Barrier:
        """The same contact, so many times as firm, of the pairs of which some vertex moves (n,)."""
        other = copy(self)
        other.surface = self.surface.around(moving)
        other._kappa, other._near, other._touching = firmness * self._kappa, None, None
        return other

    def _areas(self) -> None:
        s = self.surface
        corner = s.X[s.triangles]
        area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
        n = len(s.X)
        self._point_area = np.bincount(s.triangles.ravel(), np.repeat(area / 3.0, 3), minlength=n)
        key = s.edges[:, 0].astype(np.int64) * n + s.edges[:, 1]
        self._edges_from = np.searchsorted(s.edges[:, 0], np.arange(n + 1))  # edges are sorted by their first vertex
        sides = np.sort(s.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1).astype(np.int64)
        at = np.searchsorted(key, sides[:, 0] * n + sides[:, 1])
        self._edge_area = np.bincount(at, np.repeat(area / 3.0, 3), minlength=len(s.edges))
        self._edge_length2: Floats = ((s.X[s.edges[:, 0]] - s.X[s.edges[:, 1]]) ** 2).sum(axis=1)
        of_shells = self._edge_length2[s.deformable[s.edges[:, 0]]]
        self._edge = float(np.sqrt(of_shells).mean()) if len(of_shells) else np.inf  # of the shells, on average
        self._longest = LONGEST * self._edge

    def _with_constants(self, found: broad.Candidates) -> _Near:
        pairs = np.concatenate([found.pt, found.ee])
        offset = np.concatenate([found.pt_offset, found.ee_offset])
        dhat = np.concatenate([found.pt_dhat, found.ee_dhat])
        area, threshold = np.empty(len(pairs)), np.empty(len(pairs))
        barrier.pair_constants(
            pairs, len(found.pt), self.surface.deformable, self._point_area, self._edges_from, self.surface.edges,
            self._edge_area, self._edge_length2, area, threshold,
        )  # fmt: skip
        stiffness = self._kappa * area * dhat / self.surface.dhat
        return _Near(found, pairs, offset, dhat, stiffness, PARALLEL * threshold, (offset + dhat) ** 2)

    def _cover(self, x: Floats, p: Floats) -> _Near:
        """Candidates that are complete along x → x + p; the last list while it still is."""
        if self._near is None or not self._near.candidates.covers(x, p):
            self._near = self._search(x, p)
        return self._near

    def _search(self, x: Floats, p: Floats) -> _Near:
        found = broad.build(self.surface, x, p, self._margin)
        self._touching = None
        self.builds += 1
        if self._close is None:
            return self._with_constants(found)
        found, firmness = self._close.relax(found)
        near = self._with_constants(found)
        near.stiffness[:] *= firmness
        return near

    @property
    def memory(self) -> tuple[Floats, Floats] | None:
        """The positions and the displacement (n, 3) [m] that the present candidates were found for."""
        return None if self._near is None else (self._near.candidates.x, self._near.candidates.p)

    def recall(self, memory: tuple[Floats, Floats]) -> None:
        """Finds the candidates of an earlier `memory` again, in the same order."""
        self._near = self._search(*memory)

    def _touch(self, x: Floats) -> _Touching:
        memo = self._touching
        if memo is not None and memo.x is x and not x.flags.writeable:
            return memo
        near = self._cover(x, np.zeros_like(x))
        weights, D = np.empty((len(near.pairs), 4)), np.empty(len(near.pairs))
        barrier.witnesses(x, near.pairs, len(near.candidates.pt), weights, D)
        a = np.flatnonzero(D < near.reach2).astype(np.int32)
        constants = (D[a], near.offset[a], near.dhat[a], near.stiffness[a], near.threshold[a])
        self._touching = _Touching(x, near, D, a, near.pairs[a], weights[a], constants)
        return self._touching

    def value(self, x: Floats) -> float:
        t = self._touch(x)
        out = np.empty(len(t.pairs))
        barrier.barrier_energy(x, t.pairs, *t.constants, out)
        return float(out.sum())

    def gradient(self, x: Floats) -> Floats:
        t = self._touch(x)
        return scatter_vectors(t.pairs, t.slopes[0], len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        t = self._touch(x)
        if not psd:
            return Hessian((DenseBlocks(t.pairs, barrier_blocks(x, t.pairs, t.weights, *t.constants)),))
        _, blocks, _, mollified = t.slopes
        D, offset, dhat, _, _ = t.constants
        # sliding along a pair that turns shrinks its gap to second order; the closed form does not know that, and
        # Newton would run into the same pair again and again, a tenth of the gap left each time
        close = D < (offset + CLOSE * dhat) ** 2
        parts: list[Blocks] = [KronBlocks(t.pairs, t.weights, np.where(close[:, None, None], 0.0, blocks))]
        if close.any():
            pairs, weights = t.pairs[close], t.weights[close]
            exact = barrier_blocks(x, pairs, weights, *(each[close] for each in t.constants))
            parts.append(DenseBlocks(pairs, project_blocks(exact)))
        m = np.flatnonzero(mollified & ~close)
        if len(m):
            curvature = np.empty((len(m), 10, 3, 3))
            D, offset, dhat, stiffness, threshold = (each[m] for each in t.constants)
            barrier.mollified_blocks(x, t.pairs[m], D, offset, dhat, stiffness, threshold, curvature)
            parts.append(DenseBlocks(t.pairs[m], curvature))
        return Hessian(tuple(parts))

    def max_step(self, x: Floats, p: Floats) -> float:
        part = float(self._parts(p).min(initial=1.0))
        return part * float(max_step(self._cover(x, part * p).candidates, x, part * p)[0])

    def limits(self, x: Floats, p: Floats) -> list[tuple[Ints, Floats]]:
        """Of each candidate pair, and of the vertices that move further than is looked ahead.

        Where there are such vertices, pairs are followed only up to the step that these allow, and no pair's limit
        is beyond it.
        """
        parts = self._parts(p)
        part = float(parts.min(initial=1.0))
        found = self._cover(x, part * p).candidates
        far = np.flatnonzero(parts < 1.0).astype(np.int32)
        return [*((nodes, part * steps) for nodes, steps in pair_steps(found, x, part * p)), (far[:, None], parts[far])]

    def _parts(self, p: Floats) -> Floats:
        """The part of each vertex's motion relative to its body that is not too long to look ahead (n,)."""
        # a motion over very many edges sweeps through so many pairs that the list outgrows memory
        length = np.sqrt(((p - self._drift(p)) ** 2).sum(axis=1))
        parts, far = np.ones(len(p)), length > self._longest
        parts[far] = self._longest / length[far]
        return parts

    def _drift(self, p: Floats) -> Floats:
        """Each vertex's body's mean motion (n, 3)."""
        body = self.surface.body
        size = np.maximum(np.bincount(body), 1)
        mean = np.stack([np.bincount(body, p[:, k]) / size for k in range(3)], axis=1)
        return np.asarray(mean[body])

    def soon(self, x: Floats) -> tuple[Ints, ...]:
        """Pairs that are active or nearly so: the part of the sparsity pattern that contact needs now and shortly."""
        margin = min(0.5 * (FAR - 1.0) * self.surface.dhat, 0.2 * self._edge)
        wide = broad.build(self.surface, x, np.zeros_like(x), margin)
        pairs, offset = np.concatenate([wide.pt, wide.ee]), np.concatenate([wide.pt_offset, wide.ee_offset])
        dhat = np.concatenate([wide.pt_dhat, wide.ee_dhat])
        weights, D = np.empty((len(pairs), 4)), np.empty(len(pairs))
        barrier.witnesses(x, pairs, len(wide.pt), weights, D)
        # neighbours at rest are always near, and would only fill the matrix
        reach = np.where(dhat < self.surface.dhat, SOON, FAR)
        return (pairs[D < (offset + reach * dhat) ** 2],)

    def contacts(self, x: Floats) -> Contacts:
        """Active contacts for lagged friction."""
        t = self._touch(x)
        r = np.einsum("ka,kai->ki", t.weights, x[t.pairs])
        return Contacts(t.pairs, t.weights, r / np.linalg.norm(r, axis=1)[:, None], t.slopes[2])

    def count(self, x: Floats) -> int:
        """Number of active pairs."""
        return len(self._touch(x).active)

    def clearance(self, x: Floats) -> float:
        return self.closest(x)[0]

    def closest(self, x: Floats) -> tuple[float, Ints]:
        """Smallest d / offset over all near pairs (> 1 in every admissible state), and that pair's vertices."""
        t = self._touch(x)
        if len(t.D) == 0:
            return np.inf, np.empty(0, np.int32)
        ratio = np.sqrt(t.D) / t.near.offset
        worst = int(ratio.argmin())
        return float(ratio[worst]), t.near.pairs[worst]
