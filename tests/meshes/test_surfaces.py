"""Surfaces and sequences as scenes ask for them."""

import os

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, check_manifold
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.stl import write_stl
from plisse.meshes.surfaces import load_surface, load_track
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import box, grid, sphere

WRITERS = {"obj": write_obj, "ply": write_ply, "stl": write_stl}
TWO_OBJECTS = """o cloth
g hem top
v 0 0 0
v 1 0 0
v 1 1 0
f 1 2 3
g top
v 0 1 0
f 1 3 4
o body part
g
v 5 0 0
v 6 0 0
v 6 1 0
v 9 9 9
f -4 -3 -2
"""


def load(path, **options):
    solid = options.pop("solid", False)
    return load_surface(MeshSource(file=path.name, **options), path.parent, solid=solid)


def one_sentence(error: SceneError) -> bool:
    text = str(error)
    return text.endswith(".") and "\n" not in text and "Traceback" not in text


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.obj"
    path.write_text(TWO_OBJECTS)
    return path


def test_all_objects_are_one_mesh(two):
    surface = load(two)
    assert len(surface.mesh.X) == 7 and len(surface.mesh.triangles) == 3
    assert surface.vertex_of_id.tolist() == [0, 1, 2, 3, 4, 5, 6, -1]
    assert {name: ids.tolist() for name, ids in surface.groups.items()} == {"hem": [0, 1, 2], "top": [0, 1, 2, 3]}
    assert surface.notes == (
        f"{two} holds several objects, read as one mesh: cloth, body part.",
        f"{two} has a vertex that no face uses, which was dropped.",
    )


@pytest.mark.parametrize(
    ("name", "ids", "first"),
    [("cloth", [0, 1, 2, 3, -1, -1, -1, -1], (0, 0, 0)), ("body part", [-1] * 4 + [0, 1, 2, -1], (5, 0, 0)),
     ("hem", [0, 1, 2, -1, -1, -1, -1, -1], (0, 0, 0))],
)  # fmt: skip
def test_one_object(two, name, ids, first):
    surface = load(two, object=name)
    assert surface.vertex_of_id.tolist() == ids
    assert surface.mesh.X[0].tolist() == list(first)
    assert not surface.notes


def test_missing_object_is_suggested(two):
    with pytest.raises(SceneError, match=r'no object "clot" .did you mean "cloth".*it holds cloth, body part'):
        load(two, object="clot")
    write_ply(two.parent / "a.ply", *_arrays(grid(resolution=2)))
    with pytest.raises(SceneError, match="names no objects"):
        load(two.parent / "a.ply", object="clot")


def test_errors_in_one_object_use_the_files_numbers(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(TWO_OBJECTS + "o thin\nv 0 0 0\nv 1 0 0\nv 0.5 1e-5 0\n\nf 9 10 11\n")
    load(path, object="cloth")
    with pytest.raises(SceneError, match=r"a sliver triangle, face 4 \(line 22\), whose height") as caught:
        load(path, object="thin")
    assert one_sentence(caught.value)


def _arrays(mesh: Mesh):
    return mesh.X, mesh.triangles


@pytest.mark.parametrize("suffix", WRITERS)
def test_up_and_unit(tmp_path, suffix):
    mesh = box(resolution=2)
    path = tmp_path / f"a.{suffix}"
    WRITERS[suffix](path, mesh.X * (1, 2, 3), mesh.triangles)
    surface = load(path, up="y", unit="cm")
    X = surface.mesh.X
    np.testing.assert_allclose(np.ptp(X, axis=0), 0.01 * np.ptp(mesh.X, axis=0) * (1, 3, 2), rtol=1e-6)
    assert surface.mesh.volume == pytest.approx(6e-6 * mesh.volume, rel=1e-6)
    if suffix != "stl":
        np.testing.assert_allclose(X, 0.01 * np.column_stack((mesh.X[:, 0], -3 * mesh.X[:, 2], 2 * mesh.X[:, 1])))
    check_manifold(surface.mesh, "a")


def test_shapes_have_no_notes(tmp_path):
    surface = load_surface(MeshSource(shape="grid"), tmp_path)
    assert surface.notes == () and surface.groups == {}
    assert surface.vertex_of_id.tolist() == list(range(len(surface.mesh.X)))


def test_odd_sizes_are_told(tmp_path):
    path = tmp_path / "a.ply"
    write_ply(path, *_arrays(grid(250.0, 250.0, resolution=2)))
    assert "set unit" in load(path).notes[0]
    assert not load(path, unit="mm").notes
    write_ply(path, grid(resolution=2).X * 1e12, grid(resolution=2).triangles)
    with pytest.raises(SceneError, match=r"beyond 1e\+09 m at vertex 0"):
        load(path)


def test_unjoined_corners_are_told(tmp_path):
    mesh = box(resolution=2)
    path = tmp_path / "a.ply"
    write_ply(path, mesh.X[mesh.triangles].reshape(-1, 3), np.arange(3 * len(mesh.triangles)).reshape(-1, 3))
    (note,) = load(path).notes
    assert f"{3 * len(mesh.triangles) - len(mesh.X)} vertices at exactly the place of others" in note
    assert "--repair" in note


def flawed() -> Mesh:
    """A box with a fin on an edge, a turned triangle, one twice, one without area, and a sliver."""
    mesh = box(resolution=1)
    X = np.vstack((mesh.X, [[3, 3, 3], [5, 5, 5], [6, 5, 5], [5.5, 5.0001, 5]]))
    n = len(mesh.X)
    extra = [[*mesh.triangles[0, :2], n], mesh.triangles[3], [0, 1, 1], [n + 1, n + 2, n + 3]]
    triangles = np.concatenate((mesh.triangles, extra))
    triangles[5] = triangles[5, ::-1]
    return Mesh(X, triangles)


def test_solids_may_be_flawed(tmp_path):
    mesh = flawed()
    write_ply(tmp_path / "a.ply", mesh.X, mesh.triangles)
    surface = load(tmp_path / "a.ply", solid=True)
    assert len(surface.mesh.triangles) == len(mesh.triangles) - 2
    told = " ".join(surface.notes)
    for words in ("2 triangles without area or given twice", "sliver", "more than two", "not consistently oriented"):
        assert words in told
    assert all(note.startswith(str(tmp_path / "a.ply")) and note.endswith(".") for note in surface.notes)
    with pytest.raises(
        SceneError, match="corner twice or fewer than three corners, face 14: repair it with `plisse check --rep"
    ):
        load(tmp_path / "a.ply")


def test_solid_without_area_is_refused(tmp_path):
    write_ply(tmp_path / "a.ply", np.zeros((3, 3)), np.array([[0, 1, 2]]))
    with pytest.raises(SceneError, match="only triangles without area"):
        load(tmp_path / "a.ply", solid=True)


# --- files that are not there ---


@pytest.mark.parametrize(
    ("name", "word"),
    [("missing.obj", "does not exist"), ("folder.obj", "is a folder"), ("a.blend", 'unknown format ".blend"'),
     ("plain", "unknown format"), ("none/a.obj", "does not exist"), ("x" * 300 + ".obj", "cannot be read")],
)  # fmt: skip
def test_files_that_cannot_be_opened(tmp_path, name, word):
    (tmp_path / "folder.obj").mkdir()
    (tmp_path / "a.blend").write_bytes(b"BLENDER")
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(SceneError, match=word) as caught:
        load_surface(MeshSource(file=name), tmp_path)
    assert one_sentence(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(TWO_OBJECTS)
    path.chmod(0)
    with pytest.raises(SceneError, match="Permission denied"):
        load(path)


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.obj")
    with pytest.raises(SceneError, match="not a regular file"):
        load(tmp_path / "a.obj")


def test_names_of_any_script(tmp_path):
    path = tmp_path / "jupe plissée 裙.obj"
    path.write_text(TWO_OBJECTS.replace("cloth", "裙"), encoding="utf-8")
    assert len(load(path, object="裙").mesh.triangles) == 2


# --- sequences ---


def write_sequence(folder, suffix="ply", count=11):
    folder.mkdir()
    mesh = sphere(0.5, subdivisions=1)
    X = np.vstack((mesh.X, [[9.0, 9, 9]]))
    for k in range(count):
        WRITERS[suffix](folder / f"frame{k + 1}.{suffix}", X + np.array((0, 0, 0.125 * k)), mesh.triangles)
    return mesh


@pytest.mark.parametrize("suffix", WRITERS)
def test_sequence_in_natural_order(tmp_path, suffix):
    mesh = write_sequence(tmp_path / "walk", suffix)
    (tmp_path / "walk" / ".frame0.obj").write_text("hidden")
    (tmp_path / "walk" / "notes.txt").write_text("other")
    source = MeshSource(sequence="walk", start=0.5, rate=10.0)
    surface, track = load_surface(source, tmp_path, solid=True), load_track(source, tmp_path)
    np.testing.assert_allclose(track.times, 0.5 + np.arange(11) / 10)
    assert track.positions.shape == (11, len(mesh.X), 3)
    np.testing.assert_array_equal(track.positions[0], surface.mesh.X)
    expected = surface.mesh.X + np.arange(11)[:, None, None] * (0, 0, 0.125)
    np.testing.assert_allclose(track.positions, expected, atol=1e-6)
    assert load_track(MeshSource(sequence="walk"), tmp_path).times[1] == pytest.approx(1 / 24)


def test_sequence_in_other_axes(tmp_path):
    write_sequence(tmp_path / "walk")
    source = MeshSource(sequence="walk", up="y", unit="cm")
    track = load_track(source, tmp_path)
    np.testing.assert_allclose(track.positions[0], load_surface(source, tmp_path, solid=True).mesh.X)
    # z of the file is −y of the world
    np.testing.assert_allclose(track.positions[10].mean(axis=0), (0, -0.0125, 0), atol=1e-12)


def _break(folder, how):
    mesh = sphere(0.5, subdivisions=1)
    X = np.vstack((mesh.X, [[9.0, 9, 9]]))
    path = folder / "frame7.ply"
    if how == "vertices":
        write_ply(path, X[:-1], mesh.triangles)
    elif how == "faces":
        write_ply(path, X, mesh.triangles[:-1])
    elif how == "joins":
        write_ply(path, X, np.roll(mesh.triangles, 1, axis=1))
    elif how == "nan":
        X[3] = np.nan
        write_ply(path, X, mesh.triangles)
    elif how == "format":
        (folder / "frame7.obj").write_text("")
    elif how == "garbage":
        path.write_bytes(b"ply garbage")
    elif how == "one":
        for file in folder.iterdir():
            if file.name != path.name:
                file.unlink()
    elif how == "none":
        for file in folder.iterdir():
            file.unlink()


@pytest.mark.parametrize(
    ("how", "words"),
    [("vertices", "frame7.ply has 42 vertices, but frame1.ply has 43"), ("faces", "frame7.ply has 79 faces"),
     ("joins", "frame7.ply connects its vertices differently from frame1.ply, first at face 0"),
     ("nan", "frame7.ply has a coordinate"), ("format", "several formats, .obj and .ply"),
     ("garbage", "frame7.ply cannot be read"), ("one", "only 1 frame"), ("none", "holds no meshes")],
)  # fmt: skip
def test_broken_sequences(tmp_path, how, words):
    write_sequence(tmp_path / "walk")
    _break(tmp_path / "walk", how)
    with pytest.raises(SceneError, match=words) as caught:
        load_track(MeshSource(sequence="walk"), tmp_path)
    assert one_sentence(caught.value)


def test_sequences_that_are_none(tmp_path):
    write_ply(tmp_path / "a.ply", *_arrays(grid(resolution=1)))
    with pytest.raises(SceneError, match="is a single mesh"):
        load_track(MeshSource(sequence="a.ply"), tmp_path)
    with pytest.raises(SceneError, match="does not exist"):
        load_surface(MeshSource(sequence="walk"), tmp_path, solid=True)
