"""Scenes that come with the package: examples to copy and edit, and the gallery of published scenes."""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from plisse.core.errors import SceneError, suggest
from plisse.meshes.obj import write_obj
from plisse.meshes.ply import write_ply
from plisse.shapes.skirt import sew_skirt
from plisse.shapes.walker import walk_frames

# The order in which examples are listed: from the simplest to the most demanding.
EXAMPLES = (
    "tablecloth", "flag", "curtain", "rotating-sphere", "two-materials", "pillow", "twisted-ribbon", "walk", "paper",
    "falling-stack", "hem", "skirt",
)  # fmt: skip
# The walking figure: frames a second, and how many.
WALK_RATE, WALK_FRAMES = 30.0, 91


@dataclass(frozen=True)
class Example:
    """A scene that comes with the package. title: the first line of its comment; text: the whole file."""

    name: str
    title: str
    text: str


def list_examples() -> list[Example]:
    """Scenes to copy and edit, simplest first."""
    return [_read(_folder("examples"), name) for name in EXAMPLES]


def list_gallery() -> list[Example]:
    """Scenes of the papers, by number; the documentation and the benches refer to them."""
    folder = _folder("gallery")
    names = sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))
    return [_read(folder, name) for name in names]


def gallery_file(name: str) -> Traversable:
    """The file of a gallery scene, e.g. "05-sphere"."""
    return _folder("gallery").joinpath(f"{name}.toml")


def copy_example(name: str, folder: str | Path) -> Path:
    """Writes an example or a gallery scene, and the files that it needs, into the folder; returns the scene's path."""
    known = {example.name: example for example in (*list_examples(), *list_gallery())}
    word = name.removesuffix(".toml").lower()
    if word not in known:
        near = suggest(word, list(known))
        raise SceneError(f'There is no example "{name}"{near}: `plisse examples` lists them all.')
    text, folder = known[word].text, Path(folder)
    scene = folder / f"{word}.toml"
    # what a scene refers to by name is made for it
    needed = {folder / name: write for name, write in MADE.items() if f'"{name}"' in text}
    for path in (scene, *needed):
        if path.exists():
            raise SceneError(f"{path} already exists: remove it, or choose another folder with --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, write in needed.items():
            write(path)
        scene.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SceneError(f"The example cannot be written to {folder}: {error.strerror or error}.") from error
    return scene


def _folder(name: str) -> Traversable:
    return files("plisse").joinpath(name)


def _read(folder: Traversable, name: str) -> Example:
    text = folder.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return Example(name, text.partition("\n")[0].lstrip("# "), text)


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
