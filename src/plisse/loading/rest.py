"""Rest shapes apart from start shapes: patterns from a mesh file, or from a mesh's texture coordinates."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.core.mesh import SLIVER, Mesh, flatness, tell_count
from plisse.meshes.memo import Memo, stamp_file
from plisse.meshes.polygons import Polygons, check_polygons, cut_faces
from plisse.meshes.surfaces import Surface, read_places, read_polygons
from plisse.scene.scene import Shell

# A rest shape whose area [m²] is larger or smaller than its mesh's by more than this is probably in another unit.
ODD = 3.0

_rested: Memo[Mesh] = Memo(1_000_000, lambda mesh: len(mesh.X))


def add_rest(shell: Shell, surface: Surface, mesh: Mesh, base: Path) -> Mesh:
    """The shell's scaled mesh with the rest shape that its scene asks for; the same again is the same object."""
    path = base / str(shell.rest)
    stamp = "uv" if shell.rest == "uv" else stamp_file(path)
    key = stamp and (mesh, stamp, shell.uv_unit, shell.mesh.unit, shell.mesh.up)
    return _rested.get(key, lambda: _make(shell, surface, mesh, path))


def _make(shell: Shell, surface: Surface, mesh: Mesh, path: Path) -> Mesh:
    faces = surface.faces or _as_faces(mesh.triangles)
    if shell.rest != "uv":
        rest = replace(mesh, rest=np.array(shell.scale) * _read_corners(faces, path, shell))
    else:
        assert shell.uv_unit is not None
        if mesh.uv is None or np.isnan(mesh.uv).any():
            gap = None if mesh.uv is None else int(np.argmax(np.isnan(mesh.uv).any(axis=(1, 2))))
            which = "the mesh" if gap is None else _name_face(faces, gap)
            raise SceneError(
                f'rest = "uv" needs texture coordinates, and {which} has none: unwrap the whole mesh and export it '
                "with its UVs, as OBJ, PLY or USD."
            )
        rest = replace(mesh, rest=_lay_flat(shell.scale[0] * shell.uv_unit * mesh.uv))
    _check_triangles(rest, faces)
    return rest


def _lay_flat(uv: Floats) -> Floats:
    """Corners of a pattern in the plane [m], (m, 3, 2), as places in space, (m, 3, 3), all seen from the same side.

    Pieces that are mirrored, e.g. because they lie on top of others, are turned over: a pattern has no folds.
    """
    flat = np.zeros((len(uv), 3, 3))
    flat[:, :, :2] = uv
    (ax, ay), (bx, by) = ((uv[:, k] - uv[:, 0]).T for k in (1, 2))
    flat[ax * by < ay * bx, :, 0] *= -1.0
    return flat


def describe_rest(mesh: Mesh) -> str | None:
    """A note where the rest shape's size is far from the mesh's own."""
    ratio = float(mesh.triangle_areas.sum() / replace(mesh, rest=None).triangle_areas.sum())
    if 1.0 / ODD < ratio < ODD:
        return None
    return (
        f"has a rest shape of {ratio:.3g} times the area of its mesh; if that is not intended, correct unit or uv_unit"
    )


def _as_faces(triangles: Ints) -> Polygons:
    """The triangles of a generated shape, as a file would hold them."""
    return Polygons(np.zeros((0, 3)), triangles.reshape(-1).astype(np.int64), 3 * np.arange(len(triangles) + 1))


def _read_corners(faces: Polygons, path: Path, shell: Shell) -> Floats:
    """Positions [m] of the triangles' corners in a file that has the same faces, (m, 3, 3)."""
    pattern = read_polygons(path)
    check_polygons(pattern, str(path))
    if len(pattern.numbers) != len(faces.numbers):
        raise SceneError(
            f"{path} has {len(pattern.numbers)} faces, but the mesh has {len(faces.numbers)}: a rest shape needs the "
            "same faces in the same order, so export both from one mesh."
        )
    wrong = _find_other(pattern, faces)
    if wrong is not None:
        raise SceneError(
            f"{path} has other faces than the mesh, first at {pattern.name_face(wrong)}: a rest shape needs the same "
            "faces in the same order, whose vertices may be split but not joined; export both from one mesh."
        )
    # cut as the mesh is: by themselves, the flat faces might be cut along other diagonals
    places = cut_faces(faces, str(path)) if len(faces.X) else np.arange(len(faces.corners)).reshape(-1, 3)
    return read_places(pattern, path, shell.mesh)[pattern.corners[places]]


def _find_other(pattern: Polygons, faces: Polygons) -> int | None:
    """The first face with another number of corners, or with a vertex that stands for two of the mesh's vertices."""
    sizes = np.flatnonzero(pattern.sizes != faces.sizes)
    if len(sizes):
        return int(sizes[0])
    own: Longs = np.full(len(pattern.X), -1)
    # backwards, so that the first one counts
    own[pattern.corners[::-1]] = faces.corners[::-1]
    corners = np.flatnonzero(own[pattern.corners] != faces.corners)
    return int(np.searchsorted(pattern.starts, corners[0], side="right")) - 1 if len(corners) else None


def _check_triangles(mesh: Mesh, faces: Polygons) -> None:
    corners = mesh.rest_corners.reshape(-1, 3)
    ratio = flatness(Mesh(corners, np.arange(len(corners), dtype=np.int32).reshape(-1, 3)))
    worst = int(np.argmin(ratio))
    if ratio[worst] < SLIVER:
        words = tell_count(int((ratio < SLIVER).sum()), "a triangle", "{} triangles")
        raise SceneError(
            f"the rest shape has {words} with no area or next to none, the worst in {_name_face(faces, worst)}, whose "
            f"height is {ratio[worst]:.1e} of its longest edge: correct it there."
        )


def _name_face(faces: Polygons, triangle: int) -> str:
    """The face that a triangle is part of."""
    return faces.name_face(int(np.searchsorted(np.cumsum(faces.sizes - 2), triangle, side="right")))
