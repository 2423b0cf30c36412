"""`plisse refine RUN --set`: back to the preview from its last state, with other values and other bodies."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse.runs.album
from plisse.cli import main
from plisse.progressive.session import Session
from plisse.runs.opening import open_session

SCENE = """
[[shell]]
shape = "grid"
vertices = 60
[[collider]]
name = "ball"
shape = "sphere"
radius = 0.25
subdivisions = 2
[hierarchy]
levels = 2
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("change")
    (folder / "cloth.toml").write_text(SCENE)
    assert main(["run", str(folder / "cloth.toml"), "--out", str(folder / "run"), "--threads", "1", "--quiet"]) == 0
    return folder / "run"


@pytest.fixture
def run(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a finished run of two levels."""
    for name in ("render", "render_strip"):
        monkeypatch.setattr(plisse.runs.album, name, lambda path, *_, **__: path.write_bytes(b""))
    for path in sorted(done.rglob("*")):
        target = tmp_path / "run" / path.relative_to(done)
        if path.is_dir():
            target.mkdir(parents=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path / "run"


def refine(run: Path, *sets: str, code: int = 0) -> dict[str, Any]:
    words = [word for text in sets for word in ("--set", text)]
    assert main(["refine", str(run), "--threads", "1", "--quiet", *words]) == code
    return dict(json.loads((run / "report.json").read_text()))


def steps(run: Path, level: int) -> list[int]:
    lines = (run / f"level-{level}" / "steps.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_it_goes_on_from_the_preview_s_last_state(run: Path) -> None:
    before = np.load(run / "level-0" / "frame-0001.npy")
    last = steps(run, 0)[-1]
    report = refine(run, "contact.friction=0.6", "shell.material=wool")
    assert [level["level"] for level in report["levels"]] == [0, 1] and all(l["converged"] for l in report["levels"])
    assert np.array_equal(np.load(run / "level-0" / "frame-0000.npy"), before)
    assert steps(run, 0)[0] == last + 1
    scene = json.loads((run / "scene.json").read_text())
    assert scene["contact"]["friction"] == 0.6 and scene["shell"][0]["material"]["name"] == "wool"
    assert sum(level["intersections"] for level in report["levels"]) == 0
    # and it is a run as any other
    assert main(["refine", str(run), "--threads", "1", "--quiet", "--tol", "0.005"]) == 0
    assert main(["check", str(run.parent / "nothing.toml")]) == 2


def test_a_collider_is_added_and_removed(run: Path) -> None:
    n = json.loads((run / "report.json").read_text())["levels"][0]["vertices"]
    size = len(np.load(run / "level-0" / "frame-0001.npy"))
    post = "collider.1={shape='sphere', name='post', radius='5 cm', subdivisions=1, translate=[0.4, 0.4, 0.2]}"
    report = refine(run, post)
    assert all(level["converged"] for level in report["levels"])
    assert len(np.load(run / "level-0" / "frame-0001.npy")) > size
    report = refine(run, "collider.1=", 'collider.1={shape="floor", name="floor", height=-0.6}', "collider.0.name=ball")
    assert len(np.load(run / "level-0" / "frame-0001.npy")) == size > n
    assert [collider["name"] for collider in json.loads((run / "scene.json").read_text())["collider"]] == [
        "ball",
        "floor",
    ]


POST = "collider.1={shape='sphere', name='post', radius=0.1, subdivisions=2, translate=[0.1, 0, -0.05]}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("contact.frction=0.5", ["unknown key", "friction"]),
        ("contact.offset=0.01", ["contact.offset"]),
        (POST, ["post", "intersection"]),
        ("shell.vertices=90", ["meshes", "start again"]),
        ("collider.7=", ["there is only entry 0"]),
        ("wind=", ["not there"]),
        ("time.mode=dynamic", ["time.mode cannot be changed on the way", "start another run"]),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_lost(
    run: Path, text: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert main(["refine", str(run), "--threads", "1", "--set", text]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len([line for line in error if line.startswith("plisse:")]) == 1
    assert all(word in error[-1] for word in words), error
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_run_opens_as_a_session_with_its_states(run: Path) -> None:
    session = open_session(run)
    assert isinstance(session, Session) and session.grid.levels == [0, 1]
    state = session.state
    assert state is not None and state.level == 1 and state.converged
    assert np.array_equal(state.x, np.load(run / "level-1" / "frame-0001.npy"))
