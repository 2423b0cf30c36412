"""Mesh files."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.shapes import box, sphere
from plisse.io.meshes import load_mesh
from plisse.io.obj import read_obj
from plisse.io.ply import read_ply, write_ply
from plisse.scene.sources import MeshSource

QUAD_OBJ = """# a comment
o patch
v 0 0 0
v 1 0 0 0.5 0.5 0.5
v 1 1 0
vt 0 0
vn 0 0 1
v 0 1 \\
0
f 1/1/1 2//1 -2/1 4
"""
QUAD_PLY = """ply
format ascii 1.0
comment made by hand
element vertex 4
property float x
property float y
property float z
property uchar red
element marker 1
property list uchar int things
element face 1
property list uchar int vertex_index
end_header
0 0 0 255
1 0 0 255
1 1 0 255
0 1 0 255
2 7 8
4 0 1 2 3
"""


def test_ply_round_trip_is_exact(tmp_path):
    mesh = sphere(0.3, subdivisions=2)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles)
    x, triangles = read_ply(tmp_path / "a.ply")
    np.testing.assert_array_equal(x, mesh.X)
    np.testing.assert_array_equal(triangles, mesh.triangles)
    assert x.dtype == np.float64 and triangles.dtype == np.int32


@pytest.mark.parametrize(("name", "text"), [("q.obj", QUAD_OBJ), ("q.ply", QUAD_PLY), ("q.PLY", QUAD_PLY)])
def test_polygons_become_fans(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    mesh = load_mesh(MeshSource(file=name), tmp_path)
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    np.testing.assert_array_equal(mesh.X, [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])


@pytest.mark.parametrize(("kind", "order"), [("binary_little_endian", "<"), ("binary_big_endian", ">")])
@pytest.mark.parametrize(("scalar", "code"), [("float", "f4"), ("double", "f8")])
@pytest.mark.parametrize("corners", [3, 4])
def test_binary_ply_of_others(tmp_path, kind, order, scalar, code, corners):
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])[:corners]
    header = (
        f"ply\nformat {kind} 1.0\nelement vertex {corners}\n"
        f"property {scalar} x\nproperty {scalar} y\nproperty {scalar} z\nproperty uchar red\n"
        "element face 1\nproperty uchar flag\nproperty list int uint vertex_indices\nend_header\n"
    )
    vertices = np.zeros(corners, dtype=[("x", order + code, 3), ("red", "u1")])
    vertices["x"] = points
    face = np.array([7], dtype="u1").tobytes() + np.array([corners, *range(corners)], dtype=order + "i4").tobytes()
    (tmp_path / "b.ply").write_bytes(header.encode() + vertices.tobytes() + face)
    x, triangles = read_ply(tmp_path / "b.ply")
    np.testing.assert_array_equal(x, points)
    assert triangles.tolist() == [[0, 1, 2], [0, 2, 3]][: corners - 2]


def test_obj_of_a_whole_mesh(tmp_path):
    mesh = box(resolution=3)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.X.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (mesh.triangles + 1).tolist()]
    (tmp_path / "box.obj").write_text("\n".join(lines))
    x, triangles = read_obj(tmp_path / "box.obj")
    np.testing.assert_array_equal(x, mesh.X)
    np.testing.assert_array_equal(triangles, mesh.triangles)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("missing.obj", None, "does not exist"),
        ("a.stl", b"solid", "unknown format"),
        ("a.obj", b"v 0 0\n", "line 1"),
        ("a.obj", b"v 0 0 x\nf 1 1 1\n", "numbers"),
        ("a.obj", b"v 0 0 0\nf 1 2 three\n", "line 2"),
        ("a.obj", b"", "no triangles"),
        ("a.ply", b"hello", "not a PLY"),
        ("a.ply", b"ply\nformat ascii 2.0 x\nelement vertex many\nend_header\n", "header"),
        ("a.ply", b"ply\nelement vertex 0\nend_header\n", "no format"),
        ("a.ply", QUAD_PLY.encode()[:-8], "cut off"),
        ("a.ply", QUAD_PLY.replace("float z", "float w").encode(), "cut off"),
        ("a.ply", QUAD_PLY.replace("4 0 1 2 3", "3 0 1 9").encode(), "index"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, word):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SceneError, match=word) as caught:
        load_mesh(MeshSource(file=name), tmp_path)
    assert name in str(caught.value)


def test_cut_binary_ply(tmp_path):
    mesh = sphere(subdivisions=0)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles)
    whole = (tmp_path / "a.ply").read_bytes()
    for size in (len(whole) - 1, len(whole) - 250, len(whole) - 400):
        (tmp_path / "a.ply").write_bytes(whole[:size])
        with pytest.raises(SceneError, match="cut off"):
            read_ply(tmp_path / "a.ply")
