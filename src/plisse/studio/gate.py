"""The gate before the studio's server: who has no token, or comes from another page or name, is not let in.

The address that is opened has a random token. Whoever comes with it gets it as a cookie and is sent on to an address
without it, so that it stays in no history; everything else, the WebSocket too, needs that cookie. A Host that is not
the studio's own is refused, which stops names that were rebound to this machine, and so is any other Origin.
"""

from __future__ import annotations

import errno
import hmac
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import websockets.asyncio.server
from websockets import Headers
from websockets.http11 import Request, Response

from plisse.core.errors import SceneError
from plisse.studio.intake import MOST_MESSAGE, Checked, Rules

LOOPBACK = ("127.0.0.1", "localhost", "::1")
CLOSED = "This address is not open: use the one that `plisse studio` printed.\n"


@dataclass(frozen=True)
class Gate:
    """host, port: where the server listens; names: further names under which it may be called."""

    host: str
    port: int
    names: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{_in_brackets(self.host)}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        # cookies do not tell ports apart, and there may be several studios
        return f"plisse-studio-{self.port}"

    def judge(self, path: str, headers: Mapping[str, str]) -> tuple[HTTPStatus, dict[str, str]] | None:
        """None where a request may pass, otherwise the status and headers with which it is answered."""
        known = {f"{_in_brackets(name)}:{self.port}" for name in (*LOOPBACK, self.host, *self.names)}
        host, origin = headers.get("Host", "").lower(), headers.get("Origin")
        if host not in known or (origin is not None and urlsplit(origin.lower()).netloc not in known):
            return HTTPStatus.FORBIDDEN, {}
        asked = urlsplit(path)
        upgrades = headers.get("Upgrade", "").lower() == "websocket"
        given = parse_qs(asked.query).get("token", [""])[0]
        if not upgrades and self._is_token(given):
            cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            return HTTPStatus.SEE_OTHER, {"Location": "/", "Set-Cookie": cookie, "Referrer-Policy": "no-referrer"}
        if upgrades and origin is None:
            return HTTPStatus.FORBIDDEN, {}  # a browser always says where it comes from
        return None if self._is_token(self._cookie_of(headers)) else (HTTPStatus.FORBIDDEN, {})

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _cookie_of(self, headers: Mapping[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def reserve(host: str, port: int) -> socket.socket:
    """A socket that listens there; a SceneError where another program does already."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise SceneError(
                f"Port {port} is in use, perhaps by another studio: choose another one with --port, or 0 for any."
            ) from None
        raise SceneError(f"The studio cannot listen on {host}:{port}: {error.strerror}; choose another.") from None
    return listener


@contextmanager
def guarding(gate: Gate, listener: socket.socket, rules: Rules) -> Iterator[Callable[[], bool]]:
    """A WebSocket server that is made inside has the gate before it, hears what `rules` let pass, and listens where we
    do.

    The server has no hook for that: it would choose the next port where one is busy, and let everybody in. What is
    given tells whether the gate was put in its place.
    """
    original, placed = websockets.asyncio.server.serve, False

    def serve(handler: Any, _host: Any, _port: Any, **options: Any) -> Any:
        nonlocal placed
        behind = options.pop("process_request")

        def pass_gate(connection: Any, request: Request) -> Any:
            found = gate.judge(request.path, _plain(request.headers))
            if found is None:
                return behind(connection, request)
            status, more = found
            body = b"" if status is HTTPStatus.SEE_OTHER else CLOSED.encode()
            headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), **more}
            return Response(status.value, status.phrase, Headers(headers), body)

        placed = True
        options["max_size"] = MOST_MESSAGE
        return original(lambda each: handler(Checked(each, rules)), sock=listener, process_request=pass_gate, **options)

    websockets.asyncio.server.serve = serve  # type: ignore[assignment,misc]
    try:
        yield lambda: placed
    finally:
        websockets.asyncio.server.serve = original  # type: ignore[misc]


def _plain(headers: Headers) -> dict[str, str]:
    """The headers that the gate looks at; one that comes twice is as good as none."""
    out: dict[str, str] = {}
    for name in ("Host", "Origin", "Cookie", "Upgrade"):
        values = headers.get_all(name)
        if len(values) == 1:
            out[name] = values[0]
        elif values and name in ("Host", "Origin"):
            out[name] = "several"
    return out
