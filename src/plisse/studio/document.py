"""The scene that is being edited: its tables as a scene file has them, every change checked, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError, inside
from plisse.core.units import as_quantity
from plisse.loading.scene_file import read_table, scene_from_dict
from plisse.loading.scene_text import write_table
from plisse.runs.store import RunStore
from plisse.scene.colliders import Collider
from plisse.scene.presets import DEFAULT_MATERIAL
from plisse.scene.scene import Scene, Shell

Table = dict[str, Any]
Path_ = tuple[str | int, ...]

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 _.-]{0,80}\Z")
MOST_BACK = 200  # changes that can be undone
# keys whose text or number stands for a table: the key of that table which it gives
SHORT = {"material": "preset", "pressure": "value", "start": "run"}
# of a shell: where it starts, which a state that was reached does not follow
STARTS = {"translate", "rotate", "rest_on", "drop_height", "start", "velocity", "spin"}
FILES = {"file", "sequence", "rest", "ids", "run", "start"}  # keys that may name a file or a folder
# parts of a body, and what a new one of them says
PARTS: dict[str, Table] = {
    "pin": {"corners": True},
    "region": {"boundary": True, "material": "denim"},
    "motion": {"time": "1 s"},
}
SHAPES: dict[str, Table] = {
    "cloth": {"shape": "grid", "width": "1 m", "height": "1 m", "vertices": 700, "material": DEFAULT_MATERIAL},
    "disc": {"shape": "disc", "radius": "50 cm", "vertices": 700, "material": DEFAULT_MATERIAL},
    "ball": {"shape": "sphere", "radius": "20 cm"},
    "box": {"shape": "box", "size": ["40 cm", "40 cm", "40 cm"]},
    "table": {"shape": "can", "radius": "40 cm", "height": "4 cm", "rounding": "1 cm"},
    "floor": {"shape": "floor"},
}
SHELLS = ("cloth", "disc")
FROM_FILE = "file as "  # and "shell" or "collider", and the file's name
DEFAULT: Table = {
    "name": "studio",
    "shell": [
        {
            "name": "cloth", "shape": "grid", "width": "1 m", "height": "1 m", "vertices": 700,
            "material": DEFAULT_MATERIAL, "rest_on": "ball",
        }
    ],
    "collider": [
        {"name": "ball", "shape": "sphere", "radius": "25 cm", "translate": ["0 m", "0 m", "60 cm"]},
        {"name": "floor", "shape": "floor", "height": "0 m"},
    ],
    "contact": {"friction": 0.4},
    "hierarchy": {"levels": 3},
}  # fmt: skip


@dataclass(frozen=True)
class Version:
    """The tables after a change, the scene that they make, and what the change did, in words."""

    table: Table
    scene: Scene
    what: str
    mark: object = None  # changes in a row with the same mark count as one
    restart: bool = False  # whether the shells begin again where the scene puts them


class Document:
    """A scene with its history. base: the folder in which its mesh files are looked up.

    trusted: the scene was named on the command line, and may say files outside of that folder. Who edits may not.
    """

    def __init__(
        self, table: Mapping[str, Any], base: Path, *, name: str = "studio", trusted: bool = False
    ) -> None:  # fmt: skip
        self.base, self.name = base, name
        self._past: list[Version] = []
        self._future: list[Version] = []
        fresh = deepcopy(dict(table))
        self._given = set(_named_files(fresh)) if trusted else set[str]()
        self.now = Version(fresh, self._check(fresh), "open")

    @property
    def table(self) -> Table:
        return self.now.table

    @property
    def scene(self) -> Scene:
        return self.now.scene

    def _check(self, table: Table) -> Scene:
        for name in _named_files(table):
            if name not in self._given and not (self.base / name).resolve().is_relative_to(self.base.resolve()):
                raise SceneError(
                    f'"{name}" is outside of the scene\'s folder, from which alone the studio reads: copy it there.'
                )
        return scene_from_dict({"name": self.name} | table, self.base)

    # --- changes ------------------------------------------------------------------------------------------------------

    def edit(
        self, change: Callable[[Table], None], what: str, *, mark: object = None, restart: bool = False
    ) -> Version:
        """Takes a change if the scene it leads to can be read; a SceneError otherwise, and nothing is changed."""
        table = deepcopy(self.now.table)
        change(table)
        return self._take(Version(table, self._check(table), what, mark, restart))

    def _take(self, version: Version) -> Version:
        if version.mark is None or version.mark != self.now.mark:
            self._past = [*self._past, self.now][-MOST_BACK:]
        else:
            version = Version(
                version.table, version.scene, version.what, version.mark, version.restart or self.now.restart
            )
        self._future.clear()
        self.now = version
        return version

    def set(self, path: Path_, value: Any, *, mark: object = None) -> Version:
        """Sets one value; None leaves it to its default. A table that is not there yet is made."""
        return self.edit(
            lambda table: put(table, path, value), f"{path[-1]} of {self._owner(path)}", mark=mark,
            restart=_starts(path),
        )  # fmt: skip

    def set_pose(self, path: Path_, translate: list[float], rotate: list[float], *, mark: object = None) -> Version:
        """Places a body, or gives a keyframe its pose; half-spaces keep their direction."""

        def change(table: Table) -> None:
            if find(table, path).get("shape") == "floor":
                return put(table, (*path, "height"), translate[2])
            if "half_space" in find(table, path):
                return put(table, (*path, "half_space", "point"), translate)
            put(table, (*path, "translate"), translate)
            if any(rotate) or "rotate" in find(table, path):
                put(table, (*path, "rotate"), rotate)
            for key in ("rest_on", "drop_height"):
                find(table, path).pop(key, None)

        return self.edit(change, f"move {self.title(path)}", mark=mark, restart=_starts((*path, "translate")))

    def replace(self, table: Mapping[str, Any], what: str) -> Version:
        """Takes another scene in place of this one."""
        fresh = deepcopy(dict(table))
        return self._take(Version(fresh, self._check(fresh), what, restart=True))

    def add(
        self, kind: str, *, owner: Path_ = (), at: tuple[float, float, float] = (0.0, 0.0, 0.0), **says: Any
    ) -> Path_:
        """Adds a shape as a body, or a part of one to its owner; returns its place. says: further keys of it."""
        if kind in PARTS:
            key, made = kind, ({} if says else deepcopy(PARTS[kind]))
        elif kind in SHAPES:
            key, made = "shell" if kind in SHELLS else "collider", deepcopy(SHAPES[kind])
            made = {"name": self._fresh_name(kind)} | made
            if kind != "floor":
                made |= {"translate": [round(x, 4) for x in at]}
        elif kind.startswith(FROM_FILE):
            key, _, file = kind.removeprefix(FROM_FILE).partition(" ")
            made = {"name": self._fresh_name(Path(file).stem), "file": file}
            made |= {"translate": [round(x, 4) for x in at]}
        else:
            raise SceneError(f'There is no "{kind}" to add: choose from {", ".join([*SHAPES, *PARTS])}.')
        listed = find(self.table, owner).get(key, []) if owner else self.table.get(key, [])
        if kind == "motion" and listed:
            made["time"] = _later(listed[-1].get("time", 0.0))
        place = (*owner, key, len(listed))

        def change(table: Table) -> None:
            find(table, owner).setdefault(key, []).append(made | says)

        self.edit(change, f"add {made.get('name', kind)}")
        return place

    def duplicate(self, path: Path_) -> Path_:
        """A copy of a body or a part after it; returns its place."""
        *owner, number = path
        assert isinstance(number, int)
        copy = deepcopy(find(self.table, path))
        if len(path) == 2:
            copy["name"] = self._fresh_name(self.title(path))
            if "half_space" not in copy and copy.get("shape") != "floor":
                body = (self.scene.shells if path[0] == "shell" else self.scene.colliders)[number]
                copy["translate"] = [round(body.translate[0] + 0.1, 6), *body.translate[1:]]
                copy.pop("rest_on", None)
                copy.pop("drop_height", None)
        elif path[-2] == "motion":
            copy["time"] = _later(copy["time"])
        self.edit(lambda table: find(table, tuple(owner)).insert(number + 1, copy), f"duplicate {self.title(path)}")
        return (*owner, number + 1)

    def delete(self, path: Path_) -> None:
        """Removes a body or a part of one."""
        what, name = self.title(path), find(self.table, path).get("name")
        # what rested on it stays where it is
        kept = [shell.translate for i, shell in enumerate(self.scene.shells) if path != ("shell", i)]

        def change(table: Table) -> None:
            *owner, number = path
            listed = find(table, tuple(owner))
            del listed[number]
            if not listed:
                del find(table, tuple(owner[:-1]))[owner[-1]]
            if len(path) == 2:
                for shell, placed in zip(table.get("shell", []), kept, strict=False):
                    if shell.get("rest_on") == name:
                        del shell["rest_on"]
                        shell["translate"] = list(placed)

        self.edit(change, f"delete {what}")

    def rename(self, path: Path_, name: str) -> Version:
        """Calls a body otherwise, also where others rest on it."""
        old = find(self.table, path).get("name")

        def change(table: Table) -> None:
            put(table, (*path, "name"), name)
            for shell in table.get("shell", []):
                if old is not None and shell.get("rest_on") == old:
                    shell["rest_on"] = name

        return self.edit(change, f"rename {old} to {name}")

    def _fresh_name(self, wish: str) -> str:
        known = {*(shell.name for shell in self.scene.shells), *(each.name for each in self.scene.colliders)}
        stem = re.sub(r" \d+$", "", wish)
        return next(name for n in range(1, 10_000) if (name := stem if n == 1 else f"{stem} {n}") not in known)

    # --- the way back -------------------------------------------------------------------------------------------------

    @property
    def undoable(self) -> str | None:
        """What undoing would take back, in words."""
        return self.now.what if self._past else None

    @property
    def redoable(self) -> str | None:
        return self._future[-1].what if self._future else None

    def undo(self) -> Version | None:
        if not self._past:
            return None
        self._future.append(self.now)
        restart = self.now.restart
        self.now = self._past.pop()
        return Version(self.now.table, self.now.scene, self.now.what, restart=restart)

    def redo(self) -> Version | None:
        if not self._future:
            return None
        self._past.append(self.now)
        self.now = self._future.pop()
        return self.now

    def withdraw(self, to: Version) -> None:
        """Goes back to a version that could be simulated, as if the changes after it had not been made."""
        # a version that was merged with a later one is no longer in the past
        while any(version is to for version in self._past) and self.now is not to:
            self.now = self._past.pop()
        self.now = to

    # --- what there is ------------------------------------------------------------------------------------------------

    def items(self) -> Iterator[tuple[Path_, str]]:
        """Every body and every part of one, with its title, in the order of the file."""
        for key in ("shell", "collider"):
            for i, body in enumerate(self.table.get(key, [])):
                yield (key, i), self.title((key, i))
                yield from self._parts(body, (key, i))

    def _parts(self, table: Table, path: Path_) -> Iterator[tuple[Path_, str]]:
        for key in PARTS:
            for i, part in enumerate(table.get(key, [])):
                yield (*path, key, i), self.title((*path, key, i))
                yield from self._parts(part, (*path, key, i))

    def _owner(self, path: Path_) -> str:
        """What a key belongs to, in words: the innermost body or part, or the settings' table."""
        ends = [k + 1 for k, key in enumerate(path) if isinstance(key, int)]
        return self.title(path[: ends[-1]] if ends else path[:-1])

    def title(self, path: Path_) -> str:
        """What a place in the scene is called."""
        if not path:
            return "the scene"
        if len(path) == 2 and isinstance(path[1], int):
            bodies: Sequence[Shell | Collider] = self.scene.shells if path[0] == "shell" else self.scene.colliders
            return bodies[path[1]].name
        if isinstance(path[-1], int):
            return f"{path[-2]} {path[-1]}"
        return str(path[-1])

    # --- files --------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The scene file."""
        return "# Made in plisse studio.\n" + write_table(self.table)

    def save(self, name: str) -> Path:
        """Writes the scene file into the scene's folder."""
        path = self.base / check_name(name, ".toml")
        try:
            path.write_text(self.text(), encoding="utf-8")
        except OSError as error:
            raise SceneError(f"{path} cannot be written: {error.strerror}; choose another name.") from None
        return path


def open_document(source: Path | None, *, trusted: bool = True) -> Document:
    """The document of a scene file or of a run folder, or of a small scene to begin with; see Document."""
    if source is None:
        return Document(DEFAULT, Path.cwd())
    if not RunStore(source).exists:
        with inside(str(source)):
            return Document(read_table(source), source.parent, name=source.stem, trusted=trusted)
    store = RunStore(source)
    spec, table = store.read_spec(), store.read_json("scene.json")
    # what the run's scene left open is left open here as well
    table["contact"] = {key: value for key, value in table.get("contact", {}).items() if key not in spec.open}
    return Document(table, Path(spec.base or source), name=source.name, trusted=trusted)


def check_name(name: str, suffix: str) -> str:
    """A file's name in the project folder, with its suffix: never a path."""
    name = name.strip()
    if not FILE_NAME.match(name) or ".." in name:
        raise SceneError(f'"{name[:80]}" is not a name for a file: use letters, digits, spaces, "-", "_" and ".".')
    return name if name.lower().endswith(suffix) else name + suffix


def find(table: Any, path: Path_) -> Any:
    """What is at a place in nested tables."""
    for key in path:
        table = table[key]
    return table


def put(table: Table, path: Path_, value: Any) -> None:
    """Sets what is at a place, or removes it if the value is None; tables on the way are made."""
    place: Any = table
    for key in path[:-1]:
        if isinstance(place, dict) and key in SHORT and not isinstance(place.get(key, {}), dict):
            place[key] = {SHORT[str(key)]: place[key]}
        elif isinstance(place, dict) and key not in place:
            place[key] = {"preset": DEFAULT_MATERIAL} if key == "material" else {}
        place = place[key]
    if value is None:
        place.pop(path[-1], None)
    else:
        place[path[-1]] = value


def _named_files(table: Any) -> Iterator[str]:
    """Files and folders that a scene's tables name."""
    if isinstance(table, dict):
        for key, value in table.items():
            if key in FILES and isinstance(value, str):
                yield value
            yield from _named_files(value)
    elif isinstance(table, list):
        for value in table:
            yield from _named_files(value)


def _starts(path: Path_) -> bool:
    return len(path) >= 3 and path[0] == "shell" and path[2] in STARTS


def _later(time: Any) -> Any:
    """A time one second after another, which may carry a unit."""
    return float(as_quantity("time", time, "s")) + 1.0
