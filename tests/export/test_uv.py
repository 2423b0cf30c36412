"""Texture coordinates in every export, read back with its format's own library."""

from pathlib import Path
from typing import Any

import alembic3d.Abc as Abc
import numpy as np
import pygltflib
import pytest
from pxr import UsdGeom
from tests.export.test_export import open_archive, opened, read_accessor
from tests.runs.test_recording import record

from plisse.core.arrays import Floats
from plisse.export import export_run
from plisse.meshes.surfaces import load_surface
from plisse.runs.recording import Recording, open_recording
from plisse.scene.sources import MeshSource

SHELLS: list[dict[str, Any]] = [
    {"name": "sheet", "shape": "grid", "resolution": 3},
    # a tube has a seam, a ball nothing
    {"name": "tube", "shape": "cylinder", "closed": False, "around": 8, "along": 2, "translate": [2, 0, 0]},
    {"name": "ball", "shape": "sphere", "subdivisions": 1, "translate": [4, 0, 0]},
]
SOLIDS: list[dict[str, Any]] = [
    {"name": "pipe", "shape": "cylinder", "closed": False, "around": 4, "translate": [6, 0, 0]}
]


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Recording]:
    folder, _ = record(tmp_path / "run", frames=3, shell=SHELLS, collider=SOLIDS)
    return folder, open_recording(folder)


def test_the_recording_has_those_of_each_body(run: tuple[Path, Recording]) -> None:
    bodies = {body.name: body for body in run[1].bodies}
    assert bodies["ball"].uv is None
    for table in (*SHELLS[:2], *SOLIDS):
        parameters = {key: value for key, value in table.items() if key not in ("name", "shape", "translate")}
        mesh = load_surface(MeshSource(shape=table["shape"], parameters=parameters), Path()).mesh
        np.testing.assert_array_equal(bodies[table["name"]].uv, mesh.uv)


def test_usd(run: tuple[Path, Recording], tmp_path: Path) -> None:
    stage = opened(export_run(run[0], tmp_path / "out.usdc"))
    for body in run[1].bodies:
        primvar = UsdGeom.PrimvarsAPI(stage.GetDefaultPrim().GetChild(body.name)).GetPrimvar("st")
        assert primvar.HasValue() == (body.uv is not None)
        if body.uv is not None:
            assert primvar.GetInterpolation() == "faceVarying" and primvar.GetTypeName() == "texCoord2f[]"
            np.testing.assert_allclose(np.array(primvar.Get()), body.uv.reshape(-1, 2), atol=1e-7)
    # and by our own reader
    found = load_surface(MeshSource(file="out.usdc", object="tube"), tmp_path).mesh
    np.testing.assert_allclose(found.uv, run[1].bodies[1].uv, atol=1e-7)


def test_alembic(run: tuple[Path, Recording], tmp_path: Path) -> None:
    schemas = open_archive(export_run(run[0], tmp_path / "out.abc").path)
    for body in run[1].bodies:
        schema = schemas[body.name]
        if body.uv is None:
            assert not schema.getUVsParam().valid()
            continue
        for time in run[1].times:
            values = schema.getUVsParam().getExpandedValue(Abc.ISampleSelector(float(time))).getVals()
            uv = np.array([(v[0], v[1]) for v in values]).reshape(-1, 3, 2)[:, ::-1]
            np.testing.assert_allclose(uv, body.uv, atol=1e-7)


@pytest.mark.parametrize("animated", [False, True])
def test_glb_splits_vertices_at_seams_only(animated: bool, run: tuple[Path, Recording], tmp_path: Path) -> None:
    folder, recording = run
    file = pygltflib.GLTF2().load(str(export_run(folder, tmp_path / "out.glb", animated=animated).path))
    frames = {body.name: next(recording.places(0 if animated else 2, [body])) for body in recording.bodies}
    counts = {}
    for mesh in file.meshes:
        body = next(each for each in recording.bodies if each.name == mesh.name)
        attributes, indices = mesh.primitives[0].attributes, read_accessor(file, mesh.primitives[0].indices)
        triangles, points = indices.reshape(-1, 3), read_accessor(file, attributes.POSITION)
        counts[mesh.name] = len(points)
        # the same triangles, corner by corner, however many vertices there are
        x = np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)
        np.testing.assert_allclose(x[triangles], frames[mesh.name][body.triangles], atol=1e-6)
        assert (attributes.TEXCOORD_0 is None) == (body.uv is None)
        if body.uv is not None:
            uv = read_accessor(file, attributes.TEXCOORD_0)
            np.testing.assert_allclose(uv[triangles] * [1, -1] + [0, 1], body.uv, atol=1e-6)
        for target in mesh.primitives[0].targets or []:
            assert len(read_accessor(file, target["POSITION"])) == len(points)
    # three more where the tube is unrolled
    assert counts["sheet"] == 16 and counts["tube"] == 3 * 8 + 3 and counts["ball"] == 42


@pytest.mark.parametrize("kind", ["ply", "obj"])
def test_sequences(kind: str, run: tuple[Path, Recording], tmp_path: Path) -> None:
    export_run(run[0], tmp_path / "out", format=kind)
    for bodies, folder in ((run[1].bodies[:3], "out"), (run[1].bodies[3:], "out/colliders")):
        found = load_surface(MeshSource(file=f"{folder}/frame-0001.{kind}"), tmp_path).mesh
        gaps = [np.full((len(body.triangles), 3, 2), np.nan) if body.uv is None else body.uv for body in bodies]
        np.testing.assert_allclose(found.uv, np.concatenate(gaps), atol=1e-7)


def corners(uv: Floats | None) -> Floats:
    assert uv is not None
    return uv


def test_one_frame_as_one_file(run: tuple[Path, Recording], tmp_path: Path) -> None:
    for kind in ("ply", "obj"):
        export_run(run[0], tmp_path / f"last.{kind}")
        found = load_surface(MeshSource(file=f"last.{kind}"), tmp_path).mesh
        np.testing.assert_allclose(corners(found.uv)[:18], corners(run[1].bodies[0].uv), atol=1e-7)
