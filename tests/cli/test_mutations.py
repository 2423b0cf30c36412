"""Damaged scene files and meshes: `plisse check` ends well or with one sentence, soon, whatever is in the file."""

import io
import json
import math
import re
import resource
import struct
import time
import tomllib
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plisse.cli import main
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.stl import write_stl
from plisse.shapes.catalogue import grid

SECONDS, BYTES = 2.0, 500e6  # what a case may take, of processor time and of memory
LONGEST = 1500  # characters of a sentence, paths included

Draw = Callable[[Any], Any]
Mutation = Callable[[Draw, bytes], bytes]


def look(path: Path) -> str:
    """What `plisse check` says on stderr of a file; anything but success or one sentence fails."""
    out, err = io.StringIO(), io.StringIO()
    size, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        # a warning would be a second line
        warnings.simplefilter("error", RuntimeWarning)
        code = main(["check", str(path)])
    said = err.getvalue()
    assert time.process_time() - began < SECONDS
    # ru_maxrss is in kilobytes
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size) * 1024 < BYTES
    if code == 0:
        assert said == "" and out.getvalue().startswith(f"{path}: can be ")
    else:
        assert code == 2 and out.getvalue() == ""
        assert said.startswith("plisse: ") and said.endswith(".\n") and said.count("\n") == 1, said
        assert len(said) < LONGEST, said
    return said


def try_cases(cases: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Settings with so many cases, the same ones each time."""
    return settings(
        max_examples=cases, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )


# --- bytes ------------------------------------------------------------------------------------------------------------

NUMBERS = ["nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e30", "-1", "0", "0.5", "3", "", "99999999",
           "2147483648", "-9223372036854775809", '""', "true", "[]", "{}", "1_0", "0x10", "1e", "²"]  # fmt: skip


def place(draw: Draw, text: bytes) -> int:
    return int(draw(st.integers(0, max(0, len(text) - 1))))


def flip(draw: Draw, text: bytes) -> bytes:
    at = place(draw, text)
    return text[:at] + bytes([text[at] ^ (1 << draw(st.integers(0, 7)))]) + text[at + 1 :] if text else text


def delete(draw: Draw, text: bytes) -> bytes:
    at = place(draw, text)
    return text[:at] + text[at + draw(st.integers(1, 20)) :]


def insert(draw: Draw, text: bytes) -> bytes:
    at = place(draw, text)
    return text[:at] + draw(st.binary(min_size=1, max_size=6)) + text[at:]


def insert_text(draw: Draw, text: bytes) -> bytes:
    at = place(draw, text)
    word = draw(st.sampled_from(["[", "]", "{", "}", "=", ",", ".", '"', "#", "\n", "\\", "-", "e", "ü", "0", "shell"]))
    return text[:at] + word.encode() + text[at:]


def cut_off(draw: Draw, text: bytes) -> bytes:
    return text[: place(draw, text)]


def repeat_line(draw: Draw, text: bytes) -> bytes:
    lines = text.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    return b"\n".join([*lines[:at], lines[at], *lines[at:]])


def swap_lines(draw: Draw, text: bytes) -> bytes:
    lines = text.split(b"\n")
    i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def replace_number(draw: Draw, text: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", text))
    if not found:
        return text
    match = found[draw(st.integers(0, len(found) - 1))]
    return text[: match.start()] + draw(st.sampled_from(NUMBERS)).encode() + text[match.end() :]


def rename_word(draw: Draw, text: bytes) -> bytes:
    found = list(re.finditer(rb"[A-Za-z_]{2,}", text))
    if not found:
        return text
    match, other = (found[draw(st.integers(0, len(found) - 1))] for _ in range(2))
    return text[: match.start()] + other.group() + text[match.end() :]


def overwrite_word(draw: Draw, text: bytes) -> bytes:
    """Four bytes of a binary file as a number that is out of place."""
    at = place(draw, text)
    word = draw(st.sampled_from([b"\xff" * 4, bytes(4), struct.pack("<f", math.nan), struct.pack("<i", 10**9)]))
    return text[:at] + word + text[at + 4 :]


ON_LINES = [cut_off, repeat_line, swap_lines, replace_number, rename_word]
ON_BYTES = [flip, delete, insert, overwrite_word, *ON_LINES]
# what leaves a scene readable finds more than what does not
ON_TEXT = [flip, delete, insert_text, *ON_LINES, replace_number, replace_number, rename_word]


@st.composite
def damaged(draw: Draw, seeds: dict[str, bytes], ways: list[Mutation]) -> tuple[str, bytes]:
    """The name of a seed, and its bytes after some mutations."""
    name = draw(st.sampled_from(sorted(seeds)))
    text = seeds[name]
    for mutate in draw(st.lists(st.sampled_from(ways), min_size=1, max_size=3)):
        text = mutate(draw, text)
    return name, text


# --- scenes -----------------------------------------------------------------------------------------------------------

SCENES = {
    "tablecloth": """
[[shell]]
name = "cloth"
shape = "grid"
width = "1.3 m"
height = "1.3 m"
vertices = 60
material = { preset = "cotton", thickness = "0.1 mm", strain_limit = 1.1 }
rest_on = "table"
[[collider]]
name = "table"
shape = "dome"
radius = "42 cm"
height = "10 cm"
vertices = 150
translate = ["0 m", "0 m", "70 cm"]
[[collider]]
name = "ground"
shape = "floor"
height = "0 m"
[contact]
friction = 0.4
dhat = "1 mm"
[hierarchy]
levels = 3
preset = "predictive"
""",
    "flag": """
seed = 3
gravity = [{ time = 0, value = [0, 0, 0] }, { time = "1 s", value = [0, 0, "-9.81 m/s2"] }]
[[shell]]
shape = "strip"
length = "90 cm"
width = "60 cm"
vertices = 40
diagonals = "alternating"
rotate = ["90 deg", "0 deg", "0 deg"]
velocity = [0, 0, -1]
spin = [0, 0, "10 rpm"]
[shell.material]
density = 100
thickness = 1e-3
E = [{ time = 0, value = "1 MPa" }, { time = 2, value = 2e6 }]
nu = 0.2
damping = "5 ms"
[[shell.pin]]
box = [["-46 cm", "-1 cm", "-1 m"], ["-44 cm", "1 cm", "2 m"]]
[[shell.pin]]
corners = true
near = [0.4, 0, 0.3]
pivot = [0, 0, 0]
[[shell.pin.motion]]
time = 1.5
translate = [-0.1, 0, 0]
rotate = "45 deg"
scale = 0.9
[wind]
velocity = [{ time = "0 s", value = ["8 m/s", 0, 0] }, { time = "1 s", value = ["30 km/h", 0, 0] }]
drag_normal = 1.1
gusts = "20 %"
gust_period = "2 s"
turbulence = 0.1
turbulence_length = "30 cm"
[time]
mode = "dynamic"
h = "20 ms"
duration = "4 s"
integrator = "bdf2"
[solver]
tol = 0.001
linear = "superlu"
""",
    "pillow": """
name = "pillow"
gravity = [0, 0, 0]
[[shell]]
shape = "box"
size = ["40 cm", "40 cm", "10 cm"]
resolution = 5
scale = [1, 1, 0.9]
pressure = { value = "60 Pa", kind = "gas" }
[[shell.pin]]
sphere = { center = [0.2, 0.2, 0.045], radius = 0.05 }
[[collider]]
half_space = { point = [0, 0, -1], normal = [0, 1, 5] }
[[collider]]
shape = "torus"
major = "7 cm"
minor = "8 mm"
around = 12
across = 6
translate = [0, 0, -0.3]
pivot = [0, 0, 0.1]
refine = true
[[collider.motion]]
time = 0.5
[[collider.motion]]
time = 2
rotate = [0, 0, 90]
[contact]
offset = "0.3 mm"
stiffness = 1000
""",
    "files": """
[[shell]]
name = "sheet"
file = "sheet.obj"
object = "patch"
up = "y"
unit = "cm"
translate = [0, 0, 1]
[[shell.pin]]
group = "hem"
[[shell.pin]]
ids = "ids.txt"
[[shell.pin]]
vertices = [0, 1]
[[collider]]
name = "walker"
sequence = "frames"
rate = "30 fps"
start = "0.1 s"
[[collider]]
file = "sheet.obj"
scale = 0.01
translate = [0, 0, -1]
""",
}


def write_files(folder: Path) -> None:
    """What the scene "files" names."""
    flat = grid(20.0, 20.0, resolution=3, diagonals="uniform")
    half = np.arange(len(flat.triangles) // 2)
    write_obj(folder / "sheet.obj", flat.X, flat.triangles, objects={"patch": half}, groups={"hem": half[:2]})
    (folder / "ids.txt").write_text("# the corner\n0, 1\n")
    (folder / "frames").mkdir()
    for number in range(3):
        x = 0.02 * flat.X + (0.0, 0.0, -0.1 * number)
        write_ply(folder / "frames" / f"{number}.ply", x, flat.triangles)


WRONG = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 1e25, -1, 0, 0.5, 99999999, 2**31, -(2**63), "", "0",
         "nan m", "1e308 m", "3 parsec", "1 kg", "-1 m", "\n", "\\", "a" * 500, True, False, [], [[]], {}, [{}],
         {"time": 0}, [{"time": 0, "value": 1}], [{"time": 0, "value": [0, 0, 1]}], [1, 2, 3], [1, 2], "auto", "cloth",
         "loop", "grid", "floor", "sphere", "cotton"]  # fmt: skip


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside of nested tables and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, part in inner for found in ((*way, key), *ways(part, (*way, key)))]


def find(data: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        data = data[key]
    return data


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return repr(value).lower() if isinstance(value, (bool, float)) else json.dumps(value)


@st.composite
def rearranged(draw: Draw) -> bytes:
    """A scene with some of its values exchanged, its keys renamed, its tables moved."""
    data = tomllib.loads(SCENES[draw(st.sampled_from(sorted(SCENES)))])
    for _ in range(draw(st.integers(1, 3))):
        paths = ways(data)
        if not paths:
            break
        *way, key = paths[draw(st.integers(0, len(paths) - 1))]
        place = find(data, tuple(way))
        other = find(data, paths[draw(st.integers(0, len(paths) - 1))])
        match draw(st.integers(0, 6)):
            case 0 | 1 | 2:
                place[key] = deepcopy(draw(st.sampled_from(WRONG)))
            case 3:
                place[key] = deepcopy(other)
            case 4:
                place[key] = [place[key]] if draw(st.booleans()) else {"value": place[key]}
            case 5:
                del place[key]
            case 6 if isinstance(place, dict):
                word = draw(
                    st.sampled_from([f"{key}s", str(key)[:-1] or "x", "value", "time", "a\nb", "shape", "file"])
                )
                place[word] = place.pop(key)
    return "\n".join(f"{json.dumps(key)} = {as_toml(part)}" for key, part in data.items()).encode()


def check_scene(folder: Path, text: bytes) -> None:
    path = folder / "scene.toml"
    path.write_bytes(text)
    look(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mutations")
    write_files(made)
    # kernels are loaded, and pictures of intersections go to the working folder
    for name, text in SCENES.items():
        (made / f"{name}.toml").write_text(text)
        assert main(["check", str(made / f"{name}.toml")]) == 0, name
    return made


@pytest.fixture(autouse=True)
def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


BYTES_OF_SCENES = {name: text.encode() for name, text in SCENES.items()}


@try_cases(20)
@given(damaged(BYTES_OF_SCENES, ON_TEXT))
def test_some_damaged_scenes(folder: Path, case: tuple[str, bytes]) -> None:
    check_scene(folder, case[1])


@try_cases(20)
@given(rearranged())
def test_some_rearranged_scenes(folder: Path, text: bytes) -> None:
    check_scene(folder, text)


@pytest.mark.slow
@try_cases(700)
@given(damaged(BYTES_OF_SCENES, ON_TEXT))
def test_many_damaged_scenes(folder: Path, case: tuple[str, bytes]) -> None:
    check_scene(folder, case[1])


@pytest.mark.slow
@try_cases(800)
@given(rearranged())
def test_many_rearranged_scenes(folder: Path, text: bytes) -> None:
    check_scene(folder, text)


# --- meshes -----------------------------------------------------------------------------------------------------------


def text_ply(X: np.ndarray, triangles: np.ndarray) -> bytes:
    lines = ["ply", "format ascii 1.0", "comment by hand", f"element vertex {len(X)}"]
    lines += [f"property double {axis}" for axis in "xyz"] + [f"element face {len(triangles)}"]
    lines += ["property list uchar int vertex_indices", "end_header"]
    lines += [" ".join(map(repr, row)) for row in X.tolist()]
    lines += [f"3 {a} {b} {c}" for a, b, c in triangles.tolist()]
    return "\n".join([*lines, ""]).encode()


def text_stl(X: np.ndarray, triangles: np.ndarray) -> bytes:
    lines = ["solid sheet"]
    for corners in X[triangles].tolist():
        lines += ["facet normal 0 0 1", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in corners)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid sheet", ""]).encode()


def text_usd(X: np.ndarray, triangles: np.ndarray) -> bytes:
    points = ", ".join(f"({x}, {y}, {z})" for x, y, z in X.tolist())
    return (
        '#usda 1.0\n(\n    metersPerUnit = 0.01\n    upAxis = "Y"\n)\ndef Mesh "sheet"\n{\n'
        f"    point3f[] points = [{points}]\n    int[] faceVertexCounts = {[3] * len(triangles)}\n"
        f"    int[] faceVertexIndices = {triangles.reshape(-1).tolist()}\n"
        '    double3 xformOp:translate = (0, 1, 0)\n    uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n'
    ).encode()


def mesh_seeds(folder: Path) -> dict[str, bytes]:
    """A sheet in every format, by the name of its file."""
    flat = grid(resolution=3)
    X, triangles = flat.X, flat.triangles
    write_obj(folder / "a.obj", X, triangles, objects={"one": np.arange(9), "two": np.arange(9, 18)})
    write_ply(folder / "a.ply", X, triangles)
    write_stl(folder / "a.stl", X, triangles)
    quads = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\ng hem\nf 1/1 2/1 3/1 -1/1\nv 2 0 0 \\\n\nv 2 1 0\nf 2 5 6 3\n"
    return {
        "lines.obj": (folder / "a.obj").read_bytes(),
        "quads.obj": quads,
        "text.ply": text_ply(X, triangles),
        "binary.ply": (folder / "a.ply").read_bytes(),
        "text.stl": text_stl(X, triangles),
        "binary.stl": (folder / "a.stl").read_bytes(),
        "text.usda": text_usd(X, triangles),
    }


@pytest.fixture(scope="module")
def seeds(folder: Path) -> dict[str, bytes]:
    made = mesh_seeds(folder)
    for name, content in made.items():
        (folder / name).write_bytes(content)
        assert main(["check", str(folder / name)]) == 0, name
    return made


def check_mesh(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    look(folder / name)


def try_meshes(folder: Path, seeds: dict[str, bytes], cases: int) -> None:
    @try_cases(cases)
    @given(damaged(seeds, ON_BYTES))
    def each(case: tuple[str, bytes]) -> None:
        check_mesh(folder, *case)

    each()


def test_some_damaged_meshes(folder: Path, seeds: dict[str, bytes]) -> None:
    try_meshes(folder, seeds, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["lines.obj", "quads.obj", "text.ply", "binary.ply", "text.stl", "binary.stl", "text.usda"]
)
def test_many_damaged_meshes(folder: Path, seeds: dict[str, bytes], name: str) -> None:
    try_meshes(folder, {name: seeds[name]}, 150)
