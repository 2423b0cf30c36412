"""The command line; nothing heavy is imported before a command needs it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from plisse.cli.commands import add_commands, frame_range, new_path, showing_intersections
from plisse.cli.hierarchy import add_hierarchy
from plisse.cli.studio import add_studio
from plisse.core.errors import SceneError, counted
from plisse.core.interruptions import holding_interruptions
from plisse.core.version import __version__

if TYPE_CHECKING:
    from plisse.progressive.report import LevelReport, Report

BENCHES = ("newton", "contact", "drop", "start", "pcs", "psq", "pd", "rest", "hierarchy", "cusick", "export", "studio")
PARTS = {
    "pcs": ("speed-93k", "speed-371k", "preview", "interruption", "levels"),
    "psq": ("can", "mat", "starts", "agreement", "levels", "maps", "equilibrium", "locking", "plate"),
    "pd": "speed levels consistency pull continuity stability parallel outcomes proxies".split(),
    "rest": ("scenes", "saddles", "scales", "buckling", "speed"),
    "hierarchy": ("speed", "maps", "approximation", "prediction"),
    "studio": ("idle", "refining", "frames", "memory"),
}


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plisse", description="Cloth and thin shells without intersections.")
    parser.add_argument("--version", action="version", version=f"plisse {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    run = commands.add_parser("run", help="simulate a scene")
    run.add_argument("scene", type=Path, help="scene file (TOML)")
    run.add_argument("--out", type=new_path, required=True, help="folder for frames, picture and report")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a value, e.g. contact.friction=0.5",
    )
    run.add_argument("--preview-only", action="store_true", help="run only level 0")
    run.add_argument("--to-level", type=_level, metavar="K", help="the finest level to run")
    run.add_argument(
        "--from", dest="source", metavar="RUN:FRAME",
        help="begin a motion with the positions and velocities of this frame of another run, at its time",
    )  # fmt: skip
    old = run.add_mutually_exclusive_group()
    old.add_argument("--resume", action="store_true", help="continue the run that the folder holds, if any")
    old.add_argument("--overwrite", action="store_true", help="replace the run that the folder holds")
    run.set_defaults(action=_until_stopped(_run))

    refine = commands.add_parser(
        "refine", help="continue a run: more tightly, on finer levels, or after an interruption"
    )
    refine.add_argument("run", type=Path, help="folder of a run")
    refine.add_argument(
        "--rest",
        type=_tolerance,
        metavar="PART",
        help="bring the finest level nearer to rest, to this part of the size",
    )
    refine.add_argument("--tol", type=_tolerance, help="end the finest level by this tolerance instead [m/s]")
    refine.add_argument("--levels", type=_level, metavar="N", help="new number of levels")
    refine.add_argument("--to-level", type=_level, metavar="K", help="the finest level to run")
    refine.add_argument(
        "--frame", type=_level, action="append", default=[], metavar="N",
        help="refine this frame of the preview instead of its end, as a run of its own in RUN/frame-N; may be repeated",
    )  # fmt: skip
    refine.add_argument(
        "--frames", type=frame_range, metavar="A:B",
        help="refine only frames A to B of a motion, as a run of its own in RUN/frames-A-B",
    )  # fmt: skip
    refine.add_argument(
        "--workers", type=_count, metavar="N",
        help="motions: refine with N processes, all levels at the same time, to the bit as without; or where the "
        "motion is diagonal, each level in N segments, which are joined",
    )  # fmt: skip
    refine.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="change the scene and go back to the preview, from its last state: contact.friction=0.5; "
        "collider.1={...} adds one after collider.0, collider.1= removes it",
    )  # fmt: skip
    refine.set_defaults(action=_until_stopped(_refine))
    for command in (run, refine):
        command.add_argument("--threads", type=_threads, default=cores, help=f"threads (default: {cores})")
        command.add_argument(
            "--check-every", type=_count, default=10, metavar="N",
            help="states between two checks by the independent detector (default: 10)",
        )  # fmt: skip
        command.add_argument("--yes", action="store_true", help="run even if memory does not seem to suffice")
        command.add_argument("--quiet", action="store_true", help="no progress, only what remains of interest")

    add_commands(commands)
    add_hierarchy(commands)
    add_studio(commands, cores)

    bench = commands.add_parser("bench", help="measure speed as ratios against a baseline in the same run")
    bench.add_argument("name", choices=BENCHES)
    parts = "; ".join(f"{name}: {', '.join(each)}" for name, each in PARTS.items())
    bench.add_argument("--part", metavar="PART", help=f"one part of a bench that takes long ({parts})")
    bench.add_argument("--threads", type=_threads, default=min(2, cores), help="threads (default: 2)")
    bench.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    bench.set_defaults(action=_bench)
    return parser


def _threads(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 256, not {text!r}")
    return int(text)


def _level(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a positive whole number, not {text!r}")
    return int(text)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def main(arguments: list[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that has no × or ε shows a question mark
            stream.reconfigure(errors="replace")
    options = build_parser().parse_args(arguments)
    try:
        return int(options.action(options))
    except SceneError as error:
        print(f"plisse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"plisse: interrupted; what was done is kept.{_how_to_go_on(options)}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of our output has gone, as `| head` does; nothing more can be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _how_to_go_on(options: argparse.Namespace) -> str:
    """Words for whoever stopped a command; another `plisse refine` goes on by itself."""
    return " Continue with --resume." if options.command == "run" else ""


def _until_stopped(action: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """The action; SIGTERM stops it as Ctrl-C does, but with its own exit code."""

    def stoppable(options: argparse.Namespace) -> int:
        stopped: list[int] = []

        def stop(number: int, _: object) -> None:
            stopped.append(number)
            raise KeyboardInterrupt

        try:
            before = signal.signal(signal.SIGTERM, stop)
        except ValueError:  # only a program's first thread hears of signals
            return action(options)
        try:
            return action(options)
        except KeyboardInterrupt:
            if not stopped:
                raise
            print(f"plisse: terminated; what was done is kept.{_how_to_go_on(options)}", file=sys.stderr)
            return 128 + stopped[0]
        finally:
            signal.signal(signal.SIGTERM, before)

    return stoppable


def _run(options: argparse.Namespace) -> int:
    _allow_threads(options.threads)
    with holding_interruptions():  # ipctk turns what interrupts its import into an ImportError
        from plisse.loading.scene_file import load_scene
    scene = load_scene(options.scene, options.set)
    with holding_interruptions():
        from plisse.runs.run import run_scene
    if options.preview_only and options.to_level:
        raise SceneError("--preview-only means --to-level 0: use only one of them.")
    to_level = 0 if options.preview_only else options.to_level
    with showing_intersections(options.scene):
        report = run_scene(
            scene,
            options.scene.parent,
            options.out,
            threads=options.threads,
            to_level=to_level,
            check_every=options.check_every,
            resume=options.resume,
            overwrite=options.overwrite,
            source=options.source,
            any_size=options.yes,
            progress=sys.stderr,
            quiet=options.quiet,
        )
    return _conclude(report, options.out)


def _refine(options: argparse.Namespace) -> int:
    _allow_threads(options.threads)
    with holding_interruptions():
        from plisse.runs.frames import frame_folder, refine_frame
        from plisse.runs.run import refine_run
        from plisse.runs.windows import find_window, refine_window
    common = {
        "threads": options.threads, "to_level": options.to_level, "check_every": options.check_every,
        "progress": sys.stderr, "quiet": options.quiet,
    }  # fmt: skip
    if options.workers:
        from plisse.runs.workers import refine_with_workers

        given = [name for name in ("frame", "frames", "rest", "tol", "levels", "set") if getattr(options, name)]
        if given:
            raise SceneError(f"--workers refines all of a motion as it is: leave out --{given[0]}.")
        report = refine_with_workers(options.run, workers=options.workers, any_size=options.yes, **common)
        return _conclude(report, options.run)
    if options.frame or options.frames:
        asked, what = ("--frame", "a frame") if options.frame else ("--frames", "frames")
        given = [name for name in ("rest", "tol", "levels", "set") if getattr(options, name)]
        given += ["frames"] if options.frame and options.frames else []
        if given:
            left_out = f"leave out --{given[0]}, or give it to the run that {asked} makes"
            raise SceneError(f"{asked} refines {what} as {'it is' if options.frame else 'they are'}: {left_out}.")
    if options.frames:
        window = find_window(options.run, options.frames)
        return _conclude(refine_window(options.run, window, **common), window.folder(options.run))
    if options.frame:
        codes = [
            _conclude(refine_frame(options.run, number, **common), frame_folder(options.run, number))
            for number in options.frame
        ]
        return max(codes)
    report = refine_run(
        options.run,
        rest=options.rest,
        tol=options.tol,
        levels=options.levels,
        overrides=options.set,
        any_size=options.yes,
        **common,
    )
    return _conclude(report, options.run)


def _conclude(report: Report, out: Path) -> int:
    """Says how a run ended, and what to do where it did not end well."""
    levels = report.levels
    level, static = levels[-1], levels[-1].unconverged_steps is None
    ended = "done" if not static else "in equilibrium" if level.converged else "stopped"
    how = f" ({_distance(level)})" if static and level.converged else ""
    steps = " + ".join(str(entry.steps) for entry in levels)
    keys = ("newton_iterations", "intersections", "states_checked")
    total = {key: sum(getattr(entry, key) for entry in levels) for key in keys}
    print(
        f"{report.scene}: {ended}{how} after {steps} step{'' if steps == '1' else 's'}, "
        f"{counted(total['newton_iterations'], 'Newton iteration')}, {report.wall_s:.1f} s; "
        f"{level.vertices:,} vertices, "
        f"{counted(total['intersections'], 'intersection')} in {counted(total['states_checked'], 'checked state')}."
    )
    print(f"picture: {out / ('levels.png' if len(levels) > 1 else 'preview.png')}")
    print(f"report:  {out / 'report.html'}")
    if level.missed_keyframes > report.contact["dhat"]:
        print(
            f"plisse: contact or a strain limit held scripted vertices back by up to {level.missed_keyframes:.3g} m "
            "from their keyframes.",
            file=sys.stderr,
        )
    if level.unconverged_steps:
        print(
            f"plisse: {level.unconverged_steps} of {level.steps} steps did not meet solver.tol: raise "
            "solver.max_iterations or use a smaller time.h.",
            file=sys.stderr,
        )
    if not static or level.converged:
        climbs = report.method in ("progressive", "cascadic") and report.kind == "loop"
        if climbs and level.level < report.finest:
            print(f"level {level.level} of 0 to {report.finest}: continue with `plisse refine {out}`")
        return 0
    if not report.pinned and level.contacts == 0 and level.force_balance > 0.5:
        print("plisse: nothing holds the shells up: add a pin, a floor or a collider below them.", file=sys.stderr)
    else:
        if level.missed_keyframes > report.contact["dhat"]:
            advice = "handles or colliders do not reach their keyframes; give them a clear path"
        elif level.stalled:
            advice = (
                "no lower energy is found from there; try a smaller time.h or a larger solver.rest, with --overwrite"
            )
        elif report.method in ("direct", "plain"):
            advice = "allow more steps with --set time.max_steps=…, and --overwrite"
        else:
            advice = f"continue with `plisse refine {out}`"
        print(
            f"plisse: no equilibrium on level {level.level} after {counted(level.steps, 'step')} ({_distance(level)}, "
            f"force balance {level.force_balance:.2g}): {advice}.",
            file=sys.stderr,
        )
    return 1


def _distance(level: LevelReport) -> str:
    """How far from rest a level ended, or from its tolerance where that ends it."""
    if level.rest is None:
        return f"residual {level.residual:.2g} m/s"
    return f"{1e3 * level.rest.distance:.2g} mm from rest, {100.0 * level.rest.part:.2g} % of the size"


def _bench(options: argparse.Namespace) -> int:
    _allow_threads(options.threads)
    from importlib import import_module

    bench = import_module(f"plisse.bench.{options.name}")
    from plisse.bench.figures import conclude

    known = PARTS.get(options.name, ())
    if options.part is not None and options.part not in known:
        remedy = f"choose from {', '.join(known)}" if known else "omit --part"
        raise SceneError(f"The bench {options.name} has no part {options.part}: {remedy}.")
    options_of_bench = {} if options.part is None else {"part": options.part}
    figures, details = bench.measure(options.threads, **options_of_bench)
    return conclude(options.name, options.threads, figures, details, options.json)


def _allow_threads(threads: int) -> None:
    """numba reads its limit of threads once, at import."""
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(threads, os.cpu_count() or 1)))
