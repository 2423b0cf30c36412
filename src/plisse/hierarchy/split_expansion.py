"""From a feasible state on a decimated mesh to one on the next finer mesh: vertex splits that keep clear."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from plisse.contact.candidates import CollisionSurface
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Bools, Floats, Ints, Longs
from plisse.core.errors import SceneError
from plisse.core.potential import Clock, frozen
from plisse.hierarchy.expand import Expansion, Start, below_limit
from plisse.hierarchy.maps import LevelMap
from plisse.hierarchy.relax import FIRMNESS, relax_locally, relax_target
from plisse.hierarchy.splits import Splits
from plisse.kernels.crossing import Clearance, Scenery
from plisse.kernels.split import ARRIVED, STUCK, WAITS, Growing, fill, move_on, split_batch
from plisse.kernels.tree import order_patches
from plisse.solve.newton import Newton
from plisse.solve.problem import Problem

WIDE = Clearance(own=1.0, room=0.1)  # what is asked of a place at first
TIGHT_FIT = Clearance(own=0.02, room=0.0)  # and where there is none: pairs within a body may come closer than offset
SLACK = 10.0  # times the time step that dampens strain relief, where vertices need not go anywhere else
SWEEPS = 8  # over vertices that are still behind, at most
MOST_EFFORT = 32  # times as many random directions as at first where splits find no room, in ever tighter places


@dataclass(eq=False)
class Tally:
    """How many splits ended in which way, see `kernels.split`, and how many vertices did not reach their targets."""

    ends: Longs = field(default_factory=lambda: np.zeros(STUCK + 1, np.int64))
    behind: int = 0


class SplitExpansion(Expansion):
    """Every collapse between two levels is undone, and both vertices go where they are wanted, if that is clear.

    [Zhang2023] §4.4, Algorithms 2–5. Differs: a place is kept when an exact check of the triangles about it finds
    nothing in the way, so that most splits are made at once; ways are not followed, and no common gap has to be
    respected by all. Splits are made along the coarse surface first; then all vertices go where they are wanted. A
    split that finds no room on the way to its targets takes the printed random directions. Splits of a batch are made
    one after the other, each against what the others have left. curved: vertices (n,) of bodies that are not flat at
    rest; edge: mean length of the coarse level's [m]; seed: of the random directions.
    """

    def __init__(self, splits: Splits, between: LevelMap, fine: Ints, *, curved: Bools, edge: float, seed: int) -> None:
        self._splits, self._between, self._fine, self._seed = splits, between, fine, seed
        self._curved, self._edge = curved, edge
        self.tally = Tally()

    def __call__(
        self,
        x: Floats,
        target: Floats | None,
        make_problem: Callable[[Floats], Problem],
        newton: Newton,
        clock: Clock,
        *,
        h: float,
    ) -> Generator[Floats, None, Start]:
        wanted = frozen(self._between.linear(x) if target is None else target)
        problem = make_problem(wanted)
        near = relax_target(problem, newton, clock, wanted, self._curved, self._edge)
        yield wanted
        x_coarse, x = x, near
        if problem.barrier is not None:
            planes = [part for part in problem.contact_parts if isinstance(part, PlaneContact)]
            scenery = make_scenery(problem.barrier.surface, planes)
            # the coarse surface is clear; from there to where vertices are wanted, layers may be in each other's way
            along = np.where(self._curved[:, None], self._between.linear(x_coarse), near)
            mesh = make_growing(self._splits, x_coarse, along, self._fine)
            batchwise = grow(mesh, scenery, self._splits, self.tally, seed=self._seed)
            for _ in chain(batchwise, arrive(mesh, scenery, self.tally, near)):
                yield wanted
            if not mesh.there.all():
                self._refuse(mesh, problem)
            x = frozen(mesh.x)
            problem = make_problem(x)
            x = yield from relax_locally(problem, newton, clock, x, near, h=h)
        x = yield from below_limit(problem, newton, clock, x, None, None, h=SLACK * h, firmness=FIRMNESS)
        return Start(problem, x, wanted)

    def _refuse(self, mesh: Growing, problem: Problem) -> None:
        """Says which vertex finds no place."""
        missing = np.flatnonzero(~mesh.there)
        first = self._splits.record.kept[np.isin(self._splits.record.new, missing)]
        raise SceneError(
            f"Level {problem.level} cannot be reached from level {problem.level - 1} without an intersection: "
            f"{len(missing)} vertices find no place, the first beside vertex {problem.bodies.name_vertices(first[:1])} "
            "of the finer level (counted from 0). Levels that are nearer to each other (hierarchy.levels), or a looser "
            "fold on the coarser one, may help."
        )


def make_scenery(surface: CollisionSurface, planes: list[PlaneContact]) -> Scenery:
    """What the rule of contact is about."""
    return Scenery(
        surface.X,
        surface.body,
        surface.deformable.astype(np.uint8),
        np.array([plane.plane for plane in planes]).reshape(-1, 4),
        surface.offset,
        surface.dhat,
    )


def make_growing(splits: Splits, x: Floats, target: Floats, fine: Ints) -> Growing:
    """A coarse level's state x (n_coarse, 3) [m] as the beginning of the finer one; fine: its triangles (m, 3)."""
    n, m = splits.vertices, len(fine)
    positions, there = np.zeros((n, 3)), np.zeros(n, bool)
    positions[splits.kept], there[splits.kept] = x, True
    leaves = 1
    while leaves < m:
        leaves *= 2
    # neighbours in space are neighbours in the tree
    order = np.arange(m, dtype=np.int32)
    parts = leaves if m == leaves else leaves // 2
    order_patches(np.ascontiguousarray(target[fine].mean(axis=1).T), order, parts)
    bounds = m * np.arange(parts + 1) // parts
    within = np.arange(m) - np.repeat(bounds[:-1], np.diff(bounds))
    place = (np.repeat(np.arange(parts), np.diff(bounds)) * (leaves // parts) + within).astype(np.int32)
    leaf, at = np.empty(m, np.int32), np.full(leaves, -1, np.int32)
    leaf[order], at[place] = place, order
    mesh = Growing(
        x=positions,
        target=target.copy(),
        there=there,
        triangles=splits.triangles.copy(),
        head=np.empty(n, np.int32),
        link=np.empty(3 * m, np.int32),
        leaf=leaf,
        at=at,
        boxes=np.empty((2 * leaves, 6)),
        mark=np.zeros(m, np.int64),
        looks=np.zeros(1, np.int64),
    )
    fill(mesh)
    return mesh


def grow(mesh: Growing, scenery: Scenery, splits: Splits, tally: Tally, *, seed: int) -> Iterator[None]:
    """Makes all splits, batch by batch, and yields after each, when nothing crosses.

    Splits that find no room wait for others to be made; some are left undone where nothing helps any more.
    """
    behind = (mesh.x != mesh.target).any(axis=1) & mesh.there
    _move_on(mesh, scenery, behind)
    yield
    waiting = np.empty(0, np.int64)
    for batch in splits.batches:
        waiting = _split(mesh, scenery, splits, np.concatenate((waiting, batch)), tally, behind, seed, 1)
        yield
    effort = 1
    while len(waiting) and effort < MOST_EFFORT:
        before, effort = len(waiting), 2 * effort
        waiting = _split(mesh, scenery, splits, waiting, tally, behind, seed + effort, effort)
        effort = 1 if len(waiting) < before else effort
        yield
    yield from _sweep(mesh, scenery, tally, behind)


def arrive(mesh: Growing, scenery: Scenery, tally: Tally, target: Floats) -> Iterator[None]:
    """Moves vertices on to other targets (n, 3) [m], as far as there is room, and yields after each sweep over them."""
    mesh.target[:] = target
    yield from _sweep(mesh, scenery, tally, (mesh.x != mesh.target).any(axis=1) & mesh.there)


def _sweep(mesh: Growing, scenery: Scenery, tally: Tally, behind: Bools) -> Iterator[None]:
    for _ in range(SWEEPS):
        if not _move_on(mesh, scenery, behind):
            break
        yield
    tally.behind = int(behind.sum())


def _move_on(mesh: Growing, scenery: Scenery, behind: Bools) -> bool:
    """Vertices that are behind (n,) go on, and count no more when they arrive; whether any has moved."""
    some = np.flatnonzero(behind).astype(np.int32)
    return bool(len(some) and move_on(mesh, scenery, some, WIDE, behind))


def _split(
    mesh: Growing, scenery: Scenery, splits: Splits, batch: Longs, tally: Tally, behind: Bools, seed: int, effort: int
) -> Longs:
    """One pass over splits; returns those that are not made."""
    ends = np.empty(len(batch), np.int32)
    tight = Clearance(own=TIGHT_FIT.own / effort**2, room=TIGHT_FIT.room)
    split_batch(mesh, scenery, splits.record, batch, WIDE, tight, seed, effort, ends)
    tally.ends += np.bincount(ends, minlength=STUCK + 1)
    done = (ends > WAITS) & (ends < STUCK)
    short = batch[done & (ends != ARRIVED)]
    for of in (splits.record.kept, splits.record.new):
        behind[of[short]] = True
    _move_on(mesh, scenery, behind)
    return batch[~done]
