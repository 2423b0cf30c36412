"""Mends mesh files where there is nothing to guess: behind `plisse check --repair MESH --out FIXED`."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from plisse.core.arrays import Bools, Floats, Longs
from plisse.core.errors import SceneError
from plisse.core.mesh import DEGENERATE, Mesh, Names, find_duplicates, find_flaws, flatness, tell_count
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.meshes.polygons import check_polygons, drop_repeats, triangulate
from plisse.meshes.stl import merge_points, write_stl
from plisse.meshes.surfaces import drop_loose, read_polygons
from plisse.meshes.usd import SUFFIXES, list_names

WRITERS: dict[str, Callable[..., None]] = {".obj": write_obj, ".ply": write_ply, ".stl": write_stl}


def repair_mesh(path: Path, out: Path) -> list[str]:
    """Writes a mended copy of a mesh and returns sentences about what was done and what could not be.

    Vertices at exactly the same place become one; faces become triangles; triangles without area or with the same
    corners as an earlier one and unused vertices are dropped; triangles are turned so that neighbours wind alike and
    closed surfaces face outwards. Objects and groups are kept in OBJ files, texture coordinates in OBJ and PLY files.
    """
    if out.suffix.lower() not in WRITERS:
        raise SceneError(f"{out} has an unknown format: write the repaired mesh to one of {', '.join(WRITERS)}.")
    if out.resolve() == path.resolve() or (out.exists() and path.exists() and out.samefile(path)):
        raise SceneError(f"{out} is the mesh to be repaired: give --out another name.")
    if out.exists():
        raise SceneError(f"{out} already exists: remove it, or give --out another name.")
    polygons = read_polygons(path)
    check_polygons(polygons, str(path))
    notes = _Notes()

    X, merged = merge_points(polygons.X)
    notes.add(len(polygons.X) - len(X), "Joined {} with others at exactly the same place.", "a vertex", "{} vertices")
    slim, _ = drop_repeats(replace(polygons, X=X, corners=merged[polygons.corners], attributes={}))
    lost = len(polygons.numbers) - len(slim.numbers)
    triangles, face, uv = triangulate(slim, str(path))
    notes.add(
        int((slim.sizes > 3).sum()), "Split {} with more than three corners into triangles.", "a face", "{} faces"
    )
    sound = flatness(Mesh(X, triangles)) > DEGENERATE
    flat = lost + int((~sound).sum())
    notes.add(flat, "Dropped {} without area.", "a face or triangle", "{} faces or triangles")
    kept = np.flatnonzero(sound)
    again = find_duplicates(triangles[kept])[0]
    notes.add(len(again), "Dropped {} with the same corners as an earlier one.", "a triangle", "{} triangles")
    kept = np.delete(kept, again)
    triangles, face, uv = triangles[kept], face[kept], None if uv is None else uv[kept]
    if not len(triangles):
        raise SceneError(f"{path} has only triangles without area: nothing is left to write.")
    mesh, _, _ = drop_loose(X, triangles)
    notes.add(len(X) - len(mesh.X), "Dropped {} that no triangle uses.", "a vertex", "{} vertices")
    turned, twisted = find_turned(mesh)
    sides = "Flipped {}, so that neighbours are oriented alike and closed surfaces face outwards."
    notes.add(int(turned.sum()), sides, "a triangle", "{} triangles")
    order = np.where(turned[:, None], (2, 1, 0), (0, 1, 2))
    uv = None if uv is None else np.take_along_axis(uv, order[:, :, None], axis=1)
    mesh = Mesh(mesh.X, np.take_along_axis(mesh.triangles, order, axis=1), uv)

    if not notes.sentences:
        notes.sentences.append("Found nothing to repair.")
    elif len(mesh.X) < len(polygons.X):
        notes.sentences.append("Vertices have new numbers: check pins that use them.")
    if twisted:
        notes.sentences.append(f"Left {twisted} surface(s) as they are, which have only one side, like a Möbius strip.")
    first = 0 if out.suffix.lower() == ".ply" else 1
    names = Names(lambda i: f"vertex {i + first}", lambda t: f"face {t + first}")
    notes.sentences += [
        f"Could not repair everything: the result {flaw.clause}; {flaw.remedy}."
        for flaw in find_flaws(mesh, names=names)
        if not (twisted and flaw.mendable)
    ]
    options: dict[str, Any] = {"uv": uv}
    if out.suffix.lower() == ".obj":
        options |= {
            kind: {name: np.flatnonzero(np.isin(face, faces)) for name, faces in names.items()}
            for kind, names in (("objects", slim.objects), ("groups", slim.groups))
        }
    elif slim.groups or slim.points or len(slim.objects) > 1:
        notes.sentences.append(f"Lost the names of objects and groups, which {out.suffix.lower()} files do not hold.")
    if polygons.attributes:
        notes.sentences.append(f"Lost the vertex attributes {list_names([*polygons.attributes])}.")
    if out.suffix.lower() == ".stl":
        if options.pop("uv") is not None:
            notes.sentences.append("Lost the texture coordinates, which .stl files do not hold.")
        if (mesh.X.astype(np.float32) != mesh.X).any():
            notes.sentences.append("Rounded coordinates to seven digits, which is what STL files hold.")
    if path.suffix.lower() in SUFFIXES:
        notes.sentences.append("Wrote positions in metres, z up.")
    _write(out, lambda part: WRITERS[out.suffix.lower()](part, mesh.X, mesh.triangles, **options))
    return notes.sentences


class _Notes:
    """Sentences about what was done, one for each kind that happened."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def add(self, count: int, sentence: str, one: str, many: str) -> None:
        if count:
            self.sentences.append(sentence.format(tell_count(count, one, many)))


def find_turned(mesh: Mesh) -> tuple[Bools, int]:
    """Which triangles to turn, shape (m,), and how many surfaces have one side only; theirs are left.

    Surfaces are joined across edges of two triangles. The fewest triangles of each are turned, unless it is closed:
    then it faces outwards. Each triangle stands in a graph twice, as it is and turned; neighbours are linked in the
    ways that wind alike. A surface with one side only has both copies of its triangles in one component.
    """
    m = len(mesh.triangles)
    first, second = mesh.hinge_half_edges
    alike = mesh._ends(first)[:, 0] == mesh._ends(second)[:, 0]
    one, two = first // 3, second // 3
    links = (
        np.concatenate((one, one + m)),
        np.concatenate((np.where(alike, two + m, two), np.where(alike, two, two + m))),
    )
    graph = coo_array((np.ones(2 * len(one)), links), shape=(2 * m, 2 * m))
    count, side = connected_components(graph, directed=False)
    as_is, turned = side[:m], side[m:]
    one_sided = as_is == turned
    # a surface is named by the lower of its two components
    surface = np.minimum(as_is, turned)
    lower = as_is < turned
    sizes = np.bincount(surface, minlength=count)
    # most triangles stay; of equal numbers, those like the surface's first triangle
    staying = np.bincount(surface, weights=lower, minlength=count)
    keep_lower = 2 * staying >= sizes
    # volume if all triangles wound as the lower component has them, about each surface's own middle
    closed = _closed(mesh, surface, count)
    volume = _volumes(mesh, surface, np.where(lower, 1.0, -1.0), count)
    keep_lower = np.where(closed & (volume != 0), volume > 0, keep_lower)
    return (lower != keep_lower[surface]) & ~one_sided, len(np.unique(surface[one_sided]))


def _closed(mesh: Mesh, surface: Longs, count: int) -> Bools:
    """Which surfaces have two triangles at each of their edges, shape (count,)."""
    paired = np.zeros(3 * len(mesh.triangles), dtype=bool)
    for half_edges in mesh.hinge_half_edges:
        paired[half_edges] = True
    lonely = np.bincount(surface, weights=~paired.reshape(-1, 3).all(axis=1), minlength=count)
    return lonely == 0


def _volumes(mesh: Mesh, surface: Longs, sign: Floats, count: int) -> Floats:
    corners = mesh.X[mesh.triangles]
    sizes = np.maximum(np.bincount(surface, minlength=count), 1)
    middle = np.column_stack(
        [np.bincount(surface, weights=corners.mean(axis=1)[:, k], minlength=count) / sizes for k in range(3)]
    )
    corners = corners - middle[surface][:, None]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    return np.asarray(np.bincount(surface, weights=sign * volume, minlength=count))


def _write(out: Path, write: Callable[[Path], None]) -> None:
    """The file appears whole or not at all."""
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        write(part)
        os.replace(part, out)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise SceneError(f"{out} cannot be written: {error.strerror}.") from None
