"""The form of one place in a scene, made from the scene's schema: a key that is added there appears by itself."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plisse.core.errors import SceneError
from plisse.core.record import Entry, entries
from plisse.core.units import as_quantity
from plisse.core.values import Choice, Count, Factors, Flag, Number, Or, Sizes, Three, Turn, Vector
from plisse.loading.scene_text import write_table
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.materials import Material
from plisse.scene.presets import PRESETS
from plisse.scene.scene import Scene, Shell
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import FLOOR_HEIGHT, PARAMETERS
from plisse.studio.document import SHORT, Document, Path_, Table

# units in which small and large values are shown: SI unit, largest value, unit, how many of it make one of SI
SHOWN_IN = (
    ("m", 0.01, "mm", 1e3), ("m", 1.0, "cm", 1e2), ("m", math.inf, "m", 1.0),
    ("Pa", 1e3, "Pa", 1.0), ("Pa", 1e6, "kPa", 1e-3), ("Pa", 1e9, "MPa", 1e-6), ("Pa", math.inf, "GPa", 1e-9),
)  # fmt: skip
REACH = 3.0  # a slider without limits goes up to so many times its value
STEPS = 200  # of a slider, about


@dataclass(frozen=True)
class Field:
    """One key as the form shows it.

    control: "slider", "number", "vector", "choice", "flag" or "text". value: as the control holds it. unit: that of the
    control's numbers, which the scene file gets with them. is_set: whether the scene says it, or it is the default.
    """

    path: Path_
    label: str
    control: str
    value: Any
    hint: str
    unit: str | None = None
    options: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    step: float | None = None
    is_set: bool = False

    def read(self, value: Any) -> Any:
        """What the scene file is to hold for a value of the control; None for the default."""
        if self.control in ("slider", "number"):
            return value if isinstance(value, int) else self._quantity(float(value))
        if self.control == "vector":
            return [self._quantity(float(part)) for part in value]
        if self.control == "choice":
            return None if value == UNSET else value
        if self.control == "text":
            return read_text(value)
        return value

    def _quantity(self, number: float) -> Any:
        number = float(f"{number:.9g}")
        return number if self.unit in (None, "deg") else f"{number:.9g} {self.unit}"


UNSET = "(default)"


@dataclass(frozen=True)
class Section:
    """Fields under one heading. common: whether it is open at first."""

    title: str
    fields: tuple[Field, ...]
    common: bool


def read_text(text: str) -> Any:
    """A value as a scene file would have it: TOML, or else a word; None where nothing is said."""
    text = text.strip()
    if not text:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def make_form(document: Document, path: Path_) -> list[Section]:
    """The form of a place: what the scene says there first, then what it leaves to defaults, then nested tables."""
    table, record = _table_at(document.table, path), record_at(path)
    keys = [entry for entry in _entries_of(record, table) if not _is_table(entry)]
    fields = [_make_field(document, entry, (*path, entry.key), table) for entry in keys if entry.key != "name"]
    said, open_ = [f for f in fields if f.is_set], [f for f in fields if not f.is_set]
    out = [Section("", tuple(said), True)] if said else []
    nested = [each for each in entries(record) if _is_table(each) and not each.many]
    for entry in sorted(nested, key=lambda each: each.inner is not Material):
        if entry.inner is Material:
            out.append(_material(document, (*path, entry.key), table.get(entry.key)))
        elif path and (entry.inner is not HalfSpace or entry.key in table):
            out.append(_nested(document, entry, (*path, entry.key), table.get(entry.key)))
    if open_:
        out.append(Section("more" if said else "", tuple(open_), not said))
    return out


def record_at(path: Path_) -> type:
    """The record that a table at this place of the scene fills."""
    record: type = Scene
    for key in path:
        if isinstance(key, str):
            entry = next((each for each in entries(record) if each.key == key), None)
            if entry is None or entry.inner is None:
                raise SceneError(f'There is no table "{key}" in a scene.')
            record = entry.inner
    return record


def settings() -> list[str]:
    """Names of the scene's tables of settings: wind, contact, solver, …"""
    return [entry.key for entry in entries(Scene) if _is_table(entry) and not entry.many]


def _is_table(entry: Entry) -> bool:
    return entry.inner is not None


def _table_at(table: Any, path: Path_) -> Table:
    for key in path:
        if isinstance(key, str) and key not in table:
            return {}
        table = table[key]
    return dict(table) if isinstance(table, Mapping) else {SHORT[str(path[-1])]: table}


def _entries_of(record: type, table: Table) -> Iterator[Entry]:
    """The keys of a record; of bodies also those of where their surface comes from and of their shape."""
    own = list(entries(record))
    yield from own
    if record not in (Shell, Collider) or "half_space" in table:
        return
    shape = table.get("shape")
    if shape == "floor":
        yield FLOOR_HEIGHT
        return
    known = {entry.key for entry in own}
    if shape is None:
        only = {"sequence", "rate", "start"} if record is Shell else set()
        yield from (e for e in entries(MeshSource) if e.key not in known | only | {"shape"})
    yield from PARAMETERS.get(shape or "", {}).values()


def _material(document: Document, path: Path_, value: Any) -> Section:
    """A fabric by its preset, and every constant of it on a slider."""
    table = value if isinstance(value, dict) else {"preset": value} if value else {}
    # what the scene means by it; a region's may be open
    preset = table.get("preset")
    fields = [
        Field(
            (*path, "preset"), "fabric", "choice", preset or UNSET, "whose values the keys below override",
            options=(UNSET, *PRESETS), is_set=preset is not None,
        )
    ]  # fmt: skip
    known = PRESETS.get(preset or "", None)
    for entry in entries(Material):
        if entry.key != "name":
            fallback = getattr(known, entry.key) if known is not None else None
            fields.append(_make_field(document, entry, (*path, entry.key), table, fallback=fallback))
    return Section("material", tuple(fields), True)


def _nested(document: Document, entry: Entry, path: Path_, value: Any) -> Section:
    assert entry.inner is not None
    table = value if isinstance(value, dict) else {} if value is None else {SHORT.get(entry.key, "value"): value}
    fields = [_make_field(document, each, (*path, each.key), table) for each in entries(entry.inner) if each.kind]
    return Section(entry.key, tuple(fields), value is not None)


def _make_field(
    document: Document, entry: Entry, path: Path_, table: Mapping[str, Any], *, fallback: Any = None
) -> Field:
    """The control that fits a key's kind and its value; what fits none is text, as in a scene file."""
    said, is_set = table.get(entry.key), entry.key in table
    default = entry.default if fallback is None else fallback
    value = said if is_set else default
    shown = (entry.shown or "").replace("`", "")
    hint = entry.text.replace("`", "") + (f"; default: {shown}" if shown else "")
    unit = entry.kind.unit if entry.kind is not None else None
    plain: dict[str, Any] = {"path": path, "hint": hint, "is_set": is_set}
    kind = entry.kind.kinds[0] if isinstance(entry.kind, Or) else entry.kind
    kind = kind.number if isinstance(kind, Sizes) else kind
    if isinstance(kind, Choice):
        # what may be left out can be left out again
        options = kind.choices if is_set and entry.required else (UNSET, *kind.choices)
        return Field(label=entry.key, control="choice", value=said if is_set else UNSET, options=options, **plain)
    if isinstance(kind, Flag):
        return Field(label=entry.key, control="flag", value=bool(value), **plain)
    if isinstance(kind, Count) and isinstance(value, int):
        most = None if kind.most >= 2**31 - 1 else kind.most
        return Field(label=entry.key, control="number", value=value, least=kind.least, most=most, step=1, **plain)
    if isinstance(kind, Number) and (number := _number(entry.key, value, unit)) is not None:
        return _number_field(entry, kind, number, plain)
    if isinstance(kind, (Three, Turn, Factors)) and (vector := _vector(kind, entry.key, value)) is not None:
        label = f"{entry.key} [{unit}]" if unit else entry.key
        return Field(label=label, control="vector", value=vector, unit=unit, step=_nice(max(map(abs, vector))), **plain)
    label = f"{entry.key} [{unit}]" if unit else entry.key
    return Field(label=label, control="text", value=_text(said), unit=unit, **plain)


def _number_field(entry: Entry, kind: Number, number: float, plain: dict[str, Any]) -> Field:
    unit, factor = _choose_unit(kind.unit, number)
    label, value = f"{entry.key} [{unit}]" if unit else entry.key, float(f"{number * factor:.9g}")
    least, most = (_edge(a, b) for a, b in ((kind.least, kind.above), (kind.most, kind.below)))
    if number <= 0.0 and not math.isfinite(most):
        lower = None if not math.isfinite(least) else least * factor
        return Field(label=label, control="number", value=value, unit=unit, least=lower, step=0.1, **plain)
    far = REACH * number
    ends = number == 0.0 or most <= 10.0 * far
    top = most * factor if ends else _round_up(far * factor)
    low = max(least, 0.0) * factor if math.isfinite(least) else min(0.0, value)
    step = 10.0 ** math.floor(math.log10((top - low) / STEPS))
    # a limit that is excluded
    low, top = low + step * (kind.above == least), top - step * (ends and kind.below == most)
    if not low <= value <= top:
        return Field(label=label, control="number", value=value, unit=unit, step=step, **plain)
    return Field(label=label, control="slider", value=value, unit=unit, least=low, most=top, step=step, **plain)


def _edge(closed: float, opened: float) -> float:
    return closed if math.isfinite(closed) else opened


def _number(key: str, value: Any, unit: str | None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(as_quantity(key, value, unit))
    except (SceneError, ValueError):
        return None


def _vector(kind: Three | Turn | Factors, key: str, value: Any) -> Vector | None:
    try:
        return kind.check(key, value)
    except SceneError:
        return None


def _choose_unit(unit: str | None, number: float) -> tuple[str | None, float]:
    """The unit in which a number is shown, and the factor to it."""
    fits = (row for row in SHOWN_IN if row[0] == unit and abs(number) < row[1])
    row = next(fits, None) if number else None
    return (row[2], row[3]) if row is not None else (unit, 1.0)


def _nice(size: float) -> float:
    """A step for numbers of some size."""
    return 10.0 ** math.floor(math.log10(size / 10.0)) if size > 1e-9 else 0.01


def _round_up(number: float) -> float:
    """1, 2 or 5 times a power of ten, not below the number."""
    power = 10.0 ** math.floor(math.log10(number))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= number * (1.0 - 1e-9))


def _text(value: Any) -> str:
    """A value as it would stand in a scene file; a word without its quotes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value if read_text(value) == value else json.dumps(value, ensure_ascii=False)
    return write_table({"value": {"is": value}}).partition("is = ")[2].strip()
