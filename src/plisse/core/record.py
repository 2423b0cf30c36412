"""Records: frozen data whose fields say in one place what they may hold, in which unit, and what it means.

The same declaration checks a value, converts its unit, and is printed as documentation and as JSON Schema.
"""

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from plisse.core.values import Box, Choice, Count, Factors, Flag, Indices, Kind, Number, Or, Sizes, Three, Turn, Word

REQUIRED: Any = MISSING


class Record:
    """Base of all records: checks every described field, then calls `check` for constraints between fields."""

    def __post_init__(self) -> None:
        for entry in entries(type(self)):
            if entry.kind is not None:
                fill_in(self, **{entry.key: entry.check(getattr(self, entry.key))})
        self.check()

    def check(self) -> None:
        """Raises SceneError where fields contradict each other."""


def fill_in(record: object, **values: Any) -> None:
    """Stores checked values in a frozen record; only for use while it is being created."""
    for key, value in values.items():
        object.__setattr__(record, key, value)


@dataclass(frozen=True)
class Entry:
    """One key as the schema sees it. default: None if there is none; shown: the default in words."""

    key: str
    kind: Kind | None
    text: str
    default: Any
    shown: str | None = None
    required: bool = False
    inner: type | None = None  # the record of a nested table, or of each table of a list
    many: bool = False
    keyed: bool = False

    def check(self, value: Any, *, place: str | None = None) -> Any:
        """The value as the program uses it; place: what a message calls the key. None stands for no value."""
        if self.kind is None or (value is None and self.default is None and not self.required):
            return value
        return self.kind.check(place or self.key, value)


def entries(record: type) -> Iterator[Entry]:
    """The keys of a record, in order."""
    for entry in fields(record):
        meta = entry.metadata
        if "text" in meta:
            required = entry.default is MISSING and entry.default_factory is MISSING
            default = None if required or entry.default is MISSING else entry.default
            yield Entry(
                meta.get("key", entry.name), meta.get("kind"), meta["text"], default, meta.get("shown"), required,
                meta.get("inner"), meta.get("many", False), meta.get("keyed", False),
            )  # fmt: skip


def _field(kind: Kind | None, text: str, default: Any, shown: str | None, **more: Any) -> Any:
    meta = {"kind": kind, "text": text, "shown": shown} | more
    made: Field[Any] = field(metadata=meta) if default is REQUIRED else field(default=default, metadata=meta)
    return made


def number(
    unit: str | None,
    text: str,
    *,
    default: Any = REQUIRED,
    shown: str | None = None,
    keyed: bool = False,
    also: tuple[Kind, ...] = (),
    why: str = "",
    **limits: float,
) -> Any:
    """A number in a unit. also: other kinds that the key may hold; keyed: it may be a list of keyframes.

    why: what a value beyond the limits would mean.
    """
    kind: Kind = Number(unit, why=why, **limits)
    return _field(Or((kind, *also)) if also else kind, text, default, shown, keyed=keyed)


def count(text: str, *, default: Any = REQUIRED, shown: str | None = None, why: str = "", **limits: int) -> Any:
    """A whole number."""
    return _field(Count(**limits, why=why), text, default, shown)


def sizes(text: str, *, default: Any = REQUIRED, least: int, most: int, why: str = "") -> Any:
    """How many there are, or how large each but the last is."""
    return _field(Sizes(Count(least=least, most=most, why=why)), text, default, None)


def three(
    unit: str | None, text: str, *, default: Any = REQUIRED, shown: str | None = None, keyed: bool = False
) -> Any:
    """Three numbers in a unit: a position, a velocity."""
    return _field(Three(unit), text, default, shown, keyed=keyed)


def turn(text: str) -> Any:
    """Three angles about the fixed axes."""
    return _field(Turn(), text, (0.0, 0.0, 0.0), None)


def factors(text: str, *, default: Any = REQUIRED) -> Any:
    """One factor, or three along the axes."""
    return _field(Factors(), text, default, None)


def choice(text: str, choices: tuple[str, ...], *, default: Any = REQUIRED, shown: str | None = None) -> Any:
    """One of several words."""
    return _field(Choice(choices), text, default, shown)


def flag(text: str, *, default: Any = REQUIRED) -> Any:
    """True or false."""
    return _field(Flag(), text, default, None)


def word(text: str, *, default: Any = REQUIRED, shown: str | None = None) -> Any:
    """A word or a name."""
    return _field(Word(), text, default, shown)


def indices(text: str, *, default: Any = REQUIRED) -> Any:
    """A list of whole numbers from 0 on."""
    return _field(Indices(), text, default, None)


def box(text: str, *, default: Any = REQUIRED) -> Any:
    """Two opposite corners of a box."""
    return _field(Box(), text, default, None)


def like(record: type, name: str, text: str) -> Any:
    """An optional field that holds what another record's field of that name may; by default that one's value."""
    (kind,) = (entry.metadata["kind"] for entry in fields(record) if entry.name == name)
    return _field(kind, text, None, f"the {record.__name__.lower()}'s")


def table(record: type, text: str, *, default: Any = REQUIRED, factory: Any = None, shown: str | None = None) -> Any:
    """A nested record, a table of its own in a scene file."""
    if factory is not None:
        meta = {"text": text, "shown": shown or "the defaults of its keys", "inner": record}
        return field(default_factory=factory, metadata=meta)
    return _field(None, text, default, shown, inner=record)


def tables(record: type, key: str, text: str) -> Any:
    """A tuple of nested records, a list of tables under the given key in a scene file."""
    return _field(None, text, (), None, inner=record, many=True, key=key)
