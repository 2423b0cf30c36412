"""Frames of a run that cannot be read, written again from what else the run folder holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from plisse.core.arrays import Floats
from plisse.core.state import Checkpoint
from plisse.runs.store import RunStore


def mend_frames(
    store: RunStore, found: Iterable[Checkpoint], starts: Callable[[int], Floats], *, every: int | None, first: int = 0
) -> Iterator[str]:
    """Writes every level's first and last frame again where it cannot be read; a line for each damaged frame.

    found: the levels' last complete steps. starts: where a level's vertices start (n, 3) [m], unless it starts from a
    coarser one. every: steps from frame to frame, None where only the start and the end are kept. first: number of the
    first frame.
    """
    for at in found:
        state, last = at.state, None
        if at.notes["ended"] or (every is not None and state.step % every == 0):
            # a level ends with a frame of its own, unless its last step has one
            last = 1 if every is None else -(-state.step // every)
        for number in sorted({*store.frames(state.level), first, last or first}):
            if store.has_frame(state.level, number, len(state.x)):
                continue
            name = store.frame_name(state.level, number)
            if number == last or (number == first and not at.notes["placed"]):
                store.write_frame(state.level, number, state.x if number == last else starts(state.level))
                yield f"{name} is written again, as it could not be read"
            else:
                yield f"{name} cannot be read, and nothing else holds it: run the scene again with --overwrite"
