"""Bending against closed forms: what each model's strips, discs and tubes do, over what a plate does.

Deflections are those of the linear theory: by the energy's own Hessian at rest, out of the plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, triu
from scipy.sparse.linalg import LinearOperator, cg, splu

from plisse.bench.figures import Figure
from plisse.bench.psq_plate_meshes import CLOSE, DISCS, STRIPS, make_disc, make_strip, sew_tube
from plisse.core.arrays import Bools, Floats
from plisse.core.derivatives import apply_hessian
from plisse.core.mesh import Mesh
from plisse.core.potential import Pattern, Potential, frozen
from plisse.energies.bending import Bending
from plisse.energies.membrane import Membrane
from plisse.energies.plate import Plate

E, TAU = 70e9, 1e-3  # aluminium, 1 mm
NU = 0.3
WIDTH = 0.125  # of strips, over their length
RESOLUTIONS = (16, 32, 64)  # cells along a strip, or around a tube; discs have 5/8 as many rings
MODES = 8  # iterations for a buckling mode
MOST = 0.03  # error on the finest mesh
Row = dict[str, Any]


def measure_plate(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """The worst error of the plate on the finest meshes, whether all converge, and both models' ratios."""
    rows = measure_rows()
    details = {f"{row['case']}, {row['mesh']}, {row['bending']}": _tell(row["ratios"]) for row in rows}
    plates = [row["ratios"] for row in rows if row["bending"] == "plate"]
    worst = max(abs(ratios[-1] - 1.0) for ratios in plates)
    drift = max(abs(ratios[-1] - ratios[-2]) for ratios in plates)
    figures = [
        Figure("plate on the finest meshes: largest error over the closed form, %", 100.0 * worst, 100.0 * MOST),
        Figure("plate: largest change from the second finest mesh to the finest, %", 100.0 * drift, 100.0 * MOST),
    ]
    return figures, details


def measure_rows(resolutions: Sequence[int] = RESOLUTIONS, cases: Sequence[str] = ()) -> list[Row]:
    """A row for each case, mesh and model: ratios to the closed form, one a resolution."""
    rows: list[Row] = []
    for case in cases or CASES:
        meshes, ratio = CASES[case]
        for mesh in meshes:
            for bending in ("hinge", "plate"):
                ratios = [ratio(mesh, resolution, bending) for resolution in resolutions]
                rows.append({"case": case, "mesh": mesh, "bending": bending, "ratios": ratios})
    return rows


def _tell(ratios: Sequence[float]) -> str:
    return "  ".join(f"{ratio:.3f}" for ratio in ratios)


# --- cases ----------------------------------------------------------------------------------------------------------


def cantilever(kind: str, cells: int, bending: str, *, nu: float) -> float:
    """Sag of a strip's end under its weight, over q L⁴ / 8 E I: free to curve across, E I = D (1 − ν²)."""
    mesh = make_strip(kind, cells, width=WIDTH, collar=True)
    held = mesh.X[:, 0] < CLOSE
    w = _deflect(mesh, bending, nu, held)
    return float(w[mesh.X[:, 0] > 1.0 - CLOSE].mean()) * 8.0 * D(nu) * (1.0 - nu**2)


def disc(kind: str, cells: int, bending: str, *, clamped: bool) -> float:
    """Deflection of a disc's centre under pressure, over p R⁴ / 64 D, clamped, or (5 + ν)/(1 + ν) of it, supported.

    [Timoshenko1959]
    """
    rings = 5 * cells // 8
    mesh = make_disc(kind, rings, collar=clamped)
    r = np.linalg.norm(mesh.X, axis=1)
    w = _deflect(mesh, bending, NU, r > 1.0 - CLOSE)
    near = r < 2.5 / rings
    x, y = mesh.X[near, 0], mesh.X[near, 1]
    fit = np.column_stack((np.ones(len(x)), x, y, x * x, x * y, y * y))
    centre = float(np.linalg.lstsq(fit, w[near])[0][0])
    return centre * 64.0 * D(NU) / (1.0 if clamped else (5.0 + NU) / (1.0 + NU))


def buckling(kind: str, cells: int, bending: str) -> float:
    """Load at which a strip with hinged ends buckles, over Euler's π² E I / L²."""
    mesh = make_strip(kind, cells, width=WIDTH, collar=False)
    free = (mesh.X[:, 0] > CLOSE) & (mesh.X[:, 0] < 1.0 - CLOSE)
    strain = 1e-6
    each = np.ones(len(mesh.triangles))
    membrane = Membrane(mesh, E=E * each, nu=NU * each, thickness=TAU * each)
    softening = -_across(membrane, mesh.X * np.array([1.0 - strain, 1.0 + NU * strain, 1.0]), free, psd=False)
    bend = _solver(_make(mesh, bending, NU), mesh.X, free)
    # inverse iteration: what is left in the end is the mode that the least load buckles
    w = np.sin(np.pi * mesh.X[free, 0])
    for _ in range(MODES):
        force = softening @ w
        bent = bend(force)
        load = float(w @ force) / float(bent @ force)
        w = bent / np.abs(bent).max()
    return load * strain / (np.pi**2 * TAU**2 / 12.0)


def tube(kind: str, cells: int, bending: str) -> float:
    """Energy of a flat strip that is bent to a tube, over ½ D κ² A: its edges are kept from curving across."""
    mesh = sew_tube(make_strip(kind, cells, width=0.5, collar=False))
    return _make(mesh, bending, NU).value(mesh.X) / (0.5 * D(NU) * (2.0 * np.pi) ** 2 * 0.5)


Case = Callable[[str, int, str], float]
CASES: dict[str, tuple[Sequence[str], Case]] = {
    "cantilever, ν = 0": (STRIPS, lambda *at: cantilever(*at, nu=0.0)),
    "cantilever, ν = 0.3": (STRIPS, lambda *at: cantilever(*at, nu=NU)),
    "clamped disc": (DISCS, lambda *at: disc(*at, clamped=True)),
    "supported disc": (DISCS, lambda *at: disc(*at, clamped=False)),
    "Euler's strip": (STRIPS, buckling),
    "tube": (STRIPS, tube),
}


# --- small deflections ----------------------------------------------------------------------------------------------


def D(nu: float) -> float:
    """Bending stiffness of the plate [J]."""
    return E * TAU**3 / (12.0 * (1.0 - nu**2))


def _make(mesh: Mesh, bending: str, nu: float, held: Bools | None = None) -> Potential:
    each = np.ones(len(mesh.hinges if bending == "hinge" else mesh.triangles))
    if bending == "hinge":
        return Bending(mesh, E=E * each, nu=nu * each, thickness=TAU * each)
    return Plate(mesh, E=E * each, nu=nu * each, thickness=TAU * each, held=held)


def _deflect(mesh: Mesh, bending: str, nu: float, held: Bools) -> Floats:
    """w (n,) [m] under 1 Pa, with these vertices (n,) held, and clamped where whole triangles are."""
    whole = np.asarray(held[mesh.triangles].all(axis=1))
    clamped = whole if whole.sum() > 1 else None
    w = np.zeros(len(held))
    w[~held] = _solver(_make(mesh, bending, nu, clamped), mesh.X, ~held)(mesh.vertex_areas[~held])
    return w


def _solver(potential: Potential, x: Floats, free: Bools) -> Callable[[Floats], Floats]:
    """From forces (k,) [N] on the free vertices, out of the plane, to deflections [m] by the exact Hessian at x."""
    exact, near = potential.hessian(frozen(x.copy()), psd=False), splu(_across(potential, x, free))

    def multiply(w: Floats) -> Floats:
        moved = np.zeros_like(x)
        moved[free, 2] = w.ravel()
        return apply_hessian(exact, moved)[free, 2]

    size = (int(free.sum()),) * 2
    matrix, inverse = (LinearOperator(size, each, dtype=np.float64) for each in (multiply, near.solve))

    def solve(force: Floats) -> Floats:
        w, failed = cg(matrix, force, M=inverse, rtol=1e-9)
        assert not failed
        return np.asarray(w)

    return solve


def _across(potential: Potential, x: Floats, free: Bools, *, psd: bool = True) -> csc_array:
    """∂²E/∂z² over the free vertices [J/m²]."""
    stencils = potential.stencils()
    pattern = Pattern.of(free, stencils)
    values = pattern.assemble(potential.hessian(frozen(x.copy()), psd=psd), fixed=stencils)
    n = 3 * pattern.size
    upper = csr_array((values, pattern.indices, pattern.indptr), shape=(n, n))[2::3, 2::3]
    # rows of the pattern have an order of their own
    order = np.argsort(pattern.rows)
    return csc_array((upper + triu(upper, 1).T)[order][:, order])
