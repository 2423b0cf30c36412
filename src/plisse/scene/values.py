"""Checks that turn what the user wrote into numbers, vectors and choices, or into one clear sentence."""

import math
from collections.abc import Sequence
from typing import Any

from plisse.core.errors import SceneError, suggest

Vector = tuple[float, float, float]


def as_number(
    key: str, value: Any, *, above: float = -math.inf, least: float = -math.inf, below: float = math.inf
) -> float:
    """A finite number with above < value < below and value ≥ least."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SceneError(f"{key} must be a number, not {value!r}.")
    if not math.isfinite(value):
        raise SceneError(f"{key} must be a finite number, not {value!r}.")
    if value <= above:
        raise SceneError(f"{key} must be above {above:g}, not {value!r}.")
    if value < least:
        raise SceneError(f"{key} must be at least {least:g}, not {value!r}.")
    if value >= below:
        raise SceneError(f"{key} must be below {below:g}, not {value!r}.")
    return float(value)


def as_count(key: str, value: Any, *, least: int = 0) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SceneError(f"{key} must be a whole number, not {value!r}.")
    if value < least:
        raise SceneError(f"{key} must be at least {least}, not {value!r}.")
    return value


def as_vector(key: str, value: Any) -> Vector:
    """Three finite numbers."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 3:
        raise SceneError(f"{key} must be three numbers like [0, 0, 1], not {value!r}.")
    x, y, z = (as_number(key, part) for part in value)
    return (x, y, z)


def as_scale(key: str, value: Any) -> Vector:
    """Three positive factors; one number stands for three equal ones."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = (value, value, value)
    x, y, z = (as_number(key, part, above=0) for part in as_vector(key, value))
    return (x, y, z)


def as_choice(key: str, value: Any, choices: Sequence[str]) -> str:
    """One of the given words."""
    if value not in choices:
        hint = suggest(value, choices) if isinstance(value, str) else ""
        listing = ", ".join(f'"{choice}"' for choice in choices)
        raise SceneError(f"{key} must be one of {listing}, not {value!r}{hint}.")
    return str(value)


def as_flag(key: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SceneError(f"{key} must be true or false, not {value!r}.")
    return value


def settle(record: object, **values: Any) -> None:
    """Store checked values in a frozen dataclass; for use in `__post_init__` only."""
    for key, value in values.items():
        object.__setattr__(record, key, value)
