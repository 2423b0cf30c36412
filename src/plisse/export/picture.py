"""One frame of a run as a picture."""

from __future__ import annotations

from pathlib import Path

from plisse.core.errors import SceneError
from plisse.export.video import describe_frame, find_ground
from plisse.pictures.render import render
from plisse.runs.recording import open_recording

SIZE = (1280, 960)  # pixels
SUFFIXES = (".png", ".jpg", ".jpeg")


def write_picture(
    folder: Path,
    out: Path | None = None,
    *,
    frame: int | None = None,
    level: int | None = None,
    size: tuple[int, int] | None = None,
) -> Path:
    """Draws a frame, the last by default, to a PNG or JPEG file, by default into the run; returns its path."""
    recording = open_recording(folder, level).only(-1 if frame is None else frame)
    number = recording.numbers[0]
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise SceneError(f"{out} is not a name for a picture: end it in {', '.join(SUFFIXES)}.")
    path = out or folder / f"level-{recording.level}" / f"frame-{number:04d}.png"
    render(path, describe_frame(recording, 0), ground=find_ground(recording), size=size or SIZE)
    return path
