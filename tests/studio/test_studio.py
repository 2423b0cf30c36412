"""The studio as a whole, without a browser: what it refuses, and what it leaves behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.loading.scene_text import write_table
from plisse.runs.writing import lock_run
from plisse.studio.places import angles_of, frame, matrix_of, meet, wxyz_of
from plisse.studio.studio import Studio, thin_out
from plisse.studio.words import Frame

from .test_work import SCENE


def wait(what: Callable[[], Any], why: str, seconds: float = 120.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"waited in vain for {why}"
        time.sleep(0.05)
    return found


def test_without_viser_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(SceneError, match=r"plisse\[studio\]"):
        Studio(None, host="127.0.0.1", port=0, threads=1)


def test_a_run_that_is_in_use_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    (tmp_path / "geometry.npz").touch()
    (tmp_path / "scene.json").write_text("{}")
    with lock_run(tmp_path), pytest.raises(SceneError, match="Another command"):
        Studio(tmp_path, host="127.0.0.1", port=0, threads=1)


def test_of_what_follows_itself_only_the_last_is_handled() -> None:
    def shown(number: int, level: int) -> tuple[str, tuple[Any, ...]]:
        nothing = np.zeros((0, 3), np.float32)
        word = Frame(number, level, nothing, 0, 0.0, True, False, 0.0, None, 0.0, 0.0, 0, 0, 0.0, (), 0)
        return ("heard", (word,))

    drags = [("drag", (("collider", 0), phase, k, None)) for k, phase in enumerate(["start", *["update"] * 50, "end"])]
    events = [
        shown(1, 0),
        *drags,
        shown(1, 0),
        shown(1, 1),
        ("undo", ()),
        ("undo", ()),
        ("wipe", (0.1,)),
        ("wipe", (0.9,)),
    ]
    kept = thin_out(events)
    assert [name for name, _ in kept] == ["drag", "drag", "drag", "heard", "heard", "undo", "undo", "wipe"]
    assert kept[1][1][2] == 50 and kept[-1][1] == (0.9,)


def test_turns_go_to_quaternions_and_back() -> None:
    rng = np.random.default_rng(3)
    special = [(0, 90, 0), (180, 0, 0), (0, 180, 0), (0, 0, 180), (0, -90, 30), (0, 0, 0)]
    for degrees in [*rng.uniform(-180, 180, (200, 3)), *np.array(special, float)]:
        wxyz = wxyz_of(degrees)
        np.testing.assert_allclose(matrix_of(wxyz_of(np.array(angles_of(wxyz)))), matrix_of(wxyz), atol=1e-6)


def test_a_click_meets_the_nearest_surface() -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], float)
    triangles = np.array([[0, 1, 2], [3, 4, 5]])
    found = meet(np.array([0.6, 0.1, 3.0]), np.array([0.0, 0.0, -2.0]), x, triangles)
    assert found is not None and found[0] == pytest.approx(2.0) and found[1] == 4
    assert meet(np.array([2.0, 2.0, 3.0]), np.array([0.0, 0.0, -1.0]), x, triangles) is None


def test_a_rectangle_holds_what_is_seen_in_it() -> None:
    x = np.array([[0, 0, 5], [1, 0, 5], [0, 1, 5], [0, 0, -5]], float)
    camera = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), 0.5 * np.pi, 2.0)
    assert frame(camera, np.array([0.45, 0.45]), np.array([0.56, 0.55]), x).tolist() == [0, 1]
    assert frame(camera, np.array([0.45, 0.45]), np.array([0.54, 0.61]), x).tolist() == [0, 2]


def _have_ended(processes: list[str]) -> bool:
    return not any(Path(f"/proc/{process}").exists() for process in processes)


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_and_no_folder_behind(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    (tmp_path / "tiny.toml").write_text(write_table(SCENE))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for number in (signal.SIGINT, signal.SIGTERM):
        studio = subprocess.Popen(
            [sys.executable, "-m", "plisse.cli", "studio", str(tmp_path / "tiny.toml"), "--port", "0", "--no-browser"],
            stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(scratch)},
        )  # fmt: skip
        assert studio.stderr is not None
        assert "token=" in studio.stderr.readline()
        # the process that simulates is at work
        wait(lambda: list(scratch.glob("*/level-0/state.npz")), "the first step")
        children = Path(f"/proc/{studio.pid}/task/{studio.pid}/children").read_text().split()
        assert children
        studio.send_signal(number)
        assert studio.wait(30) == 0
        assert "Traceback" not in studio.stderr.read()
        # Python's own tracker of resources ends a moment after what it tracks
        wait(partial(_have_ended, children), "its processes to end", 20.0)
        assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    (tmp_path / "tiny.toml").write_text(write_table(SCENE))
    studio = Studio(tmp_path / "tiny.toml", host="127.0.0.1", port=0, threads=1)
    thread = threading.Thread(target=studio.run, daemon=True)
    thread.start()
    try:
        view = studio.looking.view
        wait(lambda: 0 in view.levels and view.levels[0].ended, "the preview")
        step, first = view.levels[0].frame.step, studio.link.process  # type: ignore[union-attr]
        first.kill()
        wait(lambda: studio.link.process is not first, "another process")
        wait(lambda: 1 in view.levels and view.levels[1].ended, "level 1")
        assert view.levels[0].frame.step >= step, "level 0 did not begin again"  # type: ignore[union-attr]
    finally:
        studio.post("stop")
        thread.join(30)
        studio.close()
    assert not studio.link.process.is_alive()


def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("viser")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[shell]]\nshape = "grid"\nmaterial = "wol"\n')
    for arguments, word in (
        ([str(wrong)], "wol"),
        ([str(tmp_path / "none.toml")], "none.toml"),
        (["--host", "0.0.0.0"], "ssh -L"),
    ):
        assert main(["studio", "--no-browser", *arguments]) == 2
        said = capsys.readouterr().err
        assert word in said and said.count("\n") == 1 and "Traceback" not in said
