"""The scene's schema, printed: as text, as the documentation's page, as JSON Schema for editors."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plisse.core.record import Entry, entries
from plisse.core.units import UNITS
from plisse.core.values import Json, Kind, Number, Word
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.levels import Levels
from plisse.scene.loads import Pressure, Wind
from plisse.scene.materials import Material
from plisse.scene.pins import Ball, Pin
from plisse.scene.presets import PRESETS
from plisse.scene.regions import Region
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource, SavedFrame
from plisse.shapes.catalogue import FLOOR_HEIGHT, PARAMETERS, SHAPES

# every table of a scene file: its heading, the record that it fills
TABLES: tuple[tuple[str, type], ...] = (
    ("Top level", Scene),
    ("[[shell]]", Shell),
    ("Where a body's mesh comes from: keys of [[shell]] and [[collider]]", MeshSource),
    ("material = { … }", Material),
    ("pressure = { … }", Pressure),
    ("[[shell.pin]]", Pin),
    ("[[shell.region]]", Region),
    ("sphere = { … }", Ball),
    ("start = { … }", SavedFrame),
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

REGIONS = """\
A vertex's weight w blends each value from that of the shell's material, at w = 0, to that of the region, at w = 1:
(1 − w) × the shell's + w × the region's. Selected vertices have the weight 1, all others 0. A triangle takes the mean
of its corners' weights, a hinge the mean of its two triangles', and on finer levels a midpoint the mean of both ends of
its edge. The region's values are its own keys and those of its `material`; others stay as they are, keyframed ones too.
Where regions overlap, each is blended over those before it. `strain_limit` is not blended: it is the region's in
triangles whose corners all have the weight 1."""

PLACES = """\
A generated collider without `translate` is centred below the shells, 1 cm (more for thick shells) under their lowest
vertex, unless a shell rests on it; a `floor` without `height` lies just as far below everything else. A shell with
`rest_on` or `drop_height` is placed above what it rests on. Contact acts between shells, within each shell, and between
shells and colliders; colliders pass through each other, and fixed pins are not checked against colliders. On a finer
level, the midpoint of an edge is pinned if both of its ends are pinned by the same pin."""


SHAPE_NOTE = """\
Centred at the origin, facing outwards or up. Flat shapes have themselves as texture coordinates, the longer side from 0
to 1; open cylinders are unrolled, the circumference from 0 to 1."""


@dataclass(frozen=True)
class Row:
    """One key as it is shown."""

    key: str
    unit: str
    default: str
    text: str


def _rows(keys: Iterable[Entry]) -> Iterator[Row]:
    for entry in keys:
        unit = entry.kind.unit if entry.kind is not None else None
        limits = f" ({entry.kind.describe()})" if entry.kind is not None and _has_limits(entry) else ""
        yield Row(entry.key, unit or "", _default(entry), entry.text + limits)


def _has_limits(entry: Entry) -> bool:
    words = entry.kind.describe() if entry.kind is not None else ""
    return words not in ("number", "text", "true or false", "three numbers")


def _default(entry: Entry) -> str:
    if entry.shown is not None:
        return entry.shown
    if entry.required:
        return "required"
    return "none" if entry.default is None or entry.default == () else f"`{_toml(entry.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value:g}"


def _first_line(thing: Any) -> str:
    return " ".join((thing.__doc__ or "").partition("\n\n")[0].split())


def as_text() -> str:
    """For a terminal."""
    out = []
    for heading, record in TABLES:
        out += [heading, *_aligned(list(_rows(entries(record)))), ""]
    for name, parameters in PARAMETERS.items():
        out += [f'shape = "{name}"', *_aligned(list(_rows(parameters.values()))), ""]
    out += ['shape = "floor" (colliders only)', *_aligned(list(_rows([FLOOR_HEIGHT]))), ""]
    return "\n".join(out)


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
        title = f"`{heading}`" if heading.startswith("[") or "=" in heading else heading
        out += [f"{level} {title}", _first_line(record), _markdown_table(entries(record))]
        if record is Material:
            out.append(
                f"`preset` names one of {', '.join(f'`{name}`' for name in PRESETS)}; the other keys override its "
                'values: `material = { preset = "cotton", thickness = "0.1 mm" }`. Without it, the keys marked '
                "required must be given."
            )
        if record is Region:
            out.append(REGIONS)
        if record is Collider:
            out.append(PLACES)
        if record is Keyframe:
            out.append(KEYFRAMES)
    out += ["## Shapes", SHAPE_NOTE]
    for name, function in SHAPES.items():
        out += [f"### `{name}`", _first_line(function), _markdown_table(PARAMETERS[name].values())]
    out += ["### `floor`", "A level half-space; colliders only.", _markdown_table([FLOOR_HEIGHT])]
    return "\n\n".join(_wrapped(part) for part in out) + "\n"


def _wrapped(text: str) -> str:
    return text if text.startswith(("|", "#", "<")) else textwrap.fill(text, 120, break_long_words=False)


def _markdown_table(keys: Iterable[Entry]) -> str:
    lines = ["| key | unit | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.key}` | {row.unit} | {row.default} | {row.text} |" for row in _rows(keys)]
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
        shapes = PARAMETERS | ({"floor": {"height": FLOOR_HEIGHT}} if record is Collider else {})
        source = {entry.key: _property(entry) for entry in entries(MeshSource)} | _shape_properties(shapes)
        properties |= {key: value for key, value in source.items() if key not in properties}
        properties["shape"] = {"enum": [*shapes]}
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
        if entry.inner is SavedFrame:
            value = {"anyOf": [Word().json(), value]}
    else:
        assert entry.kind is not None
        value = entry.kind.json()
        if entry.keyed:
            value = {"anyOf": [value, _keys(value)]}
    unit = entry.kind.unit if entry.kind is not None else None
    description = f"{entry.text}{f' [{unit}]' if unit else ''}; default: {_default(entry)}"
    return value | {"description": description.replace("`", "")}


def _keys(value: Json) -> Json:
    key = {
        "type": "object",
        "properties": {"time": Number("s", least=0).json(), "value": value},
        "required": ["time", "value"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": key, "minItems": 1}


def _shape_properties(shapes: Mapping[str, Mapping[str, Entry]]) -> dict[str, Json]:
    """Parameters of these shapes; one that several have may be what any of them takes."""
    found: dict[str, list[tuple[str, Kind, str]]] = {}
    for shape, parameters in shapes.items():
        for entry in parameters.values():
            assert entry.kind is not None
            found.setdefault(entry.key, []).append((shape, entry.kind, entry.text))
    out: dict[str, Json] = {}
    for name, uses in found.items():
        kinds = [kind.json() for _, kind, _ in uses]
        distinct = [kind for i, kind in enumerate(kinds) if kind not in kinds[:i]]
        value = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        texts = dict.fromkeys(f"{text}{f' [{kind.unit}]' if kind.unit else ''}" for _, kind, text in uses)
        owners = ", ".join(shape for shape, _, _ in uses)
        out[name] = value | {"description": f"{'; '.join(texts)} (of {owners})"}
    return out
