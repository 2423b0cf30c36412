"""Parameters of generated shapes: their kinds, units and texts, read from annotations, and their checks.

A parameter is annotated with its type, its unit if it has one, and a text: `Annotated[Length, "radius of the rim"]`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from plisse.core.errors import SceneError
from plisse.core.units import as_quantity

Length = Annotated[float, "m"]
MaybeLength = Annotated[float | None, "m"]
Lengths = Annotated[float | tuple[float, float, float], "m"]

Kind = Literal["number", "count", "counts", "choice", "flag", "lengths"]
KINDS: dict[Any, Kind] = {
    float: "number",
    float | tuple[float, float, float]: "lengths",
    int: "count",
    int | tuple[int, int]: "counts",
    bool: "flag",
}
# Counts beyond this are a slip of the keyboard, and would only exhaust the memory.
MOST = 10_000_000
# Vertices that follow from lengths, and that nobody asked for by their number.
UNASKED = 500_000


@dataclass(frozen=True)
class ShapeField:
    """One parameter of a shape.

    kind: "number" and "lengths" (one or three) have a unit; "count" is a whole number, "counts" one or two of them;
    "choice" is one of `choices`, "flag" true or false. A default of None is said in the text.
    """

    name: str
    unit: str | None
    kind: Kind
    default: Any
    text: str
    choices: tuple[str, ...] = ()


def read_fields(function: Callable[..., Any]) -> list[ShapeField]:
    """The function's parameters in their order."""
    fields = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind_of, *notes = get_args(parameter.annotation)
        unit, text = notes if len(notes) == 2 else (None, notes[0])
        choices: tuple[str, ...] = get_args(kind_of) if get_origin(kind_of) is Literal else ()
        kind: Kind = "choice" if choices else KINDS[_drop_none(kind_of)]
        fields.append(ShapeField(name, unit, kind, parameter.default, text, choices))
    return fields


def _drop_none(kind: Any) -> Any:
    """The type without its `| None`."""
    if not isinstance(kind, UnionType) or type(None) not in get_args(kind):
        return kind
    first, *others = (part for part in get_args(kind) if part is not type(None))
    for other in others:
        first = first | other
    return first


def convert(shape: str, field: ShapeField, value: Any) -> Any:
    """The value as the shape's function takes it: quantities with units become numbers in the field's unit."""
    if field.unit is None:
        return value
    place = f"A {shape}'s {field.name}"
    if isinstance(value, (tuple, list)):
        return tuple(as_quantity(place, part, field.unit) for part in value)
    return as_quantity(place, value, field.unit)


def check_length(shape: str, key: str, value: Any) -> float:
    """The value, if it is a positive length [m]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise SceneError(f"A {shape}'s {key} must be a positive length in metres, not {value!r}.")
    return float(value)


def check_count(shape: str, key: str, value: Any, *, least: int) -> int:
    """The value, if it is a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise SceneError(f"A {shape}'s {key} must be a whole number from {least} to {MOST}, not {value!r}.")
    return value


def check_vertices(shape: str, count: float, *, asked: bool) -> None:
    """Refuses meshes of more vertices than make sense; asked: the user gave their number, not lengths alone."""
    if count > (MOST if asked else UNASKED):
        remedy = "give fewer" if asked else "give a number of vertices or cells, or check the units"
        raise SceneError(f"A {shape} of this size would have {count:,.0f} vertices: {remedy}.")
