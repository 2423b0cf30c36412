"""Problems without a scene and without a shell: a chain of masses and springs, and a bar of tetrahedra."""

from itertools import combinations_with_replacement, product

import numpy as np
from scipy import sparse

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface
from plisse.core.arrays import Floats, Ints
from plisse.core.bodies import Bodies
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, Potential, scatter_vectors
from plisse.energies.loads import Gravity
from plisse.hierarchy.maps import LinearMap
from plisse.shapes.catalogue import box
from plisse.solve.problem import Problem

G = np.array([0.0, 0.0, -9.81])


def upper_blocks(full: Floats, k: int) -> Floats:
    """Stencil matrices (m, 3k, 3k) as DenseBlocks wants them, (m, k(k+1)/2, 3, 3)."""
    shaped = full.reshape(len(full), k, 3, k, 3)
    pairs = combinations_with_replacement(range(k), 2)
    return np.ascontiguousarray(np.stack([shaped[:, a, :, b, :] for a, b in pairs], axis=1))


def project(full: Floats) -> Floats:
    """Without negative eigenvalues."""
    values, vectors = np.linalg.eigh(full)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))


class Springs(Potential):
    """k/2 Σ (ℓ − L)² over links (m, 2), L their rest lengths [m] (m,), k [N/m] (m,)."""

    def __init__(self, links: Ints, lengths: Floats, stiffness: Floats) -> None:
        self._links, self._lengths, self._stiffness = links, lengths, stiffness

    def _taut(self, x: Floats) -> tuple[Floats, Floats]:
        r = x[self._links[:, 1]] - x[self._links[:, 0]]
        length = np.linalg.norm(r, axis=1)
        return r / length[:, None], length

    def value(self, x: Floats) -> float:
        return 0.5 * float(self._stiffness @ (self._taut(x)[1] - self._lengths) ** 2)

    def gradient(self, x: Floats) -> Floats:
        n, length = self._taut(x)
        pull = (self._stiffness * (length - self._lengths))[:, None] * n
        return scatter_vectors(self._links, np.stack([-pull, pull], axis=1), len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        n, length = self._taut(x)
        along, slack = n[:, :, None] * n[:, None, :], 1.0 - self._lengths / length
        across = np.maximum(slack, 0.0) if psd else slack
        M = self._stiffness[:, None, None] * (along + across[:, None, None] * (np.eye(3) - along))
        return Hessian((DenseBlocks(self._links, np.ascontiguousarray(np.stack([M, -M, M], axis=1))),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._links,)


def chain(links: int, *, k: float = 200.0, mass: float = 0.1, level: int = 0) -> Problem:
    """A chain of 1 m in the plane y = 0 that is held at both ends, 0.8 m apart; `k`, `mass`: of the whole chain."""
    n = links + 1
    X = np.zeros((n, 3))
    X[:, 0] = np.linspace(0.0, 0.8, n)
    # a start with room below: a shallow arc
    X[:, 2] = -0.1 * np.sin(np.pi * np.linspace(0.0, 1.0, n))
    pairs = np.column_stack([np.arange(links), np.arange(1, n)]).astype(np.int32)
    each = np.full(n, mass / links)
    each[[0, -1]] *= 0.5
    free = np.ones(n, bool)
    free[[0, -1]] = False
    springs = Springs(pairs, np.full(links, 1.0 / links), np.full(links, k * links))
    return Problem(X, free, each, [springs, Gravity(each, G)], reach=1e-3, level=level)


def finer_chain(links: int) -> LinearMap:
    """The map to a chain of twice as many links; old vertices lie at even places of the finer chain."""
    n, rows = links + 1, []
    for i in range(n):
        rows.append((2 * i, i, 1.0))
        if i < links:
            rows += [(2 * i + 1, i, 0.5), (2 * i + 1, i + 1, 0.5)]
    row, column, value = zip(*rows, strict=True)
    matrix = sparse.coo_array((value, (row, column)), shape=(2 * links + 1, n))
    return LinearMap(matrix, kept=np.arange(0, 2 * n - 1, 2, dtype=np.int32))


# --- tetrahedra -------------------------------------------------------------------------------------------------------


class NeoHookeanTetrahedra(Potential):
    """Σ V [μ/2 (tr FᵀF − 3 − 2 ln J) + λ/2 (ln J)²] over tetrahedra (m, 4); infinite where one is inverted."""

    def __init__(self, X: Floats, tetrahedra: Ints, *, E: float, nu: float) -> None:
        self._t = tetrahedra
        D = (X[tetrahedra[:, 1:]] - X[tetrahedra[:, :1]]).transpose(0, 2, 1)
        self._inverse = np.linalg.inv(D)
        self.volumes = np.linalg.det(D) / 6.0
        self._mu, self._lame = E / (2.0 * (1.0 + nu)), E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
        # F = Σ x_a ⊗ g_a, with the gradients g of the four shape functions (m, 4, 3)
        self._g = np.concatenate([-self._inverse.sum(axis=1, keepdims=True), self._inverse], axis=1)

    def _gradients(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """F (m, 3, 3), ln J (m,), F⁻ᵀ (m, 3, 3)."""
        F = np.einsum("mai,maj->mij", x[self._t], self._g)
        J = np.linalg.det(F)
        with np.errstate(invalid="ignore", divide="ignore"):
            return F, np.where(J > 0.0, np.log(J), -np.inf), np.linalg.inv(F).transpose(0, 2, 1)

    def value(self, x: Floats) -> float:
        F, logs, _ = self._gradients(x)
        if not np.isfinite(logs).all():
            return np.inf
        W = 0.5 * self._mu * ((F**2).sum(axis=(1, 2)) - 3.0 - 2.0 * logs) + 0.5 * self._lame * logs**2
        return float(self.volumes @ W)

    def gradient(self, x: Floats) -> Floats:
        F, logs, Fit = self._gradients(x)
        P = self._mu * (F - Fit) + self._lame * logs[:, None, None] * Fit
        local = np.einsum("m,mij,maj->mai", self.volumes, P, self._g)
        return scatter_vectors(self._t, np.ascontiguousarray(local), len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        _, logs, Fit = self._gradients(x)
        B = np.einsum("mij,maj->mai", Fit, self._g)
        gg, swapped = np.einsum("mai,mbi->mab", self._g, self._g), np.einsum("maj,mbi->maibj", B, B)
        same = np.einsum("mab,ij->maibj", gg, np.eye(3))
        outer = np.einsum("mai,mbj->maibj", B, B)
        scale = (self._mu - self._lame * logs)[:, None, None, None, None]
        full = self.volumes[:, None, None, None, None] * (self._mu * same + scale * swapped + self._lame * outer)
        full = full.reshape(len(self._t), 12, 12)
        return Hessian((DenseBlocks(self._t, upper_blocks(project(full) if psd else full, 4)),))

    def stencils(self) -> tuple[Ints, ...]:
        return (self._t,)


def bar_mesh(cells: tuple[int, int, int], size: tuple[float, float, float]) -> tuple[Floats, Ints]:
    """A box of cells of six tetrahedra each, its corner at the origin."""
    counts = np.array(cells) + 1
    axes = [np.linspace(0.0, length, count) for length, count in zip(size, counts, strict=True)]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(X)).reshape(counts)
    out = []
    for i, j, k in product(*(range(c) for c in cells)):
        corner = number[i : i + 2, j : j + 2, k : k + 2].reshape(-1)
        # paths from corner 0 to corner 7 along the axes in all orders
        for a, b in ((1, 3), (3, 2), (2, 6), (6, 4), (4, 5), (5, 1)):
            out.append([corner[0], corner[a], corner[b], corner[7]])
    t = np.array(out, np.int32)
    D = (X[t[:, 1:]] - X[t[:, :1]]).transpose(0, 2, 1)
    flipped = np.linalg.det(D) < 0.0
    t[flipped] = t[flipped][:, [0, 2, 1, 3]]
    return X, t


def boundary_of(t: Ints) -> Ints:
    """Faces (m, 3) of tetrahedra that only one has, facing outwards."""
    faces = np.concatenate([t[:, [0, 2, 1]], t[:, [0, 1, 3]], t[:, [1, 2, 3]], t[:, [0, 3, 2]]])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.ascontiguousarray(faces[np.sort(first[count == 1])].astype(np.int32))


def bar_masses(X: Floats, t: Ints, density: float) -> Floats:
    D = (X[t[:, 1:]] - X[t[:, :1]]).transpose(0, 2, 1)
    each = density * np.linalg.det(D) / 6.0 / 4.0
    return np.bincount(t.ravel(), np.repeat(each, 4), minlength=len(X))


def hanging_bar(cells: int, *, E: float = 1e5, density: float = 1000.0) -> Problem:
    """A bar of 0.1 × 0.1 × 0.4 m that hangs from its top, with ν = 0."""
    X, t = bar_mesh((2, 2, cells), (0.1, 0.1, 0.4))
    mass, energy = bar_masses(X, t, density), NeoHookeanTetrahedra(X, t, E=E, nu=0.0)
    return Problem(X, X[:, 2] < 0.4 - 1e-9, mass, [energy, Gravity(mass, G)], reach=1e-3)


def dropped_bar(*, E: float = 2e5, density: float = 1000.0, offset: float = 1e-3, dhat: float = 2e-3) -> Problem:
    """A soft block above a plate that does not move; only the block's surface collides."""
    X, t = bar_mesh((4, 4, 3), (0.2, 0.2, 0.15))
    X = X + np.array([0.013, 0.021, 0.01])
    plate = box((0.6, 0.6, 0.1), resolution=4)
    floor = plate.X - np.array([-0.1, -0.1, plate.X[:, 2].max()])
    n, everything = len(X), np.concatenate([X, floor])
    faces = boundary_of(t)
    mesh = Mesh(everything, np.concatenate([faces, plate.triangles + np.int32(n)]))
    bodies = Bodies(("block", "plate"), (n, len(floor)), 1)
    points = np.unique(mesh.triangles).astype(np.int32)
    surface = CollisionSurface(
        mesh.edges, mesh.triangles, points, bodies.of_vertex, ~bodies.is_simulated, everything, bodies.is_simulated,
        offset, dhat,
    )  # fmt: skip
    mass = np.concatenate([bar_masses(X, t, density), np.zeros(len(floor))])
    energy, contact = NeoHookeanTetrahedra(X, t, E=E, nu=0.3), Barrier(surface, kappa=500.0, margin=0.25 * dhat)
    parts = [energy, Gravity(mass, G), contact]
    return Problem(everything, bodies.is_simulated, mass, parts, bodies=bodies, surface=mesh, reach=dhat)
