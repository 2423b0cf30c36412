"""What a run says of itself while it works."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TextIO

from plisse.core.state import State
from plisse.io.watch import Watch

RECENT = 20  # steps that seconds a step and the trend of the residual are taken from
LIVE, PLAIN = 0.1, 5.0  # seconds from one line to the next, on a terminal and elsewhere


class ProgressLine:
    """One live line on a terminal, plain lines a few seconds apart elsewhere, none where it is to be quiet.

    steps: of a motion through time, None in statics. levels: how many there are.
    """

    def __init__(self, stream: TextIO, *, steps: int | None, levels: int, quiet: bool = False) -> None:
        self._stream, self._steps, self._levels, self._quiet = stream, steps, levels, quiet
        self._live = stream.isatty() and not quiet
        self._shown = time.perf_counter()
        self._width = 0
        self.begin(tol=0.0, watch=None)

    def begin(self, *, tol: float, watch: Watch | None) -> None:
        """A level begins: its tolerance [m/s], and who looks for reasons where it makes no progress."""
        self._tol, self._watch = tol, watch
        self._ends: deque[tuple[float, float]] = deque(maxlen=RECENT + 1)  # clock and residual after each step
        self._began = time.perf_counter()

    def show(self, state: State) -> None:
        now = time.perf_counter()
        if state.accepted:
            self._ends.append((now, state.residual))
        hint = self._watch.see(state) if self._watch is not None else None
        if hint is not None:
            self.say(hint)
        if self._quiet or now - self._shown < (LIVE if self._live else PLAIN):
            return
        self._shown = now
        each = self._seconds_a_step(now)
        level = f"level {state.level}" + (f"/{self._levels - 1}" if self._levels > 1 else "")
        balance = "" if self._steps else f"balance {state.force_balance:.3f}  "
        self._print(
            f"{level}  step {state.step}{f'/{self._steps}' if self._steps else ''}  newton {state.newton_iteration}  "
            f"|d|/(h√n) {state.residual:.2e}  {balance}contacts {state.contacts}  α {state.step_length:.2g}  "
            f"{each:.2g} s/step  ETA {self._remaining(state, each)}"
        )

    def _seconds_a_step(self, now: float) -> float:
        if len(self._ends) < 2:
            return now - self._began
        # a step that takes longer than those before it shows at once
        mean = (self._ends[-1][0] - self._ends[0][0]) / (len(self._ends) - 1)
        return max(mean, now - self._ends[-1][0])

    def _remaining(self, state: State, each: float) -> str:
        """Time to the level's end: by the steps left, in statics by how fast the residual falls."""
        if self._steps:
            return _duration(each * (self._steps - state.step))
        if len(self._ends) < 5 or not state.residual > self._tol > 0.0:
            return "–"
        logs = [math.log(residual) for _, residual in self._ends if 0.0 < residual < math.inf]
        fall = (logs[0] - logs[-1]) / max(len(logs) - 1, 1) if logs else 0.0
        return f"~{_duration(each * math.log(state.residual / self._tol) / fall)}" if fall > 1e-3 else "–"

    def say(self, text: str) -> None:
        """A line that stays."""
        self.end()
        self._stream.write(text + "\n")
        self._stream.flush()

    def end(self) -> None:
        if self._live and self._width:
            self._stream.write("\n")
            self._width = 0

    def _print(self, text: str) -> None:
        if self._live:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"
