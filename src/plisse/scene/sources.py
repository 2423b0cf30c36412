"""Where a surface comes from, and how it is placed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats
from plisse.core.record import Record, choice, number, word
from plisse.core.units import length_factor
from plisse.scene.schedule import rotation


@dataclass(frozen=True)
class MeshSource(Record):
    """A mesh file, a generated shape with its parameters, or a sequence of meshes."""

    file: str | None = word(
        "mesh file, relative to the scene: OBJ, PLY, STL, or USD (an extra); polygons are triangulated",
        default=None, told="none; give one of `file`, `shape`, `sequence`",
    )  # fmt: skip
    shape: str | None = word("generated surface, see Shapes", default=None, told="none")
    sequence: str | None = word(
        "colliders only: folder of mesh files that share their triangles, one per frame, in the order of their names, "
        "or a USD file with time samples; vertices move linearly from frame to frame",
        default=None, told="none",
    )  # fmt: skip
    object: str | None = word(
        "name of the object to read from a file that holds several (OBJ `o`, USD prim)",
        default=None,
        told="all objects",
    )
    up: str = choice(
        "axis that points up in the file; `\"y\"` is rotated to the scene's z; USD files state it themselves",
        ("z", "y"), default="z",
    )  # fmt: skip
    unit: str = word('unit of length in the file, e.g. `"cm"`; USD files state it themselves', default="m")
    rate: float | None = number(
        "Hz", "frames per second of a sequence", default=None, told="24, or the rate in the USD file", above=0
    )
    start: float = number("s", "time until which a sequence holds its first frame", default=0.0, least=0)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        given = [name for name in ("file", "shape", "sequence") if getattr(self, name) is not None]
        if len(given) != 1:
            raise SceneError("A body needs a mesh: give exactly one of file, shape and sequence.")
        if self.shape is None and self.parameters:
            raise SceneError(f'A mesh from a file has no parameter "{next(iter(self.parameters))}": remove it.')
        fresh: dict[str, Any] = {"object": None, "up": "z", "unit": "m"} if self.shape is not None else {}
        if self.sequence is None:
            fresh |= {"rate": None, "start": 0.0}
        for key, value in fresh.items():
            if getattr(self, key) != value:
                kind = "generated shape" if self.shape is not None else "single mesh"
                raise SceneError(f"A {kind} has no {key}: remove it.")
        length_factor(self.unit)


def place_points(X: Floats, *, translate: Sequence[float], rotate: Sequence[float]) -> Floats:
    """x = R X + T: rotate [degrees] about the own origin, then translate [m]; X and result (n, 3)."""
    return np.ascontiguousarray(X @ rotation(rotate).T + np.asarray(translate, dtype=np.float64))
