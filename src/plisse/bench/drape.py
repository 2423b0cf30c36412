"""The scene that benches share: a cloth draped over a sphere, brought to a large mesh without a long run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from plisse.core.mesh import Mesh
from plisse.core.potential import Clock, Floats
from plisse.core.state import State
from plisse.io.geometry import Geometry, load_geometry
from plisse.io.scene_file import scene_from_dict
from plisse.progressive.assemble import System
from plisse.progressive.quasistatics import relax
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


def subdivide(mesh: Mesh, x: Floats) -> tuple[Mesh, Floats]:
    """Every triangle cut in four at its edges' midpoints; the surface stays what it was."""
    a, b = mesh.edges.T
    corner, side = mesh.triangles, mesh.triangle_edges + len(mesh.X)
    parts = [
        np.column_stack([corner[:, i], side[:, i], side[:, (i + 2) % 3]]) for i in range(3)
    ]  # sides are (0,1), (1,2), (2,0)
    triangles = np.concatenate([*parts, side]).astype(np.int32)
    return (
        Mesh(np.concatenate([mesh.X, 0.5 * (mesh.X[a] + mesh.X[b])]), triangles),
        np.concatenate([x, 0.5 * (x[a] + x[b])]),
    )


def draped(times: int, *, threads: int, settle: int) -> tuple[System, State, Newton, Clock]:
    """The cloth of CELLS² cells in equilibrium, subdivided `times` times, and `settle` quasistatic steps more."""
    scene = drape_scene(CELLS)
    geometry = load_geometry(scene, Path())
    system = System(scene, geometry)
    newton, clock = make_newton(threads=threads), Clock()
    state = _last(system, newton, clock, None, steps=200)
    mesh, x = geometry.shells[0], state.x[: system.n_shell]
    for _ in range(times):
        mesh, x = subdivide(mesh, x)
    # a tolerance that no step meets, so that as many steps are made as asked
    endless = replace(scene, solver=replace(scene.solver, tol=1e-12))
    fine = System(endless, Geometry((mesh,), (x,), geometry.colliders))
    newton, clock = make_newton(threads=threads), Clock()
    start = State(0, 0, 0.0, fine.x0, np.zeros_like(fine.x0))
    return fine, _last(fine, newton, clock, start, steps=settle), newton, clock


def _last(system: System, newton: Newton, clock: Clock, start: State | None, *, steps: int) -> State:
    state = start
    for state in relax(system, newton, clock, start):
        if state.step >= steps:
            break
    assert state is not None
    return state
