"""Whether all levels buckle to the same side and into the same folds, whatever the start's last digits are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, tell
from plisse.bench.jitter import count_alike, open_jittered
from plisse.core.arrays import Floats

SEEDS = 50
RINGS = 24  # places around in which folds are counted
LEAST = 0.25  # height of a fold, over that of the highest, that counts


@dataclass(frozen=True)
class Case:
    """A scene at a small size, and the number that all of its levels are to have in common."""

    name: str
    sets: tuple[str, ...]
    look: Callable[[Floats, Floats], int]


def side(X: Floats, x: Floats) -> int:
    """To which side the middle has moved, ±1."""
    return int(np.sign((x - X)[:, 2].mean()))


def inverted(X: Floats, x: Floats) -> int:
    """Whether the top of a dome is below its rim."""
    top, rim = X[:, 2].argmax(), X[:, 2].argmin()
    return int(x[top, 2] < x[rim, 2])


def wrinkles(X: Floats, x: Floats) -> int:
    """Changes of side across the middle of a sheared plate that are not mere ripples."""
    across = np.abs(X[:, 0]) < 0.15 * np.ptp(X[:, 0])
    order = np.argsort(X[across, 1])
    places = np.linspace(X[:, 1].min(), X[:, 1].max(), RINGS + 1)
    heights = np.array([x[across][order, 2][_within(X[across][order, 1], a, b)].mean() for a, b in _pairs(places)])
    heights -= heights.mean()
    signs = np.sign(heights[np.abs(heights) >= LEAST * np.abs(heights).max()])
    return int((signs[1:] != signs[:-1]).sum())


def lobes(X: Floats, x: Floats) -> int:
    """Major lobes around the middle of a body of revolution: the strongest wave number of its radius.

    A single wave around is a middle that has moved aside as a whole.
    """
    middle = np.abs(X[:, 2] - X[:, 2].mean()) < 0.25 * np.ptp(X[:, 2])
    angle, out = np.arctan2(X[middle, 1], X[middle, 0]), np.hypot(*(x[middle, :2].T)) - np.hypot(*(X[middle, :2].T))
    places = np.linspace(-np.pi, np.pi, RINGS + 1)
    means = np.array([out[_within(angle, a, b)].mean() for a, b in _pairs(places)])
    return int(np.abs(np.fft.rfft(means))[2:].argmax()) + 2


def _within(values: Floats, low: float, high: float) -> np.ndarray:
    return np.asarray((values >= low) & (values <= high))


def _pairs(places: Floats) -> list[tuple[float, float]]:
    return list(zip(places[:-1].tolist(), places[1:].tolist(), strict=True))


CASES = (
    Case("18-plate-buckle", ("shell.vertices=1600", "hierarchy.levels=[100,400]"), side),
    Case("19-plate-shear", ("shell.vertices=6400", "hierarchy.levels=[1600]"), wrinkles),
    Case("20-dome", ("shell.vertices=2000", "hierarchy.levels=[500]"), inverted),
    Case("21-pumpkin", ("shell.vertices=3000", "hierarchy.levels=[750]"), lobes),
    Case("16-can", ("shell.vertices=6000", "hierarchy.levels=[1500]"), lobes),
)


def measure_agreement(
    threads: int, *, seeds: int = SEEDS, cases: tuple[Case, ...] = CASES
) -> tuple[list[Figure], dict[str, Any]]:
    """Runs in which all levels look alike."""
    figures, details = [], dict[str, Any]()
    for case in cases:
        found = list[tuple[int, ...]]()
        for seed in range(seeds):
            found.append(_levels(case, seed, threads))
            tell(f"{case.name}, seed {seed}: {found[-1]}")
        alike = sum(len(set(each)) == 1 for each in found)
        figure, more = count_alike(case.name, case.look.__name__, found, alike)
        figures.append(figure)
        details |= more
    return figures, details


def _levels(case: Case, seed: int, threads: int) -> tuple[int, ...]:
    """What each level of a run looks like, from a start that is jittered."""
    session = open_jittered(gallery_scene(case.name, sets=case.sets, tol=None), seed, threads=threads)
    for _ in session.preview():
        pass
    for _ in session.refine():
        pass
    out = []
    for level in range(session.finest + 1):
        state, shape = session.grid.last(level), session.ladder.geometry(level)
        assert state is not None
        out.append(case.look(shape.shell_positions[0], state.x[: len(shape.shells[0].X)]))
    return tuple(out)
