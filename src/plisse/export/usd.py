"""Universal Scene Description: one file with every body's points over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import find_bounds
from plisse.export.borne import Borne, Measure
from plisse.export.look import Look, describe_looks, linear, make_distinct
from plisse.export.target import Progress, Summary, need, quiet, whole_file
from plisse.pictures.normals import corner_normals, vertex_normals
from plisse.runs.recording import RecordedBody, Recording

PENDING = 16 << 20  # bytes of samples that may wait in memory before they go to the file


def write(
    recording: Recording, out: Path, *, floors: bool = True, mechanics: bool = False, progress: Progress = quiet
) -> Summary:
    """Writes .usdc or .usd (binary) or .usda (text): z-up, metres, one time code per frame.

    Samples go to the file every 16 MB, so that memory does not grow with frames. Text can only be written at once: it
    is made from a binary file, which is read in place. floors: half-spaces as squares. mechanics: what shells bear, as
    primvars plisse:…
    """
    need("pxr", extra="usd", purpose="USD")
    measure = Measure(recording) if mechanics else None
    with whole_file(out) as partial:
        if out.suffix == ".usda":
            binary = partial.with_suffix(".usdc")
            try:
                _write_stage(recording, binary, floors, progress, measure)
                _write_text(binary, partial)
            finally:
                binary.unlink(missing_ok=True)
        else:
            _write_stage(recording, partial, floors, progress, measure)
        size = partial.stat().st_size
    return Summary(out, "usd", recording.level, len(recording), size)


def _write_text(binary: Path, partial: Path) -> None:
    from pxr import Sdf

    layer = Sdf.Layer.OpenAsAnonymous(str(binary))
    if layer is None or not layer.Export(str(partial)):
        raise RuntimeError("USD could not write its text form")


def _write_stage(recording: Recording, path: Path, floors: bool, progress: Progress, measure: Measure | None) -> None:
    from pxr import Sdf, Tf, Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    codes = np.round(recording.times * recording.rate, 6)
    stage.SetTimeCodesPerSecond(recording.rate)
    stage.SetFramesPerSecond(recording.rate)
    stage.SetStartTimeCode(float(codes[0]))
    stage.SetEndTimeCode(float(codes[-1]))
    root = UsdGeom.Xform.Define(stage, f"/{Tf.MakeValidIdentifier(recording.name)}")
    root.GetPrim().SetDisplayName(recording.name)
    stage.SetDefaultPrim(root.GetPrim())
    bodies: Sequence[RecordedBody] = [*recording.bodies, *(recording.planes if floors else ())]
    looks = describe_looks(bodies)
    materials = _write_materials(stage, str(root.GetPath()), looks)
    names = make_distinct([Tf.MakeValidIdentifier(body.name) for body in bodies], taken=["Materials"])
    meshes = [
        Points(stage, f"{root.GetPath()}/{name}", body, look, materials[look.key])
        for body, look, name in zip(bodies, looks, names, strict=True)
    ]
    layer, pending = stage.GetRootLayer(), 0
    for index, code in enumerate(codes):
        borne, first = None if measure is None else measure(index), 0
        for mesh, x in zip(meshes, recording.places(index, bodies), strict=True):
            own = borne.of(mesh.body, first) if borne is not None and mesh.body.is_shell else None
            pending += mesh.add(x, float(code), own)
            first += len(mesh.body.triangles)
        if pending > PENDING:
            _save(layer)
            pending = 0
        progress(index + 1, len(recording))
    _save(layer)
    # the layer is remembered by its name until all that refers to it is gone
    del stage, layer, root, meshes, materials
    assert Sdf.Layer.Find(str(path)) is None


def _save(layer: Any) -> None:
    if not layer.Save():
        raise RuntimeError("USD could not save its layer")


class Points:
    """One mesh prim. Frames that repeat the one before are left out, so a body at rest has no time samples."""

    def __init__(self, stage: Any, path: str, body: RecordedBody, look: Look, material: Any) -> None:
        from pxr import Gf, Sdf, UsdGeom, UsdShade, Vt

        self.mesh, self.body = UsdGeom.Mesh.Define(stage, path), body
        self.mesh.GetPrim().SetDisplayName(body.name)
        self.mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        self.mesh.CreateDoubleSidedAttr(body.is_shell)
        self.mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(body.triangles), 3))
        self.mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(body.triangles.ravel()))
        self.mesh.CreateDisplayColorAttr([Gf.Vec3f(*linear(look.color))])
        if body.uv is not None:
            varying, pairs = UsdGeom.Tokens.faceVarying, Sdf.ValueTypeNames.TexCoord2fArray
            texture = UsdGeom.PrimvarsAPI(self.mesh).CreatePrimvar("st", pairs, varying)
            texture.Set(Vt.Vec2fArray.FromNumpy(body.uv.reshape(-1, 2).astype(np.float32)))
        UsdShade.MaterialBindingAPI.Apply(self.mesh.GetPrim()).Bind(material)
        # folds of cloth are smooth, edges of a box are not
        self.mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex if body.is_shell else UsdGeom.Tokens.faceVarying)
        self.before: Floats | None = None
        self.borne_before: Borne | None = None
        self.first = self.last = 0.0
        self.sampled: float | None = None

    def add(self, x: Floats, code: float, borne: Borne | None = None) -> int:
        """Takes the points of one frame and what it bears; how many bytes wait to be saved for it."""
        size = 0
        if self.before is None:
            self.first = code
            size = self._set(x, borne)
        elif not np.array_equal(x, self.before):
            # a motion begins where the rest before it ended
            if self.sampled is None:
                size += self._set(self.before, self.borne_before, self.first)
                self.sampled = self.first
            if self.sampled < self.last:
                size += self._set(self.before, self.borne_before, self.last)
            size += self._set(x, borne, code)
            self.sampled = code
        self.before, self.borne_before, self.last = x.copy(), borne, code
        return size

    def _set(self, x: Floats, borne: Borne | None, code: float | None = None) -> int:
        from pxr import Sdf, Usd, UsdGeom, Vt

        time = Usd.TimeCode.Default() if code is None else Usd.TimeCode(code)
        points = x.astype(np.float32)
        triangles = self.body.triangles
        normals = vertex_normals(x, triangles) if self.body.is_shell else corner_normals(x, triangles).reshape(-1, 3)
        bounds = find_bounds(points)
        self.mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(points), time)
        self.mesh.GetExtentAttr().Set(Vt.Vec3fArray.FromNumpy(bounds), time)
        self.mesh.GetNormalsAttr().Set(Vt.Vec3fArray.FromNumpy(normals.astype(np.float32)), time)
        size = int(points.nbytes + normals.nbytes // 2)
        if borne is None:
            return size
        types = Sdf.ValueTypeNames
        pairs = (borne.triangles, UsdGeom.Tokens.uniform, types.Float2Array, Vt.Vec2fArray)
        vectors = (borne.vertices, UsdGeom.Tokens.vertex, types.Vector3fArray, Vt.Vec3fArray)
        for attributes, interpolation, kind, array in (pairs, vectors):
            for name, values in attributes.items():
                primvar = UsdGeom.PrimvarsAPI(self.mesh).CreatePrimvar(f"plisse:{name}", kind, interpolation)
                primvar.Set(array.FromNumpy(np.ascontiguousarray(values, np.float32)), time)
                size += values.nbytes // 2
        return size


def _write_materials(stage: Any, root: str, looks: Sequence[Look]) -> dict[Any, Any]:
    """A material prim for each different material, with its constants [SI] as attributes plisse:…"""
    from pxr import Gf, Sdf, Tf, UsdGeom, UsdShade

    UsdGeom.Scope.Define(stage, f"{root}/Materials")
    # the colour is that of the first body of a material
    different = {look.key: look for look in reversed(looks)}
    names = make_distinct([Tf.MakeValidIdentifier(look.material) for look in different.values()])
    out: dict[Any, Any] = {}
    for look, name in zip(different.values(), names, strict=True):
        path = f"{root}/Materials/{name}"
        out[look.key] = material = UsdShade.Material.Define(stage, path)
        material.GetPrim().SetDisplayName(look.material)
        for key, value in look.constants.items():
            material.GetPrim().CreateAttribute(f"plisse:{key}", Sdf.ValueTypeNames.Double).Set(value)
        shader = UsdShade.Shader.Define(stage, f"{path}/Surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*linear(look.color)))
        shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.8)
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    return out
