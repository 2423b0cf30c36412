"""Whether "in equilibrium" can be believed: what tightening still moves, saddles, sizes, buckling, and the speed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.climb import climb, gallery_scene
from plisse.bench.figures import Figure, Part, measure_parts
from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.derivatives import apply_hessian
from plisse.core.potential import Sum
from plisse.core.state import State
from plisse.loading.examples import copy_example
from plisse.loading.scene_file import load_scene
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.scene.geometry import scene_size
from plisse.scene.scene import Scene

MOST_MOVED, MOST_RMS = 0.5, 0.1  # % of the size that tightening ten-fold may move: one vertex, and all of them
SEEDS = range(10)
Table = dict[str, Any]


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)


# --- scenes ---------------------------------------------------------------------------------------------------------


@cache
def _examples() -> tempfile.TemporaryDirectory[str]:
    """A folder for examples and their meshes, which goes when Python ends."""
    return tempfile.TemporaryDirectory(prefix="plisse-bench-")


def example(name: str, *sets: str) -> Scene:
    """One of the examples that come with Plissé."""
    return load_scene(copy_example(name, Path(_examples().name)), list(sets))


def drape(size: float, levels: int = 2) -> Scene:
    """A square of this width on a ball; all of it scales, and the material with it."""
    cloth = {"density": 472.64, "thickness": 0.318e-3 * size, "E": 0.821e6 * size, "nu": 0.243, "bending": "hinge"}
    ball = {"shape": "sphere", "radius": 0.3 * size, "subdivisions": 4, "translate": [0, 0, -0.31 * size]}
    table = {
        "shell": [{"shape": "grid", "width": size, "height": size, "vertices": 800, "material": cloth}],
        "collider": [ball, {"shape": "floor", "height": -0.61 * size}],
        "hierarchy": {"levels": levels},
    }
    return scene_from_dict(table, Path())


def flat_curtain(levels: int = 1) -> Scene:
    """A sheet that hangs from two corners of its hem, which come nearer to each other in its plane."""
    sheet = {"shape": "grid", "width": 1.2, "height": 1.0, "resolution": [30, 25], "diagonals": "alternating"}
    pins = [
        {"box": [[x - 1e-4, -1, 0.499], [x + 1e-4, 1, 0.501]], "motion": [{"time": 3, "translate": [-0.2 * x, 0, 0]}]}
        for x in (-0.6, 0.6)
    ]
    shell = sheet | {"material": "cotton", "rotate": [90, 0, 0], "pin": pins}
    return scene_from_dict({"shell": [shell], "hierarchy": {"levels": levels}}, Path())


def cone(levels: int = 1) -> Scene:
    """A skirt that is cut as a cone and starts as one, held at its waist."""
    waist = {"sphere": {"center": [0, 0, 0.3], "radius": 0.2}}
    shell = {"shape": "cone", "radius": 0.45, "height": 0.6, "vertices": 700, "material": "cotton", "pin": [waist]}
    return scene_from_dict({"shell": [shell], "hierarchy": {"levels": levels}}, Path())


def strip(shortening: float = 0.02, *, leave_saddles: bool = True) -> Scene:
    """A plastic strip whose ends are pushed together along it, by a part of its length."""
    way = 0.5 * shortening * 0.3
    pins = [
        {"box": [[x - 1e-4, -1, -1], [x + 1e-4, 1, 1]], "motion": [{"time": 3, "translate": [-np.sign(x) * way, 0, 0]}]}
        for x in (-0.15, 0.15)
    ]
    plastic = {"density": 1000, "thickness": 0.5e-3, "E": 2e9, "nu": 0.3, "bending": "hinge"}
    sheet = {"shape": "grid", "width": 0.3, "height": 0.05, "resolution": [48, 8], "diagonals": "alternating"}
    return scene_from_dict(
        {"gravity": [0, 0, 0], "shell": [sheet | {"material": plastic, "pin": pins}],
         "solver": {"leave_saddles": leave_saddles}}, Path(),
    )  # fmt: skip


CANTILEVERS: dict[str, Table] = {
    "paper": {"density": 800, "thickness": 0.1e-3, "E": 3e9, "nu": 0.3, "bending": "hinge"},
    "cotton": {"density": 472.64, "thickness": 0.318e-3, "E": 0.821e6, "nu": 0.243, "bending": "hinge"},
    "steel": {"density": 7850, "thickness": 0.2e-3, "E": 2e11, "nu": 0.3, "bending": "hinge"},
}


def cantilever(material: str, length: float) -> Scene:
    """A strip that is clamped at one end, by two rows of vertices, and bends under its own weight."""
    width = length / 5.0
    pin = {"box": [[-0.6 * length, -1, -1], [-0.5 * length + 1.01 * length / 40, 1, 1]]}
    sheet = {"shape": "grid", "width": length, "height": width, "resolution": [40, 8], "diagonals": "alternating"}
    return scene_from_dict({"shell": [sheet | {"material": CANTILEVERS[material], "pin": [pin]}]}, Path())


def tilted(friction: float) -> Scene:
    """A sheet on a slope of 20°, whose tangent is 0.364."""
    sheet = {"shape": "grid", "width": 0.3, "height": 0.3, "vertices": 200, "material": "cotton"}
    slope = {"shape": "floor", "rotate": [0, 20, 0], "height": -0.002}
    return scene_from_dict(
        {"shell": [sheet | {"rotate": [0, 20, 0]}], "collider": [slope], "contact": {"friction": friction},
         "time": {"max_steps": 200}}, Path(),
    )  # fmt: skip


def dome() -> Scene:
    """A cap without any load, held at its rim."""
    cap = {"shape": "dome", "vertices": 400, "pin": [{"boundary": True}]}
    return scene_from_dict({"gravity": [0, 0, 0], "shell": [cap]}, Path())


TWO = "hierarchy.levels=2"
# what tuning looked at, and what it did not
TUNED: dict[str, Callable[[], Scene]] = {
    "05-sphere": lambda: _rested("05-sphere"),
    "tablecloth": lambda: example("tablecloth", TWO),
    "flat curtain": flat_curtain,
    "cone": cone,
    "strip": strip,
    "drape, 6 cm": lambda: drape(0.06),
    "drape, 20 m": lambda: drape(20.0),
    "dome": dome,
    "06-cube": lambda: _rested("06-cube"),
    "07-bunny": lambda: _rested("07-bunny"),
    "12-still-life": lambda: _rested("12-still-life"),
}
SADDLES = ("flat curtain", "cone", "strip")
UNSEEN: dict[str, Callable[[], Scene]] = {
    "10-bending": lambda: _rested("10-bending"),
    "11-ribbon": lambda: _rested("11-ribbon"),
    "hem": lambda: example("hem", TWO),
    "skirt": lambda: example("skirt", TWO),
    "curtain": lambda: example("curtain", TWO),
    "cantilever, paper": lambda: cantilever("paper", 0.2),
    "cantilever, cotton": lambda: cantilever("cotton", 0.1),
    "cantilever, steel": lambda: cantilever("steel", 0.5),
    "tilted sheet": lambda: tilted(0.5),
}


def _rested(name: str, levels: int = 2, **hierarchy: Any) -> Scene:
    """A scene of the gallery that ends at rest, not by a tolerance."""
    return gallery_scene(name, tol=None, levels=levels, **hierarchy)


# --- parts ----------------------------------------------------------------------------------------------------------


def _settle(scene: Scene, threads: int) -> tuple[Session, State]:
    """The scene's finest level in equilibrium, or as near as it came."""
    done = climb(scene, threads=threads, folder=Path(_examples().name))
    return done.session, done.states[max(done.states)]


def _measure_scenes(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Every scene to equilibrium; then ten times as tightly, which should hardly move it."""
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    pushed = 0
    for name, make in {**TUNED, **UNSEEN}.items():
        began = time.perf_counter()
        session, state = _settle(make(), threads)
        seconds = time.perf_counter() - began
        *_, tight = session.settle(state.level, rest=0.1 * session.scene.solver.rest)
        moved, rms = _moved(session, state, tight)
        assert session.problem is not None
        crossings = Detector.of(session.problem).count(tight.x)
        mark = "" if name in TUNED else " (not tuned on)"
        figures += [
            Figure(f"{name}{mark}: at rest", float(state.converged and tight.converged), 1.0, "higher"),
            Figure(f"{name}: tightening ten-fold moves, % of the size", moved, MOST_MOVED),
            Figure(f"{name}: the same, rms", rms, MOST_RMS),
            Figure(f"{name}: intersections", float(crossings), 0.0),
        ]
        pushed += state.pushes if name not in SADDLES else 0
        if name.startswith("cantilever"):
            figures.append(Figure(f"{name}: deflection against the tight one, %", _deflection(state, tight), 2.0))
        details[name] = (
            f"{state.step} steps and {state.newton_iterations} iterations on the finest level, {seconds:.1f} s in all, "
            f"{state.pushes} pushes; tightening {tight.step - state.step} steps"
        )
    session, state = _settle(tilted(0.35), threads)
    figures.append(Figure("sheet on a slope of 20° with μ = 0.35: at rest", float(state.converged), 0.0))
    details["pushes where there is no saddle to leave"] = pushed
    return figures, details


def _moved(session: Session, before: State, after: State) -> tuple[float, float]:
    """The farthest that a vertex has moved, and the rms of all, in % of the size."""
    assert session.problem is not None
    way = np.linalg.norm(session.problem.bodies.simulated_part(after.x - before.x), axis=1)
    size = scene_size(session.ladder.given.shells)
    return 100.0 * float(way.max()) / size, 100.0 * float(np.sqrt((way**2).mean())) / size


def _deflection(state: State, tight: State) -> float:
    low, lowest = (float(-x[:, 2].min()) for x in (state.x, tight.x))
    return 100.0 * abs(low / lowest - 1.0)


def _measure_saddles(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Flat curtain, cone and strip leave their saddles on level 0, whatever the seed."""
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    for name in SADDLES:
        make = TUNED[name]
        energies, pushes, bent = [], [], []
        for seed in SEEDS:
            session = open_session(replace(make(), seed=seed), threads=threads)
            *_, state = session.preview()
            energies.append(state.energy)
            pushes.append(state.pushes)
            bent.append(state.converged and _leaves(session, state))
        spread = 100.0 * (max(energies) - min(energies)) / abs(float(np.mean(energies)))
        figures += [
            Figure(f"{name}: seeds of ten in which it leaves its saddle", float(sum(bent)), 10.0, "higher"),
            Figure(f"{name}: spread of the energy over ten seeds, %", spread, 1.0),
        ]
        details[f"{name}, pushes"] = pushes
    return figures, details


def _leaves(session: Session, state: State) -> bool:
    """Whether a shape has lost its symmetry: a plane's flatness, a cone's roundness, by a thousandth of its size."""
    assert session.problem is not None
    bodies = session.problem.bodies
    x, x0 = bodies.simulated_part(state.x), bodies.simulated_part(session.ladder.geometry(0).placed)
    size = scene_size(session.ladder.given.shells)
    flat = np.flatnonzero(np.ptp(x0, axis=0) < 1e-9)
    if len(flat):
        return bool(np.ptp(x[:, flat[0]]) > 1e-2 * size)
    rim = np.hypot(x0[:, 0], x0[:, 1]) > 0.999 * np.hypot(x0[:, 0], x0[:, 1]).max()
    return bool(np.ptp(x[rim, 2]) > 1e-3 * size)


def _measure_scales(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """The same drape in three sizes: steps and relative distance to rest."""
    steps, parts = {}, {}
    for size in (0.06, 1.0, 20.0):
        done = climb(drape(size), threads=threads)
        steps[size] = sum(done.steps)
        parts[size] = done.states[max(done.states)].distance / scene_size(done.session.ladder.given.shells)
    ratios = [steps[size] / steps[1.0] for size in (0.06, 20.0)]
    figures = [
        Figure("steps of the drape of 6 cm or 20 m against that of 1 m, largest ratio", max(ratios), 1.2),
        Figure("the same, smallest ratio", min(ratios), 0.8, "higher"),
    ]
    return figures, {"steps": steps, "distance to rest over size": parts}


def _measure_buckling(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """A strip under compression: 5 % below this bending model's own critical shortening it stays flat, above not."""
    low, high = 1e-6, 1e-3
    while high / low > 1.005:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _is_stable(middle, threads) else (low, middle)
    critical = float(np.sqrt(low * high))
    bends = {part: _bend(part * critical, threads) for part in (0.95, 1.05)}
    length, width, thickness, E, nu = 0.3, 0.05, 0.5e-3, 2e9, 0.3
    plate = np.pi**2 * E * thickness**3 / (12.0 * (1.0 - nu**2)) * width / length**2
    figures = [
        Figure("strip at 0.95 × the critical shortening: bends by, mm", bends[0.95], 0.03),
        Figure("strip at 1.05 × the critical shortening: bends by, mm", bends[1.05], 0.09, "higher"),
    ]
    force = critical * E * width * thickness
    return figures, {"critical shortening": f"{critical:.3e}", "its load over Euler's of a plate": force / plate}


def _is_stable(shortening: float, threads: int) -> bool:
    """Whether the flat strip is a minimum: all eigenvalues of the exact Hessian are positive."""
    session = open_session(strip(shortening, leave_saddles=False), threads=threads)
    *_, state = session.preview()
    problem = session.problem
    assert problem is not None
    free = np.flatnonzero(problem.free)
    hessian, columns = Sum(problem.potentials).hessian(state.x, psd=False), []
    # in-plane and out-of-plane displacements of a flat sheet do not couple: what buckles is among the latter
    for vertex in free:
        unit = np.zeros_like(state.x)
        unit[vertex, 2] = 1.0
        columns.append(apply_hessian(hessian, unit)[free, 2])
    return bool(np.linalg.eigvalsh(np.array(columns))[0] > 0.0)


def _bend(shortening: float, threads: int) -> float:
    session = open_session(strip(shortening), threads=threads)
    # so near to buckling, what bends is not much farther than what counts as rest by default
    *_, state = session.settle(0, rest=2e-5)
    return 1e3 * float(np.abs(_heights(session, state)).max())


def _heights(session: Session, state: State) -> Floats:
    assert session.problem is not None
    return session.problem.bodies.simulated_part(state.x)[:, 2]


def _measure_speed(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Seconds to a true rest, progressively and directly, from the same start."""
    figures, details = [], {}
    for levels, asked in ((4, 5.0), (5, 10.0)):
        progressive = climb(_rested("05-sphere", levels), threads=threads)
        direct = climb(_rested("05-sphere", levels, method="direct"), threads=threads, most=400)
        state = direct.states[max(direct.states)]
        triangles = f"{len(progressive.session.ladder.hierarchy.levels[-1][0].triangles):,}"
        ratio = direct.wall / progressive.wall
        figures.append(Figure(f"{triangles} triangles: direct / progressive, seconds to rest", ratio, asked, "higher"))
        details[f"{levels} levels"] = (
            f"progressive {progressive.wall:.0f} s, steps {progressive.steps}; direct {direct.wall:.0f} s, "
            f"{state.step} steps, {'at rest' if state.converged else 'not at rest yet'}"
        )
    return figures, details


PARTS: dict[str, Part] = {
    "scenes": _measure_scenes,
    "saddles": _measure_saddles,
    "scales": _measure_scales,
    "buckling": _measure_buckling,
    "speed": _measure_speed,
}
