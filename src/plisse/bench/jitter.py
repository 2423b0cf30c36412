"""Runs that differ in the last digits of their start: whether all levels of each come to the same outcome."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plisse.bench.figures import Figure
from plisse.loading.geometry import load_geometry
from plisse.progressive.session import Session
from plisse.scene.scene import Scene

JITTER = 1e-4  # of the edges, by which the vertices' first places differ from run to run


def open_jittered(scene: Scene, seed: int, *, threads: int, throws: float = 0.0) -> Session:
    """A session whose vertices, unless they are held, begin beside their places.

    throws: by what part of their speed shells are thrown otherwise as well.
    """
    geometry, rng = load_geometry(scene, "."), np.random.default_rng(seed)
    starts, shells = [], []
    for mesh, start, pins in zip(geometry.shells, geometry.shell_positions, geometry.pins, strict=True):
        noise = JITTER * float(mesh.edge_lengths.mean()) * rng.normal(size=start.shape)
        noise[np.concatenate([np.empty(0, np.int32), *pins])] = 0.0
        starts.append(start + noise)
    for shell in scene.shells:
        x, y, z = shell.velocity
        by = throws * float(np.linalg.norm(shell.velocity)) * rng.normal(size=3) / np.sqrt(3.0)
        shells.append(replace(shell, velocity=(x + by[0], y + by[1], z + by[2])))
    scene = replace(scene, seed=seed, shells=tuple(shells))
    return Session(scene, replace(geometry, shell_positions=tuple(starts)), threads=threads)


def count_alike(
    name: str, look: str, found: Sequence[tuple[Hashable, ...]], alike: int
) -> tuple[Figure, dict[str, Any]]:
    """Runs in which all levels came to the same outcome, beside all of them; what each level came to, and how often.

    found: outcomes of each run, coarse to fine.
    """
    figure = Figure(f"{name}: runs of {len(found)} with equal levels", float(alike), float(len(found)), "higher")
    outcomes = sorted(set(found), key=str)
    return figure, {
        f"{name}: {look} on each level, and in how many runs": {str(each): found.count(each) for each in outcomes}
    }
