"""How fast a run is exported, against writing its frames with numpy alone."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.figures import Figure, use_threads
from plisse.core.mesh import concatenate
from plisse.export import FORMATS, export_run
from plisse.export.video import watch
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.pictures.render import draw
from plisse.runs.recording import open_recording
from plisse.runs.store import RunSpec, RunStore

FRAMES = 8
SCENE = {
    "name": "export",
    "shell": [{"shape": "grid", "vertices": 90000, "material": "cotton"}],
    "collider": [
        {"shape": "sphere", "name": "moving", "radius": 0.2, "subdivisions": 4, "translate": [0, 0, -0.5]},
        {"shape": "box", "name": "resting", "translate": [0, 0, -1.2]},
        {"shape": "floor", "name": "floor", "height": -2.0},
    ],
    "time": {"mode": "dynamic", "h": 0.02},
}

PIXELS = (1280, 720)

# how many times as long as np.save an export may take (normals and text have their price), films as drawing alone
ASKED = {"usd": 60.0, "abc": 60.0, "glb": 60.0, "ply": 20.0, "obj": 200.0, "mp4": 1.5, "webm": 2.0}


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Frames a second at 90K cloth vertices over two mesh colliders, of which one moves; the best of several."""
    use_threads(threads)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _record(folder / "run")
        plain, drawn = min(_save(folder) for _ in range(5)), _draw(folder)
        details["np.save alone, frames/s"] = round(FRAMES / plain, 1)
        details[f"drawing alone at {PIXELS[0]} × {PIXELS[1]}, frames/s"] = round(FRAMES / drawn, 2)
        for format, asked in ASKED.items():
            film = "size" in FORMATS[format].options
            seconds = min(_export(folder, format) for _ in range(1 if film else 5))
            against, name = (drawn, "drawing's") if film else (plain, "np.save's")
            figures.append(Figure(f"{format}, seconds / {name}", seconds / against, asked, "lower"))
            details[f"{format}, frames/s"] = round(FRAMES / seconds, 2)
    return figures, details


def _record(folder: Path) -> None:
    scene = scene_from_dict(SCENE, Path())
    geometry = load_geometry(scene, Path())
    store = RunStore.create(folder, scene_to_dict(scene), geometry, RunSpec("", "done", 1, 0, ()))
    mesh, starts = concatenate([*geometry.shells, *geometry.solids])
    body = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32)
    store.begin_level(0, mesh.triangles, body, len(geometry.shells), uv=mesh.uv)
    start = np.concatenate([*geometry.shell_positions, *(solid.X for solid in geometry.solids)])
    for number in range(FRAMES):
        x = start.copy()
        cloth, ball = body == 0, body == 1
        x[cloth, 2] += 0.05 * np.sin(20.0 * start[cloth, 0] + 7.0 * start[cloth, 1] + 0.5 * number)
        x[ball, 2] += 0.01 * number
        store.write_frame(0, number, x)


def _save(folder: Path) -> float:
    """Seconds of reading the frames and writing them again as they are."""
    recording, began = open_recording(folder / "run"), time.perf_counter()
    for number in recording.numbers:
        np.save(folder / f"plain-{number}.npy", recording.positions(number))
    return time.perf_counter() - began


def _draw(folder: Path) -> float:
    """Seconds of drawing the frames as a film has them, once the kernels are loaded."""
    recording = open_recording(folder / "run")
    stage, (camera, reach) = recording.stage, watch([recording], PIXELS)
    bodies = [stage.show(recording.positions(number)) for number in recording.numbers]
    draw(bodies[0], size=PIXELS, camera=camera, grounds=stage.grounds, reach=reach)
    began = time.perf_counter()
    for each in bodies:
        draw(each, size=PIXELS, camera=camera, grounds=stage.grounds, reach=reach)
    return time.perf_counter() - began


def _export(folder: Path, format: str) -> float:
    suffix = next(iter(FORMATS[format].suffixes), "")
    known: dict[str, Any] = {"animated": True, "size": PIXELS}
    options = {key: value for key, value in known.items() if key in FORMATS[format].options}
    began = time.perf_counter()
    export_run(folder / "run", folder / f"{format}{suffix}", format=format, **options)
    return time.perf_counter() - began
