"""Where a surface comes from, and how it is placed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats
from plisse.scene.schedule import rotation


@dataclass(frozen=True)
class MeshSource:
    """Either a mesh file, relative to the scene, or a generated shape with its parameters."""

    file: str | None = None
    shape: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.file is None) == (self.shape is None):
            raise SceneError("A body needs a mesh: give either file or shape, and not both.")
        word = self.file if self.shape is None else self.shape
        if not isinstance(word, str) or not word:
            raise SceneError(f"file and shape must be words, not {word!r}.")
        if self.file is not None and self.parameters:
            raise SceneError(f'A mesh from a file takes no parameter "{next(iter(self.parameters))}": remove it.')


def place_points(X: Floats, *, translate: Sequence[float], rotate: Sequence[float]) -> Floats:
    """x = R X + T: rotate [degrees] about the own origin, then translate [m]; X and result (n, 3)."""
    return np.ascontiguousarray(X @ rotation(rotate).T + np.asarray(translate, dtype=np.float64))
