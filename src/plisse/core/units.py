"""Quantities with units: "0.3 mm", "0.82 MPa", "90 deg", "30 km/h"."""

from __future__ import annotations

import math
import re
from typing import Any

from plisse.core.errors import SceneError, suggest

Dimension = tuple[int, int, int, int]  # powers of kg, m, s and degree

_LENGTH, _MASS, _TIME, _ANGLE = (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_FORCE, _PRESSURE, _SPEED = (1, 1, -2, 0), (1, -1, -2, 0), (0, 1, -1, 0)

# factor to the SI unit (angles: to degrees) and dimension
UNITS: dict[str, tuple[float, Dimension]] = {
    "nm": (1e-9, _LENGTH), "um": (1e-6, _LENGTH), "µm": (1e-6, _LENGTH), "μm": (1e-6, _LENGTH), "mm": (1e-3, _LENGTH),
    "cm": (1e-2, _LENGTH), "dm": (0.1, _LENGTH), "m": (1.0, _LENGTH), "km": (1e3, _LENGTH),
    "in": (0.0254, _LENGTH), "ft": (0.3048, _LENGTH), "yd": (0.9144, _LENGTH),
    "mg": (1e-6, _MASS), "g": (1e-3, _MASS), "kg": (1.0, _MASS), "t": (1e3, _MASS),
    "oz": (0.028349523125, _MASS), "lb": (0.45359237, _MASS),
    "us": (1e-6, _TIME), "µs": (1e-6, _TIME), "ms": (1e-3, _TIME), "s": (1.0, _TIME), "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "Hz": (1.0, (0, 0, -1, 0)), "fps": (1.0, (0, 0, -1, 0)),
    "deg": (1.0, _ANGLE), "°": (1.0, _ANGLE), "rad": (180.0 / math.pi, _ANGLE), "turn": (360.0, _ANGLE),
    "rpm": (6.0, (0, 0, -1, 1)),
    "N": (1.0, _FORCE), "mN": (1e-3, _FORCE), "kN": (1e3, _FORCE), "gf": (9.80665e-3, _FORCE),
    "kgf": (9.80665, _FORCE), "lbf": (4.4482216152605, _FORCE),
    "Pa": (1.0, _PRESSURE), "hPa": (100.0, _PRESSURE), "kPa": (1e3, _PRESSURE), "MPa": (1e6, _PRESSURE),
    "GPa": (1e9, _PRESSURE), "mbar": (100.0, _PRESSURE), "bar": (1e5, _PRESSURE), "psi": (6894.757293168, _PRESSURE),
    "J": (1.0, (1, 2, -2, 0)), "mJ": (1e-3, (1, 2, -2, 0)),
    "gsm": (1e-3, (1, -2, 0, 0)),
    "kph": (1.0 / 3.6, _SPEED), "mph": (0.44704, _SPEED), "kn": (1852.0 / 3600.0, _SPEED),
    "%": (0.01, (0, 0, 0, 0)),
}  # fmt: skip

# How much of a wrong value a message repeats.
SHOWN = 80

_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_QUANTITY = re.compile(r"([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)\Z", re.DOTALL)
_FACTOR = re.compile(r"([^\d\s^/*·-]+)(?:\^?(-?\d{1,4}))?\Z")


def quote(value: Any) -> str:
    """What the user wrote, on one line and shortened."""
    try:
        text = repr(value)
    except ValueError:
        return "a number with thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def as_quantity(key: str, value: Any, unit: str | None) -> Any:
    """The value in the given unit; what is not text is passed on as it is.

    "0.3 mm" with the unit "m" is 0.0003. A unit of another kind, or one that is not known, is a SceneError.
    """
    if not isinstance(value, str):
        return value
    found = _QUANTITY.match(value.strip())
    if found is None:
        example = f'a number like 0.3 or a quantity like "0.3 {unit or "%"}"'
        raise SceneError(f"{key} must be {example}, not {quote(value)}.")
    number = float(found[1].replace("_", ""))
    if not found[2]:
        return number
    factor, dimension = _read_unit(key, value, found[2])
    want_factor, want = _read_unit(key, value, unit) if unit else (1.0, (0, 0, 0, 0))
    if dimension != want:
        remedy = "does not belong here"
        if want != (0,) * 4:
            remedy = f'cannot be converted to {unit}: write it in {unit}, e.g. "1 {unit}"'
        raise SceneError(f"{key} = {quote(value)}: {quote(found[2])} {remedy}.")
    # dividing by a factor such as 1e3 rounds better than multiplying by 1e-3
    ratio = factor / want_factor
    return number * ratio if ratio >= 1.0 else number / (want_factor / factor)


def length_factor(unit: str) -> float:
    """Metres per unit of length."""
    factor, dimension = _read_unit("unit", unit, unit)
    if dimension != _LENGTH:
        raise SceneError(f'unit = {quote(unit)} is not a unit of length: use "m", "cm", "mm", "in" or "ft".')
    return factor


def _read_unit(key: str, value: str, text: str) -> tuple[float, Dimension]:
    """Factor and dimension of a unit such as "kg/m³" or "N m^-2"."""
    factor, powers = 1.0, [0, 0, 0, 0]
    for number, part in enumerate(text.translate(_RAISED).split("/")):
        sign = 1 if number == 0 else -1
        for word in re.split(r"[\s*·]+", part.strip()):
            if word in ("", "1") and number == 0 and "/" in text:
                continue  # 24 /s, 24 1/s
            found = _FACTOR.match(word)
            if found is None or found[1] not in UNITS:
                if text.startswith(","):
                    raise SceneError(f"{key} = {quote(value)}: use a decimal point, e.g. 0.3.")
                name = found[1] if found is not None else word
                raise SceneError(
                    f"{key} = {quote(value)} has an unknown unit {quote(name)}{suggest(name, UNITS)}: "
                    "write e.g. mm, cm, g, kg/m3, kPa, MPa, deg, m/s."
                )
            power = sign * int(found[2] or 1)
            size, dimension = UNITS[found[1]]
            factor *= size ** (power if abs(power) <= 9 else 0)
            if abs(power) > 9 or not 1e-40 < factor < 1e40:
                raise SceneError(f"{key} = {quote(value)} has an exponent that no unit can have: correct it.")
            powers = [a + power * b for a, b in zip(powers, dimension, strict=True)]
    kg, m, s, deg = powers
    return factor, (kg, m, s, deg)
