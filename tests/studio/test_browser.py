"""The studio in a browser, as a new user would use it: headless Chromium against the running server."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.cli import main
from plisse.loading.scene_text import write_table
from plisse.runs.store import RunStore
from plisse.studio.places import matrix_of

from .test_work import SCENE

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 180.0  # seconds: software draws a frame in a second or more

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
pytest.importorskip("viser", reason="the extra plisse[studio] is not installed")
if CHROMIUM is None:
    pytest.skip("There is no Chromium: apt-get install chromium", allow_module_level=True)

from plisse.studio.studio import Studio  # noqa: E402


def wait(what: Callable[[], Any], why: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, f"waited in vain for {why}"
        time.sleep(0.1)
    return found


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    (tmp_path / "tiny.toml").write_text(write_table(SCENE | {"contact": {"friction": 0.3}}))
    monkeypatch.chdir(tmp_path)
    studio = Studio(tmp_path / "tiny.toml", host="127.0.0.1", port=0, threads=1)
    thread = threading.Thread(target=studio.run, daemon=True)
    thread.start()
    yield studio
    studio.post("stop")
    thread.join(30)
    studio.close()
    assert not studio.link.process.is_alive() and not studio.folder.exists()


@pytest.fixture
def page(studio: Studio) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 1000, "height": 640})
        page.set_default_timeout(1e3 * PATIENCE)
        page.goto(studio.address)
        assert "token" not in page.url
        wait(lambda: studio.page._server.get_clients(), "the page to connect")
        yield page
        browser.close()


def screen_of(studio: Studio, point: Any) -> tuple[float, float]:
    """Where the page shows a point [m], in pixels."""
    (client,) = studio.page._server.get_clients().values()
    camera = client.camera
    seen = (np.asarray(point) - camera.position) @ matrix_of(camera.wxyz)
    half = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    return (
        0.5 * camera.image_width + half * seen[0] / seen[2],
        0.5 * camera.image_height + half * seen[1] / seen[2],
    )


def drag(studio: Studio, page: Any) -> None:
    """Takes the gizmo by its arrow along x, and pulls it to about twice its length."""
    time.sleep(3.0)
    size = 0.35 * studio.editing._extent()
    (x0, y0), (x1, y1) = (screen_of(studio, [k * size, 0.0, 0.0]) for k in (0.85, 1.4))
    page.mouse.move(x0 - 3.0, y0)
    time.sleep(1.0)
    page.mouse.move(x0, y0)
    time.sleep(2.0)
    page.mouse.down()
    time.sleep(1.0)
    for part in np.linspace(0.2, 1.0, 5):
        page.mouse.move(x0 + part * (x1 - x0), y0 + part * (y1 - y0))
        time.sleep(0.7)
    page.mouse.up()
    time.sleep(1.0)


def choose(page: Any, label: str, option: str) -> None:
    """An option of a drop-down."""
    page.get_by_label(label, exact=True).first.click()
    page.get_by_role("option", name=option, exact=True).first.click()


def level_ended(studio: Studio, level: int) -> Any:
    known = studio.looking.view.levels.get(level)
    return known is not None and known.ended is not None and known.frame is not None and known.frame.converged


def test_from_a_scene_to_an_exported_drape(studio: Studio, page: Any, tmp_path: Path) -> None:
    wait(lambda: level_ended(studio, 0), "the preview")
    # the ball is dragged by its gizmo
    choose(page, "part", "ball")
    wait(lambda: studio.editing.chosen == ("collider", 0), "the ball to be chosen")
    for _ in range(5):  # it may not be drawn yet
        drag(studio, page)
        if studio.document.scene.colliders[0].translate[0] > 0.02:
            break
    else:
        raise AssertionError("the ball was not dragged by its gizmo")
    wait(lambda: not studio.editing.dragging, "the end of the drag")
    dragged = studio.document.scene.colliders[0].translate
    # while the preview follows, another fabric
    choose(page, "part", "cloth")
    wait(lambda: studio.editing.chosen == ("shell", 0), "the cloth to be chosen")
    choose(page, "fabric", "silk")
    wait(lambda: studio.document.scene.shells[0].material.name == "silk", "silk")
    wait(lambda: level_ended(studio, 1), "level 1")
    # two vertices are held where they are
    for number, vertex in enumerate((24, 25)):
        choose(page, "part", "cloth")
        wait(lambda: studio.editing.chosen == ("shell", 0), "the cloth to be chosen")
        page.get_by_text("Click", exact=True).click()
        time.sleep(2.0)
        at = studio.looking.view.levels[0].x[vertex]
        page.mouse.move(*screen_of(studio, at))
        time.sleep(0.5)
        page.mouse.down()
        time.sleep(0.3)
        page.mouse.up()
        wait(lambda count=number + 1: len(studio.document.scene.shells[0].pins) == count, "a pin")
    assert studio.editing.chosen == ("shell", 0, "pin", 1)
    page.screenshot(path=tmp_path / "pins.png", timeout=1e3 * PATIENCE)
    wait(lambda: level_ended(studio, 1), "level 1 with pins")
    choose(page, "part", "cloth")
    # a touch goes back to the preview, and undo takes it back
    choose(page, "fabric", "denim")
    wait(lambda: studio.document.scene.shells[0].material.name == "denim", "denim")
    page.get_by_text("Undo", exact=True).click()
    wait(lambda: studio.document.scene.shells[0].material.name == "silk", "the last change to be taken back")
    assert studio.document.scene.colliders[0].translate == dragged
    # two levels beside each other
    wait(lambda: level_ended(studio, 1), "level 1 once more")
    page.get_by_text("Levels", exact=True).click()
    choose(page, "compare with", "level 0")
    wait(lambda: studio.looking.view.beside == 0, "two levels beside each other")
    choose(page, "compare with", "nothing")
    choose(page, "map", "strain")
    wait(lambda: studio.looking.view.map is not None, "the map of strain")
    page.screenshot(path=tmp_path / "strain.png", timeout=1e3 * PATIENCE)
    # it leaves
    page.get_by_text("File", exact=True).click()
    page.get_by_text("Save scene", exact=True).click()
    saved = tmp_path / "tiny-studio.toml"
    wait(saved.exists, "the saved scene")
    page.get_by_text("Export", exact=True).click()
    wait((tmp_path / "tiny-studio.usdc").exists, "the export")
    assert main(["check", str(saved)]) == 0
    assert main(["run", str(saved), "--out", str(tmp_path / "run"), "--threads", "1", "--quiet"]) == 0
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert all(level["converged"] and not level["intersections"] for level in report["levels"])
    assert RunStore(tmp_path / "run").read_scene().colliders[0].translate == pytest.approx(dragged)
