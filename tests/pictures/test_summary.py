"""The report in a terminal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.pictures.summary import summarise, verdict
from plisse.progressive.report import Report
from plisse.runs.report import read_report

SCENE = """[[shell]]
shape = "grid"
vertices = 64
[[collider]]
shape = "sphere"
subdivisions = 2
[hierarchy]
levels = 2
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summary")
    (folder / "cloth.toml").write_text(SCENE)
    assert main(["run", str(folder / "cloth.toml"), "--out", str(folder / "run"), "--threads", "1", "--quiet"]) == 0
    return folder / "run"


def test_it_has_a_verdict_a_column_a_level_and_the_time(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run)]) == 0
    told = capsys.readouterr().out
    report = json.loads((run / "report.json").read_text())
    lines = told.splitlines()
    assert lines[0].startswith("cloth: in equilibrium on level 1 (392 triangles), ")
    assert "% of the size from rest (0.05 % is asked); 0 intersections in " in lines[0]
    assert "chosen from the scene: contact.dhat = " in told and "level-0.bending = " in told
    vertices = next(line for line in lines if line.startswith("vertices")).split()
    assert vertices == ["vertices", *(str(level["vertices"]) for level in report["levels"])]
    assert any(line.startswith("distance to finest [mm]") for line in lines)
    shares = [line for line in lines if line.endswith(" %")]
    assert len(shares) == 5 and sum(int(line.split()[-2]) for line in shares) == pytest.approx(100, abs=3)


def test_a_run_that_was_stopped_says_so_and_how_to_go_on(run: Path) -> None:
    report = read_report(run)
    stopped = verdict(replace(report, status="interrupted"))
    assert "interrupted at step" in stopped and "--resume" in stopped
    level = report.levels[-1]
    assert "NOT in equilibrium" in verdict(replace(report, levels=(replace(level, converged=False),)))
    assert "3 steps did NOT meet" in verdict(replace(report, levels=(replace(level, unconverged_steps=3),)))
    assert "nothing has been computed yet" in summarise(replace(report, levels=()))


def test_a_report_is_the_same_after_its_json_form(run: Path) -> None:
    report = read_report(run)
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report
    assert report.levels[0].metrics is not None and report.levels[0].metrics.folds is not None
    with pytest.raises(SceneError, match="another version"):
        Report.from_json({"levels": [{"level": 0}]})


def test_the_page_goes_where_it_is_asked_to(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--html", "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Chosen from the scene" in page and "cloth: in equilibrium on level 1" in page and "<img" in page
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_pictures_of_frames(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "first.png"
    arguments = ["render", str(run), "--level", "0", "--frame", "0", "--size", "160x120", "--out", str(out)]
    assert main(arguments) == 0 and out.read_bytes()[:4] == b"\x89PNG"
    for name, begins in (("a.jpg", b"\xff\xd8\xff"), ("a.png", b"\x89PNG")):
        assert main(["render", str(run), "--size", "160x120", "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert main(["render", str(run), "--out", str(tmp_path / "a.gif")]) == 2
    assert "end it in .png" in capsys.readouterr().err
    assert main(["render", str(run), "--video", "--out", str(tmp_path / "a.png")]) == 2
    assert "end it in .mp4" in capsys.readouterr().err
    assert main(["render", str(run), "--frame", "7"]) == 2
    assert "no frame 7" in capsys.readouterr().err
