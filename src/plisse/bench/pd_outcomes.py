"""Whether all levels of a motion have the same outcome, whatever the start's last digits and the throws are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course, follow_levels
from plisse.bench.figures import Figure, tell
from plisse.bench.jitter import count_alike, open_jittered
from plisse.bench.pd_gallery import SMALL
from plisse.core.arrays import Floats
from plisse.scene.colliders import Collider
from plisse.scene.scene import Scene
from plisse.scene.schedule import rotation

SEEDS = range(20)
THROWS = 0.01  # by what part of its speed a body is thrown otherwise, in every second run
NEVER = -1  # something does not happen, or is nowhere

Outcome = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A gallery scene at a small size, what is looked at, and by how many steps levels may differ in it."""

    name: str
    look: Callable[[Scene, Course], Outcome]
    sets: tuple[str, ...] = ()
    slack: int = 0


def hoops(scene: Scene, course: Course) -> Outcome:
    """Which hoops the first body flies through: 1 where its centre of mass crosses the hoop's disc, else 0."""
    path, passed = _path(course, 0), []
    for hoop in _colliders(scene, "torus"):
        assert hoop.mesh is not None
        off = path - np.array(hoop.translate)
        along = off @ rotation(hoop.rotate)[:, 2]
        before, after = along[:-1, None], along[1:, None]
        crossing = (before * after <= 0.0)[:, 0]
        part = before / np.where(before == after, 1.0, before - after)
        out = np.linalg.norm(off[:-1] + part * (off[1:] - off[:-1]), axis=1)
        passed.append(int((out[crossing] < hoop.mesh.parameters["major"]).any()))
    return tuple(passed)


def bowls(scene: Scene, course: Course) -> Outcome:
    """In which bowl each body ends."""
    return tuple(_nearest(_colliders(scene, "bowl"), end, 0.3, (0.0, 0.0, 0.0)) for end in _ends(course))


def hooks(scene: Scene, course: Course) -> Outcome:
    """On which hook each hat ends."""
    return tuple(_nearest(_colliders(scene, "hook"), end, 0.15, (0.12, 0.0, 0.05)) for end in _ends(course))


def leaves_ball(scene: Scene, course: Course) -> Outcome:
    """The step after which the sheet's centre of mass has first sunk below the ball."""
    ball = _colliders(scene, "sphere")[0]
    assert ball.mesh is not None
    return (_first(_path(course, 0)[:, 2] < ball.translate[2] - ball.mesh.parameters["radius"]),)


def dents(scene: Scene, course: Course) -> Outcome:
    """Steps after which a ball of 10 cm is first dented to its half, and is round again."""
    r = [np.linalg.norm(x - centre, axis=1) for x, centre in zip(course.x, _path(course, 0), strict=True)]
    depth = np.array([each.min() for each in r])
    first = _first(depth < 0.07)
    return first, _first((depth > 0.09) & (np.arange(len(depth)) >= first)) if first != NEVER else NEVER


def _nearest(targets: list[Collider], end: Floats, reach: float, offset: tuple[float, float, float]) -> int:
    """The target in whose reach [m] a body ends; offset: of the place where it should be."""
    off = np.array([end - np.add(target.translate, offset) for target in targets])
    distance = np.linalg.norm(off, axis=1)
    return int(distance.argmin()) if distance.min() < reach else NEVER


def _first(true: np.ndarray) -> int:
    """The first step after which something is true."""
    return int(true.argmax()) + 1 if true.any() else NEVER


def _path(course: Course, body: int) -> Floats:
    """A body's centre of mass [m] after every step, shape (steps, 3)."""
    return np.array(course.history["centres"])[:, body]


def _ends(course: Course) -> Floats:
    """Each body's centre of mass [m] at the end, shape (bodies, 3)."""
    return np.array(course.history["centres"][-1])


def _colliders(scene: Scene, shape: str) -> list[Collider]:
    return [c for c in scene.colliders if c.mesh is not None and c.mesh.shape == shape]


CASES = (
    Case("34-ball-drop", dents, slack=1),
    Case("47-hats", hooks, ("time.duration=1.2",)),
    Case(
        "37-toy-toss",
        hoops,
        # the third hoop is so far aside that some of the throws hit it
        ("collider.2.translate=[2.1,0.21,0.52]",),
    ),
    Case("38-octocats", bowls, ("time.h=0.02",)),
    Case("36-spin-cycle", leaves_ball, slack=1),
)


def measure_outcomes(
    threads: int, *, seeds: Iterable[int] = SEEDS, cases: tuple[Case, ...] = CASES
) -> tuple[list[Figure], dict[str, Any]]:
    """Runs in which all levels come to the same outcome."""
    figures, details = [], dict[str, Any]()
    for case in cases:
        found = list[tuple[Outcome, ...]]()
        for seed in seeds:
            found.append(_levels(case, seed, threads))
            tell(f"{case.name}, seed {seed}: {found[-1]}")
        alike = sum(bool((np.ptp(each, axis=0) <= case.slack).all()) for each in found)
        figure, more = count_alike(case.name, case.look.__name__.replace("_", " "), found, alike)
        figures.append(figure)
        details |= more
    return figures, details


def _levels(case: Case, seed: int, threads: int) -> tuple[Outcome, ...]:
    """The outcome on each level, from a start that is jittered and, with every second seed, thrown otherwise."""
    scene = gallery_scene(case.name, sets=(*SMALL[case.name], *case.sets), tol=0.01)
    session = open_jittered(scene, seed, threads=threads, throws=THROWS if seed % 2 else 0.0)
    return tuple(case.look(session.scene, course) for course in follow_levels(session))
