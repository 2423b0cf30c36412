"""The commands other than running: check, report, render, export, schema, examples."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from plisse.core.errors import IntersectionError, SceneError

RED, GREY = (214, 39, 40), (200, 200, 205)  # of triangles that intersect, and of the others
EXPORTS = ("usd", "abc", "glb", "ply", "obj", "mp4", "webm")


def add_commands(commands: Any) -> None:
    """Adds the parsers of all commands of this module."""
    check = commands.add_parser("check", help="check a scene or a mesh without simulating")
    check.add_argument("file", type=Path, metavar="SCENE|MESH", help="scene (.toml) or mesh file")
    check.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the scene")
    check.add_argument("--collider", action="store_true", help="the mesh will be a collider, which may be less clean")
    check.add_argument("--repair", action="store_true", help="repair what can be repaired without guessing")
    check.add_argument("--out", type=new_path, metavar="FIXED", help="where to write the repaired mesh")
    check.set_defaults(action=_check)

    report = commands.add_parser("report", help="print the state of a run as a table")
    report.add_argument("run", type=Path, help="folder of a run")
    report.add_argument("--level", type=int, metavar="K", help="only this level")
    report.add_argument(
        "--frames",
        type=frame_range,
        metavar="A:B",
        help="a line for each of these frames of a level, the finest by default",
    )
    report.add_argument("--html", action="store_true", help="write a page with pictures and plots instead")
    report.add_argument("--out", type=new_path, metavar="FILE", help="where to write the page (default: into the run)")
    report.set_defaults(action=_report)

    render = commands.add_parser("render", help="draw a frame of a run, or a video of all frames")
    render.add_argument("run", type=Path, help="folder of a run")
    what = render.add_mutually_exclusive_group()
    what.add_argument("--frame", type=int, metavar="N", help="number of a frame (default: the last)")
    what.add_argument("--video", action="store_true", help="a video of all frames")
    render.add_argument("--frames", type=frame_range, metavar="A:B", help="video only: from frame A to frame B")
    render.add_argument("--level", type=int, metavar="K", help="level (default: the finest that has frames)")
    render.add_argument("--all-levels", action="store_true", help="video only: all levels side by side")
    render.add_argument("--smooth", action="store_true", help="a smooth view of a coarse level, marked as such")
    render.add_argument("--size", type=_size, metavar="WxH", help="pixels (default: 1280x960, video: 1280x720)")
    render.add_argument("--fps", type=float, help="video only: frames per second (default: as simulated)")
    render.add_argument("--out", type=new_path, metavar="FILE", help="picture or video (default: in the run)")
    render.set_defaults(action=_render)

    export = commands.add_parser("export", help="write a run for other programs")
    export.add_argument("run", type=Path, help="folder of a run")
    export.add_argument("--out", type=new_path, required=True, help="file, or a folder for all frames as ply or obj")
    export.add_argument("--format", choices=EXPORTS, help="default: the one that belongs to the suffix")
    export.add_argument("--level", type=int, metavar="K", help="level (default: the finest that has frames)")
    export.add_argument("--frame", type=int, metavar="N", help="only this frame; -1 is the last")
    export.add_argument("--frames", type=frame_range, metavar="A:B", help="only frames A to B")
    export.add_argument("--animated", action="store_true", default=None, help="glb: all frames as morph targets")
    export.add_argument("--smooth", action="store_true", help="a smooth view of a coarse level, marked as such")
    export.add_argument(
        "--mechanics", action="store_true", default=None,
        help="usd, ply: with strain, stress, curvature and contact forces",
    )  # fmt: skip
    export.add_argument("--fps", type=float, help="mp4, webm: frames per second (default: as simulated)")
    export.add_argument("--size", type=_size, metavar="WxH", help="mp4, webm: pixels (default: 1280x720)")
    floors = export.add_mutually_exclusive_group()
    floors.add_argument("--floors", action="store_true", default=None, help="half-spaces as large squares")
    floors.add_argument("--no-floors", action="store_false", dest="floors", help="without half-spaces")
    export.set_defaults(action=_export)

    schema = commands.add_parser("schema", help="every key of a scene file, with unit and default")
    schema.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    schema.set_defaults(action=_schema)

    examples = commands.add_parser("examples", help="list the scenes that come with plisse, or copy one to edit")
    examples.add_argument("name", nargs="?", help="name of a scene to copy")
    examples.add_argument(
        "--out", type=new_path, default=Path(), metavar="DIR", help="folder to copy to (default: here)"
    )
    examples.set_defaults(action=_examples)


def frame_range(text: str) -> tuple[int | None, int | None]:
    """From one frame to another, both included; None for the first and the last."""
    first, colon, last = text.partition(":")
    if not colon or any(end and not end.isdigit() for end in (first, last)) or not (first or last):
        raise argparse.ArgumentTypeError(f"must be like 10:20, 10: or :20, not {text!r}")
    return int(first) if first else None, int(last) if last else None


def new_path(text: str) -> Path:
    """Where a command is to write to."""
    try:
        if not text:
            raise argparse.ArgumentTypeError("must not be empty; the current folder is .")
        os.lstat(text)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # who writes there will see
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: {error.strerror}") from None
    return Path(text)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and 16 <= int(width) <= 8192 and 16 <= int(height) <= 8192):
        raise argparse.ArgumentTypeError(f"must be like 1280x720, with 16 to 8192 pixels per side, not {text!r}")
    return int(width), int(height)


def _check(options: argparse.Namespace) -> int:
    is_scene = options.file.suffix.lower() == ".toml"
    if options.repair or options.out:
        if is_scene or not (options.repair and options.out):
            raise SceneError("--repair writes a repaired mesh: use `plisse check --repair MESH --out FIXED`.")
        from plisse.meshes.repair import repair_mesh

        for sentence in repair_mesh(options.file, options.out):
            print(sentence)
        print(f"Wrote {options.out}.")
        return 0
    if is_scene:
        from plisse.runs.checks import check_scene_file

        with showing_intersections(options.file):
            print("\n".join(check_scene_file(options.file, options.set)))
        return 0
    if options.set:
        raise SceneError("--set changes a scene, but a mesh has nothing to set: remove it.")
    from plisse.runs.checks import check_mesh_file

    with showing_intersections(options.file):
        print("\n".join(check_mesh_file(options.file, solid=options.collider)))
    return 0


@contextmanager
def showing_intersections(file: Path) -> Iterator[None]:
    """Leaves a mesh that shows where a scene or a mesh intersects, and names it in the message."""
    try:
        yield
    except IntersectionError as error:
        import numpy as np

        from plisse.meshes.ply import write_ply

        colors = np.tile(np.array(GREY, np.uint8), (len(error.triangles), 1))
        colors[error.marked] = RED
        path = Path(f"{file.stem}-intersections.ply")
        try:
            write_ply(path, error.x, error.triangles, colors=colors)
        except OSError:
            raise error from None
        raise SceneError(f"{str(error).removesuffix('.')}; {path} shows them in red.") from None


def _report(options: argparse.Namespace) -> int:
    from plisse.runs.report import read_report
    from plisse.runs.store import RunStore

    RunStore.open(options.run)
    report = read_report(options.run)
    if options.level is not None:
        report = report.of_level(options.level)
    if options.frames:
        if options.html or options.out:
            raise SceneError("--frames prints a line for each frame, the page has plots of all: choose one of them.")
        if not report.levels:
            raise SceneError(f"{options.run} has no frames yet: run the scene first.")
        from plisse.pictures.summary import list_frames
        from plisse.runs.report import read_frames

        level = report.levels[-1].level
        print(
            f"{report.scene}, level {level}", *list_frames(read_frames(options.run, level, *options.frames)), sep="\n"
        )
        return 0
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
        for name, given in (("--fps", options.fps is not None), ("--all-levels", options.all_levels)):
            if given:
                raise SceneError(f"{name} applies only to video: add --video.")
        if options.frames is not None:
            raise SceneError("--frames applies only to video: add --video, or draw one frame with --frame N.")
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

    out = options.out or options.run / ("levels.mp4" if options.all_levels else "film.mp4")
    if out.suffix.lower() not in (".mp4", ".webm"):
        raise SceneError(f"{out} is not a name for a video: end it in .mp4 or .webm.")
    with show_progress(sys.stderr, "frame") as tell:
        summary = export_run(
            options.run,
            out,
            level=options.level,
            all_levels=options.all_levels,
            frames=options.frames,
            fps=options.fps,
            size=options.size,
            smooth=options.smooth,
            progress=tell,
        )
    print(_tell(summary))
    return 0


def _export(options: argparse.Namespace) -> int:
    from plisse.export import export_run

    with show_progress(sys.stderr, "frame") as tell:
        summary = export_run(
            options.run,
            options.out,
            format=options.format,
            level=options.level,
            frame=options.frame,
            frames=options.frames,
            floors=options.floors,
            animated=options.animated,
            fps=options.fps,
            size=options.size,
            smooth=options.smooth,
            mechanics=options.mechanics,
            progress=tell,
        )
    print(_tell(summary))
    return 0


def _tell(summary: Any) -> str:
    """What an export wrote, in one line."""
    frames = f"{summary.frames} frame{'s' if summary.frames != 1 else ''}"
    note = f"; {summary.note}" if summary.note else ""
    return f"{summary.path}: {frames} of level {summary.level}, {summary.bytes / 1e6:.1f} MB{note}"


@contextmanager
def show_progress(stream: TextIO, what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows the progress of long work, only on a terminal."""
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
    from plisse.loading.examples import copy_example, list_examples, list_gallery

    if options.name is None:
        for heading, scenes in (("Scenes to start from", list_examples()), ("Gallery of the papers", list_gallery())):
            print(f"{heading}:")
            for scene in scenes:
                print(f"  {scene.name:<17}  {scene.title}")
            print()
        print("Copy one with `plisse examples NAME`, then run it with `plisse run NAME.toml --out NAME-run`.")
        return 0
    path = copy_example(options.name, options.out)
    print(f"{path}: run it with `plisse run {path} --out {path.with_suffix('')}-run`.")
    return 0
