"""Tightly folded states of decimated sheets, made without simulating: what safe starts are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface
from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation, decimate
from plisse.hierarchy.shell_map import ShellMap
from plisse.hierarchy.split_expansion import Tally, arrive, grow, make_growing, make_scenery
from plisse.hierarchy.splits import OfBody, Splits, find_splits
from plisse.kernels.crossing import Scenery
from plisse.kernels.split import Growing
from plisse.shapes.catalogue import make_shape
from plisse.shapes.rectangle import DIAGONALS

FOLDS = ("pleats", "roll", "pleats rolled up", "twist", "ball")
SHRINK = 0.7  # of the offset, until the state keeps it
SMALLEST = 1e-9  # offset [m] at which a state counts as touching itself


@dataclass(frozen=True, eq=False)
class Folded:
    """A coarse state x (n, 3) [m] without intersections, its decimation, and the offset [m] that it keeps."""

    kind: str
    known: Decimation
    x: Floats
    offset: float


def fold(seed: int, *, vertices: int = 700, ratio: float = 4.0) -> Folded | None:
    """A random folded state, None where the coarse mesh cannot show it without crossing itself."""
    rng = np.random.default_rng(seed)
    kind, diagonals = FOLDS[seed % len(FOLDS)], list(DIAGONALS)[seed % len(DIAGONALS)]
    sheet = make_shape("grid", {"vertices": vertices, "diagonals": diagonals, "seed": seed})
    known = decimate(sheet, [round(vertices / ratio)], seed=seed)
    coarse = known.meshes[0]
    x = _bend(kind, coarse.X, rng)
    # affine and smooth one-to-one maps of space bring layers close to each other, and cross nothing
    squash = np.diag(np.exp(rng.uniform(-4.0, 0.0, 3)))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x = x @ (turn @ squash)
    waves = rng.normal(size=(3, 3)) / max(float(np.abs(x).max()), 1e-3)
    x = x + 0.2 * np.sin(x @ waves.T + rng.uniform(0, 6, 3)) @ np.linalg.inv(waves).T / 3.0
    detector = Detector(coarse.X, coarse.edges, coarse.triangles, len(coarse.X))
    if detector.count(x):
        return None
    offset = 1e-3
    while Barrier(_surface(coarse, offset), kappa=1.0, margin=offset).closest(x)[0] <= 1.1:
        offset *= SHRINK
        if offset < SMALLEST:
            return None
    return Folded(kind, known, np.ascontiguousarray(x), offset)


def _bend(kind: str, X: Floats, rng: np.random.Generator) -> Floats:
    """A sheet of 1 m in layers that are far apart."""
    u, v = X[:, 0], X[:, 1]
    if kind == "ball":
        # every direction of space is folded over once
        x, amount = X.copy(), 0.35
        for k in (2, 0, 1, 2):
            x[:, k] += amount * np.sin(rng.uniform(4, 9) * x[:, (k + 1) % 3] + rng.uniform(0, 6))
        return x
    if kind == "twist":
        angle = rng.uniform(4, 14) * u
        return np.stack((0.4 * u, v * np.cos(angle), v * np.sin(angle)), axis=1)
    x = X.copy()
    if kind != "roll":
        x = _pleat(x, int(rng.integers(2, 6)))
    if kind != "pleats":
        turns = rng.uniform(1.2, 3.0)
        angle, thick = 2.0 * np.pi * turns * (x[:, 1] + 0.5), np.ptp(x[:, 2])
        r = 0.15 + (0.2 + 1.5 * thick) * angle / (2.0 * np.pi) + x[:, 2]
        x = np.stack((x[:, 0], r * np.cos(angle), r * np.sin(angle)), axis=1)
    return x


def _pleat(X: Floats, count: int) -> Floats:
    """An accordion along x: waves so high that their flanks stand up."""
    phase = 2.0 * np.pi * count * X[:, 0]
    return np.stack((X[:, 0] + 0.09 / count * np.sin(2.0 * phase), X[:, 1], 0.12 * np.sin(phase)), axis=1)


def _surface(mesh: Mesh, offset: float) -> CollisionSurface:
    n = len(mesh.X)
    return CollisionSurface(
        edges=mesh.edges, triangles=mesh.triangles, points=np.arange(n, dtype=np.int32), body=np.zeros(n, np.int32),
        passive=np.zeros(n, bool), X=mesh.X, deformable=np.ones(n, bool), offset=offset, dhat=offset,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Unfolded:
    """What a safe start came to: how the splits ended, how many were left, crossings that ipctk found after batches."""

    tally: Tally
    missing: int
    crossings: int
    batches: int
    x: Floats


@dataclass(frozen=True, eq=False)
class Beginning:
    """All that a safe start begins with; wanted: where vertices are to go in the end (n, 3) [m]."""

    mesh: Growing
    scenery: Scenery
    splits: Splits
    wanted: Floats

    def crossings(self) -> int:
        """Intersections of the triangles that are there, by the independent detector."""
        there = Mesh(self.scenery.X, self.mesh.triangles[self.mesh.triangles[:, 0] >= 0])
        return Detector(there.X, there.edges, there.triangles, len(there.X)).count(self.mesh.x)


def begin(folded: Folded, *, smooth: bool = False) -> Beginning:
    """A folded state before its first split."""
    known = folded.known
    coarse, fine = known.meshes
    kept = np.searchsorted(known.ids[1], known.ids[0]).astype(np.int32)
    plain, rounded = (ShellMap(coarse, fine, *known.places[0, 1], kept, phong=phong) for phong in (0.0, 0.5))
    splits = find_splits([OfBody(fine, known, 0, 1)])
    mesh = make_growing(splits, folded.x, plain(folded.x), fine.triangles)
    return Beginning(
        mesh, make_scenery(_surface(fine, folded.offset), []), splits, (rounded if smooth else plain)(folded.x)
    )


def expand(folded: Folded, *, seed: int = 0, smooth: bool = False) -> Unfolded:
    """A safe start of the finer level, with the independent detector asked after every batch."""
    start, tally = begin(folded, smooth=smooth), Tally()
    crossings = batches = 0
    batchwise = grow(start.mesh, start.scenery, start.splits, tally, seed=seed)
    for _ in chain(batchwise, arrive(start.mesh, start.scenery, tally, start.wanted)):
        crossings += start.crossings()
        batches += 1
    return Unfolded(tally, int((~start.mesh.there).sum()), crossings, batches, start.mesh.x)
