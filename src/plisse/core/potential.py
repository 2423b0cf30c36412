"""Potential: an energy of positions with derivatives and a step filter; Sum; and the one scatter."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import numpy as np
from numba import get_num_threads

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.mesh import rank_neighbours
from plisse.kernels import scatter

# weights, which add up to 1, and positions (n, 3) [m] of steps that are known, the last one first
Past = Sequence[tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class DenseBlocks:
    """Stencil Hessians as the upper block triangle: blocks (m, k(k+1)/2, 3, 3) [J/m²] over nodes (m, k)."""

    nodes: Ints
    blocks: Floats

    def add(self, pattern: Pattern, slots: Ints, values: Floats) -> None:
        scatter.add_dense(
            self.nodes, slots, pattern.free_index, pattern.block_ptr, self.blocks, values, get_num_threads()
        )

    def dense(self) -> Floats:
        """Full stencil matrices, shape (m, 3k, 3k)."""
        m, k = self.nodes.shape
        full = np.zeros((m, k, 3, k, 3))
        for q, (a, b) in enumerate(combinations_with_replacement(range(k), 2)):
            full[:, a, :, b, :] = self.blocks[:, q]
            full[:, b, :, a, :] = self.blocks[:, q].transpose(0, 2, 1)
        return full.reshape(m, 3 * k, 3 * k)


@dataclass(frozen=True, eq=False)
class OuterBlocks:
    """Rank-one stencil Hessians scale · v vᵀ: vectors (m, k, 3), scale (m,)."""

    nodes: Ints
    vectors: Floats
    scale: Floats

    def add(self, pattern: Pattern, slots: Ints, values: Floats) -> None:
        at = (self.nodes, slots, pattern.free_index, pattern.block_ptr)
        scatter.add_outer(*at, self.vectors, self.scale, values, get_num_threads())

    def dense(self) -> Floats:
        """Full stencil matrices, shape (m, 3k, 3k)."""
        v = self.vectors.reshape(len(self.nodes), -1)
        return np.asarray(self.scale[:, None, None] * v[:, :, None] * v[:, None, :])


@dataclass(frozen=True, eq=False)
class KronBlocks:
    """Stencil Hessians w wᵀ ⊗ M: weights (m, k), symmetric matrices (m, 3, 3) [J/m²]."""

    nodes: Ints
    weights: Floats
    matrices: Floats

    def add(self, pattern: Pattern, slots: Ints, values: Floats) -> None:
        at = (self.nodes, slots, pattern.free_index, pattern.block_ptr)
        scatter.add_kron(*at, self.weights, self.matrices, values, get_num_threads())

    def dense(self) -> Floats:
        """Full stencil matrices, shape (m, 3k, 3k)."""
        m, k = self.nodes.shape
        full = np.einsum("ma,mb,mrc->marbc", self.weights, self.weights, self.matrices)
        return np.asarray(full.reshape(m, 3 * k, 3 * k))


Blocks = DenseBlocks | OuterBlocks | KronBlocks


@dataclass(frozen=True, eq=False)
class Hessian:
    """Stencil blocks + diagonal · I₃ + Σ u uᵀ: diagonal (n,) or None, each u (n, 3) a global rank-one term.

    products: of matrices that are known only by what they make of a displacement (n, 3); exact Hessians may have some.
    """

    blocks: tuple[Blocks, ...] = ()
    diagonal: Floats | None = None
    rank_one: tuple[Floats, ...] = ()
    products: tuple[Callable[[Floats], Floats], ...] = ()


class Potential(ABC):
    """An energy E(x) [J] of positions x (n, 3) [m].

    `value` is a pure function of x; what is kept between calls is at most a memo. Arrays passed in are not changed.
    """

    kind: str = "elastic"  # whose share of the time split this is: elastic or contact
    preconditions: bool = False  # the Hessian with psd is not near the exact one, only good to precondition it

    @abstractmethod
    def value(self, x: Floats) -> float:
        """E(x) [J]; infinite where x is not admissible."""

    @abstractmethod
    def gradient(self, x: Floats) -> Floats:
        """∇E(x) [N], shape (n, 3)."""

    @abstractmethod
    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        """∇²E(x) [J/m²]; with `psd`, a positive semidefinite matrix near it."""

    def max_step(self, x: Floats, p: Floats) -> float:
        """Largest α ≤ 1 such that x + a p is admissible for all a in [0, α]."""
        return 1.0

    def limits(self, x: Floats, p: Floats) -> Sequence[tuple[Ints, Floats]]:
        """Each stencil's nodes (m, k) and the largest step a ≤ 1 that it alone allows (m,).

        All may take the least of these together, which is `max_step` up to rounding and never more.
        """
        return ()

    def stencils(self) -> Sequence[Ints]:
        """Node sets that are coupled whatever x is: the fixed part of the sparsity pattern."""
        return ()

    def soon(self, x: Floats) -> Sequence[Ints]:
        """Node sets that are coupled at x, or may soon be, in addition to `stencils`."""
        return ()

    def load(self, x: Floats) -> tuple[float, float]:
        """Σ ‖f‖ [N] that is applied from outside: what something else has to balance, and what balances itself.

        The force balance of an equilibrium is measured against the first, or where that is zero the second, as for a
        pressure inside of a closed shell.
        """
        return 0.0, 0.0


class Clock:
    """Seconds spent on each part of the work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def add(self, part: str, since: float) -> float:
        now = time.perf_counter()
        self.seconds[part] += now - since
        return now


@dataclass(eq=False)
class Sum(Potential):
    """Σ parts, with the seconds of each kind kept on a clock; the parts of a Sum among them become its own."""

    parts: Sequence[Potential]
    clock: Clock = field(default_factory=Clock)
    size: float = 0.0  # Σ |parts| at the last value [J]: what its rounding is measured against

    def __post_init__(self) -> None:
        self.parts = [one for part in self.parts for one in (part.parts if isinstance(part, Sum) else (part,))]
        self.preconditions = any(part.preconditions for part in self.parts)

    def value(self, x: Floats) -> float:
        total, size, now = 0.0, 0.0, time.perf_counter()
        for part in self.parts:
            value = part.value(x)
            total, size = total + value, size + abs(value)
            now = self.clock.add(part.kind, now)
        self.size = size
        return total

    def gradient(self, x: Floats) -> Floats:
        total, now = np.zeros_like(x), time.perf_counter()
        for part in self.parts:
            total += part.gradient(x)
            now = self.clock.add(part.kind, now)
        return total

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks: list[Blocks] = []
        rank_one: list[Floats] = []
        products: list[Callable[[Floats], Floats]] = []
        diagonal, now = np.zeros(len(x)), time.perf_counter()
        for part in self.parts:
            H = part.hessian(x, psd=psd)
            blocks.extend(H.blocks)
            rank_one.extend(H.rank_one)
            products.extend(H.products)
            if H.diagonal is not None:
                diagonal += H.diagonal
            now = self.clock.add(part.kind, now)
        return Hessian(tuple(blocks), diagonal, tuple(rank_one), tuple(products))

    def max_step(self, x: Floats, p: Floats) -> float:
        now = time.perf_counter()
        step = 1.0
        for part in self.parts:
            step = min(step, part.max_step(x, p))
        self.clock.add("ccd", now)
        return step

    def limits(self, x: Floats, p: Floats) -> Sequence[tuple[Ints, Floats]]:
        return [pair for part in self.parts for pair in part.limits(x, p)]

    def stencils(self) -> Sequence[Ints]:
        return [nodes for part in self.parts for nodes in part.stencils()]

    def load(self, x: Floats) -> tuple[float, float]:
        loads = [part.load(x) for part in self.parts]
        return sum(open_load for open_load, _ in loads), sum(closed for _, closed in loads)

    def soon(self, x: Floats) -> Sequence[Ints]:
        return [nodes for part in self.parts for nodes in part.soon(x)]


class Pattern:
    """Sparsity of the Hessian over the free vertices: upper triangle of 3×3 blocks, diagonal block first in a row.

    `free_index` (n,) is each vertex's block row, −1 for prescribed vertices. `keys` are the sorted block pairs
    i·n_free + j, i ≤ j.
    """

    def __init__(self, free_index: Ints, keys: Longs) -> None:
        self.free_index = free_index
        self.free = free_index >= 0
        self.size = int(self.free.sum())
        self.rows = np.flatnonzero(self.free)[np.argsort(free_index[self.free])]  # the vertex of each block row
        self.keys = keys
        rows, columns = np.divmod(keys, max(self.size, 1))
        self.block_ptr = np.searchsorted(rows, np.arange(self.size + 1)).astype(np.int32)
        self.block_col = columns.astype(np.int32)
        self.indptr = np.empty(3 * self.size + 1, np.int32)
        self.indices = np.empty(9 * len(keys) - 3 * self.size, np.int32)
        scatter.scalar_csr(self.block_ptr, self.block_col, self.indptr, self.indices)
        self._slots: dict[int, tuple[Ints, Ints]] = {}

    @classmethod
    def of(cls, free: Bools, stencils: Iterable[Ints]) -> Pattern:
        """The pattern that couples all nodes of each stencil, with rows numbered so that neighbours are near."""
        size = int(free.sum())
        index = np.where(free, np.cumsum(free) - 1, -1).astype(np.int32)
        diagonal = np.arange(size, dtype=np.int64) * (size + 1)
        keys = _distinct(np.concatenate([diagonal, *(pair_keys(index, nodes) for nodes in stencils)]))
        if size == 0:
            return cls(index, keys)
        i, j = np.divmod(keys, size)
        rank = rank_neighbours(size, i, j)
        i, j = rank[i], rank[j]
        index[free] = rank
        return cls(index, np.sort(np.minimum(i, j) * size + np.maximum(i, j)))

    def equals(self, other: Pattern) -> bool:
        """Whether both have the same blocks in the same order."""
        same_rows = self is other or np.array_equal(self.free_index, other.free_index)
        return same_rows and (self.keys is other.keys or np.array_equal(self.keys, other.keys))

    def including(self, stencils: Iterable[Ints]) -> Pattern:
        """This pattern and the pairs of further stencils."""
        keys = _distinct(np.concatenate([pair_keys(self.free_index, nodes) for nodes in stencils]))
        at = np.searchsorted(self.keys, keys)
        new = self.keys[np.minimum(at, len(self.keys) - 1)] != keys
        return Pattern(self.free_index, np.insert(self.keys, at[new], keys[new]))

    def slots(self, nodes: Ints, *, keep: bool = False) -> Ints | None:
        """Block positions of each stencil's node pairs, None where the pattern lacks one; `keep` memoises by array."""
        known = self._slots.get(id(nodes))
        if known is not None and known[0] is nodes:
            return known[1]
        k = nodes.shape[1]
        slots = np.empty((len(nodes), k * (k + 1) // 2), np.int32)
        scatter.find_slots(nodes, self.free_index, self.block_ptr, self.block_col, slots)
        if slots.size and slots.min() == -2:
            return None
        if keep:
            self._slots[id(nodes)] = (nodes, slots)
        return slots

    def forget(self) -> None:
        """Forgets the positions that were memoised."""
        self._slots.clear()

    def assemble(self, hessian: Hessian, *, fixed: Sequence[Ints] = ()) -> Floats | None:
        """Values of the upper-triangular CSR matrix, or None where a block lies outside of this pattern.

        `fixed`: stencil arrays that live as long as the pattern, whose block positions are remembered.
        """
        lasting = {id(nodes) for nodes in fixed}
        slots = [self.slots(block.nodes, keep=id(block.nodes) in lasting) for block in hessian.blocks]
        if any(positions is None for positions in slots):
            return None
        values = np.zeros(len(self.indices))
        for block, positions in zip(hessian.blocks, slots, strict=True):
            assert positions is not None
            block.add(self, positions, values)
        if hessian.diagonal is not None:
            scatter.add_diagonal(hessian.diagonal, self.free_index, self.block_ptr, values)
        return values


def frozen(x: Floats) -> Floats:
    """x as a read-only array: what was computed of it may be remembered, and kernels see one type of array."""
    if x.flags.writeable:
        x = x.copy() if x.base is not None else x
        x.flags.writeable = False
    return x


def scatter_vectors(nodes: Ints, vectors: Floats, n: int) -> Floats:
    """Σ of stencil vectors (m, k, 3) at their nodes (m, k), shape (n, 3)."""
    out = np.zeros((n, 3))
    scatter.add_vectors(nodes, vectors, out, get_num_threads())
    return out


def _distinct(keys: Longs) -> Longs:
    """Sorted and each once; sorting first is several times as fast here as numpy's unique."""
    keys = np.sort(keys)
    return keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys


def pair_keys(free_index: Ints, nodes: Ints) -> Longs:
    """Keys i·n_free + j, i ≤ j, of all free node pairs of the stencils."""
    index = free_index.astype(np.int64)
    size = int((index >= 0).sum())
    keys = []
    for a in range(nodes.shape[1]):
        for b in range(a + 1, nodes.shape[1]):
            i, j = index[nodes[:, a]], index[nodes[:, b]]
            both = (i >= 0) & (j >= 0)
            keys.append(np.minimum(i, j)[both] * size + np.maximum(i, j)[both])
    return np.concatenate(keys) if keys else np.empty(0, np.int64)
