"""The commands beside running: check, report, render, export, schema, examples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from plisse.core.errors import SceneError

EXPORTS = ("usd", "abc", "glb", "ply", "obj", "mp4", "webm")


def add_commands(commands: Any) -> None:
    """Adds the parsers of all commands of this module."""
    check = commands.add_parser("check", help="look at a scene or a mesh without simulating")
    check.add_argument("file", type=Path, metavar="SCENE|MESH", help="scene (.toml) or mesh file")
    check.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the scene")
    check.add_argument("--collider", action="store_true", help="the mesh is to be a collider, which may be less tidy")
    check.add_argument("--repair", action="store_true", help="mend a mesh where that needs no guessing")
    check.add_argument("--out", type=Path, metavar="FIXED", help="where to write the mended mesh")
    check.set_defaults(action=_check)

    report = commands.add_parser("report", help="how a run stands, as a table")
    report.add_argument("run", type=Path, help="folder of a run")
    report.add_argument("--html", action="store_true", help="as a page with pictures and plots instead")
    report.add_argument("--out", type=Path, metavar="FILE", help="where to write the page (default: in the run)")
    report.set_defaults(action=_report)

    render = commands.add_parser("render", help="draw a frame of a run, or a film of all")
    render.add_argument("run", type=Path, help="folder of a run")
    what = render.add_mutually_exclusive_group()
    what.add_argument("--frame", type=int, metavar="N", help="number of a frame (default: the last)")
    what.add_argument("--video", action="store_true", help="a film of all frames")
    render.add_argument("--level", type=int, metavar="K", help="level (default: the finest that has frames)")
    render.add_argument("--smooth", action="store_true", help="a smooth view of a coarse level, marked as such")
    render.add_argument("--size", type=_size, metavar="WxH", help="pixels (default: 1280x960, of a film 1280x720)")
    render.add_argument("--fps", type=float, help="frames a second of a film (default: as simulated)")
    render.add_argument("--out", type=Path, metavar="FILE", help="picture or film (default: in the run)")
    render.set_defaults(action=_render)

    export = commands.add_parser("export", help="write a run for other programs")
    export.add_argument("run", type=Path, help="folder of a run")
    export.add_argument("--out", type=Path, required=True, help="file; for all frames as ply or obj a folder")
    export.add_argument("--format", choices=EXPORTS, help="default: by the file's ending")
    export.add_argument("--level", type=int, metavar="K", help="level (default: the finest that has frames)")
    export.add_argument("--frame", type=int, metavar="N", help="that frame alone; -1 is the last")
    export.add_argument("--animated", action="store_true", default=None, help="glb: all frames as morph targets")
    export.add_argument("--smooth", action="store_true", help="a smooth view of a coarse level, marked as such")
    export.add_argument("--fps", type=float, help="mp4, webm: frames a second (default: as simulated)")
    export.add_argument("--size", type=_size, metavar="WxH", help="mp4, webm: pixels (default: 1280x720)")
    floors = export.add_mutually_exclusive_group()
    floors.add_argument("--floors", action="store_true", default=None, help="half-spaces as large squares")
    floors.add_argument("--no-floors", action="store_false", dest="floors", help="without half-spaces")
    export.set_defaults(action=_export)

    schema = commands.add_parser("schema", help="every key of a scene file, with unit and default")
    schema.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    schema.set_defaults(action=_schema)

    examples = commands.add_parser("examples", help="list the gallery, or copy a scene of it to edit")
    examples.add_argument("name", nargs="?", help="number or name of an example")
    examples.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder to copy to (default: here)")
    examples.set_defaults(action=_examples)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and 16 <= int(width) <= 8192 and 16 <= int(height) <= 8192):
        raise argparse.ArgumentTypeError(f"must be like 1280x720, from 16 to 8192 pixels a side, not {text!r}")
    return int(width), int(height)


def _check(options: argparse.Namespace) -> int:
    is_scene = options.file.suffix.lower() == ".toml"
    if options.repair or options.out:
        if is_scene or not (options.repair and options.out):
            raise SceneError("--repair mends a mesh: write `plisse check --repair MESH --out FIXED`.")
        from plisse.meshes.repair import repair_mesh

        for sentence in repair_mesh(options.file, options.out):
            print(sentence)
        print(f"Wrote {options.out}.")
        return 0
    if is_scene:
        from plisse.runs.checks import check_scene_file

        with telling_start(options.file):
            print("\n".join(check_scene_file(options.file, options.set)))
        return 0
    if options.set:
        raise SceneError("--set changes a scene: a mesh has nothing to set.")
    from plisse.runs.checks import check_mesh_file

    print("\n".join(check_mesh_file(options.file, solid=options.collider)))
    return 0


@contextmanager
def telling_start(scene: Path) -> Iterator[None]:
    """Leaves a picture of where a scene intersects at its start, as a mesh beside the message."""
    try:
        yield
    except SceneError as error:
        write: Callable[[Path], None] | None = getattr(error, "write", None)
        if write is None:
            raise
        path = Path(f"{scene.stem}-intersections.ply")
        try:
            write(path)
        except OSError:
            raise error from None
        raise SceneError(f"{str(error).removesuffix('.')}; {path} shows them in red.") from None


def _report(options: argparse.Namespace) -> int:
    from plisse.runs.climb import read_report
    from plisse.runs.store import RunStore

    RunStore.open(options.run)
    report = read_report(options.run)
    if options.html or options.out:
        from plisse.pictures.page import write_page

        path = options.out or options.run / "report.html"
        write_page(report, options.run, path)
        print(f"report: {path}")
        return 0
    from plisse.pictures.summary import summarise

    print(summarise(report))
    return 0


def _render(options: argparse.Namespace) -> int:
    if not options.video:
        if options.fps is not None:
            raise SceneError("--fps is of a film: add --video.")
        from plisse.export.picture import write_picture

        path, said = write_picture(
            options.run,
            options.out,
            frame=options.frame,
            level=options.level,
            size=options.size,
            smooth=options.smooth,
        )
        print(f"picture: {path}{f'; {said}' if said else ''}")
        return 0
    from plisse.export import export_run

    out = options.out or options.run / "film.mp4"
    if out.suffix.lower() not in (".mp4", ".webm"):
        raise SceneError(f"{out} is no name for a film: end it in .mp4 or .webm.")
    with told(sys.stderr, "frame") as tell:
        summary = export_run(
            options.run,
            out,
            level=options.level,
            fps=options.fps,
            size=options.size,
            smooth=options.smooth,
            told=tell,
        )
    print(_tell(summary))
    return 0


def _export(options: argparse.Namespace) -> int:
    from plisse.export import export_run

    with told(sys.stderr, "frame") as tell:
        summary = export_run(
            options.run,
            options.out,
            format=options.format,
            level=options.level,
            frame=options.frame,
            floors=options.floors,
            animated=options.animated,
            fps=options.fps,
            size=options.size,
            smooth=options.smooth,
            told=tell,
        )
    print(_tell(summary))
    return 0


def _tell(summary: Any) -> str:
    """What an export wrote, in one line."""
    frames = f"{summary.frames} frame{'s' if summary.frames != 1 else ''}"
    note = f"; {summary.note}" if summary.note else ""
    return f"{summary.path}: {frames} of level {summary.level}, {summary.bytes / 1e6:.1f} MB{note}"


@contextmanager
def told(stream: TextIO, what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how far long work has come, on a terminal only."""
    live, shown = stream.isatty(), False

    def tell(done: int, total: int) -> None:
        nonlocal shown
        if live:
            stream.write(f"\r{what} {done}/{total}")
            stream.flush()
            shown = True

    try:
        yield tell
    finally:
        if shown:
            stream.write("\n")


def _schema(options: argparse.Namespace) -> int:
    from plisse.scene import schema

    writers = {"text": schema.as_text, "json": schema.as_json, "markdown": schema.as_markdown}
    print(writers[options.format](), end="" if options.format != "text" else "\n")
    return 0


def _examples(options: argparse.Namespace) -> int:
    from plisse.loading.examples import copy_example, list_examples

    if options.name is None:
        for example in list_examples():
            print(f"{example.number:2}  {example.name:<18}  {example.title}")
        print("\nCopy one with `plisse examples NAME`, then run it with `plisse run NAME.toml --out NAME-run`.")
        return 0
    path = copy_example(options.name, options.out)
    print(f"{path}: run it with `plisse run {path} --out {path.with_suffix('')}-run`.")
    return 0
