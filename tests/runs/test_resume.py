"""Runs that survive: killed at any moment and gone on with, they end where an uninterrupted run ends, to the bit."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse.progressive.session
import plisse.runs.album
import plisse.runs.run
from plisse.cli import main
from plisse.runs.store import RunStore

DRAPE = """[[shell]]
shape = "grid"
vertices = 60
diagonals = "jittered"
material = "cotton"
[[collider]]
shape = "sphere"
radius = 0.25
subdivisions = 2
[[collider]]
shape = "floor"
[hierarchy]
levels = 2
"""

# cloth on cloth on a ball that moves, with friction
STACK = """[[shell]]
name = "lower"
shape = "grid"
width = 0.3
height = 0.3
resolution = {resolution}
translate = [0, 0, 0.103]
material = {{ preset = "cotton", damping = "5 ms" }}
[[shell]]
name = "upper"
shape = "grid"
width = 0.3
height = 0.3
resolution = {resolution}
translate = [0.01, 0, 0.106]
rotate = [0, 0, 30]
seed = 1
[[collider]]
shape = "sphere"
radius = 0.1
subdivisions = 2
translate = [0, 0, 0]
motion = [{{ time = 0.0 }}, {{ time = 0.3, translate = [0.05, 0, 0.02] }}]
[[collider]]
shape = "floor"
height = -0.05
[contact]
dhat = 2e-3
"""
WIND = "[wind]\nvelocity = [1, 0, 0]\ngusts = 0.2\nturbulence = 0.2\nturbulence_length = 0.2\n"
SCENES = {
    "levels": DRAPE,
    "cascadic": DRAPE + 'method = "cascadic"\n',
    "direct": DRAPE + 'method = "direct"\n[time]\nframe_every = 7\n',
    "plain": DRAPE + 'method = "plain"\n[time]\nmax_steps = 12\n',
    "stack": STACK.format(resolution=5) + "[hierarchy]\nlevels = 2\n",
    "euler": STACK.format(resolution=6) + '[time]\nmode = "dynamic"\nh = 0.02\nduration = 0.24\n',
    "motion": STACK.format(resolution=4)
    + WIND
    + '[time]\nmode = "dynamic"\nh = 0.02\nduration = 0.16\n[hierarchy]\nlevels = 2\nconsistency = 0.2\n',
    "bdf2": STACK.format(resolution=6)
    + WIND
    + '[time]\nmode = "dynamic"\nh = 0.02\nduration = 0.24\nintegrator = "bdf2"\nframe_every = 5\n',
}
# what may differ: seconds, and work that was done twice
PERFORMANCE = {
    "seconds", "wall", "split", "symbolic", "numeric", "candidates", "wall_s", "time_split", "linear_split",
    "symbolic_factorisations", "numeric_factorisations", "candidate_builds", "resumed",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    # most of so small a run would be its pictures
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    monkeypatch.setattr(plisse.runs.album, "render_strip", lambda path, *_, **__: path.write_bytes(b""))


def make_scene(folder: Path, text: str = DRAPE, name: str = "scene") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def run(scene: Path, out: Path, *arguments: str) -> int:
    return main(["run", str(scene), "--out", str(out), "--threads", "1", *arguments])


def without_performance(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_performance(part) for key, part in value.items() if key not in PERFORMANCE}
    return [without_performance(part) for part in value] if isinstance(value, list) else value


def contents(folder: Path) -> dict[str, Any]:
    """All that a run leaves, but for pictures and what the clock says."""
    out: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix in (".npy", ".npz"):
            out[name] = path.read_bytes()
        elif path.suffix == ".json":
            out[name] = without_performance(json.loads(path.read_text()))
        elif path.suffix == ".jsonl":
            out[name] = [without_performance(json.loads(line)) for line in path.read_text().splitlines()]
        elif path.is_file():
            out[name] = None
    return out


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    return [name for name in sorted(found.keys() | expected.keys()) if found.get(name, 0) != expected.get(name, 0)]


def take_snapshots(
    monkeypatch: pytest.MonkeyPatch, moments: Callable[[int], bool], folder: Path, into: Path
) -> list[Path]:
    """Copies the run folder before or after some of its files appear, in turn: what a kill there would leave."""
    replace, found, seen = os.replace, [], 0

    def watched(source: Any, target: Any) -> None:
        nonlocal seen
        seen += 1
        chosen = moments(seen) and Path(target).is_relative_to(folder)
        after = bool(len(found) % 2)
        if chosen and not after:
            found.append(Path(shutil.copytree(folder, into / f"{seen}-before")))
        replace(source, target)
        if chosen and after:
            found.append(Path(shutil.copytree(folder, into / f"{seen}-after")))

    monkeypatch.setattr(os, "replace", watched)
    return found


@pytest.mark.parametrize("name", SCENES)
def test_a_run_that_is_killed_ends_where_it_would_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scene, whole = make_scene(tmp_path, SCENES[name]), tmp_path / "whole"
    first = {"levels": (12, 60, 70), "stack": (20, 40, 80)}.get(name, (7, 11, 17))
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, first.__contains__, whole, tmp_path)
        assert run(scene, whole) in (0, 1)
    expected = contents(whole)
    assert len(copies) == 3
    for copy in copies:
        assert run(scene, copy, "--resume") in (0, 1)
        assert differences(contents(copy), expected) == [], copy.name


@pytest.mark.parametrize("moments", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_a_motion_can_be_killed_anywhere_on_its_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moments: int
) -> None:
    """On any step of any of its two levels, before or after any of the files that belong to it."""
    text = SCENES["motion"].replace("duration = 0.16", "duration = 0.08")
    scene, whole, out = make_scene(tmp_path, text), tmp_path / "whole", tmp_path / "out"
    files = 0

    def count(number: int) -> bool:
        nonlocal files
        files = number
        return False

    with monkeypatch.context() as patch:
        take_snapshots(patch, count, whole, tmp_path)
        assert run(scene, whole) == 0
    # the first files make the folder a run
    chosen = np.random.default_rng(2).choice(np.arange(4, files + 1), moments, replace=False)
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, set(chosen.tolist()).__contains__, out, tmp_path)
        assert run(scene, out) == 0
    expected, levels = contents(whole), set()
    assert len(copies) == moments and differences(contents(out), expected) == []
    for copy in copies:
        levels.add(len(RunStore(copy).levels()))
        assert run(scene, copy, "--resume") == 0
        assert differences(contents(copy), expected) == [], copy.name
    assert {1, 2} <= levels


def test_what_was_not_complete_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, whole = make_scene(tmp_path, SCENES["euler"]), tmp_path / "whole"
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, lambda number: number == 12, whole, tmp_path)
        assert run(scene, whole) == 0
    copy = copies[0]
    level, lines = copy / "level-0", (whole / "level-0" / "steps.jsonl").read_text().splitlines()
    done = len((level / "steps.jsonl").read_text().splitlines())
    with (level / "steps.jsonl").open("a") as log:
        log.write(lines[done] + "\n" + lines[done + 1][:50])
    (level / "frame-0011.npy").write_bytes(b"of a step that is not complete")
    (level / "frame-0012.part.npy").write_bytes(b"half a fr")
    (copy / "report.part.json").write_text('{"scen')
    assert run(scene, copy, "--resume") == 0
    assert differences(contents(copy), contents(whole)) == []


def test_a_run_can_be_killed_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, whole, out = make_scene(tmp_path, SCENES["bdf2"]), tmp_path / "whole", tmp_path / "out"
    assert run(scene, whole) == 0
    for number in range(8):
        with monkeypatch.context() as patch:
            copies = take_snapshots(patch, lambda count: count == 7, out, tmp_path / str(number))
            assert run(scene, out, "--resume") == 0
        if not copies:
            break
        shutil.rmtree(out)
        copies[0].rename(out)
    assert number > 3
    assert differences(contents(out), contents(whole)) == []


# --- the folder ---------------------------------------------------------------------------------------------------


@pytest.fixture
def finished(tmp_path: Path) -> tuple[Path, Path]:
    scene = make_scene(tmp_path)
    assert run(scene, tmp_path / "out", "--resume", "--preview-only") == 0  # there is nothing to resume yet
    return scene, tmp_path / "out"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence on the error stream."""
    error = capsys.readouterr().err.strip()
    assert error.startswith("plisse: ") and "\n" not in error and error.endswith("."), error
    return error


def test_a_folder_with_a_run_is_not_touched_unasked(
    finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = finished
    before, times = contents(out), {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    capsys.readouterr()
    assert run(scene, out) == 2
    error = said(capsys)
    assert "already holds a run of scene" in error and "--resume" in error and "--overwrite" in error
    assert contents(out) == before and {path: path.stat().st_mtime_ns for path in out.rglob("*")} == times


def test_overwriting_leaves_nothing_of_the_old_run(finished: tuple[Path, Path], tmp_path: Path) -> None:
    scene, out = finished
    (out / "notes.txt").write_text("mine")
    assert run(scene, out, "--resume") == 0 and (out / "level-1").exists()
    assert run(scene, out, "--overwrite", "--preview-only") == 0
    assert not (out / "level-1").exists() and not (out / "levels.png").exists()
    assert (out / "notes.txt").read_text() == "mine"


def test_resuming_what_is_done_changes_nothing(finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = finished
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.name != ".lock"}
    capsys.readouterr()
    assert run(scene, out, "--resume", "--preview-only") == 0
    told = capsys.readouterr()
    assert "is already done" in told.err and "in equilibrium" in told.out
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.name != ".lock"} == before


def test_a_preview_goes_on_to_the_finest_level(finished: tuple[Path, Path], tmp_path: Path) -> None:
    scene, out = finished
    assert run(scene, out, "--resume") == 0
    assert run(scene, tmp_path / "whole") == 0
    assert differences(contents(out), contents(tmp_path / "whole")) == []


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ("contact.friction=0.5", "contact.friction was 0.3 and is now 0.5"),
        ("shell.material.thickness=0.001", "shell.0.material.thickness was"),
        ("gravity=[0,0,-1]", "gravity was [0.0, 0.0, -9.81] and is now [0.0, 0.0, -1.0]"),
        ("contact.dhat=0.001", "contact.dhat was not given and is now 0.001"),
        ("time.max_steps=10", "time.max_steps was 2000 and is now 10"),
        ("seed=7", "seed was 0 and is now 7"),
        ('collider=[{shape="floor"}]', "collider.0"),
    ],
)
def test_a_changed_scene_is_never_mixed_in(
    finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str], sets: str, says: str
) -> None:
    scene, out = finished
    before = contents(out)
    capsys.readouterr()
    assert run(scene, out, "--resume", "--set", sets) == 2
    assert says in said(capsys)
    assert contents(out) == before


def test_a_changed_mesh_file_is_never_mixed_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mesh = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0.1 0.1 {}\nf 1 2 3\nf 2 4 3\n"
    (tmp_path / "cloth.obj").write_text(mesh.format(0))
    scene = make_scene(tmp_path, '[[shell]]\nfile = "cloth.obj"\n[[collider]]\nshape = "floor"\nheight = -0.02\n')
    assert run(scene, tmp_path / "out", "--set", "time.max_steps=3") == 1
    (tmp_path / "cloth.obj").write_text(mesh.format(1e-9))
    capsys.readouterr()
    assert run(scene, tmp_path / "out", "--set", "time.max_steps=3", "--resume") == 2
    assert "the surface of shell.0 has changed" in said(capsys)


def test_no_regions_are_the_same_as_none_given(finished: tuple[Path, Path]) -> None:
    # scenes of runs from before there were regions do not name them
    scene, out = finished
    table = json.loads((out / "scene.json").read_text())
    assert table["shell"][0].pop("region") == []
    (out / "scene.json").write_text(json.dumps(table))
    assert run(scene, out, "--resume") == 0


HEM = """
[[shell.region]]
weights = "hem.txt"
E_bend = "20 MPa"
density = 900
[[shell.region]]
boundary = true
strain_limit = 1.2
"""


def test_regions_are_kept_and_never_mixed_with_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = [f"{w:g}" for w in np.linspace(0, 1, 64)]
    (tmp_path / "hem.txt").write_text(" ".join(weights))
    scene = make_scene(tmp_path, DRAPE.replace("[[collider]]", HEM + "[[collider]]", 1))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run(scene, whole) == 0 and run(scene, parts, "--preview-only") == 0
    # the run goes on without the file
    (tmp_path / "hem.txt").unlink()
    assert main(["refine", str(parts), "--threads", "1"]) == 0
    assert not [name for name in differences(contents(parts), contents(whole)) if name.startswith("level-")]
    (tmp_path / "hem.txt").write_text(" ".join(["0.5", *weights[1:]]))
    capsys.readouterr()
    assert run(scene, whole, "--resume") == 2
    assert "the weights of shell.0.region.0 have changed" in said(capsys)


def test_other_threads_are_told(finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = finished
    capsys.readouterr()
    assert main(["run", str(scene), "--out", str(out), "--threads", "2", "--resume"]) == 0
    assert "started with 1 threads and continued with 2" in capsys.readouterr().err


def test_another_level_alone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = make_scene(tmp_path, SCENES["direct"])
    assert run(scene, tmp_path / "out") == 0
    capsys.readouterr()
    assert run(scene, tmp_path / "out", "--resume", "--to-level", "0") == 2
    assert "level 1 only" in said(capsys)


def test_two_commands_do_not_write_one_folder(finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    fcntl = pytest.importorskip("fcntl")
    scene, out = finished
    before = contents(out)
    capsys.readouterr()
    with (out / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for arguments in (["run", str(scene), "--out", str(out), "--resume"], ["refine", str(out)]):
            assert main([*arguments, "--threads", "1"]) == 2
            assert "Another command is writing to" in said(capsys)
    assert contents(out) == before
    assert run(scene, out, "--resume") == 0


# --- signals and disks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_run_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    scene, out = make_scene(tmp_path), tmp_path / "out"
    seen = 0

    def stopped(*arguments: Any, **options: Any) -> Iterator[Any]:
        nonlocal seen
        for state in settle(*arguments, **options):
            yield state
            seen += 1
            if seen == 9:
                os.kill(os.getpid(), number)

    settle = plisse.progressive.session.march
    with monkeypatch.context() as patch:
        patch.setattr(plisse.progressive.session, "march", stopped)
        assert run(scene, out) == code
    assert "what was done is kept." in capsys.readouterr().err
    report = json.loads((out / "report.json").read_text())
    assert report["status"] == "interrupted" and report["levels"][0]["steps"] == 9
    assert len(report["levels"][0]["history"]["energy"]) == 9
    assert (out / "level-0" / "frame-0001.npy").exists() and (out / "preview.png").exists()
    assert run(scene, out, "--resume") == 0
    assert run(scene, tmp_path / "whole") == 0
    assert differences(contents(out), contents(tmp_path / "whole")) == []
    report = json.loads((out / "report.json").read_text())
    assert report["status"] == "done" and report["resumed"] == 1
    assert len(report["levels"][0]["history"]["energy"]) == report["levels"][0]["steps"] > 9
    contact = {f"contact.{name}" for name in ("dhat", "offset", "stiffness", "friction_speed")}
    chosen = contact | {"level-0.compression", "level-0.membrane", "level-0.bending"}
    assert set(report["auto"]) == chosen


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "size=160k", "none", disk]).returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def test_a_full_disk_is_one_sentence_and_a_run_to_go_on_with(
    tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = make_scene(tmp_path, SCENES["euler"]), small_disk / "out"
    assert run(scene, out) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "cannot be written: No space left on device; the run is saved up to step" in error
    assert "free some space and continue with --resume" in error and "Traceback" not in error
    assert not list(out.rglob("*.part*"))
    remount(small_disk, "size=4m")
    assert run(scene, out, "--resume") == 0
    assert run(scene, tmp_path / "whole") == 0
    assert differences(contents(out), contents(tmp_path / "whole")) == []


def test_a_folder_that_becomes_read_only_is_one_sentence(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remount(small_disk, "size=4m")
    scene, out = make_scene(tmp_path, SCENES["euler"]), small_disk / "out"
    animate, seen = plisse.progressive.session.march, 0

    def locked(*arguments: Any) -> Iterator[Any]:
        nonlocal seen
        for state in animate(*arguments):
            seen += state.accepted
            if seen == 4 and state.accepted:
                # the whole disk cannot be remounted while the lock is held on it
                subprocess.run(["mount", "--bind", out / "level-0", out / "level-0"], check=True)
                remount(out / "level-0", "bind,ro")
            yield state

    with monkeypatch.context() as patch:
        patch.setattr(plisse.progressive.session, "march", locked)
        assert run(scene, out) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "Read-only file system; the run is saved up to step 3 of level 0: make it writable" in error
    subprocess.run(["umount", out / "level-0"], check=True)
    remount(small_disk, "ro")
    assert run(scene, out, "--resume") == 2
    assert "cannot be written: Read-only file system" in capsys.readouterr().err
    remount(small_disk, "rw")
    assert run(scene, out, "--resume") == 0
    assert run(scene, tmp_path / "whole") == 0
    assert differences(contents(out), contents(tmp_path / "whole")) == []


def test_a_folder_that_is_removed_meanwhile_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = make_scene(tmp_path), tmp_path / "out"
    settle = plisse.progressive.session.march

    def removed(*arguments: Any, **options: Any) -> Iterator[Any]:
        for state in settle(*arguments, **options):
            if state.step == 5:
                shutil.rmtree(out)
            yield state

    monkeypatch.setattr(plisse.progressive.session, "march", removed)
    assert run(scene, out) == 2
    assert "cannot be written: No such file or directory" in said(capsys)


# --- real kills ---------------------------------------------------------------------------------------------------


def start(scene: Path, out: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "plisse.cli", "run", str(scene), "--out", str(out), "--threads", "2", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(plisse.__file__).parents[1]), "NUMBA_NUM_THREADS": "2"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


KILLED = {
    "static": STACK.format(resolution=8) + "[hierarchy]\nlevels = 3\n[solver]\ntol = 1e-3\n",
    "cascadic": STACK.format(resolution=8) + '[hierarchy]\nlevels = 2\nmethod = "cascadic"\n[solver]\ntol = 1e-3\n',
    "euler": STACK.format(resolution=10) + '[time]\nmode = "dynamic"\nh = 0.01\nduration = 0.4\n',
    "bdf2": STACK.format(resolution=10)
    + WIND
    + '[time]\nmode = "dynamic"\nh = 0.01\nduration = 0.4\nintegrator = "bdf2"\nframe_every = 4\n',
}


def count_steps(out: Path) -> int:
    """Steps that a run has written so far, on all levels."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob("level-*/steps.jsonl"))


def kill_at(process: subprocess.Popen[str], out: Path, *, seconds: float, steps: float) -> bool:
    """Kills a run so many seconds after it has written so many steps; whether it was still there to be killed."""
    while process.poll() is None and count_steps(out) < steps:
        time.sleep(0.002)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_a_run_that_another_command_made_meanwhile_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, out = make_scene(tmp_path, SCENES["levels"]), tmp_path / "out"
    check = plisse.runs.run.check_start

    def slow(problem: Any) -> None:
        check(problem)
        monkeypatch.setattr(plisse.runs.run, "check_start", check)
        assert run(scene, out) == 0

    monkeypatch.setattr(plisse.runs.run, "check_start", slow)
    assert run(scene, out, "--resume") == 0
    report = json.loads((out / "report.json").read_text())
    assert report["status"] == "done" and len(report["levels"]) == 2


def test_an_interruption_just_after_a_checkpoint_keeps_its_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, whole, out = make_scene(tmp_path, SCENES["bdf2"]), tmp_path / "whole", tmp_path / "out"
    assert run(scene, whole) == 0
    write = RunStore.write_checkpoint

    def interrupted(store: RunStore, at: Any) -> None:
        write(store, at)
        if at.state.step == 10:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "write_checkpoint", interrupted)
        assert run(scene, out) == 130
    assert run(scene, out, "--resume") == 0
    assert differences(contents(out), contents(whole)) == []


def test_a_run_that_was_killed_in_its_first_level_has_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = make_scene(tmp_path, SCENES["euler"]), tmp_path / "out"
    assert run(scene, out) == 0
    # what a kill leaves: no report yet, and the word that it is at work
    (out / "report.json").unlink()
    about = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(about | {"status": "running"}))
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    told = capsys.readouterr().out
    assert "killed at step 12 of level 0" in told and "continue with --resume" in told and "time [s]" in told
    fcntl = pytest.importorskip("fcntl")
    with (out / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main(["report", str(out)]) == 0
    assert "running at step 12 of level 0" in capsys.readouterr().out


def test_the_advice_after_too_few_steps_leads_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = make_scene(tmp_path, SCENES["direct"])
    assert run(scene, tmp_path / "direct", "--set", "time.max_steps=3") == 1
    assert "--set time.max_steps=…, and --overwrite" in capsys.readouterr().err
    scene = make_scene(tmp_path, SCENES["levels"])
    assert run(scene, tmp_path / "levels", "--set", "time.max_steps=3") == 1
    assert "`plisse refine" in capsys.readouterr().err
    assert main(["refine", str(tmp_path / "levels"), "--threads", "1"]) == 1
    assert "6 steps" in capsys.readouterr().err


def test_a_disk_that_is_full_when_the_page_is_written_leaves_a_run_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out, write = make_scene(tmp_path, SCENES["euler"]), tmp_path / "out", Path.write_text

    def full(path: Path, *arguments: Any, **options: Any) -> int:
        if path.suffix == ".html":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert run(scene, out) == 2
    said = capsys.readouterr().err
    assert "No space left on device; the run is saved up to step 12 of level 0: free some space" in said
    assert not list(out.rglob("*.part*"))
    assert run(scene, out, "--resume") == 0 and (out / "report.html").is_file()


def test_more_levels_are_looked_at_as_a_new_run_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = make_scene(tmp_path, SCENES["levels"]), tmp_path / "out"
    arguments = ["--set", "shell.material.thickness=0.02", "--set", "hierarchy.levels=1", "--preview-only"]
    assert run(scene, out, *arguments) in (0, 1)
    assert main(["refine", str(out), "--levels", "6"]) == 2
    assert "not a thin shell" in capsys.readouterr().err
    assert json.loads((out / "scene.json").read_text())["hierarchy"]["levels"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_twenty_kills_at_random_moments_change_no_bit(tmp_path: Path, name: str) -> None:
    """Runs that are killed at random moments, by the clock or among their steps, once to three times each."""
    scene, whole = make_scene(tmp_path, KILLED[name]), tmp_path / "whole"
    began = time.perf_counter()
    assert start(scene, whole).wait() == 0
    seconds, expected, steps = time.perf_counter() - began, contents(whole), count_steps(whole)
    rng, killed, number = np.random.default_rng(4), 0, 0
    while killed < 20:
        out, first = tmp_path / str(number), rng.uniform(0, steps)
        for attempt in range(1 + number % 3):
            process = start(scene, out, "--resume")
            if number % 4 == 3:
                killed += kill_at(process, out, seconds=rng.uniform(0.1, 0.95) * seconds, steps=0)
            else:
                after = first + attempt * (steps - first) / 3.0
                killed += kill_at(process, out, seconds=rng.uniform(0.0, 0.2), steps=after)
        process = start(scene, out, "--resume")
        error = process.communicate()[1]
        assert process.returncode == 0, error
        assert differences(contents(out), expected) == [], f"run {number}"
        shutil.rmtree(out)
        number += 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="a process cannot be looked into here")
def test_ctrl_c_at_any_moment_is_no_traceback(tmp_path: Path) -> None:
    scene = make_scene(tmp_path, KILLED["bdf2"])
    for number, delay in enumerate(np.linspace(0.0, 5.0, 21)):
        process = start(scene, tmp_path / str(number))
        # before it comes to its imports the interpreter itself is at work
        while "numpy" not in Path(f"/proc/{process.pid}/maps").read_text():
            time.sleep(0.001)
        time.sleep(float(delay))
        process.send_signal(signal.SIGINT)
        error, about = process.communicate()[1], tmp_path / str(number) / "run.json"
        assert "Traceback" not in error, f"after {delay} s: {error}"
        if about.exists() and json.loads(about.read_text())["status"] == "done":
            break
        # an interruption of an import may end the interpreter by the signal, which a shell also calls 130
        assert process.returncode in (130, -signal.SIGINT), f"after {delay} s: {error}"
        assert "what was done is kept." in error, f"after {delay} s: {error}"
    assert number >= 5
