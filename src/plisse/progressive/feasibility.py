"""Whether a scene can be simulated as it stands, told before anything is: lengths, start, memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plisse.contact.check import Detector
from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Mesh
from plisse.meshes.ply import write_ply
from plisse.progressive.assemble import System
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

SHOWN = 3  # intersecting pairs that a message names
RED, GREY = (214, 39, 40), (200, 200, 205)


class StartError(SceneError):
    """A scene that starts with intersections. triangles: those that take part; mesh, x: of everything."""

    def __init__(self, message: str, system: System, triangles: np.ndarray) -> None:
        super().__init__(message)
        self.system, self.triangles = system, triangles

    def write(self, path: Path) -> None:
        """Everything as PLY, the triangles that intersect in red."""
        mesh = self.system.everything
        colors = np.tile(np.array(GREY, np.uint8), (len(mesh.triangles), 1))
        colors[self.triangles] = RED
        write_ply(path, self.system.x0, mesh.triangles, colors=colors)


def check_lengths(scene: Scene, geometry: Geometry) -> None:
    """Raises SceneError where a shell's thickness or the reach of contact outgrows its triangles."""
    for shell, mesh in zip(scene.shells, geometry.shells, strict=True):
        lengths = mesh.edge_lengths
        shortest = int(lengths.argmin())
        edge, name = float(lengths[shortest]), shell.name
        place = f"between vertices {mesh.edges[shortest][0]} and {mesh.edges[shortest][1]}"
        thickness, finest = shell.material.thickness, float(lengths.mean()) / 2 ** (scene.hierarchy.levels - 1)
        if thickness >= edge:
            raise SceneError(
                f"{name}: the thickness of {thickness:g} m is not below its shortest edge of {edge:.3g} m {place}: "
                "such a body is not a thin shell, and contact would push neighbours apart; use a coarser mesh, a "
                "thinner material, or check the unit of the mesh file."
            )
        if thickness >= finest:
            raise SceneError(
                f"{name}: on the finest level edges are {finest:.3g} m long on average, not more than the thickness "
                f"of {thickness:g} m: such a body is not a thin shell; use fewer levels or a thinner material."
            )
        offset, dhat = scene.contact.offset, scene.contact.dhat
        if offset is not None and offset >= edge:
            raise SceneError(
                f"{name}: contact.offset = {offset:g} m is not below its shortest edge of {edge:.3g} m {place}: "
                "contact would push neighbours apart; make offset smaller or omit it."
            )
        if dhat is not None and dhat > edge:
            raise SceneError(
                f"{name}: contact.dhat = {dhat:g} m is longer than its shortest edge of {edge:.3g} m {place}: contact "
                "would reach over whole triangles and hold folds open; make dhat smaller or omit it."
            )


def check_support(scene: Scene) -> None:
    """Raises SceneError where equilibrium is asked of shells that nothing can hold."""
    held = scene.colliders or any(shell.pins for shell in scene.shells)
    if scene.time.mode == "static" and any(scene.gravity) and not held:
        raise SceneError(
            "Nothing can hold the shells up, so there is no equilibrium: add a pin, a floor or a collider, turn "
            'gravity off, or set time.mode = "dynamic".'
        )


def find_enclosed(scene: Scene, geometry: Geometry) -> list[str]:
    """Notes about shells that start inside of a closed collider, which is seldom meant."""
    solids = [c.name for c in scene.colliders if c.mesh is not None]
    return [
        f"{shell.name} starts inside {name}; if that is not intended, check unit, scale and translate."
        for name, mesh in zip(solids, geometry.solids, strict=True)
        if mesh.is_closed
        for shell, x in zip(scene.shells, geometry.shell_positions, strict=True)
        if abs(_winding_number(mesh, x[0])) > 0.5
    ]


def _winding_number(mesh: Mesh, point: Floats) -> float:
    """How often a surface goes round a point (3,): Σ Ω/4π over its triangles' solid angles Ω. [VanOosterom1983]"""
    a, b, c = (mesh.X[mesh.triangles[:, k]] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
    return float(np.arctan2(volume, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb).sum() / (2.0 * np.pi))


def check_start(system: System) -> None:
    """Raises SceneError where bodies start inside of each other or closer than the contact offset."""
    if not system.scene.contact.enabled:
        return
    mesh = system.everything
    detector = Detector(mesh.X, mesh.edges, mesh.triangles, system.n_shell)
    if detector.count(system.x0):
        raise _crossed(system, detector.intersections(system.x0))
    system.check_start()


def _crossed(system: System, found: Sequence[tuple[int, int]]) -> StartError:
    mesh = system.everything
    names, told = set[tuple[str, str]](), list[str]()
    body = system.body[mesh.triangles[:, 0]]
    for edge, triangle in found:
        here, there = system.name_of(mesh.edges[edge][0]), system.name_of(mesh.triangles[triangle][0])
        names.add((here, there))
        if len(told) < SHOWN:
            own = triangle - int(np.searchsorted(body, body[triangle]))
            told.append(f"edge {_own(system, mesh.edges[edge])} of {here} through triangle {own} of {there}")
    within = all(here == there for here, there in names)
    remedy = (
        "repair the mesh where it crosses itself, e.g. merge vertices that coincide"
        if within
        else "move the bodies apart, e.g. with rest_on or drop_height, or change their scale"
    )
    edges = np.unique([edge for edge, _ in found])
    touched = np.asarray(np.isin(mesh.triangle_edges, edges).any(axis=1))
    touched[[triangle for _, triangle in found]] = True
    count = f"{len(found)} intersection{'s' if len(found) != 1 else ''}"
    more = "" if len(found) <= SHOWN else ", …"
    return StartError(
        f"The scene starts with {count} ({'; '.join(told)}{more}; counted from 0): {remedy}.",
        system,
        np.flatnonzero(touched),
    )


def _own(system: System, vertices: np.ndarray) -> str:
    """Vertices in the numbering of their own body."""
    first = int(np.searchsorted(system.body, system.body[vertices[0]]))
    return "–".join(str(int(vertex) - first) for vertex in vertices)


# --- size -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What the finest level takes: vertices of the shells, memory [bytes], seconds of one Newton iteration."""

    vertices: int
    triangles: int
    memory: float
    seconds: float

    def describe(self) -> str:
        memory = f"{self.memory / 1e9:.1f} GB" if self.memory < 10e9 else f"{self.memory / 1e9:.0f} GB"
        each = f"{self.seconds:.2g} s" if self.seconds < 60.0 else f"{self.seconds / 60.0:.0f} min"
        return f"{self.vertices:,} vertices on the finest level: about {memory} and {each} per Newton iteration"


# measured on drapes of 1.5K to 360K vertices with two threads, within a fifth of these laws; the factor of the matrix
# takes most of the memory, and its elimination a time that grows as n^1.5
BASE, PER_VERTEX, GROWTH = 0.28e9, 15.4e3, 0.2  # bytes; bytes a vertex at 90,000 of them, which grow with this power
PASS, ELIMINATION = 8.5e-6, 6.7e-8  # seconds: a vertex, and n^1.5


def estimate(scene: Scene, geometry: Geometry, to_level: int | None = None) -> Estimate:
    """Memory and time of the finest level, or of another, from the sizes of the scene's own meshes."""
    finer = scene.hierarchy.levels - 1 if to_level is None else to_level
    vertices, triangles = 0, 0
    for mesh in geometry.shells:
        v, e, f = len(mesh.X), len(mesh.edges), len(mesh.triangles)
        for _ in range(finer):
            v, e, f = v + e, 2 * e + 3 * f, 4 * f
        vertices, triangles = vertices + v, triangles + f
    solids = sum(len(mesh.X) for mesh in geometry.solids)
    memory = BASE + PER_VERTEX * (vertices * (vertices / 9e4) ** GROWTH + 0.2 * solids)
    return Estimate(vertices, triangles, memory, PASS * vertices + ELIMINATION * vertices**1.5)


def check_size(estimated: Estimate, available: float) -> None:
    """Raises SceneError where the estimate is beyond the machine's memory [bytes]."""
    if estimated.memory > available:
        raise SceneError(
            f"The scene is too large for this machine: {estimated.describe()}, but there are {available / 1e9:.0f} GB; "
            "use a coarser mesh or fewer levels, or run it anyway with --yes."
        )
