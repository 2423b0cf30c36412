"""Materials and presets."""

import pytest

from plisse.core.errors import SceneError
from plisse.scene.materials import Material
from plisse.scene.presets import PRESETS, make_material


def test_cotton_as_published():
    cotton = make_material("cotton")
    assert (cotton.density, cotton.thickness, cotton.E, cotton.nu) == (472.64, 0.318e-3, 0.821e6, 0.243)
    assert cotton.bending_modulus == cotton.E and cotton.strain_limit is None
    assert cotton.area_density == pytest.approx(0.1503, rel=1e-3)
    assert cotton == PRESETS["cotton"]


def test_strain_limit_by_word_and_number():
    assert make_material("cotton", strain_limit=True).strain_limit == 1.0608
    assert make_material("cotton", strain_limit=1.1).strain_limit == 1.1
    assert make_material("cotton", strain_limit=False).strain_limit is None
    with pytest.raises(SceneError, match="published"):
        make_material("aluminium", strain_limit=True)


def test_bending_modulus_of_its_own():
    assert make_material("cotton", E_bend=1e4).bending_modulus == 1e4
    assert make_material("cotton", E_bend=0).bending_modulus == 0


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"density": 0}, "density"),
        ({"thickness": -1e-3}, "thickness"),
        ({"E": float("nan")}, "E"),
        ({"E": "stiff"}, "E"),
        ({"nu": 0.6}, "nu"),
        ({"nu": -1}, "nu"),
        ({"E_bend": -1}, "E_bend"),
        ({"bending": "plates"}, 'bending must be one of "hinge", "plate", not .plates. .did you mean "plate"'),
        ({"bending": 3}, "bending"),
        ({"strain_limit": 0.9}, "strain_limit"),
        ({"strain_limit": 1.05, "strain_onset": 1.05}, "strain_onset"),
        ({"strain_onset": 0.9}, "strain_onset"),
        ({"preset": "coton"}, 'did you mean "cotton"'),
        ({"preset": 3}, "preset"),
    ],
)
def test_non_physical_values_are_named(values, word):
    with pytest.raises(SceneError, match=word):
        make_material(**({"preset": "cotton"} | values))


def test_explicit_material_needs_all():
    with pytest.raises(SceneError, match="thickness, nu"):
        make_material(density=1.0, E=1.0)
    assert make_material(density=1.0, thickness=1.0, E=1.0, nu=0.0) == Material(1.0, 1.0, 1.0, 0.0)
