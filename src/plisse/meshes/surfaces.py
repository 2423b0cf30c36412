"""Surfaces and moving surfaces from files, folders and generators."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.errors import SceneError, suggest
from plisse.core.files import MESH, check_file
from plisse.core.mesh import DEGENERATE, Mesh, Names, check_manifold, find_duplicates, find_flaws, flatness, tell_count
from plisse.core.units import length_factor
from plisse.meshes.memo import Memo, stamp_file
from plisse.meshes.obj import read_obj_polygons
from plisse.meshes.ply import read_ply_polygons
from plisse.meshes.polygons import Polygons, check_polygons, drop_repeats, triangulate
from plisse.meshes.stl import merge_points, read_stl_polygons
from plisse.meshes.usd import SUFFIXES, list_names, read_usd_polygons, read_usd_track, turn_up
from plisse.scene.schedule import Track
from plisse.scene.sources import GivenMesh, MeshSource
from plisse.shapes.catalogue import make_shape

READERS: dict[str, Callable[[Path], Polygons]] = {
    ".obj": read_obj_polygons,
    ".ply": read_ply_polygons,
    ".stl": read_stl_polygons,
}
# Coordinates beyond this [m] are taken for damage: their squares lose the size of any cloth.
FARTHEST = 1e9
# Sizes [m] outside of which a mesh is probably in another unit.
SIZES = (1e-3, 100.0)
# Frames per second of a folder of meshes.
RATE = 24.0
# Vertices of all surfaces that are remembered.
REMEMBERED = 1_000_000


@dataclass(frozen=True, eq=False)
class Surface:
    """A mesh that has been read, or made.

    mesh: in metres, z up. groups: vertices of the mesh by name of vertex group, sorted, (k,) each.
    vertex_of_id: the mesh's vertex for each vertex of the file, in the file's order, −1 where dropped, shape (n,).
    notes: what was changed or looks odd, in whole sentences. names: what its file calls a vertex and a triangle of
    the mesh. attributes: further numbers of the mesh's vertices by name, (n,) each. faces: what the file holds, None
    for a generated shape.
    """

    mesh: Mesh
    groups: dict[str, Ints]
    vertex_of_id: Ints
    notes: tuple[str, ...]
    names: Names
    attributes: dict[str, Floats] = field(default_factory=dict)
    faces: Polygons | None = None


_surfaces: Memo[Surface] = Memo(REMEMBERED, lambda surface: len(surface.mesh.X))


def load_surface(source: MeshSource, base: Path, *, seed: int = 0, solid: bool = False) -> Surface:
    """The source's mesh, or the first frame of a sequence; file names are relative to base.

    A shell must be a clean manifold. A solid, which only collides, need not be: its degenerate and duplicate triangles
    are dropped, and its other defects become notes.

    The same source again is the same object, which nobody may change; a file that has changed is read again.
    """
    stamp = stamp_source(source, base, seed=seed)
    return _surfaces.get(stamp and (stamp, solid), lambda: _load(source, base, seed=seed, solid=solid))


def stamp_source(source: MeshSource, base: Path, *, seed: int = 0) -> Hashable | None:
    """What tells a source from all others; None where its files are missing or too fresh to be told apart."""
    if source.shape is not None:
        return repr(source), seed
    if source.mesh is not None:
        return None if source.mesh.mesh is None else (repr(source), source.mesh.mark)
    files = [base / source.file] if source.file is not None else _frames(base / str(source.sequence))
    stamps = [stamp_file(file) for file in files]
    return None if None in stamps else (repr(source), *stamps)


def _load(source: MeshSource, base: Path, *, seed: int, solid: bool) -> Surface:
    if source.shape is not None:
        mesh = make_shape(source.shape, source.parameters, seed=seed)
        return Surface(mesh, {}, np.arange(len(mesh.X), dtype=np.int32), (), Names())
    if source.mesh is not None:
        return _make_surface(_given_polygons(source.mesh), None, source, solid=solid)
    path = base / source.file if source.file is not None else _frames(base / str(source.sequence))[0]
    return _make_surface(read_polygons(path, object=source.object), path, source, solid=solid)


def _given_polygons(given: GivenMesh) -> Polygons:
    if given.mesh is None:
        raise SceneError(
            f"its mesh ({given.mark}) was given by a program, and only the folder of a run holds it: run that program "
            "again."
        )
    triangles = given.mesh.triangles
    return Polygons(given.mesh.X, triangles.ravel().astype(np.int64), 3 * np.arange(len(triangles) + 1))


def load_track(source: MeshSource, base: Path) -> Track:
    """How the vertices of a sequence's surface, loaded as a solid, move: times [s] (k,) and positions [m] (k, n, 3)."""
    files, surface = _frames(base / str(source.sequence)), load_surface(source, base, solid=True)
    first = surface.faces
    assert first is not None
    if files[0].suffix.lower() in SUFFIXES:
        codes, frames, rate = read_usd_track(files[0], object=source.object)
        times = (codes - codes[:1]) / (source.rate or rate)
    else:
        others = [_read_frame(path, files[0], first, source) for path in files[1:]]
        frames = np.stack([_to_world(first.X, source), *others])
        times = np.arange(len(files)) / (source.rate or RATE)
    if len(times) < 2:
        raise SceneError(f"{base / str(source.sequence)} has only {len(times)} frame(s): a sequence needs two or more.")
    kept = surface.vertex_of_id >= 0
    positions = np.empty((len(times), len(surface.mesh.X), 3))
    positions[:, surface.vertex_of_id[kept]] = frames[:, kept]
    bad = np.flatnonzero(~(np.abs(positions) <= FARTHEST).all(axis=(1, 2)))
    if len(bad):
        name = files[bad[0]] if len(files) > 1 else f"{files[0]}, time sample {bad[0]}"
        raise SceneError(f"{name} has a coordinate that is not finite or beyond {FARTHEST:g} m: export it again.")
    return Track(times + source.start, positions)


def read_polygons(path: Path, *, object: str | None = None) -> Polygons:
    """The faces of a mesh file, or those of one of its objects; any failure is a SceneError."""
    suffix = path.suffix.lower()
    try:
        if not path.exists():
            raise SceneError(f"{path} does not exist: correct the file name, which is relative to the scene.")
        check_file(path, most=MESH)
        if suffix in SUFFIXES:
            return read_usd_polygons(path, object=object)
        if suffix not in READERS:
            formats = ", ".join((*READERS, SUFFIXES[0]))
            raise SceneError(f'{path} has an unknown format "{suffix}": save the mesh as one of {formats}.')
        polygons = READERS[suffix](path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SceneError(f"{path} cannot be read: {reason}.") from None
    except MemoryError:
        raise SceneError(f"{path} cannot be read: it does not fit into memory; reduce the mesh.") from None
    return polygons if object is None else _select_object(polygons, object, path)


def _select_object(polygons: Polygons, object: str, path: Path) -> Polygons:
    named = polygons.objects if object in polygons.objects else polygons.groups
    if object not in named:
        known = [*polygons.objects] or [*polygons.groups]
        words = f"it holds {list_names(known)}" if known else "it names no objects, so omit object"
        raise SceneError(f'{path} has no object "{object}"{suggest(object, known)}: {words}.')
    return polygons.keep(named[object])


def _make_surface(polygons: Polygons, path: Path | None, source: MeshSource, *, solid: bool) -> Surface:
    """path: the file that it is from, None for a mesh that a program gave."""
    name, mend = "its mesh", "correct its arrays"
    if path is not None:
        ending = ".ply" if path.suffix.lower() in SUFFIXES else path.suffix.lower()
        name, mend = str(path), f"repair it with `plisse check --repair {path} --out FIXED{ending}`"
    check_polygons(polygons, name)
    notes = list(polygons.notes)
    if len(polygons.objects) > 1:
        notes.append(f"holds several objects, read as one mesh: {list_names([*polygons.objects])}")
    loose = _count_loose(polygons) if source.object is None else 0
    if loose:
        words = tell_count(loose, "a vertex that no face uses, which was", "{} vertices that no face uses, which were")
        notes.append(f"has {words} dropped")

    # faces to triangles
    slim, repeating = drop_repeats(polygons)
    if len(repeating) and not solid:
        first = polygons.name_face(int(repeating[0]))
        words = tell_count(len(repeating), "a face", "{} faces")
        which = tell_count(len(repeating), f"{first}", f"the first is {first}")
        raise SceneError(f"{name} has {words} with a corner twice or fewer than three corners, {which}: {mend}.")
    triangles, face, uv = triangulate(slim, name)
    if len(triangles) > len(slim.numbers):
        words = tell_count(int((slim.sizes > 3).sum()), "a face", "{} faces")
        notes.append(f"has {words} with more than three corners, split into triangles")

    X = read_places(slim, path, source)
    if solid:
        mesh = Mesh(X, triangles)
        keep = flatness(mesh) > DEGENERATE
        keep[find_duplicates(triangles)[0]] = False
        dropped = int((~keep).sum()) + len(repeating)
        if dropped:
            words = tell_count(dropped, "a triangle", "{} triangles")
            notes.append(f"has {words} without area or given twice, which were dropped")
        triangles, face, uv = triangles[keep], face[keep], None if uv is None else uv[keep]
    mesh, vertex_of_id, ids = drop_loose(X, triangles)
    mesh = replace(mesh, uv=uv)
    names = Names(lambda i: polygons.name_vertex(int(ids[i])), lambda t: slim.name_face(int(face[t])))
    if solid:
        if not len(mesh.triangles):
            raise SceneError(f"{name} has only triangles without area: give it a surface mesh.")
        notes += [f"{flaw.clause}, which does not matter for a collider" for flaw in find_flaws(mesh, names=names)]
    else:
        check_manifold(mesh, name, names=names, mend=mend)
        doubles = len(mesh.X) - len(merge_points(mesh.X)[0])
        if doubles:
            words = tell_count(
                doubles, "a vertex at exactly the place of another", "{} vertices at exactly the place of others"
            )
            notes.append(f"has {words}, where the surface is not joined; {mend}")
    size = float(np.linalg.norm(np.ptp(mesh.X, axis=0)))
    if not SIZES[0] <= size <= SIZES[1]:
        notes.append(f"measures {size:.3g} m across; if that is not intended, set unit")
    attributes = {key: values[ids] for key, values in polygons.attributes.items()}
    sentences = tuple(f"{name} {note}." for note in notes)
    return Surface(mesh, _map_groups(slim, vertex_of_id), vertex_of_id, sentences, names, attributes, polygons)


def read_places(polygons: Polygons, path: Path | None, source: MeshSource) -> Floats:
    """Positions of a file's vertices in metres, z up, (n, 3); SceneError where those in use are beyond reason.

    path: None for a mesh that a program gave.
    """
    is_usd = path is not None and path.suffix.lower() in SUFFIXES
    X = polygons.X if is_usd else _to_world(polygons.X, source)
    used = np.unique(polygons.corners)
    far = used[~(np.abs(X[used]) <= FARTHEST).all(axis=1)]
    if len(far):
        where = polygons.name_vertex(int(far[0]))
        name = "its mesh" if path is None else path
        raise SceneError(f"{name} has a coordinate beyond {FARTHEST:g} m at {where}: correct its unit.")
    return X


def drop_loose(X: Floats, triangles: Ints) -> tuple[Mesh, Ints, Longs]:
    """The mesh of the vertices in use; the new vertex of each old one, −1 where dropped (n,); the old of each new."""
    used = np.zeros(len(X), dtype=bool)
    used[triangles] = True
    ids = np.flatnonzero(used)
    new = np.full(len(X), -1, dtype=np.int32)
    new[ids] = np.arange(len(ids), dtype=np.int32)
    return Mesh(X[ids], new[triangles]), new, ids


def _count_loose(polygons: Polygons) -> int:
    used = np.zeros(len(polygons.X), dtype=bool)
    used[polygons.corners] = True
    return int((~used).sum())


def _to_world(X: Floats, source: MeshSource) -> Floats:
    """From the file's unit and axes to metres, z up; X and result (n, 3)."""
    X = X * length_factor(source.unit)
    return turn_up(X) if source.up == "y" else X


def _map_groups(polygons: Polygons, vertex_of_id: Ints) -> dict[str, Ints]:
    groups = {}
    for name, ids in sorted(polygons.vertices_by_name().items()):
        ids = ids[(ids >= 0) & (ids < len(vertex_of_id))]
        vertices = np.unique(vertex_of_id[ids])
        groups[name] = vertices[vertices >= 0]
    return groups


def _frames(path: Path) -> list[Path]:
    """The files of a sequence, frame2 before frame10; of a USD file that one."""
    try:
        if path.is_file():
            if path.suffix.lower() in SUFFIXES:
                return [path]
            raise SceneError(
                f"{path} is a single mesh: a sequence is a folder of meshes or a USD file with time samples."
            )
        if not path.exists():
            raise SceneError(
                f"{path} does not exist: correct the name of the sequence, which is relative to the scene."
            )
        if not path.is_dir():
            raise SceneError(f"{path} is a device or a pipe, neither a folder nor a regular file: correct the name.")
        files = [file for file in path.iterdir() if file.suffix.lower() in READERS and not file.name.startswith(".")]
    except OSError as error:
        raise SceneError(f"{path} cannot be read: {error.strerror}.") from None
    suffixes = sorted({file.suffix.lower() for file in files})
    if len(suffixes) > 1:
        raise SceneError(f"{path} holds frames of several formats, {' and '.join(suffixes)}: keep one of them.")
    if not files:
        raise SceneError(f"{path} holds no meshes: a sequence needs {', '.join(READERS)} files, one per frame.")
    return sorted(files, key=_natural)


def _natural(path: Path) -> tuple[list[tuple[str, int]], str]:
    """Sorts names by their words and numbers."""
    parts = re.findall(r"(\D*)(\d*)", path.name.lower())
    return [(word, int(digits or -1)) for word, digits in parts], path.name


def _read_frame(path: Path, first_path: Path, first: Polygons, source: MeshSource) -> Floats:
    polygons = read_polygons(path, object=source.object)
    for what, own, others in (
        ("vertices", len(polygons.X), len(first.X)),
        ("faces", len(polygons.numbers), len(first.numbers)),
    ):
        if own != others:
            raise SceneError(
                f"{path} has {own} {what}, but {first_path.name} has {others}: all frames of a sequence need the same."
            )
    if not np.array_equal(polygons.starts, first.starts) or not np.array_equal(polygons.corners, first.corners):
        sizes = np.flatnonzero(polygons.sizes != first.sizes)
        corner = 0 if len(sizes) else np.argmax(polygons.corners != first.corners)
        face = sizes[0] if len(sizes) else np.searchsorted(first.starts, corner, side="right") - 1
        raise SceneError(
            f"{path} connects its vertices differently from {first_path.name}, first at "
            f"{polygons.name_face(int(face))}: all frames of a sequence need the same faces."
        )
    return _to_world(polygons.X, source)
