"""The smooth view of a coarse level: finer shells, marked, and checked for intersections."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdGeom
from tests.reading import read_mesh
from tests.runs.test_recording import record

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Mesh
from plisse.export import export_run, target
from plisse.hierarchy.loop import loop, split_triangles
from plisse.pictures import smooth
from plisse.pictures.smooth import SmoothView, show_small
from plisse.pictures.stage import Part, Stage
from plisse.runs.recording import open_recording
from plisse.shapes.catalogue import make_shape

GREY = (0.5, 0.5, 0.5)


def make_part(name: str, mesh: Mesh, first: int, *, is_shell: bool) -> Part:
    return Part(name, is_shell, GREY, is_shell, mesh.triangles, first, first + len(mesh.X))


@pytest.fixture
def tent() -> tuple[list[Part], Floats]:
    """A sheet with one vertex pulled up, and a pole that ends right below it."""
    sheet, pole = make_shape("grid", {"vertices": 25}), make_shape("box", {"size": [0.01, 0.01, 0.5]})
    place, middle = sheet.X.copy(), np.argmin(np.linalg.norm(sheet.X, axis=1))
    place[middle, 2] += 0.9
    top = pole.X + place[middle] - [0.0, 0.0, pole.X[:, 2].max() + 0.1]
    parts = [make_part("sheet", sheet, 0, is_shell=True), make_part("pole", pole, len(sheet.X), is_shell=False)]
    return parts, np.concatenate([place, top])


def test_shells_are_subdivided_by_loops_rule_and_colliders_stay(tent: tuple[list[Part], Floats]) -> None:
    (sheet, pole), x = tent
    view = SmoothView([sheet, pole])
    mesh = Mesh(x[: sheet.last], sheet.triangles)
    for _ in range(2):
        mesh = Mesh(loop(mesh)(mesh.X), split_triangles(mesh))
    finer, same = view.parts
    assert np.array_equal(finer.triangles, mesh.triangles) and np.array_equal(same.triangles, pole.triangles)
    assert (finer.first, finer.last, same.last) == (0, len(mesh.X), len(mesh.X) + pole.last - pole.first)
    assert finer.name == "sheet (smooth view)" and same.name == "pole" and finer.color == sheet.color
    assert view(x) == pytest.approx(np.concatenate([mesh.X, x[pole.first :]]))


def test_intersections_that_smoothing_makes_are_counted_and_told(tent: tuple[list[Part], Floats]) -> None:
    parts, x = tent
    view, low = SmoothView(parts), x.copy()
    low[parts[1].first :, 2] -= 1.5
    assert view.describe([low]) == "smooth view by 2 steps of Loop subdivision, free of intersections"
    assert view.describe([low, low]).endswith(", free of intersections in all 2 frames")
    told = view.describe([x])
    assert told.endswith("; the simulated surface has none there")
    found = int(told.split(" with ")[1].split()[0])
    assert found > 0
    assert f" with {2 * found} intersections in 2 of 3 frames; the simulated" in view.describe([x, low, x])
    through = x.copy()
    through[parts[1].first :, 2] += 0.3
    assert "the simulated surface has none" not in view.describe([through])


def test_large_levels_are_subdivided_less_or_refused(
    tent: tuple[list[Part], Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    triangles = len(tent[0][0].triangles)
    monkeypatch.setattr(smooth, "MOST", 4 * triangles)
    view = SmoothView(tent[0])
    assert len(view.parts[0].triangles) == 4 * triangles and "1 step of Loop" in view.describe([tent[1]])
    monkeypatch.setattr(smooth, "MOST", 4 * triangles - 1)
    with pytest.raises(SceneError, match=r"is for coarse levels, and this one has 32 triangles: .* omit --smooth"):
        SmoothView(tent[0])


def test_in_small_pictures_coarse_levels_are_smooth_and_the_finest_is_not(
    tent: tuple[list[Part], Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, x = tent
    stage = Stage(tuple(parts), ())
    # as it stands the smooth tent dips into the ball below it, and is not shown
    bodies, told = show_small(stage, x, finest=False)
    assert told == "32 triangles" and np.shape(bodies[0].triangles) == (32, 3)
    x = x.copy()
    x[parts[1].first :, 2] -= 1.0
    bodies, told = show_small(stage, x, finest=False)
    assert told == "32 triangles, smooth view" and np.shape(bodies[0].triangles) == (16 * 32, 3)
    monkeypatch.setattr(smooth, "SMALL", 16 * 32 - 1)
    for finest in (True, False):
        bodies, told = show_small(stage, x, finest=finest)
        assert told == "32 triangles" and np.array_equal(bodies[0].x, x[: parts[0].last])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record(tmp_path / "run", frames=2)[0]


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_a_picture_of_it_has_a_label_and_the_line_says_so(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    render, plain, marked = ["render", str(run), "--size", "320x240"], tmp_path / "plain.png", tmp_path / "smooth.png"
    assert "smooth" not in told([*render, "--out", str(plain)], capsys)
    assert "; smooth view by 2 steps of Loop subdivision, free" in told(
        [*render, "--smooth", "--out", str(marked)], capsys
    )
    corners = [np.asarray(Image.open(path)).astype(int)[-24:, :120] for path in (plain, marked)]
    assert corners[1].min() < corners[0].min() - 60  # dark letters on light paper
    assert (run / "level-0" / "frame-0001-smooth.png").name in told([*render, "--smooth"], capsys)


@pytest.mark.parametrize("name", ["out.usdc", "out.abc", "out.glb", "out.obj", "out.ply", "out.mp4"])
def test_exports_of_it_are_marked(run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / name
    options: list[str] = ["--size", "160x120"] if name.endswith("mp4") else []
    line = told(["export", str(run), "--smooth", "--out", str(out), *options], capsys)
    frames = " in all 2 frames" if name in ("out.usdc", "out.abc", "out.mp4") else ""
    assert f"smooth view by 2 steps of Loop subdivision, free of intersections{frames}" in line
    data = out.read_bytes()
    if name.endswith(("abc", "glb", "ply")):
        assert b"lower (smooth view)" in data
    if name.endswith("obj"):
        assert b"o lower_(smooth_view)" in data
    if name.endswith("usdc"):
        stage: Any = Usd.Stage.Open(str(out))
        prims = [prim for prim in stage.GetDefaultPrim().GetChildren() if prim.IsA(UsdGeom.Mesh)]
        assert [prim.GetDisplayName() for prim in prims][:3] == [
            "lower (smooth view)", "upper (smooth view)", "block",
        ]  # fmt: skip


def test_a_folder_of_it_is_marked_and_holds_what_is_drawn(run: Path, tmp_path: Path) -> None:
    recording = open_recording(run).smoothed()
    out = export_run(run, tmp_path / "out", format="ply", smooth=True).path
    assert json.loads((out / target.MARK).read_text(encoding="utf-8"))["view"] == "smooth"
    X, triangles = read_mesh(out / "frame-0001.ply")
    shells = [body for body in recording.bodies if body.is_shell]
    assert np.array_equal(X, recording.positions(1)[: shells[-1].last])
    assert len(triangles) == sum(len(body.triangles) for body in shells)
