"""The scene that is edited: changes, refusals, the way back, and the file that is left behind."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from plisse.core.errors import SceneError
from plisse.loading.scene_file import load_scene
from plisse.loading.scene_text import write_table
from plisse.studio.document import DEFAULT, Document, check_name, open_document

SCENES = [file for folder in ("examples", "gallery") for file in files("plisse").joinpath(folder).iterdir()]


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return Document(DEFAULT, tmp_path)


@pytest.mark.parametrize("file", [f for f in SCENES if f.name.endswith(".toml")], ids=lambda file: file.name)
def test_every_scene_is_written_as_it_was_read(file) -> None:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    assert tomllib.loads(write_table(table)) == table


def test_odd_words_survive_in_a_file() -> None:
    table = {
        'a "b"\\': "line\nbreak\ttab \x7f é",
        "t": [{"time": 0, "value": [1.5, -2e-9, 3]}],
        "x": {"y": {"z": True}},
    }
    assert tomllib.loads(write_table(table)) == table


def test_a_change_is_made_in_the_table_and_in_the_scene(document: Document) -> None:
    document.set(("shell", 0, "material", "thickness"), "0.5 mm")
    assert document.table["shell"][0]["material"] == {"preset": "cotton", "thickness": "0.5 mm"}
    assert document.scene.shells[0].material.thickness == pytest.approx(5e-4)
    document.set(("wind", "velocity"), [1.0, 0.0, 0.0])
    assert document.scene.wind is not None
    document.set(("shell", 0, "material", "thickness"), None)
    assert document.scene.shells[0].material.thickness == pytest.approx(3.18e-4)


def test_a_wrong_value_changes_nothing(document: Document) -> None:
    before = document.now
    with pytest.raises(SceneError, match="friction"):
        document.set(("contact", "friction"), -1)
    with pytest.raises(SceneError, match="Two bodies"):
        document.rename(("collider", 0), "cloth")
    assert document.now is before
    assert document.undoable is None


def test_undo_and_redo_go_through_all_versions(document: Document) -> None:
    texts = [document.text()]
    document.set(("contact", "friction"), 0.1)
    texts.append(document.text())
    document.add("ball", at=(1.0, 0.0, 0.5))
    texts.append(document.text())
    document.delete(("collider", 0))
    texts.append(document.text())
    for text in texts[-2::-1]:
        document.undo()
        assert document.text() == text
    assert document.undo() is None
    for text in texts[1:]:
        document.redo()
        assert document.text() == text
    document.undo()
    document.set(("seed",), 3)
    assert document.redo() is None, "a change after going back leaves nothing to redo"


def test_a_drag_is_one_step_back(document: Document) -> None:
    before = document.text()
    for x in (0.1, 0.2, 0.3):
        document.set_pose(("collider", 0), [x, 0.0, 0.6], [0.0, 0.0, 0.0], mark="one drag")
    assert document.scene.colliders[0].translate[0] == pytest.approx(0.3)
    document.undo()
    assert document.text() == before


def test_what_cannot_be_simulated_is_withdrawn(document: Document) -> None:
    good = document.set_pose(("collider", 0), [0.1, 0.0, 0.6], [0.0, 0.0, 0.0], mark="drag")
    for x in (0.2, 0.3):
        document.set_pose(("collider", 0), [x, 0.0, 0.6], [0.0, 0.0, 0.0], mark="drag")
    document.withdraw(good)
    assert document.now is good
    document.undo()
    assert document.table == DEFAULT


def test_bodies_and_parts_come_and_go(document: Document) -> None:
    pin = document.add("pin", owner=("shell", 0))
    motion = document.add("motion", owner=pin)
    second = document.duplicate(motion)
    assert [key.time for key in document.scene.shells[0].pins[0].motion] == [1.0, 2.0]
    assert (second, "motion 1") in list(document.items())
    copy = document.duplicate(("shell", 0))
    assert document.scene.shells[1].name == "cloth 2" and copy == ("shell", 1)
    document.delete(pin)
    assert not document.scene.shells[0].pins and document.scene.shells[1].pins


def test_what_rested_on_a_body_keeps_its_place_and_follows_its_name(document: Document) -> None:
    where = document.scene.shells[0].translate
    document.rename(("collider", 0), "globe")
    assert document.table["shell"][0]["rest_on"] == "globe"
    document.delete(("collider", 0))
    assert document.scene.shells[0].translate == pytest.approx(where)


def test_a_floor_is_moved_by_its_height(document: Document) -> None:
    document.set_pose(("collider", 1), [3.0, 2.0, -0.5], [0.0, 0.0, 0.0])
    assert document.table["collider"][1] == {"name": "floor", "shape": "floor", "height": -0.5}


def test_where_a_shell_starts_means_a_fresh_start(document: Document) -> None:
    assert document.set_pose(("shell", 0), [0.0, 0.0, 1.2], [0.0, 0.0, 0.0]).restart
    assert not document.set_pose(("collider", 0), [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]).restart
    assert not document.set(("shell", 0, "material"), "silk").restart


def test_a_saved_scene_is_the_one_that_was_shown(document: Document) -> None:
    document.set(("shell", 0, "material"), "silk")
    document.set_pose(("collider", 0), [0.1, 0.0, 0.6], [0.0, 0.0, 30.0])
    document.add("pin", owner=("shell", 0), vertices=[0, 5], motion=[{"time": 1.0, "translate": [0.0, 0.0, 0.25]}])
    path = document.save("mine")
    assert load_scene(path, ["name=studio"]) == document.scene
    assert open_document(path).scene.shells == document.scene.shells


@pytest.mark.parametrize("name", ["../mine", "a/b", "", "..", ".hidden", "a\\b", "/etc/x", "x\x00", "a..b", "x" * 200])
def test_a_name_is_never_a_path(document: Document, name: str) -> None:
    with pytest.raises(SceneError, match="not a name for a file"):
        document.save(name)
    assert list(document.base.iterdir()) == []


def test_a_name_gets_its_suffix() -> None:
    assert check_name(" my scene ", ".toml") == "my scene.toml"
    assert check_name("mine.TOML", ".toml") == "mine.TOML"


def test_a_wrong_scene_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('[[shell]]\nshape = "grdi"\n')
    with pytest.raises(SceneError, match="grdi") as caught:
        open_document(path)
    assert "\n" not in str(caught.value)


def test_tables_are_plain(document: Document) -> None:
    document.add("box", at=(0.0, 0.0, 2.0))
    assert json.loads(json.dumps(document.table)) == document.table
