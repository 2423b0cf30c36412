"""`plisse studio`: a scene or a run in the browser."""

from __future__ import annotations

import argparse
import signal
import sys
import webbrowser
from pathlib import Path

from plisse.core.errors import SceneError

PORT = 8642
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_studio(commands: argparse._SubParsersAction, cores: int) -> None:
    studio = commands.add_parser("studio", help="edit a scene in the browser while it is simulated")
    studio.add_argument(
        "source", nargs="?", type=Path, metavar="SCENE|RUN",
        help="scene file or folder of a run (default: a small scene to begin with)",
    )  # fmt: skip
    studio.add_argument("--port", type=_port, default=PORT, help=f"port to listen on, 0 for any (default: {PORT})")
    studio.add_argument("--host", default=LOOPBACK[0], help="address to listen on (default: 127.0.0.1)")
    studio.add_argument(
        "--expose", action="store_true", help="allow a --host that others can reach; who has the address has the studio"
    )
    studio.add_argument("--name", action="append", default=[], help="with --expose: a name under which it is opened")
    studio.add_argument("--no-browser", action="store_true", help="only print the address")
    threads = max(1, min(cores, 4))
    studio.add_argument("--threads", type=int, default=threads, help=f"of the simulation (default: {threads})")
    studio.set_defaults(action=run_studio)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be a whole number up to 65535, not {text!r}")
    return int(text)


def run_studio(options: argparse.Namespace) -> int:
    """Serves the studio until it is interrupted."""
    if options.host not in LOOPBACK and not options.expose:
        raise SceneError(
            f"--host {options.host} would let other machines in: leave it out and tunnel with `ssh -L "
            f"{options.port or PORT}:127.0.0.1:{options.port or PORT} THIS-MACHINE`, or add --expose if that is meant."
        )
    from plisse.studio.studio import Studio

    studio = Studio(
        options.source, host=options.host, port=options.port, threads=options.threads, names=tuple(options.name)
    )
    # a kill ends it as Ctrl-C does: no process is left behind
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        print(f"plisse studio: {studio.address}\nCtrl-C ends it.", file=sys.stderr, flush=True)
        if not options.no_browser:
            webbrowser.open(studio.address)
        studio.run(said=sys.stderr)
    except KeyboardInterrupt:
        print("plisse: the studio is closed.", file=sys.stderr)
    finally:
        studio.close()
    return 0
