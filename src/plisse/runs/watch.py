"""Why a run makes no progress, in words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.state import State
from plisse.progressive.rest import Aim
from plisse.progressive.scene_problem import SceneProblem
from plisse.scene.geometry import scene_size
from plisse.scene.scene import Scene

SHORT, SHORT_STEPS = 1e-3, 8  # a step length below this, so many iterates in a row, has collapsed
HELD_STEPS = 5  # steps in a row that scripted vertices are held back
PATIENCE = 60  # steps of statics in which a state should come nearer to rest
AWAY = 1.0  # what moves further than this part of the scene's size meanwhile falls or slides away
FALL = 0.8  # to this part of what it was at least
LANDING = 1.05  # factor by which contacts grow where something lands
HALVES = slice(PATIENCE), slice(PATIENCE, None)


class Watch:
    """Sees all states of one level and reports each reason once.

    dhat: reach of contact [m]; last_key: time after which nothing is led any more [s]; places: names some vertices,
    e.g. "12, 14 of cloth"; aim: what ends the level; size: of the scene [m].
    """

    def __init__(
        self,
        scene: Scene,
        dhat: float,
        last_key: float,
        places: Callable[[tuple[int, ...]], str],
        *,
        aim: Aim,
        size: float,
    ) -> None:
        self._scene, self._dhat, self._last_key, self._places, self._aim = scene, dhat, last_key, places, aim
        self._size, self._told = size, set[str]()
        self._short = self._held = 0
        self._recent: Floats | None = None
        self._left: deque[tuple[float, int]] = deque(maxlen=2 * PATIENCE)
        self._earlier: Floats | None = None  # positions some steps ago (n, 3) [m], to see what goes away

    @classmethod
    def of(cls, problem: SceneProblem, *, aim: Aim) -> Watch:
        """The watch over a level's problem."""
        places, size = problem.bodies.name_vertices, scene_size([problem.shells])
        return cls(problem.scene, problem.reach, problem.last_key, places, aim=aim, size=size)

    def see(self, state: State) -> str | None:
        """A sentence the first time that a reason shows, None otherwise."""
        self._short = self._short + 1 if state.step_length < SHORT else 0
        if state.accepted:
            self._held = self._held + 1 if state.missed > self._dhat else 0
            self._left.append((self._aim.left(state), state.contacts))
            if state.step % PATIENCE == 0:
                self._earlier, self._recent = self._recent, state.x
        for name, reason in (
            ("collapsed", self._collapsed(state)),
            ("held", self._held_back(state)),
            ("cycling", self._cycling(state)),
        ):
            if reason is not None and name not in self._told:
                self._told.add(name)
                return f"no progress on level {state.level}, step {state.step}: {reason}"
        return None

    def _collapsed(self, state: State) -> str | None:
        if self._short < SHORT_STEPS:
            return None
        at = f" at vertices {self._places(state.blocked)}" if state.blocked else ""
        cause = "contact or a strain limit leaves no room" if state.blocked else "the energy does not fall further"
        return (
            f"the step length has collapsed to {state.step_length:.0e}{at}: {cause}; try a smaller time.h, a larger "
            "contact.dhat, or more room between what squeezes the shell."
        )

    def _held_back(self, state: State) -> str | None:
        if self._held < HELD_STEPS:
            return None
        return (
            f"contact or a strain limit holds handles or moving colliders back by {1e3 * state.missed:.3g} mm: let "
            "them move more slowly, or give them a clear path."
        )

    def _cycling(self, state: State) -> str | None:
        seen = self._left
        if self._scene.time.mode != "static" or len(seen) < 2 * PATIENCE or state.time < self._last_key:
            return None
        (before, touched), (now, touching) = (np.array(list(seen)[part]).T for part in HALVES)
        # layers that land one after the other do not come nearer to rest, but more and more of them touch
        if now.min() <= max(FALL * before.min(), 1.0) or touching.max() > LANDING * touched.max():
            return None
        if self._earlier is not None:
            way = np.linalg.norm(state.x - self._earlier, axis=1)
            if way.max() > AWAY * self._size:
                return (
                    f"vertex {self._places((int(way.argmax()),))} has moved by {way.max():.2g} m and keeps moving: "
                    "nothing holds that part; add a pin, a floor, a collider below it or friction, or leave it out "
                    "with object."
                )
        rough = any(self._scene.friction_of(shell) > 0.0 for shell in self._scene.shells)
        stays = f"it has come no nearer to rest for {PATIENCE} steps ({self._aim.describe(state)})"
        looser = "solver.tol" if self._aim.rest is None else "solver.rest"
        if rough and state.contacts:
            return (
                f"{stays}: contacts alternate between sticking and slipping; try a larger contact.friction_speed, a "
                f"smaller time.h, or a larger {looser}."
            )
        return f"{stays}: the shape oscillates or creeps; try a smaller time.h, or a larger {looser}."
