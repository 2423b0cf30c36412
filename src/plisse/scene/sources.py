"""Where a surface comes from, and how it is placed."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.record import Record, choice, count, number, word
from plisse.core.units import length_factor
from plisse.scene.schedule import rotation

MARK = re.compile(r"\d+ vertices, \d+ triangles, sha256 [0-9a-f]{64}")


@dataclass(frozen=True)
class GivenMesh:
    """A mesh that a program gave instead of a file. A scene is written down with its mark alone: sizes and digest.

    mesh: None where the scene was read back, whose meshes are in the run folder.
    """

    mark: str
    mesh: Mesh | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, mesh: Mesh) -> "GivenMesh":
        """A copy of the mesh, so that nobody changes it meanwhile."""
        mesh = Mesh(mesh.X.copy(), mesh.triangles.copy())
        digest = hashlib.sha256(mesh.X.tobytes() + mesh.triangles.tobytes()).hexdigest()
        return cls(f"{len(mesh.X)} vertices, {len(mesh.triangles)} triangles, sha256 {digest}", mesh)

    @classmethod
    def read(cls, mark: Any) -> "GivenMesh":
        if not isinstance(mark, str) or not MARK.fullmatch(mark):
            raise SceneError("mesh must be a Mesh, which only a program can give: name a file or a shape instead.")
        return cls(mark)


@dataclass(frozen=True)
class MeshSource(Record):
    """A mesh file, a generated shape with its parameters, or a sequence of meshes; a program may give a mesh."""

    file: str | None = word(
        "mesh file, relative to the scene: OBJ, PLY, STL, or USD (an extra); polygons are triangulated",
        default=None, shown="none; give one of `file`, `shape`, `sequence`",
    )  # fmt: skip
    shape: str | None = word("generated surface, see Shapes", default=None, shown="none")
    sequence: str | None = word(
        "colliders only: folder of mesh files that share their triangles, one per frame, in the order of their names, "
        "or a USD file with time samples; vertices move linearly from frame to frame",
        default=None, shown="none",
    )  # fmt: skip
    object: str | None = word(
        "name of the object to read from a file that holds several (OBJ `o`, USD prim)",
        default=None,
        shown="all objects",
    )
    up: str = choice(
        "axis that points up in the file; `\"y\"` is rotated to the scene's z; USD files state it themselves",
        ("z", "y"), default="z",
    )  # fmt: skip
    unit: str = word('unit of length in the file, e.g. `"cm"`; USD files state it themselves', default="m")
    rate: float | None = number(
        "Hz", "frames per second of a sequence", default=None, shown="24, or the rate in the USD file", above=0
    )
    start: float = number(
        "s", "colliders only: time until which a sequence holds its first frame", default=0.0, least=0
    )
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mesh: GivenMesh | None = None

    def check(self) -> None:
        given = [name for name in ("file", "shape", "sequence", "mesh") if getattr(self, name) is not None]
        if len(given) != 1:
            raise SceneError("A body needs a mesh: give exactly one of file, shape and sequence.")
        if self.shape is None and self.parameters:
            raise SceneError(f'A mesh from a file has no parameter "{next(iter(self.parameters))}": remove it.')
        no_file = self.shape is not None or self.mesh is not None
        fresh: dict[str, Any] = {"object": None, "up": "z", "unit": "m"} if no_file else {}
        if self.sequence is None:
            fresh |= {"rate": None, "start": 0.0}
        for key, value in fresh.items():
            if getattr(self, key) != value:
                kind = "generated shape" if self.shape is not None else "mesh" if self.mesh is not None else "mesh file"
                raise SceneError(f"A {kind} has no {key}: remove it.")
        length_factor(self.unit)


@dataclass(frozen=True)
class SavedFrame(Record):
    """A frame of an earlier run that a shell starts from; a run's folder alone stands for its last frame of level 0."""

    run: str = word("folder of the run, relative to the scene")
    level: int = count("level of that run; it needs the vertices and triangles of the shell's mesh", default=0)
    frame: int = count("number of the frame; −1 is the last", default=-1, least=-1)
    shell: str | None = word("name of the shell in that run", default=None, shown="this shell's own")


def place_points(X: Floats, *, translate: Sequence[float], rotate: Sequence[float]) -> Floats:
    """x = R X + T: rotate [degrees] about the own origin, then translate [m]; X and result (n, 3)."""
    return np.ascontiguousarray(X @ rotation(rotate).T + np.asarray(translate, dtype=np.float64))
