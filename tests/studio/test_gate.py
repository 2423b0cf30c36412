"""Who has no token, or comes from elsewhere, is not let in: over real connections to the running server."""

import base64
import http.client
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.pictures.stage import Part, Stage
from plisse.studio.gate import Gate, reserve

pytest.importorskip("viser", reason="the extra plisse[studio] is not installed")

import msgspec
import zstandard
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from plisse.studio.page import Page

PROTOCOL = "viser-v1.1.1"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    page = Page("127.0.0.1", 0, lambda *_: None)
    yield page
    page.close()


def ask(page: Page, path: str = "/", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", page.gate.port, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in ({"Host": f"127.0.0.1:{page.gate.port}"} | headers).items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def cookie(page: Page) -> str:
    return f"{page.gate.cookie}={page.gate.token}"


def test_the_token_becomes_a_cookie_and_leaves_the_address(page: Page) -> None:
    status, headers, body = ask(page, f"/?token={page.gate.token}")
    assert status == 303 and headers["Location"] == "/" and body == b""
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    status, _, body = ask(page, "/", Cookie=headers["Set-Cookie"].partition(";")[0])
    assert status == 200 and b"<html" in body.lower()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/?token=", {}),
        ("/?token=wrong", {}),
        ("/", {"Cookie": "plisse-studio-PORT=wrong"}),
        ("/", {"Cookie": "plisse-studio-1=TOKEN"}),
        ("/?token=TOKEN", {"Host": "evil.example:PORT"}),
        ("/?token=TOKEN", {"Host": "127.0.0.1"}),
        ("/?token=TOKEN", {"Host": "127.0.0.1.evil.example:PORT"}),
        ("/", {"Cookie": "plisse-studio-PORT=TOKEN", "Host": "rebound.example:PORT"}),
        ("/", {"Cookie": "plisse-studio-PORT=TOKEN", "Origin": "http://evil.example"}),
        ("/", {"Cookie": "plisse-studio-PORT=TOKEN", "Origin": "null"}),
        ("/assets/../../../etc/passwd", {}),
    ],
)
def test_everybody_else_is_refused(page: Page, path: str, headers: dict[str, str]) -> None:
    def filled(text: str) -> str:
        return text.replace("TOKEN", page.gate.token).replace("PORT", str(page.gate.port))

    status, _, body = ask(page, filled(path), **{name: filled(value) for name, value in headers.items()})
    assert status == 403
    assert page.gate.token.encode() not in body


@pytest.mark.parametrize(
    "path", ["/../../pyproject.toml", "/%2e%2e/%2e%2e/_viser.py", "/..%5c..%5c_viser.py", "//etc/passwd"]
)
def test_no_file_outside_is_served_even_with_the_cookie(page: Page, path: str) -> None:
    assert ask(page, path, Cookie=cookie(page))[0] == 404


def dial(page: Page, *, origin: str | None, token: str | None) -> None:
    headers = {} if token is None else {"Cookie": f"{page.gate.cookie}={token}"}
    url = f"ws://127.0.0.1:{page.gate.port}"
    with connect(url, subprotocols=[PROTOCOL], origin=origin, additional_headers=headers, open_timeout=20) as socket_:
        assert socket_.recv(timeout=20)


def test_a_websocket_with_cookie_and_origin_is_let_in(page: Page) -> None:
    dial(page, origin=f"http://127.0.0.1:{page.gate.port}", token=page.gate.token)


@pytest.mark.parametrize(
    ("origin", "token"),
    [
        ("http://127.0.0.1:PORT", None),
        ("http://127.0.0.1:PORT", "wrong"),
        ("http://evil.example", "TOKEN"),
        (None, "TOKEN"),
    ],
)
def test_other_websockets_are_refused(page: Page, origin: str | None, token: str | None) -> None:
    origin = None if origin is None else origin.replace("PORT", str(page.gate.port))
    token = page.gate.token if token == "TOKEN" else token
    with pytest.raises(InvalidStatus) as caught:
        dial(page, origin=origin, token=token)
    assert caught.value.response.status_code == 403


def test_a_client_that_talks_nonsense_does_no_harm(page: Page) -> None:
    origin = f"http://127.0.0.1:{page.gate.port}"
    headers = {"Cookie": cookie(page)}
    for said in (b"", b"\xff" * 1000, b"text"):
        with connect(
            f"ws://127.0.0.1:{page.gate.port}", subprotocols=[PROTOCOL], origin=origin, additional_headers=headers
        ) as client:
            client.send(said)
    assert ask(page, "/", Cookie=cookie(page))[0] == 200


def test_a_web_page_is_whole_and_has_no_token(page: Page) -> None:
    text = page.as_web_page()
    assert text.rstrip().endswith("</html>") and "__VISER_EMBED_DATA__=" in text
    assert page.gate.token not in text and len(text) < 20_000_000


def test_a_web_page_plays_frames(page: Page) -> None:
    part = Part("sheet", True, (0.5, 0.5, 0.5), True, np.array([[0, 1, 2]], np.int32), 0, 3)
    x = np.eye(3)
    page.set_stage(Stage((part,), ()), x)

    def frames() -> Iterator[float]:
        for k in range(5):
            page.move(x + 10.0 + k)
            yield 0.25

    text = page.as_web_page(frames())
    data = base64.b64decode(text.partition('__VISER_EMBED_DATA__="')[2].partition('"')[0])
    content = zstandard.ZstdDecompressor().decompressobj().decompress(data[8:])
    told = msgspec.msgpack.decode(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert told["durationSeconds"] == pytest.approx(1.25)
    moved = [seconds for seconds, message in told["messages"] if "vertices" in message.get("updates", {})]
    assert moved == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    for k in range(5):
        assert (x + 10.0 + k).astype(np.float32).tobytes() in content


def test_a_busy_port_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SceneError, match=f"Port {port} is in use"):
            reserve("127.0.0.1", port)


def test_every_studio_has_its_own_token() -> None:
    gates = [Gate("127.0.0.1", 8642) for _ in range(50)]
    assert len({gate.token for gate in gates}) == 50 and min(len(gate.token) for gate in gates) >= 32
    assert gates[0].token not in repr(gates[0])
