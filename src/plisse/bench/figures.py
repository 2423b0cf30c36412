"""What every bench reports: figures beside what was asked, as a table and as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plisse.contact.check import use_detector_threads
from plisse.core.errors import SceneError
from plisse.kernels import threads as kernels


@dataclass(frozen=True)
class Figure:
    """One measured figure; `better` is "lower" or "higher" than asked, if anything is asked of it."""

    name: str
    value: float
    asked: float | None = None
    better: str = "lower"

    @property
    def holds(self) -> bool:
        if self.asked is None:
            return True
        return bool(self.value <= self.asked if self.better == "lower" else self.value >= self.asked)


Part = Callable[[int], tuple[list[Figure], dict[str, Any]]]  # of a bench, from the number of threads


def use_threads(threads: int) -> None:
    """Sets the threads of the kernels and of the detector."""
    kernels.use_threads(threads)
    use_detector_threads(threads)


_began = time.perf_counter()


def tell(what: str) -> None:
    """A line of progress: benches take long, and slow and stuck are to look different."""
    print(f"[{time.perf_counter() - _began:6.0f} s] {what}", file=sys.stderr, flush=True)


def measure_parts(parts: Mapping[str, Part], threads: int, part: str | None) -> tuple[list[Figure], dict[str, Any]]:
    """Figures and details of all parts of a bench, or of one."""
    use_threads(threads)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    for name in parts if part is None else (part,):
        found, more = parts[name](threads)
        figures += found
        details |= more
    return figures, details


def conclude(bench: str, threads: int, figures: list[Figure], details: dict[str, Any], path: Path | None) -> int:
    """Writes the JSON, prints the table; 0 when every figure holds, 1 otherwise."""
    if path is not None:
        data = {
            "bench": bench,
            "threads": threads,
            "figures": [
                {"name": f.name, "value": f.value, "asked": f.asked, "better": f.better, "holds": f.holds}
                for f in figures
            ],
            "details": details,
        }
        try:
            path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise SceneError(f"The file {path} cannot be written: {error.strerror}.") from None
    width = max(len(figure.name) for figure in figures)
    print(f"{'bench ' + bench + f', {threads} threads':{width}}      value      asked")
    for figure in figures:
        sign = "≤" if figure.better == "lower" else "≥"
        verdict = "holds" if figure.holds else "FALLS SHORT"
        asked = "" if figure.asked is None else f"  {sign} {figure.asked:8.3f}  {verdict}"
        print(f"{figure.name:{width}} {figure.value:10.3f}{asked}")
    for key, value in details.items():
        print(f"  {key}: {value}")
    return 0 if all(figure.holds for figure in figures) else 1
