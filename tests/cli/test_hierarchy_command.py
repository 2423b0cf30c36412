"""`plisse hierarchy`: its numbers are those of the levels that runs use, its picture shows them, refusals are short."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import plisse.pictures.levels
from plisse.cli import main
from plisse.core.mesh import Mesh, concatenate
from plisse.hierarchy import keeping
from plisse.hierarchy.decimate import Decimation, decimate
from plisse.hierarchy.survey import find_least_angles
from plisse.meshes.memo import Memo
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.shapes.catalogue import grid, make_shape, sphere

CLOTH = """[[shell]]
name = "cloth"
shape = "grid"
vertices = 400
[[shell.pin]]
corners = true
[[collider]]
shape = "floor"
"""
DECIMATED = '[hierarchy]\nkind = "decimation"\n'


class Desk:
    """A folder with files, and the command line in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def put(self, name: str, content: str | Mesh) -> str:
        if isinstance(content, Mesh):
            (write_ply if name.endswith(".ply") else write_obj)(self.folder / name, content.X, content.triangles)
        else:
            (self.folder / name).write_text(content, encoding="utf-8")
        return name

    def call(self, *words: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = main(["hierarchy", *words])
        return code, *self.capsys.readouterr()

    def accepted(self, *words: str) -> str:
        code, out, err = self.call(*words)
        assert code == 0 and err == ""
        return out

    def refused(self, *words: str) -> str:
        """The one sentence with which the command refuses; it leaves nothing behind."""
        before = sorted(self.folder.rglob("*"))
        code, out, err = self.call(*words)
        assert code == 2 and out == "" and sorted(self.folder.rglob("*")) == before
        assert err.startswith("plisse: ") and err.endswith(".\n") and err.count("\n") == 1 and len(err) < 600, err
        return err


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # pictures are as large as always, but quick
    monkeypatch.setattr(plisse.pictures.levels, "SAMPLES", 1)
    return Desk(folder, capsys)


def read_tables(out: str) -> list[list[list[str]]]:
    """The cells of every table: rows of levels that follow each other."""
    tables: list[list[list[str]]] = []
    for line in out.splitlines():
        if line.startswith("level "):
            tables.append([])
        elif re.match(r"\d+ ", line):
            tables[-1].append(re.split(r"\s{2,}", line.strip()))
    return tables


def as_rows(found: Decimation) -> list[list[str]]:
    """What the table should say of a decimation, computed here."""
    fine, rows = found.meshes[-1], []
    size = np.linalg.norm(np.ptp(fine.X, axis=0)) / np.sqrt(3.0)
    for level, mesh in enumerate(found.meshes):
        angles = np.quantile(find_least_angles(mesh), [0.0, 0.01, 0.5])
        row = [str(level), f"{len(mesh.X):,}", f"{len(mesh.triangles):,}", f"{mesh.edge_lengths.mean():.3g} m"]
        row += [f"{angle:.1f}°" for angle in angles]
        if mesh is fine:
            row += ["–", "–"]
        else:
            home, weights = found.places[level, len(found.meshes) - 1]
            places = np.einsum("ij,ijk->ik", weights, mesh.X[mesh.triangles[home]])
            row += [f"{100.0 * np.linalg.norm(places - fine.X, axis=1).max() / size:.2g} %"]
            row += [str(len(found.batches(level)))]
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("words", "targets"),
    [((), (40, 160)), (("--levels", "2"), (160,)), (("--levels", "60,200"), (60, 200)), (("--levels", "100"), (100,)),
     (("--ratio", "2"), (160, 321)), (("--levels", "4", "--ratio", "2.5"), (41, 103, 257))],
)  # fmt: skip
def test_a_mesh_is_told_as_decimation_makes_it(desk: Desk, words: Sequence[str], targets: Sequence[int]) -> None:
    mesh = sphere(subdivisions=3)
    name = desk.put("ball.ply", mesh)
    out = desk.accepted(name, *words)
    assert out.startswith(f"ball.ply: {len(targets) + 1} levels by decimation, made in ")
    (table,) = read_tables(out)
    assert table == as_rows(decimate(mesh, targets))
    assert list(desk.folder.iterdir()) == [desk.folder / name]


def test_angles_are_those_of_known_triangles() -> None:
    X = [[0, 0, 0], [2, 0, 0], [0, 2, 0], [-2, 0, 0], [0, -2 * np.sqrt(3), 0]]
    mesh = Mesh(np.array(X, float), np.array([[0, 1, 2], [0, 2, 3], [0, 4, 1]]))
    assert find_least_angles(mesh) == pytest.approx([45.0, 45.0, 30.0])


def test_a_scene_brings_its_pins_regions_and_bodies(desk: Desk) -> None:
    region = '[[shell.region]]\nbox = [[-0.2, -0.2, -1], [0.2, 0.2, 1]]\nmaterial = "denim"\n'
    hat = '[[shell]]\nname = "hat"\nshape = "hat"\nvertices = 300\ntranslate = [2, 0, 0]\n'
    more = '[[collider]]\nname = "ball"\nshape = "sphere"\nsubdivisions = 2\ntranslate = [5, 0, 0]\n'
    text = CLOTH.replace("[[collider]]", region + hat + "[[collider]]", 1) + more
    name = desk.put("scene.toml", text + DECIMATED + "levels = [70, 250]\n")
    out = desk.accepted(name)
    # colliders that are not refined are the same on all levels, and are not told
    assert "cloth:\n" in out and "hat:\n" in out and "ball" not in out
    cloth, hat_rows = read_tables(out)
    assert [int(a[1]) + int(b[1]) for a, b in zip(cloth, hat_rows, strict=True)][:2] == [70, 250]

    from plisse.runs.opening import open_session

    levels = open_session(desk.folder / name).ladder.hierarchy.levels
    assert [row[2] for row in cloth] == [f"{len(level[0].triangles):,}" for level in levels]
    # options come after what is set, which comes after the file
    out = desk.accepted(name, "--set", "hierarchy.levels=5", "--levels", "2", "--ratio", "3")
    assert [len(table) for table in read_tables(out)] == [2, 2]


def test_a_scene_by_subdivision_is_told_too(desk: Desk) -> None:
    name = desk.put("scene.toml", CLOTH)
    out = desk.accepted(name, "--levels", "3")
    assert "3 levels by subdivision, made in" in out
    (table,) = read_tables(out)
    triangles = [int(row[2].replace(",", "")) for row in table]
    assert triangles == [triangles[0], 4 * triangles[0], 16 * triangles[0]]
    # flat cloth is its own refinement
    assert [row[-2:] for row in table] == [["0 %", "–"], ["0 %", "–"], ["–", "–"]]


def test_it_says_when_levels_are_from_the_cache(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "find_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(keeping, "SMALL", 10)
    name = desk.put("ball.ply", sphere(subdivisions=2))
    monkeypatch.setattr(keeping, "_known", Memo(0, lambda made: 1))
    first = desk.accepted(name)
    monkeypatch.setattr(keeping, "_known", Memo(0, lambda made: 1))
    second = desk.accepted(name)
    assert ", made in " in first and ", read from the cache in " in second
    assert read_tables(first) == read_tables(second)


def test_sizes_that_are_missed_by_little_are_noted(desk: Desk) -> None:
    name = desk.put("can.obj", make_shape("can", {"vertices": 300}))
    least = len(decimate(make_shape("can", {"vertices": 300}), [4]).meshes[0].X)
    code, out, err = desk.call(name, "--levels", f"{least - 1},100")
    assert code == 0 and err == ""
    (note,) = (line for line in out.splitlines() if line.startswith("note: "))
    assert f"can cannot have fewer than {least} vertices, and level 0 asks for {least - 1}: " in note
    assert "remaining edges " in note and note.endswith(f"sizes from {least} vertices up, or to fewer levels.")


def test_sizes_that_are_missed_by_far_are_an_error_after_the_table(desk: Desk) -> None:
    mesh = make_shape("bunny", {"resolution": 32})
    name, found = desk.put("bunny.obj", mesh), decimate(mesh, [4])
    assert found.stopped is not None
    code, out, err = desk.call(name, "--levels", "4,200")
    assert code == 1 and read_tables(out)[0][0][1] == str(found.stopped.vertices)
    assert err.startswith(f"plisse: bunny cannot have fewer than {found.stopped.vertices} vertices, and level 0 asks")
    assert err.count("\n") == 1 and "note" not in out


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_is_named_after_the_file_and_lies_here(desk: Desk) -> None:
    (desk.folder / "meshes").mkdir()
    out = desk.accepted(desk.put("meshes/ball.ply", sphere(subdivisions=2)), "--show")
    assert "picture: ball-hierarchy.png\n" in out
    with Image.open(desk.folder / "ball-hierarchy.png") as picture:
        assert picture.format == "PNG" and picture.width == 1600
        # patches have their colours: some pixels are far from grey
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert (np.ptp(pixels, axis=2) > 60).mean() > 0.02


def test_the_picture_may_be_named(desk: Desk) -> None:
    name = desk.put("scene.toml", CLOTH + "[hierarchy]\nlevels = 2\n")
    assert "picture: new/levels.jpg\n" in desk.accepted(name, "--show", "--out", "new/levels.jpg")
    with Image.open(desk.folder / "new" / "levels.jpg") as picture:
        assert picture.format == "JPEG"


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_broken_mesh_is_refused(desk: Desk) -> None:
    desk.put("book.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n")
    assert desk.refused("book.obj").startswith("plisse: book.obj is not a manifold")
    desk.put("text.ply", "not a mesh")
    assert "text.ply cannot be read" in desk.refused("text.ply")
    assert "missing.obj does not exist" in desk.refused("missing.obj")
    assert "unknown format" in desk.refused(desk.put("mesh.xyz", "0 0 0"))


@pytest.mark.parametrize("text", ["6000,1500", "100,100", "0,10", "1", "0", "-3", "a", "", "10,", "3.5", "1e3"])
def test_levels_in_the_wrong_order_or_form_are_refused(desk: Desk, text: str) -> None:
    name = desk.put("ball.ply", sphere(subdivisions=2))
    with pytest.raises(SystemExit) as ended:
        main(["hierarchy", name, f"--levels={text}"])
    assert ended.value.code == 2
    err = desk.capsys.readouterr().err
    assert "--levels: must be a number of levels from 2 to 16, or the vertices" in err and repr(text) in err


@pytest.mark.parametrize("text", ["1", "0", "-2", "nan", "inf", "four"])
def test_a_ratio_must_be_above_one(desk: Desk, text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hierarchy", "ball.ply", f"--ratio={text}"])
    assert ended.value.code == 2 and "must be a number above 1" in desk.capsys.readouterr().err


def test_levels_larger_than_the_mesh_are_refused(desk: Desk) -> None:
    name = desk.put("ball.ply", sphere(subdivisions=2))
    said = desk.refused(name, "--levels", "100,6000")
    assert "6,000 vertices, but the finest has only 162: ask for smaller levels" in said
    assert "ask for smaller levels" in desk.refused(name, "--levels", "162")


def test_a_scene_of_one_level_needs_levels(desk: Desk) -> None:
    name = desk.put("scene.toml", CLOTH)
    assert "scene.toml has a single level: " in desk.refused(name)
    assert "single level" in desk.refused(desk.put("other.toml", CLOTH + DECIMATED))


def test_options_that_do_not_go_together_are_refused(desk: Desk) -> None:
    mesh, scene = desk.put("ball.ply", sphere(subdivisions=2)), desk.put("scene.toml", CLOTH)
    assert "add --show" in desk.refused(mesh, "--out", "a.png")
    assert "omit one of them" in desk.refused(mesh, "--levels", "40,80", "--ratio", "3")
    assert "nothing to set" in desk.refused(mesh, "--set", "hierarchy.levels=3")
    assert "--ratio is for levels by decimation" in desk.refused(scene, "--levels", "3", "--ratio", "3")
    # sizes are for decimation
    assert "levels must be a whole number" in desk.refused(scene, "--levels", "40,80")
    assert "too many for this machine" in desk.refused(scene, "--levels", "16")


def test_a_picture_that_cannot_be_written_is_refused(desk: Desk) -> None:
    name = desk.put("ball.ply", sphere(subdivisions=1))
    assert "cannot be written" in desk.refused(name, "--levels", "20", "--show", "--out", f"{name}/a.png")
    assert "end it in .png" in desk.refused(name, "--show", "--out", "a.tiff")


def test_a_mesh_of_several_pieces_keeps_them_all(desk: Desk) -> None:
    one = grid(resolution=10)
    both = concatenate([one, Mesh(one.X + 2.0, one.triangles)])[0]
    (table,) = read_tables(desk.accepted(desk.put("two.obj", both), "--levels", "60"))
    assert table[0][1] == "60" and table[1][1] == str(len(both.X))


def test_a_mesh_of_a_few_triangles_has_levels_and_a_picture(desk: Desk) -> None:
    desk.put("square.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    (table,) = read_tables(desk.accepted("square.obj", "--show"))
    assert [row[1:3] for row in table] == [["4", "2"]] * 3
