"""Whether a scene can be simulated as it is, checked before anything is: lengths, start, memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plisse.contact.candidates import build
from plisse.contact.check import Detector, mark_triangles
from plisse.core.arrays import Floats
from plisse.core.errors import IntersectionError, SceneError, counted
from plisse.core.mesh import Mesh
from plisse.progressive.scene_problem import SceneProblem
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

SHOWN = 3  # intersecting pairs that a message names


def check_lengths(scene: Scene, geometry: Geometry) -> None:
    """Raises SceneError where a shell's thickness or the reach of contact outgrows its triangles."""
    for shell, mesh in zip(scene.shells, geometry.shells, strict=True):
        lengths = mesh.edge_lengths
        shortest = int(lengths.argmin())
        edge, name = float(lengths[shortest]), shell.name
        place = f"between vertices {mesh.edges[shortest][0]} and {mesh.edges[shortest][1]}"
        thickness = max(material.thickness for material in shell.materials)
        halved = scene.hierarchy.count - 1 if scene.hierarchy.kind == "loop" else 0
        finest = float(lengths.mean()) / 2**halved
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


def check_strain(problem: SceneProblem) -> None:
    """Raises SceneError where a triangle starts beyond its strain limit, as it may if its rest shape is another one."""
    if problem.strain_limit is None:
        return
    limits = problem.model.limits
    limited = np.flatnonzero(np.isfinite(limits))
    stretch, limit = problem.strain_limit.stretches(problem.x0)[:, 0], limits[limited]
    over = stretch >= limit
    if over.any():
        worst = int(np.argmax(stretch / limit))
        body = problem.bodies.of_vertex[problem.shells.triangles[:, 0]]
        own = limited[worst] - int(np.searchsorted(body, body[limited[worst]]))
        raise SceneError(
            f"{problem.bodies.names[body[limited[worst]]]} starts with {counted(int(over.sum()), 'triangle')} beyond "
            f"the strain limit, the worst, triangle {own} (counted from 0), stretched to {stretch[worst]:.3g} where "
            f"{limit[worst]:g} is allowed: raise strain_limit, or start from a shape nearer to the rest shape."
        )


def check_own_shapes(problem: SceneProblem, detector: Detector) -> None:
    """Raises SceneError where the mesh of a shell that starts from a saved frame touches or crosses itself.

    Contact keeps parts as far apart as the mesh has them, so it would let such parts through each other.
    """
    mesh, body = problem.surface, problem.bodies.of_vertex
    started = np.array([shell.start is not None for shell in problem.scene.shells])
    if not started.any() or problem.barrier is None:
        return
    assert mesh is not None
    # each body by itself, away from the others
    apart = mesh.X + np.outer(body, [2.0 * float(np.ptp(mesh.X, axis=0).max()), 0.0, 0.0])
    near = build(problem.barrier.surface, apart, np.zeros_like(apart), 0.0)
    found = [(int(pair[0]), int(pair[3])) for pair in (*near.pt, *near.ee)]
    found += [(mesh.edges[edge][0], mesh.triangles[face][0]) for edge, face in detector.intersections(apart)]
    wrong = next((pair for pair in found if started[body[pair[0]]]), None)
    if wrong is not None:
        raise SceneError(
            f"{problem.bodies.name_of(wrong[0])} starts from a saved frame, but its own mesh touches or crosses itself "
            f"near vertices {problem.bodies.name_vertices(wrong)} (counted from 0), where contact would not hold: mend "
            "the mesh there."
        )


def check_start(problem: SceneProblem, *, present: bool = False) -> None:
    """Raises SceneError where bodies start inside of each other or closer than the contact offset.

    present: the start is a state that was reached before the scene was changed.
    """
    if not present:
        check_strain(problem)
    if not problem.scene.contact.enabled:
        return
    detector = Detector.of(problem)
    if found := detector.intersections(problem.x0):
        raise _crossed(problem, found, present=present)
    if not present:
        check_own_shapes(problem, detector)
    problem.check_distances()


def _crossed(problem: SceneProblem, found: Sequence[tuple[int, int]], *, present: bool) -> IntersectionError:
    mesh, bodies = problem.surface, problem.bodies
    assert mesh is not None
    names, shown = set[tuple[str, str]](), list[str]()
    for edge, triangle in found:
        here, there = bodies.name_of(mesh.edges[edge][0]), bodies.name_of(mesh.triangles[triangle][0])
        names.add((here, there))
        if len(shown) < SHOWN:
            body = bodies.of_vertex[mesh.triangles[:, 0]]
            own = triangle - int(np.searchsorted(body, body[triangle]))
            ends = "–".join(str(bodies.own_number(vertex)) for vertex in mesh.edges[edge])
            shown.append(f"edge {ends} of {here} through triangle {own} of {there}")
    within = all(here == there for here, there in names)
    remedy = (
        "repair the mesh where it crosses itself, e.g. merge vertices that coincide"
        if within
        else "move the bodies apart, e.g. with rest_on or drop_height, or change their scale"
    )
    levels = problem.scene.hierarchy
    if within and levels.kind == "decimation" and problem.level < levels.count - 1:
        remedy = f"level {problem.level} is so coarse that it crosses itself; ask for more vertices in hierarchy.levels"
    more = "" if len(found) <= SHOWN else ", …"
    begins = "The changed scene has" if present else "The scene starts with"
    return IntersectionError(
        f"{begins} {counted(len(found), 'intersection')} ({'; '.join(shown)}{more}; counted from 0): {remedy}.",
        x=problem.x0,
        triangles=mesh.triangles,
        marked=mark_triangles(mesh, found),
    )


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
    levels = scene.hierarchy
    level = levels.count - 1 if to_level is None else to_level
    vertices, triangles = 0, 0
    for mesh in geometry.shells:
        v, e, f = len(mesh.X), len(mesh.edges), len(mesh.triangles)
        for _ in range(level if levels.kind == "loop" else 0):
            v, e, f = v + e, 2 * e + 3 * f, 4 * f
        vertices, triangles = vertices + v, triangles + f
    if levels.kind == "decimation" and level < levels.count - 1:
        left = min(levels.targets(vertices)[level] / vertices, 1.0)
        vertices, triangles = round(left * vertices), round(left * triangles)
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
