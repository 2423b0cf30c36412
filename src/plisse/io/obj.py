"""Wavefront OBJ: positions and faces; everything else in the file is skipped."""

from pathlib import Path

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints


def read_obj(path: Path) -> tuple[Floats, Ints]:
    """Positions in file units, shape (n, 3), and triangles, shape (m, 3); polygons become fans."""
    points: list[tuple[str, ...]] = []
    triangles: list[tuple[int, int, int]] = []
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        try:
            if line.startswith(("v ", "v\t")):
                if len(words) < 4:
                    raise ValueError
                points.append(tuple(words[1:4]))
            elif line.startswith(("f ", "f\t")):
                if len(words) < 4:
                    raise ValueError
                # indices count from one, or backwards from the latest vertex; texture and normal are dropped
                face = [int(word.partition("/")[0]) for word in words[1:]]
                ring = [index - 1 if index > 0 else len(points) + index for index in face]
                triangles += [(ring[0], ring[k], ring[k + 1]) for k in range(1, len(ring) - 1)]
        except ValueError:
            raise SceneError(f'{path} cannot be read: line {number} is "{line.strip()[:60]}".') from None
    try:
        X = np.array(points, dtype=np.float64).reshape(-1, 3)
    except ValueError:
        raise SceneError(f"{path} cannot be read: one of its vertices is not made of numbers.") from None
    return X, np.array(triangles, dtype=np.int32).reshape(-1, 3)
