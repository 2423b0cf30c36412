"""Scenes as nested tables of plain values, the form that TOML and JSON share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError, suggest
from plisse.core.record import Entry, entries
from plisse.core.units import told
from plisse.core.values import Number, Word
from plisse.loading.placement import place
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.loads import Pressure
from plisse.scene.materials import Material
from plisse.scene.presets import make_material
from plisse.scene.scene import Keyed, Scene
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import shape_parameters

Table = dict[str, Any]
Path_ = tuple[str | int, ...]

SOURCE_KEYS = tuple(entry.key for entry in entries(MeshSource))
# any of these gives a floor its place
PLACES = {"height", "translate", "rotate", "scale"}
# what a record's field is called where it differs from its key
FIELDS = {"shell": "shells", "collider": "colliders", "pin": "pins"}


def scene_from_dict(data: Mapping[str, Any], base: Path) -> Scene:
    """Reads a scene from tables; a SceneError names the table and the key that is wrong.

    Bodies with `rest_on`, or without any position, are placed.
    """
    reader = _Reader()
    values = reader.values(Scene, dict(data), ())
    scene = Scene(**values, keyed=tuple(reader.keyed))
    for time in sorted({time for keyed in scene.keyed for time in keyed.times}):
        with inside(f"at {time:g} s"):
            scene.at(time)
    tables = data.get("collider", ())
    loose = [i for i, table in enumerate(tables) if _is_generated(table) and "translate" not in table]
    floors = [i for i, table in enumerate(tables) if table.get("shape") == "floor" and not PLACES & set(table)]
    return place(scene, base, loose=loose, floors=floors)


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
        return record(**self.values(record, value, path))

    def values(self, record: type, value: Any, path: Path_) -> Table:
        """A record's fields from its table."""
        table = dict(_table(value))
        known = {entry.key: entry for entry in entries(record)}
        is_body = any(entry.name == "mesh" for entry in fields(record))  # type: ignore[arg-type]
        out: Table = self._source(record, table, (*known,)) if is_body else {}
        _check_keys(table, known)
        for entry in known.values():
            if entry.key in table:
                name = FIELDS.get(entry.key, entry.key)
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
        shape = table.get("shape")
        if shape is not None:
            Word().check("shape", shape)
        is_floor = shape == "floor" and record is Collider
        parameters: tuple[str, ...] = ()
        if shape is not None:
            parameters = ("height",) if is_floor else shape_parameters(shape)
        # a shape's own "height" or "scale" would hide the body's: none has one
        _check_keys(table, (*own, *SOURCE_KEYS, *parameters))
        source = {key: table.pop(key) for key in SOURCE_KEYS if key in table and key not in own}
        given = {key: table.pop(key) for key in parameters if key in table}
        extra = next((key for key in (*source, *given) if key not in ("shape", "height")), None)
        if is_floor and extra is not None:
            raise SceneError(f'A floor has no "{extra}": remove it.')
        if is_floor:
            height = Number("m").check("height", given.get("height", 0.0))
            return {"half_space": HalfSpace((0.0, 0.0, height))}
        if record is Collider and "half_space" in table:
            extra = next(iter({**source, **given}), None)
            if extra is not None:
                raise SceneError(f'A half-space has no "{extra}": remove it.')
            return {}
        if record is not Collider and "sequence" in source:
            raise SceneError(
                "sequence is only for colliders: a shell starts from a single mesh, given by file or shape."
            )
        for key, value in given.items():
            if isinstance(value, str):
                Word().check(key, value)
        tidy = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        return {"mesh": MeshSource(**source, parameters=tidy)}


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
        return {key: part for key, part in said.items() if part != fresh[key]} | _plain(value.parameters)
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


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Put the place in front of a SceneError's sentence."""
    try:
        yield
    except SceneError as error:
        # the same error, which may carry more than its words
        error.args = (f"{where}: {error}",)
        raise


def _is_keyed(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(key, dict) and "time" in key for key in value)


def _table(value: Any) -> Table:
    if not isinstance(value, dict):
        raise SceneError(f"this must be a table of keys and values, not {told(value)}.")
    return value


def _check_keys(table: Mapping[str, Any], known: Any) -> None:
    for key in table:
        if key not in known:
            raise SceneError(f"unknown key {told(key)}{suggest(key, known)}: choose from {', '.join(known)}.")
    if known == ("time", "value") and len(table) < 2:
        raise SceneError("a key needs both time and value: add the missing one.")
