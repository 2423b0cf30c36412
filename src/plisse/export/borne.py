"""What the frames of a run bear, as attributes of triangles and vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats
from plisse.progressive.mechanics import measure_mechanics
from plisse.runs.opening import open_session
from plisse.runs.recording import RecordedBody, Recording
from plisse.runs.store import RunStore


@dataclass(frozen=True, eq=False)
class Borne:
    """By name. triangles: larger and smaller principal value, shape (m, 2) each; vertices: vectors, shape (n, 3)."""

    triangles: dict[str, Floats]
    vertices: dict[str, Floats]

    def of(self, body: RecordedBody, first: int) -> Borne:
        """That of one shell, whose triangles begin with the first."""
        last = first + len(body.triangles)
        return Borne(
            {name: values[first:last] for name, values in self.triangles.items()},
            {name: values[body.first : body.last] for name, values in self.vertices.items()},
        )


class Measure:
    """Measures what the shells bear in each frame of a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording, level = recording, recording.level
        session, store = open_session(recording.folder), RunStore(recording.folder)
        # pairs that were too close at the start of a level keep an offset of their own
        spec, first = store.read_spec(), store.frames(level)[0]
        start = store.read_frame(level, first) if level > spec.first or spec.begin is not None else None
        self._problem = session.ladder.problem(level, start=start)

    def __call__(self, index: int) -> Borne:
        """Of the index-th frame."""
        number, seconds = self._recording.numbers[index], float(self._recording.simulated[index])
        found = measure_mechanics(self._problem.at(seconds), self._recording.read_frame(number))
        shells = self._problem.bodies.simulated_part(found.contact)
        return Borne(
            {"strain": found.strain, "stress": found.stress, "curvature": found.curvature},
            {"contact": np.ascontiguousarray(shells)},
        )
