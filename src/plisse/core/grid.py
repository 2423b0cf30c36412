"""States by level and step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from plisse.core.state import State


@dataclass(eq=False)
class Grid:
    """Accepted states by (level, step): what an integrator looks back at.

    depth: how many of a level's last steps are kept in memory; older: finds others, e.g. in a run folder.
    """

    depth: float = 2
    older: Callable[[int, int], State | None] | None = None
    _levels: dict[int, dict[int, State]] = field(default_factory=dict)

    def put(self, state: State) -> None:
        """Keeps a state; what its level holds of later steps is dropped."""
        level = self._levels.setdefault(state.level, {})
        for step in [step for step in level if step >= state.step or step <= state.step - self.depth]:
            del level[step]
        level[state.step] = state

    def get(self, level: int, step: int) -> State | None:
        """The state of a level after a step, None where it is not known."""
        known = self._levels.get(level, {}).get(step)
        return known if known is not None or self.older is None else self.older(level, step)

    def at(self, level: int, step: int) -> State:
        """The state of a level after a step, which must be known."""
        state = self.get(level, step)
        if state is None:
            raise KeyError(f"no state of level {level} after step {step}")
        return state

    def last(self, level: int) -> State | None:
        """The last state of a level, None where it has none."""
        known = self._levels.get(level)
        return known[max(known)] if known else None

    def states(self, level: int) -> list[State]:
        """The states of a level that are in memory, in order."""
        known = self._levels.get(level, {})
        return [known[step] for step in sorted(known)]

    @property
    def levels(self) -> list[int]:
        """The levels that have states, coarse to fine."""
        return sorted(self._levels)

    def drop(self, *, above: int) -> None:
        """Forgets all levels above one."""
        for level in [level for level in self._levels if level > above]:
            del self._levels[level]
