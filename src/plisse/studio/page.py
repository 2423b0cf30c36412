"""The page in the browser: the only module that calls viser. It shows what it is given, and posts what the user does.

Everything that the user does becomes an event, a name with plain values, which `post` takes; it returns at once, as it
is called on the server's own thread.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator

import viser

from plisse.studio.canvas import Canvas
from plisse.studio.gate import Gate, guarding, reserve
from plisse.studio.intake import Rules
from plisse.studio.panel import Panel, Post

BRAND = (166, 77, 58)


class Page(Panel, Canvas):
    """gate: who may come in. post: takes every event; waiting: how many events nobody has come to yet."""

    def __init__(
        self,
        host: str,
        port: int,
        post: Post,
        *,
        names: tuple[str, ...] = (),
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        listener = reserve(host, port)
        self.gate = Gate(host, listener.getsockname()[1], names)
        rules = Rules(self.accepts, self.takes_files, waiting, lambda sentence: post("complain", sentence))
        with guarding(self.gate, listener, rules) as placed, _quietly():
            self._server = viser.ViserServer(host=host, port=self.gate.port, label="Plissé", verbose=False)
        if not placed():
            self._server.stop()
            raise RuntimeError("The gate is not before this version of viser: nothing is served.")
        Canvas.__init__(self, self._server, post)
        gui = self._server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
        gui.main_panel.dock_right()
        self._scene.configure_environment_map("studio", environment_intensity=0.35)
        Panel.__init__(self, gui, post)
        self._server.on_client_connect(self._greet)

    def close(self) -> None:
        with _quietly():
            self._server.stop()

    async def _greet(self, client: viser.ClientHandle) -> None:
        self._post("came")

    def as_web_page(self, frames: Iterable[float] = ()) -> str:
        """What is shown, as a page that needs no server and plays the frames.

        frames: shows one after the other, and gives the seconds that each lasts.
        """
        recorded = self._server.get_scene_serializer()
        for seconds in frames:
            recorded.insert_sleep(seconds)
        return str(recorded.as_html())


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """viser prints addresses without the token, which nobody can open."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
