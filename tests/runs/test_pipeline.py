"""Levels of motions that are refined at the same time, and end as if they had been one after the other, to the bit."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.runs.test_resume import contents, differences, no_pictures

import plisse.runs.processes
from plisse.cli import main
from plisse.runs.progress import ProgressLine
from plisse.runs.report import read_report
from plisse.runs.store import RunStore

__all__ = ["no_pictures"]

SCENE = """
[[shell]]
shape = "grid"
width = 0.3
height = 0.3
vertices = 30
translate = [0, 0, 0.1]
velocity = [0.2, 0, -1]
material = "cotton"
[[collider]]
shape = "sphere"
radius = 0.08
subdivisions = 2
translate = [0.01, 0, 0]
[time]
mode = "dynamic"
duration = 0.24
[hierarchy]
levels = 3
motion = "{motion}"
"""


def preview(folder: Path, motion: str = "velpro", *sets: str) -> tuple[Path, dict[str, Any]]:
    """A motion on level 0, and what its sequential refinement leaves."""
    folder.mkdir(exist_ok=True)
    scene, out = folder / "drop.toml", folder / "run"
    scene.write_text(SCENE.format(motion=motion), encoding="utf-8")
    words = [word for text in sets for word in ("--set", text)]
    assert main(["run", str(scene), "--out", str(out), "--threads", "1", "--quiet", "--preview-only", *words]) == 0
    whole = Path(shutil.copytree(out, folder / "whole"))
    assert main(["refine", str(whole), "--threads", "1", "--quiet"]) == 0
    return out, contents(whole)


@pytest.fixture(scope="module")
def drop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("render", "render_strip"):
            patch.setattr(f"plisse.runs.album.{name}", lambda path, *_, **__: path.write_bytes(b""))
        return preview(tmp_path_factory.mktemp("pipeline"))


@pytest.fixture
def run(drop: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(drop[0], tmp_path / "run"))


def refine(folder: Path, *arguments: str) -> int:
    return main(["refine", str(folder), "--workers", "2", "--threads", "1", *arguments])


def test_levels_at_the_same_time_are_those_one_after_the_other(
    run: Path,
    drop: tuple[Path, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("plisse.runs.progress.PLAIN", 0.0)
    assert refine(run) == 0
    assert differences(contents(run), drop[1]) == []
    said = capsys.readouterr().err
    assert "level 1: step " in said and "  level 2: step " in said
    assert said.index("level 1: 99 vertices, 12 steps") < said.index("level 2: 357 vertices, 12 steps")
    assert refine(run) == 0
    assert "is already done" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("motion", "sets"),
    [("direct", ()), ("velpro", ("hierarchy.consistency=0",)), ("velpro", ("time.integrator=bdf2",))],
)
def test_other_motions_at_the_same_time(tmp_path: Path, motion: str, sets: tuple[str, ...]) -> None:
    out, whole = preview(tmp_path, motion, *sets)
    assert refine(out) == 0
    assert differences(contents(out), whole) == []


def test_one_process_that_dies_stops_the_others_with_a_sentence(
    run: Path,
    drop: tuple[Path, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The one above it would wait for ever."""

    def kill(*_: object) -> None:
        if RunStore(run).reached(1):
            for process in multiprocessing.active_children():
                if process.name == "level 1" and process.pid is not None:
                    os.kill(process.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressLine, "tell", kill)
        patch.setattr(plisse.runs.processes, "LOOK", 0.05)
        assert refine(run) == 2
    said = capsys.readouterr().err
    assert "The process at work on level 1 ended early (by SIGKILL" in said and "Traceback" not in said
    assert not multiprocessing.active_children()
    assert RunStore(run).reached(1) != 12
    # what is left to do can be done one by one as well
    other = Path(shutil.copytree(run, run.parent / "other"))
    assert refine(run) == 0 and main(["refine", str(other), "--threads", "1"]) == 0
    assert differences(contents(run), drop[1]) == differences(contents(other), drop[1]) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes where Linux lists them")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("begun", [False, True])
def test_a_command_that_is_stopped_takes_its_processes_with_it(
    run: Path, drop: tuple[Path, dict[str, Any]], how: signal.Signals, begun: bool
) -> None:
    """Killed or terminated alone, or interrupted with all that it has started, as a terminal does."""
    words = [sys.executable, "-m", "plisse.cli", "refine", str(run), "--workers", "2", "--threads", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as first:
        children = Path(f"/proc/{first.pid}/task/{first.pid}/children")
        while len(children.read_text().split()) < 3 or (begun and not RunStore(run).reached(1)):
            assert first.poll() is None
            time.sleep(0.01)
        pids = children.read_text().split()
        os.killpg(first.pid, how) if how == signal.SIGINT else first.send_signal(how)
        said = first.communicate(timeout=60)[1]
    assert first.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[how]
    for _ in range(1000):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            break
        time.sleep(0.01)
    else:
        raise AssertionError("processes have stayed")
    if how != signal.SIGKILL:
        assert "what was done is kept" in said and "Traceback" not in said
        assert read_report(run).status == "interrupted"
    assert (RunStore(run).reached(1) or 0) < 12
    assert refine(run) == 0
    assert differences(contents(run), drop[1]) == []


@pytest.mark.slow
def test_level_0_may_be_on_its_way_as_well(run: Path, drop: tuple[Path, dict[str, Any]]) -> None:
    store = RunStore(run)
    store.remove("level-0/*")
    (run / "level-0").rmdir()
    assert refine(run) == 0
    assert differences(contents(run), drop[1]) == []
