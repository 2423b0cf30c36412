"""What a run says of itself while it works."""

from __future__ import annotations

import time
from typing import TextIO

from plisse.core.state import State


class ProgressLine:
    """One live line on a terminal, plain lines a few seconds apart elsewhere."""

    def __init__(self, stream: TextIO, *, steps: int | None, levels: int) -> None:
        self._stream, self._steps, self._levels = stream, steps, levels
        self._live = stream.isatty()
        self._began = self._shown = time.perf_counter()
        self._level = -1
        self._width = 0

    def show(self, state: State) -> None:
        now = time.perf_counter()
        if state.level != self._level:
            self._level, self._began = state.level, now
        if now - self._shown < (0.1 if self._live else 5.0):
            return
        self._shown = now
        each = (now - self._began) / max(state.step, 1)
        # how many steps equilibrium takes is not known ahead: its force balance shows how near it is
        eta = f"ETA {each * (self._steps - state.step):.0f} s" if self._steps else f"balance {state.force_balance:.3f}"
        level = f"level {state.level}" + (f"/{self._levels - 1}" if self._levels > 1 else "")
        self._print(
            f"{level}  step {state.step}{f'/{self._steps}' if self._steps else ''}  newton {state.newton_iteration}  "
            f"|d|/(h√n) {state.residual:.2e}  contacts {state.contacts}  α {state.step_length:.2f}  "
            f"{each:.2f} s/step  {eta}"
        )

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
