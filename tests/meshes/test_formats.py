"""OBJ, PLY, STL and USD: what is read, and what is refused with one sentence."""

import struct
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reading import read_mesh

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.meshes import words
from plisse.meshes.obj import read_obj_polygons, write_obj
from plisse.meshes.ply import read_ply_polygons, write_ply
from plisse.meshes.polygons import Polygons, clip_ears, drop_repeats, triangulate
from plisse.meshes.stl import read_stl_polygons, write_stl
from plisse.meshes.surfaces import load_surface, load_track, read_polygons
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import box, grid, sphere

QUAD_OBJ = """# a comment
o patch
v 0 0 0
v 1 0 0 0.5 0.5 0.5
v 1 1 0
vt 0 0
vn 0 0 1
v 0 1 \\
0
f 1/1/1 2//1 -2/1 4  # the face
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
QUAD_STL = """solid a solid
 facet normal 0 0 1
  outer loop
   vertex 0 0 0
   vertex 1 0 0
   vertex 1 1 0
  endloop
 endfacet
 facet normal 0 0 1
  outer loop
   vertex -0 0 0
   vertex 1 1 0
   vertex 0 1e0 0
  endloop
 endfacet
endsolid a solid
"""
QUAD_USDA = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def Mesh "quad"
{
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
}
"""
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def load(path, **options):
    solid = options.pop("solid", False)
    return load_surface(MeshSource(file=path.name, **options), path.parent, solid=solid)


@pytest.mark.parametrize(
    ("name", "text"),
    [("q.obj", QUAD_OBJ), ("q.OBJ", QUAD_OBJ.replace("\n", "\r\n")), ("q.ply", QUAD_PLY), ("q.PLY", QUAD_PLY),
     ("q.stl", QUAD_STL), ("q.stl", QUAD_STL.upper().replace("SOLID", "solid").replace("E0", "e0").lower()),
     ("q.usda", QUAD_USDA)],
)  # fmt: skip
def test_one_quad_in_every_format(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    mesh = load(tmp_path / name).mesh
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    np.testing.assert_array_equal(mesh.X, SQUARE)


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl"])
def test_round_trips(tmp_path, suffix):
    mesh = sphere(0.3, subdivisions=2)
    path = tmp_path / f"a.{suffix}"
    {"obj": write_obj, "ply": write_ply, "stl": write_stl}[suffix](path, mesh.X, mesh.triangles)
    back = load(path).mesh
    if suffix == "stl":
        # vertices are numbered anew, by their first appearance
        np.testing.assert_array_equal(back.X[back.triangles], mesh.X.astype("f4")[mesh.triangles])
        assert len(back.X) == len(mesh.X)
    else:
        np.testing.assert_array_equal(back.X, mesh.X)
        np.testing.assert_array_equal(back.triangles, mesh.triangles)
    assert back.X.dtype == np.float64 and back.triangles.dtype == np.int32


# --- OBJ ---


def test_obj_in_small_pieces_is_the_same(tmp_path, monkeypatch):
    mesh = box(resolution=4)
    path = tmp_path / "a.obj"
    lines = [f"v {x!r} {y!r} \\\n {z!r}" for x, y, z in mesh.X.tolist()]
    lines += [f"g part{k % 3}\nf {a}/1 {b}//2 {c}/3/4" for k, (a, b, c) in enumerate((mesh.triangles + 1).tolist())]
    path.write_text("\n".join(lines))
    whole = read_obj_polygons(path)
    monkeypatch.setattr(words, "PIECE", 50)
    pieces = read_obj_polygons(path)
    np.testing.assert_array_equal(whole.X, mesh.X)
    np.testing.assert_array_equal(whole.corners.reshape(-1, 3), mesh.triangles)
    for one, other in ((whole.X, pieces.X), (whole.corners, pieces.corners), (whole.lines, pieces.lines)):
        np.testing.assert_array_equal(one, other)
    assert whole.lines[0] == 2 * len(mesh.X) + 2
    assert {name: faces.tolist() for name, faces in pieces.groups.items()} == {
        f"part{k}": list(range(k, len(mesh.triangles), 3)) for k in range(3)
    }


def test_obj_counts_back_from_the_latest_vertex(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\n  f -4\t-1 -2\n")
    assert read_mesh(tmp_path / "a.obj")[1].tolist() == [[0, 1, 2], [0, 3, 2]]


def test_obj_names(tmp_path):
    text = (
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\ng a  b\nf 3 2 4\ng (null)\no Big Thing#2\nf 1 2 4\ng b\nf 1 3 4\n"
    )
    (tmp_path / "a.obj").write_text(text)
    polygons = read_obj_polygons(tmp_path / "a.obj")
    assert {name: faces.tolist() for name, faces in polygons.groups.items()} == {"a": [1], "b": [1, 3]}
    assert {name: faces.tolist() for name, faces in polygons.objects.items()} == {"Big Thing#2": [2, 3]}
    write_obj(
        tmp_path / "b.obj", polygons.X, triangulate(polygons, "b")[0], objects=polygons.objects, groups=polygons.groups
    )
    again = read_obj_polygons(tmp_path / "b.obj")
    np.testing.assert_array_equal(again.corners, polygons.corners)
    for one, other in ((again.groups, polygons.groups), (again.objects, polygons.objects)):
        assert {name: faces.tolist() for name, faces in one.items()} == {k: v.tolist() for k, v in other.items()}


def test_old_line_ends(tmp_path):
    (tmp_path / "a.obj").write_bytes(b"v 0 0 0\rv 1 0 0\rv 0 1 0\rf 1 2 3\r")
    assert read_mesh(tmp_path / "a.obj")[1].tolist() == [[0, 1, 2]]


# --- PLY ---


@pytest.mark.parametrize(("kind", "order"), [("binary_little_endian", "<"), ("binary_big_endian", ">")])
@pytest.mark.parametrize(("scalar", "code"), [("float", "f4"), ("double", "f8")])
@pytest.mark.parametrize("sizes", [(3,), (4,), (3, 4, 3), (4, 3)])
def test_binary_ply_of_others(tmp_path, kind, order, scalar, code, sizes):
    header = (
        f"ply\nformat {kind} 1.0\nelement vertex 4\n"
        f"property {scalar} x\nproperty {scalar} y\nproperty {scalar} z\nproperty uchar red\n"
        f"element face {len(sizes)}\nproperty uchar flag\nproperty list int uint vertex_indices\n"
        "property list uchar float texture\nelement edge 1\nproperty int a\nend_header\n"
    )
    vertices = np.zeros(4, dtype=[("x", order + code, 3), ("red", "u1")])
    vertices["x"] = SQUARE
    faces = b""
    for size in sizes:
        faces += b"\7" + np.array([size, *range(size)], dtype=order + "i4").tobytes()
        faces += bytes([size]) + np.zeros(size, dtype="f4").tobytes()
    # what follows the faces may be missing
    (tmp_path / "b.ply").write_bytes(header.encode() + vertices.tobytes() + faces)
    polygons = read_ply_polygons(tmp_path / "b.ply")
    np.testing.assert_array_equal(polygons.X, SQUARE)
    assert polygons.sizes.tolist() == list(sizes)
    assert polygons.corners.tolist() == [corner for size in sizes for corner in range(size)]


def test_ply_colours(tmp_path):
    mesh = grid(resolution=2)
    colors = np.arange(3 * len(mesh.triangles), dtype=np.uint8).reshape(-1, 3)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles, colors=colors)
    x, triangles = read_mesh(tmp_path / "a.ply")
    np.testing.assert_array_equal(x, mesh.X)
    np.testing.assert_array_equal(triangles, mesh.triangles)
    body = (tmp_path / "a.ply").read_bytes()
    assert b"property uchar blue\nend_header" in body and body.endswith(colors[-1].tobytes())


# --- STL ---


def test_binary_stl_that_begins_like_a_text(tmp_path):
    mesh = box(resolution=2)
    write_stl(tmp_path / "a.stl", mesh.X, mesh.triangles)
    body = (tmp_path / "a.stl").read_bytes()
    (tmp_path / "b.stl").write_bytes(b"solid made by a tool".ljust(80) + body[80:])
    for name in ("a.stl", "b.stl"):
        surface = load(tmp_path / name)
        assert len(surface.mesh.X) == len(mesh.X) and surface.mesh.volume == pytest.approx(mesh.volume)
        assert f"{len(mesh.X)} vertices" in surface.notes[0] and surface.notes[0].startswith(str(tmp_path / name))


def test_stl_merges_only_what_is_equal(tmp_path):
    close = np.nextafter(np.float32(1), np.float32(2))
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [close, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    write_stl(tmp_path / "a.stl", X, np.array([[0, 1, 2], [3, 4, 5]]))
    assert len(read_stl_polygons(tmp_path / "a.stl").X) == 5


# --- USD ---


@pytest.fixture
def stage_file(tmp_path):
    """Two boxes in centimetres, y up, one of them moving."""
    Usd, UsdGeom, Gf = (pytest.importorskip(f"pxr.{name}") for name in ("Usd", "UsdGeom", "Gf"))
    path = tmp_path / "two.usdc"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Y")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(12)
    mesh = box(resolution=1)
    parent = UsdGeom.Xform.Define(stage, "/World")
    parent.AddTranslateOp().Set(Gf.Vec3d(0, 7, 0))
    for name in ("left", "right"):
        prim = UsdGeom.Mesh.Define(stage, f"/World/{name}")
        prim.CreatePointsAttr((100 * mesh.X).tolist())
        prim.CreateFaceVertexCountsAttr([3] * len(mesh.triangles))
        prim.CreateFaceVertexIndicesAttr(mesh.triangles.reshape(-1).tolist())
        prim.CreateSubdivisionSchemeAttr("none")
        subset = UsdGeom.Subset.Define(stage, f"/World/{name}/lid")
        subset.CreateElementTypeAttr("face")
        subset.CreateIndicesAttr([0, 1])
        if name == "right":
            move = prim.AddTranslateOp()
            move.Set(Gf.Vec3d(300, 0, 0), 1)
            move.Set(Gf.Vec3d(300, 0, 60), 13)
    stage.Save()
    return path


def test_usd_stage(stage_file):
    surface, mesh = load(stage_file), box(resolution=1)
    n = len(mesh.X)
    assert len(surface.mesh.X) == 2 * n
    assert surface.notes == (f"{stage_file} holds several objects, read as one mesh: /World/left, /World/right.",)
    right = 0.07 * np.array((0, 0, 1)) + np.column_stack((mesh.X[:, 0] + 3, -mesh.X[:, 2], mesh.X[:, 1]))
    np.testing.assert_allclose(surface.mesh.X[n:], right, atol=1e-6)
    assert set(surface.groups) == {"lid"}
    lid = np.unique(mesh.triangles[:2])
    np.testing.assert_array_equal(surface.groups["lid"], [*lid, *(lid + n)])


@pytest.mark.parametrize("orientation", ["rightHanded", "leftHanded"])
@pytest.mark.parametrize("mirror", [1, -1])
def test_usd_faces_outwards(tmp_path, orientation, mirror):
    Usd, UsdGeom, Gf = (pytest.importorskip(f"pxr.{name}") for name in ("Usd", "UsdGeom", "Gf"))
    mesh = box(resolution=1)
    triangles = mesh.triangles if orientation == "rightHanded" else mesh.triangles[:, ::-1]
    stage = Usd.Stage.CreateNew(str(tmp_path / "a.usda"))
    prim = UsdGeom.Mesh.Define(stage, "/box")
    prim.CreatePointsAttr(mesh.X.tolist())
    prim.CreateFaceVertexCountsAttr([3] * len(triangles))
    prim.CreateFaceVertexIndicesAttr(triangles.reshape(-1).tolist())
    prim.CreateOrientationAttr(orientation)
    prim.AddScaleOp().Set(Gf.Vec3f(mirror, 1, 1))
    stage.Save()
    surface = load(tmp_path / "a.usda")
    assert surface.mesh.volume == pytest.approx(1e-6 * mesh.volume, rel=1e-5)
    assert "centimetres" in surface.notes[0]


def test_usd_object(stage_file):
    for name in ("right", "/World/right"):
        surface = load(stage_file, object=name)
        assert surface.mesh.X[:, 0].min() > 2 and not surface.notes
        assert surface.vertex_of_id.tolist() == list(range(len(surface.mesh.X)))
    with pytest.raises(SceneError, match=r'no object "rigth" .did you mean "right"'):
        load(stage_file, object="rigth")


def test_usd_track(stage_file):
    track = load_track(MeshSource(sequence="two.usdc", start=0.25), stage_file.parent)
    np.testing.assert_allclose(track.times, [0.25, 1.25])
    n = track.positions.shape[1] // 2
    np.testing.assert_allclose(track.positions[1, :n], track.positions[0, :n])
    np.testing.assert_allclose(track.positions[1, n:] - track.positions[0, n:], [[0, -0.6, 0]] * n, atol=1e-6)
    assert load_track(MeshSource(sequence="two.usdc", rate=24.0), stage_file.parent).times[-1] == 0.5
    with pytest.raises(SceneError, match="only 0 frame"):
        load_track(MeshSource(sequence="two.usdc", object="left"), stage_file.parent)


def test_usd_points_over_time(tmp_path):
    pytest.importorskip("pxr.Usd")
    moving = QUAD_USDA.replace(
        "points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]",
        "points.timeSamples = {\n0: [(0,0,0),(1,0,0),(1,1,0),(0,1,0)],\n6: [(0,0,1),(1,0,1),(1,1,1),(0,1,1)],\n}",
    )
    (tmp_path / "a.usda").write_text(moving)
    track = load_track(MeshSource(sequence="a.usda"), tmp_path)
    np.testing.assert_allclose(track.times, [0, 0.25])
    np.testing.assert_allclose(track.positions[:, :, 2], [[0] * 4, [1] * 4])
    changing = moving.replace(
        "faceVertexIndices = [0, 1, 2, 3]", "faceVertexIndices.timeSamples = {\n0: [0,1,2,3],\n6: [1,2,3,0],\n}"
    )
    (tmp_path / "b.usda").write_text(changing)
    with pytest.raises(SceneError, match="whose faces change at time code 6"):
        load_track(MeshSource(sequence="b.usda"), tmp_path)
    (tmp_path / "c.usda").write_text(moving.replace("(0,0,1)", "(nan,0,1)"))
    with pytest.raises(SceneError, match="time sample 1 has a coordinate"):
        load_track(MeshSource(sequence="c.usda"), tmp_path)


def test_usd_without_the_extra(tmp_path, monkeypatch):
    (tmp_path / "a.usda").write_text(QUAD_USDA)
    for name in ("pxr", "pxr.Usd", "pxr.Sdf", "pxr.Tf", "pxr.UsdGeom"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SceneError, match=r"pip install 'plisse\[usd\]'"):
        load(tmp_path / "a.usda")


def test_a_usd_file_that_changed_is_read_again(tmp_path):
    pytest.importorskip("pxr.Usd")
    (tmp_path / "a.usda").write_text(QUAD_USDA)
    first = load(tmp_path / "a.usda")
    (tmp_path / "a.usda").write_text(QUAD_USDA.replace("(1, 1, 0)", "(2, 2, 0)"))
    assert load(tmp_path / "a.usda").mesh.X.max() == 2 and first.mesh.X.max() == 1


# --- polygons ---


def make_polygons(*rings: list[tuple[float, ...]]) -> Polygons:
    X = np.array([(*point, 0.0)[:3] for ring in rings for point in ring])
    return Polygons(X, np.arange(len(X)), np.concatenate(([0], np.cumsum([len(ring) for ring in rings]))))


def areas(polygons: Polygons) -> tuple[np.ndarray, np.ndarray]:
    """Signed area along z of each triangle, and of each polygon."""
    triangles, face, _ = triangulate(polygons, "a")
    x = polygons.X[triangles]
    signed = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])[:, 2]
    return signed, np.bincount(face, weights=signed)


def test_quads():
    kite = [(0, 0), (2, -1), (4, 0), (2, 1)]
    dart = [(0, 0), (4, 0), (1, 1), (0, 4)]
    straight = [(0, 0), (1, 0), (2, 0), (1, 1)]
    polygons = make_polygons(kite, dart, straight, dart[1:] + dart[:1], [(0, 0), (1, 0), (1, 1), (0, 1)])
    triangles, *_ = triangulate(polygons, "a")
    signed, whole = areas(polygons)
    assert (signed > 0.1).all()
    np.testing.assert_allclose(whole, [4, 4, 1, 4, 1])
    assert triangles[:2].tolist() == [[0, 1, 3], [1, 2, 3]]
    assert triangles[-2:].tolist() == [[16, 17, 18], [16, 18, 19]]


def test_larger_polygons():
    comb = [
        (0, 0),
        (7, 0),
        (7, 3),
        (6, 3),
        (6, 1),
        (5, 1),
        (5, 3),
        (4, 3),
        (4, 1),
        (3, 1),
        (3, 3),
        (2, 3),
        (2, 1),
        (0, 1),
    ]
    midpoints = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 3), (1.5, 3), (0, 3), (0, 1)]
    # a square with a hole, joined to it by a bridge that is walked twice
    keyhole = [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (1, 1), (1, 2), (2, 2), (2, 1), (1, 1)]
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.column_stack((np.cos(angle), np.sin(angle))).tolist()
    star = [(r * np.cos(a), r * np.sin(a)) for a, r in zip(angle.tolist(), [1, 0.3] * 12, strict=True)]
    rings = [comb, midpoints, keyhole, circle, star]
    polygons = make_polygons(*rings)
    signed, whole = areas(polygons)
    assert (signed > 1e-6).all()
    shoelace = [0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(r, r[1:] + r[:1], strict=True)) for r in rings]
    np.testing.assert_allclose(whole, shoelace)
    # turned over and into another plane, the other side shows
    turned = Polygons(polygons.X[:, [2, 0, 1]], polygons.corners, polygons.starts)
    x = turned.X[triangulate(turned, "a")[0]]
    assert (np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])[:, 0] > 0).all()


@given(st.integers(5, 40), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_ears_of_star_shaped_polygons(size, seed):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * (np.arange(size) + 0.8 * rng.random(size)) / size
    flat = rng.uniform(0.1, 1, (size, 1)) * np.column_stack((np.cos(angle), np.sin(angle)))
    triangles = clip_ears(flat)
    x = flat[triangles]
    signed = 0.5 * ((x[:, 1] - x[:, 0]) * (x[:, 2] - x[:, 0])[:, ::-1] * (1, -1)).sum(axis=1)
    following = np.roll(flat, -1, axis=0)
    assert (signed > -1e-12).all()
    assert signed.sum() == pytest.approx(0.5 * (flat[:, 0] * following[:, 1] - flat[:, 1] * following[:, 0]).sum())


def test_crossing_and_endless_polygons(tmp_path):
    angle = 2 * np.pi * np.arange(7) * 3 / 7
    crossing = make_polygons(np.column_stack((np.cos(angle), np.sin(angle))).tolist())
    assert triangulate(crossing, "a")[0].shape == (5, 3)
    many = [(float(x), float(x % 2)) for x in range(2500)] + [(2500.0, 5.0), (-1.0, 5.0)]
    with pytest.raises(SceneError, match="2502 corners that is not convex, face 0: split it"):
        triangulate(make_polygons(many), "a")


def test_repeated_corners():
    polygons = Polygons(np.zeros((5, 3)), np.array([0, 1, 1, 0, 1, 2, 3, 4, 0, 0, 0, 1]), np.array([0, 3, 6, 10, 12]))
    slim, affected = drop_repeats(polygons)
    assert affected.tolist() == [0, 2, 3]
    assert slim.corners.tolist() == [0, 1, 2, 3, 4, 0] and slim.numbers.tolist() == [1, 2]


# --- files that are refused ---

BINARY = (
    "ply\nformat binary_little_endian 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\n"
)
BINARY += "element face {m}\nproperty list {count} int vertex_indices\nend_header\n"
POINTS = np.array(SQUARE, dtype="<f4").tobytes()
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


def binary_ply(n: int, m: int, body: bytes, count: str = "uchar") -> bytes:
    return BINARY.format(n=n, m=m, count=count).encode() + body


def binary_stl(count: int, facets: int, head: bytes = b"") -> bytes:
    return head.ljust(80, b"\0") + struct.pack("<I", count) + bytes(50 * facets)


BAD = {
    "empty.obj": (b"", "no faces"),
    "blank.obj": (b"\n\n  \n", "no faces"),
    "points.obj": (TRIANGLE.encode(), "no faces, only 3 vertices"),
    "short.obj": (b"v 0 0\n", "line 1"),
    "word.obj": (b"# one\nv 0 0 x\nf 1 1 1\n", 'line 2 is "v 0 0 x"'),
    "hex.obj": (b"v 0 0 0x10\n", "line 1"),
    "comma.obj": (b"v 0,5 0 0\n", "line 1"),
    "fortran.obj": (b"v 1d5 0 0\n", "line 1"),
    "dots.obj": (b"v 0 0 0\nv 1.2.3 0 0\n", "line 2"),
    "bare.obj": (b"v\n", "line 1"),
    "face_word.obj": (b"v 0 0 0\nf 1 2 three\n", "line 2"),
    "face_float.obj": (TRIANGLE.encode() + b"f 1 2 3.5\n", "line 4"),
    "face_zero.obj": (TRIANGLE.encode() + b"f 0 1 2\n", "line 4"),
    "face_short.obj": (TRIANGLE.encode() + b"f 1 2\n", "line 4"),
    "face_bare.obj": (TRIANGLE.encode() + b"f\n", "line 4"),
    "face_slash.obj": (TRIANGLE.encode() + b"f /1 /2 /3\n", "line 4"),
    "face_minus.obj": (TRIANGLE.encode() + b"f 1-2 2 3\n", "line 4"),
    "face_lone_minus.obj": (TRIANGLE.encode() + b"f 1 2 -\n", "line 4"),
    "face_continued.obj": (TRIANGLE.encode() + b"f 1 2 \\\n3\nf 1 2 q", "line 6"),
    "high.obj": (TRIANGLE.encode() + b"\nf 1 2 4\n", r"face 1 \(line 5\) uses vertex 4, .* numbered 1 to 3"),
    "huge.obj": (TRIANGLE.encode() + b"f 1 2 99999999999999999999999\n", "face 1 .line 4. uses vertex"),
    "int32.obj": (TRIANGLE.encode() + b"f 1 2 4294967297\n", "uses vertex 4294967297"),
    "low.obj": (TRIANGLE.encode() + b"f 1 2 -4\n", r"face 1 \(line 4\) uses vertex"),
    "nan.obj": (b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "finite number at vertex 2"),
    "inf.obj": (b"v 0 0 0\nv 0 1e999 0\nv 0 -inf 0\nf 1 2 3\n", "2 vertices that are not finite.* vertex 2"),
    "twice.obj": (TRIANGLE.encode() + b"f 1 2 3\nf 1 2 2\n", r"face 2 \(line 5\)"),
    "same.obj": (TRIANGLE.encode() + b"f 1 2 3\nf 2 3 1\n", r"face 2 \(line 5\) repeats face 1 \(line 4\)"),
    "flat.obj": (b"v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", r"a triangle without area, face 1 \(line 4\)"),
    "far.obj": (b"v 0 0 0\nv 1e300 0 0\nv 0 1e300 0\nf 1 2 3\n", "beyond 1e"),
    "tiny.obj": (b"v 0 0 0\nv 1e-300 0 0\nv 0 1e-300 0\nf 1 2 3\n", "without area"),
    "noise.obj": (bytes(range(256)) * 20, "binary"),
    "utf16.obj": (QUAD_OBJ.encode("utf-16"), "binary"),
    "page.obj": (b"<!DOCTYPE html>\n<html>404</html>\n", "no faces"),
    "pointer.obj": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "no faces"),
    "hello.ply": (b"hello", "not a PLY"),
    "empty.ply": (b"", "not a PLY"),
    "head.ply": (QUAD_PLY.encode()[:60], "header is cut off"),
    "noend.ply": (b"ply\nformat ascii 1.0\nend_header", "header is cut off"),
    "many.ply": (b"ply\nformat ascii 2.0 x\nelement vertex many\nend_header\n", "header"),
    "minus.ply": (QUAD_PLY.replace("vertex 4", "vertex -4").encode(), "element vertex -4"),
    "float_list.ply": (QUAD_PLY.replace("list uchar int vertex", "list float int vertex").encode(), "list float int"),
    "unknown_type.ply": (QUAD_PLY.replace("float x", "half x").encode(), "property half x"),
    "two_names.ply": (QUAD_PLY.replace("float y", "float x").encode(), "two properties of one name"),
    "noformat.ply": (b"ply\nelement vertex 0\nend_header\n", "no format"),
    "middle.ply": (b"ply\nformat binary_middle_endian 1.0\nend_header\n", "binary_middle_endian"),
    "orphan.ply": (b"ply\nformat ascii 1.0\nproperty float x\nend_header\n", "property float x"),
    "novertex.ply": (b"ply\nformat ascii 1.0\nend_header\n", "no vertices"),
    "noz.ply": (QUAD_PLY.replace("float z", "float w").encode(), "no number z"),
    "noindex.ply": (QUAD_PLY.replace("vertex_index", "nothing").encode(), "no list vertex_indices"),
    "cut.ply": (QUAD_PLY.encode()[:-8], "cut off"),
    "cut_more.ply": (QUAD_PLY.encode()[:-60], "cut off|too much"),
    "word.ply": (QUAD_PLY.replace("1 1 0 255", "1 one 0 255").encode(), '"one"'),
    "length.ply": (QUAD_PLY.replace("4 0 1 2 3", "9999999999999 0 1 2 3").encode(), "impossible length"),
    "half.ply": (QUAD_PLY.replace("4 0 1 2 3", "3.5 0 1 2 3").encode(), "impossible length"),
    "nan_length.ply": (QUAD_PLY.replace("4 0 1 2 3", "nan 0 1 2 3").encode(), "impossible length"),
    "index.ply": (QUAD_PLY.replace("4 0 1 2 3", "3 0 1 9 0").encode(), "face 0 uses vertex 9, .* numbered 0 to 3"),
    "nan_index.ply": (QUAD_PLY.replace("4 0 1 2 3", "3 0 1 nan").encode(), "uses vertex"),
    "points.ply": (QUAD_PLY.replace("element face 1", "element face 0").encode(), "no faces"),
    "edge.ply": (QUAD_PLY.replace("4 0 1 2 3", "2 0 1").encode(), "fewer than three corners"),
    "counts.ply": (binary_ply(2147483647, 1, POINTS), "promises too much"),
    "more_counts.ply": (binary_ply(10**12, 1, POINTS), "header has a line"),
    "faces.ply": (binary_ply(4, 2147483647, POINTS), "promises too much"),
    "cut_points.ply": (binary_ply(4, 1, POINTS[:-1]), "cut off"),
    "cut_face.ply": (binary_ply(4, 1, POINTS + b"\3" + bytes(11)), "cut off"),
    "cut_mixed.ply": (binary_ply(4, 2, POINTS + b"\3" + bytes(12) + b"\4" + bytes(12)), "cut off"),
    "long_list.ply": (binary_ply(4, 1, POINTS + b"\xff\xff\xff\x7f" + bytes(12), "int"), "cut off"),
    "negative_list.ply": (binary_ply(4, 1, POINTS + b"\xff\xff\xff\xff" + bytes(12), "int"), "negative length"),
    "nan.ply": (
        binary_ply(3, 1, np.full((3, 3), np.nan, "<f4").tobytes() + b"\3" + struct.pack("<3i", 0, 1, 2)),
        "3 vertices that are not finite",
    ),
    "text.stl": (b"solid", "cut off"),
    "empty.stl": (b"", "not an STL"),
    "hello.stl": (b"hello", "not an STL"),
    "cut.stl": (QUAD_STL.encode()[:-20], "cut off"),
    "cut_line.stl": (QUAD_STL.encode()[:-60], "line 12"),
    "nofacets.stl": (b"solid a\nendsolid a\n", "no faces"),
    "word.stl": (QUAD_STL.replace("vertex 1 1 0", "vertex 1 one 0").encode(), "line 6"),
    "two.stl": (QUAD_STL.replace("vertex 1 1 0", "vertex 1 1").encode(), "line 6"),
    "quad.stl": (QUAD_STL.replace("vertex 1 1 0", "vertex 1 1 0\nvertex 2 2 0").encode(), "not triangles"),
    "promise.stl": (binary_stl(5, 2), "promises 5 facets and holds 2"),
    "billions.stl": (binary_stl(2**32 - 1, 2), "promises 4294967295 facets"),
    "none.stl": (binary_stl(0, 0), "no faces"),
    "zeros.stl": (binary_stl(1, 1), "corner twice"),
    "solid_cut.stl": (binary_stl(5, 2, b"solid x"), "promises 5"),
    "nan.stl": (binary_stl(1, 0) + np.full(12, np.nan, "<f4").tobytes() + b"\0\0", "finite"),
    "hello.usda": (b"hello", "not a USD file"),
    "empty.usda": (b"", "not a USD file"),
    "cut.usda": (QUAD_USDA.encode()[:200], "not a USD file"),
    "hello.usdc": (b"PXR-USDC" + bytes(80), "not a USD file"),
    "hello.usdz": (b"PK\3\4" + bytes(80), "not a USD file"),
    "hello.usd": (bytes(range(256)), "not a USD file"),
    "nomesh.usda": (b"#usda 1.0\n", "no mesh"),
    "counts.usda": (QUAD_USDA.replace("[4]", "[5]").encode(), "counts and indices"),
    "minus.usda": (QUAD_USDA.replace("[4]", "[-4, 8]").encode(), "counts and indices"),
    "index.usda": (QUAD_USDA.replace("2, 3]", "2, 4]").encode(), "face 0 of /quad uses a vertex"),
    "nan.usda": (QUAD_USDA.replace("(1, 1, 0)", "(nan, 1, 0)").encode(), "finite number at vertex 2"),
    "nofaces.usda": (QUAD_USDA.replace("[4]", "[]").replace("[0, 1, 2, 3]", "[]").encode(), "no faces"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("solid", [False, True])
def test_bad_files(tmp_path, name, solid):
    content, word = BAD[name]
    (tmp_path / name).write_bytes(content)
    mended = {"twice.obj", "same.obj", "edge.ply"}
    if solid and name in mended:
        if name == "edge.ply":
            word = "only triangles without area"
        else:
            assert load(tmp_path / name, solid=True).notes
            return
    if solid and ("corner twice" in word or "without area" in word):
        word = "without area"
    with pytest.raises(SceneError, match=word) as caught:
        load(tmp_path / name, solid=solid)
    message = str(caught.value)
    assert message.endswith(".") and message.count("\n") == 0
    assert name in message


def test_every_cut_of_a_binary_file(tmp_path):
    mesh = sphere(subdivisions=0)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles)
    write_stl(tmp_path / "a.stl", mesh.X, mesh.triangles)
    for name in ("a.ply", "a.stl"):
        whole = (tmp_path / name).read_bytes()
        for size in range(0, len(whole), 37):
            (tmp_path / name).write_bytes(whole[:size])
            with pytest.raises(SceneError):
                read_polygons(tmp_path / name)


def test_promises_cost_no_memory(tmp_path):
    tracemalloc.start()
    for name in ("counts.ply", "faces.ply", "long_list.ply", "billions.stl"):
        (tmp_path / name).write_bytes(BAD[name][0])
        with pytest.raises(SceneError):
            load(tmp_path / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


SEEDS = {
    ".obj": QUAD_OBJ.encode(),
    ".ply": QUAD_PLY.encode(),
    ".stl": QUAD_STL.encode(),
    ".PLY": binary_ply(4, 2, POINTS + b"\3" + struct.pack("<3i", 0, 1, 2) + b"\3" + struct.pack("<3i", 0, 2, 3)),
    ".STL": binary_stl(2, 2),
}


@st.composite
def mutated(draw):
    suffix = draw(st.sampled_from(sorted(SEEDS)))
    data = bytearray(SEEDS[suffix])
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(["set", "insert", "delete", "copy"]))
        some = draw(
            st.one_of(st.binary(max_size=6), st.sampled_from([b"nan", b"-1", b"\n", b" ", b"9" * 12, b"/", b"f "]))
        )
        if how == "set":
            data[at : at + len(some)] = some
        elif how == "insert":
            data[at:at] = some
        elif how == "delete":
            del data[at : at + draw(st.integers(1, 30))]
        else:
            data[at:at] = data[: draw(st.integers(1, 60))]
    return suffix, bytes(data)


def _never_a_traceback(folder, case, solid):
    suffix, data = case
    (folder / f"a{suffix}").write_bytes(data)
    try:
        surface = load(folder / f"a{suffix}", solid=solid)
    except SceneError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        assert isinstance(surface.mesh, Mesh) and np.isfinite(surface.mesh.X).all()
        assert all(note.endswith(".") and "\n" not in note for note in surface.notes)


@given(mutated(), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files(tmp_path, case, solid):
    _never_a_traceback(tmp_path, case, solid)


@pytest.mark.slow
@given(mutated(), st.booleans())
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_mutated_files(tmp_path, case, solid):
    _never_a_traceback(tmp_path, case, solid)
