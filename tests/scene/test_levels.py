"""The hierarchy table: defaults, presets, round trip, mistakes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plisse.core.errors import SceneError
from plisse.loading.scene_file import scene_from_dict, scene_to_dict
from plisse.scene.levels import METHODS, PRESETS, PROLONGATIONS, Levels, ProxySettings

SHELL = [{"shape": "grid", "vertices": 9}]


def read(**hierarchy: Any) -> Levels:
    return scene_from_dict({"shell": SHELL, "hierarchy": hierarchy}, Path()).hierarchy


def test_a_scene_that_says_nothing_has_one_level() -> None:
    scene = scene_from_dict({"shell": SHELL}, Path())
    assert scene.hierarchy == Levels() == read()
    assert scene.hierarchy.levels == 1 and scene.hierarchy.method == "progressive"
    assert scene.hierarchy.proxy_levels_up is None


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_fills_in_what_is_not_said(preset: str) -> None:
    assert read(preset=preset, levels=3).proxy == PRESETS[preset]


def test_the_default_is_a_preset_and_not_the_printed_method() -> None:
    assert read().proxy == PRESETS[Levels().preset] != PRESETS["paper"]
    # as printed: Loop, the whole membrane, no factor, one tolerance
    assert PRESETS["paper"] == ProxySettings(
        prolongation="loop", compression=1.0, membrane=1.0, bending=1.0, coarse_tol=1.0
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("key", "value"), [("prolongation", "loop"), ("prolongation", "linear"), ("compression", 0.7), ("membrane", 0.6),
                       ("bending", 1.7), ("coarse_tol", 0.77)]
)  # fmt: skip
def test_what_is_said_beats_the_preset(preset: str, key: str, value: Any) -> None:
    assert read(preset=preset, **{key: value}).proxy == replace(PRESETS[preset], **{key: value})


FULL = {
    "kind": "loop", "levels": 4, "ratio": 3.0, "method": "cascadic", "preset": "paper", "prolongation": "linear",
    "compression": 0.5, "membrane": 0.4, "bending": 2.0, "proxy_levels_up": 0, "coarse_tol": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("given", [{}, {"levels": 3}, {"preset": "paper", "levels": 2}, FULL])
def test_writing_and_reading_changes_nothing(given: dict[str, Any]) -> None:
    scene = scene_from_dict({"shell": SHELL, "hierarchy": given}, Path())
    written = scene_to_dict(scene)
    assert scene_from_dict(written, Path()) == scene
    assert given.items() <= written["hierarchy"].items()


def test_every_word_is_taken() -> None:
    for word in METHODS:
        assert read(method=word).method == word
    for kind, words in PROLONGATIONS.items():
        for word in words:
            assert read(kind=kind, prolongation=word).prolongation == word


def test_levels_by_decimation_are_a_number_and_a_ratio_or_sizes() -> None:
    assert read(kind="decimation", levels=3).targets(16000) == (1000, 4000)
    assert read(kind="decimation", levels=3, ratio=2).targets(16000) == (4000, 8000)
    sizes = read(kind="decimation", levels=[1500, 6000, 23000])
    assert sizes.count == 4 and sizes.targets(90000) == (1500, 6000, 23000)
    assert read(levels=3).count == 3


def test_decimation_has_its_own_prolongations() -> None:
    assert read(kind="decimation").proxy.prolongation == "linear"
    assert read(kind="decimation", preset="paper").proxy == replace(PRESETS["paper"], prolongation="printed")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("kind", "butterfly", "loop"),
        ("levels", 0, "levels"),
        ("levels", 2.5, "levels"),
        ("levels", True, "levels"),
        ("levels", [], "levels"),
        ("levels", [300, 200], "ascends"),
        ("levels", [200, 300], "decimation"),
        ("ratio", 1.0, "ratio"),
        ("prolongation", "shell", "does not go with"),
        ("levels", 17, "at most 16"),
        ("method", "progresive", "progressive"),
        ("preset", "papper", "paper"),
        ("prolongation", "cubic", "linear"),
        ("compression", 0, "compression"),
        ("compression", 1.2, "at most 1"),
        ("compression", "much", "compression"),
        ("membrane", 0, "membrane"),
        ("membrane", 2.0, "at most 1"),
        ("bending", -1.0, "bending"),
        ("coarse_tol", 0.0, "coarse_tol"),
        ("coarse_tol", float("nan"), "coarse_tol"),
        ("proxy_levels_up", -1, "proxy_levels_up"),
        ("proxy_levels_up", 1.5, "proxy_levels_up"),
        ("level", 3, "levels"),
    ],
)
def test_a_mistake_is_one_sentence(key: str, value: Any, says: str) -> None:
    with pytest.raises(SceneError) as error:
        read(**{key: value})
    sentence = str(error.value)
    assert sentence.startswith("hierarchy: ") and says in sentence
    assert sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize(
    ("hierarchy", "time", "says"),
    [
        ({"motion": "full-diagonal"}, {"integrator": "bdf2"}, r"full-diagonal.*Euler only.*velpro"),
        ({}, {"frame_every": 2}, r"every step.*frame_every"),
    ],
)
def test_what_a_motion_with_several_levels_cannot_have(
    hierarchy: dict[str, Any], time: dict[str, Any], says: str
) -> None:
    data = {"shell": SHELL, "hierarchy": {"levels": 2, **hierarchy}, "time": {"mode": "dynamic", **time}}
    with pytest.raises(SceneError, match=says):
        scene_from_dict(data, Path())
    one = data | {"hierarchy": {"levels": 1}}
    assert scene_from_dict(one, Path()).time.mode == "dynamic"


def test_a_half_space_cannot_be_refined() -> None:
    with pytest.raises(SceneError, match="half-space cannot be refined"):
        scene_from_dict({"shell": SHELL, "collider": [{"shape": "floor", "refine": True}]}, Path())


def test_even_the_coarsest_of_many_levels_has_a_vertex() -> None:
    # another division by the number of vertices follows
    assert read(kind="decimation", levels=6, ratio=4.0).targets(100) == (1, 1, 2, 6, 25)


def test_velpro_alone_is_drawn_to_the_level_below_by_itself() -> None:
    assert Levels().pull == 1.0 and Levels(consistency=0.0).pull == 0.0
    assert Levels(motion="semi-diagonal").pull == 0.0 and Levels(motion="semi-diagonal", consistency=0.5).pull == 0.5
