"""Writing to a run folder: one command at a time, and a sentence where it fails."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plisse.core.errors import SceneError

try:
    import fcntl
except ImportError:  # not on Windows: there, two commands in one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreError(SceneError):
    """The run folder cannot be written; reason: why, in the system's words; remedy: what to do about it."""

    def __init__(self, folder: Path, error: OSError) -> None:
        self.folder, self.reason = folder, error.strerror or str(error)
        self.remedy = "free some space" if error.errno in FULL else "make it writable"
        super().__init__(f"The folder {folder} cannot be written: {self.reason}.")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns the error of a failed write into one sentence."""
    try:
        yield
    except OSError as error:
        raise StoreError(folder, error) from None


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made if need be, against other commands; the system lets go of it if we are killed."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    with file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SceneError(
                    f"Another command is writing to {folder}: wait until it has finished, or choose another folder."
                ) from None
            except OSError:
                pass  # some network file systems have no locks
        yield
