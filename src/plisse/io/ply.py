"""Stanford PLY: ASCII and binary reading, binary writing."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints

SCALARS = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}


@dataclass
class Element:
    """One element of the header; a property is (name, type) or, for lists, (name, type, count type)."""

    name: str
    count: int
    properties: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def has_lists(self) -> bool:
        return any(len(entry) == 3 for entry in self.properties)


def write_ply(path: Path, x: Floats, triangles: Ints) -> None:
    """Binary little-endian file of positions [m] (n, 3) in float64 and triangles (m, 3) in int32."""
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(x)}\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(len(triangles), dtype=[("count", "u1"), ("indices", "<i4", 3)])
    faces["count"] = 3
    faces["indices"] = triangles
    with open(path, "wb") as file:
        file.write(header.encode("ascii"))
        file.write(np.ascontiguousarray(x, dtype="<f8").tobytes())
        file.write(faces.tobytes())


def read_ply(path: Path) -> tuple[Floats, Ints]:
    """Positions in file units, shape (n, 3), and triangles, shape (m, 3); polygons become fans."""
    data = path.read_bytes()
    order, elements, start = _read_header(data, path)
    body: Any = data[start:].split() if order == "=" else data
    read = _read_ascii if order == "=" else _read_binary
    at = 0 if order == "=" else start
    found: dict[str, dict[str, Any]] = {}
    try:
        for element in elements:
            found[element.name], at = read(body, at, element, order)
        vertex, face = found["vertex"], found.get("face", {})
        X = np.column_stack([vertex[axis] for axis in "xyz"]).astype(np.float64)
        polygons = face.get("vertex_indices", face.get("vertex_index", np.zeros((0, 3))))
        return X, _make_fans(polygons)
    except (ValueError, IndexError, KeyError, TypeError):
        raise SceneError(f"{path} cannot be read: its content is cut off or does not match its header.") from None


def _read_header(data: bytes, path: Path) -> tuple[str, list[Element], int]:
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise SceneError(f"{path} cannot be read: it is not a PLY file.")
    order, elements = "", list[Element]()
    try:
        for line in data[:end].decode("ascii", errors="replace").splitlines():
            match line.split():
                case ["format", kind, _]:
                    order = ORDERS[kind]
                case ["element", name, count]:
                    elements.append(Element(name, int(count)))
                case ["property", "list", count_type, kind, name]:
                    elements[-1].properties.append((name, SCALARS[kind], SCALARS[count_type]))
                case ["property", kind, name]:
                    elements[-1].properties.append((name, SCALARS[kind]))
    except (KeyError, ValueError, IndexError):
        raise SceneError(f'{path} cannot be read: its header has a line "{line.strip()[:60]}".') from None
    if not order:
        raise SceneError(f"{path} cannot be read: its header names no format.")
    return order, elements, data.index(b"\n", end) + 1


def _read_ascii(words: list[bytes], at: int, element: Element, order: str) -> tuple[dict[str, Any], int]:
    width = len(element.properties)
    if not element.has_lists:
        end = at + width * element.count
        table = np.array(words[at:end], dtype=np.float64).reshape(element.count, width)
        return {entry[0]: table[:, k] for k, entry in enumerate(element.properties)}, end
    columns: dict[str, Any] = {entry[0]: [] for entry in element.properties}
    for _ in range(element.count):
        for entry in element.properties:
            size = int(words[at]) if len(entry) == 3 else 1
            at += len(entry) == 3
            columns[entry[0]].append([int(float(word)) for word in words[at : at + size]])
            if len(columns[entry[0]][-1]) != size:
                raise ValueError
            at += size
    return columns, at


def _read_binary(data: bytes, at: int, element: Element, order: str) -> tuple[dict[str, Any], int]:
    if not element.has_lists:
        dtype = np.dtype([(entry[0], order + entry[1]) for entry in element.properties])
        table = np.frombuffer(data, dtype, count=element.count, offset=at)
        return {name: table[name] for name in dtype.names or ()}, at + table.nbytes
    # nearly all files are triangles throughout: try that layout first, and walk face by face otherwise
    fields: list[Any] = []
    for entry in element.properties:
        if len(entry) == 3:
            fields += [(entry[0] + " count", order + entry[2]), (entry[0], order + entry[1], 3)]
        else:
            fields.append((entry[0], order + entry[1]))
    dtype = np.dtype(fields)
    if at + dtype.itemsize * element.count <= len(data):
        table = np.frombuffer(data, dtype, count=element.count, offset=at)
        if all((table[entry[0] + " count"] == 3).all() for entry in element.properties if len(entry) == 3):
            return {entry[0]: table[entry[0]] for entry in element.properties}, at + table.nbytes
    columns: dict[str, Any] = {entry[0]: [] for entry in element.properties}
    for _ in range(element.count):
        for entry in element.properties:
            size = 1
            if len(entry) == 3:
                size = int(np.frombuffer(data, order + entry[2], count=1, offset=at)[0])
                at += np.dtype(entry[2]).itemsize
            values = np.frombuffer(data, order + entry[1], count=size, offset=at)
            columns[entry[0]].append(values.tolist())
            at += values.nbytes
    return columns, at


def _make_fans(polygons: npt.NDArray[Any] | list[list[int]]) -> Ints:
    if isinstance(polygons, np.ndarray):
        return np.ascontiguousarray(polygons, dtype=np.int32)
    fans = [(ring[0], ring[k], ring[k + 1]) for ring in polygons for k in range(1, len(ring) - 1)]
    return np.array(fans, dtype=np.int32).reshape(-1, 3)
