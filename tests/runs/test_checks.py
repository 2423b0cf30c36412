"""What `plisse check` prints of scenes and meshes that are fine."""

from pathlib import Path

import numpy as np
import pytest

import plisse.runs.checks
from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, concatenate
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.progressive.feasibility import Estimate, check_size, estimate
from plisse.runs.checks import check_mesh_file, check_scene_file
from plisse.shapes.catalogue import cylinder, grid, sphere

EXAMPLES = sorted(Path(plisse.__file__).parent.glob("examples/*.toml"))
SCENE = """
[[shell]]
name = "cloth"
shape = "grid"
resolution = 4
material = "wool"
[[shell.pin]]
corners = true
[[shell]]
name = "sheet"
shape = "disc"
rings = 2
translate = [0, 0, 1]
[[collider]]
name = "ball"
shape = "sphere"
subdivisions = 1
[[collider]]
name = "ground"
shape = "floor"
[contact]
offset = "0.3 mm"
dhat = "2 mm"
stiffness = 1000
friction = 0.45
[hierarchy]
levels = 3
"""


def write(path, mesh, **names):
    write_obj(path, mesh.X, mesh.triangles, **names)
    return path


def test_a_scene_is_told_body_by_body(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    assert check_scene_file(path) == [
        f"{path}: can be simulated.",
        "  cloth: shell of wool, 25 vertices, 32 triangles, 4 pinned",
        "  sheet: shell of cotton, 19 vertices, 24 triangles",
        "  ball: collider, 42 vertices, 80 triangles",
        "  ground: collider, half-space",
        "  contact: offset 0.3 mm, dhat 2 mm, stiffness 1e+03 Pa, friction 0.45",
        "  3 levels, 506 vertices on the finest level: about 0.3 GB and 0.0051 s per Newton iteration",
    ]


def test_values_can_be_set(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    lines = check_scene_file(path, ["shell.0.material=silk", "hierarchy.levels=1", "collider=[]"])
    assert "  cloth: shell of silk, 25 vertices, 32 triangles, 4 pinned" in lines
    assert lines[-1].startswith("  1 level, 44 vertices") and not any("ball" in line for line in lines)


def test_regions_are_told(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    lines = check_scene_file(path, ["shell.1.region=[{boundary=true, E=1e6}, {vertices=[3, 4], thickness=1e-3}]"])
    at = lines.index("  sheet: shell of cotton, 19 vertices, 24 triangles")
    assert lines[at + 1 : at + 3] == ["    region 0: 12 vertices", "    region 1: 2 vertices"]


def test_friction_of_its_own_is_told(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    lines = check_scene_file(path, ["shell.1.friction=0.8", "collider.1.friction=0"])
    assert "  sheet: shell of cotton, 19 vertices, 24 triangles, friction 0.8" in lines
    assert "  ground: collider, half-space, friction 0" in lines


# two scenes need files that are made when they are copied
@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem not in ("walk", "skirt")], ids=lambda path: path.stem)
def test_examples_can_be_simulated(path, tmp_path, capsys):
    assert main(["check", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{path}: can be simulated.\n") and err == "" and "note" not in out


def test_the_estimate_counts_what_subdivision_makes(tmp_path):
    from plisse.hierarchy.loop import subdivide
    from plisse.loading.geometry import load_geometry
    from plisse.loading.scene_file import load_scene

    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    scene = load_scene(path)
    geometry = load_geometry(scene, tmp_path)
    vertices = triangles = 0
    for mesh in geometry.shells:
        for _ in range(2):
            mesh = subdivide(mesh, rule="linear")[0]
        vertices, triangles = vertices + len(mesh.X), triangles + len(mesh.triangles)
    found = estimate(scene, geometry)
    assert (found.vertices, found.triangles) == (vertices, triangles)


def test_an_estimate_beyond_the_memory_is_refused():
    large = Estimate(2_500_000, 5_000_000, 44e9, 240.0)
    assert large.describe().endswith("about 44 GB and 4 min per Newton iteration")
    check_size(large, 45e9)
    with pytest.raises(SceneError, match=r"44 GB and 4 min .* there are 22 GB; .*--yes\.$"):
        check_size(large, 22e9)


def test_memory_is_that_of_the_machine():
    assert 1e8 < plisse.runs.checks.memory() < 1e14


# --- meshes -----------------------------------------------------------------------------------------------------------


def test_a_mesh_is_told_with_its_sizes(tmp_path):
    path = write(tmp_path / "a.obj", grid(2.0, 1.0, resolution=[4, 2], diagonals="uniform"))
    assert check_mesh_file(path) == [
        f"{path}: can be a shell.",
        "  15 vertices, 16 triangles, 1 piece, open with 1 boundary loop",
        "  size 2 × 1 × 0 m, if its unit is the metre",
        "  edges from 0.5 to 0.707 m, 0.555 m on average",
    ]


@pytest.mark.parametrize(
    ("mesh", "told"),
    [
        (sphere(subdivisions=1), "1 piece, closed"),
        (cylinder(closed=False, around=12, along=3), "1 piece, open with 2 boundary loops"),
        (concatenate([grid(resolution=2), Mesh(sphere(subdivisions=1).X + 3.0, sphere(subdivisions=1).triangles)])[0],
         "2 pieces, open with 1 boundary loop"),
    ],
)  # fmt: skip
def test_pieces_and_boundary_loops_are_counted(tmp_path, mesh, told):
    path = tmp_path / "a.ply"
    write_ply(path, mesh.X, mesh.triangles)
    assert check_mesh_file(path)[1].endswith(f", {told}")


def test_groups_and_notes_are_listed(tmp_path):
    mesh = grid(resolution=2)
    names = {"hem": np.array([0, 1]), "collar": np.array([2])}
    path = write(tmp_path / "a.obj", Mesh(200.0 * mesh.X, mesh.triangles), groups=names)
    lines = check_mesh_file(path)
    assert "  vertex groups: collar, hem" in lines
    assert lines[-1] == f"  note: {path} measures 283 m across; if that is not intended, set unit."


def test_a_collider_is_told_as_one(tmp_path, capsys):
    path = write(tmp_path / "a.obj", grid(resolution=2))
    assert main(["check", "--collider", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: can be a collider.\n")


def test_a_relative_name_is_told_as_it_was_given(tmp_path, capsys, monkeypatch):
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner" / "a.obj", grid(resolution=2))
    monkeypatch.chdir(tmp_path)
    assert main(["check", "inner/a.obj"]) == 0
    assert capsys.readouterr().out.startswith("inner/a.obj: can be a shell.\n")


@pytest.mark.parametrize(
    "arguments", [["--repair", "a.obj"], ["--out", "b.obj", "a.obj"], ["--repair", "--out", "b.obj", "a.toml"]]
)
def test_repairing_needs_a_mesh_and_a_place(arguments, capsys):
    assert main(["check", *arguments]) == 2
    assert "plisse check --repair MESH --out FIXED" in capsys.readouterr().err


def test_setting_values_of_a_mesh_is_refused(tmp_path, capsys):
    path = write(tmp_path / "a.obj", grid(resolution=2))
    assert main(["check", str(path), "--set", "name=x"]) == 2
    assert "nothing to set" in capsys.readouterr().err


def test_a_shell_inside_of_a_closed_collider_is_noted(tmp_path, capsys):
    text = '[[shell]]\nname = "cape"\nshape = "grid"\nresolution = 4\n[[collider]]\nname = "ball"\nshape = "sphere"\n'
    for more, inside in (
        ("radius = 40\ntranslate = [0, 0, 0]\n", True),
        ("radius = 0.25\n", False),
        ("radius = 2\ntranslate = [0, 0, -2.1]\n", False),
    ):
        (tmp_path / "cape.toml").write_text(text + more)
        assert main(["check", str(tmp_path / "cape.toml")]) == 0
        assert ("note: cape starts inside ball" in capsys.readouterr().out) == inside
