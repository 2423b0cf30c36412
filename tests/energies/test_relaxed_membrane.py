"""The membrane with relaxed compression: closed forms, the plain model as its limit, C¹ across its states."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from tests.potentials import SHEET, full, make_membrane, principal_stretches, tension_states, wrinkled

from plisse.energies.membrane import Membrane
from plisse.shapes import catalogue as shapes

STRIP = shapes.grid(0.4, 0.2, resolution=(4, 3), diagonals="jittered", seed=1)
E, NU, THICKNESS = 1e4, 0.3, 1e-3


def strip(compression: float, nu: float = NU) -> Membrane:
    return Membrane(
        STRIP, E=full(STRIP, E), nu=full(STRIP, nu), thickness=full(STRIP, THICKNESS), compression=compression
    )


def stretch(s1: float, s2: float) -> np.ndarray:
    """The flat strip, stretched by s1 along a slanted direction and by s2 across it, bent out of its plane's axes."""
    turn = np.array([[np.cos(0.4), np.sin(0.4), 0], [-np.sin(0.4), np.cos(0.4), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, 0.6, -0.8], [0, 0.8, 0.6]])
    return STRIP.X @ turn.T @ np.diag([s1, s2, 1.0]) @ tilt.T


def natural_width(s1: float, nu: float = NU) -> float:
    mu, lam = 1.0 / (2.0 * (1.0 + nu)), nu / (1.0 - nu**2)
    bracket = (-5.0, 0.0) if nu >= 0.0 else (0.0, 5.0)
    return float(np.exp(brentq(lambda t: mu * np.expm1(2 * t) + lam * (np.log(s1) + t), *bracket, xtol=1e-15)))


def test_whole_compression_is_the_plain_model() -> None:
    plain = Membrane(SHEET, E=full(SHEET, E), nu=full(SHEET, 0.3), thickness=full(SHEET, THICKNESS))
    whole, nearly = make_membrane(E, 1.0), make_membrane(E, 1.0 - 1e-15)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = wrinkled(rng)
        assert whole.value(x) == plain.value(x)
        assert np.array_equal(whole.gradient(x), plain.gradient(x))
        assert np.array_equal(whole.hessian(x).blocks[0].blocks, plain.hessian(x).blocks[0].blocks)
        assert np.isclose(nearly.value(x), plain.value(x), rtol=1e-12)
        assert np.allclose(nearly.gradient(x), plain.gradient(x), rtol=1e-12, atol=1e-12 * E * THICKNESS)


def test_compression_may_differ_between_triangles() -> None:
    x = wrinkled(np.random.default_rng(1))
    s = np.where(np.arange(len(SHEET.triangles)) % 2, 1.0, 0.2)
    states, _ = tension_states(principal_stretches(SHEET, x), 0.3)
    # what compression does to a taut triangle is nothing, so only the others tell which number they got
    assert {*states[s == 1.0]} >= {0, 1} and {*states[s < 1.0]} >= {0, 1}
    mixed = Membrane(SHEET, E=full(SHEET, E), nu=full(SHEET, 0.3), thickness=full(SHEET, THICKNESS), compression=s)
    parts = [
        Membrane(SHEET, E=full(SHEET, E), nu=full(SHEET, 0.3), thickness=THICKNESS * (s == each), compression=each)
        for each in (1.0, 0.2)
    ]
    assert np.isclose(mixed.value(x), sum(part.value(x) for part in parts), rtol=1e-13)
    assert np.allclose(mixed.gradient(x), sum(part.gradient(x) for part in parts), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("nu", [-0.4, 0.0, 0.243, 0.5])
@pytest.mark.parametrize("s1", [1.001, 1.05, 1.5, 10.0])
def test_uniaxial_tension_does_not_depend_on_compression(s1: float, nu: float) -> None:
    x = stretch(s1, natural_width(s1, nu))
    plain = strip(1.0, nu)
    g = plain.gradient(x)
    for s in (0.0, 0.03, 0.3):
        assert np.isclose(strip(s, nu).value(x), plain.value(x), rtol=1e-9)
        assert np.allclose(strip(s, nu).gradient(x), g, atol=1e-10 * np.abs(g).max())


@pytest.mark.parametrize("nu", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("s", [0.0, 0.03, 0.3])
def test_wrinkled_strip_pulls_as_if_it_had_its_natural_width(s: float, nu: float) -> None:
    s1 = 1.08
    taut = strip(1.0, nu).value(stretch(s1, natural_width(s1, nu)))
    for s2 in (0.02, 0.3, 0.8, 0.95):
        x = stretch(s1, s2)
        assert np.isclose(strip(s, nu).value(x), s * strip(1.0, nu).value(x) + (1 - s) * taut, rtol=1e-10)


@pytest.mark.parametrize("s", [0.03, 0.3])
def test_taut_strip_is_the_plain_model_and_slack_strip_a_part_of_it(s: float) -> None:
    x = stretch(1.1, 1.02)
    assert np.isclose(strip(s).value(x), strip(1.0).value(x), rtol=1e-14)
    assert np.allclose(strip(s).gradient(x), strip(1.0).gradient(x), rtol=1e-12, atol=1e-15)
    for s2 in (0.4, 0.9, 0.99):
        x = stretch(1.0 - 1e-12, s2)
        assert np.isclose(strip(s).value(x), s * strip(1.0).value(x), rtol=1e-12)


@pytest.mark.parametrize("s", [0.03, 0.3])
def test_strip_with_free_sides_keeps_a_part_of_its_resistance_to_compression(s: float) -> None:
    """Exactly s for ν = 0. Otherwise widening sideways is tension, which is not relaxed: less than s / (1 − ν²)."""

    def squeeze(part: float, nu: float) -> float:
        membrane = strip(part, nu)
        best = minimize_scalar(lambda s1: membrane.value(stretch(s1, 0.99)), bracket=(1.0, 1.001), tol=1e-12)
        return float(best.fun)

    assert np.isclose(squeeze(s, 0.0), s * squeeze(1.0, 0.0), rtol=1e-8)
    ratio = squeeze(s, NU) / squeeze(1.0, NU)
    # small strains: e₁ = −s ν e₂ / (1 − (1 − s) ν²) minimises the sum
    assert np.isclose(ratio, s / (1.0 - (1.0 - s) * NU**2), rtol=0.02)
    assert s < ratio < s / (1.0 - NU**2) * 1.02


@pytest.mark.parametrize("s", [0.03, 0.3])
@pytest.mark.parametrize("kink", ["slack to wrinkled", "wrinkled to taut", "slack to taut"])
def test_value_and_gradient_are_continuous_between_the_states(kink: str, s: float) -> None:
    membrane = strip(s)
    path = {
        "slack to wrinkled": lambda a: stretch(1.0 + a, 0.9),
        "wrinkled to taut": lambda a: stretch(1.07, natural_width(1.07) + a),
        "slack to taut": lambda a: stretch(1.0 + a, 1.0 + a),
    }[kink]
    before, after = (
        tension_states(principal_stretches(STRIP, path(a)), NU)[0] for a in (-1e-6, 1e-6)
    )  # fmt: skip
    assert sorted({*before, *after}) == {"slack to wrinkled": [0, 1], "wrinkled to taut": [1, 2]}.get(kink, [0, 2])
    stiffness = E * THICKNESS * 0.2  # of a whole vertex row, at least
    for eps in (1e-5, 1e-7, 1e-9):
        assert abs(membrane.value(path(eps)) - membrane.value(path(-eps))) < 5.0 * eps * E * THICKNESS * 0.08
        assert np.abs(membrane.gradient(path(eps)) - membrane.gradient(path(-eps))).max() < 5.0 * eps * stiffness


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_collapsed_triangles_are_refused(s: float) -> None:
    assert strip(s).value(stretch(0.9, 0.0)) == np.inf
    assert strip(s).value(stretch(1.2, 0.0)) == np.inf


@pytest.mark.parametrize("s", [0.0, 0.03, 0.3])
def test_projected_hessian_is_positive_semidefinite_in_every_state(s: float) -> None:
    rng = np.random.default_rng(3)
    for s1, s2 in rng.uniform(0.2, 2.0, (200, 2)):
        H = strip(s).hessian(stretch(s1, s2)).blocks[0].dense()
        values = np.linalg.eigvalsh(H)
        assert np.isfinite(H).all()
        assert values.min() >= -1e-9 * max(values.max(), 1e-300)


def test_another_part_of_the_compression_is_another_membrane_on_the_same_stencils() -> None:
    plain, kept, rng = strip(1.0), strip(0.1), np.random.default_rng(2)
    other = plain.keeping(0.1)
    x = STRIP.X + rng.uniform(-0.01, 0.01, STRIP.X.shape)
    assert other.value(x) == kept.value(x) != plain.value(x)
    assert np.array_equal(other.gradient(x), kept.gradient(x))
    # the sparsity pattern is known by them
    assert other.stencils()[0] is plain.stencils()[0]
    assert other.keeping(1.0).value(x) == plain.value(x)
