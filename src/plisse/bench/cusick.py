"""The Cusick drape test of the fabric presets: a 30 cm disc held on an 18 cm support, and its shadow from above.

The specimen lies between two plates of 18 cm [Cusick1968], so its vertices within that circle are pinned; below them is
the support. Equilibria with different numbers of folds exist. As many starts as WAVES has are brought to equilibrium
on the coarsest level, and the one of least energy is refined.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from plisse.bench.figures import Figure, use_threads
from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.state import State
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.ladder import Ladder
from plisse.progressive.metrics import count_folds
from plisse.runs.opening import open_session
from plisse.scene.materials import Material
from plisse.scene.presets import PRESETS, SOURCES
from plisse.scene.scene import Scene

RADIUS, SUPPORT = 0.15, 0.09  # of the specimen and of the plates [m]
RINGS, LEVELS = 20, 3  # 7.5, 3.75 and 1.9 mm edges; the rings' number is a multiple of 5, so that one lies at SUPPORT
WAVES = (3, 4, 5, 6, 7, 8, 9, 10)  # round the rim of the starts
DROOP = 0.2  # mean slope of the starts beyond the support
TOL = 1e-4  # [m/s]
PIXEL = 1e-4  # of the shadow [m]
DRIFT = 5.0  # most change of a coefficient from the last level but one to the last [% points]


@dataclass(frozen=True, eq=False)
class Drape:
    """A fabric's equilibria, coarse to fine: coefficients [%] and folds of the levels; the finest mesh and positions.

    energies: of level 0 [J], by the number of waves at the start.
    """

    coefficients: list[float]
    folds: list[int]
    converged: bool
    energies: dict[int, float]
    seconds: float
    mesh: Mesh
    x: Floats


def measure(
    threads: int, *, fabrics: Sequence[str] | None = None, rings: int = RINGS, levels: int = LEVELS,
    waves: Sequence[int] = WAVES,
) -> tuple[list[Figure], dict[str, Any]]:  # fmt: skip
    """Drape coefficients of the presets (all, when `fabrics` is not given) beside their published classes."""
    use_threads(threads)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    print("coefficients of the levels [%], coarse to fine; folds on the finest; published class")
    for name in PRESETS if fabrics is None else fabrics:
        drape = drape_fabric(PRESETS[name], threads=threads, rings=rings, levels=levels, waves=waves)
        last, band = drape.coefficients[-1], SOURCES[name].drape
        row = {
            "coefficients, %": [round(value, 1) for value in drape.coefficients],
            "folds": drape.folds[-1],
            "published, %": None if band is None else list(band),
            "verdict": judge(last, band, noted=bool(SOURCES[name].outside)),
            "converged": drape.converged,
            "seconds": round(drape.seconds, 1),
        }
        details[name] = row
        levels_text = "  ".join(f"{value:5.1f}" for value in drape.coefficients)
        band_text = "none" if band is None else f"{band[0]:g}–{band[1]:g}"
        print(f"{name:11} {levels_text}   {drape.folds[-1]:3d} folds   {band_text:6} {row['verdict']}", flush=True)
        if band is not None and not SOURCES[name].outside:
            figures.append(Figure(f"{name}: points outside its class", distance_to(band, last), 0.0, "lower"))
        if levels > 1:
            drift = abs(last - drape.coefficients[-2])
            figures.append(Figure(f"{name}: points of change to the finest level", drift, DRIFT, "lower"))
    return figures, details


def judge(coefficient: float, band: tuple[float, float] | None, *, noted: bool) -> str:
    """In a few words where a coefficient lies."""
    if band is None:
        return ""
    if band[0] <= coefficient <= band[1]:
        return "within"
    return ("below" if coefficient < band[0] else "above") + (", see its note" if noted else "")


def distance_to(band: tuple[float, float], value: float) -> float:
    """How far a value lies outside a band, 0 within."""
    return max(band[0] - value, value - band[1], 0.0)


def cusick_scene(material: Material, *, rings: int = RINGS, levels: int = LEVELS, tol: float = TOL) -> Scene:
    """A flat disc of the material, held within the plates' circle, above the lower plate."""
    if rings % 5 != 0:
        raise SceneError(f"The drape test needs a number of rings that is a multiple of 5, not {rings}.")
    values = {
        key: getattr(material, key)
        for key in ("density", "thickness", "E", "nu", "E_bend", "bending", "name")
        if getattr(material, key) is not None
    }
    thick = 4e-3
    top = -(2.0 * material.thickness + 0.5e-3)  # out of reach of the contact force
    return scene_from_dict(
        {
            "shell": [
                {
                    "shape": "disc", "radius": RADIUS, "rings": rings, "translate": [0, 0, 0], "material": values,
                    "pin": [{"sphere": {"center": [0, 0, 0], "radius": SUPPORT * (1 + 1e-6)}}],
                }
            ],
            "collider": [
                {
                    "shape": "cylinder", "radius": SUPPORT, "height": thick, "around": 120,
                    "translate": [0, 0, top - 0.5 * thick],
                }
            ],
            "solver": {"tol": tol},
            "hierarchy": {"levels": levels},
        },
        Path(),
    )  # fmt: skip


def drape_fabric(
    material: Material, *, threads: int, rings: int = RINGS, levels: int = LEVELS, waves: Sequence[int] = WAVES
) -> Drape:
    """The drape of least energy among those from the waved starts, refined to the finest level."""
    began = time.perf_counter()
    session = open_session(cusick_scene(material, rings=rings, levels=levels), threads=threads)
    ends: dict[int, State] = {}
    for count in waves:
        session.grid.put(wave_start(session.ladder, count))
        for state in session.preview():
            ends[count] = state
    best = min(ends.values(), key=lambda state: state.energy)
    session.grid.put(best)
    states = [best]
    for state in session.refine():
        if state.accepted:
            states = [*states[: state.level], state]
    sheets = [session.ladder.geometry(state.level).shells[0] for state in states]
    places = [state.x[: len(sheet.X)] for state, sheet in zip(states, sheets, strict=True)]
    return Drape(
        [drape_coefficient(sheet, x) for sheet, x in zip(sheets, places, strict=True)],
        [count_folds(sheet, x) for sheet, x in zip(sheets, places, strict=True)],
        all(state.converged for state in states),
        {count: end.energy for count, end in ends.items()},
        time.perf_counter() - began,
        sheets[-1],
        places[-1],
    )


def wave_start(ladder: Ladder, count: int) -> State:
    """Level 0 with the annulus beyond the support sloping down by DROOP (1 + 0.9 cos(count φ))."""
    problem = ladder.problem(0)
    x = problem.x0.copy()
    sheet = problem.bodies.simulated_part(x)
    beyond = np.maximum(np.hypot(sheet[:, 0], sheet[:, 1]) - SUPPORT, 0.0)
    angle = np.arctan2(sheet[:, 1], sheet[:, 0])
    # the phase keeps crests off the mesh's own six axes
    sheet[:, 2] -= DROOP * beyond * (1.0 + 0.9 * np.cos(count * (angle + 0.1)))
    return State(0, 0, 0.0, x, np.zeros_like(x))


def drape_coefficient(mesh: Mesh, x: Floats) -> float:
    """(shadow − support) / (specimen − support) × 100 %, the specimen being the rest mesh. [Cusick1968]"""
    support = np.pi * SUPPORT**2
    flat = shadow_area(mesh.triangles, mesh.X)
    return float(100.0 * (shadow_area(mesh.triangles, x) - support) / (flat - support))


def shadow_area(triangles: Ints, x: Floats) -> float:
    """Area [m²] of the union of the triangles (m, 3) of positions x (n, 3) seen along z, in pixels of PIXEL."""
    return float(np.count_nonzero(draw_shadow(triangles, x))) * PIXEL**2


def draw_shadow(triangles: Ints, x: Floats) -> Any:
    """The shadow as an array of truth values, y upwards."""
    seen = (x[:, :2] - x[:, :2].min(axis=0)) / PIXEL + 1.0
    wide, high = (int(extent) + 3 for extent in seen.max(axis=0))
    picture = Image.new("1", (wide, high))
    pen = ImageDraw.Draw(picture)
    for corners in seen[triangles].reshape(-1, 6).tolist():
        pen.polygon(corners, fill=1)
    return np.flipud(np.asarray(picture))
