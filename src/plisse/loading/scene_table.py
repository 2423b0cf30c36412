"""Scenes as nested tables of plain values, the form that TOML and JSON share."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.errors import SceneError, inside, suggest
from plisse.core.mesh import Mesh
from plisse.core.record import Entry, entries
from plisse.core.units import quote
from plisse.core.values import Number, Word
from plisse.loading.placement import place
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.loads import Pressure
from plisse.scene.materials import Material
from plisse.scene.presets import make_material
from plisse.scene.scene import Keyed, Scene
from plisse.scene.sources import GivenMesh, MeshSource, SavedFrame
from plisse.shapes.catalogue import FLOOR_HEIGHT, shape_parameters

Table = dict[str, Any]
Path_ = tuple[str | int, ...]

SOURCE_KEYS = tuple(entry.key for entry in entries(MeshSource))
# any of these gives a floor its place
PLACES = {"height", "translate", "rotate", "scale"}
# what a record's field is called where it differs from its key
FIELDS = {"shell": "shells", "collider": "colliders", "pin": "pins", "region": "regions"}


def scene_from_dict(data: Mapping[str, Any], base: str | Path = ".") -> Scene:
    """Reads a scene from tables; a SceneError names the table and the key that is wrong.

    Values may be numpy's, and a body's mesh may be a Mesh under the key `mesh`. Bodies with `rest_on`,
    or without any position, are placed.
    """
    data = as_plain(data)
    reader = _Reader()
    values = reader.values(Scene, data, ())
    scene = Scene(**values, keyed=tuple(reader.keyed))
    for time in sorted({time for keyed in scene.keyed for time in keyed.times}):
        with inside(f"at {time:g} s"):
            scene.at(time)
    tables = data.get("collider", ())
    loose = [i for i, table in enumerate(tables) if _is_generated(table) and "translate" not in table]
    floors = [i for i, table in enumerate(tables) if table.get("shape") == "floor" and not PLACES & set(table)]
    return place(scene, Path(base), loose=loose, floors=floors)


def as_plain(value: Any) -> Any:
    """Tables of a program as a file would have them: dicts and lists of Python's own values, and meshes."""
    if isinstance(value, Mapping):
        return {key: as_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _is_generated(table: Table) -> bool:
    return "shape" in table and table["shape"] != "floor"


@dataclass
class _Reader:
    """Builds records from tables, and collects the values that are keyframed."""

    keyed: list[Keyed] = field(default_factory=list)

    def build(self, record: type, value: Any, path: Path_) -> Any:
        """A record from a table of its fields, or from what stands for one."""
        if record is Material:
            return self._material(value, path)
        if record is Pressure and not isinstance(value, dict):
            value = {"value": value}
        if record is SavedFrame and isinstance(value, str):
            value = {"run": value}
        return record(**self.values(record, value, path))

    def values(self, record: type, value: Any, path: Path_) -> Table:
        """A record's fields from its table."""
        table = dict(_table(value))
        known = {entry.key: entry for entry in entries(record)}
        named = {entry.name for entry in fields(record)}  # type: ignore[arg-type]
        is_body = "mesh" in named
        out: Table = self._source(record, table, (*known,)) if is_body else {}
        _check_keys(table, known)
        for entry in known.values():
            if entry.key in table:
                name = entry.key if entry.key in named else FIELDS[entry.key]
                out[name] = self._value(entry, table[entry.key], (*path, name))
            elif entry.required and record is not Material:
                raise SceneError(f"{entry.key} is missing: add it.")
        if is_body:
            out.setdefault("name", f"{record.__name__.lower()}-{path[-1]}")
        return out

    def _value(self, entry: Entry, value: Any, path: Path_) -> Any:
        if entry.many:
            assert entry.inner is not None
            return self._each(entry.key, entry.inner, value, path)
        if entry.keyed and _is_keyed(value):
            return self._keys(entry, value, path)
        if entry.inner is not None:
            # pressure = [{ time, value }, …] stands for pressure = { value = [...] }
            with inside(entry.key):
                return self.build(entry.inner, value, path)
        return value

    def _each(self, name: str, record: type, value: Any, path: Path_) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(part, dict) for part in value):
            full = ".".join(_KEYS.get(part, part) for part in path if isinstance(part, str))
            raise SceneError(f"{name} must be a list of tables: write [[{full}]] with two brackets.")
        made = []
        for number, table in enumerate(value):
            with inside(f"{name}.{number}"):
                made.append(self.build(record, table, (*path, number)))
        return tuple(made)

    def _keys(self, entry: Entry, value: Any, path: Path_) -> Any:
        """Remembers a keyframed value; what it is in the end stands in its place."""
        assert entry.kind is not None
        with inside(entry.key):
            for key in value:
                _check_keys(key, ("time", "value"))
            times = [Number("s", least=0).check("time", key["time"]) for key in value]
            for before, after in pairwise(times):
                if after <= before:
                    raise SceneError(
                        f"keys need increasing times, but {after:g} s follows {before:g} s: give each key its own time."
                    )
            values = tuple(entry.kind.check("value", key["value"]) for key in value)
        self.keyed.append(Keyed(path, tuple(times), values))
        return values[-1]

    def _material(self, value: Any, path: Path_) -> Material:
        if isinstance(value, str):
            return make_material(value)
        table = dict(_table(value))
        preset = table.pop("preset", None)
        known = ("preset", *(entry.key for entry in entries(Material)))
        _check_keys(table, known)
        return make_material(preset, **self.values(Material, table, path))

    def _source(self, record: type, table: Table, own: tuple[str, ...]) -> Table:
        """Takes what says where a body's surface comes from out of its table."""
        mesh, shape = table.pop("mesh", None), table.get("shape")
        if shape is not None:
            Word().check("shape", shape)
        is_floor = shape == "floor" and record is Collider
        parameters: Mapping[str, Entry] = {}
        if shape is not None:
            parameters = {"height": FLOOR_HEIGHT} if is_floor else shape_parameters(shape)
        # a shape's own "height" or "scale" would hide the body's: none has one
        _check_keys(table, (*own, *SOURCE_KEYS, *parameters))
        source = {key: table.pop(key) for key in SOURCE_KEYS if key in table and key not in own}
        given = {key: entry.check(table.pop(key)) for key, entry in parameters.items() if key in table}
        extra = next((key for key in (*source, *given) if key not in ("shape", "height")), None)
        extra = extra if mesh is None else "mesh"
        if is_floor and extra is not None:
            raise SceneError(f'A floor has no "{extra}": remove it.')
        if is_floor:
            return {"half_space": HalfSpace((0.0, 0.0, given.get("height", 0.0)))}
        if record is Collider and "half_space" in table:
            extra = next(iter({**source, **given}), None) if mesh is None else "mesh"
            if extra is not None:
                raise SceneError(f'A half-space has no "{extra}": remove it.')
            return {}
        if record is not Collider and "sequence" in source:
            raise SceneError(
                "sequence is only for colliders: a shell starts from a single mesh, given by file or shape."
            )
        if mesh is not None:
            source["mesh"] = GivenMesh.of(mesh) if isinstance(mesh, Mesh) else GivenMesh.read(mesh)
        return {"mesh": MeshSource(**source, parameters=given)}


def scene_to_dict(scene: Scene) -> Table:
    """The scene as tables of plain values; `scene_from_dict` returns an equal scene."""
    table: Table = _plain(scene)
    del table["keyed"]
    for keyed in scene.keyed:
        place: Any = table
        *way, last = [_KEYS.get(part, part) if isinstance(part, str) else part for part in keyed.path]
        for part in way:
            place = place[part]
        place[last] = [{"time": t, "value": _plain(v)} for t, v in zip(keyed.times, keyed.values, strict=True)]
    return table


_KEYS = {name: key for key, name in FIELDS.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, MeshSource):
        said = {entry.key: getattr(value, entry.key) for entry in entries(MeshSource)}
        fresh = {entry.key: entry.default for entry in entries(MeshSource)}
        given = {} if value.mesh is None else {"mesh": value.mesh.mark}
        return {key: part for key, part in said.items() if part != fresh[key]} | _plain(value.parameters) | given
    if is_dataclass(value) and not isinstance(value, type):
        table: Table = {}
        for entry in fields(value):
            part = _plain(getattr(value, entry.name))
            if isinstance(getattr(value, entry.name), MeshSource):
                table |= part
            elif part is not None:
                table[_KEYS.get(entry.name, entry.name)] = part
        return table
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def _is_keyed(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(key, dict) and "time" in key for key in value)


def _table(value: Any) -> Table:
    if not isinstance(value, dict):
        raise SceneError(f"this must be a table of keys and values, not {quote(value)}.")
    return value


def _check_keys(table: Mapping[str, Any], known: Any) -> None:
    for key in table:
        if key not in known:
            raise SceneError(f"unknown key {quote(key)}{suggest(key, known)}: choose from {', '.join(known)}.")
    if known == ("time", "value") and len(table) < 2:
        raise SceneError("a key needs both time and value: add the missing one.")
