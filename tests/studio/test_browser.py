"""The studio in a browser, as a new user would use it: headless Chromium against the running server."""

import base64
import io
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

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 240.0  # seconds: software draws a frame in a second or more
FILM_RATE, FILM_SPEED = 8, 6.0  # frames a second, and how much faster than it was
TABLE: dict[str, Any] = {
    "name": "table",
    "shell": [
        {"name": "cloth", "shape": "grid", "width": 1.2, "height": 1.2, "vertices": 300, "material": "cotton",
         "rest_on": "table"}
    ],
    "collider": [
        {"name": "table", "shape": "can", "radius": 0.4, "height": 0.04, "rounding": 0.01, "vertices": 800,
         "translate": [0.0, 0.0, 0.7]},
        {"name": "floor", "shape": "floor", "height": 0.0},
    ],
    "contact": {"friction": 0.4},
    "hierarchy": {"levels": 3},
}  # fmt: skip

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
pytest.importorskip("viser", reason="the extra plisse[studio] is not installed")
if CHROMIUM is None:
    pytest.skip("There is no Chromium: apt-get install chromium", allow_module_level=True)

from plisse.studio.studio import Studio  # noqa: E402


class Story:
    """A studio, a browser that shows it, and a film of what is seen."""

    def __init__(self, folder: Path, table: dict[str, Any], playwright: Any, *, size: tuple[int, int]) -> None:
        (folder / "tiny.toml").write_text(write_table(table))
        self.folder = folder
        self.studio = Studio(folder / "tiny.toml", host="127.0.0.1", port=0, threads=1)
        self.thread = threading.Thread(target=self.studio.run, daemon=True)
        self.thread.start()
        self.browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        self.page = self.browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.set_default_timeout(1e3 * PATIENCE)
        self.frames: list[tuple[float, bytes]] = []
        self.camera: Any = None
        self.page.goto(self.studio.address)
        assert "token" not in self.page.url
        self.wait(lambda: self.studio.page._server.get_clients(), "the page to connect")
        self.pause(1.0)
        for close in self.page.locator(".mantine-Notification-closeButton").all():
            close.click()  # that there is no graphics card is known

    def film(self) -> None:
        """Begins to take what is seen."""
        self.camera = session = self.page.context.new_cdp_session(self.page)

        def take(event: Any) -> None:
            self.frames.append((time.monotonic(), base64.b64decode(event["data"])))
            session.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

        session.on("Page.screencastFrame", take)
        session.send("Page.startScreencast", {"format": "jpeg", "quality": 80, "everyNthFrame": 1})

    def write_film(self, path: Path) -> None:
        imageio = pytest.importorskip("imageio_ffmpeg", reason="the extra plisse[video] is not installed")
        from PIL import Image

        began, end = self.frames[0][0], self.frames[-1][0]
        times = np.array([at for at, _ in self.frames])
        shown = [
            int(np.searchsorted(times, t, side="right")) - 1 for t in np.arange(began, end, FILM_SPEED / FILM_RATE)
        ]
        pictures = [np.asarray(Image.open(io.BytesIO(self.frames[k][1])).convert("RGB")) for k in shown]
        height, width = (size // 2 * 2 for size in pictures[0].shape[:2])
        writer = imageio.write_frames(
            str(path), (width, height), fps=FILM_RATE, codec="libvpx-vp9", quality=None, macro_block_size=2,
            output_params=["-crf", "48", "-b:v", "0", "-pix_fmt", "yuv420p"],
        )  # fmt: skip
        writer.send(None)
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture[:height, :width]).tobytes())
        writer.close()

    def close(self) -> None:
        if self.camera is not None:
            self.camera.detach()
        self.browser.close()
        self.studio.post("stop")
        self.thread.join(30)
        self.studio.close()
        assert not self.studio.link.process.is_alive() and not self.studio.folder.exists()

    def picture(self, name: str) -> None:
        self.pause(3.0)  # software needs a moment until what was sent is seen
        self.page.screenshot(path=self.folder / f"{name}.png", timeout=1e3 * PATIENCE)

    def pause(self, seconds: float) -> None:
        self.page.wait_for_timeout(1e3 * seconds)

    def wait(self, what: Callable[[], Any], why: str) -> Any:
        end = time.monotonic() + PATIENCE
        while not (found := what()):
            assert time.monotonic() < end, f"waited in vain for {why}"
            self.pause(0.1)
        return found

    def screen(self, point: Any) -> tuple[float, float]:
        """Where the page shows a point [m], in pixels."""
        (client,) = self.studio.page._server.get_clients().values()
        camera = client.camera
        seen = (np.asarray(point) - camera.position) @ matrix_of(camera.wxyz)
        half = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
        return (
            0.5 * camera.image_width + half * seen[0] / seen[2],
            0.5 * camera.image_height + half * seen[1] / seen[2],
        )

    def select(self, part: str) -> None:
        titles = self.studio.editing._titles()
        self.choose("part", part)
        self.wait(lambda: self.studio.editing.chosen == titles[part], f"{part} to be chosen")

    def choose(self, label: str, option: str) -> None:
        """An option of a drop-down; the list closes where the form is made anew meanwhile."""
        for _ in range(10):
            self.page.get_by_label(label, exact=True).first.click()
            try:
                self.page.get_by_role("option", name=option, exact=True).first.click(timeout=10_000)
                return
            except sync_api.TimeoutError:
                self.page.keyboard.press("Escape")
        raise AssertionError(f"{label} could not be set to {option}")

    def press(self, text: str) -> None:
        self.page.get_by_text(text, exact=True).first.click()

    def drag(self, *, pause: float) -> None:
        """Takes the gizmo by its arrow along x, and pulls it to about twice its length."""
        mouse, at = self.page.mouse, self.studio.document.scene.colliders[0].translate
        size = 0.35 * self.studio.editing._extent()
        (x0, y0), (x1, y1) = (self.screen([at[0] + k * size, at[1], at[2]]) for k in (0.85, 1.2))
        mouse.move(x0 - 3.0, y0)
        self.pause(pause)
        mouse.move(x0, y0)
        self.pause(2.0 * pause)
        mouse.down()
        self.pause(pause)
        for part in np.linspace(0.2, 1.0, 5):
            mouse.move(x0 + part * (x1 - x0), y0 + part * (y1 - y0))
            self.pause(pause)
        mouse.up()
        self.wait(lambda: not self.studio.editing.dragging, "the end of the drag")

    def drag_collider(self, name: str, *, pause: float) -> float:
        """Drags the first collider by its gizmo; how far along x it is moved [m]."""
        before = self.studio.document.scene.colliders[0].translate[0]
        self.select(name)
        for _ in range(6):  # the gizmo may not be drawn yet
            self.pause(2.0 * pause)
            self.drag(pause=pause)
            moved = self.studio.document.scene.colliders[0].translate[0] - before
            if moved > 0.02:
                return float(moved)
        raise AssertionError(f"{name} was not dragged by its gizmo")

    def hold_vertex(self, vertex: int) -> None:
        """Pins a vertex of the first shell by a click on it."""
        shell = self.studio.document.scene.shells[0]
        self.select(shell.name)
        self.press("Click")
        self.pause(2.0)
        at = self.studio.looking.view.levels[0].x[vertex]
        self.page.mouse.move(*self.screen(at))
        self.pause(0.5)
        self.page.mouse.down()
        self.pause(0.3)
        self.page.mouse.up()
        self.wait(lambda: len(self.studio.document.scene.shells[0].pins) == len(shell.pins) + 1, "a pin")

    def ended(self, level: int) -> bool:
        known = self.studio.looking.view.levels.get(level)
        return known is not None and known.ended is not None and known.frame is not None and known.frame.converged


@pytest.fixture
def browse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Story]]:
    monkeypatch.chdir(tmp_path)
    open_ = list[Story]()
    with sync_api.sync_playwright() as playwright:

        def begin(table: dict[str, Any], **says: Any) -> Story:
            open_.append(Story(tmp_path, table, playwright, **says))
            return open_[0]

        yield begin
        for story in open_:
            story.close()


def test_a_collider_is_dragged_in_the_browser_and_the_scene_is_saved(browse: Callable[..., Story]) -> None:
    story = browse(SCENE | {"contact": {"friction": 0.3}}, size=(760, 420))
    story.wait(lambda: story.ended(0), "the preview")
    story.drag_collider("ball", pause=0.15)
    story.wait(lambda: story.ended(1), "level 1")
    story.press("File")
    story.press("Save scene")
    story.wait((story.folder / "tiny-studio.toml").exists, "the saved scene")
    assert main(["check", str(story.folder / "tiny-studio.toml")]) == 0


@pytest.mark.slow
def test_from_a_scene_to_an_exported_drape(browse: Callable[..., Story]) -> None:
    story = browse(TABLE, size=(1000, 640))
    studio, document, folder = story.studio, story.studio.document, story.folder
    story.film()
    story.wait(lambda: story.ended(0), "the preview")
    # the table is dragged by its gizmo
    story.drag_collider("table", pause=1.0)
    dragged = document.scene.colliders[0].translate
    story.picture("studio-drag")
    # while the preview follows, another fabric
    story.select("cloth")
    story.choose("fabric", "silk")
    story.wait(lambda: document.scene.shells[0].material.name == "silk", "silk")
    # two corners are held where they are
    level = studio.looking.view.levels[0]
    corners = [int(level.x[:, :2].dot(way).argmax()) for way in ((1.0, -1.0), (-1.0, -1.0)) if len(level.x)]
    assert max(corners) < level.stage.parts[0].last
    for corner in corners:
        story.hold_vertex(corner)
    assert studio.editing.chosen == ("shell", 0, "pin", 1)
    story.picture("studio-pins")
    # it is refined by itself, and a touch goes back to the preview at once
    story.wait(lambda: story.ended(1), "level 1 with pins")
    story.wait(lambda: studio.looking.view.newest == 2, "level 2 to begin")
    story.select("cloth")
    story.choose("fabric", "denim")
    story.wait(lambda: studio.looking.view.newest == 0, "the preview to be back")
    assert document.scene.shells[0].material.name == "denim"
    story.press("Undo")
    story.wait(lambda: document.scene.shells[0].material.name == "silk", "the last change to be taken back")
    assert document.scene.colliders[0].translate == dragged
    story.wait(lambda: story.ended(2), "level 2")
    story.picture("studio")
    # two levels beside each other
    story.press("Levels")
    story.choose("compare with", "level 0")
    story.wait(lambda: studio.looking.view.beside == 0, "two levels beside each other")
    story.picture("studio-compare")
    story.choose("compare with", "nothing")
    story.choose("map", "strain")
    story.wait(lambda: studio.looking.view.map is not None, "the map of strain")
    story.picture("studio-strain")
    story.choose("map", "none")
    story.choose("section", "across y")
    story.wait(lambda: studio.looking.view.section == 1, "a section")
    story.press("Report")
    story.wait(lambda: "Newton iterations" in studio.page._report.content, "the report")
    story.picture("studio-section")
    story.choose("section", "none")
    # it leaves
    story.press("File")
    story.press("Save scene")
    saved = folder / "tiny-studio.toml"
    story.wait(saved.exists, "the saved scene")
    story.press("Export")
    story.wait((folder / "tiny-studio.usdc").exists, "the export")
    story.picture("studio-file")
    story.write_film(folder / "studio.webm")
    # the command line finds the same equilibrium of the saved scene: as high, and as far as friction lets it be there
    shown = RunStore(studio.folder).read_checkpoint(2)
    assert main(["check", str(saved)]) == 0
    assert main(["run", str(saved), "--out", str(folder / "run"), "--threads", "1", "--quiet"]) == 0
    report = json.loads((folder / "run" / "report.json").read_text())
    assert all(level["converged"] and not level["intersections"] for level in report["levels"])
    assert RunStore(folder / "run").read_scene().colliders[0].translate == pytest.approx(dragged)
    found = RunStore(folder / "run").read_checkpoint(2)
    assert shown is not None and found is not None
    apart = np.linalg.norm(shown.state.x - found.state.x, axis=1)
    print(
        f"energy {shown.state.energy:.4f} and {found.state.energy:.4f} J, apart {1e3 * apart.mean():.1f} mm on average"
    )
    assert shown.state.energy == pytest.approx(found.state.energy, rel=0.02)
    assert apart.mean() < 0.03 * 1.2
