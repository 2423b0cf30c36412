"""Weights of regions: by selection, by a PLY property, by a text file; and what can be wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict
from plisse.meshes.ply import read_ply_polygons
from plisse.meshes.repair import repair_mesh
from plisse.meshes.surfaces import load_surface
from plisse.runs.checks import check_mesh_file
from plisse.scene.sources import MeshSource

# a square of two triangles, and a vertex before it that no face uses
HEAD = "element vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
FACES = "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
X = np.array([[9, 9, 9], [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)


def write_painted(path: Path, kind: str, values: list[float], *, order: str = "ascii") -> None:
    """The square with a vertex property `hem` of the given type."""
    head = f"ply\nformat {order} 1.0\n{HEAD}property {kind} hem\n{FACES}"
    if order == "ascii":
        rows = [f"{x:g} {y:g} {z:g} {value:g}" for (x, y, z), value in zip(X, values, strict=True)]
        path.write_text(head + "\n".join([*rows, "3 1 2 3", "3 1 3 4"]) + "\n")
        return
    mark = "<" if order == "binary_little_endian" else ">"
    number = mark + {"float": "f4", "double": "f8", "uchar": "u1"}[kind]
    vertices = np.empty(5, [("x", f"{mark}f4", 3), ("hem", number)])
    vertices["x"], vertices["hem"] = X, values
    faces = np.empty(2, [("n", "u1"), ("i", f"{mark}i4", 3)])
    faces["n"], faces["i"] = 3, [[1, 2, 3], [1, 3, 4]]
    path.write_bytes(head.encode() + vertices.tobytes() + faces.tobytes())


def weights_of(folder: Path, region: dict[str, Any], **shell: Any) -> Floats:
    body = {"name": "cloth"} | shell | {"region": [{"E": 1e6} | region]}
    scene = scene_from_dict({"shell": [body]}, folder)
    ((weights,),) = load_geometry(scene, folder).regions
    return weights


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize(
    ("kind", "painted", "expected"),
    [
        ("float", [7, 0, 0.25, 1, 0.5], [0, 0.25, 1, 0.5]),
        ("double", [-3, 0.125, 0.25, 1, 1], [0.125, 0.25, 1, 1]),
        ("uchar", [0, 0, 51, 255, 204], [0, 0.2, 1, 0.8]),
        ("uchar", [0, 0, 1, 1, 0], [0, 1, 1, 0]),
    ],
)
def test_a_ply_property_by_name(
    tmp_path: Path, kind: str, order: str, painted: list[float], expected: list[float]
) -> None:
    write_painted(tmp_path / "cloth.ply", kind, painted, order=order)
    # the first vertex is dropped, and what is painted there with it
    assert weights_of(tmp_path, {"attribute": "hem"}, file="cloth.ply").tolist() == expected


def test_properties_of_vertices_are_kept_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "cloth.ply"
    write_painted(path, "float", [0, 1, 2, 3, 4])
    assert read_ply_polygons(path).attributes["hem"].tolist() == [0, 1, 2, 3, 4]
    assert load_surface(MeshSource(file="cloth.ply"), tmp_path).attributes["hem"].tolist() == [1, 2, 3, 4]
    assert "  vertex attributes: hem" in check_mesh_file(path)
    assert "Lost the vertex attributes hem." in repair_mesh(path, tmp_path / "mended.ply")


def test_rounding_at_the_ends_is_forgiven(tmp_path: Path) -> None:
    write_painted(tmp_path / "cloth.ply", "double", [0, -1e-8, 1 + 1e-8, 1, 1])
    assert weights_of(tmp_path, {"attribute": "hem"}, file="cloth.ply").tolist() == [0, 1, 1, 1]


def test_a_text_file_has_a_weight_for_each_vertex_of_the_mesh_file(tmp_path: Path) -> None:
    write_painted(tmp_path / "cloth.ply", "float", [0, 0, 0, 0, 0])
    (tmp_path / "hem.txt").write_text("# painted by hand\n0.9 # loose\n0, 0.25\n1\n5e-1\n")
    assert weights_of(tmp_path, {"weights": "hem.txt"}, file="cloth.ply").tolist() == [0, 0.25, 1, 0.5]


def test_a_selection_weighs_one(tmp_path: Path) -> None:
    sheet = {"shape": "grid", "resolution": 2}
    assert weights_of(tmp_path, {"vertices": [4, 8]}, **sheet).tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert weights_of(tmp_path, {"corners": True}, **sheet).tolist() == [1, 0, 1, 0, 0, 0, 1, 0, 1]
    (tmp_path / "ids.txt").write_text("0 1")
    assert weights_of(tmp_path, {"ids": "ids.txt"}, **sheet).sum() == 2
    (tmp_path / "cloth.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\ng hem\nf 1 2 3\ng off\nf 1 3 4\n")
    assert weights_of(tmp_path, {"group": "hem"}, file="cloth.obj").tolist() == [1, 1, 1, 0]


def test_a_scene_without_regions_has_no_weights(tmp_path: Path) -> None:
    scene = scene_from_dict({"shell": [{"shape": "grid", "resolution": 2}]}, tmp_path)
    assert load_geometry(scene, tmp_path).regions == ()


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ({"attribute": "hen"}, 'A region of cloth names the vertex attribute "hen" .did you mean "hem".*mesh has hem'),
        ({"group": "hem"}, 'A region of cloth names the vertex group "hem", but its mesh has none'),
        ({"attribute": "hem"}, 'weight nan at vertex 3 .counted from 0. by its attribute "hem"'),
        ({"weights": "hem.txt"}, r"hem\.txt does not exist: correct the name of the file with weights"),
        ({"weights": "short.txt"}, r"short\.txt holds 3 weights, but the mesh of cloth has 5 vertices"),
        ({"weights": "word.txt"}, r"word\.txt, line 2: 'half' is no weight"),
        ({"weights": "nan.txt"}, r"weight nan at vertex 2 .*by its .*nan\.txt: give weights from 0 to 1"),
        ({"weights": "more.txt"}, "weight 1.5 at vertex 4"),
        ({"weights": "less.txt"}, "weight -0.5 at vertex 1"),
        ({"weights": "zero.txt"}, "A region of cloth has the weight 0 at all vertices"),
        ({"box": [[5, 5, 5], [6, 6, 6]]}, "A region of cloth selects no vertex"),
        ({"vertices": [77]}, "A region of cloth names vertex 77"),
    ],
)  # fmt: skip
def test_weights_that_make_no_sense_are_one_sentence(tmp_path: Path, region: dict[str, Any], words: str) -> None:
    write_painted(tmp_path / "cloth.ply", "float", [0, 1, 1, float("nan"), 1])
    for name, text in {
        "short": "1 1 1", "word": "1\nhalf", "nan": "1 1 nan 1 1", "more": "1 1 1 1 1.5", "less": "1 -0.5 1 1 1",
        "zero": "1 0 0 0 0",
    }.items():  # fmt: skip
        (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(SceneError, match=words):
        weights_of(tmp_path, region, file="cloth.ply")


def test_a_generated_shape_has_no_attributes(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match='names the vertex attribute "hem", but its mesh has none'):
        weights_of(tmp_path, {"attribute": "hem"}, shape="grid")
