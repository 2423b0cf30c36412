"""What a user can get wrong, through the command line: one sentence, exit code 2, nothing written or overwritten."""

import re
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import plisse.runs.checks
from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.shapes.catalogue import grid, make_shape

# a number that leaves its range would be told on a line of its own
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

LONGEST = 600  # characters of a sentence that is still read

SCENE = """[[shell]]
name = "cloth"
shape = "grid"
resolution = 4
material = "cotton"
[[collider]]
name = "ball"
shape = "sphere"
subdivisions = 2
"""
FILE = 'gravity = [0, 0, 0]\n[[shell]]\nname = "cloth"\nfile = "mesh.obj"\n'
SEQUENCE = (
    '[[shell]]\nname = "cloth"\nshape = "grid"\nresolution = 4\ntranslate = [0, 0, 3]\n'
    '[[collider]]\nname = "walker"\nsequence = "frames"\n'
)
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


class Desk:
    """A folder with a user's files, and the command line in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def put(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def files(self) -> dict[str, bytes | None]:
        """Every file's bytes and every folder, by name."""
        found = sorted(self.folder.rglob("*"))
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None for path in found}

    def refused(self, *arguments: str, new: Iterable[str] = ()) -> str:
        """The one sentence with which a command refuses, without its first word. new: files that it may leave."""
        before = self.files()
        self.capsys.readouterr()
        assert main(list(arguments)) == 2
        out, err = self.capsys.readouterr()
        after = self.files()
        for name in new:
            assert after.pop(name)
        assert after == before
        assert out == "" and err.count("\n") == 1 and err.startswith("plisse: ") and err.endswith(".\n"), err
        assert "Traceback" not in err and len(err) < LONGEST, err
        return err.removeprefix("plisse: ").removesuffix("\n")

    def accepted(self, *arguments: str) -> str:
        """What a command prints that succeeds and writes nothing."""
        before = self.files()
        self.capsys.readouterr()
        assert main(list(arguments)) == 0
        out, err = self.capsys.readouterr()
        assert err == "" and self.files() == before
        return out

    def check(self, *sets: str, text: str = SCENE, new: Iterable[str] = ()) -> str:
        """The sentence about a scene with some values set."""
        name = self.put("scene.toml", text)
        said = self.refused("check", name, *(word for value in sets for word in ("--set", value)), new=new)
        assert said.startswith(("scene.toml: ", "The scene scene.toml ", "The override "))
        return said


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Desk(folder, capsys)


def contains(said: str, words: Iterable[str]) -> None:
    for word in words:
        assert word in said, f"{word!r} is not in {said!r}"


def as_ply(*, x: float = 1.0, corner: int = 2, kind: str = "binary_little_endian") -> bytes:
    """One triangle."""
    head = (
        f"ply\nformat {kind} 1.0\nelement vertex 3\nproperty double x\nproperty double y\nproperty double z\n"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()
    if kind == "ascii":
        return head + f"0 0 0\n{x} 0 0\n0 1 0\n3 0 1 {corner}\n".encode()
    return head + struct.pack("<9d", 0, 0, 0, x, 0, 0, 0, 1, 0) + struct.pack("<B3i", 3, 0, 1, corner)


def as_stl(x: float = 1.0, promised: int = 1) -> bytes:
    return bytes(80) + struct.pack("<I", promised) + struct.pack("<12fH", 0, 0, 1, 0, 0, 0, x, 0, 0, 0, 1, 0, 0)


# --- meshes -----------------------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
TWO_SLIVERS = (
    "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 -0.0004 0\nv 1.0001 0.5 0\nf 1 2 3\nf 1 3 4\nf 2 1 5\nf 3 2 6\n"
)
USDA = (
    '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\ndef Mesh "quad"\n{\n'
    "    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n"
    "    int[] faceVertexCounts = [4]\n    int[] faceVertexIndices = [0, 1, 2, 3]\n}\n"
)

MESHES: dict[str, tuple[str, str | bytes, list[str]]] = {
    "no extension": ("mesh", SQUARE, ["unknown format", ".obj", ".ply", ".stl"]),
    "unknown extension": ("mesh.fbx", b"Kaydara", ["unknown format", '".fbx"', ".obj", "save"]),
    "empty obj": ("mesh.obj", "", ["no faces"]),
    "empty ply": ("mesh.ply", "", ["not a PLY file"]),
    "empty stl": ("mesh.stl", "", ["not an STL file", "export"]),
    "binary obj": ("mesh.obj", bytes(range(256)), ["not an OBJ file", "binary"]),
    "garbage ply": ("mesh.ply", bytes(range(256)), ["not a PLY file"]),
    "garbage stl": ("mesh.stl", bytes(range(256)), ["promises", "export"]),
    "garbage usd": ("mesh.usda", bytes(range(256)), ["cannot be read"]),
    "another format's content": ("mesh.ply", SQUARE, ["not a PLY file"]),
    "points only": ("mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", ["no faces, only 3 vertices", "surface mesh"]),
    "two numbers": ("mesh.obj", "v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n", ["line 2", '"v 1 0"', "three numbers"]),
    "word for a number": ("mesh.obj", "v 0 0 zero\n", ["line 1", "zero", "three numbers"]),
    "half a face": ("mesh.obj", SQUARE + "f 1 2\n", ["line 7", "three or more"]),
    "header cut off": ("mesh.ply", as_ply()[:60], ["header", "cut off"]),
    "body cut off": ("mesh.ply", as_ply()[:-20], ["cut off", "export"]),
    "word in ascii ply": ("mesh.ply", as_ply(kind="ascii").replace(b"\n3 0", b"\nx 0"), ['"x"', "a number", "export"]),
    "unknown ply type": ("mesh.ply", as_ply().replace(b"double x", b"quad x"), ["header", "quad x"]),
    "millions promised": ("mesh.ply", as_ply().replace(b"vertex 3", b"vertex 2000000000"), ["cut off", "export"]),
    "stl promises more": ("mesh.stl", as_stl(promised=4_000_000_000), ["promises 4000000000 facets and holds 1"]),
    "stl of text cut off": ("mesh.stl", "solid a\nfacet\nouter loop\nvertex 0 0 0\n", ["cut off", "export"]),
    "nan in obj": ("mesh.obj", SQUARE.replace("1 1 0", "1 nan 0"), ["not a finite number", "vertex 3", "export"]),
    "infinity in obj": ("mesh.obj", SQUARE.replace("1 1 0", "1 -inf 0"), ["not a finite number", "vertex 3", "export"]),
    "nan in ply": ("mesh.ply", as_ply(x=NAN), ["not a finite number", "vertex 1", "export"]),
    "infinity in ascii ply": ("mesh.ply", as_ply(x=INF, kind="ascii"), ["not a finite number", "vertex 1", "export"]),
    "nan in stl": ("mesh.stl", as_stl(NAN), ["not a finite number", "vertex 2", "export"]),
    "nan in usd": ("mesh.usda", USDA.replace("(1, 1, 0)", "(1, nan, 0)"), ["not a finite number", "vertex 2"]),
    "far away": ("mesh.obj", SQUARE.replace("1 1 0", "1e30 1 0"), ["beyond 1e+09 m", "vertex 3", "unit"]),
    "index beyond the last": ("mesh.obj", SQUARE + "f 2 3 9\n", ["face 3 (line 7)", "vertex 9", "1 to 4", "export"]),
    "index before the first": ("mesh.obj", SQUARE + "f 2 3 -7\n", ["face 3 (line 7)", "1 to 4", "export"]),
    "index zero": ("mesh.obj", SQUARE + "f 0 1 2\n", ["line 7", "vertex numbers"]),
    "index beyond in ply": ("mesh.ply", as_ply(corner=7), ["face 0", "vertex 7", "0 to 2", "export"]),
    "negative index in ply": ("mesh.ply", as_ply(corner=-1), ["face 0", "0 to 2", "export"]),
    "index beyond in usd": ("mesh.usda", USDA.replace("2, 3]", "2, 9]"), ["face 0 of /quad", "0 to 3", "export"]),
    "duplicated triangle": ("mesh.obj", SQUARE + "f 3 1 2\n", ["same triangle twice", "face 3", "face 1", "--repair"]),
    "many duplicates": ("mesh.obj", SQUARE + "f 3 1 2\nf 3 4 1\n", ["2 triangles that repeat", "face 3", "--repair"]),
    "corner twice": ("mesh.obj", SQUARE + "f 2 3 3\n", ["face 3 (line 7)", "corner twice", "--repair"]),
    "without area": ("mesh.obj", SQUARE + "v 0.5 0 0\nf 2 1 5\n", ["without area", "face 3", "--repair"]),
    "a point": (
        "mesh.obj", SQUARE + "v 1 0 0\nv 1 0 0\nf 2 5 6\n", ["without area", "face 3", "--repair"]
    ),
    "slivers": ("mesh.obj", TWO_SLIVERS, ["2 sliver triangles", "worst being face 4", "1.0e-04", "editor"]),
    "three triangles at an edge": (
        "mesh.obj", SQUARE + "v 0 0 1\nf 1 3 5\n", ["not a manifold", "vertex 1 and vertex 3", "split or remove"]
    ),
    "faces turned over": ("mesh.obj", SQUARE.replace("f 1 3 4", "f 1 4 3"), ["not consistently oriented", "--repair"]),
    "touching at a vertex": (
        "mesh.obj", SQUARE + "v 2 1 0\nv 2 2 0\nf 3 5 6\n", ["touch at vertex 3", "own vertex"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MESHES)
def test_a_mesh_that_cannot_be_a_shell(desk: Desk, case: str) -> None:
    name, content, words = MESHES[case]
    desk.put(name, content)
    contains(desk.refused("check", name), [name, *words])
    said = desk.check(text=FILE.replace("mesh.obj", name))
    contains(said, ["cloth: ", name, *words])


def test_a_usd_file_with_a_transform_that_is_not_finite(desk: Desk) -> None:
    moved = '    double3 xformOp:translate = (0, inf, 0)\n    uniform token[] xformOpOrder = ["xformOp:translate"]\n}'
    desk.put("mesh.usda", USDA.replace("metersPerUnit = 1", "metersPerUnit = 0").replace("}", moved))
    contains(desk.refused("check", "mesh.usda"), ["mesh.usda", "finite"])


def test_a_usd_file_that_its_library_warns_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mesh.usda"
    path.write_text(USDA.replace("metersPerUnit = 1", "metersPerUnit = -9223372036854775809"))
    main(["check", str(path)])
    assert capfd.readouterr().err.count("\n") <= 1


@pytest.mark.parametrize(
    "content", [SQUARE + "f 3 1 2\n", SQUARE + "f 2 3 3\n", TWO_SLIVERS, SQUARE.replace("f 1 3 4", "f 1 4 3")]
)
def test_a_collider_may_be_less_tidy_and_says_so(desk: Desk, content: str) -> None:
    desk.put("mesh.obj", content)
    assert "note: mesh.obj" in desk.accepted("check", "--collider", "mesh.obj")
    text = SCENE.replace(
        "[[collider]]", '[[collider]]\nname = "tray"\nfile = "mesh.obj"\ntranslate = [0, 0, -2]\n[[collider]]'
    )
    desk.put("scene.toml", text)
    assert "note: mesh.obj" in desk.accepted("check", "scene.toml")


@pytest.mark.parametrize("case", ["nan in obj", "index beyond the last", "points only", "empty ply"])
def test_a_mesh_that_cannot_even_be_a_collider(desk: Desk, case: str) -> None:
    name, content, words = MESHES[case]
    desk.put(name, content)
    contains(desk.refused("check", "--collider", name), [name, *words])


def test_vertices_that_no_triangle_uses_are_dropped_with_a_note(desk: Desk) -> None:
    desk.put("mesh.obj", "v 9 9 9\n" + SQUARE.replace("f 1 2 3\nf 1 3 4", "f 2 3 4\nf 2 4 5"))
    for arguments in (["mesh.obj"], [desk.put("scene.toml", FILE)]):
        out = desk.accepted("check", *arguments)
        contains(out, ["4 vertices, 2 triangles", "note: mesh.obj has a vertex that no face uses, which was dropped."])


def test_mesh_files_that_are_not_there(desk: Desk) -> None:
    contains(desk.check(text=FILE), ["cloth: ", "mesh.obj does not exist", "correct the file name"])
    (desk.folder / "mesh.obj").mkdir()
    contains(desk.check(text=FILE), ["mesh.obj is a folder", "correct the name"])
    contains(desk.refused("check", "nothing.ply"), ["nothing.ply does not exist", "correct"])
    contains(desk.refused("check", "mesh.obj"), ["mesh.obj is a folder"])
    contains(desk.check(text=FILE.replace("mesh", 300 * "m"))[-120:], ["cannot be read", "too long"])


def test_an_object_and_a_group_that_the_file_has_not(desk: Desk) -> None:
    desk.put("mesh.obj", "o table\n" + SQUARE.replace("f 1 3", "g hem\nf 1 3"))
    contains(desk.check(text=FILE + 'object = "tabel"\n'), ["mesh.obj", '"tabel"', 'did you mean "table"'])
    contains(
        desk.check(text=FILE + '[[shell.pin]]\ngroup = "hen"\n'),
        ["cloth", '"hen"', 'did you mean "hem"', "its mesh has hem"],
    )
    desk.put("mesh.obj", SQUARE)
    contains(desk.check(text=FILE + 'object = "table"\n'), ["mesh.obj", "names no objects", "omit object"])
    contains(desk.check(text=FILE + '[[shell.pin]]\ngroup = "hem"\n'), ["its mesh has none", "export"])
    contains(desk.check('shell.pin=[{group="hem"}]'), ["its mesh has none"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["pins.txt does not exist", "correct"]),
        ("0 1 two", ["pins.txt, line 1", "'two' is not a vertex id"]),
        ("0\n# a comment\n-3", ["pins.txt, line 3", "'-3'", "from 0."]),
        ("²", ["pins.txt, line 1", "not a vertex id"]),
        ("99999999999999999999", ["pins.txt, line 1", "not a vertex id"]),
        ("0, 1, 77", ["cloth", "vertex 77", "from 0 to 24"]),
        ("# nothing", ["cloth", "selects no vertex"]),
        (b"\xff\xfe\x00", ["pins.txt", "plain text"]),
    ],
)
def test_files_of_vertex_ids(desk: Desk, content: str | bytes | None, words: list[str]) -> None:
    if content is not None:
        desk.put("pins.txt", content)
    contains(desk.check('shell.pin=[{ids="pins.txt"}]'), words)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ('{group="hem", E=1e6}', ["region of cloth", 'vertex group "hem"', "its mesh has none"]),
        ('{attribute="hem", E=1e6}', ["region of cloth", 'vertex attribute "hem"', "its mesh has none"]),
        ('{weights="hem.txt", E=1e6}', ["hem.txt holds 2 weights", "mesh of cloth has 25 vertices", "one for each"]),
        ('{weights="nan.txt", E=1e6}', ["region of cloth", "weight nan at vertex 1", "nan.txt", "0 to 1"]),
        ('{weights="dark.txt", E=1e6}', ["region of cloth", "weight 0 at all vertices"]),
        ('{weights="none.txt", E=1e6}', ["none.txt does not exist", "file with weights"]),
        ("{box=[[8, 8, 8], [9, 9, 9]], E=1e6}", ["region of cloth selects no vertex"]),
        ("{boundary=true}", ["shell.0: region.0:", "changes nothing", "give material"]),
        ("{boundary=true, E=-1}", ["shell.0: region.0:", "E [Pa] must be above 0"]),
        ('{boundary=true, material="velvet"}', ["shell.0: region.0: material:", "no material"]),
        ("{boundary=true, thickness=1}", ["cloth: the thickness of 1 m", "not a thin shell"]),
        ("{E=1e6}", ["shell.0: region.0:", "exactly one of vertices"]),
    ],
)
def test_regions_that_make_no_sense(desk: Desk, region: str, words: list[str]) -> None:
    for name, text in {"hem": "0 1", "nan": "1 nan " + 23 * "1 ", "dark": 25 * "0 "}.items():
        desk.put(f"{name}.txt", text)
    contains(desk.check(f"shell.region=[{region}]"), words)


def test_a_folder_as_a_file_of_vertex_ids(desk: Desk) -> None:
    (desk.folder / "pins.txt").mkdir()
    contains(desk.check('shell.pin=[{ids="pins.txt"}]'), ["pins.txt is a folder", "correct"])


# --- sequences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ({}, ["walker: ", "frames does not exist", "sequence"]),
        ({"notes.txt": "none"}, ["frames holds no meshes", ".obj"]),
        ({"1.obj": SQUARE}, ["frames has only 1 frame", "two or more"]),
        ({"1.obj": SQUARE, "2.ply": as_ply()}, ["several formats", ".obj and .ply"]),
        ({"1.obj": SQUARE, "2.obj": SQUARE + "v 5 5 5\n"}, ["2.obj has 5 vertices", "1.obj has 4", "same"]),
        ({"1.obj": SQUARE, "2.obj": SQUARE + "f 1 2 4\n"}, ["2.obj has 3 faces", "1.obj has 2", "same"]),
        ({"1.obj": SQUARE, "2.obj": SQUARE.replace("f 1 3 4", "f 2 3 4")}, ["2.obj", "differently", "face 2 (line 6)"]),
        ({"1.obj": SQUARE, "2.obj": SQUARE.replace("1 1 0", "1 nan 0")}, ["2.obj", "not finite", "export"]),
        ({"1.obj": SQUARE, "2.obj": "v 1"}, ["2.obj", "line 1", "three numbers"]),
        ({"9.obj": SQUARE, "10.obj": "v 1"}, ["10.obj", "line 1"]),
    ],
)
def test_sequences_that_are_none(desk: Desk, frames: dict[str, str | bytes], words: list[str]) -> None:
    for name, content in frames.items():
        desk.put(f"frames/{name}", content)
    contains(desk.check(text=SEQUENCE), words)


def test_a_sequence_whose_name_is_too_long(desk: Desk) -> None:
    contains(desk.check(text=SEQUENCE.replace("frames", 300 * "f")), ["walker: ", "cannot be read"])


def test_sequences_in_the_wrong_place(desk: Desk) -> None:
    desk.put("frames", SQUARE)
    contains(desk.check(text=SEQUENCE), ["frames is a single mesh", "folder"])
    text = SEQUENCE + "[[collider.motion]]\ntime = 1\n"
    contains(desk.check(text=text), ["collider.0", "already moves", "remove motion"])
    contains(desk.check('shell.sequence="frames"'), ["sequence is only for colliders", "file or shape"])
    contains(desk.check("collider.rate=30"), ["has no rate", "remove"])


# --- the start --------------------------------------------------------------------------------------------------------


def read_colours(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, triangles and colours of a coloured PLY, read by its own header alone."""
    head, _, body = path.read_bytes().partition(b"end_header\n")
    lines = head.decode().split("\n")
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    n, m = (int(line.split()[2]) for line in lines if line.startswith("element"))
    assert [line.split()[-1] for line in lines if "property" in line][3:] == ["vertex_indices", "red", "green", "blue"]
    faces = np.frombuffer(body, [("k", "u1"), ("t", "<i4", 3), ("c", "u1", 3)], count=m, offset=24 * n)
    assert (faces["k"] == 3).all() and len(body) == 24 * n + 16 * m
    return np.frombuffer(body, "<f8", count=3 * n).reshape(n, 3), faces["t"], faces["c"]


def cross_in(x: np.ndarray, triangles: np.ndarray) -> set[int]:
    """Triangles that an edge of another passes through, and those with such an edge: every pair, one by one."""
    found = set()
    low, high = x[triangles].min(axis=1), x[triangles].max(axis=1)
    for s, one in enumerate(triangles.tolist()):
        for t in np.flatnonzero(((low <= high[s]) & (high >= low[s])).all(axis=1)).tolist():
            if any(crosses(x, [one[k], one[(k + 1) % 3]], triangles[t].tolist()) for k in range(3)):
                found |= {s, t}
    return found


def crosses(x: np.ndarray, edge: list[int], triangle: list[int]) -> bool:
    """Whether an edge passes through a triangle with which it shares no vertex."""
    (p, q), (a, b, c) = x[edge], x[triangle]
    normal = np.cross(b - a, c - a)
    below, above = normal @ (p - a), normal @ (q - a)
    if set(edge) & set(triangle) or below * above >= 0:
        return False
    hit = p + (q - p) * below / (below - above)
    return bool(min(normal @ np.cross(v - u, hit - u) for u, v in ((a, b), (b, c), (c, a))) > 0)


def check_red(desk: Desk, name: str = "scene-intersections.ply") -> set[int]:
    x, triangles, colours = read_colours(desk.folder / name)
    red = (colours[:, 0] > 200) & (colours[:, 1] < 60) & (colours[:, 2] < 60)
    grey = np.ptp(colours.astype(int), axis=1) < 10
    assert (red | grey).all()
    reds = set(np.flatnonzero(red).tolist())
    assert reds == cross_in(x, triangles)
    return reds


def crossed_sheets() -> tuple[np.ndarray, np.ndarray]:
    """Two sheets in one mesh, the second upright through the first."""
    flat = grid(1.0, 1.0, resolution=4)
    upright = flat.X[:, (0, 2, 1)] * 0.6 + (0.03, 0.041, 0.017)
    return np.concatenate([flat.X, upright]), np.concatenate([flat.triangles, flat.triangles + len(flat.X)])


@pytest.mark.parametrize("ending", ["obj", "ply"])
def test_a_mesh_that_crosses_itself_cannot_be_a_shell(desk: Desk, ending: str) -> None:
    X, triangles = crossed_sheets()
    (write_obj if ending == "obj" else write_ply)(desk.folder / f"mesh.{ending}", X, triangles)
    said = desk.refused("check", f"mesh.{ending}", new=["mesh-intersections.ply"])
    contains(said, [f"mesh.{ending} cannot be a shell", "crosses itself", "mesh-intersections.ply shows them in red"])
    assert check_red(desk, "mesh-intersections.ply")
    pairs = [(e, t) for e in edges_of(triangles) for t in triangles.tolist() if crosses(X, list(e), t)]
    first = 1 if ending == "obj" else 0
    contains(said, [f"{len(pairs)} intersections"])
    told = re.findall(r"from vertex (\d+) to vertex (\d+) through face (\d+)", said)
    assert len(told) == 3
    for i, j, face in told:
        edge = tuple(sorted((int(i) - first, int(j) - first)))
        assert (edge, triangles[int(face) - first].tolist()) in pairs


def edges_of(triangles: np.ndarray) -> set[tuple[int, int]]:
    return {(min(t[k], t[k - 1]), max(t[k], t[k - 1])) for t in triangles.tolist() for k in range(3)}


def test_a_mesh_that_crosses_itself_can_be_a_collider(desk: Desk) -> None:
    write_obj(desk.folder / "mesh.obj", *crossed_sheets())
    said = desk.accepted("check", "--collider", "mesh.obj")
    contains(said, ["mesh.obj: can be a collider", "note: mesh.obj crosses itself", "no harm to a collider"])


def test_a_start_with_an_intersection_of_shell_and_collider(desk: Desk) -> None:
    # off the grid's lines, so that no edge lies within a triangle
    said = desk.check("collider.translate=[0.013,0.027,0.017]", new=["scene-intersections.ply"])
    contains(
        said, ["58 intersections (", ", …;", "rest_on", "drop_height", "scene-intersections.ply shows them in red"]
    )
    reds = check_red(desk)
    assert 4 < len(reds) < 300 and min(reds) < 32 <= max(reds)
    # the pairs that are told are in the bodies' own numbers
    x, triangles, _ = read_colours(desk.folder / "scene-intersections.ply")
    first = {"cloth": (0, 0), "ball": (25, 32)}
    told = re.findall(r"edge (\d+)–(\d+) of (\w+) through triangle (\d+) of (\w+)", said)
    assert len(told) == 3
    for i, j, one, triangle, other in told:
        edge = [int(i) + first[one][0], int(j) + first[one][0]]
        corners = triangles[int(triangle) + first[other][1]].tolist()
        assert crosses(x, edge, corners)


def test_a_start_with_a_shell_that_crosses_itself(desk: Desk) -> None:
    # two sheets in one file that pass through each other
    flat = grid(1.0, 1.0, resolution=3)
    X = np.concatenate((flat.X, flat.X[:, [0, 2, 1]] * 0.7 + (0.05, 0.03, 0.02)))
    triangles = np.concatenate((flat.triangles, flat.triangles + len(flat.X))).astype(np.int32)
    write_obj(desk.folder / "mesh.obj", X, triangles)
    said = desk.check(text=FILE, new=["scene-intersections.ply"])
    contains(said, ["of cloth through triangle", "repair the mesh"])
    assert len(check_red(desk)) > 4


def test_few_intersections_are_all_told(desk: Desk) -> None:
    needle = "v 0.3 0.2 -0.5\nv 0.9 0.8 -0.51\nv 0.31 0.21 0.5\nf 5 6 7\n"
    desk.put("mesh.obj", SQUARE + needle)
    said = desk.check(text=FILE, new=["scene-intersections.ply"])
    assert "with 2 intersections (" in said and said.count(" of cloth through triangle ") == 2 and "…" not in said
    assert check_red(desk)


def test_the_picture_of_intersections_keeps_the_message_where_it_cannot_be_written(desk: Desk) -> None:
    (desk.folder / "scene-intersections.ply").mkdir()
    said = desk.check("collider.translate=[0,0,0]")
    assert "intersections (" in said and "shows them" not in said


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (["collider.translate=[0,0,-0.2501]"], ["ball and cloth", "closer than contact.offset", "apart", "lower"]),
        (['collider=[{shape="floor", height=0}]'], ["25 vertices", "half-space", "raise the shell"]),
        (['collider=[{shape="floor", height=0.3}]'], ["the lowest, 0 of cloth, at -0.3 m", "raise the shell"]),
        (['collider=[{half_space={point=[0.4,0,0], normal=[1,0,0]}}]'], ["20 vertices", "half-space"]),
    ],
)  # fmt: skip
def test_gaps_below_the_contact_offset(desk: Desk, sets: list[str], words: list[str]) -> None:
    contains(desk.check(*sets), words)


# --- scene files ------------------------------------------------------------------------------------------------------

SETS: dict[str, tuple[str, list[str]]] = {
    # unknown keys
    "misspelt table": ("contakt.friction=1", ["'contakt'", 'did you mean "contact"']),
    "misspelt key": ("contact.fricton=1", ["contact: ", "'fricton'", 'did you mean "friction"', "choose from"]),
    "misspelt shape parameter": ("shell.resolutoin=3", ["shell.0: ", 'did you mean "resolution"']),
    "key of another shape": ("shell.subdivisions=3", ["shell.0: ", "'subdivisions'", "choose from"]),
    "misspelt pin": ('shell.pin=[{corner=true}]', ["shell.0: pin.0: ", 'did you mean "corners"']),
    "misspelt keyframe": ("collider.motion=[{tme=1}]", ["collider.0: motion.0: ", 'did you mean "time"']),
    "misspelt key of a keyed value": (
        "gravity=[{time=0, value=[0,0,0]}, {time=1, valeu=[0,0,1]}]", ["gravity: ", 'did you mean "value"']
    ),
    "misspelt material": ("shell.material=coton", ['"coton"', 'did you mean "cotton"', "choose from"]),
    "misspelt shape": ("shell.shape=gird", ['"gird"', 'did you mean "grid"']),
    "misspelt choice": ("time.mode=dynamics", ["time: mode", "'dynamics'", 'did you mean "dynamic"']),
    "key with a line break": ('contact={"a\\nb"=3}', ["contact: ", "'a\\nb'"]),
    # wrong types
    "table for a list": ("shell={}", ["[[shell]] with two brackets"]),
    "number for a table": ("contact=3", ["contact: ", "table", "not 3"]),
    "word for a number": ("contact.friction=much", ["contact: friction", "a number like 0.3", "'much'"]),
    "truth for a number": ("contact.friction=true", ["contact: friction", "number", "not True"]),
    "number for a truth": ("contact.enabled=1", ["contact: enabled", "true or false", "not 1"]),
    "date for a vector": ("gravity=1979-05-27", ["gravity", "three numbers"]),
    "two for three": ("gravity=[0, 1]", ["gravity", "three numbers like [0, 0, 1]"]),
    "fraction for a count": ("hierarchy.levels=1.5", ["hierarchy: levels", "whole number", "not 1.5"]),
    "number for a word": ("name=3", ["name", "text", "not 3"]),
    "fraction for a shape's count": ("shell.resolution=2.5", ["shell.0: resolution", "whole number"]),
    "word for a shape's length": ("shell.width=wide", ["width", "'wide'"]),
    "list for a shape": ("shell.shape=[1]", ["shape", "text"]),
    "not a number": ("contact.friction=nan", ["contact: friction", "finite"]),
    "infinite": ("gravity=[0,0,-inf]", ["gravity", "finite"]),
    "a long list": (f"gravity={[0] * 5000}", ["gravity", "three numbers", "…"]),
    "a name of two lines": ('name="a\\nb"', ["name", "text on one line"]),
    # wrong units
    "mass for a length": ("shell.material.thickness='3 kg'", ["material: thickness [m]", "'kg'", "write it in m"]),
    "length for an angle": ("shell.rotate='90 cm'", ["rotate [deg]", "'cm'", "in deg"]),
    "length for a shape's angle": ("collider.radius='3 s'", ["radius", "'s'", "in m"]),
    "unknown unit": ("shell.material.thickness='3 mmm'", ["thickness [m]", "unknown unit 'mmm'", 'did you mean "mm"']),
    "unit of a pure number": ("contact.friction='3 m'", ["friction", "'m' does not belong here"]),
    "unit of the file": ("shell=[{file='a.obj', unit='kg'}]", ["shell.0: ", "unit of length", '"cm"']),
    "unknown unit of the file": ("shell=[{file='a.obj', unit='furlong'}]", ["shell.0: ", "unknown unit 'furlong'"]),
    "time of a key": ("collider.motion=[{time='1 m'}]", ["collider.0: motion.0: time [s]", "in s"]),
    # not physical
    "nu of a half": ("shell.material.nu=0.5", ["material: nu must be below 0.5", "is incompressible"]),
    "nu beyond": ("shell.material.nu=0.7", ["material: nu must be below 0.5", "grow under pressure"]),
    "nu of -1": ("shell.material.nu=-1", ["material: nu must be above -1"]),
    "E of zero": ("shell.material.E=0", ["material: E [Pa] must be above 0", "release energy"]),
    "E below zero": ("shell.material.E='-3 MPa'", ["material: E [Pa] must be above 0", "'-3 MPa'", "release energy"]),
    "no thickness": ("shell.material.thickness=0", ["thickness [m] must be above 0", "no stiffness"]),
    "no mass": ("shell.material.density=0", ["density [kg/m³] must be above 0", "without mass"]),
    "thickness of an edge": (
        "shell.material.thickness='40 cm'", ["cloth: ", "thickness of 0.4 m", "shortest edge of", "vertices", "thinner"]
    ),
    "thickness on the finest level": (
        "hierarchy={levels=8}", ["cloth: ", "finest level", "thickness of 0.05 m", "fewer levels"]
    ),
    "dhat of an edge": ("contact.dhat='40 cm'", ["cloth: ", "contact.dhat = 0.4 m", "hold folds open", "smaller"]),
    "offset of an edge": ("contact.offset='40 cm'", ["cloth: ", "contact.offset = 0.4 m", "apart", "smaller"]),
    "friction below zero": ("contact.friction=-0.1", ["friction must be at least 0"]),
    "strain limit of one": ("shell.material.strain_limit=1", ["strain_limit", "above 1", "rest shape"]),
    "strain limit before its onset": (
        "shell.material={preset='cotton', strain_limit=1.05, strain_onset=1.1}", ["strain_onset", "below strain_limit"]
    ),
    "a published limit that is none": ("shell.material={preset='rubber', strain_limit=true}", ["published", "1.06"]),
    "half a material": ("shell.material={E=1e6}", ["needs density, thickness, nu", "preset"]),
    "absurdly large": ("shell.translate=[0,0,1e300]", ["translate [m]", "at most", "unit"]),
    "absurdly small": ("time.h=1e-300", ["time: h [s]", "at least", "unit"]),
    "far out": ("shell.translate=['3e9 km',0,0]", ["cloth: ", "3e+12 m", "translate or unit"]),
    "scaled up": ("shell.scale=1e12", ["cloth: ", "m from the origin", "scale"]),
    "scaled down": ("shell.scale=1e-9", ["cloth: ", "thickness", "unit"]),
    "gas without pressure": ("shell.pressure={kind='gas', value=0}", ["pressure: value [Pa]", "above 0"]),
    # loads and handles
    "pressure in an open shell": ("shell.pressure=10", ['"cloth"', "open boundary of 16 edges", "close it or remove"]),
    "pin of nothing": ("shell.pin=[{box=[[5,5,5],[6,6,6]]}]", ["pin of cloth", "selects no vertex", "enlarge"]),
    "handle of nothing": (
        "shell.pin=[{sphere={center=[9,9,9], radius=1}, motion=[{time=1}]}]", ["pin of cloth", "selects no vertex"]
    ),
    "pin of no number": ("shell.pin=[{vertices=[]}]", ["pin of cloth", "selects no vertex"]),
    "pin of a vertex beyond": ("shell.pin=[{vertices=[3, 99]}]", ["pin of cloth", "vertex 99", "0 to 24"]),
    "pin without a selection": ("shell.pin=[{}]", ["shell.0: pin.0: ", "exactly one"]),
    "box turned over": ("shell.pin=[{box=[[1,0,0],[0,0,0]]}]", ["box", "corner with the smaller coordinates first"]),
    "near nothing": ("shell.pin=[{vertices=[1], near=[0,0,0]}]", ["near", "corners or boundary", "remove"]),
    # keyframes
    "two keys of one time": ("collider.motion=[{time=1}, {time=1}]", ["collider.0: ", "1 s follows 1 s", "own"]),
    "two keys of a pin": (
        "shell.pin=[{corners=true, motion=[{time=2}, {time='2 s'}]}]", ["pin.0: ", "2 s follows 2 s", "own"]
    ),
    "keys backwards": ("collider.motion=[{time=2}, {time=1}]", ["collider.0: ", "1 s follows 2 s"]),
    "key before the start": ("collider.motion=[{time=-1}]", ["time [s] must be at least 0"]),
    "moved at the start": ("collider.motion=[{time=0, translate=[0,0,1]}]", ["start at rest", "place the body"]),
    "two load keys of one time": (
        "gravity=[{time=1, value=[0,0,0]}, {time=1, value=[0,0,1]}]", ["gravity: ", "1 s follows 1 s", "own"]
    ),
    "two material keys of one time": (
        "shell.material={preset='cotton', E=[{time=0, value=1e6}, {time=0, value=2e6}]}",
        ["shell.0: material: E: ", "0 s follows 0 s"],
    ),
    "a material key that is not physical": (
        "shell.material={preset='cotton', E=[{time=0, value=1e6}, {time=1, value=0}]}", ["E: value [Pa]", "above 0"]
    ),
    "key without a value": ("gravity=[{time=1}]", ["gravity: ", "both time and value", "add"]),
    "key of the wrong unit": ("wind.velocity=[{time=0, value=['1 m',0,0]}]", ["wind: velocity: value", "m/s"]),
    "moving half-space": (
        "collider=[{half_space={point=[0,0,-1]}, motion=[{time=1, translate=[0,0,1]}]}]", ["half-space", "move", "box"]
    ),
    # bodies
    "no shell": ("shell=[]", ["at least one shell", "[[shell]]"]),
    "two bodies of one name": ("collider.name=cloth", ['Two bodies are called "cloth"', "own name"]),
    "rest on an unknown body": ("shell.rest_on=bal", ["cloth: rest_on", '"bal"', 'did you mean "ball"']),
    "rest on itself": ("shell.rest_on=cloth", ["cloth: rest_on", "no other body", "the others are ball"]),
    "rest on each other": (
        "shell=[{name='a', shape='grid', rest_on='b'}, {name='b', shape='grid', rest_on='a'}]",
        ["a and b rest on each other", "something else"],
    ),
    "two sources": ("shell.file=a.obj", ["shell.0: ", "exactly one of file, shape"]),
    "no source": ("collider=[{name='ball'}]", ["collider.0: ", "needs a mesh", "exactly one of file"]),
    "levels in dynamics": (
        "time={mode='dynamic', frame_every=2}", ["several levels", "frame of every step", "leave out time.frame_every"]
    ),
    "too many levels": ("hierarchy.levels=99", ["hierarchy: levels", "at most 16", "four times"]),
    "more than memory": ("shell.resolution=1000000", ["cloth: ", "1,000,002,000,001 vertices", "fewer"]),
    # overrides
    "override without a value": ("contact", ['"contact"', "key.key=value"]),
    "override without a key": ("=3", ["key.key=value"]),
    "override of a part of a value": ("shell.0.shape.x=3", ['"shell.0.shape.x=3"', "plain value"]),
    "override beyond a list": ("shell.7.name=x", ["shell.0.name=x", "entry 7"]),
    "override of an odd number": ("shell.².name=x", ["'²'"]),
}  # fmt: skip
# what a case needs beside what it sets
BESIDES = {
    "thickness on the finest level": ["shell.material.thickness='5 cm'", "shell.resolution=4"],
    "levels in dynamics": ["hierarchy.levels=2"],
}


@pytest.mark.parametrize("case", SETS)
def test_a_scene_that_makes_no_sense(desk: Desk, case: str) -> None:
    value, words = SETS[case]
    contains(desk.check(*BESIDES.get(case, []), value), words)


def test_resting_and_placing_at_once(desk: Desk) -> None:
    said = desk.check("shell.rest_on=ball", "shell.translate=[0,0,1]")
    contains(said, ["cloth: rest_on and drop_height already place the shell", "remove"])
    contains(desk.check("collider=[]", "shell.drop_height=1"), ["drop_height needs a collider", "translate"])


def test_a_closed_shell_that_faces_inwards_holds_no_pressure(desk: Desk) -> None:
    swapped = "\n".join(
        " ".join((*line.split()[:2], line.split()[3], line.split()[2])) if line.startswith("f") else line
        for line in TETRAHEDRON.splitlines()
    )
    desk.put("mesh.obj", swapped + "\n")
    contains(desk.check(text=FILE + "pressure = 10\n"), ['"cloth" faces inwards', "flip its triangles"])
    desk.put("mesh.obj", TETRAHEDRON)
    assert "can be simulated" in desk.accepted("check", desk.put("scene.toml", FILE + "pressure = 10\n"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["at least one shell"]),
        ("# nothing\n", ["at least one shell"]),
        ("[[shell\n", ["not valid TOML", "line 1", "correct"]),
        ('[[shell]]\nshape = "grid\n', ["not valid TOML", "line 2", "correct"]),
        ("[shell]\nshape = 'grid'\n[[shell]]\n", ["not valid TOML", "line 3"]),
        ("a = 1\na = 2\n", ["not valid TOML", "line 2"]),
        (bytes(range(256)), ["not text", "byte 128", "UTF-8"]),
        (b"\x89PNG\r\n\x1a\n\0\0", ["not text", "byte 0", "UTF-8"]),
        (SCENE.encode("utf-16"), ["not text", "UTF-8"]),
        ("name = 'Stra\xdfe'".encode("latin-1"), ["not text", "byte 12", "UTF-8"]),
        (b"\0\0\0\0", ["not valid TOML"]),
        ("a = " + 3000 * "[", ["not valid TOML", "nested"]),
        ("seed = " + 5000 * "9", ["not valid TOML", "thousands of digits"]),
        ("seed = 0x" + 5000 * "F", ["seed", "at most", "thousands of digits"]),
        ('"a\\nb" = 3\n[[shell]]\nshape = "grid"\n', ["unknown key 'a\\nb'"]),
        (f'{4000 * "x"} = 3\n', ["unknown key 'xxxx", "…"]),
        ('{"shell": [{"shape": "grid"}]}', ["not valid TOML"]),
    ],
)  # fmt: skip
def test_a_file_that_is_no_scene(desk: Desk, content: str | bytes, words: list[str]) -> None:
    name = desk.put("scene.toml", content)
    contains(desk.refused("check", name), ["scene.toml", *words])


def test_a_scene_that_is_not_there_or_a_folder(desk: Desk) -> None:
    contains(desk.refused("check", "nothing.toml"), ["nothing.toml does not exist", "correct"])
    (desk.folder / "folder.toml").mkdir()
    contains(desk.refused("check", "folder.toml"), ["folder.toml is a folder", "correct"])
    contains(desk.refused("check", "."), ["is a folder"])
    contains(desk.refused("check", "nothing.toml/inner.toml"), ["does not exist"])


@pytest.mark.parametrize(
    "content",
    ["\ufeff" + SCENE, SCENE.replace("\n", "\r\n"), SCENE.replace("cloth", "Tücher 布 🧵")],
    ids=["mark", "windows", "unicode"],
)
def test_text_as_editors_leave_it_is_read(desk: Desk, content: str) -> None:
    assert "can be simulated" in desk.accepted("check", desk.put("szene-läuft 布.toml", content))


def test_mesh_names_with_blanks_and_letters_of_all_kinds(desk: Desk) -> None:
    desk.put("mein Tuch 布.obj", SQUARE)
    text = FILE.replace("mesh.obj", "mein Tuch 布.obj")
    assert "can be simulated" in desk.accepted("check", desk.put("scene.toml", text))
    desk.put("mein Tuch 布.obj", SQUARE.replace("1 1 0", "nan 1 0"))
    contains(desk.check(text=text), ["mein Tuch 布.obj", "vertex 3"])


# --- size -------------------------------------------------------------------------------------------------------------


def test_a_scene_larger_than_the_machine_is_estimated(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.checks, "memory", lambda: 2e9)
    said = desk.check("shell.resolution=20", "hierarchy.levels=6", "shell.material.thickness=1e-5")
    contains(said, ["too large", "410,881 vertices", "GB and", "s per Newton iteration", "there are 2 GB"])
    contains(said, ["coarser mesh or fewer levels", "--yes"])


@pytest.mark.parametrize(("shape", "sizes"), [("bowl", {"depth": "300 m"}), ("cylinder", {"radius": "0.1 mm"})])
def test_a_shape_out_of_proportion_is_refused(shape: str, sizes: dict[str, str]) -> None:
    with pytest.raises(SceneError, match="vertices"):
        make_shape(shape, sizes)


@pytest.mark.slow
def test_five_million_triangles_are_too_many_for_24_gigabytes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.checks, "memory", lambda: 24e9)
    flat = grid(1.0, 1.0, resolution=1582, diagonals="uniform")
    assert len(flat.triangles) > 5_000_000
    write_ply(desk.folder / "mesh.ply", flat.X, flat.triangles)
    said = desk.check(text=FILE.replace("mesh.obj", "mesh.ply"))
    contains(said, ["too large", "2,505,889 vertices", "GB and", "min per Newton iteration", "coarser", "--yes"])


# --- run --------------------------------------------------------------------------------------------------------------

REFUSED_RUNS = (
    "misspelt key", "mass for a length", "nu of a half", "pressure in an open shell", "pin of nothing",
    "two keys of one time", "rest on an unknown body", "more than memory", "moving half-space",
)  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_RUNS)
def test_a_run_is_refused_before_anything_is_written(desk: Desk, case: str) -> None:
    value, words = SETS[case]
    desk.put("scene.toml", SCENE)
    contains(desk.refused("run", "scene.toml", "--out", "run", "--set", value), words)


@pytest.mark.parametrize("case", ["thickness of an edge", "dhat of an edge", "offset of an edge"])
def test_a_run_of_impossible_lengths_is_refused(desk: Desk, case: str) -> None:
    value, words = SETS[case]
    desk.put("scene.toml", SCENE)
    contains(desk.refused("run", "scene.toml", "--out", "run", "--set", value), words)


@pytest.mark.parametrize("case", ["nan in obj", "index beyond the last", "slivers", "unknown extension"])
def test_a_run_of_a_bad_mesh_is_refused(desk: Desk, case: str) -> None:
    name, content, words = MESHES[case]
    desk.put(name, content)
    desk.put("scene.toml", FILE.replace("mesh.obj", name))
    contains(desk.refused("run", "scene.toml", "--out", "run"), [name, *words])


def test_a_run_that_starts_crossed_is_refused_with_a_picture(desk: Desk) -> None:
    desk.put("scene.toml", SCENE)
    arguments = ["run", "scene.toml", "--out", "run", "--set", "collider.translate=[0.013,0.027,0.017]"]
    said = desk.refused(*arguments, new=["scene-intersections.ply"])
    contains(said, ["intersections (", "scene-intersections.ply shows them in red"])
    assert check_red(desk)


def test_a_run_larger_than_the_machine_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.checks, "memory", lambda: 1e8)
    desk.put("scene.toml", SCENE)
    contains(desk.refused("run", "scene.toml", "--out", "run"), ["too large", "--yes"])


def test_an_output_that_is_a_file_is_refused(desk: Desk) -> None:
    desk.put("scene.toml", SCENE)
    desk.put("run", "a letter")
    contains(desk.refused("run", "scene.toml", "--out", "run"), ["run"])
    contains(desk.refused("run", "scene.toml", "--out", "run/inner"), ["run/inner"])


def test_a_folder_with_other_things_is_not_written_to_by_a_refused_run(desk: Desk) -> None:
    desk.put("scene.toml", SCENE)
    desk.put("run/report.json", "{}")
    desk.put("run/mine.txt", "mine")
    desk.refused("run", "scene.toml", "--out", "run", "--set", "contact.fricton=1")
