"""Scenes as nested tables of plain values, the form that TOML and JSON share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError, suggest
from plisse.core.shapes import shape_parameters
from plisse.io.geometry import place_below
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.levels import Levels
from plisse.scene.loads import Pressure, Wind
from plisse.scene.materials import Material, make_material
from plisse.scene.pins import Ball, Pin
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource
from plisse.scene.values import as_number

Table = dict[str, Any]


def scene_from_dict(data: Mapping[str, Any], base: Path) -> Scene:
    """Read a scene from tables; a SceneError names the table and key that is wrong.

    A generated collider without `translate` and a floor without `height` are put under the shells.
    """
    values = dict(data)
    tables = _tables(values.get("collider", []), "collider")
    parts: dict[str, Callable[[Any], Any]] = {
        "shell": lambda value: _each(value, "shell", _read_shell),
        "collider": lambda value: _each(value, "collider", _read_collider),
        "wind": lambda value: _build(Wind, value),
        "contact": lambda value: _build(Contact, value),
        "solver": lambda value: _build(Solver, value),
        "time": lambda value: _build(Time, value),
        "hierarchy": lambda value: _build(Levels, value),
    }
    _check_keys(values, (*parts, "name", "gravity", "seed"))
    for key in [key for key in parts if key in values]:
        if key in ("shell", "collider"):
            values[key + "s"] = parts[key](values.pop(key))
        else:
            with inside(key):
                values[key] = parts[key](values[key])
    values.setdefault("shells", ())
    scene = Scene(**values)
    bodies = [i for i, table in enumerate(tables) if _floats_free(table)]
    floors = [i for i, table in enumerate(tables) if table.get("shape") == "floor" and "height" not in table]
    return place_below(scene, base, bodies=bodies, floors=floors) if bodies or floors else scene


def _floats_free(table: Table) -> bool:
    return "shape" in table and table["shape"] != "floor" and "translate" not in table


def scene_to_dict(scene: Scene) -> Table:
    """The scene as tables of plain values; `scene_from_dict` gives an equal scene back."""
    table: Table = _plain(scene)
    return {{"shells": "shell", "colliders": "collider"}.get(key, key): value for key, value in table.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, MeshSource):
        return {"file": value.file} if value.shape is None else {"shape": value.shape} | _plain(value.parameters)
    if is_dataclass(value) and not isinstance(value, type):
        table: Table = {}
        for entry in fields(value):
            part = _plain(getattr(value, entry.name))
            if isinstance(getattr(value, entry.name), MeshSource):
                table |= part
            elif part is not None:
                table["pin" if entry.name == "pins" else entry.name] = part
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
        raise SceneError(f"{where}: {error}") from None


def _read_shell(table: Table, number: int) -> Shell:
    own = ("name", "translate", "rotate", "scale", "velocity", "material", "pin", "pressure")
    values, source = _split_source(table, own)
    values.setdefault("name", f"shell-{number}")
    if "material" in values:
        with inside("material"):
            values["material"] = _read_material(values["material"])
    if "pin" in values:
        values["pins"] = _each(values.pop("pin"), "pin", lambda pin, _: _read_pin(pin))
    if "pressure" in values:
        with inside("pressure"):
            given = values["pressure"]
            values["pressure"] = _build(Pressure, given if isinstance(given, dict) else {"value": given})
    return Shell(mesh=_as_source(source), **values)


def _read_collider(table: Table, number: int) -> Collider:
    own = ("name", "translate", "rotate", "scale", "motion", "pivot", "refine", "half_space")
    values, source = _split_source(table, own)
    values.setdefault("name", f"collider-{number}")
    if "motion" in values:
        values["motion"] = _read_motion(values["motion"])
    if "half_space" in values:
        with inside("half_space"):
            values["half_space"] = _build(HalfSpace, values["half_space"])
        if source:
            raise SceneError(f'A half-space has no "{next(iter(source))}": remove it.')
        return Collider(**values)
    if source.get("shape") == "floor":
        return Collider(half_space=HalfSpace((0.0, 0.0, as_number("height [m]", source.get("height", 0.0)))), **values)
    return Collider(mesh=_as_source(source), **values)


def _split_source(table: Table, own: tuple[str, ...]) -> tuple[Table, Table]:
    """A body's own values, and those that say where its surface comes from."""
    shape = table.get("shape")
    if shape is not None and not isinstance(shape, str):
        raise SceneError(f"shape must be a word, not {shape!r}.")
    parameters: tuple[str, ...] = ()
    if shape is not None:
        is_floor = shape == "floor" and "half_space" in own
        parameters = ("height",) if is_floor else shape_parameters(shape)
    _check_keys(table, (*own, "file", "shape", *parameters))
    return (
        {key: value for key, value in table.items() if key in own},
        {key: value for key, value in table.items() if key not in own},
    )


def _as_source(source: Table) -> MeshSource:
    rest = {key: value for key, value in source.items() if key not in ("file", "shape")}
    parameters = {key: tuple(value) if isinstance(value, list) else value for key, value in rest.items()}
    return MeshSource(file=source.get("file"), shape=source.get("shape"), parameters=parameters)


def _read_material(value: Any) -> Material:
    if isinstance(value, str):
        return make_material(value)
    known = [entry.name for entry in fields(Material)]
    _check_keys(_table(value), ("preset", *known))
    return make_material(**value)


def _read_pin(table: Table) -> Pin:
    values = dict(table)
    _check_keys(values, [entry.name for entry in fields(Pin)])
    if "motion" in values:
        values["motion"] = _read_motion(values["motion"])
    if "sphere" in values:
        with inside("sphere"):
            values["sphere"] = _build(Ball, values["sphere"])
    return Pin(**values)


def _read_motion(value: Any) -> tuple[Keyframe, ...]:
    return _each(value, "motion", lambda key, _: _build(Keyframe, key))


def _build(kind: Callable[..., Any], value: Any) -> Any:
    """A dataclass from a table of its fields."""
    table = _table(value)
    known = fields(kind)  # type: ignore[arg-type]
    _check_keys(table, [entry.name for entry in known])
    for entry in known:
        if entry.default is MISSING and entry.default_factory is MISSING and entry.name not in table:
            raise SceneError(f"{entry.name} is missing: add it.")
    return kind(**table)


def _each(value: Any, name: str, read: Callable[[Table, int], Any]) -> tuple[Any, ...]:
    bodies = []
    for number, table in enumerate(_tables(value, name)):
        with inside(f"{name}.{number}"):
            bodies.append(read(table, number))
    return tuple(bodies)


def _tables(value: Any, name: str) -> list[Table]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(part, dict) for part in value):
        raise SceneError(f"{name} must be a list of tables: write [[{name}]] with two brackets.")
    return list(value)


def _table(value: Any) -> Table:
    if not isinstance(value, dict):
        raise SceneError(f"a table of keys and values is needed here, not {value!r}.")
    return value


def _check_keys(table: Mapping[str, Any], known: Any) -> None:
    for key in table:
        if key not in known:
            raise SceneError(f'unknown key "{key}"{suggest(key, known)}: known are {", ".join(known)}.')
