"""Rest shapes and starts that are not the mesh itself, as scenes ask for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.test_recording import record

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, concatenate
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict, scene_to_dict
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.stl import write_stl
from plisse.progressive.feasibility import check_start
from plisse.progressive.scene_problem import SceneProblem
from plisse.runs.changes import name_change
from plisse.runs.store import RunSpec, RunStore
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene
from plisse.shapes.catalogue import cylinder, grid

TUBE: dict[str, Any] = {"shape": "cylinder", "closed": False, "radius": 0.1, "height": 0.2, "around": 8, "along": 2}
AROUND = 2.0 * np.pi * 0.1
# two quads side by side, bent along the edge between them
BENT = "v 0 0 0\nv 1 0 0\nv 2 0 1\nv 0 1 0\nv 1 1 0\nv 2 1 1\nf 1 2 5 4\nf 2 3 6 5\n"
# the same faces apart in the plane: the first a rhomb, which alone would be cut along its other diagonal
FLAT = "v 0 0 0\nv 1 0 0\nv 1.5 1 0\nv .5 1 0\nv 3 0 0\nv 4 0 0\nv 4 1 0\nv 3 1 0\nf 1 2 3 4\nf 5 6 7 8\n"


def load(base: Path, *shells: dict[str, Any], **rest: Any) -> tuple[Scene, Geometry]:
    scene = scene_from_dict({"shell": list(shells), "gravity": [0, 0, 0], **rest}, base)
    assert scene_from_dict(scene_to_dict(scene), base) == scene
    return scene, load_geometry(scene, base)


def refused(base: Path, *shells: dict[str, Any]) -> str:
    with pytest.raises(SceneError) as caught:
        load(base, *shells)
    told = str(caught.value)
    assert told.endswith(".") and "\n" not in told
    return told


def lengths(corners: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(corners - corners[:, (1, 2, 0)], axis=2))


# --- texture coordinates ----------------------------------------------------------------------------------------------


def test_uv_in_a_unit_is_a_flat_rest_shape() -> None:
    scene, geometry = load(Path(), TUBE | {"rest": "uv", "uv_unit": "62.83 cm", "rotate": [90, 0, 0], "name": "tube"})
    mesh, own = geometry.shells[0], cylinder(0.1, 0.2, around=8, along=2, closed=False)
    assert mesh.rest is not None and own.uv is not None and scene.shells[0].uv_unit == pytest.approx(0.6283)
    np.testing.assert_allclose(mesh.rest[..., :2], 0.6283 * own.uv)
    assert not mesh.rest[..., 2].any() and mesh.triangle_areas.sum() == pytest.approx(0.6283 * 0.2, rel=1e-4)
    # the mesh itself is the start, and what contact measures by
    np.testing.assert_array_equal(mesh.X, own.X)
    problem = SceneProblem(scene, geometry)
    check_start(problem)
    np.testing.assert_array_equal(problem.surface.X, own.X)
    assert problem.mass.sum() == pytest.approx(0.6283 * 0.2 * scene.shells[0].material.area_density, rel=1e-4)
    assert not geometry.notes


def test_scale_is_of_both() -> None:
    _, geometry = load(Path(), TUBE | {"rest": "uv", "uv_unit": AROUND, "scale": 2})
    mesh = geometry.shells[0]
    assert np.ptp(mesh.X[:, 2]) == pytest.approx(0.4) and np.ptp(mesh.rest_corners[..., 1]) == pytest.approx(0.4)


def test_pieces_on_top_of_each_other_are_turned_over(tmp_path: Path) -> None:
    # folded paper: front and back have the same coordinates and are joined along one side
    front = grid(1.0, 1.0, resolution=2, diagonals="uniform")
    back = Mesh(front.X + np.array([0.0, 0.0, 0.1]), front.triangles[:, ::-1])
    both, _ = concatenate([front, back])
    joined, hem = np.arange(18), np.flatnonzero(front.X[:, 1] < -0.4)
    joined[9 + hem] = hem
    assert front.uv is not None
    uv = np.concatenate([front.uv, front.uv[:, ::-1]])
    write_obj(tmp_path / "folded.obj", both.X, joined[both.triangles].astype(np.int32), uv=uv)
    mesh = load(tmp_path, {"file": "folded.obj", "rest": "uv", "uv_unit": 1})[1].shells[0]
    assert mesh.rest is not None
    (ax, ay, _), (bx, by, _) = (np.moveaxis(mesh.rest[:, k] - mesh.rest[:, 0], 1, 0) for k in (1, 2))
    np.testing.assert_allclose(ax * by - ay * bx, 0.25)
    sides = np.sort(lengths(front.X[front.triangles]), axis=1)
    np.testing.assert_allclose(np.sort(lengths(mesh.rest), axis=1), np.concatenate([sides, sides]))
    # the hem has two places at rest, so finer levels take midpoints
    assert mesh.rest_places is None


def test_uv_that_is_not_there_or_flat(tmp_path: Path) -> None:
    uv = {"rest": "uv", "uv_unit": 1, "name": "cloth"}
    assert 'cloth: rest = "uv" needs texture coordinates, and the mesh has none' in refused(
        tmp_path, uv | {"shape": "sphere"}
    )
    path = tmp_path / "a.obj"
    path.write_text(BENT.replace("f 1 2 5 4", "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 5/3 4/4"))
    assert "and face 2 (line 12) has none" in refused(tmp_path, uv | {"file": "a.obj"})
    path.write_text(path.read_text().replace("f 2 3 6 5", "f 2/1 3/2 6/2 5/1"))
    told = refused(tmp_path, uv | {"file": "a.obj"})
    assert "the rest shape has 2 triangles with no area or next to none, the worst in face 2 (line 12)" in told
    assert 'rest = "uv" needs the length of one unit' in refused(tmp_path, TUBE | {"rest": "uv"})
    assert "uv_unit applies only to" in refused(tmp_path, TUBE | {"uv_unit": 1})
    assert "give scale one number" in refused(tmp_path, TUBE | uv | {"scale": [1, 1, 2]})


def test_an_odd_size_is_noted() -> None:
    _, geometry = load(Path(), TUBE | {"rest": "uv", "uv_unit": 100 * AROUND, "name": "tube"})
    assert geometry.notes == (
        "tube has a rest shape of 1.03e+04 times the area of its mesh; if that is not intended, correct unit or "
        "uv_unit.",
    )


# --- patterns from files ----------------------------------------------------------------------------------------------


def test_a_pattern_may_be_cut_along_seams_and_is_cut_into_the_same_triangles(tmp_path: Path) -> None:
    (tmp_path / "bent.obj").write_text(BENT)
    (tmp_path / "flat.obj").write_text(FLAT)
    mesh = load(tmp_path, {"file": "bent.obj", "rest": "flat.obj", "unit": "cm", "up": "y"})[1].shells[0]
    assert mesh.rest is not None and mesh.rest_places is None
    np.testing.assert_array_equal(mesh.triangles, [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])
    # centimetres, and y up: (x, y, z) → (x, −z, y)
    corner = 0.01 * np.array([[0, 0, 0], [1, 0, 0], [1.5, 0, 1], [0.5, 0, 1]])
    np.testing.assert_allclose(mesh.rest[:2], corner[[[0, 1, 2], [0, 2, 3]]], atol=1e-15)
    np.testing.assert_allclose(mesh.edge_lengths.max(), 0.01 * np.sqrt(1.5**2 + 1))


@pytest.mark.parametrize(("suffix", "write"), [(".ply", write_ply), (".stl", write_stl), (".obj", write_obj)])
def test_any_format_and_a_generated_start(suffix: str, write: Callable[..., None], tmp_path: Path) -> None:
    tube = cylinder(0.1, 0.2, around=8, along=2, closed=False)
    assert tube.uv is not None
    corners = np.concatenate([AROUND * tube.uv, np.zeros((len(tube.triangles), 3, 1))], axis=2)
    points, where = np.unique(corners.reshape(-1, 3).round(12), axis=0, return_inverse=True)
    write(tmp_path / f"p{suffix}", points, where.reshape(-1, 3).astype(np.int32))
    first = load(tmp_path, TUBE | {"rest": f"p{suffix}"})[1].shells[0]
    np.testing.assert_allclose(first.rest, corners, atol=1e-7)


def test_the_same_rest_again_is_the_same_mesh(tmp_path: Path) -> None:
    shell = TUBE | {"rest": "uv", "uv_unit": AROUND}
    assert load(tmp_path, shell)[1].shells[0] is load(tmp_path, shell)[1].shells[0]
    assert load(tmp_path, shell)[1].shells[0] is not load(tmp_path, shell | {"uv_unit": 1})[1].shells[0]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (
            FLAT.replace("f 5 6 7 8\n", ""),
            "flat.obj has 1 faces, but the mesh has 2: a rest shape needs the same faces",
        ),
        (FLAT.replace("f 5 6 7 8", "f 5 6 7"), "other faces than the mesh, first at face 2 (line 10)"),
        (FLAT.replace("f 5 6 7 8", "f 2 5 6 4"), "other faces than the mesh, first at face 2 (line 10)"),
        (
            FLAT.replace("v 4 1 0", "v 4 0 0"),
            "the rest shape has a triangle with no area or next to none, the worst in",
        ),
        (FLAT.replace("v 4 1 0", "v 4 nan 0"), "flat.obj has a coordinate that is not a finite number at vertex 7"),
        ("", "flat.obj has no faces"),
        (None, "flat.obj does not exist"),
    ],
)
def test_other_faces_are_refused(pattern: str | None, told: str, tmp_path: Path) -> None:
    (tmp_path / "bent.obj").write_text(BENT)
    if pattern is not None:
        (tmp_path / "flat.obj").write_text(pattern)
    found = refused(tmp_path, {"file": "bent.obj", "rest": "flat.obj", "name": "cloth"})
    assert found.startswith("cloth: ") and told in found


# --- what a run keeps -------------------------------------------------------------------------------------------------


def test_a_run_keeps_rest_and_uv(tmp_path: Path) -> None:
    scene, geometry = load(
        tmp_path, TUBE | {"rest": "uv", "uv_unit": AROUND}, {"shape": "sphere", "translate": [1, 0, 0]}
    )
    kept = RunStore.create(
        tmp_path / "run", scene_to_dict(scene), geometry, RunSpec("0.0.0", "running", 1, 0, ())
    ).read_geometry()
    for ours, theirs in zip(geometry.shells, kept.shells, strict=True):
        for name in ("X", "triangles", "uv", "rest"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    table = scene_to_dict(scene)
    assert name_change(table, table, kept, geometry) is None
    _, other = load(tmp_path, TUBE | {"rest": "uv", "uv_unit": 1}, {"shape": "sphere", "translate": [1, 0, 0]})
    assert name_change(table, table, kept, other) == "the surface of shell.0 has changed"


def test_the_strain_limit_may_not_be_broken_at_the_start() -> None:
    material = {"preset": "cotton", "strain_limit": 1.05}
    ball = {"shape": "sphere", "translate": [2, 0, 0], "name": "ball", "material": material}
    tube = TUBE | {"rest": "uv", "name": "tube", "material": material}
    scene, geometry = load(Path(), ball, tube | {"uv_unit": 0.95 * AROUND})
    with pytest.raises(SceneError) as caught:
        check_start(SceneProblem(scene, geometry))
    assert str(caught.value) == (
        "tube starts with 32 triangles beyond the strain limit, the worst, triangle 0 (counted from 0), stretched to "
        "1.05 where 1.05 is allowed: raise strain_limit, or start from a shape nearer to the rest shape."
    )
    check_start(SceneProblem(*load(Path(), ball, tube | {"uv_unit": 0.96 * AROUND})))


# --- starts from saved frames -----------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> list[np.ndarray]:
    """A run folder "first" of two sheets and colliders, and its frames."""
    return record(tmp_path / "first", frames=3)[1]


LOWER: dict[str, Any] = {"shape": "grid", "vertices": 36, "name": "lower"}


def test_a_shell_starts_where_a_frame_has_it(run: list[np.ndarray], tmp_path: Path) -> None:
    upper = {"shape": "grid", "vertices": 16, "name": "cape", "start": {"run": "first", "shell": "upper", "frame": 1}}
    ball = {"shape": "sphere", "subdivisions": 1, "radius": 0.1}
    scene, geometry = load(tmp_path, LOWER | {"start": "first"}, upper, collider=[ball])
    np.testing.assert_array_equal(geometry.shell_positions[0], run[2][:36])
    np.testing.assert_array_equal(geometry.shell_positions[1], run[1][36:52])
    # the rest shape is the mesh, and everything else is where it would be without
    plain, without = load(tmp_path, LOWER, {key: upper[key] for key in upper if key != "start"}, collider=[ball])
    assert geometry.shells[0] is without.shells[0] and geometry.colliders[0] is without.colliders[0]
    assert scene.colliders == plain.colliders


def test_pins_choose_where_the_shell_starts(run: list[np.ndarray], tmp_path: Path) -> None:
    high = float(np.sort(run[2][:36, 2])[-5])
    box = [[-2, -2, high], [2, 2, 9]]
    _, geometry = load(tmp_path, LOWER | {"start": "first", "pin": [{"box": box}]})
    np.testing.assert_array_equal(geometry.pins[0][0], np.flatnonzero(run[2][:36, 2] >= high - 1e-9))


def damage(tmp_path: Path, name: str) -> None:
    path = tmp_path / "first" / name
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize(
    ("shell", "told"),
    [
        (LOWER | {"start": "second"}, "lower: start: {}/second is not a run: name the folder of one"),
        (LOWER | {"start": {"run": "first", "level": 1}}, "first has no frames of level 1: name a level"),
        (LOWER | {"start": {"run": "first", "frame": 7}}, "first has no frame 7 of level 0: it has 0 to 2"),
        (
            LOWER | {"start": {"run": "first", "shell": "loer"}},
            'first has no shell "loer" (did you mean "lower"?): it has',
        ),
        (
            LOWER | {"name": "cape", "start": "first"},
            'has no shell "cape": it has lower, upper; choose one with start',
        ),
        (
            LOWER | {"vertices": 25, "start": "first"},
            "lower has 36 vertices on level 0 of {}/first, but the mesh has 25",
        ),
        (LOWER | {"diagonals": "uniform", "start": "first"}, "lower has other triangles in {}/first than the mesh"),
        (LOWER | {"start": {"level": 0}}, "start: run is missing: add it"),
        (LOWER | {"start": {"run": "first", "frame": -2}}, "frame must be at least -1, not -2"),
        (LOWER | {"start": 3}, "start: this must be a table of keys and values, not 3"),
    ],
)
@pytest.mark.usefixtures("run")
def test_other_frames_are_refused(shell: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told.format(tmp_path) in refused(tmp_path, shell)


@pytest.mark.usefixtures("run")
def test_damaged_runs_are_refused(tmp_path: Path) -> None:
    shell = LOWER | {"start": "first"}
    x = np.load(tmp_path / "first/level-0/frame-0002.npy")
    np.save(tmp_path / "first/level-0/frame-0002.npy", np.where(np.arange(len(x))[:, None] == 7, np.nan, x))
    assert "frame 2 of" in refused(tmp_path, shell) and "not finite" in refused(tmp_path, shell)
    np.save(tmp_path / "first/level-0/frame-0002.npy", x[:40])
    assert "holds an array of (40, 3)" in refused(tmp_path, shell)
    for name in ("level-0/frame-0002.npy", "level-0/mesh.npz", "scene.json"):
        damage(tmp_path, name)
        assert f"{name} cannot be read" in refused(tmp_path, shell)
    (tmp_path / "first/scene.json").write_text(json.dumps({"shell": 3}))
    assert "scene.json cannot be read" in refused(tmp_path, shell)
    np.savez(tmp_path / "first/level-0/mesh.npz", triangles=np.full((3, 3), 99), body=np.zeros(4, int), shells=1)
    (tmp_path / "first/scene.json").write_text(json.dumps({"shell": [{"name": "lower"}]}))
    assert "a triangle has a vertex that is not in 0 to 3" in refused(tmp_path, shell)


def test_contact_needs_a_mesh_that_does_not_touch_itself(tmp_path: Path) -> None:
    # two sheets in one mesh, at exactly the same place; the frame has them apart
    sheet = grid(resolution=3)
    both, _ = concatenate([sheet, sheet])
    for name, shift in (("double", 0.0), ("apart", 0.1), ("crossed", None)):
        X = both.X + np.where(np.arange(32)[:, None] < 16, 0.0, [0.0, 0.0, shift or 0.0])
        if shift is None:
            X[16:] = sheet.X @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]) + [0.03, 0.02, 0.01]
        write_obj(tmp_path / f"{name}.obj", X, both.triangles)
    shell: dict[str, Any] = {"name": "cloth", "file": "apart.obj"}
    scene, geometry = load(tmp_path, shell)
    store = RunStore.create(tmp_path / "run", scene_to_dict(scene), geometry, RunSpec("0.0.0", "running", 1, 0, ()))
    store.begin_level(0, geometry.shells[0].triangles, np.zeros(32, np.int32), 1)
    store.write_frame(0, 0, geometry.shell_positions[0])
    check_start(SceneProblem(*load(tmp_path, shell | {"start": "run"})))
    for name in ("double", "crossed"):
        with pytest.raises(SceneError, match="cloth starts from a saved frame, but its own mesh touches or crosses"):
            check_start(SceneProblem(*load(tmp_path, shell | {"file": f"{name}.obj", "start": "run"})))
