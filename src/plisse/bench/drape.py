"""The scene that benches share: a cloth draped over a sphere, brought to a large mesh without a long run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from plisse.core.potential import Clock
from plisse.core.state import State
from plisse.hierarchy.loop import subdivide
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.assemble import System
from plisse.progressive.quasistatics import relax
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene
from plisse.solve.newton import Newton, make_newton

CELLS = 75  # of the cloth's side before it is subdivided


def drape_scene(cells: int, *, sphere: int = 5) -> Scene:
    """A 1 m cotton cloth over a sphere (10K vertices at 5 subdivisions), a third of it in contact, and a floor."""
    return scene_from_dict(
        {
            "shell": [{"shape": "grid", "resolution": cells, "diagonals": "uniform", "material": "cotton"}],
            "collider": [
                {"shape": "sphere", "radius": 0.35, "subdivisions": sphere, "translate": [0.03, 0.02, -0.36]},
                {"shape": "floor", "height": -0.72},
            ],
            "contact": {"dhat": 1e-3, "offset": 3.18e-4},
        },
        Path(),
    )


def draped(times: int, *, threads: int, settle: int, precision: str = "auto") -> tuple[System, State, Newton, Clock]:
    """The cloth of CELLS² cells in equilibrium, subdivided `times` times, and `settle` quasistatic steps more."""
    scene = drape_scene(CELLS)
    geometry = load_geometry(scene, Path())
    system = System(scene, geometry)
    newton, clock = make_newton(precision=precision, threads=threads), Clock()
    state = _last(system, newton, clock, None, steps=200)
    mesh, x = geometry.shells[0], state.x[: system.n_shell]
    for _ in range(times):
        mesh, U, _ = subdivide(mesh, rule="linear")
        x = U(x)
    # a tolerance that no step meets, so that as many steps are made as asked
    endless = replace(scene, solver=replace(scene.solver, tol=1e-12))
    fine = System(endless, Geometry((mesh,), (x,), geometry.colliders, ((),)))
    newton, clock = make_newton(precision=precision, threads=threads), Clock()
    start = State(0, 0, 0.0, fine.x0, np.zeros_like(fine.x0))
    return fine, _last(fine, newton, clock, start, steps=settle), newton, clock


def _last(system: System, newton: Newton, clock: Clock, start: State | None, *, steps: int) -> State:
    state = start
    for state in relax(system, newton, clock, start):
        if state.step >= steps:
            break
    assert state is not None
    return state
