"""Files that are not what their names promise: devices, pipes, endless ones, damaged runs, impossible names."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from plisse.cli import main
from tests.cli.test_bad_input import FILE, SCENE, SEQUENCE, SQUARE, Desk, contains, desk
from tests.runs.test_resume import no_pictures

__all__ = ["desk", "no_pictures"]  # fixtures

TEN_GIGABYTES = 10 << 30
STRIP = """[[shell]]
name = "ribbon"
shape = "strip"
length = 0.4
width = 0.05
resolution = [12, 2]
[[shell.pin]]
box = [[-0.3, -1, -1], [-0.19, 1, 1]]
[[shell.pin]]
box = [[0.19, -1, -1], [0.3, 1, 1]]
[[collider]]
shape = "floor"
height = -1
"""
DYNAMIC = STRIP + '[time]\nmode = "dynamic"\nduration = 0.1\nframe_every = 2\n'
LONG = 300 * "n"


@pytest.fixture(autouse=True)
def never_waiting() -> Iterator[None]:
    """Whoever waits for a pipe fails instead."""

    def stop(*_: object) -> None:
        raise AssertionError("the command waits for a file that never comes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# --- what a scene names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pins.txt", SCENE.replace("[[collider]]", '[[shell.pin]]\nids = "pins.txt"\n[[collider]]', 1)),
        ("mesh.obj", FILE),
        ("mesh.usda", FILE.replace("mesh.obj", "mesh.usda")),
        ("frames", SEQUENCE),
        ("frames/2.obj", SEQUENCE),
        ("scene.toml", ""),
    ],
)
def test_only_regular_files_are_read(desk: Desk, kind: str, name: str, text: str) -> None:
    if name != "scene.toml":
        desk.put("scene.toml", text)
    if name == "frames/2.obj":
        desk.put("frames/1.obj", SQUARE)
    if kind == "pipe":
        os.mkfifo(desk.folder / name)
    else:
        (desk.folder / name).symlink_to("/dev/null")
    contains(refused(desk, "check", "scene.toml"), [name, "regular file"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pins.txt", SCENE.replace("[[collider]]", '[[shell.pin]]\nids = "pins.txt"\n[[collider]]', 1)),
        ("mesh.obj", FILE),
        ("mesh.usda", FILE.replace("mesh.obj", "mesh.usda")),
        ("frames/1.obj", SEQUENCE),
        ("scene.toml", ""),
    ],
)
def test_a_file_larger_than_any_of_its_kind_is_not_read(desk: Desk, name: str, text: str) -> None:
    if name != "scene.toml":
        desk.put("scene.toml", text)
    desk.put(name, "")
    os.truncate(desk.folder / name, TEN_GIGABYTES)
    contains(refused(desk, "check", "scene.toml"), [name, "10.7 GB", "at most", "right file"])


def refused(desk: Desk, *arguments: str) -> str:
    """The sentence with which a command refuses; files that cannot be read are not compared."""
    desk.capsys.readouterr()
    assert main(list(arguments)) == 2
    out, err = desk.capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("plisse: ") and err.endswith(".\n"), err
    return err
