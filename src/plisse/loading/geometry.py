"""From a scene to meshes in the world."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Mesh
from plisse.core.units import told
from plisse.meshes.surfaces import FARTHEST, Surface, load_surface, load_track
from plisse.scene.colliders import Collider
from plisse.scene.geometry import Geometry
from plisse.scene.pins import Pin, select_vertices
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Track
from plisse.scene.sources import MeshSource, place_points


@dataclass(frozen=True, eq=False)
class Loaded:
    """A body's surface, its scaled mesh, where it starts in the world [m] (n, 3), and how it moves."""

    surface: Surface
    mesh: Mesh
    placed: Floats
    track: Track | None = None


def load_geometry(scene: Scene, base: Path) -> Geometry:
    """Load, scale and place all surfaces; relative files are looked up from base."""
    shells = [load_shell(shell, base, scene.seed) for shell in scene.shells]
    for shell, loaded in zip(scene.shells, shells, strict=True):
        _check_pressure(shell, loaded.mesh)
    solids = [None if c.mesh is None else load_collider(c, base, scene.seed) for c in scene.colliders]
    pins = [
        tuple(_select(pin, shell, loaded, base) for pin in shell.pins)
        for shell, loaded in zip(scene.shells, shells, strict=True)
    ]
    return Geometry(
        tuple(loaded.mesh for loaded in shells),
        tuple(loaded.placed for loaded in shells),
        tuple(None if solid is None else Mesh(solid.placed, solid.mesh.triangles) for solid in solids),
        tuple(pins),
        tuple(None if solid is None else solid.track for solid in solids),
        tuple(note for loaded in (*shells, *solids) if loaded is not None for note in loaded.surface.notes),
    )


def load_shell(shell: Shell, base: Path, seed: int) -> Loaded:
    return _load(shell, base, seed, solid=False)


def load_collider(collider: Collider, base: Path, seed: int, *, moving: bool = True) -> Loaded:
    """moving: a sequence with all of its frames, not the first alone."""
    return _load(collider, base, seed, solid=True, moving=moving)


def _load(body: Shell | Collider, base: Path, seed: int, *, solid: bool, moving: bool = False) -> Loaded:
    assert body.mesh is not None
    try:
        surface = _read_surface(body.mesh, base, seed, solid=solid)
        track = load_track(body.mesh, base) if moving and body.mesh.sequence is not None else None
    except SceneError as error:
        raise SceneError(f"{body.name}: {error}") from None
    scale = np.array(body.scale)
    mesh = surface.mesh if body.scale == (1.0, 1.0, 1.0) else Mesh(surface.mesh.X * scale, surface.mesh.triangles)
    placed = place_points(mesh.X, translate=body.translate, rotate=body.rotate)
    _check_places(body.name, placed)
    if track is not None:
        moved = [place_points(x * scale, translate=body.translate, rotate=body.rotate) for x in track.positions]
        track = Track(track.times, np.stack(moved))
        _check_places(body.name, track.positions)
    return Loaded(surface, mesh, placed, track)


def _read_surface(source: MeshSource, base: Path, seed: int, *, solid: bool) -> Surface:
    if source.shape is None:
        return load_surface(source, base, seed=seed, solid=solid)
    try:
        # where lengths are out of all proportion, the counts of vertices that follow from them are too
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return load_surface(source, base, seed=seed, solid=solid)
    except (ArithmeticError, ValueError, MemoryError):
        raise SceneError(
            f"A {source.shape} of these sizes does not fit into memory: make it coarser, or correct its lengths."
        ) from None


def _check_places(name: str, x: Floats) -> None:
    """Raises SceneError where positions [m] are so far out that their digits do not tell vertices apart."""
    farthest = float(np.abs(x).max())
    if not farthest <= FARTHEST:
        raise SceneError(
            f"{name}: it reaches {farthest:.3g} m from the origin, but {FARTHEST:g} m is the limit: "
            "correct its size, scale, translate or unit."
        )


def _check_pressure(shell: Shell, mesh: Mesh) -> None:
    if shell.pressure is None:
        return
    if not mesh.is_closed:
        raise SceneError(
            f'The shell "{shell.name}" has a pressure but an open boundary of {len(mesh.boundary_edges)} edges: close '
            "it or remove pressure."
        )
    if mesh.volume <= 0:
        raise SceneError(
            f'The shell "{shell.name}" faces inwards, so that pressure would act inwards: flip its triangles.'
        )


def _select(pin: Pin, shell: Shell, loaded: Loaded, base: Path) -> Ints:
    return select_vertices(
        pin,
        loaded.mesh,
        loaded.placed,
        name=shell.name,
        vertex_of_id=loaded.surface.vertex_of_id,
        groups=loaded.surface.groups,
        listed=None if pin.ids is None else _read_ids(base / pin.ids),
    )


def _read_ids(path: Path) -> list[int]:
    """The numbers in a text file, apart by blanks or commas; # begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise SceneError(f"{path} does not exist: correct the name of the file with vertex ids.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path} cannot be read as a list of vertex ids ({error}): save it as plain text.") from None
    out: list[int] = []
    for number, line in enumerate(lines, start=1):
        for word in line.partition("#")[0].replace(",", " ").split():
            if not word.isdecimal() or len(word) > 9:
                raise SceneError(f"{path}, line {number}: {told(word)} is not a vertex id; write whole numbers from 0.")
            out.append(int(word))
    return out
