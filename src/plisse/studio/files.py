"""Files: scenes that are saved and opened, and what leaves the studio, written by the command that does the same."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plisse.core.errors import SceneError
from plisse.export import FORMATS
from plisse.meshes.surfaces import READERS
from plisse.runs.recording import open_recording
from plisse.studio.document import Document, Version, check_name, open_document
from plisse.studio.view import View

if TYPE_CHECKING:
    from plisse.studio.page import Page

MOST_LISTED = 200
MESHES = tuple(READERS)
UPLOADABLE = (".toml", *MESHES)
MOST_SCENE = 1_000_000  # bytes of a scene that is uploaded
MOST_MEMORY = 4_000_000_000  # bytes that a process may take which looks at an uploaded file
MOST_SECONDS = 60.0  # that it may take
# a file that is uploaded is looked at in a process of its own, which a crafted one can only bring down itself
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({0}, {0}))
from plisse.cli import main
sys.exit(main(["check", sys.argv[1]]))
"""
MOST_PAGE = 40_000_000  # characters of a web page
A_VERTEX = 20  # of these that a vertex of a frame takes, a little more than its three numbers


class Files:
    """folder: the run folder of the process. post: takes an event; replaced: is called with a scene that was opened.

    played: shows so many frames of a motion at most, and gives the seconds that each lasts.
    """

    def __init__(
        self,
        document: Document,
        page: Page,
        view: View,
        folder: Path,
        *,
        post: Callable[..., None],
        replaced: Callable[[Version], None],
        played: Callable[[int], Iterable[float]],
    ) -> None:
        self.document, self.page, self.view, self._folder = document, page, view, folder
        self._post, self._replaced, self._played = post, replaced, played
        self._written: set[Path] = set()

    def on_save(self) -> None:
        name = check_name(self.page.file_name, ".toml")
        self._spare(self.document.base / name)
        path = self.document.save(name)
        self._written.add(path)
        self.page.tell(f"Saved {path.name} in the scene's folder.")
        self.show()
        # a collider may have been led to where the shells start: then the scene cannot begin as it is
        self._post("saved", path.name)

    def on_open(self, name: str) -> None:
        if name in list_scenes(self.document.base):
            fresh = open_document(self.document.base / name, trusted=False)
            self.document.name = fresh.name
            self._replaced(self.document.replace(fresh.table, f"open {name}"))

    def on_uploaded(self, name: str, content: bytes) -> None:
        """A scene or a mesh from the user's own machine: looked at first, then put into the folder."""
        suffix = Path(name).suffix.lower()
        if suffix not in UPLOADABLE:
            raise SceneError(f"Only {', '.join(UPLOADABLE)} files can be added to the folder.")
        path = self.document.base / check_name(name, suffix)
        self._spare(path)
        if suffix == ".toml":
            if len(content) > MOST_SCENE:
                raise SceneError(
                    f"A scene has at most {MOST_SCENE / 1e6:.0f} MB; this one has {len(content) / 1e6:.0f}."
                )
            Document(read_text(content, name), self.document.base, name=path.stem)
        fresh = self.document.base / f".plisse-{secrets.token_hex(8)}{suffix}"
        try:
            fresh.write_bytes(content)
        except OSError as error:
            raise SceneError(f"{path} cannot be written: {error.strerror}.") from None
        self.page.tell(f"Looking at {path.name} …")

        def look() -> None:
            said = check_file(fresh).replace(str(fresh), path.name).replace(fresh.name, path.name)
            self._post("looked_at", fresh, path, said)

        threading.Thread(target=look, daemon=True).start()

    def on_looked_at(self, fresh: Path, path: Path, sentence: str) -> None:
        try:
            if sentence:
                raise SceneError(sentence)
            self._spare(path)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        self._written.add(path)
        is_scene = path.suffix == ".toml"
        self.page.tell(f"Added {path.name}: " + ("open it above." if is_scene else "it is in the list `add`."))
        self.show()
        self._post("select_again")

    def on_export(self) -> None:
        kind = self.page.format
        self._write("export", (*FORMATS[kind].suffixes, f".{kind}")[0])

    def on_picture(self) -> None:
        self._write("render", ".png")

    def _write(self, command: str, suffix: str) -> None:
        """A file of the level that is shown, by a command in a process of its own."""
        level = self.view.shown
        open_recording(self._folder, level)  # says so where there is nothing yet
        path = self.document.base / check_name(self.page.file_name.strip().removesuffix(".toml"), suffix)
        self._spare(path)
        words = [command, str(self._folder), "--out", str(path), "--level", str(level)]
        self.page.tell(f"Writing {path.name} …")
        threading.Thread(target=lambda: self._post("done", path, run_command(words)), daemon=True).start()

    def on_web_page(self) -> None:
        """What is shown, with its motion if it has one, as a page that any browser opens by itself."""
        path = self.document.base / check_name(self.page.file_name.strip().removesuffix(".toml"), ".html")
        self._spare(path)
        vertices = sum(len(self.view.levels[number].x) for number in self.view.on_show)
        text = self.page.as_web_page(self._played(MOST_PAGE // (A_VERTEX * max(vertices, 1))))
        if len(text) > MOST_PAGE:
            raise SceneError(
                f"The page would have {len(text) / 1e6:.0f} MB, more than {MOST_PAGE / 1e6:.0f}: show a coarser level."
            )
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SceneError(f"{path} cannot be written: {error.strerror}; choose another name.") from None
        self.on_done(path, "")

    def on_done(self, path: Path, sentence: str) -> None:
        if sentence:
            self.page.tell(sentence, bad=True)
        else:
            self._written.add(path)
            self.page.tell(f"Wrote {path.name} into the scene's folder.")

    def _spare(self, path: Path) -> None:
        """Raises SceneError where a file is there that the studio has not written."""
        if path.exists() and path not in self._written:
            raise SceneError(f"{path.name} already exists in {path.parent}: choose another name.")

    def show(self) -> None:
        name = self.page.file_name or f"{self.document.name}-studio"
        stem = name.removesuffix(".toml")
        command = f"plisse run {shlex.quote(f'{stem}.toml')} --out {shlex.quote(f'runs/{stem}')}"
        # all frames as single files are many files: those formats are for the command line
        formats = [kind for kind, each in FORMATS.items() if each.suffixes] + ["ply", "obj"]
        self.page.show_files(name, list_scenes(self.document.base), formats, command)


def list_scenes(folder: Path) -> list[str]:
    """Names of the scene files in a folder."""
    try:
        return sorted(path.name for path in folder.glob("*.toml") if path.is_file())[:MOST_LISTED]
    except OSError:
        return []


def list_meshes(folder: Path) -> list[str]:
    """Names of the mesh files in a folder."""
    try:
        found = (path for path in folder.iterdir() if path.suffix.lower() in MESHES and not path.name.startswith("."))
        return sorted(path.name for path in found if path.is_file())[:MOST_LISTED]
    except OSError:
        return []


def read_text(content: bytes, name: str) -> dict[str, Any]:
    """The tables of an uploaded scene."""
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise SceneError(f"{name} is not a scene file ({reason}).") from None


def check_file(path: Path) -> str:
    """What `plisse check` has against a file, in one sentence, or nothing; with little memory and time."""
    words = [sys.executable, "-c", LIMITED.format(MOST_MEMORY), str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{path.name} was not read within {MOST_SECONDS:.0f} s: it is too large, or damaged."
    return failure(done)


def run_command(words: list[str]) -> str:
    """Runs `plisse` with these words; returns what went wrong in one sentence, or nothing."""
    done = subprocess.run([sys.executable, "-m", "plisse.cli", *words], capture_output=True, text=True, check=False)
    return failure(done)


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said that went wrong, in one sentence, or nothing."""
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return said[-1].removeprefix("plisse: ") if said else f"The command ended with code {done.returncode}."
