"""Where an export goes: a file or a folder that is written completely or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from plisse.core.errors import SceneError

Progress = Callable[[int, int], None]

MARK = "plisse-export.json"  # in every folder that an export made
RESERVE = 16 << 20  # bytes of a disk that such a library leaves free
MADE = ("frame-*.*", "colliders/frame-*.*", MARK)


@dataclass(frozen=True)
class Summary:
    """What an export wrote: bytes of all files, and a remark for the user if there is one."""

    path: Path
    format: str
    level: int
    frames: int
    bytes: int
    note: str = ""


def quiet(done: int, total: int) -> None:
    """Reports no progress."""


def need(module: str, *, extra: str, purpose: str) -> ModuleType:
    """An optional library; where it is missing, a sentence says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise SceneError(
            f'{purpose} needs a library that is not installed: add it with `pip install "plisse[{extra}]"`.'
        ) from None


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """A temporary name next to `out` to write to; it replaces `out` at the end, or is removed after a failure."""
    if out.is_dir():
        raise SceneError(f"{out} is a folder: give the name of a file, e.g. {out / ('run' + out.suffix)}.")
    partial = out.with_name(f".{out.stem}.part{out.suffix}")
    try:
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            partial.unlink(missing_ok=True)
            yield partial
            os.replace(partial, out)
    finally:
        _forget(partial)


@contextmanager
def whole_folder(out: Path, about: dict[str, Any]) -> Iterator[Path]:
    """A temporary folder next to `out` to fill; it replaces an earlier export, but never other files.

    about: what the folder holds, written into it as JSON.
    """
    check_folder(out)
    partial, old = out.with_name(f".{out.name}.part"), out.with_name(f".{out.name}.old")
    try:
        with writing(out):
            _forget(partial)
            partial.mkdir(parents=True)
            yield partial
            (partial / MARK).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            if out.exists():
                _forget(old)
                os.replace(out, old)
            os.replace(partial, out)
    finally:
        _forget(partial)
        # a crash between the two renamings must not cost the earlier export
        if old.exists() and not out.exists():
            os.replace(old, out)
        _forget(old)


def check_folder(out: Path) -> None:
    """Refuses a folder that holds anything but an earlier export."""
    if out.exists() and not out.is_dir():
        raise SceneError(f"{out} is a file, but this format is a folder of files: choose another name.")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if (out / MARK).is_file():
        ours = {path for pattern in MADE for path in out.glob(pattern)} | {out / "colliders"}
        strange = sorted(path for path in out.rglob("*") if path not in ours)
        if not strange:
            return
        raise SceneError(f"{out} also holds {strange[0].name}, which no export made: move it or choose another folder.")
    raise SceneError(f"{out} is not empty and was not made by an export: choose another folder.")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Turns the error of a failed write into one sentence."""
    try:
        yield
    except OSError as error:
        raise SceneError(f"{out} cannot be written: {error.strerror or error}; nothing was changed there.") from None
    except RuntimeError as error:
        # USD and Alembic report a full disk in their own words
        full = shutil.disk_usage(out.parent).free < 1 << 20
        first = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        reason = "No space left on device" if full else first.rstrip(".")
        raise SceneError(f"{out} cannot be written: {reason}; nothing was changed there.") from None


def leave_room(path: Path, size: int) -> None:
    """Raises OSError while a disk still has room, for libraries that end the whole process on a full one."""
    if shutil.disk_usage(path.parent).free < size + RESERVE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _forget(path: Path) -> None:
    """Removes what an export left, if that is possible."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
