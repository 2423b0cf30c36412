"""A run in the formats of other programs: one module per format; all read frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError
from plisse.export.sequences import write_single
from plisse.export.target import Progress, Summary, check_folder, quiet
from plisse.runs.recording import find_levels, open_recording

__all__ = ["FORMATS", "Format", "Summary", "export_run"]


@dataclass(frozen=True)
class Format:
    """A format by its suffixes, the first being the usual one; one without any is a folder of files.

    writer: "module:function" of this package. options: what that function takes besides floors and progress.
    """

    writer: str
    suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


FORMATS = {
    "usd": Format("usd:write", (".usdc", ".usd", ".usda"), ("mechanics",)),
    "abc": Format("alembic:write", (".abc",)),
    "glb": Format("glb:write", (".glb",), ("animated",)),
    "ply": Format("sequences:write_plys", options=("mechanics",)),
    "obj": Format("sequences:write_objs"),
    "mp4": Format("video:write", (".mp4",), ("fps", "size")),
    "webm": Format("video:write", (".webm",), ("fps", "size")),
}


SINGLE = {".ply": "ply", ".obj": "obj"}  # one frame as one file


def export_run(
    folder: str | Path,
    out: str | Path,
    *,
    format: str | None = None,
    level: int | None = None,
    all_levels: bool = False,
    frame: int | None = None,
    frames: tuple[int | None, int | None] | None = None,
    floors: bool | None = None,
    animated: bool | None = None,
    fps: float | None = None,
    size: tuple[int, int] | None = None,
    smooth: bool = False,
    mechanics: bool | None = None,
    progress: Progress = quiet,
) -> Summary:
    """Writes a run to a file or a folder of files.

    format: by default, the one that belongs to the suffix of `out`; a name without a suffix gets that of the format.
    level: by default, the finest that has frames; all_levels: a video of all of them side by side. frame: only this one
    (−1: the last). frames: only those from one to another, both included; None for the first, and the last. floors:
    half-spaces as large squares, by default in USD, Alembic and GLB. animated: GLB as morph targets instead of one
    frame. fps: frames per second of a video; size: its width and height in pixels. smooth: the shells in a smooth view,
    marked as such. mechanics: USD and PLY with strain, stress and curvature of the shells' triangles and the contact
    forces on their vertices. progress: called with the number of frames done and of all.
    """
    kind, out = _choose(format, Path(out))
    chosen = FORMATS[kind]
    given: dict[str, Any] = {"animated": animated, "fps": fps, "size": size, "mechanics": mechanics}
    options = {key: value for key, value in given.items() if value is not None}
    for key in options:
        if key not in chosen.options:
            takers = " and ".join(name for name, other in FORMATS.items() if key in other.options)
            raise SceneError(f"The format {kind} has no option {key}: it applies only to {takers}.")
    if floors is not None:
        options["floors"] = floors
    single = out.suffix.lower() in SINGLE
    if not chosen.suffixes and not single:
        check_folder(out)
    if animated and frame is not None:
        raise SceneError("--animated writes all frames and --frame only one: choose one of them.")
    if frame is not None and frames is not None:
        raise SceneError("--frame is one frame and --frames are several: choose one of them.")
    if mechanics and smooth:
        raise SceneError("--mechanics is about the level itself, not about a smooth view of it: leave out --smooth.")
    if all_levels:
        if kind not in ("mp4", "webm") or level is not None or smooth:
            raise SceneError("--all-levels is for a video of the levels as they are: leave out --level and --smooth.")
        options["beside"] = [
            open_recording(folder, each).between(*(frames or (None, None))) for each in _coarser(folder)
        ]
    recording = open_recording(folder, level)
    if frame is not None:
        recording = recording.only(frame)
    if frames is not None:
        recording = recording.between(*frames)
    if smooth:
        recording = recording.smoothed()
    if single:
        summary = write_single(recording, out, kind, floors=bool(floors), mechanics=bool(mechanics), progress=progress)
    else:
        module, _, name = chosen.writer.partition(":")
        summary = getattr(import_module(f"{__name__}.{module}"), name)(recording, out, progress=progress, **options)
    if recording.smooth is None:
        return summary
    shown = recording.numbers[-1:] if single or (kind == "glb" and not animated) else recording.numbers
    said = recording.smooth.describe(recording.read_frame(number) for number in shown)
    return replace(summary, note="; ".join(filter(None, [said, summary.note])))


def _coarser(folder: str | Path) -> list[int]:
    """The levels that have frames, but for the finest."""
    return sorted(find_levels(Path(folder)))[:-1]


def _choose(format: str | None, out: Path) -> tuple[str, Path]:
    """The format by its name or else the suffix of the file, and the file with a suffix."""
    by_suffix = {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes} | SINGLE
    if format is None:
        if out.suffix.lower() in by_suffix:
            return by_suffix[out.suffix.lower()], out
        raise SceneError(
            f"The name {out} does not tell the format: end it in {', '.join(by_suffix)}, or choose from "
            f"{', '.join(FORMATS)} with --format."
        )
    if format not in FORMATS:
        raise SceneError(f'There is no format "{format}": choose from {", ".join(FORMATS)}.')
    suffixes = FORMATS[format].suffixes
    if not suffixes:
        if SINGLE.get(out.suffix.lower(), format) != format or out.suffix.lower() in set(by_suffix) - set(SINGLE):
            raise SceneError(
                f"{out} is not a name for the format {format}: give a folder for all frames, or "
                f"{out.stem}.{format} for one."
            )
        return format, out
    if out.suffix.lower() in suffixes:
        return format, out
    if not out.suffix and not out.is_dir():
        return format, out.with_name(out.name + suffixes[0])
    example = out / f"run{suffixes[0]}" if out.is_dir() else out.with_suffix(suffixes[0])
    raise SceneError(f"{out} is not a name for a file of the format {format}: use e.g. {example}.")
