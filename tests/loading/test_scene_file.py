"""Scenes from TOML."""

import json
from pathlib import Path

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene, scene_from_dict, scene_to_dict
from plisse.scene.pins import Ball, select_vertices
from plisse.scene.presets import PRESETS
from plisse.scene.schedule import Keyframe

GALLERY = sorted((Path(__file__).parents[2] / "src/plisse/gallery").glob("*.toml"))
SMALLEST = """
[[shell]]
shape = "grid"
material = "cotton"
[[collider]]
shape = "sphere"
"""
RICH = """
name = "everything"
gravity = [0, 0, -1.6]
seed = 7
[[shell]]
name = "bag"
shape = "sphere"
radius = 0.1
translate = [0, 0, 1]
velocity = [0, 0, -1]
scale = 2
material = { preset = "polyester", thickness = 2e-4, strain_limit = true }
pressure = { kind = "gas", value = 50 }
[[shell.pin]]
sphere = { center = [0, 0, 1.2], radius = 0.05 }
[[shell.pin.motion]]
time = 1
rotate = [0, 0, 720]
[[shell]]
shape = "grid"
resolution = [4, 3]
translate = [0, 0, 2]
material = { density = 100, thickness = 1e-3, E = 1e5, nu = 0.2, E_bend = 1e3 }
[[shell.pin]]
corners = true
[[collider]]
shape = "box"
size = [1, 1, 0.2]
translate = [0, 0, 0]
pivot = [0, 0, 0.1]
[[collider.motion]]
time = 2
scale = [1, 1, 0.5]
[[collider]]
half_space = { point = [0, 0, -1], normal = [0, 1, 5] }
[wind]
velocity = [3, 0, 0]
[contact]
dhat = 1e-3
[solver]
tol = 0.001
[time]
mode = "dynamic"
integrator = "bdf2"
"""


@pytest.fixture
def write(tmp_path):
    def write_scene(text):
        path = tmp_path / "scene.toml"
        path.write_text(text)
        return path

    return write_scene


def test_five_lines_are_a_feasible_scene(write):
    scene = load_scene(write(SMALLEST))
    geometry = load_geometry(scene, Path("."))
    assert scene.name == "scene" and scene.shells[0].material == PRESETS["cotton"]
    assert len(geometry.shells[0].X) == 1600
    assert geometry.colliders[0].X[:, 2].max() == pytest.approx(-0.01)


def test_defaults_go_below_whatever_is_there(write):
    text = '[[shell]]\nshape="sphere"\ntranslate=[2,0,1]\n[[collider]]\nshape="box"\n[[collider]]\nshape="floor"'
    scene = load_scene(write(text))
    assert scene.colliders[0].translate == pytest.approx((2, 0, 0.75 - 0.01 - 0.25))
    assert scene.colliders[1].half_space.point[2] == pytest.approx(0.24 - 0.01)


def test_everything_is_read(write):
    scene = load_scene(write(RICH))
    bag, sheet = scene.shells
    assert bag.material.strain_limit == 1.0646 and bag.material.thickness == 2e-4 and bag.scale == (2, 2, 2)
    assert bag.pins[0].sphere == Ball((0, 0, 1.2), 0.05)
    assert bag.pins[0].motion == (Keyframe(1.0, rotate=(0, 0, 720)),)
    assert bag.pressure.kind == "gas" and sheet.material.bending_modulus == 1e3 and sheet.name == "shell-1"
    assert scene.colliders[0].center == (0, 0, 0.1) and scene.colliders[1].half_space.point == (0, 0, -1)
    assert scene.wind.velocity == (3, 0, 0) and scene.time.integrator == "bdf2" and scene.seed == 7


@pytest.mark.parametrize("text", [SMALLEST, RICH])
def test_round_trip_through_json(write, text):
    scene = load_scene(write(text))
    assert scene_from_dict(json.loads(json.dumps(scene_to_dict(scene))), Path(".")) == scene


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_scenes_load(path):
    scene = load_scene(path)
    geometry = load_geometry(scene, path.parent)
    for shell, mesh, x in zip(scene.shells, geometry.shells, geometry.shell_positions, strict=True):
        assert np.isfinite(x).all()
        assert all(len(select_vertices(pin, mesh, x)) for pin in shell.pins)
    assert scene_from_dict(scene_to_dict(scene), path.parent) == scene


def test_overrides(write):
    overrides = [
        "shell.0.material.E=1e6",
        "shell.material.strain_limit=true",
        "shell.vertices = 400",
        "collider.0.radius=0.1",
        "contact.friction=0.5",
        "time={mode='dynamic', h=0.01}",
        "name=my scene",
        "collider.translate=[0, 0, -1]",
    ]
    scene = load_scene(write(SMALLEST), overrides)
    material = scene.shells[0].material
    assert (material.E, material.strain_limit, material.name) == (1e6, 1.0608, "cotton")
    assert scene.shells[0].mesh.parameters == {"vertices": 400}
    assert scene.contact.friction == 0.5 and scene.time.h == 0.01 and scene.name == "my scene"
    assert scene.colliders[0].translate == (0, 0, -1)


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ("contact", "form"),
        ("=3", "form"),
        ("shell.1.name=x", "shell.0.name=x"),
        ("shell.0.shape.x=3", "plain value"),
        ("contact.fricton=1", r'contact: .*did you mean "friction"'),
        ("shell.thickness=1", "shell.0: unknown key"),
        ("shell.shape=gird", 'did you mean "grid"'),
        ("shell.shape=3", "text"),
        ("shell.material=velvet", "no material"),
        ("shell.material=3", "table"),
        ("shell.material.thickness=-1", "shell.0: material: thickness"),
        ("shell.pin=[{}]", r"pin\.0: .*exactly one"),
        ("shell.pin={}", r"\[\[shell\.pin\]\]"),
        ("shell.pin=[{sphere={radius=1}}]", "center is missing"),
        ("shell.pressure=true", "pressure: value"),
        ("collider.motion=[{time=-1}]", r"motion\.0: time"),
        ("collider.half_space={}", "half-space has no"),
        ("shell.file=a.obj", "exactly one of file"),
        ("shell=3", r"\[\[shell\]\]"),
        ("shell=[]", "at least one shell"),
        ("time.mode=dynamics", "mode"),
        ("wind=3", "wind: this must be a table"),
        ("name=3", "name"),
        ("seed=x", "seed"),
    ],
)
def test_mistakes_are_one_sentence(write, override, word):
    with pytest.raises(SceneError, match=word) as caught:
        load_scene(write(SMALLEST), [override])
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_missing_and_broken_files(tmp_path, write):
    with pytest.raises(SceneError, match="does not exist"):
        load_scene(tmp_path / "nothing.toml")
    with pytest.raises(SceneError, match="is a folder"):
        load_scene(tmp_path)
    with pytest.raises(SceneError, match="not valid TOML"):
        load_scene(write("[[shell"))
    with pytest.raises(SceneError, match="floor"):
        load_scene(write('[[shell]]\nshape = "floor"\n'))
