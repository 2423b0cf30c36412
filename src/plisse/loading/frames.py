"""Frames of a run folder: read by the run itself, by exports, and by scenes that start from one."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.errors import SceneError, suggest
from plisse.core.mesh import Mesh
from plisse.scene.sources import SavedFrame

AGAIN = "run the scene again"


@dataclass(frozen=True, eq=False)
class FrameMesh:
    """What the frames of one level are of.

    triangles: of everything, shells first, shape (m, 3). body: shell or collider that each vertex belongs to, in
    order, shape (n,). shells: how many bodies are shells. uv: texture coordinates of the triangles' corners, NaN where
    there are none, shape (m, 3, 2), or None.
    """

    triangles: Ints
    body: Ints
    shells: int
    uv: Floats | None

    def rows(self, number: int) -> tuple[int, int]:
        """First row of a body in a frame, and the one after its last."""
        first, last = (int(k) for k in np.searchsorted(self.body, (number, number + 1)))
        return first, last

    def of_body(self, number: int) -> Bools:
        """Which triangles are a body's, shape (m,)."""
        return np.asarray(self.body[self.triangles[:, 0]] == number)


def find_frames(folder: Path) -> tuple[int, ...]:
    """Numbers of the frames in a level's folder, ascending."""
    names = (re.fullmatch(r"frame-(\d{4,})\.npy", path.name) for path in folder.iterdir())
    return tuple(sorted(int(name[1]) for name in names if name))


def read_frame(path: Path, *, vertices: int | None = None, remedy: str = AGAIN) -> Floats:
    """Positions [m] of all vertices, as many as there should be if that is given, (n, 3)."""
    try:
        x = np.load(path, allow_pickle=False)
        if x.ndim != 2 or x.shape != (len(x) if vertices is None else vertices, 3):
            raise ValueError(f"it holds an array of {x.shape}, not {(vertices or 'n', 3)}")
        return np.ascontiguousarray(x, dtype=np.float64)
    except (OSError, ValueError, EOFError) as error:
        raise SceneError(f"The frame {path} cannot be read ({error}): {remedy}.") from None


def read_frame_mesh(path: Path) -> FrameMesh:
    """What the frames of a level are of, from its mesh.npz."""
    try:
        with np.load(path) as stored:
            uv = stored["uv"] if "uv" in stored else None
            mesh = FrameMesh(stored["triangles"], stored["body"], int(stored["shells"]), uv)
        whole = all(array.dtype.kind in "iu" for array in (mesh.triangles, mesh.body))
        if not whole or mesh.triangles.shape[1:] != (3,) or mesh.body.ndim != 1 or (np.diff(mesh.body) < 0).any():
            raise ValueError("its arrays are not triangles and bodies")
        if mesh.triangles.size and not 0 <= mesh.triangles.min() <= mesh.triangles.max() < len(mesh.body):
            raise ValueError(f"a triangle has a vertex that is not in 0 to {len(mesh.body) - 1}")
        if uv is not None and uv.shape != (len(mesh.triangles), 3, 2):
            raise ValueError("its texture coordinates are not those of its triangles")
        return mesh
    except (OSError, ValueError, TypeError, EOFError, KeyError, BadZipFile) as error:
        raise SceneError(f"{path} cannot be read ({error}): {AGAIN}.") from None


def read_start(saved: SavedFrame, name: str, mesh: Mesh, base: Path) -> Floats:
    """Where a saved frame has a shell of this name, or of the one that it gives, and with this mesh [m], (n, 3)."""
    run, wanted = base / saved.run, saved.shell or name
    folder = run / f"level-{saved.level}"
    number = _find_shell(run, wanted)
    numbers = find_frames(folder) if os.path.isdir(folder) else ()
    if not numbers:
        raise SceneError(f"start: {run} has no frames of level {saved.level}: name a level that it has reached.")
    frame = numbers[-1] if saved.frame == -1 else saved.frame
    if frame not in numbers:
        listed = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]} alone"
        raise SceneError(f"start: {run} has no frame {frame} of level {saved.level}: it has {listed}.")
    everything = read_frame_mesh(folder / "mesh.npz")
    first, last = everything.rows(number)
    if last - first != len(mesh.X):
        raise SceneError(
            f"start: {wanted} has {last - first} vertices on level {saved.level} of {run}, but the mesh has "
            f"{len(mesh.X)}: start from a run of the same mesh, or from the level that has as many."
        )
    if not np.array_equal(everything.triangles[everything.of_body(number)] - first, mesh.triangles):
        raise SceneError(
            f"start: {wanted} has other triangles in {run} than the mesh: start from a run of the same mesh."
        )
    x = read_frame(folder / f"frame-{frame:04d}.npy", vertices=len(everything.body))[first:last]
    if not np.isfinite(x).all():
        raise SceneError(f"start: frame {frame} of {run} has positions that are not finite numbers: {AGAIN}.")
    return x.copy()


def _find_shell(run: Path, wanted: str) -> int:
    """The number of a shell by its name."""
    path = run / "scene.json"
    if not os.path.isfile(path):
        raise SceneError(f"start: {run} is not a run: name the folder of one, relative to the scene.")
    try:
        scene: Any = json.loads(path.read_text(encoding="utf-8"))
        names = [str(shell["name"]) for shell in scene["shell"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SceneError(f"start: {path} cannot be read ({error}): {AGAIN}.") from None
    if wanted not in names:
        raise SceneError(
            f'start: {run} has no shell "{wanted}"{suggest(wanted, names)}: it has {", ".join(names)}; choose one '
            'with start = { run = "…", shell = "…" }.'
        )
    return names.index(wanted)
