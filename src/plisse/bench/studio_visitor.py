"""A window of the studio without a browser: it says what a browser says, and knows when each answer came."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from plisse.core.arrays import Singles

PATIENCE = 60.0


class Visitor:
    """address: as `plisse studio` printed it. Names of controls are their labels, those of bodies the scene's."""

    def __init__(self, address: str, *, origin: str | None = None) -> None:
        from websockets.sync.client import connect

        parts = urlsplit(address)
        self._host = parts.netloc
        self._cookie = f"plisse-studio-{parts.port}={parts.query.removeprefix('token=')}"
        self.bodies: dict[str, Singles] = {}
        self.arrivals: list[float] = []  # of other positions of the same vertices
        self.controls: dict[str, dict[str, Any]] = {}  # by their uuid
        self.gizmo: dict[str, Any] | None = None
        self.news = threading.Condition()
        self._socket = connect(
            f"ws://{self._host}", subprotocols=[_protocol()], origin=origin or f"http://{self._host}",
            additional_headers={"Cookie": self._cookie}, max_size=None,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        # a window counts once it has said from where it looks
        self.send(
            "ViewerCameraMessage", wxyz=(1.0, 0.0, 0.0, 0.0), position=(0.0, -3.0, 1.0), fov=0.7, near=0.01, far=100.0,
            image_height=600, image_width=800, look_at=(0.0, 0.0, 0.5), up_direction=(0.0, 0.0, 1.0),
        )  # fmt: skip

    def close(self) -> None:
        self._socket.close()
        self._thread.join(5.0)

    def ask(self, path: str = "/") -> int:
        """The status of a page that is asked for."""
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        connection.request("GET", path, headers={"Cookie": self._cookie, "Connection": "close"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    # --- what it says -------------------------------------------------------------------------------------------------

    def send(self, kind: str, **says: Any) -> None:
        import msgspec

        self._socket.send(msgspec.msgpack.encode({"type": kind, **says}))

    def send_raw(self, data: bytes | str) -> None:
        self._socket.send(data)

    def set(self, label: str, value: Any) -> None:
        """Sets a control, or presses a button."""
        control = self.find(label)
        control["value"] = value  # only others are told
        self.send("GuiUpdateMessage", uuid=control["uuid"], updates={"value": value})

    def choose(self, part: str) -> None:
        """Chooses a part of the scene, and waits for its gizmo."""
        self.until(lambda: part in self.find("part")["props"].get("options", ()), f"the part {part!r}")
        if self.gizmo is not None and self.find("part").get("value") == part:
            return
        self.gizmo = None
        self.set("part", part)
        self.until(lambda: self.gizmo, f"the gizmo of {part!r}")

    def find(self, label: str) -> dict[str, Any]:
        """The newest control of that label."""
        found = [each for each in list(self.controls.values()) if each["props"].get("label") == label]
        if not found:
            raise LookupError(f"There is no control {label!r}.")
        return found[-1]

    def drag(self, phase: str, position: Any = (0.0, 0.0, 0.0), wxyz: Any = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Moves the gizmo; phase: "Start", "Update" or "End"."""
        gizmo = self.until(lambda: self.gizmo, "the gizmo")  # it is made anew where the form is
        more = {"wxyz": tuple(wxyz), "position": tuple(map(float, position))} if phase == "Update" else {}
        kind = "TransformControlsUpdateMessage" if phase == "Update" else f"TransformControlsDrag{phase}Message"
        self.send(kind, name=gizmo["name"], owner=gizmo.get("owner", ""), **more)

    # --- what it hears ------------------------------------------------------------------------------------------------

    def until(self, what: Any, why: str, *, patience: float = PATIENCE) -> Any:
        """Waits until `what` is true of what is known here."""
        end = time.monotonic() + patience
        with self.news:
            while not (found := what()):
                left = end - time.monotonic()
                if left <= 0.0:
                    raise TimeoutError(f"waited in vain for {why}")
                self.news.wait(left)
        return found

    @property
    def status(self) -> str:
        """The box at the top of the panel."""
        boxes = [each["props"].get("content", "") for each in self.controls.values() if "content" in each["props"]]
        return next((box for box in boxes if "border-left" in box), "")

    def _listen(self) -> None:
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            while True:
                data = self._socket.recv()
                now = time.perf_counter()
                assert isinstance(data, bytes)
                with self.news:
                    for message in _unpack(data):
                        self._take(message, now)
                    self.news.notify_all()

    def _take(self, message: dict[str, Any], now: float) -> None:
        kind, name = message["type"], message.get("name", "")
        if kind == "GuiUpdateMessage" and message["uuid"] in self.controls:
            control = self.controls[message["uuid"]]
            for key, value in message["updates"].items():
                if key == "value":
                    control["value"] = value
                else:
                    control["props"][key] = value
        elif kind == "GuiRemoveMessage":
            self.controls.pop(message["uuid"], None)
        elif kind.startswith("Gui") and "props" in message and "uuid" in message:
            self.controls[message["uuid"]] = message
        elif kind == "TransformControlsMessage":
            self.gizmo = message
        elif kind == "RemoveSceneNodeMessage":
            self.bodies.pop(name.removeprefix("/bodies/"), None)
            self.gizmo = None if name == "/gizmo" else self.gizmo
        elif name.startswith("/bodies/"):
            says = message.get("updates") or message.get("props") or {}
            if isinstance(says.get("vertices"), np.ndarray):
                self._move(name.removeprefix("/bodies/"), says["vertices"].reshape(-1, 3), now)

    def _move(self, name: str, x: Singles, now: float) -> None:
        before = self.bodies.get(name)
        self.bodies[name] = x
        if before is not None and len(before) == len(x) and not np.array_equal(before, x):
            if not self.arrivals or now > self.arrivals[-1]:
                self.arrivals.append(now)


def _protocol() -> Any:
    from importlib.metadata import version

    return f"viser-v{version('viser')}"


def _unpack(data: bytes) -> list[dict[str, Any]]:
    """The messages of one packet: compressed msgpack, then arrays, each at a multiple of eight bytes."""
    import msgspec
    import zstandard

    size, packed = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
    head = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], size))
    arrays, at = [], 16 + packed
    for length in head["binaryBufferLengths"]:
        at += -at % 8
        arrays.append(data[at : at + length])
        at += length
    return [_filled(message, arrays) for message in head["messages"]]


def _filled(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(arrays[value["__binary_index"]], np.dtype(value["dtype"]))
        return {key: _filled(each, arrays) for key, each in value.items()}
    return value
