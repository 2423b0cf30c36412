"""Sparse Cholesky behind one interface: analyse a pattern, factorise its values, solve.

PARDISO (MKL) where it is installed; SuperLU of scipy everywhere; CHOLMOD through kvxopt on request (GPL, an extra).
Matrices arrive as the upper triangle in sorted scalar CSR.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.kernels.denormals import flushed

Reals = NDArray[Any]  # float64, or float32 where a factorisation works in single precision


class NotPositiveDefinite(Exception):
    """The factorisation met a pivot that is not positive."""


class Sparsity(Protocol):
    """Where an upper triangle has entries: those of row i are in columns indices[indptr[i] : indptr[i + 1]]."""

    indptr: Ints
    indices: Ints


class Factor(Protocol):
    """A factorisation of a symmetric matrix, whose upper triangle has `values` where the pattern has entries."""

    name: str

    def __init__(self, threads: int) -> None: ...

    def analyse(self, pattern: Sparsity) -> None: ...

    def factorise(self, values: Floats) -> None:
        """Raises NotPositiveDefinite where the matrix is not."""

    def solve(self, rhs: Floats) -> Floats:
        """Solutions of right-hand sides (n,) or (k, n)."""

    def release(self) -> None:
        """Frees the memory that pattern and factor take."""


def make_factor(name: str = "auto", *, threads: int = 1) -> Factor:
    """The factorisation of that name, in double precision; auto takes PARDISO where MKL is present, else SuperLU."""
    if name == "auto":
        try:
            return Pardiso(threads)
        except (ImportError, OSError):
            return SuperLU(threads)
    kinds: dict[str, type[Factor]] = {"pardiso": Pardiso, "superlu": SuperLU, "cholmod": Cholmod}
    try:
        return kinds[name](threads)
    except ImportError as missing:
        remedy = "pip install 'plisse[cholmod]'" if name == "cholmod" else 'solver.linear = "superlu"'
        raise SceneError(f"The linear solver {name!r} cannot be loaded here ({missing}); use {remedy}.") from missing


class Pardiso:
    """MKL PARDISO, symmetric positive definite (mtype 2), phases 11, 22 and 33 called one by one.

    single: values, right-hand sides and solutions are float32 arrays, and so is the factor.
    """

    name = "pardiso"

    def __init__(self, threads: int, *, single: bool = False) -> None:
        # without this MKL's idle threads spin for 200 ms after each call and take the cores from our kernels
        os.environ.setdefault("KMP_BLOCKTIME", "0")
        # without a hint pypardiso looks through the whole environment for the library, twice
        library = next(Path(sys.prefix, "lib").glob("libmkl_rt.so*"), None)
        if library is not None:
            os.environ.setdefault("PYPARDISO_MKL_RT", str(library))
        import pypardiso

        self._solver = pypardiso.PyPardisoSolver(mtype=2)
        self._threads = ctypes.c_int(threads)
        iparm = self._solver.iparm
        iparm[0] = 1  # no defaults
        iparm[1] = 2  # nested dissection, the serial one: the same order every time
        iparm[7] = 0  # no iterative refinement
        iparm[9] = 13  # pivot perturbation 1e-13
        iparm[23] = 1  # two-level factorisation
        iparm[27] = int(single)
        iparm[34] = 1  # indices count from zero
        self._kind: type[np.floating[Any]] = np.float32 if single else np.float64
        self._pattern: Sparsity | None = None
        self._values: Reals = np.empty(0, self._kind)

    def _call(self, phase: int, rhs: Reals | None = None, out: Reals | None = None) -> int:
        assert self._pattern is not None
        indptr, indices = self._pattern.indptr, self._pattern.indices
        rhs, out = (np.zeros(1, self._kind) if each is None else each for each in (rhs, out))
        error = ctypes.c_int32(0)
        # MKL has one number of threads for the whole process: another session may have set it meanwhile
        self._solver.libmkl.MKL_Set_Num_Threads(self._threads)

        def integer(value: int) -> Any:
            return ctypes.byref(ctypes.c_int32(value))

        def pointer(array: Any, kind: Any = None) -> Any:
            return array.ctypes.data_as(ctypes.POINTER(kind))

        # where inertia dominates, entries of the factor fade with the distance until single precision has no normal
        # numbers for them, and some processors then take ten times as long
        with flushed() if self._kind is np.float32 else nullcontext():
            self._solver._mkl_pardiso(
                pointer(self._solver.pt, ctypes.c_int64), integer(1), integer(1), integer(2), integer(phase),
                integer(len(indptr) - 1), pointer(self._values), pointer(indptr, ctypes.c_int32),
                pointer(indices, ctypes.c_int32), pointer(self._solver.perm, ctypes.c_int32),
                integer(len(rhs) if rhs.ndim == 2 else 1), pointer(self._solver.iparm, ctypes.c_int32), integer(0),
                pointer(rhs), pointer(out), ctypes.byref(error),
            )  # fmt: skip
        return error.value

    def _run(self, phase: int, rhs: Reals | None = None, out: Reals | None = None) -> None:
        error = self._call(phase, rhs, out)
        if error == -4:
            raise NotPositiveDefinite
        if error == -2:
            raise SceneError("Not enough memory to factorise the matrix; use a coarser mesh or a larger machine.")
        if error:
            raise RuntimeError(f"PARDISO failed with error {error} in phase {phase}.")

    def analyse(self, pattern: Sparsity) -> None:
        self.release()
        self._pattern = pattern
        self._values = np.zeros(len(pattern.indices), self._kind)
        self._run(11)

    def factorise(self, values: Reals) -> None:
        assert self._pattern is not None and values.dtype == self._kind
        # PARDISO does not look at the pivot of an unknown that nothing couples to: it would return NaN
        if (values[self._pattern.indptr[:-1]] <= 0.0).any():
            raise NotPositiveDefinite
        self._values = values
        self._run(22)

    def solve(self, rhs: Reals) -> Reals:
        assert rhs.dtype == self._kind
        out = np.empty_like(rhs)
        self._run(33, rhs, out)
        return out

    def release(self) -> None:
        if self._pattern is not None:
            self._call(-1)
            self._pattern, self._values = None, np.empty(0, self._kind)

    def __del__(self) -> None:
        # at interpreter exit numpy may be gone already, and the process gives the memory back anyway
        if getattr(self, "_pattern", None) is not None and not sys.is_finalizing():
            self.release()


class SuperLU:
    """scipy's SuperLU on the full symmetric matrix."""

    name = "superlu"

    def __init__(self, threads: int) -> None:
        self._factor: Any = None

    def analyse(self, pattern: Sparsity) -> None:
        self._pattern = pattern

    def factorise(self, values: Floats) -> None:
        import scipy.sparse as sparse
        from scipy.sparse.linalg import splu

        upper = sparse.csr_matrix((values, self._pattern.indices, self._pattern.indptr))
        full = (upper + sparse.triu(upper, 1).T).tocsc()
        try:
            self._factor = splu(
                full, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as singular:
            raise NotPositiveDefinite from singular
        if (self._factor.U.diagonal() <= 0.0).any():
            raise NotPositiveDefinite

    def solve(self, rhs: Floats) -> Floats:
        return np.ascontiguousarray(self._factor.solve(rhs.T).T)

    def release(self) -> None:
        self._factor = None


class Cholmod:
    """CHOLMOD's supernodal Cholesky through kvxopt."""

    name = "cholmod"

    def __init__(self, threads: int) -> None:
        import kvxopt
        from kvxopt import cholmod

        self._kvxopt: Any = kvxopt
        self._cholmod: Any = cholmod
        self._matrix: Any = None
        self._factor: Any = None

    def analyse(self, pattern: Sparsity) -> None:
        # rows of our upper triangle are columns of the lower one, which is the half that kvxopt reads;
        # it builds matrices from triplets in any order and keeps columns sorted, as ours are
        n, rows = len(pattern.indptr) - 1, pattern.indices.astype(np.int64)
        columns = np.repeat(np.arange(n, dtype=np.int64), np.diff(pattern.indptr))
        self._matrix = self._kvxopt.spmatrix(np.ones(len(rows)), rows, columns, (n, n))
        self._factor = self._cholmod.symbolic(self._matrix)

    def factorise(self, values: Floats) -> None:
        self._matrix.V = self._kvxopt.matrix(values)
        try:
            self._cholmod.numeric(self._matrix, self._factor)
            # kvxopt's numeric is silent about a factorisation that broke off; its diagonal is not
            self._cholmod.diag(self._factor)
        except (ArithmeticError, ValueError) as failed:
            raise NotPositiveDefinite from failed

    def solve(self, rhs: Floats) -> Floats:
        columns = self._kvxopt.matrix(np.ascontiguousarray(rhs.reshape(-1, rhs.shape[-1]).T))
        self._cholmod.solve(self._factor, columns)
        return np.ascontiguousarray(np.asarray(columns).T.reshape(rhs.shape))

    def release(self) -> None:
        self._matrix = self._factor = None
