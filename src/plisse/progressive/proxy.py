"""A finer level's energies as those of a coarse level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from plisse.core.potential import Blocks, DenseBlocks, Floats, Hessian, Ints, Pattern, Potential, Sum, frozen
from plisse.energies.loads import Wind
from plisse.hierarchy.prolongation import Prolongation


class Prolonged(Potential):
    """E(P x): energies of a finer level at the prolonged positions, of the first vertices of x. [Zhang2022] eq. 3.

    Its gradient is Pᵀ∇E. Its Hessian is not Pᵀ∇²E P but that of `own`, the same energies on the level's own mesh: a
    preconditioner, for psd=False as well.
    """

    def __init__(self, fine: Sequence[Potential], P: Prolongation, own: Sequence[Potential]) -> None:
        self._fine, self._P, self._own = Sum(fine), P, own
        self._at: tuple[Floats, Floats] | None = None
        self._value: float | None = None
        self._gradient: Floats | None = None

    def _prolonged(self, x: Floats) -> Floats:
        """P x; what was found out about the last read-only x is remembered."""
        if self._at is None or self._at[0] is not x or x.flags.writeable:
            self._at = (x, frozen(self._P(x[: self._P.matrix.shape[1]])))
            self._value = self._gradient = None
        return self._at[1]

    def value(self, x: Floats) -> float:
        y = self._prolonged(x)
        if self._value is None:
            self._value = self._fine.value(y)
        return self._value

    def gradient(self, x: Floats) -> Floats:
        y = self._prolonged(x)
        if self._gradient is None:
            self._gradient = np.zeros_like(x)
            self._gradient[: self._P.matrix.shape[1]] = self._P.restrict(self._fine.gradient(y))
        return self._gradient

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Sum(self._own).hessian(x, psd=psd)

    def stencils(self) -> Sequence[Ints]:
        return Sum(self._own).stencils()

    def load(self, x: Floats) -> float:
        """Σ |force| of the loads among the level's own energies [N]."""
        return sum(part.load(x) for part in self._own if isinstance(part, Wind))


class Galerkin(Potential):
    """The Hessian P₁ᵀ ∇²E₁(P₁x) P₁ of energies one level up, and nothing else: it stands as a `Prolonged`'s `own`.

    [Zhang2022] uses the level's own Hessian; this one knows the prolongation and costs a finer assembly.
    """

    def __init__(self, energies: Sequence[Potential], P: Prolongation) -> None:
        self._energies, self._P = Sum(energies), P
        fine, coarse = P.matrix.shape
        self._pattern = Pattern.of(np.ones(fine, bool), self._energies.stencils())
        # rows of the pattern are renumbered vertices; three coordinates each
        self._P3 = sparse.kron(P.matrix[self._pattern.rows], sparse.eye_array(3), format="csr")
        touched = _product(self._P3, self._pattern, np.ones(len(self._pattern.indices)))
        blocks = sparse.bsr_array(touched, blocksize=(3, 3)).tocoo()
        pairs = np.unique(np.sort(np.column_stack([blocks.row // 3, blocks.col // 3]), axis=1), axis=0)
        self._pairs: Ints = np.ascontiguousarray(pairs[pairs[:, 0] < pairs[:, 1]].astype(np.int32))
        self._each: Ints = np.arange(coarse, dtype=np.int32)[:, None]

    def value(self, x: Floats) -> float:
        return 0.0

    def gradient(self, x: Floats) -> Floats:
        return np.zeros_like(x)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        coarse = self._P.matrix.shape[1]
        found = self._energies.hessian(frozen(self._P(x[:coarse])), psd=psd)
        values = self._pattern.assemble(found, fixed=tuple(self._energies.stencils()))
        assert values is not None
        product = sparse.bsr_array(_product(self._P3, self._pattern, values), blocksize=(3, 3))
        product.sort_indices()
        i = np.repeat(np.arange(coarse), np.diff(product.indptr)).astype(np.int64)
        key = i * coarse + product.indices
        across = np.zeros((len(self._pairs), 3, 3, 3))
        across[:, 1] = _blocks_at(key, product.data, self._pairs[:, 0].astype(np.int64) * coarse + self._pairs[:, 1])
        own = _blocks_at(key, product.data, np.arange(coarse, dtype=np.int64) * (coarse + 1))
        blocks: tuple[Blocks, ...] = (DenseBlocks(self._pairs, across), DenseBlocks(self._each, own[:, None]))
        rank_one = tuple(np.pad(self._P.restrict(u), ((0, len(x) - coarse), (0, 0))) for u in found.rank_one)
        return Hessian(blocks, rank_one=rank_one)

    def stencils(self) -> tuple[Ints, ...]:
        return (self._pairs, self._each)


def _product(P3: sparse.csr_array, pattern: Pattern, values: Floats) -> sparse.csr_array:
    """Pᵀ A P for the symmetric A whose upper triangle the pattern holds."""
    upper = sparse.csr_array((values, pattern.indices, pattern.indptr), shape=(3 * pattern.size,) * 2)
    full = upper + sparse.triu(upper, 1).T
    return (P3.T @ (full @ P3)).tocsr()


def _blocks_at(key: np.ndarray, data: Floats, wanted: np.ndarray) -> Floats:
    """The 3×3 blocks of sorted keys at the wanted ones, zero where there is none."""
    at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where((key[at] == wanted)[:, None, None], data[at], 0.0)
