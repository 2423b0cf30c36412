"""Quantities with units."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plisse.core.errors import SceneError
from plisse.core.units import UNITS, as_quantity, length_factor, quote


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("0.3 mm", "m", 0.3e-3), ("0.3mm", "m", 0.3e-3), ("  3 mm ", "m", 3e-3), ("-2 cm", "m", -0.02),
        ("+.5 m", "m", 0.5), ("5. m", "m", 5.0), ("1e-3 km", "m", 1.0), ("1_000 mm", "m", 1.0), ("12 in", "m", 0.3048),
        ("1 ft", "m", 0.3048), ("3 µm", "m", 3e-6), ("3 um", "m", 3e-6),
        ("0.82 MPa", "Pa", 0.82e6), ("1 N/m2", "Pa", 1.0), ("1 N/m^2", "Pa", 1.0), ("1 N/m²", "Pa", 1.0),
        ("1 N m^-2", "Pa", 1.0), ("1 N·m⁻²", "Pa", 1.0), ("1 N*m-2", "Pa", 1.0), ("1 kg/m/s2", "Pa", 1.0),
        ("1 bar", "Pa", 1e5), ("1 psi", "Pa", 6894.757293168), ("1 J/m3", "Pa", 1.0),
        ("90 deg", "deg", 90.0), ("90°", "deg", 90.0), ("0.5 turn", "deg", 180.0), (f"{math.pi} rad", "deg", 180.0),
        ("1 turn/s", "deg/s", 360.0), ("10 rpm", "deg/s", 60.0),
        ("20 ms", "s", 0.02), ("1.5 min", "s", 90.0), ("30 fps", "Hz", 30.0), ("30 1/s", "Hz", 30.0),
        ("36 km/h", "m/s", 10.0), ("1 kn", "m/s", 1852 / 3600), ("9.81 m/s2", "m/s²", 9.81), ("1 g/cm3", "kg/m³", 1e3),
        ("200 gsm", "kg/m²", 0.2), ("200 g/m2", "kg/m2", 0.2), ("30 %", None, 0.3),
        ("7", "m", 7.0), ("7", None, 7.0), ("1 gf cm2/cm", "N m", 9.80665e-5), ("٣ mm", "m", 3e-3),
    ],
)  # fmt: skip
def test_quantities(text, unit, value):
    assert as_quantity("key", text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("value", [3, 2.5, True, None, [1, 2], {"a": 1}])
def test_what_is_not_text_is_passed_on(value):
    assert as_quantity("key", value, "m") is value


def test_decimal_factors_round_as_written_numbers_do():
    for number in range(1, 1000):
        assert as_quantity("key", f"{number} mm", "m") == number / 1000
        assert as_quantity("key", f"{number} MPa", "Pa") == number * 1e6


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("three mm", "m", ["must be a number", "0.3 m", "'three mm'"]),
        ("", "m", ["must be a number", "''"]),
        ("mm", "m", ["must be a number"]),
        ("nan m", "m", ["must be a number"]),
        ("much", None, ["must be a number", '"0.3 %"']),
        ("3 kg", "m", ["'kg' cannot be converted to m", '"1 m"']),
        ("3 m2", "m", ["'m2' cannot be converted to m"]),
        ("3 %", "m", ["'%' cannot be converted to m"]),
        ("3 m", None, ["'m' does not belong here"]),
        ("3 mmm", "m", ["unknown unit 'mmm'", 'did you mean "mm"']),
        ("3 Mm", "m", ["unknown unit 'Mm'"]),
        ("0,3 mm", "m", ["use a decimal point"]),
        ("3 m/", "m", ["unknown unit ''"]),
        ("3 m^", "m", ["unknown unit"]),
        ("3 1e", "m", ["unknown unit"]),
        ("3 m^99", "m", ["an exponent that no unit can have"]),
        ("3 m" + "9" * 5000, "m", ["unknown unit", "…"]),
        ("1 m nm^9 m^-9 nm^9 m^-9", "m", ["an exponent that no unit can have"]),
        ("1 m km^9 m^-9 km^9 m^-9", "m", ["an exponent that no unit can have"]),
        ("3 m\nm", "m", ["'m\\nm' cannot be converted to m"]),
        ("1" + " " * 100_000 + "x", "m", ["unknown unit 'x'"]),
    ],
)
def test_wrong_units_are_one_sentence(text, unit, words):
    with pytest.raises(SceneError) as caught:
        as_quantity("key", text, unit)
    said = str(caught.value)
    assert said.startswith("key ") and said.endswith(".") and "\n" not in said and len(said) < 400
    for word in words:
        assert word in said


def test_digits_without_end_are_infinite():
    assert as_quantity("key", "9" * 10_000, "m") == math.inf


@settings(derandomize=True, database=None, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_number_or_a_sentence(text):
    try:
        assert isinstance(as_quantity("key", text, "m"), float)
    except SceneError as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@settings(derandomize=True, database=None, deadline=None)
@given(st.sampled_from(sorted(UNITS)), st.sampled_from(["", "2", "^-1", "³"]), st.floats(-1e6, 1e6))
def test_a_quantity_in_its_own_unit_is_its_number(unit, power, number):
    if unit == "%":
        return
    assert as_quantity("key", f"{number!r} {unit}{power}", unit + power) == number


def test_lengths():
    assert [length_factor(unit) for unit in ("m", "cm", "mm", "in")] == [1.0, 0.01, 0.001, 0.0254]
    for unit, word in (("kg", "unit of length"), ("m2", "unit of length"), ("metre", "unknown unit"), ("", "unknown")):
        with pytest.raises(SceneError, match=word):
            length_factor(unit)


def test_values_are_told_on_one_line_and_not_at_length():
    assert quote("a\nb") == "'a\\nb'" and quote(3) == "3"
    assert quote([0] * 1000).endswith("…") and len(quote([0] * 1000)) < 100
    assert quote(16**5000) == "a number with thousands of digits"
