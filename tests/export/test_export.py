"""Every export, read back with its format's own library and compared with the frames."""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import alembic3d.Abc as Abc
import alembic3d.AbcGeom as AbcGeom
import alembic3d.AbcMaterial as AbcMaterial
import imageio_ffmpeg
import meshio
import numpy as np
import pygltflib
import pytest
from pxr import Gf, Usd, UsdGeom, UsdShade
from tests.reading import read_mesh
from tests.runs.test_recording import log, record

from plisse.cli import main
from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError
from plisse.export import FORMATS, Summary, export_run, glb, target, usd, video
from plisse.export.look import linear
from plisse.pictures.normals import corner_normals, vertex_normals
from plisse.pictures.stage import SHELL_COLORS
from plisse.runs.recording import Recording, open_recording
from plisse.runs.store import RunStore

Made = tuple[Path, list[Floats], Recording]
TINY = 1e-7  # relative error of a number in single precision


@pytest.fixture
def run(tmp_path: Path) -> Made:
    folder, positions = record(tmp_path / "run")
    return folder, positions, open_recording(folder)


def largest(x: Floats) -> float:
    return float(np.abs(x).max())


def tell(format: str, error: float) -> None:
    print(f"{format}: largest error {error:.3g} m")


def look_for_normals(body: Any, x: Floats, found: Floats, *, corners: bool) -> None:
    expected = corner_normals(x, body.triangles).reshape(-1, 3) if corners else vertex_normals(x, body.triangles)
    assert np.abs(found - expected).max() < 1e-6


# --- USD ----------------------------------------------------------------------------------------------------------


def opened(summary: Summary) -> Any:
    """The stage, which has to be kept: prims do not outlive it."""
    return Usd.Stage.Open(str(summary.path))


@pytest.mark.parametrize("suffix", [".usdc", ".usd", ".usda"])
def test_usd_comes_back(run: Made, tmp_path: Path, suffix: str) -> None:
    folder, positions, recording = run
    summary = export_run(folder, tmp_path / f"out{suffix}")
    assert (summary.frames, summary.format, summary.bytes) == (5, "usd", summary.path.stat().st_size)
    stage = opened(summary)
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert (stage.GetTimeCodesPerSecond(), stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (25, 0, 4)
    root, error = stage.GetDefaultPrim(), 0.0
    assert root.GetTypeName() == "Xform" and root.GetDisplayName() == "two sheets"
    for body in recording.bodies:
        mesh = UsdGeom.Mesh(root.GetChild(body.name))
        assert set(mesh.GetFaceVertexCountsAttr().Get()) == {3}
        assert np.array_equal(np.reshape(mesh.GetFaceVertexIndicesAttr().Get(), (-1, 3)), body.triangles)
        assert mesh.GetSubdivisionSchemeAttr().Get() == "none" and mesh.GetDoubleSidedAttr().Get() == body.is_shell
        assert mesh.GetNormalsInterpolation() == ("vertex" if body.is_shell else "faceVarying")
        for code, frame in enumerate(positions):
            x, time = frame[body.first : body.last], Usd.TimeCode(code)
            points = np.array(mesh.GetPointsAttr().Get(time), np.float64)
            error = max(error, largest(points - x))
            assert np.array_equal(np.array(mesh.GetExtentAttr().Get(time)), [points.min(axis=0), points.max(axis=0)])
            normals = np.array(mesh.GetNormalsAttr().Get(time), np.float64)
            look_for_normals(body, x, normals, corners=not body.is_shell)
    tell(suffix, error)
    assert error <= TINY * largest(positions[0])


def test_usd_has_materials_by_name_with_their_constants(run: Made, tmp_path: Path) -> None:
    stage = opened(export_run(run[0], tmp_path / "out.usdc"))
    root = stage.GetDefaultPrim()
    for name, expected in (("lower", "cotton"), ("upper", "wool"), ("block", "collider"), ("ground", "collider")):
        material, _ = UsdShade.MaterialBindingAPI(root.GetChild(name)).ComputeBoundMaterial()
        assert material.GetPrim().GetName() == expected
        shader, _, _ = material.ComputeSurfaceSource()
        assert shader.GetIdAttr().Get() == "UsdPreviewSurface" and shader.GetInput("diffuseColor").Get() is not None
    cotton = UsdShade.MaterialBindingAPI(root.GetChild("lower")).ComputeBoundMaterial()[0].GetPrim()
    assert cotton.GetAttribute("plisse:thickness").Get() == pytest.approx(0.318e-3)


def test_usd_holds_what_rests_once_and_what_moves_late_from_there_on(run: Made, tmp_path: Path) -> None:
    stage = opened(export_run(run[0], tmp_path / "out.usdc"))
    meshes = stage.GetDefaultPrim().GetChildren()[1:]
    samples = {prim.GetName(): UsdGeom.Mesh(prim).GetPointsAttr().GetTimeSamples() for prim in meshes}
    # the ball rests in the frames 0 to 2
    assert samples == {
        "lower": [0, 1, 2, 3, 4],
        "upper": [0, 1, 2, 3, 4],
        "block": [],
        "ball": [0, 2, 3, 4],
        "ground": [],
    }


def test_usd_floor_lies_where_the_half_space_ends(run: Made, tmp_path: Path) -> None:
    stage = opened(export_run(run[0], tmp_path / "out.usdc"))
    floor = UsdGeom.Mesh(stage.GetDefaultPrim().GetChild("ground"))
    assert np.array(floor.GetPointsAttr().Get())[:, 2] == pytest.approx(np.full(4, -1.0))
    assert floor.GetNormalsAttr().Get()[0] == Gf.Vec3f(0, 0, 1)
    without = opened(export_run(run[0], tmp_path / "without.usdc", floors=False))
    assert not without.GetDefaultPrim().GetChild("ground")


def test_usd_names_are_valid_and_distinct(tmp_path: Path) -> None:
    names = ["Materials", "a cloth", "a-cloth", "1st"]
    shells = [{"shape": "grid", "vertices": 9, "name": name, "translate": [0, 0, k]} for k, name in enumerate(names)]
    folder, _ = record(tmp_path / "run", name="3 sheets!", shell=shells, collider=[])
    stage = opened(export_run(folder, tmp_path / "out.usdc"))
    root = stage.GetDefaultPrim()
    assert root.GetName() == "_3_sheets_" or root.GetName() == "__sheets_"
    meshes = [prim for prim in root.GetChildren() if prim.IsA(UsdGeom.Mesh)]
    assert [prim.GetDisplayName() for prim in meshes] == names
    assert [prim.GetName() for prim in meshes][:3] == ["Materials_1", "a_cloth", "a_cloth_1"]


def test_usd_time_codes_follow_uneven_times(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run", frames=3)
    log(folder, [0.04, 0.06], [1, None])
    stage = opened(export_run(folder, tmp_path / "out.usdc"))
    mesh = UsdGeom.Mesh(stage.GetDefaultPrim().GetChild("lower"))
    assert mesh.GetPointsAttr().GetTimeSamples() == [0.0, 1.0, 1.5] and stage.GetEndTimeCode() == 1.5


def test_usd_that_is_saved_often_is_the_same(run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for name, pending in (("once", usd.PENDING), ("often", 1)):
        monkeypatch.setattr(usd, "PENDING", pending)
        stage = opened(export_run(run[0], tmp_path / f"{name}.usdc"))
        texts.append(stage.GetRootLayer().ExportToString())
    assert texts[0] == texts[1]


# --- Alembic ------------------------------------------------------------------------------------------------------


def open_archive(path: Path) -> dict[str, Any]:
    top = Abc.IArchive(str(path)).getTop()
    children = [top.getChild(k) for k in range(top.getNumChildren())]
    names = [child.getName() for child in children if AbcGeom.IPolyMesh.matches(child.getHeader())]
    return {name: AbcGeom.IPolyMesh(top, name).getSchema() for name in names}


def turned(vectors: Any) -> Floats:
    """Back from y-up to z-up."""
    found = np.array([(v[0], v[1], v[2]) for v in vectors])
    return np.stack([found[:, 0], -found[:, 2], found[:, 1]], axis=1)


def test_alembic_comes_back(run: Made, tmp_path: Path) -> None:
    folder, positions, recording = run
    schemas, error = open_archive(export_run(folder, tmp_path / "out.abc").path), 0.0
    assert list(schemas) == ["lower", "upper", "block", "ball", "ground"]
    for body in recording.bodies:
        schema = schemas[body.name]
        assert schema.getNumSamples() == len(positions)
        for number, frame in enumerate(positions):
            x, selector = frame[body.first : body.last], Abc.ISampleSelector(float(recording.times[number]))
            sample = schema.getValue(selector)
            triangles = np.array(list(sample.getFaceIndices())).reshape(-1, 3)
            assert np.array_equal(triangles[:, ::-1], body.triangles)  # clockwise, as the format has it
            error = max(error, largest(turned(sample.getPositions()) - x))
            assert schema.getTimeSampling().getSampleTime(number) == pytest.approx(recording.times[number])
            normals = turned(schema.getNormalsParam().getExpandedValue(selector).getVals())
            if not body.is_shell:
                normals = normals.reshape(-1, 3, 3)[:, ::-1].reshape(-1, 3)
            look_for_normals(body, x, normals, corners=not body.is_shell)
    assert list(schemas["upper"].getFaceSetNames()) == ["wool"]
    tell("abc", error)
    assert error <= TINY * largest(positions[0])


def test_alembic_has_materials_by_name_with_their_colours(run: Made, tmp_path: Path) -> None:
    path = export_run(run[0], tmp_path / "out.abc").path
    top, schemas = Abc.IArchive(str(path)).getTop(), open_archive(path)
    for number, (name, material) in enumerate((("lower", "cotton"), ("upper", "wool"))):
        assert AbcMaterial.getMaterialAssignmentPath(top.getChild(name)) == f"/materials/{material}"
        shader = AbcMaterial.IMaterial(top.getChild("materials"), material).getSchema()
        parameters = shader.getShaderParameters("plisse", "surface")
        color = Abc.IC3fProperty(parameters, "diffuseColor").getValue()
        assert tuple(color) == pytest.approx(linear(SHELL_COLORS[number]), abs=1e-6)
        paint = AbcGeom.IC3fGeomParam(schemas[name].getArbGeomParams(), "Cd").getExpandedValue()
        assert paint.getScope() == AbcGeom.GeometryScope.kFacevaryingScope
        assert len(paint.getVals()) == run[2].bodies[number].triangles.size
        assert tuple(paint.getVals()[1]) == pytest.approx(SHELL_COLORS[number], abs=1e-6)


def test_alembic_keeps_uneven_times(tmp_path: Path) -> None:
    folder, _ = record(tmp_path / "run", frames=3)
    log(folder, [0.04, 0.06], [1, None])
    sampling = open_archive(export_run(folder, tmp_path / "out.abc").path)["lower"].getTimeSampling()
    assert [sampling.getSampleTime(k) for k in range(3)] == pytest.approx([0.0, 0.04, 0.06])


# --- GLB ----------------------------------------------------------------------------------------------------------


def read_accessor(file: pygltflib.GLTF2, number: int) -> np.ndarray:
    accessor = file.accessors[number]
    view = file.bufferViews[accessor.bufferView]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}[accessor.type]
    kind = {pygltflib.FLOAT: "<f4", pygltflib.UNSIGNED_INT: "<u4"}[accessor.componentType]
    found = np.frombuffer(file.binary_blob(), kind, accessor.count * width, view.byteOffset).reshape(-1, width)
    assert np.array_equal(found.min(axis=0), accessor.min) and np.array_equal(found.max(axis=0), accessor.max)
    return found


def compare_corners(found: np.ndarray, indices: np.ndarray, x: Floats, triangles: Ints) -> float:
    """Largest difference of the triangles' corners, as vertices are doubled where edges are sharp."""
    back = np.stack([found[:, 0], -found[:, 2], found[:, 1]], axis=1)
    return largest(back[indices.ravel()].astype(np.float64) - x[triangles.ravel()])


@pytest.mark.parametrize("frame", [None, 1])
def test_glb_of_one_frame_comes_back(run: Made, tmp_path: Path, frame: int | None) -> None:
    folder, positions, recording = run
    summary = export_run(folder, tmp_path / "out.glb", frame=frame)
    file, x, error = pygltflib.GLTF2().load(str(summary.path)), positions[-1 if frame is None else frame], 0.0
    assert [node.name for node in file.nodes] == ["lower", "upper", "block", "ball", "ground"] and not file.animations
    assert [material.name for material in file.materials] == ["cotton", "wool", "collider"]
    assert [bool(material.doubleSided) for material in file.materials] == [True, True, False]
    assert [mesh.primitives[0].material for mesh in file.meshes] == [0, 1, 2, 2, 2]
    for mesh, body in zip(file.meshes, recording.bodies, strict=False):
        (part,) = mesh.primitives
        indices, place = read_accessor(file, part.indices), x[body.first : body.last]
        points, normals = (read_accessor(file, n) for n in (part.attributes.POSITION, part.attributes.NORMAL))
        error = max(error, compare_corners(points, indices, place, body.triangles))
        assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)), abs=1e-6)
        own = body.triangles
        expected = vertex_normals(place, own)[own] if body.is_shell else corner_normals(place, own)
        corners = expected.reshape(-1, 3)
        assert compare_corners(normals, indices, corners, np.arange(len(corners), dtype=np.int32)) < 1e-6
    block = read_accessor(file, file.meshes[2].primitives[0].attributes.POSITION)
    assert len(block) == recording.bodies[2].triangles.size  # a box has sharp edges
    tell("glb", error)
    assert error <= TINY * largest(x)


def test_glb_morph_targets_come_back(run: Made, tmp_path: Path) -> None:
    folder, positions, recording = run
    file = pygltflib.GLTF2().load(str(export_run(folder, tmp_path / "out.glb", animated=True).path))
    (animation,), error = file.animations, 0.0
    channels = {channel.target.node: animation.samplers[channel.sampler] for channel in animation.channels}
    assert set(channels) == {0, 1, 3}  # the block and the ground rest
    for number, body in enumerate(recording.bodies):
        (part,) = file.meshes[number].primitives
        base, indices = read_accessor(file, part.attributes.POSITION), read_accessor(file, part.indices)
        targets = [read_accessor(file, entry["POSITION"]) for entry in part.targets or []]
        weights = np.zeros((len(positions), 0))
        if number in channels:
            assert channels[number].interpolation == "LINEAR"
            times = read_accessor(file, channels[number].input)
            assert times.ravel() == pytest.approx(recording.times, abs=1e-6)
            weights = read_accessor(file, channels[number].output).reshape(len(positions), -1)
        for weight, x in zip(weights, positions, strict=True):
            moved = base + sum((w * entry for w, entry in zip(weight, targets, strict=True)), np.float32(0))
            error = max(error, compare_corners(moved, indices, x[body.first : body.last], body.triangles))
            if number in channels:
                turned_normals = [read_accessor(file, entry["NORMAL"]) for entry in part.targets]
                normals = read_accessor(file, part.attributes.NORMAL)
                normals = normals + sum(w * n for w, n in zip(weight, turned_normals, strict=True))
                corners = vertex_normals(x[body.first : body.last], body.triangles)
                assert compare_corners(normals, indices, corners, body.triangles) < 2 * glb.TILT
    tell("animated glb", error)
    assert error <= 2 * TINY * largest(positions[0])


def test_glb_of_a_sheet_that_begins_flat_is_not_taken_for_facets(run: Made, tmp_path: Path) -> None:
    folder, positions, recording = run
    lower, start = recording.bodies[0], positions[0].copy()
    start[lower.first : lower.last, 2] = 0.0
    RunStore.open(folder).write_frame(0, 0, start)
    for animated in (True, False):
        options = {"animated": True} if animated else {"frame": 0}
        file = pygltflib.GLTF2().load(str(export_run(folder, tmp_path / "out.glb", **options).path))
        normals = read_accessor(file, file.meshes[0].primitives[0].attributes.NORMAL)
        # Blender's bound: above it, at all corners of a triangle, it is shaded flat
        upright = normals[:, 1] > 0.9999999
        assert not upright.any() if animated else upright.all()
        assert normals[:, 1].min() > 0.999999


def test_a_large_animation_is_not_for_glb(run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glb, "MOST_SAMPLES", 100)
    with pytest.raises(SceneError, match=r"vertices × 5 frames are too many .*: export USD"):
        export_run(run[0], tmp_path / "out.glb", animated=True)
    assert not (tmp_path / "out.glb").exists()
    assert export_run(run[0], tmp_path / "out.glb").frames == 1


# --- sequences ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "allowed"), [("ply", 0.0), ("obj", 1e-10)])
def test_sequences_come_back(run: Made, tmp_path: Path, format: str, allowed: float) -> None:
    folder, positions, recording = run
    out, error = export_run(folder, tmp_path / "out", format=format).path, 0.0
    shells, solids = ([body for body in recording.bodies if body.is_shell is kind] for kind in (True, False))
    for number, x in enumerate(positions):
        name = f"frame-{number:04d}.{format}"
        for bodies, path in ((shells, out / name), (solids, out / "colliders" / name)):
            first, last = bodies[0].first, bodies[-1].last
            triangles = np.concatenate([body.triangles + body.first - first for body in bodies])
            found = meshio.read(path)
            error = max(error, largest(found.points - x[first:last]))
            assert np.array_equal(np.concatenate([block.data for block in found.cells]), triangles)
    tell(format, error)
    assert error <= allowed
    about = json.loads((out / target.MARK).read_text(encoding="utf-8"))
    assert about["times"] == pytest.approx(recording.times) and about["frames_per_second"] == pytest.approx(25)


def test_obj_has_an_object_a_body(run: Made, tmp_path: Path) -> None:
    out = export_run(run[0], tmp_path / "out", format="obj", frame=2).path
    lines = (out / "frame-0002.obj").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line[:2] in ("o ", "us")] == [
        "o lower",
        "usemtl cotton",
        "o upper",
        "usemtl wool",
    ]
    assert sorted(path.name for path in out.iterdir()) == ["colliders", "frame-0002.obj", target.MARK]


def test_a_folder_is_replaced_only_if_an_export_made_it(run: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_run(run[0], out, format="ply")
    export_run(run[0], out, format="obj", frame=0)
    assert sorted(path.name for path in out.iterdir()) == ["colliders", "frame-0000.obj", target.MARK]
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SceneError, match=r"also holds notes\.txt"):
        export_run(run[0], out, format="ply")
    with pytest.raises(SceneError, match="not empty and was not made by an export"):
        export_run(run[0], run[0], format="ply")
    with pytest.raises(SceneError, match="is a file"):
        export_run(run[0], out / "notes.txt", format="ply")
    assert (out / "frame-0000.obj").is_file() and (out / "notes.txt").is_file()


# --- video --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "codec"), [("mp4", "h264"), ("webm", "vp9")])
def test_films_come_back(tmp_path: Path, format: str, codec: str) -> None:
    folder, _ = record(tmp_path / "run", frames=3)
    told: list[tuple[int, int]] = []
    out = tmp_path / f"out.{format}"
    summary = export_run(folder, out, size=(161, 121), fps=25, progress=lambda *state: told.append(state))
    assert summary.frames == 3 and "162 × 122" in summary.note and told == [(1, 3), (2, 3), (3, 3)]
    frames = imageio_ffmpeg.read_frames(str(out))
    about = next(frames)
    assert about["size"] == (162, 122) and about["fps"] == 25.0
    assert about["codec"] == codec and about["pix_fmt"].startswith("yuv420p")
    pictures = np.stack([np.frombuffer(frame, np.uint8).reshape(122, 162, 3) for frame in frames]).astype(int)
    assert len(pictures) == 3 == imageio_ffmpeg.count_frames_and_secs(str(out))[0]
    assert np.abs(np.diff(pictures, axis=0)).max(axis=(1, 2, 3)).min() > 30  # it moves
    middle, border = pictures[:, 30:90, 40:120], pictures[:, :4]
    assert np.ptp(middle, axis=-1).mean() > 3 * np.ptp(border, axis=-1).mean()  # coloured sheets before grey paper


def test_levels_are_filmed_side_by_side(tmp_path: Path) -> None:
    """Each in its own panel: the left one moves, the right one does not."""
    folder, positions = record(tmp_path / "run", frames=3)
    shutil.copytree(folder / "level-0", folder / "level-1")
    for number in range(3):
        RunStore(folder).write_frame(1, number, positions[0])
    out = tmp_path / "out.mp4"
    summary = export_run(folder, out, all_levels=True, size=(320, 120), fps=25)
    frames = imageio_ffmpeg.read_frames(str(out))
    assert next(frames)["size"] == (320, 120) and summary.frames == 3
    pictures = np.stack([np.frombuffer(frame, np.uint8).reshape(120, 320, 3) for frame in frames]).astype(int)
    moves = np.abs(np.diff(pictures, axis=0)).max(axis=(0, 1, 3))
    assert moves[:160].max() > 120 and moves[170:].max() < 60  # what the codec makes of a still picture
    with pytest.raises(SceneError, match="--all-levels is for a video"):
        export_run(folder, tmp_path / "out.usdc", all_levels=True)


def test_the_camera_holds_the_whole_motion(tmp_path: Path) -> None:
    folder, positions = record(tmp_path / "run")
    recording = open_recording(folder)
    cloth = [x[: recording.bodies[1].last] for x in positions]
    RunStore.open(folder).write_frame(0, 3, positions[3] + [0.0, 2.0, 1.0])
    camera, reach = video.watch([open_recording(folder)], (320, 240))
    axes, low, high = camera.axes(), *reach
    for x in [*cloth[:3], cloth[3] + [0.0, 2.0, 1.0], cloth[4]]:
        right, up, depth = ((x - np.array(camera.eye)) @ axis for axis in axes)
        border = np.tan(np.radians(camera.angle / 2))
        assert np.all(np.abs(up) <= border * depth) and np.all(np.abs(right) <= border * depth * 4 / 3)
        assert np.all(low <= x) and np.all(x <= high)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(25.0, [0, 1, 2, 3]), (50.0, [0, 0, 1, 1, 2, 2, 3]), (12.5, [0, 3]), (5.0, [3]), (24.0, [0, 1, 3])],
)
def test_a_film_runs_at_real_speed(rate: float, expected: list[int]) -> None:
    assert video.pick_frames(np.array([0.0, 0.04, 0.08, 0.12]), rate) == expected


# --- all formats --------------------------------------------------------------------------------------------------


def name_of(format: str) -> str:
    return "out" + next(iter(FORMATS[format].suffixes), "")


@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_leaves_what_was_there(run: Made, tmp_path: Path, format: str) -> None:
    folder, _, _ = run
    path = folder / "level-0" / "frame-0003.npy"
    path.write_bytes(path.read_bytes()[:300])
    place = tmp_path / "place"
    place.mkdir()
    out, options = place / name_of(format), {"animated": True} if format == "glb" else {}
    if FORMATS[format].suffixes:
        out.write_text("precious", encoding="utf-8")
    with pytest.raises(SceneError, match=r"frame-0003\.npy cannot be read"):
        export_run(folder, out, format=format, **options)
    assert [entry.name for entry in place.iterdir()] == ([out.name] if FORMATS[format].suffixes else [])
    assert not out.exists() or out.read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("format", FORMATS)
def test_a_frame_that_is_not_finite_is_refused(
    run: Made, tmp_path: Path, format: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, positions, recording = run
    x = positions[3].copy()
    x[recording.bodies[1].first + 2, 1] = value
    RunStore.open(folder).write_frame(0, 3, x)
    out = tmp_path / "place" / name_of(format)
    options = ["--animated"] if format == "glb" else []
    assert main(["export", str(folder), "--format", format, "--out", str(out), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("plisse: Frame 3 ") and '"upper"' in error and "not finite numbers" in error
    assert error.count("\n") == 1 and not out.exists()
    assert main(["render", str(folder), "--frame", "3", "--out", str(tmp_path / "a.png")]) == 2
    assert '"upper"' in capsys.readouterr().err


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"mp4", "webm"}))
def test_an_export_is_repeatable_and_replaces_its_file(run: Made, tmp_path: Path, format: str) -> None:
    out = tmp_path / name_of(format)
    written = []
    for _ in range(2):
        export_run(run[0], out, format=format)
        files = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
        written.append([path.read_bytes() for path in files])
    if format == "abc":  # holds the date
        assert [len(data) for data in written[0]] == [len(data) for data in written[1]]
    else:
        assert written[0] == written[1]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("out.xyz", {}, r"end it in \.usdc"),
        ("out", {}, "choose from usd, abc"),
        ("out.usdc", {"format": "fbx"}, 'no format "fbx"'),
        ("out.mp4", {"format": "usd"}, r"use e\.g\. .*out\.usdc"),
        ("out.ply", {"format": "obj"}, r"or out\.obj for one"),
        ("out.usdc", {"fps": 24.0}, "no option fps: it applies only to mp4 and webm"),
        ("out.mp4", {"size": (4, 4)}, "16 to 8192 pixels"),
        ("out.mp4", {"fps": 0.0}, "frames per second"),
        ("out.usdc", {"frame": 99}, "no frame 99"),
        ("out.usdc", {"level": 3}, "no frames of level 3"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    run: Made, tmp_path: Path, name: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SceneError, match=sentence) as error:
        export_run(run[0], tmp_path / name, **options)
    assert "\n" not in str(error.value) and not (tmp_path / name).exists()


def test_a_name_without_suffix_gets_one(run: Made, tmp_path: Path) -> None:
    assert export_run(run[0], tmp_path / "cloth", format="usd").path == tmp_path / "cloth.usdc"


@pytest.mark.parametrize(("format", "extra"), [("usd", "usd"), ("abc", "alembic"), ("mp4", "video")])
def test_a_missing_library_is_named_with_its_command(
    run: Made, tmp_path: Path, format: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pxr", "alembic3d", "imageio_ffmpeg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SceneError, match=rf'pip install "plisse\[{extra}\]"'):
        export_run(run[0], tmp_path / name_of(format))


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A disk of two megabytes; only the administrator can make one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount a disk")
    yield place
    subprocess.run(["umount", str(place)], capture_output=True, check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a disk")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_is_one_sentence(run: Made, small_disk: Path, format: str) -> None:
    with suppress(OSError), (small_disk / "filling").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    film: dict[str, Any] = {"size": (320, 240), "frame": 0} if format in ("mp4", "webm") else {}
    with pytest.raises(
        SceneError, match=r"cannot be written: .*No space left on device.*; nothing was changed there\."
    ):
        export_run(run[0], small_disk / name_of(format), format=format, **film)
    assert [path.name for path in small_disk.iterdir()] == ["filling"]


MEASURE = """
import sys
from pathlib import Path
from plisse.export import export_run
summary = export_run(Path(sys.argv[1]), Path(sys.argv[2]), format=sys.argv[3])
assert summary.frames == int(sys.argv[4])
# the peak that getrusage tells is at least the parent's
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("format", ["usd", "abc", "ply", "obj"])
def test_memory_does_not_grow_with_frames(tmp_path: Path, format: str) -> None:
    shell = [{"shape": "grid", "vertices": 20000}]
    peaks = []
    for frames in (50, 200):
        folder, _ = record(tmp_path / f"run-{frames}", frames=frames, shell=shell)
        arguments = [str(folder), str(tmp_path / f"{frames}-{name_of(format)}"), format, str(frames)]
        done = subprocess.run([sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    print(f"{format}: peak of memory {peaks[0]:.0f} MB for 50 frames, {peaks[1]:.0f} MB for 200")
    # 150 frames more are 72 MB of positions in double precision, and as much again in the files
    assert peaks[1] - peaks[0] < 10


def test_one_frame_as_one_file(tmp_path: Path) -> None:
    folder, frames = record(tmp_path / "run")
    recording = open_recording(folder)
    shells = max(body.last for body in recording.bodies if body.is_shell)
    for kind in ("ply", "obj"):
        summary = export_run(folder, tmp_path / f"last.{kind}")
        assert summary.frames == 1 and "one frame" in summary.note
        X, triangles = read_mesh(tmp_path / f"last.{kind}")
        assert np.abs(X - frames[-1][:shells]).max() < 1e-9 and triangles.max() == shells - 1
        first, _ = read_mesh(export_run(folder, tmp_path / f"first.{kind}", frame=0).path)
        assert np.abs(first - frames[0][:shells]).max() < 1e-9
    with pytest.raises(SceneError, match="choose one of them"):
        export_run(folder, tmp_path / "a.glb", animated=True, frame=1)
