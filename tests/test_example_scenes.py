"""The examples that come with the package: listed, copied, and each scene run from the command line at a small size."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse
import plisse.pictures.render
from plisse.cli import main
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.loading.examples import EXAMPLES, copy_example, list_examples, list_gallery
from plisse.meshes.surfaces import load_surface
from plisse.scene.sources import MeshSource
from tests.reading import read_mesh

G = 9.81


def test_every_example_has_its_place_and_every_scene_its_title() -> None:
    files = {path.stem for path in (Path(plisse.__file__).parent / "examples").iterdir()}
    assert files == set(EXAMPLES) and len(EXAMPLES) == len(files)
    examples, gallery = list_examples(), list_gallery()
    assert [example.name for example in examples] == list(EXAMPLES)
    assert [scene.name[:2] for scene in gallery] == [f"{number:02d}" for number in range(1, len(gallery) + 1)]
    assert all(scene.title.endswith(".") and 20 < len(scene.title) < 110 for scene in (*examples, *gallery))


def test_the_command_lists_examples_and_gallery(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Scenes to start from:" and lines[1].startswith("  tablecloth ")
    at = lines.index("Gallery of the papers:")
    assert (
        lines[at + 1]
        == "  01-drape           A square metre of cotton laid over a ball that stands on a floor, at rest."
    )
    assert "`plisse examples NAME`" in lines[-1]


def test_a_gallery_scene_is_copied_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "05-sphere", "--out", str(tmp_path)]) == 0
    assert "plisse run" in capsys.readouterr().out
    copied, original = tmp_path / "05-sphere.toml", Path(plisse.__file__).parent / "gallery/05-sphere.toml"
    assert copied.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("word", ["pillow", "pillow.toml", "Pillow"])
def test_copies_by_name(word: str, tmp_path: Path) -> None:
    path = copy_example(word, tmp_path / "new")
    assert path == tmp_path / "new" / "pillow.toml"
    # what it shows, how long it takes, what to try
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all(line.startswith("# ") for line in lines[:3])
    assert "two cores" in lines[1] and lines[2].startswith("# To try: ")


def test_refuses_to_overwrite(tmp_path: Path) -> None:
    path = copy_example("paper", tmp_path)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(SceneError, match=r"paper\.toml already exists: remove it"):
        copy_example("paper", tmp_path)
    assert path.read_text(encoding="utf-8") == "mine"
    (tmp_path / "walk-frames").mkdir()
    with pytest.raises(SceneError, match="walk-frames already exists"):
        copy_example("walk", tmp_path)
    assert not (tmp_path / "walk.toml").exists()


def test_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r'no example "tablecloths" .did you mean "tablecloth".*lists them all\.'):
        copy_example("tablecloths", tmp_path)
    with pytest.raises(SceneError, match='did you mean "05-sphere"'):
        copy_example("sphere", tmp_path)
    with pytest.raises(SceneError, match='There is no example "6"'):
        copy_example("6", tmp_path)
    with pytest.raises(SceneError, match="cannot be written"):
        (tmp_path / "file").write_text("")
        copy_example("flag", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# --- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves behind on its finest level. x: frames of the shells [m], shape (frames, n, 3).

    body: which shell a vertex belongs to (n,). solids: the mesh colliders in all frames [m], shape (frames, k, 3).
    start: the first frame of level 0, whose vertices are the first of a single shell on finer levels too.
    """

    x: Floats
    solids: Floats
    triangles: np.ndarray
    body: np.ndarray
    start: Floats
    levels: list[dict[str, Any]]
    contact: dict[str, float]

    @property
    def near(self) -> float:
        """Distance at which contact begins to push [m]."""
        return self.contact["offset"] + self.contact["dhat"]


def run_example(name: str, sets: list[str], folder: Path) -> Outcome:
    scene, out = copy_example(name, folder), folder / "run"
    arguments = ["run", str(scene), "--out", str(out), "--threads", "1"]
    assert main([*arguments, *(word for text in sets for word in ("--set", text))]) == 0
    report = json.loads((out / "report.json").read_text())
    finest = report["levels"][-1]
    level, n = out / f"level-{finest['level']}", finest["vertices"]
    frames = np.stack([np.load(frame) for frame in sorted(level.glob("frame-*.npy"))])
    with np.load(level / "mesh.npz") as mesh:
        triangles, body = mesh["triangles"][: finest["triangles"]], mesh["body"][:n]
    start = np.load(out / "level-0" / "frame-0000.npy")[: report["levels"][0]["vertices"]]
    return Outcome(frames[:, :n], frames[:, n:], triangles, body, start, report["levels"], report["contact"])


def check_always(found: Outcome) -> None:
    for level in found.levels:
        assert level["converged"] and level["intersections"] == 0
        assert level["min_distance_over_offset"] is None or level["min_distance_over_offset"] > 1.0
        assert not level["unconverged_steps"]
        # scripted bodies are where they should be, within the reach of contact
        assert level["missed_keyframes"] < found.contact["dhat"]
    assert np.isfinite(found.x).all()


def check_rest(found: Outcome) -> None:
    check_always(found)
    assert all(level["force_balance"] < 0.02 and level["residual"] <= 0.01 for level in found.levels)


def largest_stretch(found: Outcome) -> float:
    """Longest edge over its length at the start."""
    mesh = Mesh(np.ascontiguousarray(found.x[0]), found.triangles)
    i, j = mesh.edges.T
    return float((np.linalg.norm(found.x[-1][i] - found.x[-1][j], axis=1) / mesh.edge_lengths).max())


def check_tablecloth(found: Outcome) -> None:
    check_rest(found)
    x, top = found.x[-1], 0.72
    r = np.linalg.norm(x[:, :2], axis=1)
    # it lies on the table and hangs around it, clear of the floor; its corners hang lowest
    assert found.contact["offset"] < x[r < 0.35, 2].min() - top < found.near
    assert x[:, 2].max() - top < 0.05
    hanging = x[r > 0.46]
    assert len(hanging) > 0.2 * len(x) and 0.2 < x[:, 2].min() < 0.45
    corners = np.argsort(np.abs(found.start[:, :2]).sum(axis=1))[-4:]
    assert x[corners, 2].max() < 0.5
    assert np.abs(x[:, :2].mean(axis=0)).max() < 0.02


def check_flag(found: Outcome) -> None:
    check_always(found)
    held = np.abs(found.x[0, :, 0] - 0.02) < 1e-9
    assert held.sum() > 5
    assert np.abs(found.x[:, held] - found.x[0, held]).max() < 1e-12
    # before the wind has risen it falls; later it trails on the lee side, at least half of its length away
    free = found.x[0, :, 0] > 0.8
    assert found.x[10, free, 2].mean() < found.x[0, free, 2].mean() - 0.05
    assert found.x[-1, free, 0].mean() > 0.45
    # it flutters: its free side crosses the pole's plane, and its pole is not touched
    assert np.ptp(found.x[:, free, 1].mean(axis=1)) > 0.1
    assert (np.linalg.norm(found.x[..., :2], axis=2) > 0.012).all()


def check_curtain(found: Outcome) -> None:
    check_rest(found)
    x, n = found.x[-1], len(found.start)
    hem = np.flatnonzero(np.abs(found.start[:, 2] - 2.0) < 1e-9)
    rings = hem[np.argsort(found.start[hem, 0])][::4]
    # rings have come to half their distance, every other one in front, and kept their height
    wanted = np.column_stack(
        (0.5 * found.start[rings, 0], 0.03 * (-1.0) ** (1 + np.arange(len(rings))), 0 * rings + 2.0)
    )
    np.testing.assert_allclose(x[:n][rings], wanted, atol=1e-9)
    # the cloth has kept its width in pleats, and hangs straight down to its lower hem
    assert np.ptp(x[:, 0]) < 1.1 and np.ptp(x[:, 1]) > 0.08
    low = np.flatnonzero(np.abs(found.start[:, 2] - 0.8) < 1e-9)
    assert x[low, 2] == pytest.approx(0.8, abs=0.1)
    assert largest_stretch(found) < 1.25


def check_rotating_sphere(found: Outcome) -> None:
    check_always(found)
    assert (np.linalg.norm(found.x - [0, 0, 0.22], axis=2) > 0.2 - 3e-3).all()
    assert found.x[:, :, 2].min() > found.contact["offset"]
    # the ball has made its turns, and friction has carried the cloth on it round in the same sense
    top = found.x[-1, :, 2] > 0.38
    assert top.sum() > 3
    (x, y), (dx, dy) = found.x[-1, top, :2].T, (found.x[-1, top, :2] - found.x[-2, top, :2]).T
    about = (x * dy - y * dx) / 0.02
    r2 = (found.x[-1, top, :2] ** 2).sum(axis=1)
    assert 2.0 < about.sum() / r2.sum() < 1.1 * np.radians(630) / 1.8
    # thrown outwards: it stands off from the ball's sides
    r = np.linalg.norm(found.x[-1, :, :2], axis=1)
    assert r.max() > 0.3 and found.x[-1, r > 0.3, 2].mean() > 0.05


def check_two_materials(found: Outcome) -> None:
    check_rest(found)
    sheet, cup = (found.x[-1, found.body == body] for body in (0, 1))
    first, shape = (found.x[0, found.body == body] for body in (0, 1))
    corners = np.argsort(np.abs(first[:, :2]).sum(axis=1))[-4:]
    np.testing.assert_array_equal(sheet[corners], first[corners])
    # the sheet gives way by centimetres, the cup keeps its shape and stands upright in the middle
    assert -0.3 < sheet[:, 2].min() < -0.03
    size = [np.linalg.norm(place - place.mean(axis=0), axis=1) for place in (cup, shape)]
    np.testing.assert_allclose(size[0], size[1], rtol=2e-3)
    assert np.abs(cup[:, :2].mean(axis=0)).max() < 5e-3 and np.ptp(cup[:, 2]) == pytest.approx(0.07, rel=0.02)
    # its rim is what touches
    under = sheet[np.linalg.norm(sheet[:, :2], axis=1) < 0.08, 2]
    assert under.min() - 0.01 < cup[:, 2].min() < under.max() + found.near


def check_pillow(found: Outcome) -> None:
    check_rest(found)
    x = found.x[-1]
    r = np.linalg.norm(x[:, :2], axis=1)
    # pressed flat by both plates, bulging around them; its sides have come in
    assert 0.05 - found.near < x[r < 0.08, 2].max() < 0.05 - found.contact["offset"]
    assert -0.05 + found.contact["offset"] < x[r < 0.08, 2].min() < -0.05 + found.near
    assert x[r > 0.12, 2].max() > 0.05
    start, end = (Mesh(np.ascontiguousarray(place), found.triangles) for place in (found.x[0], x))
    assert end.volume > 3 * start.volume
    middle_of_side = np.abs(found.x[0, :, 1]) < 0.03
    assert np.ptp(x[middle_of_side, 0]) < 0.39
    assert largest_stretch(found) < 1.2


def check_ribbon(found: Outcome) -> None:
    check_rest(found)
    x, start = found.x[-1][: len(found.start)], found.start
    for side in (-1.0, 1.0):
        held = np.abs(start[:, 0] - 0.5 * side) < 1e-9
        assert np.abs(x[held] - start[held] + [0.05 * side, 0, 0]).max() < 1e-9
    # its cross direction turns by two turns from one end to the other
    rims = []
    for side in (-1.0, 1.0):
        rim = np.flatnonzero(np.abs(start[:, 1] - 0.05 * side) < 1e-9)
        rims.append(x[rim[np.argsort(start[rim, 0])]])
    assert np.linalg.norm(rims[1] - rims[0], axis=1).max() < 0.12
    across = (rims[1] - rims[0])[:, 1:]
    turn = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    assert abs(turn[-1] - turn[0]) == pytest.approx(4 * np.pi, abs=0.3)
    # without gravity it stays about the line between its ends
    assert np.linalg.norm(x[:, 1:], axis=1).max() < 0.2


def check_walk(found: Outcome) -> None:
    check_always(found)
    # worn: around the neck, on the shoulders, and carried along
    for x, figure in zip(found.x[::5], found.solids[::5], strict=True):
        neck = figure[np.abs(found.solids[0, :, 2] - 1.53) < 0.02].mean(axis=0)
        assert np.linalg.norm(x[:, :2].mean(axis=0) - neck[:2]) < 0.15
        assert x[:, 2].min() > 0.3
    assert found.x[-1, :, 2].mean() < 1.4
    assert found.solids[-1, :, 0].mean() > found.solids[0, :, 0].mean() + 0.03
    # the figure has moved as its frames say
    assert found.solids[0, :, 2].max() == pytest.approx(1.75, abs=1e-6)


def check_paper(found: Outcome) -> None:
    check_rest(found)
    x = found.x[-1]
    # pushed through the ring's plane in the middle, and nowhere stretched
    assert x[:, 2].min() == pytest.approx(-0.017, abs=5e-3)
    assert largest_stretch(found) < 1.01
    # a sheet that only bends cannot become a round dish: it lies on at least half of the ring, and leaves it in one
    # dent or two
    r, angle = np.linalg.norm(x[:, :2], axis=1), np.arctan2(x[:, 1], x[:, 0])
    along = (r > 0.055) & (r < 0.085)
    sector = ((angle[along] + np.pi) / (2 * np.pi) * 12).astype(int) % 12
    z = np.array([x[along, 2][sector == k].mean() for k in range(12)])
    lying, raised = z < np.median(z) + 0.008, z > 0.5 * (np.median(z) + z.max())
    assert np.median(z) < 0.03 and z.max() > np.median(z) + 0.01
    assert lying.sum() >= 6
    assert 1 <= (raised & ~np.roll(raised, 1)).sum() <= 2


def check_stack(found: Outcome) -> None:
    check_always(found)
    # all fall freely at first: z − z₀ = −g h² n (n + 1)/2
    n, h = 3, 0.02
    np.testing.assert_allclose(found.x[n, :, 2] - found.x[0, :, 2], -G * h * h * n * (n + 1) / 2, rtol=1e-6)
    # in the end they lie on the post, in the order in which they fell
    tops = [found.x[-1, found.body == body, 2].max() for body in range(5)]
    assert tops[0] > 0.15 and tops[-1] < 0.25
    post = np.linalg.norm(found.x[-1, :, :2], axis=1) < 0.06
    heights = [found.x[-1, post & (found.body == body), 2].mean() for body in range(5)]
    assert heights == sorted(heights)
    assert found.x[:, :, 2].min() > found.contact["offset"]


def check_hem(found: Outcome) -> None:
    check_rest(found)
    x, r = found.x[-1][: len(found.start)], np.linalg.norm(found.start[:, :2], axis=1)
    # it lies on the table, and its hem hangs level and clear of the floor, 70 cm of cloth beyond the middle
    assert found.contact["offset"] < x[r < 0.35, 2].min() - 0.72 < found.near
    hem = x[r > 0.69]
    assert len(hem) > 40 and hem[:, 2] == pytest.approx(0.46, abs=0.03)
    # in folds that swing far out and in, few of them on the preview; at rest the next level has more
    assert np.ptp(np.linalg.norm(hem[:, :2], axis=1)) > 0.14
    assert 6 <= found.levels[0]["metrics"]["folds"] <= 13
    assert np.abs(x[:, :2].mean(axis=0)).max() < 0.01


def check_skirt(found: Outcome) -> None:
    check_rest(found)
    x, start = found.x[-1], found.start
    # the panels are two quarters of a ring from 24 cm to 69 cm, and hang without being stretched
    mesh = Mesh(x, found.triangles)
    ends = x[mesh.boundary_edges]
    below = ends[:, 0, 2] < -0.1
    assert np.linalg.norm(ends[below, 1] - ends[below, 0], axis=1).sum() == pytest.approx(np.pi * 0.69, rel=0.01)
    assert mesh.triangle_areas.sum() == pytest.approx(np.pi / 2 * (0.69**2 - 0.24**2), rel=0.01)
    assert np.array_equal(ends[~below].reshape(-1, 3)[:, 2], np.zeros(160))
    # the hem is lower than that of the cone, and in folds
    hem = np.flatnonzero(start[:, 2] < start[:, 2].min() + 1e-6)
    hem = hem[np.argsort(np.arctan2(start[hem, 1], start[hem, 0]))]
    assert len(hem) == 40 and -0.46 < x[hem, 2].mean() < start[hem, 2].mean() - 0.02
    radius = np.linalg.norm(x[hem, :2], axis=1)
    outer = radius > radius.mean()
    assert 5 <= (outer & ~np.roll(outer, 1)).sum() <= 14 and np.ptp(radius) > 0.05
    # outside of the hips
    assert (np.linalg.norm(x - [0, 0, -0.12], axis=1) > 0.135 - 2e-3).all()


@dataclass(frozen=True)
class Small:
    """Overrides that make an example small, and what must be true of its run."""

    sets: list[str]
    check: Callable[[Outcome], None]


TWO = "hierarchy.levels=2"
PINS = ["shell.resolution=[20,15]", "shell.pin.0.vertices=[315,323,331]", "shell.pin.1.vertices=[319,327,335]"]
STACK = [f"shell.{k}.vertices=49" for k in range(5)]
RUNS = {
    "tablecloth": Small([TWO, "shell.vertices=120", "collider.0.vertices=300"], check_tablecloth),
    "flag": Small(["shell.vertices=120", "collider.vertices=200", "time.duration=2"], check_flag),
    "curtain": Small([TWO, *PINS, "collider.vertices=200"], check_curtain),
    "rotating-sphere": Small(["shell.vertices=100", "collider.0.subdivisions=2"], check_rotating_sphere),
    "two-materials": Small(["shell.0.vertices=196", "shell.1.vertices=150"], check_two_materials),
    "pillow": Small(["shell.resolution=14", "collider.0.vertices=300", "collider.1.vertices=300"], check_pillow),
    "twisted-ribbon": Small([TWO, "shell.vertices=160"], check_ribbon),
    "walk": Small(["shell.vertices=150", "time.duration=0.9"], check_walk),
    "paper": Small(["shell.vertices=289", "collider.1.subdivisions=2"], check_paper),
    "skirt": Small([TWO, "collider.subdivisions=2"], check_skirt),
    "falling-stack": Small([*STACK, "collider.0.vertices=300", "time.duration=0.8"], check_stack),
    "hem": Small([TWO, "shell.vertices=200", "collider.0.vertices=300"], check_hem),
}


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Most of a small run would be its pictures."""

    def blank(bodies: Any, *, size: tuple[int, int] = (1280, 960), **_: Any) -> np.ndarray:
        return np.zeros((size[1], size[0], 3), np.uint8)

    monkeypatch.setattr(plisse.pictures.render, "draw", blank)
    yield


def test_every_example_has_its_numbers_here() -> None:
    assert sorted(RUNS) == sorted(EXAMPLES)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("name", RUNS)
def test_example(name: str, tmp_path: Path) -> None:
    RUNS[name].check(run_example(name, RUNS[name].sets, tmp_path))


@pytest.mark.usefixtures("no_pictures")
def test_the_hem_is_what_makes_the_folds_few_and_wide(tmp_path: Path) -> None:
    found = run_example("hem", [*RUNS["hem"].sets, "shell.region=[]"], tmp_path)
    check_rest(found)
    assert all(level["metrics"]["folds"] >= 15 for level in found.levels)
    hem = found.x[-1][: len(found.start)][np.linalg.norm(found.start[:, :2], axis=1) > 0.69]
    assert np.ptp(np.linalg.norm(hem[:, :2], axis=1)) < 0.13


def test_the_skirt_is_cut_from_a_flat_pattern(tmp_path: Path) -> None:
    copy_example("skirt", tmp_path)
    mesh = load_surface(MeshSource(file="skirt.obj"), tmp_path).mesh
    assert mesh.uv is not None and len(mesh.boundary_edges) == 80
    pattern = replace(mesh, rest=np.concatenate([mesh.uv, np.zeros((len(mesh.uv), 3, 1))], axis=2))
    # two quarters of a ring, from 24 cm to 69 cm
    assert pattern.triangle_areas.sum() == pytest.approx(np.pi / 2 * (0.69**2 - 0.24**2), rel=2e-3)
    # the cone is this pattern, sewn along two seams
    np.testing.assert_allclose(pattern.triangle_areas, mesh.triangle_areas, rtol=2e-3)
    sides = pattern.hinge_sides()
    apart = np.abs(sides[0][:, :2] - sides[1][:, :2]).max(axis=(1, 2)) > 1e-3
    assert apart.sum() == 2 * 14
    (tmp_path / "skirt.toml").unlink()
    with pytest.raises(SceneError, match=r"skirt\.obj already exists"):
        copy_example("skirt", tmp_path)


def test_the_walk_is_a_sequence_of_one_mesh(tmp_path: Path) -> None:
    copy_example("walk", tmp_path)
    paths = sorted((tmp_path / "walk-frames").iterdir())
    assert len(paths) == 91 and paths[0].name == "frame-0000.ply"
    first, last = read_mesh(paths[0]), read_mesh(paths[-1])
    np.testing.assert_array_equal(first[1], last[1])
    assert first[0][:, 2].min() == pytest.approx(0.0, abs=1e-6)
