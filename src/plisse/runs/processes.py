"""Work on a run that is shared out among processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from plisse.core.errors import SceneError
from plisse.core.interruptions import holding_interruptions
from plisse.runs.writing import StoreError

LOOK = 0.5  # seconds between two looks at how far the processes are


@dataclass(frozen=True)
class Task:
    """What one process does: a function of a module and its arguments. name: of what it works on, as in "level 2"."""

    name: str
    function: Callable[..., None]
    arguments: tuple[Any, ...]


def work_on(tasks: Sequence[Task], *, most: int, watch: Callable[[Sequence[bool]], None]) -> list[float]:
    """Does all tasks, each in a process of its own, at most so many at a time; seconds of processor time of each.

    They are begun in order, so that one may wait for what an earlier one writes. watch: is told again and again which
    of them are done. Where one fails, the others are stopped, and its sentence is raised; so they are on Ctrl-C.
    """
    context = multiprocessing.get_context("spawn")
    failures, spent = context.SimpleQueue(), context.RawArray("d", len(tasks))
    processes = [
        context.Process(target=_work, args=(task.function, task.arguments, number, spent, failures), name=task.name)
        for number, task in enumerate(tasks)
    ]
    try:
        while True:
            begun = [process for process in processes if process.pid is not None]
            at_work = [process for process in begun if process.is_alive()]
            failed = next((process for process in begun if process.exitcode), None)
            if failed is not None:
                break
            for process in processes[len(begun) : len(begun) + most - len(at_work)]:
                with holding_interruptions(), _deaf():
                    process.start()  # and half of a process would complain
                at_work.append(process)
            watch([process.exitcode == 0 for process in processes])
            if not at_work:
                return list(spent)
            wait([process.sentinel for process in at_work], timeout=LOOK)
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
                process.join()
    if not failures.empty():
        raise SceneError(failures.get())
    raise SceneError(
        f"The process at work on {failed.name} ended early ({_reason(failed.exitcode)}); what was done is kept: repeat "
        "the command to go on."
    )


def _reason(code: int | None) -> str:
    """Why a process ended, from its exit code."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"by {name}, as where memory runs out" if name == "SIGKILL" else f"by {name}"
    return f"with exit code {code}"


@contextmanager
def _deaf() -> Iterator[None]:
    """What is started meanwhile never hears Ctrl-C, which goes to all of a terminal's processes: the first one stops
    the others."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(function: Callable[..., None], arguments: tuple[Any, ...], number: int, spent: Any, failures: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    began = time.process_time()
    try:
        function(*arguments)
    except StoreError as error:
        failures.put(f"{error.folder} cannot be written: {error.reason}; {error.remedy} and repeat the command.")
        raise SystemExit(1) from None
    except SceneError as error:
        failures.put(str(error))
        raise SystemExit(1) from None
    finally:
        spent[number] = time.process_time() - began


def _end_with_parent() -> None:
    """Ends this process where the first one was killed: a repeated command is not to find it at work."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
