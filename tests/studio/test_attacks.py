"""What somebody who is inside already can do: nothing is read or written outside, and the studio goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra plisse[studio] is not installed")

from websockets.exceptions import ConnectionClosed

from plisse.bench.studio_visitor import Visitor
from plisse.core.errors import SceneError
from plisse.loading.scene_text import write_table
from plisse.studio.document import Document
from plisse.studio.intake import MOST_UPLOAD, MOST_WRONG, Intake, Rules
from plisse.studio.studio import Studio

from .test_work import SCENE

OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"
CHUNK = 500_000


class Site:
    """A studio that runs in a folder with others beside it."""

    def __init__(self, folder: Path) -> None:
        self.outside, self.project = folder, folder / "project"
        self.project.mkdir()
        (folder / "secret.obj").write_bytes(OBJ)
        (self.project / "mine.toml").write_text(write_table(SCENE))
        self.studio = Studio(self.project / "mine.toml", host="127.0.0.1", port=0, threads=1)
        self.thread = threading.Thread(target=self.studio.run, daemon=True)
        self.thread.start()
        self.visitor = Visitor(self.studio.address)
        self.visitor.until(lambda: self.visitor.bodies, "the scene")
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        """Everything in the folder, apart from what simulates."""
        return {str(path.relative_to(self.outside)): path.read_bytes() for path in self.outside.rglob("*.*")}

    def added(self) -> set[str]:
        return set(self.files()) - set(self.before)

    @property
    def said(self) -> str:
        """What the panel says beside its controls."""
        return " ".join(str(each["props"].get("content", "")) for each in self.visitor.controls.values())

    def upload(self, name: str, content: bytes, *, size: int | None = None, uuid: str | None = None) -> None:
        uuid = uuid or self.visitor.find("Add file")["uuid"]
        parts = [content[k : k + CHUNK] for k in range(0, len(content), CHUNK)]
        transfer = f"transfer-{time.monotonic_ns()}"
        self.visitor.send(
            "FileTransferStartUpload", source_component_uuid=uuid, transfer_uuid=transfer, filename=name,
            mime_type="text/plain", part_count=len(parts), size_bytes=len(content) if size is None else size,
        )  # fmt: skip
        for index, part in enumerate(parts):
            self.visitor.send(
                "FileTransferPart", source_component_uuid=uuid, transfer_uuid=transfer, part_index=index, content=part
            )

    def until_said(self, words: str) -> None:
        self.visitor.until(lambda: words in self.said, f"{words!r}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.visitor.close()
    site.studio.post("stop")
    site.thread.join(30)
    site.studio.close()


@pytest.fixture(autouse=True)
def nothing_else_happens(site: Site, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No test writes outside of the project's folder, ends the studio, or makes it print a traceback."""
    site.visitor.set("part", "[scene]")
    site.visitor.until(lambda: site.visitor.gizmo is None, "nothing to be chosen")
    yield
    assert {name for name in site.added() if not name.startswith("project/")} == set()
    assert all(site.files().get(name) == content for name, content in site.before.items())
    assert site.visitor.ask() == 200 and site.thread.is_alive()
    # a change still has its effect
    site.visitor.choose("ball")
    site.visitor.set("part", "[scene]")
    assert "Traceback" not in capfd.readouterr().err


def test_a_mesh_is_added_to_the_folder_and_to_the_list(site: Site) -> None:
    site.upload("sheet.obj", OBJ)
    site.until_said("Added sheet.obj")
    assert (site.project / "sheet.obj").read_bytes() == OBJ
    assert "file as shell sheet.obj" in site.visitor.find("add")["props"]["options"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("../evil.obj", OBJ, "not a name"),
        ("../../evil.toml", b"", "not a name"),
        ("/tmp/evil.obj", OBJ, "not a name"),
        ("a\\b.obj", OBJ, "not a name"),
        ("..obj", OBJ, "not a name"),
        (".hidden.obj", OBJ, "not a name"),
        ("x\x00.obj", OBJ, "not a name"),
        ("n" * 300 + ".obj", OBJ, "not a name"),
        ("evil.py", b"print()", "can be added"),
        ("evil", b"", "can be added"),
        ("mine.toml", b"seed = 1", "already exists"),
        ("bad.obj", b"\xff\xfe\x00garbage", "binary data"),
        ("empty.stl", b"", "not an STL file"),
        ("huge.ply", b"ply\nformat ascii 1.0\nelement vertex 999999999999\nproperty float x\nend_header\n",
         "999999999999"),
        ("no.toml", b"\xff", "not a scene file"),
        ("deep.toml", b"a = " + b"[" * 100_000, "not a scene file"),
        ("wrong.toml", b'[[shell]]\nshape = "grdi"\n', "grdi"),
        ("thief.toml", b'[[shell]]\nfile = "../secret.obj"\n', "outside"),
        ("thief2.toml", b'[[shell]]\nshape = "grid"\nstart = "/etc"\n', "outside"),
        ("large.toml", b"# " + b"x" * 2_000_000, "at most 1 MB"),
    ],
)  # fmt: skip
def test_an_upload_that_is_not_right_leaves_nothing(site: Site, name: str, content: bytes, words: str) -> None:
    before = site.added()
    site.upload(name, content)
    site.until_said(words)
    assert site.added() == before


def test_an_upload_that_is_too_large_is_refused_before_it_comes(site: Site) -> None:
    site.upload("big.obj", OBJ, size=MOST_UPLOAD + 1)
    site.until_said("too large")


def test_an_upload_that_is_larger_than_it_said_is_dropped(site: Site) -> None:
    before = site.added()
    site.upload("liar.obj", OBJ * 100, size=10)
    site.upload("honest.obj", OBJ)
    site.until_said("Added honest.obj")
    assert site.added() - before == {"project/honest.obj"}


def test_other_controls_take_no_files(site: Site) -> None:
    before = site.added()
    site.upload("aside.obj", OBJ, uuid=site.visitor.find("part")["uuid"])
    site.upload("aside.obj", OBJ, uuid="nothing")
    site.upload("after.obj", OBJ)
    site.until_said("Added after.obj")
    assert site.added() - before == {"project/after.obj"}


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..", "\x00", "mine"])
def test_nothing_is_saved_under_another_path(site: Site, name: str) -> None:
    before = site.added()
    for button in ("Save scene", "Export", "Picture", "Web page"):
        site.visitor.set("file", name)
        site.visitor.set(button, True)
    time.sleep(0.5)
    assert {each for each in site.added() - before if not each.startswith("project/mine.")} == set()


def test_a_scene_that_is_edited_reads_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.obj").write_bytes(OBJ)
    document = Document(SCENE, tmp_path / "project")

    def edit(table: dict[str, Any], file: str) -> None:
        table["collider"][0] = {"name": "ball", "file": file}

    for file in ("../secret.obj", str(tmp_path / "secret.obj"), "x/../../secret.obj"):
        with pytest.raises(SceneError, match="outside"):
            document.edit(lambda table, file=file: edit(table, file), "file")
    given = SCENE | {"collider": [{"name": "ball", "file": "../secret.obj"}]}
    assert Document(given, tmp_path / "project", trusted=True).scene.colliders[0].mesh is not None


def strangers() -> list[Any]:
    uuid = "00000000-0000-0000-0000-000000000000"
    gizmo = {"name": "/gizmo", "owner": "", "wxyz": [1.0, 0.0, 0.0, 0.0]}
    return [
        {"type": "ShareUrlRequest"},
        {"type": "GetRenderResponseMessage", "payload": b"x", "render_uuid": uuid},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": 1}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"removed": True}},
        {"type": "GuiUpdateMessage", "uuid": 3, "updates": []},
        {"type": "TransformControlsUpdateMessage", **gizmo, "position": ["a", None, 0.0]},
        {"type": "TransformControlsUpdateMessage", **gizmo, "position": [float("nan"), 0.0, 0.0]},
        {"type": "TransformControlsUpdateMessage", **gizmo, "position": [1e300, 0.0, 0.0]},
        {"type": "TransformControlsUpdateMessage", **gizmo, "wxyz": [0.0] * 4, "position": [0.0] * 3},
        {"type": "ScenePointerMessage", "event_type": "click"},
        {"type": ["GuiUpdateMessage"]},
        {"type": "__init__"},
        [],
        None,
        7,
    ]


def test_what_cannot_be_read_is_dropped() -> None:
    intake = Intake(Rules(lambda *_: True, lambda _: True, lambda: 0, lambda _: None))
    strange = [{"type": ["GuiUpdateMessage"]}, {"type": {}}, {"type": 1.0}, {"type": None}, [], None, 7]
    # and maps whose keys are a list and a map, nothing, a byte without a meaning, and what is no bytes
    raw = [*map(msgspec.msgpack.encode, strange), b"\x81\x91\x01\x02", b"\x81\x80\x02", b"", b"\xc1", "text"]
    assert not any(map(intake.passes, raw)) and intake.wrong == len(raw)


def test_what_no_window_sends_has_no_effect_and_ends_in_being_cut_off(site: Site) -> None:
    before = site.studio.document.text()
    visitor = Visitor(site.studio.address)
    visitor.until(lambda: visitor.bodies, "the scene")
    for message in strangers():
        visitor.send_raw(msgspec.msgpack.encode(message))
    # values that a control cannot have
    for label, value in (("part", "nobody"), ("wipe", 7.0), ("wipe", "x"), ("refine by itself", "no"), ("map", 3)):
        visitor.set(label, value)
    time.sleep(0.3)
    assert site.studio.document.text() == before
    with pytest.raises(ConnectionClosed):
        for number in range(3 * MOST_WRONG):
            visitor.send_raw(np.random.default_rng(number).bytes(100) if number % 2 else "text")
            time.sleep(0.005)
    visitor.close()


def test_a_window_that_floods_the_studio_is_cut_off_and_does_not_hold_up_others(site: Site) -> None:
    site.visitor.choose("ball")
    flooder = Visitor(site.studio.address)
    flooder.until(lambda: flooder.gizmo, "the gizmo")
    done, over = threading.Event(), list[int]()

    def flood() -> None:
        flooder.drag("Start")
        x = 0
        with suppress(ConnectionClosed):
            while not done.is_set():
                x += 1
                flooder.drag("Update", [1e-6 * x, 0.0, 0.0])
            over.append(x)

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    waits = []
    for _ in range(8):
        began = time.perf_counter()
        assert site.visitor.ask() == 200
        waits.append(time.perf_counter() - began)
        time.sleep(0.05)
    assert site.studio._events.qsize() < 1000
    done.set()
    thread.join(20)
    flooder.close()
    assert not over, "it was cut off before"
    assert max(waits) < 10.0  # what was not cut off would go on for minutes
    # what it dragged is where it was when it was cut off, and can be dragged on
    site.visitor.until(lambda: not site.studio.editing.dragging, "the end of the drag")


def test_two_windows_see_the_same(site: Site) -> None:
    other = Visitor(site.studio.address)
    other.until(lambda: "cloth" in other.bodies, "the scene")
    other.choose("ball")
    site.visitor.until(lambda: site.visitor.find("part")["value"] == "ball", "the other window's choice")
    other.drag("Start")
    other.drag("Update", [0.0, 0.01, 0.0])
    other.drag("End")
    moved: Callable[[Visitor], bool] = lambda window: abs(float(window.bodies["ball"][:, 1].mean()) - 0.01) < 2e-3  # noqa: E731
    site.visitor.until(lambda: moved(site.visitor), "the ball to move in one window")
    other.until(lambda: moved(other), "the ball to move in the other window")
    other.close()
