"""Films: pictures of all frames, seen by one camera, as H.264 or VP9."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from plisse.core.arrays import Bytes, Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import find_bounds
from plisse.export.picture import make_label
from plisse.export.target import Progress, Summary, need, quiet, whole_file
from plisse.pictures.camera import Camera, aim, find_outermost
from plisse.pictures.render import draw, find_reach, write_label
from plisse.runs.recording import Recording

SIZE = (1280, 720)  # pixels
PANEL, IN_A_ROW = (640, 540), 4  # pixels of one of several levels side by side, and how many stand so
FASTEST = 60.0  # frames per second of a video, unless more are asked for
LEAST, MOST = 16, 8192  # pixels of a side

# constant quality that shows no blocks on smooth shading
CODECS = {
    "mp4": ("-c:v", "libx264", "-crf", "18", "-preset", "medium", "-movflags", "+faststart"),
    "webm": ("-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-row-mt", "1", "-deadline", "good", "-cpu-used", "4"),
}


def write(
    recording: Recording,
    out: Path,
    *,
    beside: Sequence[Recording] = (),
    fps: float | None = None,
    size: tuple[int, int] | None = None,
    floors: bool = True,
    progress: Progress = quiet,
) -> Summary:
    """Writes a video: .mp4 in H.264 and yuv420p, which every player knows, or .webm in VP9, for browsers.

    beside: other recordings, shown before this one, each in its own panel, all seen by one camera. fps: frames per
    second; size: width and height in pixels.
    """
    recordings = [*beside, recording]
    kind = out.suffix.lower().removeprefix(".")
    columns = min(IN_A_ROW, len(recordings))
    rows = -(-len(recordings) // columns)
    size = size or ((columns * PANEL[0], rows * PANEL[1]) if beside else SIZE)
    width, height = even_size(size)
    rate = min(recording.rate, FASTEST) if fps is None else float(fps)
    if not 0.1 <= rate <= 1000.0:
        raise SceneError(f"A video has 0.1 to 1000 frames per second, not {rate:g}.")
    ffmpeg = need("imageio_ffmpeg", extra="video", purpose="Video")
    longest = max((each.times for each in recordings), key=lambda times: float(times[-1]))
    shown = pick_frames(longest, rate)
    panel = width // columns, height // rows
    view = watch(recordings, panel)
    panels = [_Panel(each, panel, *view, floors=floors, several=bool(beside)) for each in recordings]
    with whole_file(out) as partial:
        command = [ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error"]
        command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:.6g}", "-i", "-"]
        command += ["-an", *CODECS[kind], "-pix_fmt", "yuv420p", "-fflags", "+bitexact", str(partial)]
        with _encoding(command) as pipe:
            picture = np.full((height, width, 3), 255, np.uint8)
            for done, wanted in enumerate(shown, start=1):
                for at, each in enumerate(panels):
                    top, left = at // columns * panel[1], at % columns * panel[0]
                    picture[top : top + panel[1], left : left + panel[0]] = each.at(float(longest[wanted]))
                pipe.write(picture.tobytes())
                progress(done, len(shown))
        length = partial.stat().st_size
    note = "" if (width, height) == tuple(size) else f"the size was made even: {width} × {height}"
    if recording.static and len(recording) <= 2:
        note = "a static run keeps only its start and its end; time.frame_every = 1 keeps every step"
    return Summary(out, kind, recording.level, len(shown), length, note)


class _Panel:
    """Pictures of one recording; one that is shown again is not drawn again."""

    def __init__(
        self,
        recording: Recording,
        size: tuple[int, int],
        camera: Camera,
        reach: Floats,
        *,
        floors: bool,
        several: bool,
    ) -> None:
        self._recording, self._size, self._camera, self._reach = recording, size, camera, reach
        self._stage = recording.stage
        self._grounds = self._stage.grounds if floors else []
        self._label = make_label(recording)
        if several:
            n = sum(body.last - body.first for body in recording.bodies if body.is_shell)
            self._label = f"level {recording.level}, {n:,} vertices"
        self._index, self._picture = -1, np.empty(0, np.uint8)

    def at(self, t: float) -> Bytes:
        """The latest frame at a time [s], sRGB bytes (height, width, 3)."""
        times = self._recording.times
        index = max(int(np.searchsorted(times, t + 1e-9, side="right")) - 1, 0)
        if index != self._index:
            self._index = index
            bodies = self._stage.show(self._recording.positions(self._recording.numbers[index]))
            picture = draw(bodies, size=self._size, camera=self._camera, grounds=self._grounds, reach=self._reach)
            self._picture = write_label(picture, self._label)
        return self._picture


def even_size(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height as the codecs take them: colours are stored for squares of 2 × 2 pixels."""
    if not all(LEAST <= side <= MOST for side in size):
        raise SceneError(f"A video is {LEAST} to {MOST} pixels wide and high, not {size[0]} × {size[1]}.")
    return size[0] + size[0] % 2, size[1] + size[1] % 2


def pick_frames(times: Floats, rate: float) -> list[int]:
    """Which frame each picture of a video at real speed shows: the latest one at that time [s]."""
    count = 1 + int(np.floor((times[-1] - times[0]) * rate + 1e-6))
    moments = times[0] + np.arange(count) / rate
    latest = np.searchsorted(times, moments + 1e-6 / rate, side="right") - 1
    # the end is always shown
    return [*(int(k) for k in latest[:-1]), len(times) - 1]


def watch(recordings: Sequence[Recording], size: tuple[int, int]) -> tuple[Camera, Floats]:
    """A camera that holds all frames of all recordings, and the box that shadows are fit to in all of them."""
    outermost, framed, everything = np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3))
    for recording in recordings:
        shown = [body for body in recording.bodies if body.framed]
        for number in recording.numbers:
            x = recording.positions(number)
            for body in shown:
                part = x[body.first : body.last]
                outermost = find_outermost(np.concatenate([outermost, find_outermost(part, size=size)]), size=size)
                framed = find_bounds(np.concatenate([framed, find_bounds(part)]))
            everything = find_bounds(np.concatenate([everything, find_bounds(x)]))
    return aim(outermost, size=size), find_reach(framed, everything)


@contextmanager
def _encoding(command: list[str]) -> Iterator[IO[bytes]]:
    """The pipe of an encoder that is waited for at the end, and stopped after a failure."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        assert process.stdin is not None
        try:
            try:
                yield process.stdin
                process.stdin.close()
            except BrokenPipeError:
                pass  # the encoder has ended: it has said why
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if code:
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").strip().splitlines()
            if any(os.strerror(errno.ENOSPC) in line for line in lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise OSError(lines[-1].rstrip(".") if lines else f"the encoder ended with code {code}")
