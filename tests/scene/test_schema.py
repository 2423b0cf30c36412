"""The schema: its page and its JSON form are up to date, and agree with what the reader takes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.loading.scene_table import scene_from_dict
from plisse.scene.schema import as_json, as_markdown, as_text
from plisse.shapes.catalogue import SHAPES

ROOT = Path(__file__).parents[2]
SCENES = sorted([*ROOT.glob("src/plisse/gallery/*.toml"), *ROOT.glob("src/plisse/examples/*.toml")])
SHEET: dict[str, Any] = {"shape": "grid", "vertices": 9}


@pytest.mark.parametrize(("name", "written"), [("scene.md", as_markdown), ("scene.schema.json", as_json)])
def test_what_the_documentation_holds_is_what_the_schema_says(name: str, written: Any) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == written(), f"write docs/{name} anew: plisse schema"


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_every_example_fits_the_schema(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), json.loads(as_json()))


@pytest.mark.parametrize(
    "scene",
    [
        {"shell": [SHEET | {"material": {"preset": "cotton", "thickness": "0.1 mm"}}]},
        {
            "shell": [SHEET | {"rotate": "90 deg", "scale": 2, "translate": ["1 cm", 0, 0]}],
            "gravity": [0, 0, "-1 m/s2"],
        },
        {"shell": [SHEET | {"pin": [{"corners": True, "motion": [{"time": "1 s", "rotate": 720}]}]}]},
        {"shell": [{"shape": "sphere", "pressure": [{"time": 0, "value": 1}, {"time": 1, "value": "2 kPa"}]}]},
        {"shell": [SHEET], "hierarchy": {"compression": "auto", "bending": 2}},
        {
            "shell": [SHEET],
            "collider": [{"shape": "floor", "height": "-1 m"}, {"shape": "box", "size": [1, "2 cm", 3]}],
        },
        {"shell": [{"shape": "grid", "resolution": [3, 2], "width": "20 cm"}]},
        {"shell": [SHEET | {"material": {"preset": "cotton", "strain_limit": True}}], "wind": {"velocity": [1, 0, 0]}},
    ],
)
def test_what_the_reader_takes_fits_the_schema(scene: dict[str, Any]) -> None:
    scene_from_dict(scene, Path())
    jsonschema.validate(scene, json.loads(as_json()))


@pytest.mark.parametrize(
    "scene",
    [
        {},
        {"shell": SHEET},
        {"shell": [SHEET | {"colour": "red"}]},
        {"shell": [SHEET | {"material": "cottn"}]},
        {"shell": [SHEET | {"shape": "gird"}]},
        {"shell": [SHEET | {"pin": [{"corners": "yes"}]}]},
        {"shell": [{"shape": "sphere", "radius": -1}]},
        {"shell": [{"shape": "sphere", "radius": [1, 1, 1]}]},
        {"shell": [SHEET | {"vertices": 2}]},
        {"shell": [SHEET | {"diagonals": "random"}]},
        {"shell": [SHEET], "collider": [{"shape": "cylinder", "closed": 1}]},
        {"shell": [SHEET], "time": {"mode": "still"}},
        {"shell": [SHEET], "contact": {"friction": -1}},
        {"shell": [SHEET], "solver": {"max_iterations": 2.5}},
    ],
)
def test_what_the_reader_refuses_does_not_fit_either(scene: dict[str, Any]) -> None:
    with pytest.raises(SceneError):
        scene_from_dict(scene, Path())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(scene, json.loads(as_json()))


def test_units_are_beside_every_key_that_has_one() -> None:
    page = as_markdown()
    for line in (
        "| `thickness` | m |",
        "| `E` | Pa |",
        "| `gravity` | m/s² |",
        "| `friction_speed` | m/s |",
        "| `rotate` | deg |",
        "| `radius` | m |",
        "| `duration` | s |",
    ):
        assert line in page
    assert all(f"### `{shape}`" in page for shape in SHAPES)


@pytest.mark.parametrize(("form", "begins"), [("text", "Top level"), ("json", "{"), ("markdown", "# Scene")])
def test_the_command_prints_it(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--format", form]) == 0
    told = capsys.readouterr().out
    assert told.startswith(begins)
    assert {"text": as_text() + "\n", "json": as_json(), "markdown": as_markdown()}[form] == told
