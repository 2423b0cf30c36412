"""Kinds of values: each checks what the user wrote, converts its unit, and describes itself to the schema."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from plisse.core.errors import SceneError, suggest
from plisse.core.units import as_quantity, quote

Vector = tuple[float, float, float]
Json = dict[str, Any]

# Sizes beyond these are slips of the keyboard, and their squares and quotients would leave the range of numbers.
LARGEST, SMALLEST = 1e20, 1e-20
BREAKS = {*map(chr, range(32)), "\x7f", "\x85", "\u2028", "\u2029"}


class Kind(ABC):
    """What a key may hold."""

    unit: str | None = None

    @abstractmethod
    def check(self, key: str, value: Any) -> Any:
        """The value as the program uses it, in SI units and degrees, or a SceneError."""

    @abstractmethod
    def describe(self) -> str:
        """In words, for the documentation."""

    @abstractmethod
    def json(self) -> Json:
        """As JSON Schema."""


@dataclass(frozen=True)
class Number(Kind):
    """A finite number with above < value < below and least ≤ value ≤ most; text carries a unit."""

    unit: str | None = None
    above: float = -math.inf
    least: float = -math.inf
    below: float = math.inf
    most: float = math.inf
    why: str = ""  # what would follow from a value beyond the limits, in words

    def check(self, key: str, value: Any) -> float:
        key = key if self.unit is None else f"{key} [{self.unit}]"
        number = as_quantity(key, value, self.unit)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise SceneError(f"{key} must be a number, not {quote(value)}.")
        try:
            number = float(number)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise SceneError(f"{key} must be a finite number, not {quote(value)}.")
        if abs(number) > LARGEST or (self.above == 0.0 and 0.0 < number < SMALLEST):
            limit = f"at most {LARGEST:g}" if abs(number) > 1.0 else f"at least {SMALLEST:g}"
            raise SceneError(f"{key} must be {limit} in magnitude, not {quote(value)}: correct it or its unit.")
        for wrong, limit in (
            (number <= self.above, f"above {self.above:g}"),
            (number < self.least, f"at least {self.least:g}"),
            (number >= self.below, f"below {self.below:g}"),
            (number > self.most, f"at most {self.most:g}"),
        ):
            if wrong:
                raise SceneError(f"{key} must be {limit}, not {quote(value)}{self.why and ': '}{self.why}.")
        return number

    def describe(self) -> str:
        limits = [
            f"{word} {limit:g}"
            for word, limit in (
                ("above", self.above), ("at least", self.least), ("below", self.below), ("at most", self.most)
            )
            if math.isfinite(limit)
        ]  # fmt: skip
        return ", ".join(["number", *limits])

    def json(self) -> Json:
        limits = {
            name: limit
            for name, limit in (
                ("exclusiveMinimum", self.above), ("minimum", self.least),
                ("exclusiveMaximum", self.below), ("maximum", self.most),
            )
            if math.isfinite(limit)
        }  # fmt: skip
        quantity = {"type": "string", "pattern": r"^\s*[-+]?[0-9._]+([eE][-+]?[0-9]+)?.*$"}
        return {"anyOf": [{"type": "number"} | limits, quantity]}


@dataclass(frozen=True)
class Count(Kind):
    """A whole number."""

    least: int = 0
    most: int = 2**31 - 1
    why: str = ""  # what would follow from more, in words

    def check(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise SceneError(f"{key} must be a whole number, not {quote(value)}.")
        if value < self.least:
            raise SceneError(f"{key} must be at least {self.least}, not {quote(value)}.")
        if value > self.most:
            raise SceneError(f"{key} must be at most {self.most}, not {quote(value)}{self.why and ': '}{self.why}.")
        return value

    def describe(self) -> str:
        most = f", at most {self.most:,}" if self.most < 2**31 - 1 else ""
        return f"whole number, at least {self.least}{most}"

    def json(self) -> Json:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Counts(Kind):
    """One whole number, or two."""

    each: Count = Count(least=1)

    def check(self, key: str, value: Any) -> int | tuple[int, int]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return self.each.check(key, value)
        if len(value) != 2:
            raise SceneError(f"{key} must be one whole number or two, not {quote(value)}.")
        x, y = (self.each.check(key, part) for part in value)
        return (x, y)

    def describe(self) -> str:
        return f"one {self.each.describe()}, or two"

    def json(self) -> Json:
        one = self.each.json()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]}


@dataclass(frozen=True)
class Three(Kind):
    """Three finite numbers, each of which may carry a unit."""

    unit: str | None = None

    def check(self, key: str, value: Any) -> Vector:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 3:
            name = key if self.unit is None else f"{key} [{self.unit}]"
            raise SceneError(f"{name} must be three numbers like [0, 0, 1], not {quote(value)}.")
        x, y, z = (Number(self.unit).check(key, part) for part in value)
        return (x, y, z)

    def describe(self) -> str:
        return "three numbers"

    def json(self) -> Json:
        return {"type": "array", "items": Number(self.unit).json(), "minItems": 3, "maxItems": 3}


@dataclass(frozen=True)
class Turn(Kind):
    """Three angles [degrees] about the fixed axes x, then y, then z; a single one is about z."""

    unit: str | None = "deg"

    def check(self, key: str, value: Any) -> Vector:
        if not isinstance(value, Sequence) or isinstance(value, str):
            value = (0.0, 0.0, value)
        return Three(self.unit).check(key, value)

    def describe(self) -> str:
        return "three angles, or one about z"

    def json(self) -> Json:
        return {"anyOf": [Number(self.unit).json(), Three(self.unit).json()]}


@dataclass(frozen=True)
class Factors(Kind):
    """Three positive numbers; one number stands for three equal ones."""

    unit: str | None = None

    def check(self, key: str, value: Any) -> Vector:
        if not isinstance(value, Sequence) or isinstance(value, str):
            value = (value, value, value)
        if len(value) != 3:
            raise SceneError(f"{key} must be one number or three, not {quote(value)}.")
        x, y, z = (Number(self.unit, above=0).check(key, part) for part in value)
        return (x, y, z)

    def describe(self) -> str:
        return "one number or three, above 0"

    def json(self) -> Json:
        one = Number(self.unit, above=0).json()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 3, "maxItems": 3}]}


@dataclass(frozen=True)
class Choice(Kind):
    """One of the given words."""

    choices: tuple[str, ...]

    def check(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            hint = suggest(value, self.choices) if isinstance(value, str) else ""
            listing = ", ".join(f'"{choice}"' for choice in self.choices)
            one = f"one of {listing}" if len(self.choices) > 1 else listing
            raise SceneError(f"{key} must be {one}, not {quote(value)}{hint}.")
        return value

    def describe(self) -> str:
        return ", ".join(f'`"{choice}"`' for choice in self.choices)

    def json(self) -> Json:
        return {"enum": list(self.choices)}


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    def check(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise SceneError(f"{key} must be true or false, not {quote(value)}.")
        return value

    def describe(self) -> str:
        return "true or false"

    def json(self) -> Json:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Word(Kind):
    """Any text of one line that is not empty."""

    def check(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not BREAKS.isdisjoint(value):
            raise SceneError(f"{key} must be text on one line, not {quote(value)}.")
        return value

    def describe(self) -> str:
        return "text"

    def json(self) -> Json:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Or(Kind):
    """One of several kinds; if none fits, the message is that of the first."""

    kinds: tuple[Kind, ...]
    unit: str | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", self.kinds[0].unit)

    def check(self, key: str, value: Any) -> Any:
        # a word or a truth value belongs to the kind that is made of these
        for kind in self.kinds:
            if isinstance(kind, Choice) and isinstance(value, str) and value in kind.choices:
                return value
            if isinstance(kind, Flag) and isinstance(value, bool):
                return value
        first, *others = self.kinds
        name = f"{key} (or {' or '.join(_short(kind) for kind in others)})"
        return first.check(name, value)

    def describe(self) -> str:
        return ", or ".join(kind.describe() for kind in self.kinds)

    def json(self) -> Json:
        return {"anyOf": [kind.json() for kind in self.kinds]}


def _short(kind: Kind) -> str:
    if isinstance(kind, Choice):
        return " or ".join(f'"{choice}"' for choice in kind.choices)
    return kind.describe()


@dataclass(frozen=True)
class Indices(Kind):
    """A list of whole numbers."""

    def check(self, key: str, value: Any) -> tuple[int, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise SceneError(f"{key} must be a list of indices, not {quote(value)}.")
        return tuple(Count().check(key, index) for index in value)

    def describe(self) -> str:
        return "list of whole numbers"

    def json(self) -> Json:
        return {"type": "array", "items": Count().json()}


@dataclass(frozen=True)
class Sizes(Kind):
    """How many there are, or how large each but the last is: a whole number, or an ascending list of them."""

    number: Count = Count(least=1)
    each: Count = Count(least=1)

    def check(self, key: str, value: Any) -> int | tuple[int, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return self.number.check(key, value)
        sizes = tuple(self.each.check(key, size) for size in value)
        if not sizes or any(a >= b for a, b in pairwise(sizes)):
            raise SceneError(f"{key} must be a whole number, or a list of them that ascends, not {quote(value)}.")
        self.number.check(f"the number of {key}", len(sizes) + 1)
        return sizes

    def describe(self) -> str:
        return f"{self.number.describe()}; or an ascending list of whole numbers"

    def json(self) -> Json:
        listed = {"type": "array", "items": self.each.json(), "minItems": 1, "maxItems": self.number.most - 1}
        return {"anyOf": [self.number.json(), listed]}


@dataclass(frozen=True)
class Box(Kind):
    """Two corners of a box, smaller coordinates first."""

    unit: str | None = "m"

    def check(self, key: str, value: Any) -> tuple[Vector, Vector]:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
            raise SceneError(f"{key} must be two corners [[x, y, z], [x, y, z]], not {quote(value)}.")
        least, greatest = (Three(self.unit).check(key, corner) for corner in value)
        if any(a > b for a, b in zip(least, greatest, strict=True)):
            raise SceneError(f"{key} must give the corner with the smaller coordinates first.")
        return least, greatest

    def describe(self) -> str:
        return "two corners, smaller coordinates first"

    def json(self) -> Json:
        return {"type": "array", "items": Three(self.unit).json(), "minItems": 2, "maxItems": 2}
