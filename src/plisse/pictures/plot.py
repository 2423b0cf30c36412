"""Plots of numbers as inline SVG, and numbers as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Series = Mapping[str, Sequence[float | None]]

# eight hues that stay apart for most eyes, dark enough for thin lines on white
COLORS = ("#2f6db5", "#c7622b", "#3a8f5c", "#8a4fa3", "#6b6b6b", "#b8951d", "#b03a5b", "#2a8f9c")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_number(value: Any) -> str:
    """Four digits, counts in full, – for nothing."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.replace('-', '−')}·10{str(int(exponent)).translate(RAISED)}"
    return f"{value:.4g}".replace("-", "−")


@dataclass(frozen=True)
class Frame:
    """Where data go in a plot of 340 × 220 units."""

    x: tuple[float, float]
    y: tuple[float, float]
    log: bool

    LEFT, RIGHT, TOP, BOTTOM = 58.0, 330.0, 14.0, 180.0

    def across(self, value: float) -> float:
        return self.LEFT + (self.RIGHT - self.LEFT) * (value - self.x[0]) / (self.x[1] - self.x[0])

    def up(self, value: float) -> float:
        if self.log:
            value = math.log10(value)
        return self.BOTTOM - (self.BOTTOM - self.TOP) * (value - self.y[0]) / (self.y[1] - self.y[0])


def section(title: str, plots: Iterable[str]) -> str:
    """Plots under a title, nothing where there are none."""
    drawn = "\n".join(plot for plot in plots if plot)
    return f"<h2>{title}</h2>\n<div class=plots>\n{drawn}\n</div>" if drawn else ""


def draw_plot(
    title: str, x: Sequence[float], series: Series, y_label: str, *, x_label: str, log: bool = False, bars: bool = False
) -> str:
    """Lines (or bars) of the series that have values, with a legend where there are several; x are whole numbers."""
    points = {name: _usable(x, values, log) for name, values in series.items()}
    points = {name: found for name, found in points.items() if found}
    if not points:
        return ""
    heights = [y for found in points.values() for _, y in found]
    margin = 0.5 if bars or len(x) == 1 else 0.0
    y, ticks = (_log_axis if log else _linear_axis)(min(heights), max(heights), zero=bars)
    frame = Frame((min(x) - margin, max(x) + margin), y, log)
    marks = []
    for index, (name, found) in enumerate(points.items()):
        color = COLORS[index % len(COLORS)]
        marks += _bars(frame, found) if bars else _line(frame, found, color, f"{name}: " if name else "")
    legend = draw_legend(points) if len(points) > 1 or "" not in points else ""
    last = ", ".join(f"{f'{name} ' if name else ''}{write_number(found[-1][1])}" for name, found in points.items())
    label = escape(f"{title}: {y_label} over {x_label}, {len(x)} values, at the end {last}.")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>\n"
        f'<svg viewBox="0 0 340 220" role="img" aria-label="{label}">\n'
        + "\n".join([*_axes(frame, x, ticks, x_label, y_label), *marks])
        + f"\n</svg>{legend}</figure>"
    )


def _usable(x: Sequence[float], values: Sequence[float | None], log: bool) -> list[tuple[float, float]]:
    """Points that can be drawn: there, finite, and positive on a logarithmic axis."""
    found = ((at, value) for at, value in zip(x, values, strict=True) if value is not None)
    return [(at, float(value)) for at, value in found if math.isfinite(value) and (value > 0.0 or not log)]


def _line(frame: Frame, found: Sequence[tuple[float, float]], color: str, name: str) -> list[str]:
    places = [(frame.across(x), frame.up(y)) for x, y in found]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    marks = [f'<polyline fill="none" stroke="{color}" stroke-width="1.8" stroke-linejoin="round" points="{path}"/>']
    if len(found) <= 12:
        marks += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{color}" stroke="#fff">'
            f"<title>{escape(name)}{write_number(value)} at {at:g}</title></circle>"
            for (x, y), (at, value) in zip(places, found, strict=True)
        ]
    return marks


def _bars(frame: Frame, found: Sequence[tuple[float, float]]) -> list[str]:
    wide = min(46.0, 0.6 * (frame.across(1.0) - frame.across(0.0)))
    marks = []
    for x, y in found:
        left, top = frame.across(x), frame.up(y)
        box = f'x="{left - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{frame.BOTTOM - top:.1f}"'
        marks += [
            f'<rect {box} fill="{COLORS[0]}"/>',
            f'<text x="{left:.1f}" y="{top - 4:.1f}" text-anchor="middle">{write_number(y)}</text>',
        ]
    return marks


def _axes(frame: Frame, x: Sequence[float], ticks: Sequence[float], x_label: str, y_label: str) -> list[str]:
    left, right, top, bottom = frame.LEFT, frame.RIGHT, frame.TOP, frame.BOTTOM
    marks = []
    for tick in ticks:
        at = frame.up(tick)
        marks += [
            f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>',
            f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{_tick(tick, frame.log)}</text>',
        ]
    step = _nice(max(1.0, (max(x) - min(x)) / 6.0))
    for number in range(math.ceil(min(x) / step), math.floor(max(x) / step) + 1):
        at = frame.across(number * step)
        marks += [
            f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}"/>',
            f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{number * step:g}</text>',
        ]
    middle = (top + bottom) / 2
    return [
        *marks,
        f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>',
        f'<text x="{(left + right) / 2}" y="{bottom + 33}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
    ]


def _tick(value: float, log: bool) -> str:
    if log:
        return f"10{str(round(math.log10(value))).translate(RAISED)}"
    return write_number(round(value)) if abs(value) >= 1000.0 else f"{value:.6g}".replace("-", "−")


def _nice(step: float) -> float:
    """The least of 1, 2, 5 × a power of ten that is not below a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= step * (1.0 - 1e-9))


def _linear_axis(least: float, most: float, *, zero: bool) -> tuple[tuple[float, float], list[float]]:
    """Ends and ticks that hold all values; from zero for bars."""
    if zero:
        least, most = min(least, 0.0), 1.12 * most  # room for the numbers above the bars
    if most - least <= 1e-5 * max(abs(most), abs(least)):
        least, most = least - 0.5 * (abs(least) or 1.0), most + 0.5 * (abs(most) or 1.0)
    step = _nice((most - least) / 5.0)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return (first * step, last * step), [tick * step for tick in range(first, last + 1)]


def _log_axis(least: float, most: float, *, zero: bool) -> tuple[tuple[float, float], list[float]]:
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    last = max(last, first + 1)
    each = math.ceil((last - first) / 6)
    return (first, last), [10.0**power for power in range(first, last + 1, each)]


def draw_legend(names: Iterable[str]) -> str:
    items = "".join(
        f'<li><i style="background:{COLORS[i % len(COLORS)]}"></i>{escape(name)}</li>' for i, name in enumerate(names)
    )
    return f"\n<ul class=legend>{items}</ul>"
