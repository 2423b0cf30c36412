"""The report's page: whole, on its own, and with every number in it."""

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from plisse.core.errors import SceneError
from plisse.pictures.page import write_page
from plisse.progressive.report import Report

VOID = {"meta", "img", "br", "link", "hr", "input"}
CURVATURES = {"mean": 12.5, "gaussian": 4321.0, "larger": 31.5, "smaller": 14.25}


class Page(HTMLParser):
    """Reads a page and insists that its elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def rows(self) -> dict[str, list[str]]:
        """Three cells of each of the table's rows; labels of the plots that read the same come after them."""
        lines = [word.strip() for word in self.words if word.strip()]
        return {line: lines[k + 1 : k + 4] for k, line in reversed(list(enumerate(lines)))}


def make_level(level: int, *, last: bool) -> dict[str, Any]:
    steps = (30, 12, 1)[level]
    return {
        "level": level, "vertices": 784 * 4**level, "triangles": 1458 * 4**level, "steps": steps,
        "newton_iterations": steps + 1, "wall_s": 1.625 * 4**level, "converged": level != 1, "residual": 0.00873,
        "force_balance": 0.0137, "energy": -0.1645, "contacts": 312, "intersections": 0, "states_checked": 4,
        "min_distance_over_offset": 1.0625, "max_stretch_over_limit": None,
        "time_split": {"elastic": 0.5, "contact": 0.25, "linear": 0.75 * 4**level},
        "history": {
            "residual": [0.5 / (k + 1) for k in range(steps)],
            "energy": [1.0 / (k + 1) - 0.2 for k in range(steps)],
            "contacts": [10 * k for k in range(steps)],
            "step_length": [1.0] * steps,
        },
        "metrics": {
            "position_error_to_finest": None if last else 0.0425 / 2**level,
            "position_error_to_next": None if last else 0.0215,
            "curvature_distance_to_finest": None if last else CURVATURES,
            "curvature_distance_to_next": None if last else CURVATURES,
            "geometric_consistency": None if level == 0 else 3.25e-6,
            "folds": 11 + level,
        },
    }  # fmt: skip


def make_report(levels: int = 3) -> dict[str, Any]:
    made = [make_level(k, last=k == levels - 1) for k in range(levels)]
    about = {"scene": "cloth & <ball>", "version": "0.3.0", "threads": 2, "wall_s": 61.25, "status": "done"}
    return about | {"levels": made}


def written(report: dict[str, Any], folder: Path) -> Page:
    write_page(Report.from_json(report), folder, folder / "report.html")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_page_has_the_numbers(tmp_path: Path) -> None:
    page = written(make_report(), tmp_path)
    assert "cloth & <ball>" in page.words
    assert "plisse 0.3.0, 2 threads, 61.25 s in all" in page.words
    rows = page.rows()
    assert rows["vertices"] == ["784", "3\u202f136", "12\u202f544"]
    assert rows["triangles"] == ["1\u202f458", "5\u202f832", "23\u202f328"]
    assert rows["Newton iterations"] == ["31", "13", "2"]
    assert rows["time [s]"] == ["1.625", "6.5", "26"]
    assert rows["converged"] == ["yes", "no", "yes"]
    assert rows["residual [m/s]"][0] == "0.00873"
    assert rows["energy [J]"][0] == "−0.1645"
    assert rows["least distance / offset"][0] == "1.062"
    assert rows["largest stretch / limit"][0] == "–"
    assert rows["position error to finest [mm]"] == ["42.5", "21.25", "–"]
    assert rows["geometric consistency [kg m²]"][:2] == ["–", "3.25·10⁻⁶"]
    assert rows["folds"] == ["11", "12", "13"]
    assert rows["curvature distance to finest, Gaussian [1/m²]"][0] == "4321"
    assert [cell for cell in page.all("td") if cell.get("class") == "bad"] == [{"class": "bad"}]  # not converged


def test_page_has_the_plots_with_units(tmp_path: Path) -> None:
    page = written(make_report(), tmp_path)
    plots = page.all("svg")
    assert len(plots) == 5 + 3 * 3 + 1
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)
    for label in (
        "error, RMS [mm]", "distance [1; Gaussian 1/m²]", "‖Π x_fine − x_coarse‖² [kg m²]", "energy [J]",
        "residual ‖d‖/(h√n) [m/s]", "step", "level", "Time [s]",
    ):  # fmt: skip
        assert label in page.words, label
    for mark in (*page.all("line"), *page.all("rect"), *page.all("circle")):
        places = {
            key: float(mark[key] or "nan") for key in ("x1", "x2", "y1", "y2", "x", "y", "cx", "cy") if key in mark
        }
        assert all(-1.0 <= place <= 881.0 for place in places.values())


def test_page_needs_nothing_else(tmp_path: Path) -> None:
    page = written(make_report(), tmp_path)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object"}
    for _, attributes in page.elements:
        for key in ("src", "href", "srcset"):
            assert (attributes.get(key) or "data:").startswith("data:")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http" not in text
    assert "url(" not in text


def test_pictures_are_inlined_where_they_exist(tmp_path: Path) -> None:
    assert written(make_report(), tmp_path).all("img") == []
    for name in ("level-0/picture.png", "level-2/picture.png", "levels.png", "preview.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 6), "red").save(tmp_path / name)
    pictures = written(make_report(), tmp_path).all("img")
    assert len(pictures) == 3
    assert all(picture["alt"] for picture in pictures)
    assert all((picture["src"] or "").startswith("data:image/png;base64,iVBOR") for picture in pictures)


def test_run_of_one_level(tmp_path: Path) -> None:
    """Nothing to compare, no history, and the preview for want of the levels' pictures."""
    report = make_report(levels=1)
    assert "Consistency between levels" not in written(report, tmp_path).words
    del report["levels"][0]["metrics"], report["levels"][0]["history"]
    Image.new("RGB", (8, 6), "red").save(tmp_path / "preview.png")
    page = written(report, tmp_path)
    assert len(page.all("svg")) == 1  # the times
    assert len(page.all("img")) == 1
    assert "Consistency between levels" not in page.words
    assert "Convergence" not in page.words


@pytest.mark.parametrize(
    "history",
    [
        {"residual": [], "energy": [], "contacts": []},
        {"residual": [float("inf"), 0.1, 0.0, None], "energy": [0.0] * 4, "contacts": [0] * 4},
        {"residual": [1e-3] * 2, "energy": [-5.0, -5.0], "contacts": [7, 7]},
        {"residual": [float("nan")], "energy": [1e-300], "contacts": [1]},
        {"residual": [1e-30, 1e30], "energy": [-1e12, 1e12], "contacts": [0, 10**7]},
    ],
)
def test_odd_histories_are_drawn_or_left_out(tmp_path: Path, history: dict[str, Any]) -> None:
    report = make_report(levels=1)
    report["levels"][0].update(history=history, time_split={}, residual=float("nan"), energy=float("inf"))
    page = written(report, tmp_path)
    drawn = "".join(value or "" for _, attributes in page.elements for value in attributes.values())
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    write_page(Report.from_json(make_report()), tmp_path, tmp_path / "a.html")
    write_page(Report.from_json(make_report()), tmp_path, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="Cannot write the page"):
        write_page(Report.from_json(make_report()), tmp_path, tmp_path / "missing" / "report.html")


@pytest.mark.slow
def test_browser_shows_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    written(make_report(), tmp_path)
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    shot = tmp_path / "page.png"
    subprocess.run(
        [browser, *quiet, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,2000", f"--screenshot={shot}",
         (tmp_path / "report.html").as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    with Image.open(shot) as picture:
        assert picture.size == (1200, 2000)
        colors = {color for _, color in picture.convert("RGB").getcolors(1 << 24) or []}
    assert (0x2F, 0x6D, 0xB5) in colors  # the first line's blue
