"""The command line; nothing heavy is imported before a command needs it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from plisse._version import __version__
from plisse.core.errors import SceneError

BENCHES = ("newton", "contact", "drop", "start")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plisse", description="Cloth and thin shells, free of intersections.")
    parser.add_argument("--version", action="version", version=f"plisse {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    run = commands.add_parser("run", help="simulate a scene")
    run.add_argument("scene", type=Path, help="scene file (TOML)")
    run.add_argument("--out", type=Path, required=True, help="folder for frames, picture and report")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a value, e.g. contact.friction=0.5",
    )
    run.add_argument("--threads", type=_threads, default=cores, help=f"threads (default: {cores})")
    run.set_defaults(action=_run)

    export = commands.add_parser("export", help="write the frames of a run in another format")
    export.add_argument("run", type=Path, help="folder of a run")
    export.add_argument("--format", choices=["ply"], default="ply")
    export.add_argument("--out", type=Path, required=True, help="folder to write to")
    export.set_defaults(action=_export)

    bench = commands.add_parser("bench", help="measure speed as ratios against a baseline in the same run")
    bench.add_argument("name", choices=BENCHES)
    bench.add_argument("--threads", type=_threads, default=min(2, cores), help="threads (default: 2)")
    bench.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    bench.set_defaults(action=_bench)
    return parser


def _threads(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 256, not {text!r}")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        return int(options.action(options))
    except SceneError as error:
        print(f"plisse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("plisse: interrupted; what was done is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of our output has gone, as `| head` does; nothing more can be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(options: argparse.Namespace) -> int:
    _allow_threads(options.threads)
    from plisse.io.scene_file import load_scene

    scene = load_scene(options.scene, options.set)
    from plisse.run import run_scene

    report = run_scene(scene, options.scene.parent, options.out, threads=options.threads, progress=sys.stderr)
    level = report["levels"][-1]
    ended = "in equilibrium" if level["converged"] else "stopped"
    if scene.time.mode == "dynamic":
        ended = "done"
    print(
        f"{scene.name}: {ended} after {level['steps']} steps, {level['newton_iterations']} Newton iterations, "
        f"{report['wall_s']:.1f} s; {level['vertices']} vertices, {level['intersections']} intersections in "
        f"{level['states_checked']} states checked."
    )
    print(f"picture: {options.out / 'preview.png'}")
    print(f"report:  {options.out / 'report.json'}")
    if level["missed_keyframes"] > report["contact"]["dhat"]:
        print(
            f"plisse: contact or a strain limit held scripted vertices back by up to {level['missed_keyframes']:.3g} m "
            "from their keyframes.",
            file=sys.stderr,
        )
    if level["unconverged_steps"]:
        print(
            f"plisse: {level['unconverged_steps']} of {level['steps']} steps did not meet solver.tol: raise "
            "solver.max_iterations or take a smaller time.h.",
            file=sys.stderr,
        )
    if (
        scene.time.mode == "static"
        and not level["converged"]
        and level["contacts"] == 0
        and level["force_balance"] > 0.5
    ):
        print("plisse: nothing holds the shells up: add a pin, a floor or a collider below them.", file=sys.stderr)
        return 1
    if scene.time.mode == "static" and not level["converged"]:
        print(
            f"plisse: no equilibrium within time.max_steps = {scene.time.max_steps} (residual {level['residual']:.2g}, "
            f"force balance {level['force_balance']:.2g}): try --set time.max_steps={2 * scene.time.max_steps}.",
            file=sys.stderr,
        )
        return 1
    return 0


def _export(options: argparse.Namespace) -> int:
    from plisse.io.run_store import RunStore

    frames = RunStore.open(options.run).export_ply(options.out)
    print(f"{frames} frames written to {options.out}")
    return 0


def _bench(options: argparse.Namespace) -> int:
    _allow_threads(options.threads)
    from importlib import import_module

    bench = import_module(f"plisse.bench.{options.name}")
    from plisse.bench.figures import conclude

    figures, details = bench.measure(options.threads)
    return conclude(options.name, options.threads, figures, details, options.json)


def _allow_threads(threads: int) -> None:
    """numba reads its limit of threads once, at import."""
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(threads, os.cpu_count() or 1)))


if __name__ == "__main__":
    sys.exit(main())
