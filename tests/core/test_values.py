"""Kinds of values: what they take, what they make of it, and what they say otherwise."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plisse.core.errors import SceneError
from plisse.core.values import Box, Choice, Count, Counts, Factors, Flag, Indices, Number, Or, Three, Turn, Word

NOT_NUMBERS = [True, None, [], {}, (1,), "x", "", math.nan, math.inf, -math.inf, "1e999", 10**400, b"1"]
KINDS = [
    Number("m", above=0), Number(least=-1, most=1), Count(1, 9), Counts(), Three("m/s"), Turn(), Factors(),
    Factors("m"), Choice(("a", "bee")), Flag(), Word(), Indices(), Box(),
    Or((Number("m", above=0), Choice(("auto",)))), Or((Number(above=1), Flag())),
]  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def refused(kind, value):
    with pytest.raises(SceneError) as caught:
        kind.check("key", value)
    said = str(caught.value)
    assert said.startswith("key") and said.endswith(".") and "\n" not in said
    return said


@settings(derandomize=True, database=None, deadline=None)
@given(st.sampled_from(KINDS), ANYTHING)
def test_any_value_is_taken_or_refused_with_a_sentence(kind, value):
    try:
        kind.check("key", value)
    except SceneError as error:
        assert str(error).startswith("key") and str(error).endswith(".") and "\n" not in str(error)


@settings(derandomize=True, database=None, deadline=None)
@given(st.sampled_from(KINDS), ANYTHING)
def test_what_is_taken_is_taken_again(kind, value):
    try:
        taken = kind.check("key", value)
    except SceneError:
        return
    assert kind.check("key", taken) == taken


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_no_number(value):
    for kind in (Number(), Number("m"), Count(), Factors(), Three()):
        refused(kind, value)


def test_numbers_carry_units_and_limits():
    kind = Number("m", above=0, most=2, why="it would not fit")
    assert kind.check("key", "3 mm") == 0.003 and kind.check("key", 2) == 2.0
    assert isinstance(kind.check("key", 2), float)
    assert refused(kind, 0) == "key [m] must be above 0, not 0: it would not fit."
    assert refused(kind, "3 m") == "key [m] must be at most 2, not '3 m': it would not fit."
    assert "at least 1" in refused(Number(least=1), 0.5) and "below 0.5" in refused(Number(below=0.5), 0.5)


@pytest.mark.parametrize(
    ("value", "word"), [(1e21, "at most"), (-1e300, "at most"), (1e-21, "at least"), (5e-324, "at least")]
)
def test_numbers_out_of_all_proportion(value, word):
    said = refused(Number("s", above=0) if value > 0 else Number("s"), value)
    assert word in said and "unit" in said


def test_small_numbers_are_fine_where_zero_is():
    assert Number().check("key", 1e-300) == 1e-300 and Number(least=0).check("key", 5e-324) == 5e-324


def test_counts():
    assert Count(1, 9).check("key", 9) == 9
    for value in (0, 10, 2.0, "3", True):
        refused(Count(1, 9), value)


def test_vectors():
    assert Three("m").check("key", ["1 cm", 2, 3.5]) == (0.01, 2.0, 3.5)
    for value in ("1 2 3", [1, 2], [1, 2, 3, 4], [1, 2, "3 kg"], [1, 2, None], 3, {}):
        refused(Three("m"), value)
    assert Turn().check("key", "0.25 turn") == (0.0, 0.0, 90.0) and Turn().check("key", [1, 2, 3]) == (1.0, 2.0, 3.0)
    assert Factors().check("key", 2) == (2.0, 2.0, 2.0) and Factors().check("key", "50 %") == (0.5, 0.5, 0.5)
    for value in ([1, 2], 0, -1, [1, 1, 0], {}):
        refused(Factors(), value)


def test_choices_suggest_the_nearest():
    assert Choice(("static", "dynamic")).check("key", "static") == "static"
    assert 'did you mean "dynamic"' in refused(Choice(("static", "dynamic")), "dynamics")
    for value in (3, None, ["static"], {}):
        assert '"static", "dynamic"' in refused(Choice(("static", "dynamic")), value)


def test_flags_and_words():
    assert Flag().check("key", False) is False and Word().check("key", "Tücher 布 1") == "Tücher 布 1"
    for value in (1, 0, "true", None):
        refused(Flag(), value)
    for value in ("", 3, None, "a\nb", "a\0", "\x1b[31m", "a\u2028b", ["a"]):
        refused(Word(), value)


def test_one_of_several_kinds():
    kind = Or((Number("m", above=0), Choice(("auto",))))
    assert kind.check("key", "auto") == "auto" and kind.check("key", "3 mm") == 0.003 and kind.unit == "m"
    assert '"auto"' in refused(kind, "automatic") and "number" in refused(kind, True)
    assert Or((Number(above=1), Flag())).check("key", True) is True


def test_indices_and_boxes():
    assert Indices().check("key", [3, 1]) == (3, 1) and Indices().check("key", []) == ()
    for value in (3, "3", [1.0], [-1], [True], [2**40], {}):
        refused(Indices(), value)
    assert Box().check("key", [["1 cm", 0, 0], [1, 1, 1]]) == ((0.01, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert "corner with the smaller coordinates first" in refused(Box(), [[1, 0, 0], [0, 1, 1]])
    for value in ("ab", [[0, 0, 0]], [[0, 0], [1, 1]], [0, 1], {}):
        refused(Box(), value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_every_kind_describes_itself(kind):
    assert kind.describe() and isinstance(kind.json(), dict)
