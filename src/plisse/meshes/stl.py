"""STL: triangles without connectivity, ASCII and binary; corners at exactly the same place become one vertex."""

from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.meshes.polygons import Polygons
from plisse.meshes.words import split_text

# After 80 bytes of free text and the number of facets: normal, corners, and two bytes that mean nothing.
FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84


def read_stl_polygons(path: Path) -> Polygons:
    """Merged vertices in the order of their first appearance, and facets, both counted from 1."""
    data = path.read_bytes()
    promised = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else 0
    fits = len(data) == HEADER + FACET.itemsize * promised
    # binary files may begin with "solid" as well, so their size decides
    if data[:512].lstrip().lower().startswith(b"solid") and not (fits and promised) and b"\0" not in data[HEADER:]:
        corners = _read_text(data, path)
    elif len(data) < HEADER:
        raise SceneError(f"{path} cannot be read: it is not an STL file or cut off within its header; export it again.")
    elif len(data) < HEADER + FACET.itemsize * promised:
        held = (len(data) - HEADER) // FACET.itemsize
        raise SceneError(
            f"{path} cannot be read: it promises {promised} facets and holds {held}, so it is cut off or not an STL "
            "file; export it again."
        )
    else:
        corners = np.frombuffer(data, FACET, count=promised, offset=HEADER)["corners"].astype(np.float64)
    X, rings = merge_points(corners.reshape(-1, 3))
    notes = (f"holds {len(rings)} separate corners; those at exactly the same place became {len(X)} vertices",)
    return Polygons(X, rings, 3 * np.arange(len(rings) // 3 + 1), first=1, notes=notes if len(rings) else ())


def write_stl(path: Path, x: Floats, triangles: Ints) -> None:
    """Binary file of positions (n, 3), rounded to float32, and triangles (m, 3)."""
    corners = x[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    facets = np.zeros(len(triangles), dtype=FACET)
    facets["normal"] = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    facets["corners"] = corners
    path.write_bytes(bytes(80) + len(triangles).to_bytes(4, "little") + facets.tobytes())


def merge_points(x: Floats) -> tuple[Floats, Longs]:
    """The different points among x (k, 3), by first appearance (n, 3), and the one that each point is, (k,)."""
    x = x + 0.0  # −0 and 0 are the same place
    order = np.lexsort(x.T)
    new = np.ones(len(x), dtype=bool)
    new[1:] = (x[order[1:]] != x[order[:-1]]).any(axis=1)
    # lexsort is stable: the first of equal points is the earliest
    earliest = order[np.flatnonzero(new)]
    rank = np.empty(len(earliest), dtype=np.int64)
    rank[np.argsort(earliest)] = np.arange(len(earliest))
    merged = np.empty(len(x), dtype=np.int64)
    merged[order] = rank[np.cumsum(new) - 1]
    return np.ascontiguousarray(x[np.sort(earliest)]), merged


def _read_text(data: bytes, path: Path) -> Floats:
    """Corners of an ASCII file in a row, shape (3m, 3)."""
    parts, facets = [np.zeros((0, 3))], 0
    ended = False
    for words, first in split_text(data):
        on_vertex, on_facet, on_end = words.keywords(b"vertex", b"endfacet", b"endsolid")
        values, counts, bad = words.numbers(on_vertex, most=3)
        if bad is None and len(short := np.flatnonzero(counts != 3)):
            bad = int(on_vertex[short[0]])
        if bad is not None:
            text = b" ".join(words.text(bad))[:60].decode("utf-8", errors="replace")
            raise SceneError(f'{path} cannot be read: line {first + bad} is "{text}", but needs three numbers.')
        parts.append(values.reshape(-1, 3))
        facets += len(on_facet)
        ended |= len(on_end) > 0
    corners = np.concatenate(parts)
    if not ended or len(corners) != 3 * facets:
        raise SceneError(
            f"{path} cannot be read: it is cut off or has facets that are not triangles ({len(corners)} corners "
            f"in {facets} whole facets); export it again."
        )
    return corners
