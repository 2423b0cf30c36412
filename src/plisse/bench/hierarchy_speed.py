"""How long decimation takes, with all maps and the log, and how that grows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from plisse.bench.figures import Figure
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation, decimate
from plisse.shapes.catalogue import make_shape

SIZES = (23_000, 90_000, 180_000, 440_000)  # vertices
NAMED, SECONDS = 90_000, 8.0  # the size that a time is asked of
LEVELS = (60, 15, 4)  # times fewer vertices
ROUNDS = 3


def make_sheet(vertices: int) -> Mesh:
    return make_shape("grid", {"vertices": vertices, "diagonals": "jittered"})


def measure_speed(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Processor seconds of one thread, the least of some rounds; kernels are warm."""
    decimate(make_sheet(2000), [100])
    seconds, details = {}, {}
    for size in SIZES:
        mesh = make_sheet(size)
        n = len(mesh.X)
        least, made = np.inf, None
        for _ in range(ROUNDS):
            began = time.thread_time()
            made = decimate(mesh, [n // part for part in LEVELS])
            least = min(least, time.thread_time() - began)
        assert made is not None
        seconds[n] = least
        details[f"{n:,} vertices"] = f"{least:.2f} s, {_describe(made)}"
    (named,) = (n for n in seconds if abs(n / NAMED - 1.0) < 0.05)
    largest = max(seconds)
    law = largest * np.log(largest) / (named * np.log(named))
    figures = [
        Figure(f"{named:,} vertices to a 60th with all maps, s", seconds[named], SECONDS),
        Figure(f"growth to {largest:,} vertices over n log n", seconds[largest] / seconds[named] / law, 1.1),
    ]
    return figures, details


def _describe(made: Decimation) -> str:
    sizes = ", ".join(f"{len(mesh.X):,}" for mesh in made.meshes)
    batches = ", ".join(str(len(made.batches(level))) for level in range(len(made.meshes) - 1))
    return f"levels of {sizes}; {made.tries:,} collapses examined; batches {batches}"
