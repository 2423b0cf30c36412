"""One frame of a run as a picture."""

from __future__ import annotations

from pathlib import Path

from plisse.core.errors import SceneError
from plisse.pictures.render import frame as aim
from plisse.pictures.render import render
from plisse.runs.recording import Recording, find_levels, open_recording

SIZE = (1280, 960)  # pixels
SUFFIXES = (".png", ".jpg", ".jpeg")


def write_picture(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    frame: int | None = None,
    level: int | None = None,
    size: tuple[int, int] | None = None,
    smooth: bool = False,
) -> tuple[Path, str]:
    """Draws a frame, the last by default, to a PNG or JPEG file, by default into the run.

    smooth: a smooth view of the level, marked as such. Returns the file's path and what is to be said of the picture.
    """
    folder, out = Path(folder), None if out is None else Path(out)
    recording = open_recording(folder, level)
    shown = recording.only(-1 if frame is None else frame)
    (number,) = shown.numbers
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise SceneError(f"{out} is not a name for a picture: end it in {', '.join(SUFFIXES)}.")
    name = f"frame-{number:04d}{'-smooth' if smooth else ''}.png"
    path = out or folder / f"level-{recording.level}" / name
    # where levels end, they are all seen by one camera, as in the run's own pictures
    framed = _open_coarsest(folder) if number == recording.numbers[-1] else shown
    size = size or SIZE
    camera = aim(framed.stage.show(framed.positions(framed.numbers[-1])), size=size)
    if smooth:
        shown = shown.smoothed()
    label, bodies = make_label(shown), shown.stage.show(shown.positions(number))
    render(path, bodies, grounds=shown.stage.grounds, size=size, camera=camera, label=label)
    return path, "" if shown.smooth is None else shown.smooth.describe([shown.read_frame(number)])


def make_label(recording: Recording) -> str:
    """What is written into pictures of a recording that are not of the level itself."""
    return "" if recording.smooth is None else f"smooth view of level {recording.level}"


def _open_coarsest(folder: Path) -> Recording:
    return open_recording(folder, min(find_levels(folder)))
