"""Stanford PLY: ASCII and binary reading, binary writing."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plisse.core.arrays import Bytes, Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.core.mesh import by_vertex
from plisse.meshes.polygons import Polygons

SCALARS = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}
# struct's letters for numpy's types
LETTERS = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}
INDICES = ("vertex_indices", "vertex_index")
# Texture coordinates: of vertices, by the names that programs give them, and of a face's corners in a row.
UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
CORNER_UV = "texcoord"


class Damage(Exception):
    """A file does not hold what its header says; the message is the end of a sentence."""


@dataclass
class Element:
    """One element of the header; a property is (name, type) or, for lists, (name, type, count type)."""

    name: str
    count: int
    properties: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def has_lists(self) -> bool:
        return any(len(entry) == 3 for entry in self.properties)


@dataclass
class Lists:
    """A list property: all values in a row (c,), and where each row's begin (k + 1,)."""

    values: npt.NDArray[Any]
    starts: Longs


def write_ply(
    path: Path,
    x: Floats,
    triangles: Ints,
    *,
    colors: Bytes | None = None,
    uv: Floats | None = None,
    comment: str = "",
    faces: Mapping[str, Floats] | None = None,
    vertices: Mapping[str, Floats] | None = None,
) -> None:
    """Binary little-endian file of positions [m] (n, 3) in float64 and triangles (m, 3) in int32.

    colors: red, green and blue of each triangle, shape (m, 3), uint8. uv: texture coordinates of the triangles'
    corners, shape (m, 3, 2), or of the vertices, (n, 2), NaN where there are none. They become the vertices' s and t in
    float64, or where a vertex has several, the faces' list texcoord, which is float32 by custom. comment: what the
    header says, on one line. faces, vertices: further numbers by name, shape (m,) and (n,), as float32 and float64.
    """
    fields: list[Any] = [("count", "u1"), ("indices", "<i4", 3)]
    of_vertices = by_vertex(triangles, uv, len(x)) if uv is not None and uv.ndim == 3 else uv
    points = dict(zip("xyz", x.T, strict=True))
    if of_vertices is not None:
        points |= {"s": of_vertices[:, 0], "t": of_vertices[:, 1]}
    points |= vertices or {}
    said = f"comment {' '.join(comment.split())}\n" if comment else ""
    header = (
        f"ply\nformat binary_little_endian 1.0\n{said}"
        f"element vertex {len(x)}\n"
        + "".join(f"property double {name}\n" for name in points)
        + f"element face {len(triangles)}\nproperty list uchar int vertex_indices\n"
    )
    values: dict[str, Any] = {"count": 3, "indices": triangles}
    if uv is not None and of_vertices is None:
        header += f"property list uchar float {CORNER_UV}\n"
        fields += [("uv count", "u1"), ("uv", "<f4", 6)]
        values |= {"uv count": 6, "uv": uv.reshape(-1, 6)}
    if colors is not None:
        header += "property uchar red\nproperty uchar green\nproperty uchar blue\n"
        fields.append(("colors", "u1", 3))
        values["colors"] = colors
    for name, column in (faces or {}).items():
        header += f"property float {name}\n"
        fields.append((name, "<f4"))
        values[name] = column
    rows = np.empty(len(triangles), dtype=fields)
    for name, value in values.items():
        rows[name] = value
    with open(path, "wb") as file:
        file.write(f"{header}end_header\n".encode("ascii", "replace"))
        file.write(np.ascontiguousarray(np.column_stack(list(points.values())), dtype="<f8").tobytes())
        file.write(rows.tobytes())


def read_ply_polygons(path: Path) -> Polygons:
    """Vertices, with their further numbers, and faces with texture coordinates; other elements are skipped."""
    data = path.read_bytes()
    order, elements, at = _read_header(data, path)
    names = [element.name for element in elements]
    try:
        if "vertex" not in names:
            raise Damage("it has no vertices")
        read: Any = _Text(data[at:]) if order == "=" else _Binary(data, at, order)
        found: dict[str, dict[str, Any]] = {}
        # what follows the faces is of no use and need not be whole
        for element in elements[: 1 + max(names.index(name) for name in ("vertex", "face") if name in names)]:
            if element.count * len(element.properties) > read.left:
                raise Damage(f"it is cut off, or its header promises too much ({element.count} of {element.name})")
            found[element.name] = read.lists(element) if element.has_lists else read.table(element)
        missing = [axis for axis in "xyz" if not isinstance(found["vertex"].get(axis), np.ndarray)]
        if missing:
            raise Damage(f"its vertices have no number {missing[0]}")
        X = np.column_stack([found["vertex"][axis] for axis in "xyz"]).astype(np.float64)
        attributes = _attributes(elements[names.index("vertex")], found["vertex"])
        face = found.get("face", {})
        rings = next((face[key] for key in INDICES if isinstance(face.get(key), Lists)), None)
        if face and rings is None:
            raise Damage("its faces have no list vertex_indices")
    except Damage as damage:
        raise SceneError(f"{path} cannot be read: {damage}; export it again.") from None
    if rings is None:
        return Polygons(X, np.zeros(0, np.int64), np.zeros(1, np.int64), attributes=attributes)
    with np.errstate(invalid="ignore"):
        corners = rings.values.astype(np.int64)
    uv = _find_uv(found["vertex"], face, corners, rings.starts)
    return Polygons(X, corners, rings.starts, attributes=attributes, uv=uv)


def _attributes(vertex: Element, columns: dict[str, Any]) -> dict[str, Floats]:
    """What vertices have beside their places; colours, 0 to 255 in bytes, become 0 to 1."""
    out: dict[str, Floats] = {}
    known = {"x", "y", "z", *(name for names in UV_NAMES for name in names)}
    for name, kind in (entry for entry in vertex.properties if len(entry) == 2 and entry[0] not in known):
        with np.errstate(invalid="ignore"):
            values = columns[name].astype(np.float64)
            # a byte may also be a plain 0 or 1
            out[name] = values / 255.0 if kind == "u1" and values.max(initial=0.0) > 1.0 else values
    return out


def _find_uv(vertex: dict[str, Any], face: dict[str, Any], corners: Longs, starts: Longs) -> Floats | None:
    """Texture coordinates of all corners (c, 2), if the file holds any."""
    wedges = face.get(CORNER_UV)
    if isinstance(wedges, Lists) and np.array_equal(wedges.starts, 2 * starts):
        return wedges.values.reshape(-1, 2).astype(np.float64)
    for names in UV_NAMES:
        columns = [column for name in names if isinstance(column := vertex.get(name), np.ndarray)]
        if len(columns) == 2:
            uv, known = np.full((len(corners), 2), np.nan), (corners >= 0) & (corners < len(vertex["x"]))
            uv[known] = np.column_stack(columns).astype(np.float64)[corners[known]]
            return uv
    return None


def _read_header(data: bytes, path: Path) -> tuple[str, list[Element], int]:
    end = data.find(b"end_header")
    stop = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end < 0 or not stop:
        raise SceneError(f"{path} cannot be read: it is not a PLY file, or its header is cut off.")
    order, elements = "", list[Element]()
    try:
        for line in data[:end].decode("ascii", errors="replace").splitlines():
            match line.split():
                case ["format", kind, _]:
                    order = ORDERS[kind]
                case ["element", name, count]:
                    if not 0 <= int(count) < 2**31:
                        raise ValueError
                    elements.append(Element(name, int(count)))
                case ["property", "list", count_type, kind, name]:
                    if SCALARS[count_type][0] == "f":
                        raise ValueError
                    elements[-1].properties.append((name, SCALARS[kind], SCALARS[count_type]))
                case ["property", kind, name]:
                    elements[-1].properties.append((name, SCALARS[kind]))
        for element in elements:
            if len({entry[0] for entry in element.properties}) < len(element.properties):
                line = f"element {element.name} with two properties of one name"
                raise ValueError
    except (KeyError, ValueError, IndexError):
        raise SceneError(f'{path} cannot be read: its header has a line "{line.strip()[:60]}".') from None
    if not order:
        raise SceneError(f"{path} cannot be read: its header names no format.")
    return order, elements, stop


class _Text:
    """Reads elements from the numbers of an ASCII body, one after the other."""

    def __init__(self, body: bytes) -> None:
        try:
            self.values = np.fromstring(body, dtype=np.float64, sep=" ") if body.strip() else np.zeros(0)
        except ValueError:
            raise Damage(f'its body has a word that is not a number, "{_first_bad_word(body)}"') from None
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.values) - self.at

    def table(self, element: Element) -> dict[str, Any]:
        width = len(element.properties)
        table = self.values[self.at : self.at + width * element.count].reshape(element.count, width)
        self.at += table.size
        return {entry[0]: table[:, k] for k, entry in enumerate(element.properties)}

    def lists(self, element: Element) -> dict[str, Any]:
        return self._uniform_lists(element) or self._mixed_lists(element)

    def _uniform_lists(self, element: Element) -> dict[str, Any]:
        """All rows at once if their lists are as long as those of the first row."""
        spans, width = list[tuple[str, int, int]](), 0
        for entry in element.properties:
            if len(entry) == 3:
                if width >= self.left or not 0 <= self.values[self.at + width] <= self.left:
                    return {}
                size, width = int(self.values[self.at + width]), width + 1
                spans.append((entry[0], width, size))
                width += size
            else:
                spans.append((entry[0], width, -1))
                width += 1
        if element.count == 0 or width * element.count > self.left:
            return {}
        table = self.values[self.at : self.at + width * element.count].reshape(element.count, width)
        if any((table[:, begin - 1] != size).any() for _, begin, size in spans if size >= 0):
            return {}
        self.at += table.size
        rows = np.arange(element.count + 1)
        return {
            name: Lists(table[:, begin : begin + size].reshape(-1), size * rows) if size >= 0 else table[:, begin]
            for name, begin, size in spans
        }

    def _mixed_lists(self, element: Element) -> dict[str, Any]:
        values, at, left = self.values, self.at, len(self.values)
        places, sizes = _no_places(element), _no_places(element)
        for _ in range(element.count):
            for entry in element.properties:
                size = 1
                if len(entry) == 3:
                    if at >= left or not 0 <= (size := values[at]) <= left or size != int(size):
                        raise Damage(f"one of its lists of {element.name} is cut off or has an impossible length")
                    size, at = int(size), at + 1
                places[entry[0]].append(at)
                sizes[entry[0]].append(size)
                at += size
        if at > left:
            raise Damage(f"it is cut off among its elements {element.name}")
        self.at = at
        return {
            entry[0]: _gather(values, places[entry[0]], sizes[entry[0]], is_list=len(entry) == 3)
            for entry in element.properties
        }


class _Binary:
    """Reads elements from a binary body, one after the other."""

    def __init__(self, data: bytes, at: int, order: str) -> None:
        self.data, self.at, self.order = data, at, order

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def table(self, element: Element) -> dict[str, Any]:
        dtype = np.dtype([(entry[0], self.order + entry[1]) for entry in element.properties])
        if dtype.itemsize * element.count > self.left:
            raise Damage(f"it is cut off among its {element.count} elements {element.name}")
        if not dtype.itemsize:
            return {}
        table = np.frombuffer(self.data, dtype, count=element.count, offset=self.at)
        self.at += table.nbytes
        return {name: table[name] for name in dtype.names or ()}

    def lists(self, element: Element) -> dict[str, Any]:
        return self._uniform_lists(element) or self._mixed_lists(element)

    def _uniform_lists(self, element: Element) -> dict[str, Any]:
        """All rows at once if their lists are as long as those of the first row, which holds for most files."""
        fields: list[Any] = []
        size, at = 0, self.at
        for entry in element.properties:
            if len(entry) == 3 and element.count:
                size = self._count(entry, at)
                at += np.dtype(entry[2]).itemsize
                fields += [(entry[0] + " count", self.order + entry[2])]
            span = size if len(entry) == 3 else 1
            at += span * np.dtype(entry[1]).itemsize
            if at > len(self.data):
                return {}
            fields.append((entry[0], self.order + entry[1], (span,)))
        dtype = np.dtype(fields)
        if element.count == 0 or dtype.itemsize * element.count > self.left:
            return {}
        table = np.frombuffer(self.data, dtype, count=element.count, offset=self.at)
        out: dict[str, Any] = {}
        for entry in element.properties:
            values = table[entry[0]]
            if len(entry) == 3:
                if not (table[entry[0] + " count"] == values.shape[1]).all():
                    return {}
                out[entry[0]] = Lists(values.reshape(-1), values.shape[1] * np.arange(element.count + 1))
            else:
                out[entry[0]] = values[:, 0]
        self.at += table.nbytes
        return out

    def _mixed_lists(self, element: Element) -> dict[str, Any]:
        at = self.at
        places, sizes = _no_places(element), _no_places(element)
        plan = [
            (entry, np.dtype(entry[1]).itemsize, np.dtype(entry[2]).itemsize if len(entry) == 3 else 0)
            for entry in element.properties
        ]
        for _ in range(element.count):
            for entry, item, count_item in plan:
                size = self._count(entry, at) if count_item else 1
                at += count_item
                places[entry[0]].append(at)
                sizes[entry[0]].append(size)
                at += size * item
            if at > len(self.data):
                raise Damage(f"it is cut off among its {element.count} elements {element.name}")
        body = np.frombuffer(self.data, dtype=np.uint8)
        out = {}
        for entry, item, count_item in plan:
            at_bytes = _gather(body, places[entry[0]], [size * item for size in sizes[entry[0]]], is_list=True)
            values = at_bytes.values.view(self.order + entry[1])
            out[entry[0]] = Lists(values, at_bytes.starts // item) if count_item else values
        self.at = at
        return out

    def _count(self, entry: tuple[str, ...], at: int) -> int:
        try:
            size = int(struct.unpack_from(self.order + LETTERS[entry[2]], self.data, at)[0])
        except struct.error:
            raise Damage("it is cut off") from None
        if size < 0:
            raise Damage("one of its lists has a negative length")
        return size


def _no_places(element: Element) -> dict[str, list[int]]:
    return {entry[0]: [] for entry in element.properties}


def _gather(values: npt.NDArray[Any], places: list[int], sizes: list[int], *, is_list: bool) -> Any:
    """The values at these places, so many each, put in a row."""
    lengths = np.array(sizes, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    where = np.repeat(np.array(places, dtype=np.int64) - starts[:-1], lengths) + np.arange(starts[-1])
    return Lists(values[where], starts) if is_list else values[where]


def _first_bad_word(body: bytes) -> str:
    for word in body.split():
        try:
            float(word)
        except ValueError:
            return word[:40].decode("ascii", errors="replace")
    return ""
