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


# --- levels by decimation ---------------------------------------------------------------------------------------------

DECIMATED = """[[shell]]
name = "cloth"
shape = "grid"
vertices = 400
[[shell]]
name = "bunny"
shape = "bunny"
resolution = 32
translate = [3, 0, 0]
[[collider]]
shape = "floor"
[hierarchy]
kind = "decimation"
levels = [200, 600]
"""


def test_levels_by_decimation_are_told_with_their_sizes(tmp_path):
    from plisse.runs.opening import open_session

    path = tmp_path / "scene.toml"
    path.write_text(DECIMATED)
    lines = check_scene_file(path)
    levels = open_session(path).ladder.hierarchy.levels
    sizes = [[len(mesh.X) for mesh in level] for level in levels]
    assert [sum(each) for each in sizes][:2] == [200, 600]
    at = lines.index(f"  levels by decimation: 200, 600 and {sum(sizes[-1]):,} vertices")
    assert lines[at + 1 : at + 3] == [
        f"    {name}: {a:,}, {b:,} and {c:,}"
        for name, (a, b, c) in zip(("cloth", "bunny"), zip(*sizes, strict=True), strict=True)
    ]
    assert not any("note" in line for line in lines)


def test_what_cannot_shrink_is_named(tmp_path, capsys):
    path = tmp_path / "scene.toml"
    path.write_text(DECIMATED)
    # far too many vertices: neither check nor run go on
    for command in (["check", str(path)], ["run", str(path), "--out", str(tmp_path / "run"), "--preview-only"]):
        assert main([*command, "--set", "hierarchy.levels=[12, 600]"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert "bunny cannot have fewer than " in err and " vertices, and level 0 asks for " in err
        assert "of the remaining edges" in err and "set hierarchy.levels to sizes from " in err
    assert not (tmp_path / "run").exists()
    # a single level, whose size is that of the mesh
    assert main(["check", str(path), "--set", "hierarchy.levels=[12, 600]", "--set", "hierarchy.method=direct"]) == 0
    # the sizes that the sentence names can be reached
    least = int(err.split("sizes from ")[1].split(" ")[0].replace(",", ""))
    sizes = ["--set", f"hierarchy.levels=[{least}]", "--set", "contact.enabled=false"]
    assert main(["check", str(path), *sizes]) == 0
    assert "note: bunny cannot" not in capsys.readouterr().out


def test_a_level_so_coarse_that_it_crosses_itself_is_one_sentence(tmp_path, capsys, monkeypatch):
    # a ball in a ball: facets of the outer one cut into the inner one
    monkeypatch.chdir(tmp_path)  # where the picture of what crosses goes
    ball = sphere(subdivisions=4)
    both = np.concatenate([ball.X, 0.98 * ball.X])
    write_ply(tmp_path / "balls.ply", both, np.concatenate([ball.triangles, ball.triangles + len(ball.X)]))
    text = '[[shell]]\nname = "balls"\nfile = "balls.ply"\n[[collider]]\nshape = "floor"\nheight = -1\n'
    (tmp_path / "scene.toml").write_text(text + '[hierarchy]\nkind = "decimation"\nlevels = [100]\n')
    assert main(["check", str(tmp_path / "scene.toml")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "level 0 is so coarse that it crosses itself; ask for more vertices in hierarchy.levels" in said
    assert main(["check", str(tmp_path / "scene.toml"), "--set", "hierarchy.levels=[2000]"]) == 0


def test_a_level_that_is_a_little_too_fine_is_a_note(tmp_path, capsys):
    from plisse.hierarchy.decimate import decimate
    from plisse.shapes.catalogue import make_shape

    bunny = make_shape("bunny", {"resolution": 32})
    least = len(decimate(bunny, [4]).meshes[0].X)
    text = '[[shell]]\nname = "bunny"\nshape = "bunny"\nresolution = 32\n[[collider]]\nshape = "floor"\n[hierarchy]\n'
    text += f'kind = "decimation"\nlevels = [{least - 3}]\n[contact]\nenabled = false\n'
    (tmp_path / "scene.toml").write_text(text)
    *_, note = check_scene_file(tmp_path / "scene.toml")
    assert note.startswith(f"  note: bunny cannot have fewer than {least} vertices, and level 0 asks for {least - 3}: ")
    words = ["run", str(tmp_path / "scene.toml"), "--out", str(tmp_path / "run"), "--preview-only", "--threads", "1"]
    assert main([*words, "--set", "time.max_steps=1"]) == 1
    assert note.strip() in capsys.readouterr().err


def test_sizes_beyond_the_meshes_are_refused(tmp_path):
    (tmp_path / "scene.toml").write_text(DECIMATED)
    with pytest.raises(SceneError, match=r"is to have 9,000 vertices, but the finest has only .* ask for smaller"):
        check_scene_file(tmp_path / "scene.toml", ["hierarchy.levels=[200, 9000]"])


def test_every_rule_of_decimation_has_words():
    from plisse.hierarchy.misses import WORDS
    from plisse.kernels.guards import RULES

    assert set(WORDS) == set(RULES)


def test_a_collider_that_is_no_manifold_is_not_decimated(tmp_path):
    book = "v 0 0 -2\nv 1 0 -2\nv 0 1 -2\nv 0 -1 -2\nv 0 0 -3\nf 1 2 3\nf 2 1 4\nf 1 2 5\n"
    (tmp_path / "book.obj").write_text(book)
    collider = '[[collider]]\nname = "book"\nfile = "book.obj"\n'
    (tmp_path / "scene.toml").write_text(DECIMATED.replace("[hierarchy]", collider + "[hierarchy]"))
    assert "can be simulated" in check_scene_file(tmp_path / "scene.toml")[0]
    with pytest.raises(SceneError, match=r"book cannot be made coarser with the levels, as its mesh is not a manifold"):
        check_scene_file(tmp_path / "scene.toml", ["collider.1.refine=true"])
