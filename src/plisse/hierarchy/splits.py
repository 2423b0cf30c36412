"""Collapses of several bodies, undone: the vertex splits that lead from one level to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Ints, Longs
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation
from plisse.kernels.split import Record


@dataclass(frozen=True, eq=False)
class Splits:
    """Vertex splits between two levels of all bodies, in the finer level's numbers of vertices and triangles.

    record: the splits, see `hierarchy.collapses`. batches: splits that are independent of each other, in an order in
    which all can be made. kept: the fine vertex that each coarse one is, (n_coarse,). triangles: of the coarse level,
    -1 in the place of those that splits bring, (m, 3). vertices: of the finer level.
    """

    record: Record
    batches: tuple[Longs, ...]
    kept: Ints
    triangles: Ints
    vertices: int


@dataclass(frozen=True, eq=False)
class OfBody:
    """A body on two neighbouring levels. known: None where it is the same on both, otherwise its decimation.

    coarse, fine: which of the decimation's meshes it has there. mesh: the finer one.
    """

    mesh: Mesh
    known: Decimation | None = None
    coarse: int = 0
    fine: int = 0


def find_splits(bodies: Sequence[OfBody]) -> Splits:
    """The splits of bodies whose vertices and triangles follow each other."""
    parts, kept, triangles = list[Record](), list[Ints](), list[Ints]()
    batches: list[list[Longs]] = []
    vertex = face = split = 0
    for body in bodies:
        n, m = len(body.mesh.X), len(body.mesh.triangles)
        if body.known is None or body.coarse == body.fine:
            kept.append(np.arange(vertex, vertex + n, dtype=np.int32))
            triangles.append(body.mesh.triangles + np.int32(vertex))
        else:
            record, own, coarse, some = _of_body(body, body.known)
            parts.append(_shift(record, vertex, face))
            kept.append(own + np.int32(vertex))
            triangles.append(np.where(coarse < 0, coarse, coarse + np.int32(vertex)))
            for number, batch in enumerate(some):
                if number == len(batches):
                    batches.append([])
                batches[number].append(batch + split)
            split += len(record.kept)
        vertex, face = vertex + n, face + m
    return Splits(
        _concatenate(parts),
        tuple(np.concatenate(each) for each in batches),
        np.concatenate(kept),
        np.ascontiguousarray(np.concatenate(triangles)),
        vertex,
    )


def _of_body(body: OfBody, known: Decimation) -> tuple[Record, Ints, Ints, list[Longs]]:
    """A body's splits, the fine vertex of each coarse one, the coarse triangles, and the batches."""
    log, first, last = known.log, known.log_start[body.fine], known.log_start[body.coarse]
    ids, faces = known.ids[body.fine], known.faces[body.fine]
    number = np.full(len(known.meshes[-1].X), -1, np.int32)
    number[ids] = np.arange(len(ids), dtype=np.int32)
    rank = np.full(len(known.meshes[-1].triangles), -1, np.int32)
    rank[faces] = np.arange(len(faces), dtype=np.int32)
    moved, ring = (slice(start[first], start[last]) for start in (log.moved_start, log.ring_start))
    record = Record(
        kept=number[log.kept[first:last]],
        new=number[log.removed[first:last]],
        faces=np.where(log.faces[first:last] >= 0, rank[log.faces[first:last]], -1).astype(np.int32),
        corners=number[log.corners[first:last]],
        moved=rank[log.moved[moved]],
        moved_start=log.moved_start[first : last + 1] - log.moved_start[first],
        ring=number[log.ring[ring]],
        ring_start=log.ring_start[first : last + 1] - log.ring_start[first],
    )
    kept = number[known.ids[body.coarse]]
    triangles = np.full((len(faces), 3), -1, np.int32)
    triangles[rank[known.faces[body.coarse]]] = kept[known.meshes[body.coarse].triangles]
    return record, kept, triangles, [batch - first for batch in log.batches(first, last)]


def _shift(part: Record, vertex: int, face: int) -> Record:
    """With vertices and triangles numbered from other ones on."""
    v, f = np.int32(vertex), np.int32(face)
    return part._replace(
        kept=part.kept + v,
        new=part.new + v,
        faces=np.where(part.faces >= 0, part.faces + f, -1).astype(np.int32),
        corners=part.corners + v,
        moved=part.moved + f,
        ring=part.ring + v,
    )


def _concatenate(parts: Sequence[Record]) -> Record:
    if not parts:
        none, zero = np.empty(0, np.int32), np.zeros(1, np.int64)
        return Record(none, none, none.reshape(0, 2), none.reshape(0, 2, 3), none, zero, none, zero)

    def starts(each: list[Longs]) -> Longs:
        ends = np.cumsum([0, *(start[-1] for start in each)])
        return np.concatenate([[0], *(start[1:] + end for start, end in zip(each, ends, strict=False))])

    return Record(
        kept=np.concatenate([p.kept for p in parts]),
        new=np.concatenate([p.new for p in parts]),
        faces=np.concatenate([p.faces for p in parts]),
        corners=np.concatenate([p.corners for p in parts]),
        moved=np.concatenate([p.moved for p in parts]),
        moved_start=starts([p.moved_start for p in parts]),
        ring=np.concatenate([p.ring for p in parts]),
        ring_start=starts([p.ring_start for p in parts]),
    )
