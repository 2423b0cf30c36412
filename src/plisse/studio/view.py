"""What is shown of the levels that were reached: one of them, two beside each other, a map of values, a motion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plisse.core.arrays import Floats, Ints, Singles
from plisse.core.errors import SceneError
from plisse.pictures.smooth import SmoothView
from plisse.pictures.stage import Stage
from plisse.studio.words import Ended, Frame, Map, Shown

# from low to high; the colours of the colour map "viridis"
RAMP = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
HOW = ("wipe", "side by side")  # two levels are compared
SECTIONS = ("none", "across x", "across y", "across z")
GAP = 1.15  # from one to the other side by side, in widths
HIGH = 99.0  # percentile of a map's values that has the last colour


@dataclass
class Level:
    """A level as far as it is known here: x, its last positions (n, 3) [m]; ended: how it came to its end."""

    stage: Stage
    x: Singles
    frame: Frame | None = None
    ended: Ended | None = None
    smooth: SmoothView[Any] | None = None


@dataclass
class View:
    """Which of the levels are shown, and how. level: None for the one that is at work."""

    levels: dict[int, Level] = field(default_factory=dict)
    newest: int = 0
    level: int | None = None
    beside: int | None = None
    wipe: float = 0.5
    aside: bool = False
    section: int = -1  # the axis across which it is cut, −1 for none
    cut: float = 0.5  # at which part of the way along that axis
    smooth: bool = False
    map: Map | None = None
    map_kind: str = "none"

    @property
    def shown(self) -> int:
        """The level that is shown."""
        return self.newest if self.level not in self.levels else int(self.level or 0)

    def take_shown(self, word: Shown) -> None:
        """A level begins anew: it and those above it are no longer what they were."""
        self.levels = {k: level for k, level in self.levels.items() if k < word.level}
        self.levels[word.level] = Level(word.stage, word.x)
        self.newest = word.level
        self.map = None

    def take_frame(self, word: Frame) -> bool:
        """New positions of a level; whether it is the one that is shown."""
        level = self.levels.get(word.level)
        if level is None or len(level.x) != len(word.x):
            return False
        level.x, level.frame = word.x, word
        return word.level == self.shown or word.level == self.beside

    def take_end(self, word: Ended) -> None:
        if word.level in self.levels:
            self.levels[word.level].ended = word

    @property
    def on_show(self) -> list[int]:
        """Numbers of the levels that are seen."""
        return [number for number in self.levels if number in (self.shown, self.beside)]

    def compose(self) -> tuple[Stage, Floats]:
        """What is drawn: the surfaces, and where they are (n, 3) [m]."""
        stage, x = self._compared()
        return stage if self.section < 0 else _cut(stage, x, self.section, self.cut), x

    def _compared(self) -> tuple[Stage, Floats]:
        """The level that is shown, with another one where two are compared."""
        stage, x = self._of(self.shown)
        if self.beside is None or self.beside == self.shown or self.beside not in self.levels:
            return stage, x
        other, y = self._of(self.beside)
        return _put_aside(stage, x, other, y) if self.aside else _wipe(stage, x, other, y, self.wipe)

    def _of(self, number: int) -> tuple[Stage, Floats]:
        level = self.levels[number]
        if not self.smooth:
            return level.stage, level.x.astype(np.float64)
        if level.smooth is None:
            try:
                level.smooth = SmoothView(level.stage.parts)
            except SceneError:  # it is fine enough
                return level.stage, level.x.astype(np.float64)
        # under its own name: the page says that it is smooth
        parts = [replace(p, name=q.name) for p, q in zip(level.smooth.parts, level.stage.parts, strict=True)]
        return Stage(tuple(parts), level.stage.planes), level.smooth(level.x.astype(np.float64))

    @property
    def is_moving(self) -> bool:
        """Whether what is shown is a level as it is, whose new positions alone have to be sent."""
        return not self.smooth and self.beside is None and self.map is None and self.section < 0

    def ends(self) -> list[tuple[str, ...]]:
        """A line for each level: its size, how it ended, its contacts, intersections found."""
        rows: list[tuple[str, ...]] = [("level", "triangles", "steps", "", "contacts")]
        for number, level in sorted(self.levels.items()):
            triangles = sum(len(part.triangles) for part in level.stage.parts if part.is_shell)
            how = "at work" if level.ended is None else "in equilibrium" if level.ended.converged else "ended"
            frame = level.frame
            steps, contacts = ("", "") if frame is None else (f"{frame.step:,}", f"{frame.contacts:,}")
            rows.append((str(number), f"{triangles:,}", steps, how, contacts))
        return rows


def _cut(stage: Stage, x: Floats, axis: int, part: float) -> Stage:
    """Without what is beyond a plane, which goes through the shells and what they lie on."""
    low, high = x[:, axis].min(), x[:, axis].max()
    edge = low + part * (high - low)
    # what is cut away is on the side of the eye: in front of y, above z
    side = -1.0 if axis == 1 else 1.0
    kept = []
    for each in stage.parts:
        middle = x[each.first : each.last][each.triangles].mean(axis=1)[:, axis]
        kept.append(replace(each, triangles=each.triangles[side * middle <= side * edge]))
    return Stage(tuple(each for each in kept if len(each.triangles)), stage.planes)


def _put_aside(stage: Stage, x: Floats, other: Stage, y: Floats) -> tuple[Stage, Floats]:
    """Two levels with all colliders, the second one beside the first."""
    shift = len(x)
    beside = [
        replace(part, name=f"{part.name} beside", first=part.first + shift, last=part.last + shift)
        for part in other.parts
    ]
    way = np.array([GAP * float(np.ptp(x[:, 0])), 0.0, 0.0])
    return Stage((*stage.parts, *beside), stage.planes), np.concatenate([x, y + way])


def _wipe(stage: Stage, x: Floats, other: Stage, y: Floats, cut: float) -> tuple[Stage, Floats]:
    """One level left of a cut across the shells, and another one right of it; colliders are those of the first."""
    shells = np.concatenate([x[part.first : part.last] for part in stage.parts if part.is_shell])
    low, high = shells[:, 0].min(), shells[:, 0].max()
    edge, parts = low + cut * (high - low), []
    for part in stage.parts:
        middle = x[part.first : part.last][part.triangles].mean(axis=1)[:, 0]
        parts.append(replace(part, triangles=part.triangles[middle < edge]) if part.is_shell else part)
    for part in other.parts:
        if part.is_shell:
            middle = y[part.first : part.last][part.triangles].mean(axis=1)[:, 0]
            kept = part.triangles[middle >= edge]
            shift = len(x)
            parts.append(
                replace(
                    part, name=f"{part.name} beside", triangles=kept, first=part.first + shift, last=part.last + shift
                )
            )
    return Stage(tuple(p for p in parts if len(p.triangles)), stage.planes), np.concatenate([x, y])


def color(values: Singles) -> tuple[Ints, float, float]:
    """Colours (n, 3) of values (n,), and which values have the first and the last one."""
    low = float(min(values.min(), 0.0))
    high = max(float(np.percentile(values, HIGH)), low + 1e-12)
    place = np.clip((values - low) / (high - low), 0.0, 1.0) * (len(RAMP) - 1)
    ramp = np.array(RAMP, float)
    colors = np.stack([np.interp(place, np.arange(len(RAMP)), ramp[:, k]) for k in range(3)], axis=1)
    return np.rint(colors).astype(np.int32), low, high


def describe(frame: Frame, level: Level, *, held: bool) -> list[str]:
    """How a level stands, in a few short lines of HTML."""
    triangles = sum(len(part.triangles) for part in level.stage.parts if part.is_shell)
    how = "in equilibrium" if frame.converged else "paused" if held else "at work"
    lines = [f"<b>level {frame.level}</b>, {triangles:,} triangles: {how}"]
    far = ""
    if frame.rest is None:
        far = f" · t = {frame.time:.3g} s"
    elif np.isfinite(frame.distance):
        far = f" · {1e3 * frame.distance:.2g} mm from rest (ends at {1e3 * frame.rest:.2g})"
    lines.append(f"step {frame.step:,}{far}")
    balance = f"balance {frame.balance:.1%} · " if np.isfinite(frame.balance) else ""
    lines.append(f"residual {frame.residual:.2g} m/s · {balance}{frame.contacts:,} contacts")
    found = "no intersections" if not frame.intersections else f"<b>{frame.intersections:,} intersections</b>"
    lines.append(f"{frame.seconds:.2g} s an iteration · {found}")
    return lines
