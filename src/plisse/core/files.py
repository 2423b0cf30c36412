"""What may be read: regular files of a sensible size. A pipe or a device would block, or never end."""

import stat
from pathlib import Path

from plisse.core.errors import SceneError

TEXT, MESH = 64_000_000, 4_000_000_000  # bytes: of scenes and lists of numbers, and of meshes


def check_file(path: Path, *, most: int) -> None:
    """Raises SceneError unless the path is a regular file of at most `most` bytes, OSError where there is none."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        kind = "a folder" if stat.S_ISDIR(about.st_mode) else "a device or a pipe"
        raise SceneError(f"{path} is {kind}, not a regular file: correct the name.")
    if about.st_size > most:
        raise SceneError(
            f"{path} holds {_size(about.st_size)}, and at most {_size(most)} are read: check that it is the right file."
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"
