"""The record of a decimation's edge collapses, and how they are undone in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.kernels.batches import colour_collapses
from plisse.kernels.collapse import Log


@dataclass(frozen=True, eq=False)
class Collapses:
    """Edge collapses in the order in which they happened; vertices and faces have the finest mesh's numbers.

    kept, removed: the edge's ends, shape (c,); the merged vertex goes on as `kept`. apexes: the third vertices of the
    triangles that vanished, left and right of kept → removed, -1 for none, shape (c, 2). faces: those triangles, -1
    for none, shape (c, 2). corners: their vertices in order, shape (c, 2, 3). X_kept, X_removed, X_merged: positions
    [m] of both ends before and of the merged vertex after, shape (c, 3).
    moved, moved_start: triangles that passed from the removed to the kept vertex, those of collapse k being
    moved[moved_start[k]:moved_start[k + 1]]. ring, ring_start: likewise the merged vertex's neighbours.
    """

    kept: Ints
    removed: Ints
    apexes: Ints
    faces: Ints
    corners: Ints
    X_kept: Floats
    X_removed: Floats
    X_merged: Floats
    moved: Ints
    moved_start: Longs
    ring: Ints
    ring_start: Longs

    def undo(self, triangles: Ints, present: Bools, batch: Longs) -> None:
        """Split vertices again: changes triangles (m, 3), in the finest mesh's numbers, and which are present (m,).

        batch: collapses that can be undone at once.
        """
        number = self.moved_start[batch + 1] - self.moved_start[batch]
        within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        back = self.moved[np.repeat(self.moved_start[batch], number) + within]
        at = np.repeat(batch, number)
        corners = triangles[back]
        triangles[back] = np.where(corners == self.kept[at, None], self.removed[at, None], corners)
        again = self.faces[batch] >= 0
        triangles[self.faces[batch][again]] = self.corners[batch][again]
        present[self.faces[batch][again]] = True

    def batches(self, first: int, last: int) -> list[Longs]:
        """The collapses first..last in batches to be undone one after the other, each at once."""
        if first == last:
            return []
        batch = np.empty(last - first, np.int64)
        count = colour_collapses(np.stack((self.kept, self.removed), 1), self.ring_start, self.ring, first, last, batch)
        order = np.argsort(batch, kind="stable")
        bounds = np.searchsorted(batch[order], np.arange(1, count))
        return np.split(first + order, bounds)


def make_log(collapses: int, entries: int) -> Log:
    """A log with room for so many collapses, and for so many moved faces and ring vertices of all."""
    return Log(
        ends=np.empty((collapses, 2), np.int32),
        faces=np.empty((collapses, 2), np.int32),
        corners=np.empty((collapses, 2, 3), np.int32),
        places=np.empty((collapses, 3, 3)),
        moved_end=np.empty(collapses, np.int64),
        ring_end=np.empty(collapses, np.int64),
        moved=np.empty(entries, np.int32),
        ring=np.empty(entries, np.int32),
    )


def enlarge_log(log: Log) -> Log:
    """The same log with twice the room in its lists."""
    return log._replace(moved=np.resize(log.moved, 2 * len(log.moved)), ring=np.resize(log.ring, 2 * len(log.ring)))


def read_log(log: Log, count: int) -> Collapses:
    """The first `count` collapses of a log."""
    ends, faces, corners = log.ends[:count].copy(), log.faces[:count].copy(), log.corners[:count].copy()
    third = corners.sum(axis=2) - ends.sum(axis=1)[:, None]
    moved_start = np.concatenate(([0], log.moved_end[:count]))
    ring_start = np.concatenate(([0], log.ring_end[:count]))
    return Collapses(
        kept=ends[:, 0].copy(),
        removed=ends[:, 1].copy(),
        apexes=np.where(faces >= 0, third, -1).astype(np.int32),
        faces=faces,
        corners=corners,
        X_kept=log.places[:count, 0].copy(),
        X_removed=log.places[:count, 1].copy(),
        X_merged=log.places[:count, 2].copy(),
        moved=log.moved[: moved_start[-1]].copy(),
        moved_start=moved_start,
        ring=log.ring[: ring_start[-1]].copy(),
        ring_start=ring_start,
    )
