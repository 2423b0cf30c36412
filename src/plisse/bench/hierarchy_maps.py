"""What maps through decimated levels cost, and what they make of smooth deformations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from plisse.bench.figures import Figure
from plisse.bench.hierarchy_speed import make_sheet
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.energies.bending import Bending
from plisse.energies.membrane import Membrane, shape_gradients
from plisse.hierarchy.decimated import Decimated
from plisse.hierarchy.hierarchy import Plan
from plisse.hierarchy.maps import LevelMap
from plisse.shapes.catalogue import make_shape

ROUNDS = 30
FINE = 180_000  # vertices of the timed maps
PARTS = (1 / 64, 1 / 16, 1 / 4)  # of the fine vertices, on the levels that are compared


# --- cost -----------------------------------------------------------------------------------------------------------


def measure_maps(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Prolonging positions and restricting forces, over the products U x and Uᵀ g, by turns."""
    mesh = make_sheet(FINE)
    x = np.column_stack([mesh.X[:, 0], mesh.X[:, 1], 0.1 * np.sin(7.0 * mesh.X[:, 0])])
    figures, details = [], {}
    for part in (1 / 16, 1 / 4):
        ratios: dict[str, float] = {}
        for rule in ("printed", "shell", "smooth"):
            step = _decimated(mesh, rule, (part,)).between(0, 1)
            coarse = step.restrict(x)
            plain, own = [], []
            for _ in range(ROUNDS):
                plain.append(_time(step.linear, coarse, x))
                own.append(_time(step, coarse, x))
            ratios[rule] = float(np.median(own) / np.median(plain))
            details[f"{rule}, 1/{round(1 / part)}: ms, and of the plain products"] = (
                f"{1e3 * np.median(own):.1f}, {1e3 * np.median(plain):.1f}"
            )
        figures += [
            Figure(f"{rule}: prolong and restrict over plain products, 1/{round(1 / part)}", ratio, 1.5)
            for rule, ratio in ratios.items()
        ]
    return figures, details


def _time(step: LevelMap, x: Floats, g: Floats) -> float:
    began = time.perf_counter()
    step(x)
    step.pull_back(x, g)
    return time.perf_counter() - began


def _decimated(mesh: Mesh, rule: str, parts: tuple[float, ...]) -> Decimated:
    return Decimated(Plan([mesh], rules=[rule], levels=len(parts) + 1, parts=parts))


# --- approximation --------------------------------------------------------------------------------------------------

SHAPES: dict[str, dict[str, Any]] = {
    "grid": {"vertices": 20_000, "diagonals": "jittered"},
    "can": {"vertices": 20_000},
    "dome": {"vertices": 20_000},
    "bunny": {"resolution": 60},
}


def _roll(X: Floats) -> Floats:
    """About an axis along y, by a curvature of 1 over the size."""
    x, y, z = X.T
    return np.column_stack([(1.0 + z) * np.sin(x), y, (1.0 + z) * np.cos(x) - 1.0])


def _twist(X: Floats) -> Floats:
    x, y, z = X.T
    c, s = np.cos(0.8 * x), np.sin(0.8 * x)
    return np.column_stack([x, c * y - s * z, s * y + c * z])


def _stretch(X: Floats) -> Floats:
    x, y, z = X.T
    return np.column_stack([x + 0.1 * np.sin(2.0 * x), y, 0.9 * z])


def _inflate(X: Floats) -> Floats:
    return X * (1.1 + 0.1 * np.cos(3.0 * X[:, :1]) * np.cos(2.0 * X[:, 1:2]))


DEFORMATIONS: dict[str, Callable[[Floats], Floats]] = {
    "roll": _roll, "twist": _twist, "stretch": _stretch, "inflate": _inflate,
}  # fmt: skip


def measure_approximation(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Smooth deformations of coarse vertices, prolonged and compared with the same of the fine ones.

    Position error over the size, strain error, error of the normals [°], and bending energy over the true one, on each
    level. The order is that of the position error from the coarsest level to the finest, in edge lengths.
    """
    figures, details = [], {}
    for name, parameters in SHAPES.items():
        mesh = make_shape(name, parameters)
        size = float(np.ptp(mesh.X, axis=0).max())
        unit = Mesh((mesh.X - mesh.X.mean(axis=0)) / size, mesh.triangles)
        for rule in ("smooth", "shell", "intrinsic", "affine"):
            known = _decimated(unit, rule, PARTS)
            ghosts = ", ".join(f"{_find_ghosts(known, level):.1e}" for level in range(len(PARTS)))
            details[f"{name} at rest, {rule}: forces over those at a strain of 1 %"] = ghosts
            for what, deform in DEFORMATIONS.items():
                rows = [_compare(known, level, deform) for level in range(len(PARTS))]
                edges = [float(known.levels[level][0].edge_lengths.mean()) for level in (0, len(PARTS) - 1)]
                order = np.log(rows[0][0] / rows[-1][0]) / np.log(edges[0] / edges[1])
                details[f"{name}, {what}, {rule}"] = (
                    "; ".join(f"{p:.1e} {e:.1e} {a:.2f}° {b:.2f}" for p, e, a, b in rows) + f"; order {order:.1f}"
                )
                if rule in ("smooth", "shell"):
                    figures.append(Figure(f"{name}, {what}, {rule}: order of the position error", order, 1.7, "higher"))
    return figures, details


def _compare(known: Decimated, level: int, deform: Callable[[Floats], Floats]) -> tuple[float, float, float, float]:
    finest = len(known.levels) - 1
    (coarse,), (fine,) = known.levels[level], known.levels[finest]
    x, true = known.between(level, finest)(deform(coarse.X)), deform(fine.X)
    position = float(np.sqrt(((x - true) ** 2).sum(axis=1).mean()))
    strains = [_metrics(fine, y) for y in (x, true)]
    strain = float(np.sqrt(0.25 * ((strains[0] - strains[1]) ** 2).sum(axis=(1, 2)).mean()))
    n, m = (_normals(fine, y) for y in (x, true))
    angle = np.degrees(np.arccos(np.clip((n * m).sum(axis=1), -1.0, 1.0)))
    bending = Bending(
        fine, **{key: np.full(len(fine.hinges), v) for key, v in (("E", 1e9), ("nu", 0.3), ("thickness", 1e-3))}
    )
    # a sheet that is stretched in its plane is not bent
    ratio = bending.value(x) / bending.value(true) if bending.value(true) > 0.0 else np.nan
    return position, strain, float(np.sqrt((angle**2).mean())), ratio


def _find_ghosts(known: Decimated, level: int) -> float:
    """Forces of a membrane on a coarse level at rest, over those where it is stretched by 1 %; zero if all is well."""
    finest = len(known.levels) - 1
    (coarse,), (fine,) = known.levels[level], known.levels[finest]
    step, each = known.between(level, finest), np.ones(len(fine.triangles))
    membrane = Membrane(fine, E=each, nu=0.3 * each, thickness=each)
    at_rest, stretched = (
        np.linalg.norm(step.pull_back(coarse.X, membrane.gradient(x))) for x in (step(coarse.X), 1.01 * fine.X)
    )
    return float(at_rest / stretched)


def _metrics(mesh: Mesh, x: Floats) -> Floats:
    F = np.einsum("tci,tcj->tij", x[mesh.triangles], shape_gradients(mesh))
    return np.einsum("tki,tkj->tij", F, F)


def _normals(mesh: Mesh, x: Floats) -> Floats:
    a, b, c = (x[mesh.triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    return np.asarray(n / np.linalg.norm(n, axis=1, keepdims=True))
