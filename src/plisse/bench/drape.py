"""The scene that benches share: a cloth draped over a sphere, brought to a large mesh without a long run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from plisse.core.state import State
from plisse.hierarchy.loop import subdivide
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.session import Session
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

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


def draped(times: int, *, threads: int, warm_up: int, precision: str = "auto") -> tuple[Session, Iterator[State]]:
    """The cloth of CELLS² cells in equilibrium, subdivided `times` times, and `warm_up` quasistatic steps more.

    Returns the session and its further states.
    """
    scene = drape_scene(CELLS)
    geometry = load_geometry(scene, Path())
    coarse = Session(scene, geometry, threads=threads)
    state = take_steps(coarse.settle(0), 200)
    mesh, x = geometry.shells[0], state.x[: len(geometry.shells[0].X)]
    for _ in range(times):
        mesh, U = subdivide(mesh, rule="linear")
        x = U(x)
    # a tolerance that no step meets, so that as many steps are made as asked
    endless = replace(scene, solver=replace(scene.solver, tol=1e-12, precision=precision))
    session = Session(endless, Geometry((mesh,), (x,), geometry.colliders, ((),)), threads=threads)
    states = session.settle(0)
    take_steps(states, warm_up)
    return session, states


def take_steps(states: Iterator[State], count: int) -> State:
    """The state after some more steps, or the last one."""
    state: State | None = None
    done = 0
    for state in states:
        done += state.accepted
        if done >= count:
            break
    assert state is not None
    return state
