"""Texture coordinates come in with every format that has them, and go through all that is done to a mesh."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, Vt

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, by_vertex, concatenate
from plisse.hierarchy.loop import subdivide
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict
from plisse.meshes import words
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.repair import repair_mesh
from plisse.meshes.surfaces import Surface, load_surface
from plisse.runs.checks import check_mesh_file
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import box, cylinder, disc, grid

# a quad and a triangle beside it; the edge between them is a seam
QUAD = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 2 0 0
vt 0 0
vt 0.5 0
vt 0.5 0.5
vt 0 0.5 0.7
vt 0.75
f 1/1/1 2/2/1 3/3/1 4/4/1
f 2/-5 5/-1 3/-3
"""
EXPECTED = [
    [[0, 0], [0.5, 0], [0.5, 0.5]],
    [[0, 0], [0.5, 0.5], [0, 0.5]],
    [[0, 0], [0.75, 0], [0.5, 0.5]],
]


def load(path: Path, **options: Any) -> Surface:
    solid = options.pop("solid", False)
    return load_surface(MeshSource(file=path.name, **options), path.parent, solid=solid)


def written(folder: Path, text: str) -> Path:
    path = folder / "mesh.obj"
    path.write_text(text, encoding="utf-8")
    return path


def seamed() -> Mesh:
    """An open cylinder, whose vertices at an angle of 0 have two texture coordinates."""
    mesh = cylinder(0.2, 0.5, around=12, along=3, closed=False)
    assert mesh.uv is not None and by_vertex(mesh.triangles, mesh.uv, len(mesh.X)) is None
    return mesh


# --- readers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [20, 1 << 24])
def test_obj_corners_have_their_own(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "PIECE", piece)
    surface = load(written(tmp_path, QUAD))
    np.testing.assert_array_equal(surface.mesh.uv, EXPECTED)
    assert surface.notes == (f"{tmp_path / 'mesh.obj'} has a face with more than three corners, split into triangles.",)


def test_obj_faces_without_any_have_nan(tmp_path: Path) -> None:
    text = QUAD.replace("2/-5 5/-1 3/-3", "2//1 5 3/")
    uv = load(written(tmp_path, text)).mesh.uv
    assert uv is not None
    np.testing.assert_array_equal(uv, [*EXPECTED[:2], np.full((3, 2), np.nan)])
    assert load(written(tmp_path, text.replace("1/1/1 2/2/1 3/3/1 4/4/1", "1 2 3 4"))).mesh.uv is None
    assert load(written(tmp_path, text.replace("vt", "# vt"))).mesh.uv is None


@pytest.mark.parametrize(
    ("good", "bad"), [("vt 0.5 0\n", "vt left 0\n"), ("vt 0.75\n", "vt\n"), ("5/-1", "5/9"), ("5/-1", "5/0"),
                      ("5/-1", "5/-9"), ("5/-1", "5/x"), ("5/-1", "5/1-2")],
)  # fmt: skip
def test_obj_damage_costs_only_the_texture(good: str, bad: str, tmp_path: Path) -> None:
    surface = load(written(tmp_path, QUAD.replace(good, bad)))
    assert surface.mesh.uv is None and len(surface.mesh.triangles) == 3
    assert surface.notes[0].endswith("mesh.obj has damaged texture coordinates, which were left out.")


@pytest.mark.parametrize("names", ["s t", "u v", "texture_u texture_v"])
def test_ply_vertices_have_one_each(names: str, tmp_path: Path) -> None:
    first, second = names.split()
    path = tmp_path / "mesh.ply"
    path.write_text(
        "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
        f"property float {first}\nproperty float {second}\nelement face 2\nproperty list uchar int vertex_indices\n"
        "end_header\n0 0 0 0 0\n1 0 0 .5 0\n1 1 0 .5 .25\n0 1 0 0 .25\n2 0 0 1 0\n4 0 1 2 3\n3 1 4 2\n"
    )
    uv = [[[0, 0], [0.5, 0], [0.5, 0.25]], [[0, 0], [0.5, 0.25], [0, 0.25]], [[0.5, 0], [1, 0], [0.5, 0.25]]]
    np.testing.assert_array_equal(load(path).mesh.uv, uv)


def make_stage(path: Path, uv: Floats, way: str, *, name: str = "st", kind: Any = None, **options: Any) -> Path:
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    mesh = UsdGeom.Mesh.Define(stage, "/mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0)])
    mesh.CreateFaceVertexCountsAttr([4, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3, 1, 4, 2])
    mesh.CreateOrientationAttr(options.get("orientation", "rightHanded"))
    api = UsdGeom.PrimvarsAPI(mesh)
    api.CreatePrimvar("Other", Sdf.ValueTypeNames.TexCoord2fArray, "constant").Set(Vt.Vec2fArray([(9, 9)]))
    primvar = api.CreatePrimvar(name, kind or Sdf.ValueTypeNames.TexCoord2fArray, way)
    primvar.Set(Vt.Vec2fArray.FromNumpy(np.asarray(uv, np.float32)))
    if "indices" in options:
        primvar.SetIndices(Vt.IntArray(options["indices"]))
    stage.Save()
    return path


FACES = [[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5], [0, 0], [0.75, 0], [0.5, 0.5]]


@pytest.mark.parametrize("name", ["st", "UVMap"])
def test_usd_face_varying(name: str, tmp_path: Path) -> None:
    np.testing.assert_array_equal(
        load(make_stage(tmp_path / "a.usda", FACES, "faceVarying", name=name)).mesh.uv, EXPECTED
    )
    index = [0, 1, 2, 3, 0, 4, 2]
    points = [[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5], [0.75, 0]]
    path = make_stage(tmp_path / "b.usda", points, "faceVarying", indices=index, name=name)
    np.testing.assert_array_equal(load(path).mesh.uv, EXPECTED)


def test_usd_of_points_and_as_plain_numbers(tmp_path: Path) -> None:
    points = np.array([[0, 0], [0.5, 0], [0.5, 0.25], [0, 0.25], [1, 0]])
    path = make_stage(tmp_path / "a.usda", points, "vertex", kind=Sdf.ValueTypeNames.Float2Array)
    mesh = load(path).mesh
    assert mesh.uv is not None
    np.testing.assert_array_equal(mesh.uv, points[mesh.triangles])
    # as many as there are of nothing
    assert load(make_stage(tmp_path / "b.usda", FACES, "vertex", name="x")).mesh.uv is not None
    assert load(make_stage(tmp_path / "c.usda", points[:3], "faceVarying")).mesh.uv is None
    assert (
        load(make_stage(tmp_path / "d.usda", points, "vertex", kind=Sdf.ValueTypeNames.Float2Array, name="x")).mesh.uv
        is None
    )


def test_usd_faces_that_are_turned_keep_their_corners(tmp_path: Path) -> None:
    right = load(make_stage(tmp_path / "a.usda", FACES, "faceVarying")).mesh
    left = load(make_stage(tmp_path / "b.usda", FACES, "faceVarying", orientation="leftHanded")).mesh

    def pairs(mesh: Mesh) -> set[tuple[float, ...]]:
        assert mesh.uv is not None
        return {tuple(row) for row in np.column_stack((mesh.triangles.ravel(), mesh.uv.reshape(-1, 2))).tolist()}

    assert pairs(left) == pairs(right) and not np.array_equal(left.triangles, right.triangles)


# --- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [grid(resolution=3), seamed()], ids=["grid", "seam"])
def test_written_and_read(mesh: Mesh, tmp_path: Path) -> None:
    write_obj(tmp_path / "a.obj", mesh.X, mesh.triangles, uv=mesh.uv)
    np.testing.assert_array_equal(load(tmp_path / "a.obj").mesh.uv, mesh.uv)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles, uv=mesh.uv)
    # corners of faces are float32 in PLY
    found = load(tmp_path / "a.ply").mesh
    np.testing.assert_allclose(found.uv, mesh.uv, rtol=1e-7, atol=0)
    np.testing.assert_array_equal(found.X, mesh.X)


def test_gaps_are_written_and_read(tmp_path: Path) -> None:
    mesh = seamed()
    assert mesh.uv is not None
    uv = mesh.uv.copy()
    uv[5:9] = np.nan
    for name, write in (("a.obj", write_obj), ("a.ply", write_ply)):
        write(tmp_path / name, mesh.X, mesh.triangles, uv=uv)
        np.testing.assert_allclose(load(tmp_path / name).mesh.uv, uv, rtol=1e-7, atol=0)


def test_a_solid_drops_them_with_its_triangles(tmp_path: Path) -> None:
    path = written(tmp_path, QUAD + "f 1/1 2/2 2/3\nf 2/5 5/5 3/5\n")
    np.testing.assert_array_equal(load(path, solid=True).mesh.uv, EXPECTED)


@pytest.mark.parametrize("suffix", [".obj", ".ply"])
def test_repair_keeps_them(suffix: str, tmp_path: Path) -> None:
    # a triangle twice, one turned over, and the seam's vertices doubled
    text = QUAD.replace("f 2/-5 5/-1 3/-3", "v 1 1 0\nf 6/3 5/-1 2/-5\nf 6/3 5/1 2/-5") + "v 9 9 9\n"
    repair_mesh(written(tmp_path, text), tmp_path / f"fixed{suffix}")
    found = load(tmp_path / f"fixed{suffix}").mesh
    assert len(found.X) == 5 and found.uv is not None
    np.testing.assert_allclose(found.uv[:2], EXPECTED[:2])
    np.testing.assert_allclose(found.uv[2], EXPECTED[2])
    np.testing.assert_array_equal(found.triangles[2], [1, 4, 2])


def test_repair_says_that_stl_has_none(tmp_path: Path) -> None:
    told = repair_mesh(written(tmp_path, QUAD), tmp_path / "fixed.stl")
    assert "Lost the texture coordinates, which .stl files do not hold." in told


# --- on the way through -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["linear", "loop"])
def test_subdivision_cuts_them_at_midpoints(rule: str) -> None:
    mesh = seamed()
    fine = subdivide(mesh, rule=rule)[0]
    assert fine.uv is not None and mesh.uv is not None
    # by the map of a corner's own triangle, which is affine: where its vertex would lie without Loop's smoothing
    flat = subdivide(Mesh(mesh.X, mesh.triangles), rule="linear")[0]
    np.testing.assert_array_equal(fine.triangles, flat.triangles)
    m = len(mesh.triangles)
    for part in range(4):
        for t in range(m):
            child = flat.X[flat.triangles[part * m + t]]
            weights = np.linalg.lstsq(mesh.X[mesh.triangles[t]].T, child.T, rcond=None)[0]
            weights = np.round(2 * weights) / 2
            np.testing.assert_allclose(fine.uv[part * m + t], weights.T @ mesh.uv[t], atol=1e-14)


def test_scaling_placing_and_putting_together_keep_them(tmp_path: Path) -> None:
    mesh = seamed()
    write_obj(tmp_path / "tube.obj", mesh.X, mesh.triangles, uv=mesh.uv)
    scene = scene_from_dict(
        {
            "shell": [{"file": "tube.obj", "scale": [1, 2, 3], "rotate": 30}],
            "collider": [{"name": "tube", "file": "tube.obj", "scale": 0.5, "translate": [1, 0, 0]}],
        },
        tmp_path,
    )
    geometry = load_geometry(scene, tmp_path)
    for found in (geometry.shells[0], geometry.colliders[0]):
        assert found is not None
        np.testing.assert_array_equal(found.uv, mesh.uv)
    both, _ = concatenate([box(resolution=1), mesh])
    assert both.uv is not None and np.isnan(both.uv[:12]).all()
    np.testing.assert_array_equal(both.uv[12:], mesh.uv)
    assert concatenate([box(resolution=1), box(resolution=1)])[0].uv is None


def test_flat_shapes_have_themselves() -> None:
    for mesh in (grid(2.0, 0.5, resolution=4), disc(0.5, rings=3), disc(hole=0.2, rings=3)):
        assert mesh.uv is not None
        size, uv = np.ptp(mesh.X, axis=0).max(), by_vertex(mesh.triangles, mesh.uv, len(mesh.X))
        assert uv is not None and uv.min() == 0.0 and uv.max() == 1.0
        np.testing.assert_allclose(np.ptp(size * uv - mesh.X[:, :2], axis=0), 0.0, atol=1e-12)


def test_an_open_cylinder_is_unrolled() -> None:
    mesh = seamed()
    assert mesh.uv is not None
    lengths = np.linalg.norm(mesh.uv - mesh.uv[:, (1, 2, 0)], axis=2) * 2 * np.pi * 0.2
    true = np.linalg.norm(mesh.X[mesh.triangles] - mesh.X[mesh.triangles[:, (1, 2, 0)]], axis=2)
    # the circle is a polygon of 12 sides
    assert np.abs(lengths / true - 1.0).max() < 0.013 and mesh.uv[..., 0].max() == 1.0
    assert cylinder(around=6).uv is None


def test_check_tells_of_them(tmp_path: Path) -> None:
    for mesh, told in ((seamed(), "  texture coordinates (UVs), with seams"), (grid(), "  texture coordinates (UVs)")):
        write_obj(tmp_path / "a.obj", mesh.X, mesh.triangles, uv=mesh.uv)
        assert told in check_mesh_file(tmp_path / "a.obj")
        write_obj(tmp_path / "a.obj", mesh.X, mesh.triangles)
        assert not any("UVs" in line for line in check_mesh_file(tmp_path / "a.obj"))


def test_nothing_is_asked_of_a_file_without_faces(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="has no faces"):
        load(written(tmp_path, "v 0 0 0\nvt 0 0\n"))
