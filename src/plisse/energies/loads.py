"""Body loads: gravity, pressure of a closed shell, wind."""

from __future__ import annotations

from copy import copy

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import DenseBlocks, Hessian, KronBlocks, Potential, scatter_vectors


class Gravity(Potential):
    """−Σ m g·x: mass (n,) [kg], g (3,) [m/s²]."""

    def __init__(self, mass: Floats, g: Floats) -> None:
        self._weight = mass[:, None] * np.asarray(g, float)
        self._load = float(mass.sum() * np.linalg.norm(g))

    def value(self, x: Floats) -> float:
        return -float((self._weight * x).sum())

    def gradient(self, x: Floats) -> Floats:
        return -self._weight

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        return Hessian()

    def load(self, x: Floats) -> tuple[float, float]:
        return self._load, 0.0


class PressureLoad(Potential):
    """−p V of a closed shell, or the ideal gas −p₀V₀ ln(V/V₀) (constant p V), V the enclosed volume.

    Two triangles (i, j, k), (j, i, l) on an edge give ∂²V/∂xᵢ∂xⱼ = [x_l − x_k]ₓ/6 and nothing on the diagonal. A gas
    adds p₀V₀/V² ∇V∇Vᵀ, a global rank-one term. With psd the Hessian is that term alone: edges projected one by one,
    each to ½ p‖x_k − x_l‖/6 on its ends, would resist a translation of the whole, which no pressure does.
    """

    def __init__(self, mesh: Mesh, pressure: float, *, gas: bool = False) -> None:
        self._triangles: Ints = mesh.triangles
        self._hinges: Ints = mesh.hinges
        self._edges: Ints = np.ascontiguousarray(mesh.hinges[:, :2])
        self._pressure, self._gas, self._V0 = pressure, gas, mesh.volume

    def changed(self, pressure: float) -> PressureLoad:
        """The same with another pressure [Pa]."""
        other = copy(self)
        other._pressure = pressure
        return other

    def volume(self, x: Floats) -> float:
        a, b, c = (x[self._triangles[:, i]] for i in range(3))
        return float((a * np.cross(b, c)).sum()) / 6.0

    def pressure(self, x: Floats) -> float:
        """Pressure [Pa] at x."""
        return self._pressure * self._V0 / self.volume(x) if self._gas else self._pressure

    def value(self, x: Floats) -> float:
        V = self.volume(x)
        if not self._gas:
            return -self._pressure * V
        return -self._pressure * self._V0 * float(np.log(V / self._V0)) if V > 0.0 else np.inf

    def _volume_gradient(self, x: Floats) -> Floats:
        a, b, c = (x[self._triangles[:, i]] for i in range(3))
        return scatter_vectors(
            self._triangles, np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1) / 6.0, len(x)
        )

    def gradient(self, x: Floats) -> Floats:
        return -self.pressure(x) * self._volume_gradient(x)

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        blocks: tuple[DenseBlocks, ...] = ()
        if not psd:
            a = (self.pressure(x) / 6.0) * (x[self._hinges[:, 2]] - x[self._hinges[:, 3]])
            skew = np.zeros((len(a), 3, 3))
            skew[:, 0, 1], skew[:, 0, 2], skew[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
            pairs = np.zeros((len(a), 3, 3, 3))
            pairs[:, 1] = skew - skew.transpose(0, 2, 1)
            blocks = (DenseBlocks(self._edges, pairs),)
        rank_one: tuple[Floats, ...] = ()
        if self._gas:
            V = self.volume(x)
            rank_one = (np.sqrt(self._pressure * self._V0) / V * self._volume_gradient(x),)
        return Hessian(blocks, rank_one=rank_one)

    def stencils(self) -> tuple[Ints, ...]:
        return (self._edges,)

    def load(self, x: Floats) -> tuple[float, float]:
        """Σ p A [N], which a closed shell balances itself."""
        e1 = x[self._triangles[:, 1]] - x[self._triangles[:, 0]]
        e2 = x[self._triangles[:, 2]] - x[self._triangles[:, 0]]
        return 0.0, abs(self.pressure(x)) * 0.5 * float(np.linalg.norm(np.cross(e1, e2), axis=1).sum())


class WindDrag(Potential):
    """Drag of moving air on triangles, lagged per step: h/2 Σ A uᵀ (c_n n nᵀ + c_t (I − n nᵀ)) u.

    u = (x̄ − x̄ᵗ)/h − w is the centroid's velocity [m/s] relative to the wind w, (3,) or of each triangle (m, 3);
    normals, areas and, for the quadratic law c = ½ ρ C ‖u⁰‖, speeds are those of the step's start, so the potential is
    quadratic and convex in x. The linear law has c = ½ ρ C · 1 m/s.
    """

    def __init__(
        self,
        triangles: Ints,
        x_start: Floats,
        v_start: Floats,
        h: float,
        *,
        wind: Floats,
        air_density: float,
        drag_normal: float,
        drag_tangential: float,
        law: str,
    ) -> None:
        self._triangles, self._h, self._wind = triangles, h, np.asarray(wind, float)
        self._start = x_start[triangles].mean(axis=1)
        doubled = np.cross(
            x_start[triangles[:, 1]] - x_start[triangles[:, 0]],
            x_start[triangles[:, 2]] - x_start[triangles[:, 0]],
        )
        length = np.linalg.norm(doubled, axis=1)
        n = doubled / np.maximum(length, 1e-300)[:, None]
        u = v_start[triangles].mean(axis=1) - self._wind
        normal_speed = (u * n).sum(axis=1)
        tangent_speed = np.linalg.norm(u - normal_speed[:, None] * n, axis=1)
        if law == "linear":
            normal_speed = tangent_speed = np.ones(len(n))
        nn = n[:, :, None] * n[:, None, :]
        c_n = (0.25 * air_density * drag_normal * length * np.abs(normal_speed))[:, None, None]
        c_t = (0.25 * air_density * drag_tangential * length * tangent_speed)[:, None, None]
        self._drag = c_n * nn + c_t * (np.eye(3) - nn)  # A · c, length is twice the area

    def _relative(self, x: Floats) -> Floats:
        return np.asarray((x[self._triangles].mean(axis=1) - self._start) / self._h - self._wind)

    def value(self, x: Floats) -> float:
        u = self._relative(x)
        return 0.5 * self._h * float(np.einsum("mi,mij,mj->", u, self._drag, u))

    def gradient(self, x: Floats) -> Floats:
        force = np.einsum("mij,mj->mi", self._drag, self._relative(x)) / 3.0
        return scatter_vectors(self._triangles, np.repeat(force[:, None, :], 3, axis=1), len(x))

    def hessian(self, x: Floats, *, psd: bool = True) -> Hessian:
        weights = np.full((len(self._triangles), 3), 1.0 / 3.0)
        return Hessian((KronBlocks(self._triangles, weights, self._drag / self._h),))

    def load(self, x: Floats) -> tuple[float, float]:
        """Σ |drag| [N]."""
        force = np.einsum("mij,mj->mi", self._drag, self._relative(x))
        return float(np.linalg.norm(force, axis=1).sum()), 0.0
