"""Mending mesh files."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, check_manifold
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.repair import find_turned, repair_mesh
from plisse.meshes.surfaces import load_surface
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import box, grid, sphere, torus


def load(path, **options) -> Mesh:
    return load_surface(MeshSource(file=path.name, **options), path.parent).mesh


def shuffled(mesh: Mesh, seed: int) -> Mesh:
    """Every other triangle turned."""
    turned = np.random.default_rng(seed).random(len(mesh.triangles)) < 0.5
    return Mesh(mesh.X, np.where(turned[:, None], mesh.triangles[:, ::-1], mesh.triangles))


def together(*meshes: Mesh) -> Mesh:
    starts = np.cumsum([0, *(len(mesh.X) for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
    return Mesh(np.concatenate([mesh.X for mesh in meshes]), np.concatenate(triangles))


def moebius(around: int = 12) -> Mesh:
    angle = 2 * np.pi * np.arange(around) / around
    radius = 1 + np.array([-0.2, 0.2])[:, None] * np.cos(angle / 2)
    height = np.array([-0.2, 0.2])[:, None] * np.sin(angle / 2)
    X = np.stack((radius * np.cos(angle), radius * np.sin(angle), height), axis=2).reshape(-1, 3)
    k = np.arange(around)
    low, high = k, k + around
    # after a full turn the edges have changed places
    next_low = np.where(k == around - 1, around, k + 1)
    next_high = np.where(k == around - 1, 0, k + 1 + around)
    first, second = np.column_stack((low, next_low, high)), np.column_stack((high, next_low, next_high))
    return Mesh(X, np.concatenate((first, second)))


def test_everything_at_once(tmp_path):
    mesh = sphere(0.3, subdivisions=1)
    broken = shuffled(mesh, 1)
    m, n = len(mesh.triangles), len(mesh.X)
    loose = broken.X[broken.triangles].reshape(-1, 3)
    X = np.vstack((loose, [[7.0, 7, 7]]))
    triangles = np.vstack((np.arange(3 * m).reshape(-1, 3), [0, 1, 1], [2, 0, 1], [5, 4, 3]))
    write_ply(tmp_path / "a.ply", X, triangles)
    with pytest.raises(SceneError, match="--repair"):
        load(tmp_path / "a.ply")
    told = repair_mesh(tmp_path / "a.ply", tmp_path / "b.ply")
    flips = int((broken.triangles != mesh.triangles).any(axis=1).sum())
    assert told == [
        f"Joined {3 * m - n} vertices with others at exactly the same place.",
        "Dropped a face or triangle without area.",
        "Dropped 2 triangles with the same corners as an earlier one.",
        "Dropped a vertex that no triangle uses.",
        f"Flipped {flips} triangles, so that neighbours are oriented alike and closed surfaces face outwards.",
        "Vertices have new numbers: check pins that use them.",
    ]
    back = load(tmp_path / "b.ply")
    assert len(back.X) == n and len(back.triangles) == m
    assert back.volume == pytest.approx(mesh.volume)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.ply", "b.ply"]


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl"])
def test_sound_meshes_stay(tmp_path, suffix):
    mesh = torus(around=9, across=6)
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles)
    told = repair_mesh(tmp_path / "a.ply", tmp_path / f"b.{suffix}")
    assert told[0] == "Found nothing to repair." and len(told) == 1 + (suffix == "stl")
    back = load(tmp_path / f"b.{suffix}")
    np.testing.assert_allclose(back.X[back.triangles], mesh.X[mesh.triangles], atol=1e-7)


def test_orientation_by_surface():
    outside = Mesh(sphere(subdivisions=1).X, sphere(subdivisions=1).triangles[:, ::-1])
    sheet = grid(resolution=4)
    few = np.zeros(len(sheet.triangles), dtype=bool)
    few[[3, 7, 8]] = True
    turned_sheet = Mesh(sheet.X, np.where(few[:, None], sheet.triangles[:, ::-1], sheet.triangles))
    mesh = together(outside, turned_sheet, shuffled(box(resolution=2), 3))
    turned, twisted = find_turned(mesh)
    assert twisted == 0
    m = len(outside.triangles)
    assert turned[:m].all()
    np.testing.assert_array_equal(turned[m : m + len(few)], few)
    fixed = Mesh(mesh.X, np.where(turned[:, None], mesh.triangles[:, ::-1], mesh.triangles))
    check_manifold(fixed, "all")
    assert fixed.volume > 0


def test_one_sided_surfaces_are_left(tmp_path):
    band = moebius()
    turned, twisted = find_turned(together(band, shuffled(sphere(subdivisions=0), 2)))
    assert twisted == 1 and not turned[: len(band.triangles)].any() and turned.any()
    write_obj(tmp_path / "a.obj", band.X, band.triangles)
    told = repair_mesh(tmp_path / "a.obj", tmp_path / "b.obj")
    assert told == [
        "Found nothing to repair.",
        "Left 1 surface(s) as they are, which have only one side, like a Möbius strip.",
    ]


def test_what_cannot_be_mended_is_told(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0.5 1e-5 3\nv 0 0 3\nv 1 0 3\n"
    (tmp_path / "a.obj").write_text(text + "f 1 2 3\nf 2 1 4\nf 1 2 5\nf 7 8 6\n")
    told = repair_mesh(tmp_path / "a.obj", tmp_path / "b.obj")
    assert told[0] == "Found nothing to repair."
    assert "sliver" in told[1] and "more than two triangles share the edge between vertex 1 and vertex 2" in told[2]


def test_names_are_kept_in_obj(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\no one\ng hem\nf 1 2 3 4\n"
    text += "o two\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3 -2 -1\n"
    (tmp_path / "a.obj").write_text(text)
    told = repair_mesh(tmp_path / "a.obj", tmp_path / "b.obj")
    assert told[0] == "Split a face with more than three corners into triangles."
    assert len(load(tmp_path / "b.obj", object="one").triangles) == 2
    assert len(load(tmp_path / "b.obj", object="two").triangles) == 1
    surface = load_surface(MeshSource(file="b.obj"), tmp_path)
    # faces stay in their group until another one is named
    assert surface.groups["hem"].tolist() == list(range(7))
    told = repair_mesh(tmp_path / "a.obj", tmp_path / "b.stl")
    assert "Lost the names of objects and groups, which .stl files do not hold." in told


def test_usd_is_written_in_metres(tmp_path):
    pytest.importorskip("pxr.Usd")
    (tmp_path / "a.usda").write_text(
        '#usda 1.0\n(\nmetersPerUnit = 0.01\nupAxis = "Y"\n)\ndef Mesh "q"\n{\npoint3f[] points = [(0,0,0),(100,0,0),'
        "(100,100,0)]\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0,1,2]\n}\n"
    )
    assert "Wrote positions in metres, z up." in repair_mesh(tmp_path / "a.usda", tmp_path / "b.ply")
    np.testing.assert_allclose(load(tmp_path / "b.ply").X, [[0, 0, 0], [1, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    ("text", "out", "word"),
    [("f 1 2 3\n", "a.obj", "give --out another name"), ("f 1 2 3\n", "sub/../a.obj", "give --out another name"),
     ("f 1 2 3\n", "link.obj", "give --out another name"), ("f 1 2 3\n", "b.blend", "unknown format"),
     ("f 1 2 3\n", "none/b.obj", "cannot be written: No such file"), ("f 1 2 3\n", "sub.ply", "already exists"),
     ("f 1 2 9\n", "b.obj", "uses vertex 9"), ("f 1 1 1\n", "b.obj", "nothing is left"), ("", "b.obj", "no faces")],
)  # fmt: skip
def test_refusals_leave_nothing(tmp_path, text, out, word):
    before = "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + text
    (tmp_path / "a.obj").write_text(before)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub.ply").mkdir()
    (tmp_path / "link.obj").symlink_to(tmp_path / "a.obj")
    with pytest.raises(SceneError, match=word) as caught:
        repair_mesh(tmp_path / "a.obj", tmp_path / out)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert (tmp_path / "a.obj").read_text() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.obj", "link.obj", "sub", "sub.ply"]
