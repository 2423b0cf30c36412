"""Files that are not what their names promise: devices, pipes, endless ones, damaged runs, impossible names."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_bad_input import FILE, SCENE, SEQUENCE, SQUARE, Desk, contains, desk
from tests.runs.test_resume import no_pictures

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.runs.writing import lock_run

__all__ = ["desk", "no_pictures"]  # fixtures

TEN_GIGABYTES = 10 << 30
RIBBON = '[[shell]]\nname = "ribbon"\nshape = "strip"\nlength = 0.4\nwidth = 0.05\nresolution = [12, 2]\n'
FLOOR = '[[collider]]\nshape = "floor"\nheight = -1\n'
# both ends are pinned
STRIP = f"{RIBBON}[[shell.pin]]\ncorners = true\n{FLOOR}"
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


NAMED = [
    ("pins.txt", SCENE.replace("[[collider]]", '[[shell.pin]]\nids = "pins.txt"\n[[collider]]', 1)),
    ("mesh.obj", FILE),
    ("mesh.usda", FILE.replace("mesh.obj", "mesh.usda")),
    ("scene.toml", ""),
]


# --- what a scene names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    ("name", "text"),
    [*NAMED, ("frames", SEQUENCE), ("frames/2.obj", SEQUENCE)],
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
    [*NAMED, ("frames/1.obj", SEQUENCE)],
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


# --- names ------------------------------------------------------------------------------------------------------------

WRITING = {
    "run": ["run", "scene.toml"],
    "export": ["export", "ribbon", "--format", "glb"],
    "picture": ["render", "ribbon"],
    "film": ["render", "ribbon", "--video"],
    "page": ["report", "ribbon"],
    "repair": ["check", "--repair", "mesh.obj"],
    "example": ["examples", "flag"],
}


@pytest.fixture(scope="module")
def ribbon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in time, with frames 0 to 3 of which the last closes the run."""
    folder = tmp_path_factory.mktemp("ribbon")
    (folder / "scene.toml").write_text(DYNAMIC)
    assert main(["run", str(folder / "scene.toml"), "--out", str(folder / "ribbon"), "--threads", "1"]) == 0
    return folder


@pytest.fixture
def shelf(desk: Desk, ribbon: Path) -> Desk:
    """A desk with that run and its scene."""
    shutil.copytree(ribbon, desk.folder, dirs_exist_ok=True)
    desk.put("mesh.obj", SQUARE)
    return desk


@pytest.mark.parametrize("command", WRITING)
def test_a_name_of_three_hundred_letters(shelf: Desk, command: str) -> None:
    ending = {"picture": ".png", "film": ".mp4", "repair": ".obj", "export": ".glb"}.get(command, "")
    said = misunderstood(shelf, *WRITING[command], "--out", f"{LONG}{ending}")
    contains(said, [LONG, "File name too long"])


@pytest.mark.parametrize("command", WRITING)
def test_an_empty_name_is_not_the_current_folder(shelf: Desk, command: str) -> None:
    contains(misunderstood(shelf, *WRITING[command], "--out", ""), ["--out: must not be empty"])


def misunderstood(desk: Desk, *arguments: str) -> str:
    """What is said of arguments that make no sense; nothing is written."""
    before = desk.files()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 2 and desk.files() == before
    return desk.capsys.readouterr().err


def test_a_run_with_a_name_of_three_hundred_letters_is_none(desk: Desk) -> None:
    contains(refused(desk, "report", LONG), ["is not a run"])
    with pytest.raises(SceneError, match="File name too long"), lock_run(desk.folder / LONG):
        pass


# --- damaged runs -----------------------------------------------------------------------------------------------------

READING = {
    "report": ["report", "ribbon"],
    "export": ["export", "ribbon", "--out", "ribbon.glb"],
    "render": ["render", "ribbon"],
    "resume": ["run", "scene.toml", "--out", "ribbon", "--resume"],
    "refine": ["refine", "ribbon"],
}


@pytest.mark.parametrize("content", ["{}", "[]", "[1]", "3", "null", '{"shell": 3}', '{"shell": [{"shape": "gird"}]}'])
@pytest.mark.parametrize("command", ["export", "render", "resume", "refine"])
def test_a_run_whose_scene_is_damaged(shelf: Desk, command: str, content: str) -> None:
    shelf.put("ribbon/scene.json", content)
    contains(refused(shelf, *READING[command]), ["scene.json", "run the scene again"])


@pytest.mark.parametrize("content", ["{}", "[]", "[1]", "3", "null", '{"version": 3}'])
@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_run_of_which_nothing_is_told(shelf: Desk, command: str, content: str) -> None:
    shelf.put("ribbon/run.json", content)
    contains(refused(shelf, *READING[command]), ["run.json", "run the scene again"])


@pytest.mark.parametrize("command", ["export", "render"])
@pytest.mark.parametrize("damage", ["index", "negative", "body", "unsorted", "shells", "shape", "kind", "missing"])
def test_a_level_whose_mesh_is_damaged(shelf: Desk, command: str, damage: str) -> None:
    path = shelf.folder / "ribbon/level-0/mesh.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    if damage == "index":
        arrays["triangles"][5, 1] = 10**6
    elif damage == "negative":
        arrays["triangles"][5, 1] = -1
    elif damage == "body":
        arrays["body"][-1] = 7
    elif damage == "unsorted":
        arrays["body"][0] = 1
    elif damage == "shells":
        arrays["shells"] = np.array(4)
    elif damage == "shape":
        arrays["triangles"] = arrays["triangles"].ravel()
    elif damage == "kind":
        arrays["triangles"] = arrays["triangles"].astype(float)
    else:
        del arrays["body"]
    np.savez(path, **arrays)
    contains(refused(shelf, *READING[command]), ["mesh.npz", "run the scene again"])


@pytest.mark.parametrize("name", ["half_spaces", "shell-0-X", "shell-0-triangles", "shell-0-x"])
def test_a_run_whose_geometry_is_damaged(shelf: Desk, name: str) -> None:
    path = shelf.folder / "ribbon/geometry.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays[name] = arrays[name].ravel()[:1]
    if name in ("half_spaces", "shell-0-x"):
        del arrays[name]
    np.savez(path, **arrays)
    contains(refused(shelf, *READING["resume"]), ["geometry.npz", "run the scene again"])


def cut(path: Path, part: float = 0.5) -> bytes:
    """Shortens a file and returns what it held."""
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    return whole


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "text"])
def test_a_damaged_last_frame_is_written_again(shelf: Desk, damage: str) -> None:
    frame = shelf.folder / "ribbon/level-0/frame-0003.npy"
    whole = cut(frame, {"cut": 0.5, "empty": 0.0}.get(damage, 1.0))
    if damage == "gone":
        frame.unlink()
    elif damage == "text":
        frame.write_text("nothing")
    if damage != "gone":
        contains(refused(shelf, *READING["export"]), ["frame-0003.npy", "cannot be read", "--resume"])
    shelf.capsys.readouterr()
    assert main(READING["resume"]) == 0
    assert "level-0/frame-0003.npy is written again" in shelf.capsys.readouterr().err
    assert frame.read_bytes() == whole
    assert main(READING["export"]) == 0


def test_a_damaged_first_frame_is_written_again(shelf: Desk) -> None:
    frame = shelf.folder / "ribbon/level-0/frame-0000.npy"
    whole = cut(frame)
    contains(refused(shelf, *READING["export"], "--frame", "0"), ["frame-0000.npy", "cannot be read"])
    assert main(READING["resume"]) == 0
    assert frame.read_bytes() == whole


def test_a_damaged_frame_in_between_cannot_be_written_again(shelf: Desk) -> None:
    frame = shelf.folder / "ribbon/level-0/frame-0001.npy"
    cut(frame)
    left = frame.read_bytes()
    contains(refused(shelf, *READING["export"][:2], "--out", "film.usda"), ["frame-0001.npy", "--overwrite"])
    shelf.capsys.readouterr()
    assert main(READING["resume"]) == 0
    contains(shelf.capsys.readouterr().err, ["level-0/frame-0001.npy cannot be read", "--overwrite"])
    assert frame.read_bytes() == left


@pytest.mark.parametrize("command", ["export", "render"])
def test_a_frame_that_is_not_finite(shelf: Desk, command: str) -> None:
    frame = shelf.folder / "ribbon/level-0/frame-0003.npy"
    x = np.load(frame)
    x[4, 1] = np.nan
    np.save(frame, x)
    contains(refused(shelf, *READING[command]), ["frame-0003.npy", "not finite", "--overwrite"])


@pytest.mark.parametrize("command", ["resume", "refine"])
def test_a_run_of_another_version_is_told(desk: Desk, command: str) -> None:
    desk.put("scene.toml", STRIP)
    assert main(["run", "scene.toml", "--out", "ribbon", "--threads", "1", "--set", "time.max_steps=3"]) == 1
    about = desk.folder / "ribbon/run.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": "0.0.9"}))
    desk.capsys.readouterr()
    more = ["--set", "time.max_steps=3"] if command == "resume" else []
    main([*READING[command], "--threads", "1", *more])
    assert "version 0.0.9" in desk.capsys.readouterr().err


# --- sizes and reasons ------------------------------------------------------------------------------------------------


def test_more_time_steps_than_anybody_waits_for(desk: Desk) -> None:
    said = desk.check("time.mode=dynamic", "time.duration=1e19", "time.h=1e-2")
    contains(said, ["time: ", "1e+21 steps", "duration", "h = 0.01 s", "shorten"])
    assert "can be simulated" in desk.accepted("check", "scene.toml", "--set", "time.duration=1e19")


def test_a_shell_that_is_pinned_is_not_told_to_fall(desk: Desk) -> None:
    desk.put("scene.toml", STRIP)
    assert main(["run", "scene.toml", "--out", "run", "--threads", "1", "--set", "time.max_steps=1"]) == 1
    said = desk.capsys.readouterr().err
    assert "no equilibrium" in said and "nothing holds" not in said
    desk.put("scene.toml", f"{RIBBON}{FLOOR}")
    assert main(["run", "scene.toml", "--out", "fall", "--threads", "1", "--set", "time.max_steps=1"]) == 1
    assert "nothing holds the shells up" in desk.capsys.readouterr().err
