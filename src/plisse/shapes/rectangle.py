"""Rectangles cut into triangles."""

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.shapes.parameters import check_vertices
from plisse.shapes.patches import ROW, checkerboard, cut_cells, scatter, triangle_rows

# Interior vertices of a jittered grid move by at most this part of a cell in x and in y. Any triangle of a
# cell keeps at least 1 − 4·JITTER of its area, so that nothing inverts.
JITTER = 0.2
DIAGONALS = ("alternating", "delaunay", "equilateral", "jittered", "uniform")


def fill_rectangle(
    shape: str,
    size: tuple[float, float],
    resolution: int | tuple[int, int] | None,
    vertices: int | None,
    diagonals: str,
    seed: int,
) -> Mesh:
    width, height = size
    nx, ny = _count_cells(shape, width, height, resolution, vertices, row=ROW if diagonals == "equilateral" else 1.0)
    check_vertices(shape, (nx + 1.0) * (ny + 1.0), asked=True)
    if diagonals == "equilateral":
        return triangle_rows(width, height, nx, ny)

    X = np.zeros((ny + 1, nx + 1, 3))
    X[..., 0] = width * (np.arange(nx + 1) / nx - 0.5)
    X[..., 1] = height * (np.arange(ny + 1) / ny - 0.5)[:, None]
    if diagonals == "delaunay":
        return scatter(X, seed)
    if diagonals == "jittered":
        draws = np.random.default_rng(seed).uniform(-JITTER, JITTER, size=(ny + 1, nx + 1, 2))
        X[1:-1, 1:-1, :2] += draws[1:-1, 1:-1] * (width / nx, height / ny)
        falling = np.linalg.norm(X[:-1, 1:] - X[1:, :-1], axis=2) < np.linalg.norm(X[:-1, :-1] - X[1:, 1:], axis=2)
    else:
        falling = checkerboard(ny, nx) if diagonals == "alternating" else np.zeros((ny, nx), dtype=bool)
    index = np.arange((ny + 1) * (nx + 1)).reshape(ny + 1, nx + 1)
    return Mesh(X.reshape(-1, 3), cut_cells(index, falling))


def _count_cells(
    shape: str,
    width: float,
    height: float,
    resolution: int | tuple[int, int] | None,
    vertices: int | None,
    *,
    row: float,
) -> tuple[int, int]:
    """Cells in x and in y; `row`: wanted height of a cell over its width."""
    if resolution is not None and vertices is not None:
        raise SceneError(f"A {shape} takes either resolution or vertices: remove one of them.")
    if resolution is None:
        count = 1600 if vertices is None else vertices
        across = max(2, round((count * width * row / height) ** 0.5))
        # every other row of triangles has one more vertex
        in_row = across if row == 1.0 else across + 0.5
        return across - 1, max(2, round(count / in_row)) - 1
    if isinstance(resolution, tuple):
        return resolution
    edge = max(width, height / row) / resolution
    return max(1, round(width / edge)), max(1, round(height / (row * edge)))
