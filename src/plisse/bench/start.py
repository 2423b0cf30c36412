"""How long a user waits before anything happens: help, cold compilation, warm start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from plisse.bench.figures import Figure

SCENE = """
[[shell]]
shape = "grid"
vertices = 400
material = "cotton"
[[collider]]
shape = "sphere"
[time]
max_steps = 3
"""


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Whole commands in fresh processes; cold means an empty kernel cache. A small run is one of three steps."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "small.toml"
        scene.write_text(SCENE, encoding="utf-8")
        cache = {"PLISSE_CACHE": str(Path(folder) / "cache")}
        run = ["run", str(scene), "--out", str(Path(folder) / "run"), "--overwrite", "--threads", str(threads)]
        helping = min(_seconds(["--help"], cache) for _ in range(3))
        cold = _seconds(run, cache)
        warm = min(_seconds(run, cache) for _ in range(3))
    figures = [
        Figure("plisse --help, s", helping, 1.0, "lower"),
        Figure("cold compilation on the run path, s", cold - warm, 90.0, "lower"),
        Figure("warm start of a small run, s", warm, 3.0, "lower"),
    ]
    return figures, {"cold run as a whole, s": round(cold, 2)}


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "plisse.cli", *arguments], env=os.environ | environment, capture_output=True, check=False
    )
    return time.perf_counter() - began
