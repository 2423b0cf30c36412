"""What can be said of a scene or a mesh without simulating it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from plisse.contact.check import Detector, mark_triangles
from plisse.core.errors import IntersectionError, SceneError, counted, inside
from plisse.core.mesh import Mesh, by_vertex
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene
from plisse.meshes.surfaces import Surface, load_surface
from plisse.progressive.feasibility import (
    SHOWN,
    check_lengths,
    check_size,
    check_start,
    check_support,
    estimate,
    find_enclosed,
)
from plisse.progressive.ladder import Ladder
from plisse.progressive.scene_problem import SceneProblem
from plisse.progressive.sizes import check_asked, check_reached, note_misses
from plisse.scene.colliders import Collider
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene, Shell
from plisse.scene.sources import MeshSource

FREE = 0.9  # part of the machine's memory that a run may take


def check_geometry(scene: Scene, geometry: Geometry, *, to_level: int | None = None, any_size: bool = False) -> None:
    """Raises SceneError where a scene's lengths, its levels or its size make no sense.

    to_level: the finest level that is asked for. any_size: also what does not seem to fit into memory.
    """
    check_lengths(scene, geometry)
    check_asked(scene, geometry)
    if not any_size:
        check_size(estimate(scene, geometry, to_level), FREE * memory())


def check_levels(scene: Scene, geometry: Geometry) -> None:
    """Raises SceneError where the levels of a scene make no sense, or do not fit into memory."""
    check_asked(scene, geometry)
    estimated = estimate(scene, geometry)
    if scene.hierarchy.kind == "loop" and estimated.memory > FREE * memory():
        raise SceneError(
            f"Its finest level would have {estimated.vertices:,} vertices, too many for this machine: ask for fewer "
            "levels."
        )


def memory() -> float:
    """The machine's memory [bytes]."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return np.inf  # not told by this system


def check_scene_file(path: Path, overrides: Iterable[str] = ()) -> list[str]:
    """Lines about a scene that can be simulated; a SceneError otherwise."""
    scene = load_scene(path, overrides)
    with inside(str(path)):
        geometry = load_geometry(scene, path.parent)
        check_geometry(scene, geometry)
        ladder = Ladder.of(scene, geometry) if scene.hierarchy.kind == "decimation" else None
        first = find_first(scene, scene.hierarchy.count - 1)
        if ladder is not None:
            check_reached(ladder, first)
            problem = SceneProblem(ladder.scene, ladder.geometry(first), level=first)
        else:
            problem = SceneProblem(scene, geometry)
        check_start(problem)
        check_support(scene)
    lines = [f"{path}: can be simulated."]
    regions = geometry.regions or ((),) * len(scene.shells)
    for shell, mesh, pins, weights in zip(scene.shells, geometry.shells, geometry.pins, regions, strict=True):
        pinned = f", {sum(len(pin) for pin in pins):,} pinned" if pins else ""
        lines.append(f"  {shell.name}: shell of {shell.material.name}, {_sizes(mesh)}{pinned}{_friction(shell)}")
        lines += [f"    region {i}: {np.count_nonzero(w):,} vertices" for i, w in enumerate(weights)]
    for collider, solid in zip(scene.colliders, geometry.colliders, strict=True):
        size = "half-space" if solid is None else _sizes(solid)
        lines.append(f"  {collider.name}: collider, {size}{_friction(collider)}")
    contact = problem.scene.contact
    assert contact.offset is not None and contact.dhat is not None and contact.stiffness is not None
    lines.append(
        f"  contact: offset {1e3 * contact.offset:.3g} mm, dhat {1e3 * contact.dhat:.3g} mm, stiffness "
        f"{contact.stiffness:.3g} Pa, friction {contact.friction:g}"
    )
    levels = scene.hierarchy.count
    lines.append(f"  {levels} level{'s' if levels > 1 else ''}, {estimate(scene, geometry).describe()}")
    missed = []
    if ladder is not None and levels > 1:
        lines += _levels(ladder)
        missed = note_misses(ladder, first)
    return lines + [f"  note: {note}" for note in (*geometry.notes, *missed, *find_enclosed(scene, geometry))]


def find_first(scene: Scene, last: int) -> int:
    """The first level that a run up to the level `last` simulates."""
    return last if scene.hierarchy.method in ("direct", "plain") else 0


def _levels(ladder: Ladder) -> list[str]:
    """Sizes of the levels: of all shells, and where there are several of each."""
    sizes = [[len(mesh.X) for mesh in meshes[: len(ladder.scene.shells)]] for meshes in ladder.hierarchy.levels]
    lines = [f"  levels by decimation: {_listed([sum(each) for each in sizes])} vertices"]
    if len(ladder.scene.shells) > 1:
        each = zip(ladder.scene.shells, zip(*sizes, strict=True), strict=True)
        lines += [f"    {shell.name}: {_listed(own)}" for shell, own in each]
    return lines


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join([", ".join(f"{number:,}" for number in numbers[:-1]), f"{numbers[-1]:,}"])


def check_mesh_file(path: Path, *, solid: bool = False) -> list[str]:
    """Lines about a mesh that can be a shell, or if `solid` a collider; a SceneError otherwise."""
    surface = load_surface(MeshSource(file=str(path)), Path(), solid=solid)
    mesh, notes = surface.mesh, list(surface.notes)
    found = Detector(mesh.X, mesh.edges, mesh.triangles, len(mesh.X)).intersections(mesh.X)
    if found and not solid:
        raise _crossed(path, surface, found)
    if found:
        notes.append(
            f"{path} crosses itself ({counted(len(found), 'intersection')}), which does no harm to a collider."
        )
    size, lengths = np.ptp(mesh.X, axis=0), mesh.edge_lengths
    lines = [
        f"{path}: can be a {'collider' if solid else 'shell'}.",
        f"  {_sizes(mesh)}, {_parts(mesh)}",
        f"  size {size[0]:.4g} × {size[1]:.4g} × {size[2]:.4g} m, if its unit is the metre",
        f"  edges from {lengths.min():.3g} to {lengths.max():.3g} m, {lengths.mean():.3g} m on average",
    ]
    if mesh.uv is not None:
        seams = "" if by_vertex(mesh.triangles, mesh.uv, len(mesh.X)) is not None else ", with seams"
        lines.append(f"  texture coordinates (UVs){seams}")
    if surface.groups:
        lines.append(f"  vertex groups: {', '.join(sorted(surface.groups))}")
    if surface.attributes:
        lines.append(f"  vertex attributes: {', '.join(surface.attributes)}")
    return lines + [f"  note: {note}" for note in notes]


def _crossed(path: Path, surface: Surface, found: Sequence[tuple[int, int]]) -> IntersectionError:
    mesh, names = surface.mesh, surface.names
    shown = []
    for edge, triangle in found[:SHOWN]:
        i, j = (names.vertex(int(vertex)) for vertex in mesh.edges[edge])
        shown.append(f"the edge from {i} to {j} through {names.triangle(triangle)}")
    more = "" if len(found) <= SHOWN else "; …"
    return IntersectionError(
        f"{path} cannot be a shell, because it crosses itself: it has {counted(len(found), 'intersection')} "
        f"({'; '.join(shown)}{more}); move the parts apart in a mesh editor, or merge vertices that coincide with "
        "--repair.",
        x=mesh.X,
        triangles=mesh.triangles,
        marked=mark_triangles(mesh, found),
    )


def _friction(body: Shell | Collider) -> str:
    return "" if body.friction is None else f", friction {body.friction:g}"


def _sizes(mesh: Mesh) -> str:
    return f"{len(mesh.X):,} vertices, {len(mesh.triangles):,} triangles"


def _parts(mesh: Mesh) -> str:
    """How many pieces a mesh has, and how many boundary loops."""
    pieces = _count_components(mesh.edges, len(mesh.X))
    if mesh.is_closed:
        bounded = "closed"
    else:
        on_boundary = np.unique(mesh.boundary_edges)
        loops = _count_components(np.searchsorted(on_boundary, mesh.boundary_edges), len(on_boundary))
        bounded = f"open with {loops} boundary loop{'s' if loops > 1 else ''}"
    return f"{pieces} piece{'s' if pieces > 1 else ''}, {bounded}"


def _count_components(links: np.ndarray, n: int) -> int:
    graph = coo_array((np.ones(len(links), np.int8), (links[:, 0], links[:, 1])), shape=(n, n))
    return int(connected_components(graph, directed=False)[0])
