"""The scene's schema, printed: as text, as the documentation's page, as JSON Schema for editors."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plisse.core.record import Entry, entries
from plisse.core.units import UNITS
from plisse.core.values import Choice, Json, Number
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.levels import Levels
from plisse.scene.loads import Pressure, Wind
from plisse.scene.materials import Material
from plisse.scene.pins import Ball, Pin
from plisse.scene.presets import PRESETS
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import SHAPES, shape_fields
from plisse.shapes.parameters import ShapeField

# every table of a scene file: its heading, the record that it fills
TABLES: tuple[tuple[str, type], ...] = (
    ("Top level", Scene),
    ("[[shell]]", Shell),
    ("Where a body's mesh comes from: keys of [[shell]] and [[collider]]", MeshSource),
    ("material = { … }", Material),
    ("pressure = { … }", Pressure),
    ("[[shell.pin]]", Pin),
    ("sphere = { … }", Ball),
    ("[[collider]]", Collider),
    ("half_space = { … }", HalfSpace),
    ("[[collider.motion]] and [[shell.pin.motion]]", Keyframe),
    ("[wind]", Wind),
    ("[contact]", Contact),
    ("[solver]", Solver),
    ("[time]", Time),
    ("[hierarchy]", Levels),
)

INTRODUCTION = """\
A scene is a TOML file. Plain numbers are in SI units and degrees. Where a unit is listed below, a number can also be
written as text with any unit of that kind: `thickness = "0.3 mm"`, `E = "0.82 MPa"`, `rotate = "90 deg"`, `velocity =
["30 km/h", 0, 0]`. The world's z axis points up. File names are relative to the scene's folder. Unknown keys are
errors."""

KEYFRAMES = """\
A value that may be keyframed is a constant or a list of keys: `pressure = [{ time = 0, value = 0 }, { time = "1 s",
value = "2 kPa" }]`. It is interpolated linearly between keys, and constant before the first and after the last one.
Bodies move by `[[collider.motion]]` and `[[shell.pin.motion]]`: poses relative to the start, with the identity at 0 s.
Translation, scale and the three angles are each interpolated linearly, so that `rotate = [0, 0, 720]` makes two
turns. After the last key a body rests. In statics, time advances by `time.h` per step, and equilibrium is sought after
the last key."""

PLACES = """\
A generated collider without `translate` is centred below the shells, 1 cm (more for thick shells) under their lowest
vertex, unless a shell rests on it; a `floor` without `height` lies just as far below everything else. A shell with
`rest_on` or `drop_height` is placed above what it rests on. Contact acts between shells, within each shell, and between
shells and colliders; colliders pass through each other, and fixed pins are not checked against colliders. On a finer
level, the midpoint of an edge is pinned if both of its ends are pinned by the same pin."""


@dataclass(frozen=True)
class Row:
    """One key as it is shown."""

    key: str
    unit: str
    default: str
    text: str


def _rows(record: type) -> Iterator[Row]:
    for entry in entries(record):
        unit = entry.kind.unit if entry.kind is not None else None
        limits = f" ({entry.kind.describe()})" if entry.kind is not None and _has_limits(entry) else ""
        yield Row(entry.key, unit or "", _default(entry), entry.text + limits)


def _has_limits(entry: Entry) -> bool:
    words = entry.kind.describe() if entry.kind is not None else ""
    return words not in ("number", "text", "true or false", "three numbers")


def _default(entry: Entry) -> str:
    if entry.told is not None:
        return entry.told
    if entry.required:
        return "required"
    return "none" if entry.default is None or entry.default == () else f"`{_toml(entry.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value:g}"


def _shape_row(field: ShapeField) -> Row:
    default = "none" if field.default is None else f"`{_toml(field.default)}`"
    choices = f" ({Choice(field.choices).describe()})" if field.choices else ""
    return Row(field.name, field.unit or "", default, field.text + choices)


def _first_line(thing: Any) -> str:
    return " ".join((thing.__doc__ or "").partition("\n\n")[0].split())


def as_text() -> str:
    """For a terminal."""
    out = []
    for heading, record in TABLES:
        out += [heading, *_aligned(list(_rows(record))), ""]
    for name in SHAPES:
        out += [f'shape = "{name}"', *_aligned([_shape_row(field) for field in shape_fields(name)]), ""]
    out += ['shape = "floor" (colliders only)', *_aligned([_FLOOR]), ""]
    return "\n".join(out)


_FLOOR = Row("height", "m", "below everything else", "of the level plane")


def _aligned(rows: list[Row]) -> list[str]:
    key, unit = (max(len(getattr(row, name)) for row in rows) for name in ("key", "unit"))
    out = []
    for row in rows:
        head = f"  {row.key:<{key}}  {row.unit:<{unit}}  "
        body = f"{row.text}; default: {row.default}".replace("`", "")
        out += textwrap.wrap(body, 118, initial_indent=head, subsequent_indent=" " * len(head))
    return out


def as_markdown() -> str:
    """The documentation's page."""
    out = [
        "# Scene files",
        "<!-- Generated by `plisse schema --format markdown`; a test compares it. Do not edit. -->",
        INTRODUCTION,
        "For completion in an editor, name [scene.schema.json](scene.schema.json) in the scene's first line: "
        "`#:schema path/to/scene.schema.json`. [levels.md](levels.md) explains the levels of `[hierarchy]`, "
        "[runs.md](runs.md) what a run leaves behind, [materials.md](materials.md) the fabrics.",
        "Units: " + ", ".join(f"`{name}`" for name in UNITS) + "; products, quotients and powers of these, such as "
        "`kg/m3`, `g/cm³`, `N/m`, `m/s^2`.",
    ]
    for heading, record in TABLES:
        level = "##" if heading.startswith(("[", "Top")) and "." not in heading else "###"
        title = heading if not heading.startswith(("[", "material", "pressure", "sphere", "half")) else f"`{heading}`"
        out += [f"{level} {title}", _first_line(record), _markdown_table(list(_rows(record)))]
        if record is Material:
            out.append(
                f"`preset` names one of {', '.join(f'`{name}`' for name in PRESETS)}; the other keys override its "
                'values: `material = { preset = "cotton", thickness = "0.1 mm" }`. Without it, the keys marked '
                "required must be given."
            )
        if record is Collider:
            out.append(PLACES)
        if record is Keyframe:
            out.append(KEYFRAMES)
    out += ["## Shapes", "Centred at the origin, facing outwards or up."]
    for name, function in SHAPES.items():
        out += [f"### `{name}`", _first_line(function), _markdown_table([_shape_row(f) for f in shape_fields(name)])]
    out += ["### `floor`", "A level half-space; colliders only.", _markdown_table([_FLOOR])]
    return "\n\n".join(_wrapped(part) for part in out) + "\n"


def _wrapped(text: str) -> str:
    return text if text.startswith(("|", "#", "<")) else textwrap.fill(text, 120, break_long_words=False)


def _markdown_table(rows: list[Row]) -> str:
    lines = ["| key | unit | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.key}` | {row.unit} | {row.default} | {row.text} |" for row in rows]
    return "\n".join(lines)


def as_json() -> str:
    """JSON Schema, draft 7."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Plissé scene",
        **_object(Scene),
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _object(record: type) -> Json:
    properties = {entry.key: _property(entry) for entry in entries(record)}
    required = [entry.key for entry in entries(record) if entry.required and record is not Material]
    if record in (Shell, Collider):
        properties |= {entry.key: _property(entry) for entry in entries(MeshSource)} | _shape_properties()
        properties["shape"] = {"enum": [*SHAPES, *(["floor"] if record is Collider else [])]}
    if record is Material:
        properties["preset"] = {"enum": list(PRESETS), "description": "whose values the other keys override"}
    if record is Scene:
        required = ["shell"]
    out: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    return out | ({"required": required} if required else {})


def _property(entry: Entry) -> Json:
    if entry.many:
        assert entry.inner is not None
        value: Json = {"type": "array", "items": _object(entry.inner)}
    elif entry.inner is not None:
        value = _object(entry.inner)
        if entry.inner is Material:
            value = {"anyOf": [{"enum": list(PRESETS)}, value]}
        if entry.inner is Pressure:
            value = {"anyOf": [Number("Pa").json(), _keys(Number("Pa").json()), value]}
    else:
        assert entry.kind is not None
        value = entry.kind.json()
        if entry.keyed:
            value = {"anyOf": [value, _keys(value)]}
    unit = entry.kind.unit if entry.kind is not None else None
    told = f"{entry.text}{f' [{unit}]' if unit else ''}; default: {_default(entry)}"
    return value | {"description": told.replace("`", "")}


def _keys(value: Json) -> Json:
    key = {
        "type": "object",
        "properties": {"time": Number("s", least=0).json(), "value": value},
        "required": ["time", "value"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": key, "minItems": 1}


def _shape_properties() -> dict[str, Json]:
    """Parameters of all shapes; one that several have may be what any of them takes."""
    found: dict[str, list[tuple[str, ShapeField]]] = {}
    for shape in SHAPES:
        for field in shape_fields(shape):
            found.setdefault(field.name, []).append((shape, field))
    out: dict[str, Json] = {}
    for name, uses in found.items():
        kinds = [_shape_value(field) for _, field in uses]
        distinct = [kind for i, kind in enumerate(kinds) if kind not in kinds[:i]]
        value = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        texts = dict.fromkeys(f"{field.text}{f' [{field.unit}]' if field.unit else ''}" for _, field in uses)
        shapes = ", ".join(shape for shape, _ in uses)
        out[name] = value | {"description": f"{'; '.join(texts)} (of {shapes})"}
    return out


def _shape_value(field: ShapeField) -> Json:
    number, whole = Number(field.unit).json(), {"type": "integer"}
    match field.kind:
        case "choice":
            return {"enum": list(field.choices)}
        case "flag":
            return {"type": "boolean"}
        case "count":
            return whole
        case "counts":
            return {"anyOf": [whole, {"type": "array", "items": whole, "minItems": 2, "maxItems": 2}]}
        case "lengths":
            return {"anyOf": [number, {"type": "array", "items": number, "minItems": 3, "maxItems": 3}]}
    return number
