"""The form: every key of the schema has a control, and what a control says comes back as the scene file's value."""

from importlib.resources import as_file, files
from pathlib import Path

import pytest

from plisse.core.record import entries
from plisse.scene.colliders import Collider
from plisse.scene.scene import Scene, Shell
from plisse.studio.document import DEFAULT, Document, open_document
from plisse.studio.form import UNSET, Field, make_form, read_text, record_at, settings

EXAMPLES = ["tablecloth", "pillow", "hem", "flag", "skirt", "walk", "curtain"]


def fields_of(document: Document, path) -> dict[str, Field]:
    return {".".join(map(str, field.path)): field for part in make_form(document, path) for field in part.fields}


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return Document(DEFAULT, tmp_path)


def places(document: Document):
    return [(), *(path for path, _ in document.items()), *((key,) for key in settings())]


def test_every_key_of_the_schema_is_in_a_form(document: Document) -> None:
    document.add("motion", owner=document.add("pin", owner=("shell", 0)))
    document.add("region", owner=("shell", 0))
    document.add("motion", owner=("collider", 0))
    for path in places(document):
        record, shown = record_at(path), fields_of(document, path)
        for entry in entries(record):
            if entry.kind is not None and entry.key != "name":
                assert ".".join(map(str, (*path, entry.key))) in shown, (path, entry.key)


def test_a_new_key_appears_by_itself(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from plisse.studio import form

    def more(record):
        known = list(entries(record))
        return (
            [*known, replace(next(e for e in known if e.key == "friction"), key="novel")] if record is Shell else known
        )

    monkeypatch.setattr(form, "entries", more)
    assert "shell.0.novel" in fields_of(document, ("shell", 0))


def test_settings_are_the_tables_of_a_scene() -> None:
    assert settings() == ["wind", "contact", "solver", "time", "hierarchy"]
    assert record_at(("collider", 3)) is Collider and record_at(()) is Scene


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_form_shows_says_what_the_scene_says(name: str, tmp_path: Path) -> None:
    with as_file(files("plisse").joinpath(f"examples/{name}.toml")) as path:
        table = open_document(path).table if name not in ("skirt", "walk") else None
    if table is None:
        from plisse.loading.examples import copy_example

        table = open_document(copy_example(name, tmp_path)).table
    document = Document(table, tmp_path)
    for path in places(document):
        for field in fields_of(document, path).values():
            if not field.is_set or field.value == UNSET:
                continue
            copy = Document(document.table, tmp_path)
            copy.set(field.path, field.read(field.value))
            # units are chosen anew, and numbers shown with nine digits
            assert _near(copy.scene, document.scene), field


def _near(a: object, b: object) -> bool:
    from plisse.loading.scene_file import scene_to_dict

    def flat(value: object) -> list[object]:
        if isinstance(value, dict):
            return [part for key in sorted(value) for part in (key, *flat(value[key]))]
        return [part for each in value for part in flat(each)] if isinstance(value, list) else [value]

    pairs = list(zip(flat(scene_to_dict(a)), flat(scene_to_dict(b)), strict=True))
    return all(x == pytest.approx(y, rel=1e-8) if isinstance(x, float) else x == y for x, y in pairs)


def test_small_lengths_and_large_moduli_have_their_units(document: Document) -> None:
    shown = fields_of(document, ("shell", 0))
    thickness, E = shown["shell.0.material.thickness"], shown["shell.0.material.E"]
    assert (thickness.label, thickness.value, thickness.control) == ("thickness [mm]", 0.318, "slider")
    assert (E.label, E.value) == ("E [kPa]", 821.0)
    assert thickness.read(0.5) == "0.5 mm"
    nu = shown["shell.0.material.nu"]
    assert nu.most is not None and nu.most < 0.5


def test_sliders_hold_their_value_and_their_limits(document: Document) -> None:
    for path in places(document):
        for field in fields_of(document, path).values():
            if field.control == "slider":
                assert field.least <= field.value <= field.most
                # both ends can be set without being refused for their kind
                copy = Document(document.table, document.base)
                if field.path[-1] in ("nu", "rest", "friction", "turbulence"):
                    copy.set(field.path, field.read(field.least))
                    copy.set(field.path, field.read(field.most))


def test_text_is_read_as_in_a_scene_file() -> None:
    assert read_text("0.3 mm") == "0.3 mm"
    assert read_text("[1, 2, 3]") == [1, 2, 3]
    assert read_text("true") is True
    assert read_text("  ") is None
    assert read_text('"7"') == "7"
    assert read_text('[{ time = 0, value = "1 Pa" }]') == [{"time": 0, "value": "1 Pa"}]
