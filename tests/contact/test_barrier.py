"""The contact barrier against ipctk: value, gradient and exact Hessian, pair by pair the same numbers."""

import ipctk
import numpy as np
import pytest
import scipy.sparse

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface
from plisse.core.mesh import Mesh
from plisse.shapes import catalogue as shapes

OFFSET, DHAT, KAPPA = 3e-4, 8e-3, 37.0
# cells of 0.1 m: within one body every rest distance is above 4 (OFFSET + DHAT), so no reach is limited
SIDE, CELLS = 0.6, 6


def join(meshes):
    """One mesh of several bodies, and the body of each vertex; rest shapes side by side."""
    firsts = np.cumsum([0, *(len(mesh.X) for mesh in meshes)])
    X = np.concatenate([mesh.X + np.array([2.0 * i, 0, 0]) for i, mesh in enumerate(meshes)])
    triangles = np.concatenate([mesh.triangles + first for mesh, first in zip(meshes, firsts[:-1], strict=True)])
    return Mesh(X, triangles), np.repeat(np.arange(len(meshes)), np.diff(firsts))


def make_surface(mesh, body):
    every = np.ones(len(mesh.X), bool)
    return CollisionSurface(
        edges=mesh.edges, triangles=mesh.triangles, points=np.arange(len(mesh.X)), body=body, passive=~every,
        X=mesh.X, deformable=every, offset=OFFSET, dhat=DHAT,
    )  # fmt: skip


def drop_crossing(mesh, body, x):
    """Without the triangles of all pairs that are closer than the offset, so that the state is admissible."""
    while True:
        barrier = Barrier(make_surface(mesh, body), kappa=KAPPA, margin=0.0)
        touching = barrier._touch(x)
        bad = np.unique(touching.near.pairs[touching.D < (1.02 * OFFSET) ** 2, 0])
        if len(bad) == 0:
            return mesh, body, x
        kept = mesh.triangles[~np.isin(mesh.triangles, bad).any(axis=1)]
        used, compact = np.unique(kept, return_inverse=True)
        mesh, body, x = Mesh(mesh.X[used], compact.reshape(-1, 3).astype(np.int32)), body[used], x[used]


def layers(rng):
    """Four folded sheets a few tenths of dhat apart on one bumpy height field: nearly parallel edges."""
    grid = shapes.grid(SIDE, SIDE, resolution=CELLS, diagonals="alternating")
    mesh, body = join([grid] * 4)
    u = np.tile(grid.X[:, :2], (4, 1))
    folded = u[:, 0] > 0.12
    flat = np.where(folded, 0.24 - u[:, 0], u[:, 0])
    gap = OFFSET + 0.35 * DHAT
    height = gap * (2.0 * body + folded) + 0.04 * np.sin(9 * flat) * np.cos(7 * u[:, 1])
    x = np.column_stack([flat, u[:, 1], height])
    x += rng.uniform(-1, 1, x.shape) * [0.01, 0.01, 0.08 * DHAT] * rng.choice([0.02, 1.0], (len(x), 1))
    return drop_crossing(mesh, body, x)


def heap(rng):
    """Five sheets crumpled at random into one heap."""
    grid = shapes.grid(SIDE, SIDE, resolution=CELLS, diagonals="jittered", seed=int(rng.integers(100)))
    mesh, body = join([grid] * 5)
    x = np.tile(0.5 * grid.X, (5, 1)) + rng.normal(0, 0.06, (len(mesh.X), 3))
    return drop_crossing(mesh, body, x)


def soup(rng):
    """Single triangles, each a body, in all directions; some are nearly copies of others, shifted."""
    count = 160
    corners = rng.uniform(-0.22, 0.22, (count, 1, 3)) + rng.normal(0, 0.05, (count, 3, 3))
    copies = corners[:60] + rng.normal(0, 4e-3, (60, 1, 3)) + rng.normal(0, 2e-4, (60, 3, 3))
    x = np.concatenate([corners, copies]).reshape(-1, 3)
    triangles = np.arange(len(x), dtype=np.int32).reshape(-1, 3)
    body = np.repeat(np.arange(len(triangles)), 3)
    # areas and edge lengths are those of the rest shape: let it differ from the state
    X = 1.2 * x + 5.0 * np.repeat(np.arange(len(triangles)), 3)[:, None]
    return drop_crossing(Mesh(X, triangles), body, x)


STATES = {"layers": layers, "heap": heap, "soup": soup}


class Oracle:
    """ipctk's barrier with the same area weights.

    Its normalised barrier is ours: −(y − 1)² ln y with y = (d² − ξ²)/((ξ + d̂)² − ξ²), without a factor.
    """

    def __init__(self, mesh, x):
        self.x = np.asfortranarray(x)
        self.mesh = ipctk.CollisionMesh(
            np.asfortranarray(mesh.X), np.asfortranarray(mesh.edges), np.asfortranarray(mesh.triangles)
        )
        self.collisions = ipctk.NormalCollisions()
        self.collisions.use_area_weighting = True
        self.collisions.collision_set_type = ipctk.NormalCollisions.CollisionSetType.IPC
        self.collisions.build(self.mesh, self.x, DHAT, OFFSET, broad_phase=ipctk.LBVH())
        self.potential = ipctk.BarrierPotential(ipctk.NormalizedClampedLogBarrier(), DHAT, KAPPA)

    def value(self):
        return self.potential(self.collisions, self.mesh, self.x)

    def gradient(self):
        return self.potential.gradient(self.collisions, self.mesh, self.x).reshape(-1, 3)

    def hessian(self, projection=ipctk.PSDProjectionMethod.NONE):
        return self.potential.hessian(self.collisions, self.mesh, self.x, projection)


def assemble(hessian, n):
    """Sparse matrix (3n, 3n) of stencil blocks."""
    total = scipy.sparse.csc_matrix((3 * n, 3 * n))
    for part in hessian.blocks:
        local = part.dense()
        at = (3 * part.nodes[:, :, None] + np.arange(3)).reshape(len(local), -1)
        rows, columns = np.broadcast_arrays(at[:, :, None], at[:, None, :])
        total += scipy.sparse.csc_matrix((local.ravel(), (rows.ravel(), columns.ravel())), (3 * n, 3 * n))
    return total


def count_mollified(barrier, x):
    touching = barrier._touch(x)
    near, active = touching.near, touching.active
    pairs = near.pairs[active[near.threshold[active] > 0]]
    threshold = near.threshold[active[near.threshold[active] > 0]]
    u, v = x[pairs[:, 1]] - x[pairs[:, 0]], x[pairs[:, 3]] - x[pairs[:, 2]]
    return int(((np.cross(u, v) ** 2).sum(axis=1) < threshold).sum())


def relative(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


@pytest.fixture(params=[(name, seed) for name in STATES for seed in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def state(request):
    name, seed = request.param
    mesh, body, x = STATES[name](np.random.default_rng(seed))
    return name, mesh, Barrier(make_surface(mesh, body), kappa=KAPPA, margin=1e-3), x


def test_value_and_gradient_are_those_of_ipctk(state):
    name, mesh, barrier, x = state
    assert np.ptp(barrier._touch(x).near.dhat) == 0, "no pair's reach may be limited in this comparison"
    assert barrier.count(x) > 100
    assert barrier.closest(x)[0] > 1
    if name != "heap":
        assert count_mollified(barrier, x) > 10
    oracle = Oracle(mesh, x)
    assert oracle.value() > 0
    assert abs(barrier.value(x) - oracle.value()) <= 1e-10 * oracle.value()
    assert relative(barrier.gradient(x), oracle.gradient()) <= 1e-10
    # vertex by vertex too: small forces are as right as large ones
    size = np.linalg.norm(oracle.gradient(), axis=1)
    error = np.linalg.norm(barrier.gradient(x) - oracle.gradient(), axis=1)
    assert (error <= 1e-8 * size + 1e-13 * size.max()).all()


def test_exact_hessian_is_that_of_ipctk(state):
    _, mesh, barrier, x = state
    ours = assemble(barrier.hessian(x, psd=False), len(x))
    theirs = Oracle(mesh, x).hessian()
    assert abs(ours - theirs).max() <= 1e-8 * abs(theirs).max()


def test_where_few_vertices_move_contact_is_the_same_for_them(state):
    _, _, barrier, x = state
    rng = np.random.default_rng(0)
    moving = rng.uniform(size=len(x)) < 0.1
    around = barrier.around(moving, 5.0)
    p = np.where(moving[:, None], 0.02 * rng.normal(size=x.shape), 0.0)
    assert around.max_step(x, p) == barrier.max_step(x, p) < 1.0
    whole = barrier.gradient(x)[moving]
    assert around.gradient(x)[moving] == pytest.approx(5.0 * whole, rel=1e-12, abs=1e-12 * np.abs(whole).max())
    step = 0.9 * barrier.max_step(x, p) * p
    rise = barrier.value(x + step) - barrier.value(x)
    assert around.value(x + step) - around.value(x) == pytest.approx(5.0 * rise, rel=1e-6)
