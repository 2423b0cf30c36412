"""The published safe start, to compare with: splits in batches, small perturbations, advancement by CCD.

[Zhang2023] Algorithms 2–5 without the relaxation of patches (§4.4.3), so that its times are a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from plisse.contact import candidates as broad
from plisse.contact.candidates import CollisionSurface
from plisse.contact.ccd import pair_steps
from plisse.core.arrays import Floats, Ints, Longs
from plisse.core.mesh import Mesh
from plisse.hierarchy.splits import Splits
from plisse.kernels import barrier
from plisse.kernels.crossing import Clearance, Scenery, keeps_clear
from plisse.kernels.jit import kernel
from plisse.kernels.split import Growing, Record, _gather, _is_ready, _open, _random

PERTURBATION = 0.01  # of the least gap
MUCH_CLOSER = 0.1  # pairs with a smaller part of the least gap keep CLOSE of their distance, the others FAR
CLOSE, FAR = 0.999, 0.1
DIRECTIONS = 1000  # that a vertex tries, at most
ROUNDS = 200  # of advancement in a batch


@kernel
def perturb_batch(
    mesh: Growing, scenery: Scenery, splits: Record, batch: Longs, length: float, seed: int, stuck: Ints
) -> None:
    """Splits vertices, and moves their halves apart by a length [m] in a direction in which their patch does not cross
    itself; stuck: 1 where none is found, (b,)."""
    star, x, asked = np.empty(512, np.int32), mesh.x, Clearance(0.0, 0.0)
    for n in range(batch.size):
        c = batch[n]
        i, j = splits.kept[c], splits.new[c]
        stuck[n] = not _is_ready(mesh, splits, c)
        if stuck[n]:
            continue
        _open(mesh, splits, c)
        p = x[i].copy()
        mesh.looks[0] += 1
        count = _gather(mesh, j, star, _gather(mesh, i, star, 0))
        for attempt in range(DIRECTIONS):
            if attempt == 0:
                for v in (i, j):
                    way = mesh.target[v] - p
                    far = np.sqrt((way * way).sum())
                    x[v] = p + way * (length / far) if far > length else mesh.target[v]
            else:
                z = 2.0 * _random(seed + 7919 * c, 2 * attempt) - 1.0
                angle = 2.0 * np.pi * _random(seed + 7919 * c, 2 * attempt + 1)
                r = np.sqrt(1.0 - z * z)
                x[i] = p
                x[j, 0], x[j, 1], x[j, 2] = (
                    p[0] + length * r * np.cos(angle),
                    p[1] + length * r * np.sin(angle),
                    (p[2] + length * z),
                )
            clear = True
            for a in range(count):
                for b in range(a):
                    f, g = mesh.triangles[star[a]], mesh.triangles[star[b]]
                    clear = clear and keeps_clear(x, scenery, f, g, asked)
            if clear:
                break
        stuck[n] = not clear


def grow_as_printed(mesh: Growing, scenery: Scenery, splits: Splits, *, seed: int = 0) -> Iterator[tuple[int, int]]:
    """Makes all splits; yields, after each batch, how many of it found no direction, and rounds of advancement."""
    for batch in splits.batches:
        stuck = np.empty(len(batch), np.int32)
        perturb_batch(mesh, scenery, splits.record, batch, PERTURBATION * _least_gap(mesh, scenery), seed, stuck)
        some = np.concatenate((splits.record.kept[batch], splits.record.new[batch]))
        yield int(stuck.sum()), _advance(mesh, scenery, some[mesh.there[some]])


def _surface(mesh: Growing, scenery: Scenery, moving: Ints) -> CollisionSurface:
    there = mesh.triangles[mesh.triangles[:, 0] >= 0]
    passive = np.ones(len(mesh.x), bool)
    passive[moving] = False
    return CollisionSurface(
        edges=Mesh(scenery.X, there).edges, triangles=there, points=np.flatnonzero(mesh.there).astype(np.int32),
        body=scenery.body, passive=passive, X=scenery.X, deformable=scenery.deformable.astype(bool),
        offset=0.0, dhat=scenery.dhat,
    )  # fmt: skip


def _distances(found: broad.Candidates, x: Floats) -> Floats:
    pairs = np.concatenate([found.pt, found.ee])
    weights, D = np.empty((len(pairs), 4)), np.empty(len(pairs))
    barrier.witnesses(x, pairs, len(found.pt), weights, D)
    return np.asarray(np.sqrt(D))


def _least_gap(mesh: Growing, scenery: Scenery) -> float:
    surface = _surface(mesh, scenery, np.flatnonzero(mesh.there).astype(np.int32))
    found = broad.build(surface, mesh.x, np.zeros_like(mesh.x), 0.0)
    return float(_distances(found, mesh.x).min(initial=scenery.dhat))


def _advance(mesh: Growing, scenery: Scenery, moving: Ints) -> int:
    """Additive advancement: the vertices of the pairs that limit a step stay, the others go on."""
    p = np.zeros_like(mesh.x)
    p[moving] = (mesh.target - mesh.x)[moving]
    gap = _least_gap(mesh, scenery)
    found = broad.build(_surface(mesh, scenery, moving), mesh.x, p, 0.0)
    close = _distances(found, mesh.x) < MUCH_CLOSER * gap
    parts = [(_part(found, close), CLOSE), (_part(found, ~close), FAR)]
    for rounds in range(1, ROUNDS + 1):
        limits = [pair for part, keep in parts for pair in pair_steps(part, mesh.x, p, keep=keep)]
        step = min([1.0, *(float(allowed.min(initial=1.0)) for _, allowed in limits)])
        mesh.x[:] += step * p
        if step == 1.0 or not p.any():
            return rounds
        p *= 1.0 - step
        for nodes, allowed in limits:
            p[nodes[allowed <= step * (1.0 + 1e-9)]] = 0.0
    return ROUNDS


def _part(found: broad.Candidates, some: np.ndarray) -> broad.Candidates:
    k = len(found.pt)
    return replace(
        found, pt=found.pt[some[:k]], ee=found.ee[some[k:]], pt_offset=found.pt_offset[some[:k]],
        pt_dhat=found.pt_dhat[some[:k]], ee_offset=found.ee_offset[some[k:]], ee_dhat=found.ee_dhat[some[k:]],
    )  # fmt: skip
