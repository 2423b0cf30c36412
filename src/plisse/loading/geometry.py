"""From a scene to meshes in the world."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats, Ints
from plisse.core.errors import SceneError, inside
from plisse.core.files import TEXT, check_file
from plisse.core.mesh import Mesh
from plisse.core.units import quote
from plisse.loading.frames import read_start
from plisse.loading.rest import add_rest, describe_rest
from plisse.meshes.memo import Memo
from plisse.meshes.surfaces import FARTHEST, Surface, load_surface, load_track, stamp_source
from plisse.scene.colliders import Collider
from plisse.scene.geometry import Geometry
from plisse.scene.pins import Selection, find_named, select_vertices
from plisse.scene.regions import Region
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Track
from plisse.scene.sources import MeshSource, place_points

# Weights may be so far outside of 0 to 1 by rounding.
SLACK = 1e-6
# What was scaled or placed and what moves, by their numbers of positions: the same again is the same object.
_meshes: Memo[Mesh] = Memo(1_000_000, lambda mesh: len(mesh.X))
_tracks: Memo[Track] = Memo(10_000_000, lambda track: track.positions.size // 3)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A body's surface, its scaled mesh, where it starts in the world [m] (n, 3), and how it moves."""

    surface: Surface
    mesh: Mesh
    placed: Floats
    track: Track | None = None


def load_geometry(scene: Scene, base: str | Path) -> Geometry:
    """Load, scale and place all surfaces; relative files are looked up from base."""
    base = Path(base)
    shells = [_start(load_shell(shell, base, scene.seed), shell, base) for shell in scene.shells]
    for shell, loaded in zip(scene.shells, shells, strict=True):
        _check_pressure(shell, loaded.mesh)
    solids = [None if c.mesh is None else load_collider(c, base, scene.seed) for c in scene.colliders]
    pins = [
        tuple(_select(pin, shell, loaded, base) for pin in shell.pins)
        for shell, loaded in zip(scene.shells, shells, strict=True)
    ]
    regions = [
        tuple(_weigh(region, shell, loaded, base) for region in shell.regions)
        for shell, loaded in zip(scene.shells, shells, strict=True)
    ]
    return Geometry(
        tuple(loaded.mesh for loaded in shells),
        tuple(loaded.placed for loaded in shells),
        tuple(None if s is None else _place(s, c) for s, c in zip(solids, scene.colliders, strict=True)),
        tuple(pins),
        tuple(None if solid is None else solid.track for solid in solids),
        tuple(note for loaded in (*shells, *solids) if loaded is not None for note in loaded.surface.notes)
        + tuple(f"{s.name} {note}." for s, loaded in zip(scene.shells, shells, strict=True) for note in _notes(loaded)),
        tuple(regions) if any(regions) else (),
    )


def load_shell(shell: Shell, base: Path, seed: int) -> Loaded:
    """The shell as it starts from its own mesh."""
    loaded = _load(shell, base, seed, solid=False)
    if shell.rest is None:
        return loaded
    with inside(shell.name):
        return replace(loaded, mesh=add_rest(shell, loaded.surface, loaded.mesh, base))


def _start(loaded: Loaded, shell: Shell, base: Path) -> Loaded:
    """The shell where it starts, which may be a frame of another run."""
    if shell.start is None:
        return loaded
    with inside(shell.name):
        placed = read_start(shell.start, shell.name, loaded.mesh, base)
    _check_places(shell.name, placed)
    return replace(loaded, placed=placed)


def _notes(loaded: Loaded) -> list[str]:
    note = None if loaded.mesh.rest is None else describe_rest(loaded.mesh)
    return [] if note is None else [note]


def load_collider(collider: Collider, base: Path, seed: int, *, moving: bool = True) -> Loaded:
    """moving: a sequence with all of its frames, not the first alone."""
    return _load(collider, base, seed, solid=True, moving=moving)


def _load(body: Shell | Collider, base: Path, seed: int, *, solid: bool, moving: bool = False) -> Loaded:
    source, scale = body.mesh, body.scale
    assert source is not None
    with inside(body.name):
        surface = _read_surface(source, base, seed, solid=solid)
        track = _load_track(body, base) if moving and source.sequence is not None else None
    if source.mesh is not None:
        surface = replace(surface, notes=tuple(f"{body.name}: {note}" for note in surface.notes))
    mesh = surface.mesh
    if scale != (1.0, 1.0, 1.0):
        mesh = _meshes.get((surface, scale), lambda: replace(surface.mesh, X=surface.mesh.X * np.array(scale)))
    placed = place_points(mesh.X, translate=body.translate, rotate=body.rotate)
    _check_places(body.name, placed if track is None else track.positions)
    return Loaded(surface, mesh, placed, track)


def _place(loaded: Loaded, collider: Collider) -> Mesh:
    """The mesh of a collider in its place."""
    key = (loaded.mesh, collider.rotate, collider.translate)
    return _meshes.get(key, lambda: replace(loaded.mesh, X=loaded.placed))


def _load_track(body: Shell | Collider, base: Path) -> Track:
    """How a body that is a sequence moves in the world."""
    source = body.mesh
    assert source is not None

    def make() -> Track:
        track, scale = load_track(source, base), np.array(body.scale)
        moved = [place_points(x * scale, translate=body.translate, rotate=body.rotate) for x in track.positions]
        return Track(track.times, np.stack(moved))

    stamp = stamp_source(source, base)
    return _tracks.get(stamp and (stamp, body.scale, body.rotate, body.translate), make)


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


def _select(by: Selection, shell: Shell, loaded: Loaded, base: Path) -> Ints:
    return select_vertices(
        by,
        loaded.mesh,
        loaded.placed,
        name=shell.name,
        vertex_of_id=loaded.surface.vertex_of_id,
        groups=loaded.surface.groups,
        listed=None if by.ids is None else _read_ids(base / by.ids),
    )


def _weigh(region: Region, shell: Shell, loaded: Loaded, base: Path) -> Floats:
    """Weight of each vertex in a region, from 0 to 1, shape (n,)."""
    who, surface = f"A region of {shell.name}", loaded.surface
    if region.attribute is not None:
        weights: Floats = find_named(region.attribute, surface.attributes, who, "attribute")
    elif region.weights is not None:
        weights = _read_weights(base / region.weights, shell.name, surface.vertex_of_id)
    else:
        weights = np.zeros(len(loaded.mesh.X))
        weights[_select(region, shell, loaded, base)] = 1.0
    wrong = np.flatnonzero(~((weights >= -SLACK) & (weights <= 1.0 + SLACK)))
    if len(wrong):
        vertex = int(np.flatnonzero(surface.vertex_of_id == wrong[0])[0])
        source = f'attribute "{region.attribute}"' if region.weights is None else str(base / region.weights)
        raise SceneError(
            f"{who} has the weight {weights[wrong[0]]:g} at vertex {vertex} (counted from 0) by its {source}: give "
            "weights from 0 to 1."
        )
    if not weights.any():
        raise SceneError(f"{who} has the weight 0 at all vertices: paint it, or remove the region.")
    return np.clip(weights, 0.0, 1.0)


def _read_ids(path: Path) -> list[int]:
    out: list[int] = []
    for line, word in _read_words(path, "vertex ids"):
        if not word.isdecimal() or len(word) > 9:
            raise SceneError(f"{path}, line {line}: {quote(word)} is not a vertex id; write whole numbers from 0.")
        out.append(int(word))
    return out


def _read_weights(path: Path, name: str, vertex_of_id: Ints) -> Floats:
    """The mesh's weights (n,) from a file that has one for each vertex of the mesh file."""
    listed: list[float] = []
    for line, word in _read_words(path, "weights"):
        try:
            listed.append(float(word))
        except ValueError:
            raise SceneError(f"{path}, line {line}: {quote(word)} is no weight; write numbers from 0 to 1.") from None
    if len(listed) != len(vertex_of_id):
        raise SceneError(
            f"{path} holds {len(listed)} weights, but the mesh of {name} has {len(vertex_of_id)} vertices: give one "
            "for each, in the order of the mesh."
        )
    kept = vertex_of_id >= 0
    out = np.empty(int(kept.sum()))
    out[vertex_of_id[kept]] = np.array(listed)[kept]
    return out


def _read_words(path: Path, what: str) -> Iterator[tuple[int, str]]:
    """The words in a text file with their lines, apart by blanks or commas; # begins a comment."""
    try:
        check_file(path, most=TEXT)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise SceneError(f"{path} does not exist: correct the name of the file with {what}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path} cannot be read as a list of {what} ({error}): save it as plain text.") from None
    for number, line in enumerate(lines, start=1):
        for word in line.partition("#")[0].replace(",", " ").split():
            yield number, word
