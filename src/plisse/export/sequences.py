"""PLY and OBJ sequences: one file per frame, with the colliders in a separate folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh, by_vertex, concatenate
from plisse.export.borne import Borne, Measure
from plisse.export.target import Progress, Summary, quiet, whole_file, whole_folder
from plisse.meshes.ply import write_ply
from plisse.meshes.texture import face_lines, number_uv
from plisse.runs.recording import RecordedBody, Recording

Writer = Callable[[Path, Sequence[Floats], Borne | None], None]


def write_plys(
    recording: Recording, out: Path, *, floors: bool = False, mechanics: bool = False, progress: Progress = quiet
) -> Summary:
    """Writes out/frame-0000.ply … (all shells as one mesh, float64) and out/colliders/frame-0000.ply …"""
    return _write(recording, out, "ply", _ply_writer, floors, progress, Measure(recording) if mechanics else None)


def write_objs(recording: Recording, out: Path, *, floors: bool = False, progress: Progress = quiet) -> Summary:
    """Writes out/frame-0000.obj … (an object a shell, eleven digits) and out/colliders/frame-0000.obj …"""
    return _write(recording, out, "obj", _obj_writer, floors, progress)


def write_single(
    recording: Recording, out: Path, kind: str, *, floors: bool, mechanics: bool, progress: Progress
) -> Summary:
    """Writes the last frame of a recording, all shells, to one PLY or OBJ file."""
    shells = [body for body in recording.bodies if body.is_shell]
    shown: list[RecordedBody] = [*shells, *(recording.planes if floors else ())]
    write, last = {"ply": _ply_writer, "obj": _obj_writer}[kind](shown), len(recording) - 1
    borne = Measure(recording)(last) if mechanics else None
    with whole_file(out) as partial:
        write(partial, list(recording.places(last, shown)), borne)
        size = partial.stat().st_size
    progress(1, 1)
    return Summary(
        out, kind, recording.level, 1, size, "only the shells of one frame; a folder gets all frames and the colliders"
    )


def _write(
    recording: Recording,
    out: Path,
    kind: str,
    make: Callable[[Sequence[RecordedBody]], Writer],
    floors: bool,
    progress: Progress,
    measure: Measure | None = None,
) -> Summary:
    shells = [body for body in recording.bodies if body.is_shell]
    solids = [body for body in recording.bodies if not body.is_shell] + list(recording.planes if floors else ())
    write_shells, write_solids = make(shells), make(solids)
    about = {
        "scene": recording.name,
        "level": recording.level,
        "format": kind,
        "unit": "m",
        "up": "z",
        "frames_per_second": recording.rate,
        **({} if recording.smooth is None else {"view": "smooth"}),
        "times": [round(float(time), 9) for time in recording.times],
    }
    size = 0
    with whole_folder(out, about) as folder:
        if solids:
            (folder / "colliders").mkdir()
        for index, number in enumerate(recording.numbers):
            places = list(recording.places(index, [*shells, *solids]))
            path = folder / f"frame-{number:04d}.{kind}"
            write_shells(path, places[: len(shells)], None if measure is None else measure(index))
            size += path.stat().st_size
            if solids:
                path = folder / "colliders" / path.name
                write_solids(path, places[len(shells) :], None)
                size += path.stat().st_size
            progress(index + 1, len(recording))
    return Summary(out, kind, recording.level, len(recording), size)


def _ply_writer(bodies: Sequence[RecordedBody]) -> Writer:
    whole: Mesh | None = None
    uv: Floats | None = None

    def write(path: Path, places: Sequence[Floats], borne: Borne | None) -> None:
        nonlocal whole, uv
        if whole is None:
            whole, _ = concatenate([Mesh(x, body.triangles, body.uv) for body, x in zip(bodies, places, strict=True)])
            one_each = None if whole.uv is None else by_vertex(whole.triangles, whole.uv, len(whole.X))
            uv = whole.uv if one_each is None else one_each
        names = ", ".join(body.name for body in bodies)
        x, faces, vertices = np.concatenate(places), {}, {}
        if borne is not None:
            # floors may follow the shells: they bear nothing
            faces = _columns(borne.triangles, "12", len(whole.triangles))
            vertices = _columns(borne.vertices, "xyz", len(x))
        write_ply(path, x, whole.triangles, uv=uv, comment=names, faces=faces, vertices=vertices)

    return write


def _columns(attributes: Mapping[str, Floats], endings: str, rows: int) -> dict[str, Floats]:
    """Each column under a name of its own, zero in rows that there are no values for."""
    return {
        f"{name}_{ending}": np.pad(column, (0, rows - len(column)))
        for name, values in attributes.items()
        for ending, column in zip(endings, values.T, strict=True)
    }


def _obj_writer(bodies: Sequence[RecordedBody]) -> Writer:
    faces: list[str] = []

    def write(path: Path, places: Sequence[Floats], borne: Borne | None) -> None:
        if not faces:  # the same text in every frame
            first, known = 1, 1
            for body, x in zip(bodies, places, strict=True):
                points, corners = (np.zeros((0, 2)), None) if body.uv is None else number_uv(body.uv)
                texture = "vt %.9g %.9g\n" * len(points) % tuple(points.ravel().tolist())
                lines = face_lines(body.triangles + first, None if corners is None else corners + known)
                faces.append(texture + lines)
                first, known = first + len(x), known + len(points)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for body, x, text in zip(bodies, places, faces, strict=True):
                file.write(f"o {'_'.join(body.name.split())}\n")
                if body.material:
                    file.write(f"usemtl {'_'.join(body.material.split())}\ns 1\n")
                file.write("v %.11g %.11g %.11g\n" * len(x) % tuple(x.ravel().tolist()))
                file.write(text)

    return write
