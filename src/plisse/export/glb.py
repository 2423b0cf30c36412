"""Binary glTF: one frame with normals, or a whole run as morph targets, y-up as the format asks."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from plisse.core.arrays import Floats, Ints, Singles
from plisse.core.errors import SceneError
from plisse.core.mesh import find_bounds
from plisse.core.version import __version__
from plisse.export.look import describe_looks, linear, to_y_up
from plisse.export.target import Progress, Summary, quiet, whole_file
from plisse.pictures.normals import corner_normals, has_creases, vertex_normals
from plisse.runs.recording import RecordedBody, Recording

# Blender shades triangles flat whose corners all have the triangle's own normal, as those of a sheet that begins flat
# do: where such a sheet will move, its normals are tilted by as little as is noticed, 0.06°.
TILT = 1e-3
# Players keep all morph targets in memory, 24 bytes a vertex and frame, in a texture layer a frame (WebGL 2: 256).
MOST_SAMPLES, MOST_FRAMES = 5_000_000, 256

FLOAT, UINT, POINTS, INDICES = 5126, 5125, 34962, 34963  # of the format


def write(
    recording: Recording, out: Path, *, animated: bool = False, floors: bool = True, progress: Progress = quiet
) -> Summary:
    """Writes .glb in metres: the last frame, or all frames as morph targets that are blended linearly.

    Frame 0 is the mesh, target k the displacement to frame k. floors: half-spaces as squares.
    """
    bodies = [*recording.bodies, *(recording.planes if floors else ())]
    note = "" if animated or len(recording) == 1 else "only the last frame; --animated writes all"
    if not animated:
        recording = recording.only(-1)
    frames, samples = len(recording), len(recording) * recording.vertices
    if animated and (samples > MOST_SAMPLES or frames > MOST_FRAMES):
        raise SceneError(
            f"{recording.vertices:,} vertices × {frames:,} frames are too many for morph targets (at most "
            f"{MOST_SAMPLES:,} in all and {MOST_FRAMES} frames): export USD, or a coarser level, or one frame as GLB."
        )
    with whole_file(out) as partial, tempfile.TemporaryFile(dir=out.parent) as binary:
        asset = Asset(binary)
        _add_bodies(asset, recording, bodies, progress)
        asset.write(partial)
        size = partial.stat().st_size
    return Summary(out, "glb", recording.level, frames, size, note)


class Asset:
    """The tables of a glTF file, and its binary part on disk."""

    def __init__(self, binary: IO[bytes]) -> None:
        self.binary, self.length = binary, 0
        self.tables: dict[str, list[dict[str, Any]]] = {"accessors": [], "bufferViews": [], "meshes": [], "nodes": []}
        self.tables |= {"materials": [], "animations": []}

    def add(self, values: npt.NDArray[Any], kind: str, *, target: int | None = None) -> int:
        """Adds an array and says its number; kind is SCALAR, VEC2 or VEC3."""
        # the bounds of positions and of times are mandatory
        low, high = find_bounds(values.reshape(len(values), -1))
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.length, "byteLength": values.nbytes}
        self.tables["bufferViews"].append(view if target is None else view | {"target": target})
        self.tables["accessors"].append(
            {
                "bufferView": len(self.tables["bufferViews"]) - 1,
                "componentType": FLOAT if values.dtype == np.float32 else UINT,
                "count": len(values),
                "type": kind,
                "min": low.tolist(),
                "max": high.tolist(),
            }
        )
        self.binary.write(values.tobytes())
        self.length += values.nbytes  # all values have four bytes: what follows is aligned
        return len(self.tables["accessors"]) - 1

    def write(self, path: Path) -> None:
        """Header, JSON and binary part, each padded to four bytes."""
        roots = list(range(len(self.tables["nodes"])))
        table = {
            "asset": {"version": "2.0", "generator": f"plisse {__version__}"},
            "scene": 0,
            "scenes": [{"nodes": roots}],
            "buffers": [{"byteLength": self.length}],
            **{key: entries for key, entries in self.tables.items() if entries},
        }
        text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + self.length
        if total >= 1 << 32:
            raise SceneError("The frame is too large for GLB, whose limit is 4 GB: export USD.")
        with path.open("wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, total))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", self.length, b"BIN\0"))
            self.binary.seek(0)
            shutil.copyfileobj(self.binary, file, 1 << 20)


class Surface:
    """One body as glTF has it: a normal belongs to a vertex, so vertices are doubled where edges are sharp."""

    def __init__(self, body: RecordedBody, x: Floats, *, moves: bool) -> None:
        self.body = body
        self.split = not body.is_shell and has_creases(x, body.triangles)
        # the body's vertex that each vertex of the file is, and its texture coordinates, whose v points down here
        self.rows, self.triangles, self.uv = split_seams(body, len(x))
        if self.split:
            self.triangles = np.arange(body.triangles.size, dtype=np.int32).reshape(-1, 3)
            self.uv = None if body.uv is None else body.uv.reshape(-1, 2)
        self.first = x.copy()
        self.points, self.normals = self.shape(x)
        if moves and body.is_shell:
            self.normals = _tilt(self.normals)

    def shape(self, x: Floats) -> tuple[Singles, Singles]:
        """Positions [m] and normals in the file's axes, shape (n, 3) each."""
        if self.split:
            corners = x[self.body.triangles], corner_normals(x, self.body.triangles)
            return to_y_up(corners[0].reshape(-1, 3)), to_y_up(corners[1].reshape(-1, 3))
        return to_y_up(x[self.rows]), to_y_up(vertex_normals(x, self.body.triangles)[self.rows])


def split_seams(body: RecordedBody, n: int) -> tuple[Ints, Ints, Floats | None]:
    """Vertices (k,), one for each of the n vertices and each of its texture coordinates, triangles of them, and uv."""
    if body.uv is None:
        return np.arange(n, dtype=np.int32), body.triangles, None
    corners = np.column_stack([body.triangles.ravel(), body.uv.reshape(-1, 2)])
    different, which = np.unique(corners, axis=0, return_inverse=True)
    return different[:, 0].astype(np.int32), which.reshape(-1, 3).astype(np.int32), different[:, 1:]


def _tilt(normals: Singles) -> Singles:
    """Unit normals (n, 3), each turned a little about some axis."""
    aside = np.cross(normals, np.where(np.abs(normals[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    tilted = normals + TILT * aside / np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-30)
    length = np.linalg.norm(tilted, axis=1, keepdims=True)
    return (tilted / np.maximum(length, 1e-30)).astype(np.float32)


def _add_bodies(asset: Asset, recording: Recording, bodies: Sequence[RecordedBody], progress: Progress) -> None:
    moves = len(recording) > 1
    surfaces = [Surface(body, x, moves=moves) for body, x in zip(bodies, recording.places(0, bodies), strict=True)]
    materials: dict[Any, int] = {}
    for body, look, surface in zip(bodies, describe_looks(bodies), surfaces, strict=True):
        if (look.key, look.color) not in materials:
            materials[look.key, look.color] = len(asset.tables["materials"])
            color = [*linear(look.color), 1.0]
            shine = {"baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.8}
            asset.tables["materials"].append(
                {"name": look.material, "pbrMetallicRoughness": shine, "doubleSided": body.is_shell}
            )
        primitive: dict[str, Any] = {
            "attributes": {
                "POSITION": asset.add(surface.points, "VEC3", target=POINTS),
                "NORMAL": asset.add(surface.normals, "VEC3", target=POINTS),
            },
            "indices": asset.add(surface.triangles.astype(np.uint32).ravel(), "SCALAR", target=INDICES),
            "material": materials[look.key, look.color],
        }
        if surface.uv is not None:
            uv = np.column_stack([surface.uv[:, 0], 1.0 - surface.uv[:, 1]]).astype(np.float32)
            primitive["attributes"]["TEXCOORD_0"] = asset.add(uv, "VEC2", target=POINTS)
        asset.tables["meshes"].append({"name": body.name, "primitives": [primitive]})
        asset.tables["nodes"].append({"name": body.name, "mesh": len(asset.tables["meshes"]) - 1})
    progress(1, len(recording))
    if len(recording) == 1:
        return
    targets: list[dict[int, dict[str, int]]] = [{} for _ in bodies]
    for index in range(1, len(recording)):
        for surface, own, x in zip(surfaces, targets, recording.places(index, bodies), strict=True):
            if np.array_equal(x, surface.first):
                continue  # weights of zero show the first frame
            points, normals = surface.shape(x)
            own[index] = {
                "POSITION": asset.add(points - surface.points, "VEC3", target=POINTS),
                "NORMAL": asset.add(normals - surface.normals, "VEC3", target=POINTS),
            }
        progress(index + 1, len(recording))
    _animate(asset, recording, targets)


def _animate(asset: Asset, recording: Recording, targets: Sequence[dict[int, dict[str, int]]]) -> None:
    """Weights over time: at each frame the weight of its own target is one, of all others zero."""
    times = asset.add((recording.times - recording.times[0]).astype(np.float32), "SCALAR")
    channels, samplers = [], []
    for number, own in enumerate(targets):
        if not own:
            continue
        mesh = asset.tables["meshes"][number]
        mesh["primitives"][0]["targets"] = list(own.values())
        mesh["weights"] = [0.0] * len(own)
        weights = np.zeros((len(recording), len(own)), np.float32)
        weights[list(own), np.arange(len(own))] = 1.0
        samplers.append({"input": times, "output": asset.add(weights.ravel(), "SCALAR"), "interpolation": "LINEAR"})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": number, "path": "weights"}})
    if channels:
        asset.tables["animations"].append({"name": recording.name, "channels": channels, "samplers": samplers})
