"""The command that builds the levels of a mesh or a scene, and tells how good they are."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plisse.cli.commands import new_path
from plisse.core.errors import SceneError, inside

if TYPE_CHECKING:
    from plisse.hierarchy.hierarchy import Hierarchy
    from plisse.hierarchy.survey import Figures
    from plisse.progressive.ladder import Ladder

LEVELS = 3  # of a mesh, where nobody says how many
MOST_LEVELS = 16
ROUNDING = 1e-10  # distances, as a part of the size, that are none
SUFFIXES = (".png", ".jpg", ".jpeg")
HEADER = ("level", "vertices", "triangles", "mean edge", "least", "1 %", "median", "distance", "batches")
ANGLES = "smallest angle"
KINDS = {"decimation": "decimation", "loop": "subdivision"}


def add_hierarchy(commands: Any) -> None:
    """Adds the command's parser."""
    parser = commands.add_parser("hierarchy", help="build the levels of a mesh or a scene, and tell how good they are")
    parser.add_argument("file", type=Path, metavar="SCENE|MESH", help="scene (.toml) or mesh file, the finest level")
    parser.add_argument(
        "--levels", type=_levels, metavar="N|SIZES",
        help="number of levels, or vertices of the levels below the finest, e.g. 1500,6000 (default: the scene's; "
        f"of a mesh {LEVELS})",
    )  # fmt: skip
    parser.add_argument(
        "--ratio", type=_ratio, help="times as many vertices as the next coarser level (default: the scene's; 4)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the scene")
    parser.add_argument("--show", action="store_true", help="draw the levels, and where they lie on the finest one")
    parser.add_argument("--out", type=new_path, metavar="PICTURE", help="picture (default: FILE-hierarchy.png, here)")
    parser.set_defaults(action=_hierarchy)


def _levels(text: str) -> int | list[int]:
    parts = text.split(",")
    numbers = [int(part) for part in parts if part.strip().isdecimal() and len(part) < 12]
    wrong = len(numbers) < len(parts) or 0 in numbers or any(a >= b for a, b in pairwise(numbers))
    if wrong or len(numbers) >= MOST_LEVELS or (len(numbers) == 1 and "," not in text and numbers[0] < 2):
        raise argparse.ArgumentTypeError(
            f"must be a number of levels from 2 to {MOST_LEVELS}, or the vertices of the levels below the finest in "
            f"ascending order, like 1500,6000, not {text!r}"
        )
    return numbers[0] if len(numbers) == 1 and numbers[0] <= MOST_LEVELS else numbers


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"must be a number above 1, not {text!r}")
    return value


def _hierarchy(options: argparse.Namespace) -> int:
    if options.out and not options.show:
        raise SceneError("--out names the picture that --show draws: add --show.")
    if options.out and options.out.suffix.lower() not in SUFFIXES:
        raise SceneError(f"{options.out} is not a name for a picture: end it in {', '.join(SUFFIXES)}.")
    if options.ratio is not None and isinstance(options.levels, list):
        raise SceneError("--ratio goes with a number of levels, but --levels gives their sizes: omit one of them.")
    ladder, seconds = _build(options)
    from plisse.hierarchy.survey import survey
    from plisse.progressive.sizes import note_misses, tell_miss

    scene, hierarchy = ladder.scene, ladder.hierarchy
    names = [*(shell.name for shell in scene.shells), *(c.name for c in scene.colliders if c.mesh is not None)]
    # a collider that is the same on all levels has nothing to tell
    finest, shells = hierarchy.levels[-1], len(scene.shells)
    told = [i for i, mesh in enumerate(hierarchy.levels[0]) if i < shells or mesh is not finest[i]]
    tables = [(names[i], survey(hierarchy, i)) for i in told]
    picture = _draw(ladder, options) if options.show else None

    kind = KINDS.get(scene.hierarchy.kind, scene.hierarchy.kind)
    print(f"{options.file}: {scene.hierarchy.count} levels by {kind}, {_tell_time(hierarchy, seconds)}")
    for name, figures in tables:
        print("\n".join(["", *([f"{name}:"] if len(tables) > 1 else []), *_write_table(figures)]))
    print()
    if picture is not None:
        print(f"picture: {picture}")
    for note in note_misses(ladder, 0, key="--levels"):
        print(f"note: {note}")
    grave = [tell_miss(ladder, miss, key="--levels") for miss in hierarchy.misses(0) if miss.is_grave]
    for sentence in grave:
        print(f"plisse: {sentence}", file=sys.stderr)
    return 1 if grave else 0


def _build(options: argparse.Namespace) -> tuple[Ladder, float]:
    """The levels, through the same code and cache as those of a run, and the seconds that they took."""
    from plisse.loading.geometry import load_geometry
    from plisse.loading.scene_file import load_scene, scene_from_dict
    from plisse.progressive.ladder import Ladder
    from plisse.runs.checks import check_levels

    asked = {name: value for name, value in (("levels", options.levels), ("ratio", options.ratio)) if value is not None}
    if options.file.suffix.lower() == ".toml":
        sets = [f"hierarchy.{name}={value}" for name, value in asked.items()]
        scene, base = load_scene(options.file, [*options.set, *sets]), options.file.parent
        if options.ratio is not None and scene.hierarchy.kind != "decimation":
            raise SceneError(
                f"--ratio is for levels by decimation, and those of {options.file} are made by subdivision: omit it, "
                "or add --set hierarchy.kind=decimation."
            )
    else:
        if options.set:
            raise SceneError("--set changes a scene, but a mesh has nothing to set: remove it.")
        from plisse.meshes.surfaces import load_surface
        from plisse.scene.sources import MeshSource

        base = Path()
        # what is wrong with the file is told without the name of a shell in front
        load_surface(MeshSource(file=str(options.file)), base)
        shell = {"name": options.file.stem, "file": str(options.file)}
        table = {"shell": [shell], "hierarchy": {"kind": "decimation", "levels": LEVELS} | asked}
        scene = scene_from_dict(table, base)
    if scene.hierarchy.count == 1:
        raise SceneError(f"{options.file} has a single level: say how many there are to be, e.g. --levels {LEVELS}.")
    with inside(str(options.file)):
        geometry = load_geometry(scene, base)
        check_levels(scene, geometry)
        began = time.perf_counter()
        return Ladder.of(scene, geometry), time.perf_counter() - began


def _draw(ladder: Ladder, options: argparse.Namespace) -> Path:
    from plisse.pictures.levels import draw_levels
    from plisse.pictures.render import save

    path = options.out or Path(f"{options.file.stem}-hierarchy.png")
    save(draw_levels(ladder), path)
    return Path(path)


def _tell_time(hierarchy: Hierarchy, seconds: float) -> str:
    from plisse.hierarchy.decimated import Decimated

    made = [body for body in hierarchy.bodies if body is not None] if isinstance(hierarchy, Decimated) else []
    again = sum(body.again for body in made)
    how = "made" if not again else "read from the cache" if again == len(made) else "some of them read from the cache,"
    return f"{how} in {seconds:.2g} s"


def _write_table(rows: list[Figures]) -> list[str]:
    """Lines of a table, one row a level, coarse to fine."""
    from plisse.pictures.summary import align

    cells = [list(HEADER)]
    for row in rows:
        finest = row.level == rows[-1].level
        cells.append([
            f"{row.level}", f"{row.vertices:,}", f"{row.triangles:,}", f"{row.mean_edge:.3g} m",
            *(f"{angle:.1f}°" for angle in row.angles),
            "–" if finest else _percent(row.distance), "–" if row.batches is None else f"{row.batches:,}",
        ])  # fmt: skip
    lines = align(cells)
    # the columns of angles have a heading in common
    return [f"{ANGLES:>{lines[0].index(HEADER[6]) + len(HEADER[6])}}", *lines]


def _percent(part: float) -> str:
    return f"{100.0 * part:.2g} %" if part > ROUNDING else "0 %"
