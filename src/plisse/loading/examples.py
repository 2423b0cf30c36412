"""The gallery: numbered scenes that come with the package, to be copied and edited."""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from plisse.core.errors import SceneError, suggest
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.shapes.skirt import sew_skirt
from plisse.shapes.walker import walk_frames

# The walking figure: frames a second, and how many.
WALK_RATE, WALK_FRAMES = 30.0, 91


@dataclass(frozen=True)
class Example:
    """One scene of the gallery; title: the first sentence of its comment."""

    number: int
    name: str
    title: str


def list_examples() -> list[Example]:
    """The gallery in its order."""
    return [example for example, _ in _read_gallery()]


def copy_example(name: str, folder: str | Path) -> Path:
    """Writes a scene, and the files that it needs, into the folder; returns the scene's path.

    name: its name, its number, or both ("flag", "2", "02-flag").
    """
    gallery = _read_gallery()
    word = name.removesuffix(".toml").lower()
    found = [
        (example, text)
        for example, text in gallery
        if word in (example.name, str(example.number), f"{example.number:02d}", f"{example.number:02d}-{example.name}")
    ]
    if not found:
        names = [example.name for example, _ in gallery]
        near = suggest(word, [*names, *(f"{example.number:02d}-{example.name}" for example, _ in gallery)])
        raise SceneError(f'There is no example "{name}"{near}: known are {", ".join(names)}.')
    (example, text), folder = found[0], Path(folder)
    scene = folder / f"{example.name}.toml"
    # what a scene refers to by name is made for it
    needed = {folder / name: write for name, write in MADE.items() if f'"{name}"' in text}
    for path in (scene, *needed):
        if path.exists():
            raise SceneError(f"{path} exists already: remove it, or choose another folder with --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, write in needed.items():
            write(path)
        scene.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SceneError(f"The example cannot be written to {folder}: {error.strerror or error}.") from error
    return scene


def _read_gallery() -> list[tuple[Example, str]]:
    shelf = files("plisse").joinpath("examples")
    scenes = sorted((item for item in shelf.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return [_read_scene(item) for item in scenes]


def _read_scene(item: Traversable) -> tuple[Example, str]:
    number, _, name = item.name.removesuffix(".toml").partition("-")
    text = item.read_text(encoding="utf-8")
    return Example(int(number), name, text.partition("\n")[0].lstrip("# ")), text


def _write_walk(folder: Path) -> None:
    """The walking figure as one mesh a frame."""
    folder.mkdir()
    mesh, positions = walk_frames(frames=WALK_FRAMES, rate=WALK_RATE)
    for number, x in enumerate(positions):
        write_ply(folder / f"frame-{number:04d}.ply", x, mesh.triangles)


def _write_skirt(path: Path) -> None:
    """The skirt with its pattern as texture coordinates."""
    mesh = sew_skirt()
    write_obj(path, mesh.X, mesh.triangles, uv=mesh.uv)


MADE = {"walk-frames": _write_walk, "skirt.obj": _write_skirt}
