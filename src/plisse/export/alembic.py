"""Alembic (Ogawa): every body as a mesh with its points over time, y-up as the format's readers expect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.version import __version__
from plisse.export.look import Look, describe_looks, linear, make_distinct, to_y_up
from plisse.export.target import Progress, Summary, leave_room, need, quiet, whole_file
from plisse.pictures.normals import corner_normals, vertex_normals
from plisse.runs.recording import RecordedBody, Recording


def write(recording: Recording, out: Path, *, floors: bool = True, progress: Progress = quiet) -> Summary:
    """Writes .abc in metres. Samples go to the file as they come. floors: half-spaces as squares.

    Faces are wound clockwise as seen from outside, which is this format's custom.
    """
    need("alembic3d", extra="alembic", purpose="Alembic")
    bodies = [*recording.bodies, *(recording.planes if floors else ())]
    names = make_distinct([body.name.replace("/", "_") for body in bodies])
    with whole_file(out) as partial:
        _write_archive(recording, partial, bodies, names, progress)
        _check(partial, bodies, names, len(recording))
        size = partial.stat().st_size
    return Summary(out, "abc", recording.level, len(recording), size)


def _write_archive(
    recording: Recording, path: Path, bodies: Sequence[RecordedBody], names: Sequence[str], progress: Progress
) -> None:
    from alembic3d import Abc

    frame = sum(48 * (len(body.triangles) + body.last - body.first) for body in bodies)  # bytes, at most
    leave_room(path, frame)
    archive = Abc.CreateArchiveWithInfo(str(path), recording.rate, f"plisse {__version__}", recording.name)
    number = archive.addTimeSampling(_make_sampling(recording))
    looks = describe_looks(bodies)
    materials = _write_materials(archive.getTop(), looks, names)
    meshes = [
        Points(archive.getTop(), name, number, body, look, materials[look.key])
        for body, look, name in zip(bodies, looks, names, strict=True)
    ]
    for index in range(len(recording)):
        leave_room(path, frame)
        for mesh, x in zip(meshes, recording.places(index, bodies), strict=True):
            mesh.add(x)
        progress(index + 1, len(recording))
    # the file is complete once nothing refers to the archive any more


def _make_sampling(recording: Recording) -> Any:
    from alembic3d.AbcCoreAbstract import AcyclicFlag, TimeSampling, TimeSamplingType, TimeVector

    if np.allclose(np.diff(recording.times) * recording.rate, 1.0, rtol=0, atol=1e-6):
        return TimeSampling(1.0 / recording.rate, float(recording.times[0]))
    times = TimeVector()
    for time in recording.times:
        times.append(float(time))
    return TimeSampling(TimeSamplingType(AcyclicFlag.kAcyclic), times)


def _write_materials(top: Any, looks: Sequence[Look], taken: Sequence[str]) -> dict[Any, str]:
    """A material object for each different material, with its colour; their paths in the archive."""
    from alembic3d import Abc, AbcMaterial

    imath = need("imath", extra="alembic", purpose="Alembic")
    (folder,) = make_distinct(["materials"], taken=taken)
    parent, out = Abc.OObject(top, folder), {}
    # the colour is that of the first body of a material
    different = {look.key: look for look in reversed(looks)}
    names = make_distinct([look.material.replace("/", "_") for look in different.values()])
    for look, name in zip(different.values(), names, strict=True):
        schema = AbcMaterial.OMaterial(parent, name).getSchema()
        schema.setShader("plisse", "surface", look.material)
        color = Abc.OC3fProperty(schema.getShaderParameters("plisse", "surface"), "diffuseColor")
        color.setValue(imath.Color3f(*linear(look.color)))
        out[look.key] = f"/{folder}/{name}"
    return out


class Points:
    """One mesh of the archive.

    Its one face set is named after the material, which Blender makes a material slot of; the material's colour is also
    that of the mesh, as Cd.
    """

    def __init__(self, top: Any, name: str, sampling: int, body: RecordedBody, look: Look, material: str) -> None:
        from alembic3d import AbcGeom, AbcMaterial

        self.mesh, self.body, self.look = AbcGeom.OPolyMesh(top, name), body, look
        AbcMaterial.addMaterialAssignment(self.mesh, material)
        self.schema = self.mesh.getSchema()
        self.schema.setTimeSampling(sampling)
        self.before: Floats | None = None

    def add(self, x: Floats) -> None:
        from alembic3d import AbcGeom

        imath = need("imath", extra="alembic", purpose="Alembic")
        if self.before is not None and np.array_equal(x, self.before):
            self.schema.setFromPrevious()
            return
        if self.body.is_shell:
            normals, scope = vertex_normals(x, self.body.triangles), AbcGeom.GeometryScope.kVertexScope
        else:  # edges of a box stay sharp
            corners = corner_normals(x, self.body.triangles)[:, ::-1]
            normals, scope = corners.reshape(-1, 3), AbcGeom.GeometryScope.kFacevaryingScope
        # samples only point to arrays, which have to live until they are set
        points, shown = imath.V3fArrayFromBuffer(to_y_up(x)), imath.V3fArrayFromBuffer(to_y_up(normals))
        sample, m = AbcGeom.OPolyMeshSchemaSample(), len(self.body.triangles)
        shading = AbcGeom.ON3fGeomParamSample(shown, scope)
        sample.setPositions(points)
        sample.setNormals(shading)
        if self.before is None:
            corners = imath.IntArrayFromBuffer(np.ascontiguousarray(self.body.triangles[:, ::-1]).ravel())
            counts, faces = (
                imath.IntArrayFromBuffer(v) for v in (np.full(m, 3, np.int32), np.arange(m, dtype=np.int32))
            )
            if self.body.uv is not None:
                texture = imath.V2fArrayFromBuffer(self.body.uv[:, ::-1].reshape(-1, 2).astype(np.float32))
                pattern = AbcGeom.OV2fGeomParamSample(texture, AbcGeom.GeometryScope.kFacevaryingScope)
                sample.setUVs(pattern)
            sample.setFaceIndices(corners)
            sample.setFaceCounts(counts)
            chosen = self.schema.createFaceSet(self.look.material.replace("/", "_")).getSchema()
            chosen.set(AbcGeom.OFaceSetSchemaSample(faces))
            self._paint()
        self.schema.set(sample)
        self.before = x.copy()

    def _paint(self) -> None:
        """One colour for all corners of all triangles, in sRGB, as Blender takes it."""
        from alembic3d import AbcGeom

        imath = need("imath", extra="alembic", purpose="Alembic")
        color, scope = imath.C3fArray(1), AbcGeom.GeometryScope.kFacevaryingScope
        color[0] = imath.Color3f(*self.look.color)
        numbers = imath.UnsignedIntArray(3 * len(self.body.triangles))
        paint = AbcGeom.OC3fGeomParam(self.schema.getArbGeomParams(), "Cd", True, scope, 1)
        paint.set(AbcGeom.OC3fGeomParamSample(color, numbers, scope))


def _check(path: Path, bodies: Sequence[RecordedBody], names: Sequence[str], frames: int) -> None:
    """Reads the end of the file back: the library does not tell when a disk was full."""
    from alembic3d import Abc, AbcGeom

    archive = Abc.IArchive(str(path))
    for body, name in zip(bodies, names, strict=True):
        schema = AbcGeom.IPolyMesh(archive.getTop(), name).getSchema()
        # selectors go by time: the binding takes every number for one
        end = schema.getTimeSampling().getSampleTime(frames - 1)
        sample = schema.getValue(Abc.ISampleSelector(end))
        if schema.getNumSamples() != frames or len(sample.getFaceCounts()) != len(body.triangles):
            raise RuntimeError("Alembic left samples out")
