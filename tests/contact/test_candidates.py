"""The candidate lists against brute force over all pairs."""

from dataclasses import replace
from itertools import combinations

import numba
import numpy as np
import pytest

from plisse.contact.candidates import CollisionSurface, build
from plisse.kernels.distance import edge_edge, point_triangle


def make_grid(n):
    g = np.linspace(0, 1, n)
    X = np.array([[a, b, 0.0] for a in g for b in g])
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = (v.ravel() for v in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    return X, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def make_tetrahedron():
    X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return X, np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])


def find_edges(triangles):
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0)


def make_surface(rng, *, offset=0.02, dhat=0.05, loose=False):
    """Two crumpled sheets and a passive tetrahedron in a heap; optionally a loose edge and a loose point."""
    parts = [make_grid(5), make_grid(4), make_tetrahedron()]
    X, triangles, body, x = [], [], [], []
    first = 0
    for i, (shape, faces) in enumerate(parts):
        X.append(shape + 10 * i)
        triangles.append(faces + first)
        body += [(7, 3, 9)[i]] * len(shape)
        scale = 0.3 if i == 2 else 0.8
        x.append(scale * shape - shape.mean(axis=0) * scale + (0.15 * rng.normal(size=shape.shape) if i < 2 else 0))
        first += len(shape)
    edges = find_edges(np.concatenate(triangles))
    if loose:
        extra = rng.uniform(-0.4, 0.4, (3, 3))
        X.append(extra)
        x.append(extra)
        body += [11, 11, 11]
        edges = np.concatenate([edges, [[first, first + 1]]])
    body = np.array(body)
    x = np.concatenate(x)
    passive = body == 9
    passive[:2] = True
    surface = CollisionSurface(
        edges=edges, triangles=np.concatenate(triangles), points=np.arange(len(x)), body=body,
        passive=passive, X=np.concatenate(X), deformable=body != 9, offset=offset, dhat=dhat,
    )  # fmt: skip
    return surface, x


def list_all(surface):
    """All pairs that share no vertex and have a free one: (kind, vertices, offset, dhat)."""
    quads = [("pt", (int(a), *map(int, t))) for a in surface.points for t in surface.triangles]
    quads += [("ee", (*map(int, e), *map(int, f))) for e, f in combinations(surface.edges, 2)]
    found = []
    for kind, q in quads:
        if len(set(q)) == 4 and not surface.passive[list(q)].all():
            offset, dhat = surface.offset, surface.dhat
            if surface.body[q[0]] == surface.body[q[3]] and surface.deformable[q[0]]:
                quarter = measure(kind, surface.X, q) / 4
                offset, dhat = min(offset, quarter), min(dhat, quarter)
            found.append((kind, q, offset, dhat))
    return found


def measure(kind, x, q):
    return (point_triangle if kind == "pt" else edge_edge)(*x[list(q)].ravel())[0] ** 0.5


def name_pair(kind, q):
    """One name for a pair, whichever edge comes first."""
    q = tuple(map(int, q))
    return (
        (kind, q[0], *sorted(q[1:])) if kind == "pt" else (kind, *sorted([tuple(sorted(q[:2])), tuple(sorted(q[2:]))]))
    )


def read_candidates(candidates):
    found = {}
    for kind in ("pt", "ee"):
        columns = (getattr(candidates, kind + end) for end in ("", "_offset", "_dhat"))
        for q, offset, dhat in zip(*columns, strict=True):
            name = name_pair(kind, q)
            assert name not in found
            found[name] = (offset, dhat)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_pair_is_missed(seed):
    rng = np.random.default_rng(seed)
    surface, x = make_surface(rng, loose=seed % 2 == 1)
    # large common motion of each body beside small random motion
    sway = rng.normal(size=(12, 3)) * [0.0, 0.3, 3.0][seed % 3]
    p = sway[surface.body] + 0.05 * rng.normal(size=x.shape)
    margin = 0.03
    candidates = build(surface, x, p, margin)
    found = read_candidates(candidates)
    everything = list_all(surface)
    for _ in range(5):
        away = rng.normal(size=x.shape)
        y = x + rng.uniform() * p + margin * away / np.linalg.norm(away, axis=1, keepdims=True)
        for kind, q, offset, dhat in everything:
            if measure(kind, y, q) < offset + dhat:
                assert found[name_pair(kind, q)] == pytest.approx((offset, dhat), rel=1e-12)


def test_list_is_tight():
    rng = np.random.default_rng(5)
    surface, x = make_surface(rng)
    p = 0.05 * rng.normal(size=x.shape) + [0, 0, 100.0]
    candidates = build(surface, x, p, 0.01)
    allowed = set()
    for kind, q, offset, dhat in list_all(surface):
        own = np.linalg.norm(p[list(q)] - p[list(q)].mean(axis=0), axis=1)
        split = 1 if kind == "pt" else 2
        near = measure(kind, x, q) - own[:split].max() - own[split:].max() - 2 * candidates.margin
        if near <= offset + dhat:
            allowed.add(name_pair(kind, q))
    # the boxes, in the frame of each body, may rule out a few more
    found = set(read_candidates(candidates))
    assert found <= allowed and len(found) > 0.7 * len(allowed)


def test_same_input_same_list():
    surface, x = make_surface(np.random.default_rng(0))
    p = np.random.default_rng(1).normal(size=x.shape) * 0.1
    lists = []
    threads = numba.get_num_threads()
    for count in (1, threads, threads):
        numba.set_num_threads(count)
        lists.append(build(surface, x, p, 0.1))
    for other in lists[1:]:
        assert np.array_equal(lists[0].pt, other.pt) and np.array_equal(lists[0].ee, other.ee)


def test_room_grows_with_the_list():
    surface, x = make_surface(np.random.default_rng(0))
    build(surface, x, 0 * x, 0.0)
    flat = build(surface, 0.01 * x, 0 * x, 0.1)
    assert set(read_candidates(flat)) == {name_pair(kind, q) for kind, q, _, _ in list_all(surface)}


def test_two_passive_bodies_make_no_pairs():
    X, faces = make_tetrahedron()
    n = len(X)
    triangles = np.concatenate([faces, faces + n])
    surface = CollisionSurface(
        edges=find_edges(triangles), triangles=triangles, points=np.arange(2 * n), body=np.repeat([0, 1], n),
        passive=np.ones(2 * n), X=np.concatenate([X, X]), deformable=np.zeros(2 * n), offset=0.1, dhat=0.1,
    )  # fmt: skip
    candidates = build(surface, surface.X, 0 * surface.X, 1.0)
    assert len(candidates.pt) == len(candidates.ee) == 0


def test_nothing_to_touch():
    x = np.zeros((2, 3))
    none = np.empty(0)
    surface = CollisionSurface(
        edges=none.reshape(0, 2), triangles=none.reshape(0, 3), points=none, body=np.zeros(2),
        passive=np.zeros(2), X=x, deformable=np.ones(2), offset=0.1, dhat=0.1,
    )  # fmt: skip
    candidates = build(surface, x, x, 0.1)
    assert len(candidates.pt) == len(candidates.ee) == 0


def test_covers_states_near_the_path():
    rng = np.random.default_rng(2)
    surface, x = make_surface(rng)
    p = rng.normal(size=x.shape)
    p[3] = 0
    candidates = build(surface, x, p, 0.1)
    away = rng.normal(size=x.shape)
    away *= 0.099 / np.linalg.norm(away, axis=1, keepdims=True)
    assert candidates.covers(x, p)
    assert candidates.covers(x + 0.3 * p, 0.7 * p)
    assert candidates.covers(x + p + away, -p - 2 * away)
    assert not candidates.covers(x + 1.1 * away, 0 * p)
    assert not candidates.covers(x, 1.2 * p)
    # each vertex on its own path, but not at one common time
    half = np.where(np.arange(len(x)) % 2 == 0, 1.0, 0.0)[:, None]
    assert not candidates.covers(x + half * p, 0 * p)
    # without a margin the reference motion itself is covered
    assert build(surface, x, p, 0.0).covers(x, p)


def test_common_motion_costs_nothing():
    surface, x = make_surface(np.random.default_rng(3))
    still = build(surface, x, 0 * x, 0.01)
    falling = build(surface, x, 0 * x + [0, 0, -50.0], 0.01)
    assert len(falling.pt) == len(still.pt) and len(falling.ee) == len(still.ee)


@pytest.mark.parametrize("seed", range(3))
def test_where_few_vertices_move_their_pairs_are_all_that_is_found(seed):
    rng = np.random.default_rng(seed)
    surface, x = make_surface(rng, loose=True)
    moving = rng.uniform(size=len(x)) < 0.15
    p = np.where(moving[:, None], 0.1 * rng.normal(size=x.shape), 0.0)
    whole, around = build(surface, x, p, 0.03), build(surface.around(moving), x, p, 0.03)
    free = moving & ~surface.passive
    wanted = {name: rule for name, rule in read_candidates(whole).items() if free[list(_vertices(name))].any()}
    assert read_candidates(around) == wanted and 0 < len(wanted) < len(whole.pt) + len(whole.ee)


def test_a_changed_surface_may_keep_the_order_of_its_trees():
    rng = np.random.default_rng(4)
    surface, x = make_surface(rng, loose=True)
    p = 0.1 * rng.normal(size=x.shape)
    moved = replace(surface, X=surface.X + 3.0 * (surface.body == 9)[:, None], offset=0.03)
    alike = replace(moved).like(surface)
    assert alike.patches.forest is surface.patches.forest and alike.X is moved.X
    expected, found = (read_candidates(build(each, x, p, 0.01)) for each in (moved, alike))
    assert len(expected) > 100 and found == expected
    other = replace(moved, passive=np.zeros(len(x), bool)).like(surface)
    assert other.patches.forest is not surface.patches.forest


def _vertices(name):
    """Of a pair by its name."""
    return name[1:] if name[0] == "pt" else (*name[1], *name[2])
