"""Regions of a shell: what they may hold, and which material follows."""

from pathlib import Path
from typing import Any

import pytest

from plisse.core.errors import SceneError
from plisse.loading.scene_table import scene_from_dict, scene_to_dict
from plisse.scene.materials import Material
from plisse.scene.presets import PRESETS
from plisse.scene.regions import Region
from plisse.scene.scene import Scene, Shell

COTTON, DENIM = PRESETS["cotton"], PRESETS["denim"]
SHEET: dict[str, Any] = {"name": "cloth", "shape": "grid", "vertices": 25}


def scene_with(*regions: dict[str, Any], **shell: Any) -> Scene:
    return scene_from_dict({"shell": [SHEET | {"region": list(regions)} | shell]}, Path())


def shell_with(*regions: dict[str, Any], **more: Any) -> Shell:
    return scene_with(*regions, **more).shells[0]


def test_keys_replace_values_of_the_shell_s_material() -> None:
    shell = shell_with({"boundary": True, "density": "2 g/cm3", "E_bend": "5 MPa", "thickness": "1 mm"})
    own, hem = shell.materials
    assert own == COTTON
    assert (hem.density, hem.E_bend, hem.thickness) == pytest.approx((2000.0, 5e6, 1e-3))
    assert (hem.E, hem.nu, hem.strain_limit) == (COTTON.E, COTTON.nu, None)


def test_a_region_may_be_of_another_material_with_some_values_replaced() -> None:
    _, hem = shell_with({"boundary": True, "material": "denim"}).materials
    assert hem == DENIM
    _, hem = shell_with({"boundary": True, "material": "denim", "E": 3e6}).materials
    assert (hem.E, hem.E_bend, hem.thickness) == (3e6, DENIM.E_bend, DENIM.thickness)


def test_a_modulus_alone_serves_for_bending_too_as_in_a_material() -> None:
    _, hem = shell_with({"boundary": True, "E": 3e6}).materials
    assert hem.bending_modulus == 3e6


def test_a_strain_limit_is_a_number_or_the_preset_s_or_none() -> None:
    limited = {"preset": "cotton", "strain_limit": 1.1}
    for given, expected in ((1.03, 1.03), (True, COTTON.published_limit), (False, None)):
        _, hem = shell_with({"boundary": True, "strain_limit": given}, material=limited).materials
        assert hem.strain_limit == expected


def test_keyframed_materials_shine_through_and_given_values_stay() -> None:
    keys = [{"time": 0, "value": 1e6}, {"time": 1, "value": 3e6}]
    scene = scene_with({"boundary": True, "density": 900}, material={"preset": "cotton", "E": keys})
    own, hem = scene.at(0.5).shells[0].materials
    assert (own.E, hem.E, own.density, hem.density) == (2e6, 2e6, COTTON.density, 900)
    scene = scene_with({"boundary": True, "E": 5e6}, material={"preset": "cotton", "E": keys})
    assert [m.E for m in scene.at(0.5).shells[0].materials] == [2e6, 5e6]


def test_the_material_of_a_region_may_be_keyframed_itself() -> None:
    keys = [{"time": 0, "value": 1e6}, {"time": 1, "value": 3e6}]
    scene = scene_with({"boundary": True, "material": {"preset": "denim", "E": keys}})
    assert [m.E for m in scene.at(0.5).shells[0].materials] == [COTTON.E, 2e6]
    assert scene_from_dict(scene_to_dict(scene), Path()) == scene


def test_what_a_region_gives_is_what_its_keys_and_its_material_name() -> None:
    (region,) = shell_with({"boundary": True, "E": 3e6}).regions
    names = ("density", "thickness", "E", "nu", "bending_modulus", "strain_limit", "strain_onset")
    assert [name for name in names if region.gives(name, COTTON)] == ["E", "bending_modulus"]
    assert [name for name in names if region.gives(name, DENIM)] == ["E"]  # denim has a bending modulus of its own
    (region,) = shell_with({"boundary": True, "strain_limit": False}).regions
    assert [name for name in names if region.gives(name, COTTON)] == ["strain_limit", "strain_onset"]
    (region,) = shell_with({"boundary": True, "material": "denim"}).regions
    assert all(region.gives(name, COTTON) for name in names)


def test_regions_survive_writing_and_reading() -> None:
    scene = scene_with(
        {"box": [[0, 0, 0], [1, 1, "1 cm"]], "material": "denim", "strain_limit": 1.04},
        {"weights": "hem.txt", "E": "2 MPa"},
        {"attribute": "hem", "material": {"preset": "silk", "thickness": "1 mm"}},
        {"boundary": True, "near": [0, 0, 1], "strain_limit": False},
    )
    assert scene_from_dict(scene_to_dict(scene), Path()) == scene


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ({"E": 1e6}, "region.0: A region needs exactly one of vertices, .*, boundary, attribute and weights"),
        ({"boundary": True, "attribute": "hem", "E": 1e6}, "exactly one"),
        ({"boundary": True}, "A region changes nothing: give material, density, .* or strain_limit"),
        ({"group": "hem", "E": -1}, r"region.0: E \[Pa\] must be above 0"),
        ({"group": "hem", "thickness": "1 kg"}, "thickness"),
        ({"group": "hem", "nu": 0.6}, "nu must be below 0.5"),
        ({"group": "hem", "material": "demin"}, 'did you mean "denim"'),
        ({"group": "hem", "strain_limit": 1.02}, r"region.0: strain_onset must be below strain_limit = 1.02"),
        ({"group": "hem", "E": [{"time": 0, "value": 1}]}, "E"),
        ({"group": "hem", "motion": []}, "unknown key.*motion"),
        ({"group": "hem", "stiffness": 1}, "unknown key.*stiffness"),
        ({"weights": 3, "E": 1}, "weights must be text on one line"),
    ],
)
def test_bad_regions_are_one_sentence(region: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        scene_with(region, material={"preset": "cotton", "strain_onset": 1.03, "strain_limit": 1.06})


def test_a_region_is_a_plain_record() -> None:
    region = Region(boundary=True, E=2e6)
    assert region == Region(boundary=True, E=2e6) and region.over(COTTON).E == 2e6
    assert isinstance(region.over(COTTON), Material)
