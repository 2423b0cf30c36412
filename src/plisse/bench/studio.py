"""The studio as a window sees it: how soon the preview follows, frames a second, silences of the server, memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from plisse.bench.figures import Figure, Part, measure_parts, tell
from plisse.bench.studio_visitor import Visitor
from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene, scene_from_dict
from plisse.loading.scene_text import write_table
from plisse.progressive.session import Session

# 1,512 triangles on level 0 of four, 96,768 on the finest
BALL: dict[str, Any] = {
    "name": "bench",
    "shell": [
        {"name": "cloth", "shape": "grid", "width": "1 m", "height": "1 m", "vertices": 800, "material": "cotton",
         "rest_on": "ball"}
    ],
    "collider": [
        {"name": "ball", "shape": "sphere", "radius": "25 cm", "translate": ["0 m", "0 m", "60 cm"]},
        {"name": "floor", "shape": "floor", "height": "0 m"},
    ],
    "contact": {"friction": 0.4},
    "hierarchy": {"levels": 4},
}  # fmt: skip
HANGING: dict[str, Any] = {
    "name": "bench",
    "shell": [
        {"name": "cloth", "shape": "grid", "width": "1 m", "height": "1 m", "vertices": 800, "material": "cotton",
         "translate": [0.0, 0.0, 1.0],
         "pin": [{"vertices": [0], "motion": [{"time": 1.0, "translate": [0.0, 0.0, 0.0]}]}, {"vertices": [25]}]}
    ],
    "contact": {"enabled": False},
    "hierarchy": {"levels": 1},
}  # fmt: skip
MOST_COARSE = 3000  # vertices of a body of level 0
TOUCHES, WHILE_REFINED, INTERACTIONS = 60, 6, 2000
PING = 0.02  # seconds between two questions to the server


@contextmanager
def running(table: dict[str, Any], threads: int) -> Iterator[tuple[Visitor, int]]:
    """A window of a studio that runs on this scene, and the studio's process."""
    with tempfile.TemporaryDirectory(prefix="plisse-bench-") as folder:
        path = Path(folder, "bench.toml")
        path.write_text(write_table(table), encoding="utf-8")
        words = ["studio", str(path), "--port", "0", "--no-browser", "--threads", str(threads)]
        studio = subprocess.Popen(
            [sys.executable, "-m", "plisse.cli", *words], stderr=subprocess.PIPE, text=True, cwd=folder,
            env=os.environ | {"TMPDIR": folder},
        )  # fmt: skip
        try:
            assert studio.stderr is not None
            address = re.search(r"http\S+", studio.stderr.readline())
            if address is None:
                raise SceneError("The studio did not start: run `plisse studio` to see why.")
            visitor = Visitor(address[0])
            visitor.until(lambda: visitor.bodies, "the scene")
            try:
                yield visitor, studio.pid
            finally:
                visitor.close()
        finally:
            studio.terminate()
            studio.wait(30)


@contextmanager
def silences(visitor: Visitor) -> Iterator[list[float]]:
    """How long the server took for each of many small questions [s]."""
    out: list[float] = []
    done = threading.Event()

    def ask() -> None:
        while not done.wait(PING):
            began = time.perf_counter()
            with suppress(OSError):
                visitor.ask("/none")
            out.append(time.perf_counter() - began)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    yield out
    done.set()
    thread.join()


def at_rest(visitor: Visitor) -> bool:
    return "in equilibrium" in visitor.status


def touch(visitor: Visitor, place: Any) -> float:
    """Moves the gizmo; returns how long the first frame of level 0 in which something has moved took to come [s]."""
    known, finer = len(visitor.arrivals), [name for name, x in visitor.bodies.items() if len(x) > MOST_COARSE]
    visitor.drag("Start")
    began = time.perf_counter()
    visitor.drag("Update", place)
    if finer:
        visitor.until(lambda: all(len(visitor.bodies[name]) <= MOST_COARSE for name in finer), "level 0")
        known = len(visitor.arrivals)
    visitor.until(lambda: len(visitor.arrivals) > known, "a frame")
    visitor.drag("End")
    return visitor.arrivals[known] - began


def measure_idle(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """While nothing is refined: from the gizmo's event to the first frame at the window, over an iteration."""
    one, busy = iterate_level_0(threads)
    rng, place = np.random.default_rng(0), np.array([0.0, 0.0, 0.6])
    with running(BALL, threads) as (visitor, _):
        visitor.set("refine by itself", False)
        visitor.choose("ball")
        visitor.until(lambda: at_rest(visitor), "the preview")
        waits, rates = [], []
        with silences(visitor) as quiet:
            for _ in range(TOUCHES):
                visitor.until(lambda: at_rest(visitor), "rest")
                time.sleep(0.1)
                place[:2] += rng.uniform(-0.01, 0.01, 2)
                waits.append(touch(visitor, place))
                known, began = len(visitor.arrivals), time.perf_counter()
                visitor.until(lambda: at_rest(visitor), "rest")
                rates.append((len(visitor.arrivals) - known) / (time.perf_counter() - began))
    tell(f"{len(waits)} touches while nothing is refined")
    over = np.array(waits[1:]) - one
    figures = [
        Figure("idle: change and first iteration − one iteration, processor time, median, s", busy, 0.05),
        Figure("idle: first frame after a touch − one iteration, median, s", float(np.median(over)), 0.05),
        Figure("idle: the same, 95 %, s", float(np.percentile(over, 95)), 0.05),
        Figure("idle: longest silence of the server, s", max(quiet), 0.1),
        Figure("preview frames a second with contact", float(np.median(rates)) if rates else np.nan),
    ]
    return figures, {"one iteration of level 0, ms": round(1e3 * one, 1), "idle: waits, ms": spread(waits)}


def measure_refining(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """The same while a finer level is refined, over the longest iteration of that level."""
    rng, place = np.random.default_rng(1), np.array([0.0, 0.0, 0.6])
    over: list[float] = []
    rows = []
    with running(BALL, threads) as (visitor, _), silences(visitor) as quiet:
        visitor.choose("ball")
        for _ in range(WHILE_REFINED):
            visitor.until(lambda: "<b>level 2</b>" in visitor.status, "level 2", patience=600.0)
            known = len(visitor.arrivals)
            visitor.until(lambda known=known: len(visitor.arrivals) > known + 4, "its frames", patience=600.0)
            laps = np.diff(visitor.arrivals[known:])
            time.sleep(float(rng.uniform(0.0, laps.max())))
            place[:2] += rng.uniform(-0.01, 0.01, 2)
            wait = touch(visitor, place)
            rows.append(f"{1e3 * wait:.0f} of {1e3 * laps.max():.0f}")
            over.append(wait - float(laps.max()))
    tell(f"{len(over)} touches while level 2 is refined")
    return [
        Figure("refining: first frame after a touch − one iteration, median, s", float(np.median(over)), 0.05),
        Figure("refining: the same, most, s", max(over), 0.05),
        Figure("refining: longest silence of the server, s", max(quiet), 0.1),
    ], {"refining: waits, and the longest iteration of level 2, ms": rows}


def measure_frames(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Frames a second of a sheet without contact, while a pin of it is dragged about."""
    with running(HANGING, threads) as (visitor, _):
        visitor.choose("cloth › pin 0")
        middle = np.array(visitor.bodies["cloth"][0], float)
        visitor.drag("Start")
        known, began = len(visitor.arrivals), time.perf_counter()
        for step in range(200):
            visitor.drag("Update", middle + 0.1 * np.array([0.0, np.sin(0.1 * step), 0.0]))
            time.sleep(0.03)
        rate = (len(visitor.arrivals) - known) / (time.perf_counter() - began)
        visitor.drag("End")
    tell("frames without contact")
    return [Figure("preview frames a second without contact", rate, 15.0, "higher")], {}


def measure_memory(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """Memory of both processes from the 500th to the last of many interactions."""
    rng, table = np.random.default_rng(2), deepcopy(BALL)
    table["shell"][0]["vertices"] = 200
    sizes: dict[int, list[float]] = {}
    with running(table, threads) as (visitor, process), silences(visitor) as quiet:
        visitor.set("refine by itself", False)
        visitor.choose("ball")
        place = np.array([0.0, 0.0, 0.6])
        for number in range(1, INTERACTIONS + 1):
            place[:2] = np.clip(place[:2] + rng.uniform(-0.005, 0.005, 2), -0.05, 0.05)
            touch(visitor, place)
            if number in (INTERACTIONS // 4, INTERACTIONS):
                sizes[number] = [_memory(each) for each in (process, *_children(process))]
                tell(f"{number} interactions: " + ", ".join(f"{size:.0f} MB" for size in sizes[number]))
    first, last = sizes.values()
    grown = [(b - a) / a for a, b in zip(first, last, strict=True)]
    return [
        Figure("memory: growth over the last 3/4 of the interactions, %", 100.0 * max(grown), 5.0),
        Figure("memory: longest silence of the server, s", max(quiet), 0.1),
    ], {"memory after interactions, MB": {number: [round(each) for each in size] for number, size in sizes.items()}}


def iterate_level_0(threads: int) -> tuple[float, float]:
    """A Newton iteration of level 0 on its way back to rest after a moved ball, median [s]; and by how much longer a
    change with the first iteration after it takes, as processor time [s], which other work on the machine leaves alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        load = partial(load_geometry, base=Path(folder))
        scene = load_scene(BALL)
        session = Session(scene, load(scene), threads=threads, load=load, interactive=True)
        for _ in session.preview():
            pass
        table = deepcopy(BALL)
        table["shell"][0]["translate"] = list(scene.shells[0].translate)
        table["shell"][0].pop("rest_on")
        laps, busy, firsts = list[float](), list[float](), list[float]()
        for x in 0.01 * np.random.default_rng(0).uniform(-1.0, 1.0, 20).cumsum():
            table["collider"][0]["translate"] = [float(x), 0.0, 0.6]
            began = time.process_time()
            session.change(scene_from_dict(table, Path(folder)))
            states = session.preview()
            next(states)
            firsts.append(time.process_time() - began)
            for _ in range(5):
                began, worked = time.perf_counter(), time.process_time()
                next(states)
                laps.append(time.perf_counter() - began)
                busy.append(time.process_time() - worked)
    return float(np.median(laps)), float(np.median(firsts) - np.median(busy))


def spread(seconds: list[float]) -> str:
    middle, high, most = (1e3 * float(np.percentile(seconds, part)) for part in (50, 95, 100))
    return f"median {middle:.0f}, 95 % {high:.0f}, most {most:.0f}"


def _memory(process: int) -> float:
    """Resident memory [MB]."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


PARTS: dict[str, Part] = {
    "idle": measure_idle,
    "refining": measure_refining,
    "frames": measure_frames,
    "memory": measure_memory,
}


def measure(threads: int, part: str | None = None) -> tuple[list[Figure], dict[str, Any]]:
    """All parts, or one of them."""
    return measure_parts(PARTS, threads, part)
