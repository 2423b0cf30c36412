"""What a run says of itself while it works."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from typing import TextIO

from plisse.core.state import State
from plisse.progressive.events import Event, LevelBegan, LevelOpened, Stepped
from plisse.progressive.rest import Aim
from plisse.runs.watch import Watch

RECENT = 20  # steps that seconds a step and the trend of what is left are taken from
LIVE, PLAIN = 0.1, 5.0  # seconds from one line to the next, on a terminal and elsewhere
BEAT, PLAIN_BEAT = 2.0, 60.0  # seconds of silence after which a sign of life is given


class ProgressLine:
    """One live line on a terminal, plain lines a few seconds apart elsewhere, none where it is to be quiet.

    steps: of a motion through time, None in statics. levels: how many there are. Where an iteration takes long, the
    line counts its seconds: slow and stuck look different.
    """

    def __init__(self, stream: TextIO, *, steps: int | None, levels: int, quiet: bool = False) -> None:
        self._stream, self._steps, self._levels, self._quiet = stream, steps, levels, quiet
        self._live = stream.isatty() and not quiet
        self._shown = self._heard = time.perf_counter()
        self._last, self._width = "working", 0
        self._lock, self._over = threading.Lock(), threading.Event()
        self.begin(aim=None, watch=None, began=self._shown)
        if not quiet:
            threading.Thread(target=self._beat, daemon=True).start()

    def __call__(self, event: Event) -> None:
        """Listens to a session."""
        if isinstance(event, LevelOpened):
            self._began = time.perf_counter()
        elif isinstance(event, LevelBegan):
            self.begin(aim=event.aim, watch=Watch.of(event.problem, aim=event.aim), began=self._began)
        elif isinstance(event, Stepped):
            self.show(event.state)

    def begin(self, *, aim: Aim | None, watch: Watch | None, began: float) -> None:
        """A level begins: what ends it, who looks for reasons where it makes no progress, and when it began."""
        self._aim, self._watch, self._began = aim, watch, began
        self._ends: deque[tuple[float, float]] = deque(maxlen=RECENT + 1)  # clock, and what is left, after each step

    def show(self, state: State) -> None:
        now = self._heard = time.perf_counter()
        if state.accepted:
            self._ends.append((now, self._left(state)))
        hint = self._watch.see(state) if self._watch is not None else None
        if hint is not None:
            self.say(hint)
        if self._is_due(now):
            self._update(self._describe(state, self._seconds_a_step(now)), now)

    def tell(self, text: str) -> None:
        """The line of those who see no states, only how far work elsewhere is."""
        now = time.perf_counter()
        if text != self._last and self._is_due(now):
            self._heard = now
            self._update(text, now)

    def _is_due(self, now: float) -> bool:
        return not self._quiet and now - self._shown >= (LIVE if self._live else PLAIN)

    def _update(self, text: str, now: float) -> None:
        self._shown, self._last = now, text
        self._print(text)

    def _left(self, state: State) -> float:
        return math.inf if self._aim is None else self._aim.left(state)

    def _describe(self, state: State, each: float) -> str:
        level = f"level {state.level}" + (f"/{self._levels - 1}" if self._levels > 1 else "")
        step = f"step {state.step}{f'/{self._steps}' if self._steps else ''}"
        balance = f"  balance {state.force_balance:.3f}" if math.isfinite(state.force_balance) else ""
        balance = "" if self._steps else balance
        left = "" if self._aim is None else self._aim.describe(state)
        eta = f"{each:.2g} s/step  ETA {self._remaining(state, each)}"
        long = (
            f"{level}  {step}  newton {state.newton_iteration}  {left}{balance}  "
            f"contacts {state.contacts}  α {state.step_length:.2g}  {eta}"
        )
        if len(long) < self._columns():
            return long
        return f"{level} {step} it {state.newton_iteration} {left} c {state.contacts} α {state.step_length:.2g} {eta}"

    def _columns(self) -> int:
        """How much fits into one line of the terminal; elsewhere anything does."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns if self._live else 1000
        except (OSError, ValueError):
            return 120

    def _beat(self) -> None:
        """Says how long an iteration has been at work, as long as nothing else is heard."""
        silence, wait = (BEAT, 1.0) if self._live else (PLAIN_BEAT, PLAIN_BEAT)
        while not self._over.wait(wait):
            quiet = time.perf_counter() - self._heard
            if quiet >= silence:
                try:
                    self._print(f"{self._last}  … {quiet:.0f} s")
                except (OSError, ValueError):
                    return  # nobody reads any more

    def _seconds_a_step(self, now: float) -> float:
        if len(self._ends) < 2:
            return now - self._began
        # a step that takes longer than those before it shows at once
        mean = (self._ends[-1][0] - self._ends[0][0]) / (len(self._ends) - 1)
        return max(mean, now - self._ends[-1][0])

    def _remaining(self, state: State, each: float) -> str:
        """Time to the level's end: by the steps left, in statics by how fast the way that is left gets shorter."""
        if self._steps:
            return _duration(each * (self._steps - state.step))
        logs = [math.log(left) for _, left in self._ends if 0.0 < left < math.inf]
        fall = (logs[0] - logs[-1]) / max(len(logs) - 1, 1) if logs else 0.0
        if len(logs) < 5 or not logs[-1] > 0.0 or not fall > 1e-3:
            return "–"
        return f"~{_duration(each * logs[-1] / fall)}"

    def say(self, text: str) -> None:
        """A line that stays."""
        self._break()
        with self._lock:
            self._stream.write(text + "\n")
            self._stream.flush()

    def _break(self) -> None:
        """Leaves the live line as it stands."""
        with self._lock:
            if self._live and self._width:
                self._stream.write("\n")
                self._width = 0
        self._heard = time.perf_counter()

    def end(self) -> None:
        """Nothing more will be said."""
        self._over.set()
        self._break()

    def _print(self, text: str) -> None:
        with self._lock:
            if self._over.is_set():
                return
            if self._live:
                text = text[: self._columns() - 1]
                self._stream.write("\r" + text.ljust(self._width))
                self._width = len(text)
            else:
                self._stream.write(text + "\n")
            self._stream.flush()


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"
