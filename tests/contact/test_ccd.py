"""The step filter on thousands of pairs: never through the offset, not shorter than ipctk's additive CCD."""

import ipctk
import numpy as np
import pytest

from plisse.contact.candidates import Candidates, CollisionSurface, build
from plisse.contact.ccd import max_step
from plisse.kernels.distance import edge_edge, point_triangle

KINDS = ["random", "parallel", "flat", "degenerate", "fast", "grazing", "sliding", "far away", "spinning"]


def make_motion(kind, rng):
    """Positions and displacements of four vertices [m], each of shape (4, 3)."""
    x = rng.uniform(-1, 1, (4, 3))
    p = rng.uniform(-1, 1, (4, 3)) * rng.choice([0.1, 1.0, 3.0])
    if kind == "parallel":
        x[3] = x[2] + x[1] - x[0]
        p[:2], p[2:] = p[0], p[2]
    elif kind == "flat":
        x[:, 2] = 0
        p[:, 2] = 0
    elif kind == "degenerate":
        x[3], p[3] = x[2], p[2]
        if rng.uniform() < 0.5:
            x[1], p[1] = x[2], p[2]
    elif kind == "fast":
        p *= 1e3
    elif kind == "grazing":
        # one vertex passes an end of the other primitive at a little more than the offset
        x[0], p[0] = x[2] + [-1, 0.0, 0.0103], [2.0, 0, 0]
        x[1:, 2], p[1:] = x[2, 2], 0
    elif kind == "sliding":
        # a long way along the other primitive, close to it
        x = np.array([[-1.0, 0.1, 0.02], [-2.0, 0.3, 0.02], [3.0, -2, 0], [-3.0, 2, 0.0]])
        x[1, 2] = rng.choice([0.02, 0.0])
        p = np.array([[1.5, 0, 0.0], [1.5, 0, 0], [0, 0, 0], [0, 0, 0]])
    elif kind == "far away":
        p += 1e3 * rng.normal(size=3)
    elif kind == "spinning":
        axis = rng.normal(size=3)
        p = np.cross(axis, x) * rng.choice([0.3, 3.0]) + 0.1 * p
    return x, p


def make_candidates(kind, x, p, offset):
    """A list of one pair."""
    quad = np.array([[0, 1, 2, 3]], np.int32)
    none = np.empty((0, 4), np.int32)
    one, zero = np.array([offset]), np.empty(0)
    if kind == "pt":
        return Candidates(quad, none, one, one, zero, zero, x, p, 0.0)
    return Candidates(none, quad, zero, zero, one, one, x, p, 0.0)


def measure(pair, x):
    return (point_triangle if pair == "pt" else edge_edge)(*x.ravel())[0] ** 0.5


def ask_ipctk(pair, x, p, offset):
    ccd = ipctk.AdditiveCCD()
    call = ccd.point_triangle_ccd if pair == "pt" else ccd.edge_edge_ccd
    hit, time = call(*x, *(x + p), offset, 1.0)
    return time if hit else 1.0


@pytest.mark.parametrize("pair", ["pt", "ee"])
@pytest.mark.parametrize("kind", KINDS)
def test_step_is_safe_and_not_needlessly_short(kind, pair):
    rng = np.random.default_rng(KINDS.index(kind))
    ratios = []
    for _ in range(200):
        x, p = make_motion(kind, rng)
        offset = rng.choice([0.0, 0.01])
        start = measure(pair, x)
        if start <= offset:
            continue
        alpha, limiting = max_step(make_candidates(pair, x, p, offset), x, p)
        # flat quadruples may touch at the start, up to rounding
        if start <= offset + 1e-12:
            assert alpha == 0
            continue
        assert 0 < alpha <= 1
        assert limiting is None if alpha == 1 else limiting.tolist() == [0, 1, 2, 3]
        # coordinates of a fast or far pair are rounded on the way: allow for that, not for more
        rounding = 1e-15 * np.abs(p).max()
        closest = min(measure(pair, x + a * p) for a in np.linspace(0, alpha, 100))
        assert closest > offset
        assert closest - offset >= 0.1 * (start - offset) - rounding
        # ipctk's distance of a point and a triangle without area is not a number
        if (kind, pair) != ("degenerate", "pt"):
            ratios.append(alpha / ask_ipctk(pair, x, p, offset))
    # the rest are pairs that pass each other at the very gap to keep
    assert np.mean(np.array(ratios or [1.0]) >= 0.9) >= 0.99


@pytest.mark.parametrize("pair", ["pt", "ee"])
def test_approach_stops_at_the_kept_gap(pair):
    """Head on at unit speed from distance 1: d(α) = 1 − α = offset + keep (1 − offset)."""
    x = np.array([[0.2, 0.2, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    if pair == "ee":
        x = np.array([[-1.0, 0, 1], [1, 0, 1], [0, -1, 0], [0, 1, 0]])
    p = np.zeros((4, 3))
    p[x[:, 2] == 1, 2] = -1
    for keep in (0.01, 0.1, 0.5):
        alpha, _ = max_step(make_candidates(pair, x, p, 0.2), x, p, keep=keep)
        assert 1 - alpha == pytest.approx(0.2 + keep * 0.8, rel=0.01)


def test_no_motion_and_common_motion_are_free():
    x, _ = make_motion("random", np.random.default_rng(0))
    for p in (np.zeros((4, 3)), np.full((4, 3), 7.0)):
        for pair in ("pt", "ee"):
            assert max_step(make_candidates(pair, x, p, 0.0), x, p) == (1.0, None)


def test_pair_at_its_offset_does_not_move():
    x = np.array([[0.2, 0.2, 0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    p = np.zeros((4, 3))
    p[0, 2] = -1
    alpha, limiting = max_step(make_candidates("pt", x, p, 0.1), x, p)
    assert alpha == 0 and limiting is not None


def test_no_candidates_no_limit():
    none, zero, x = np.empty((0, 4), np.int32), np.empty(0), np.zeros((1, 3))
    assert max_step(Candidates(none, none, zero, zero, zero, zero, x, x, 0.0), x, x) == (1.0, None)


def test_many_pairs_give_the_smallest_step():
    """Points above a floor of triangles, several chunks of them: the fastest one limits all."""
    count = 6000
    rng = np.random.default_rng(1)
    cell = np.array([[0.2, 0.2, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    x = (cell + 3.0 * np.arange(count)[:, None, None] * [1, 0, 0]).reshape(-1, 3)
    speed = rng.uniform(0, 2, count)
    p = np.zeros_like(x)
    p[::4, 2] = -speed
    quads = np.arange(4 * count, dtype=np.int32).reshape(-1, 4)
    none, zero, offset = np.empty((0, 4), np.int32), np.empty(0), np.full(count, 0.1)
    alpha, limiting = max_step(Candidates(quads, none, offset, offset, zero, zero, x, p, 0.0), x, p)
    assert limiting[0] // 4 == np.argmax(speed)
    assert alpha * speed.max() == pytest.approx(0.81, rel=0.01)


def test_sheets_pushed_into_each_other_stay_apart():
    """A random push of two crumpled sheets, filtered, is free of intersections by ipctk."""
    rng = np.random.default_rng(4)
    n = 8
    g = np.linspace(0, 1, n)
    sheet = np.array([[a, b, 0.0] for a in g for b in g])
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = (v.ravel() for v in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    triangles = np.concatenate([faces, faces + n * n]).astype(np.int32)
    edges = ipctk.edges(triangles)
    X = np.concatenate([sheet, sheet + np.array([0, 0, 0.1])])
    surface = CollisionSurface(
        edges=edges, triangles=triangles, points=np.arange(len(X)), body=np.repeat([0, 1], n * n),
        passive=np.zeros(len(X)), X=X, deformable=np.ones(len(X)), offset=0.01, dhat=0.02,
    )  # fmt: skip
    mesh = ipctk.CollisionMesh(X, edges, triangles)
    x = X
    for _ in range(20):
        p = 0.15 * rng.normal(size=x.shape) + np.repeat([[0, 0, 0.05], [0, 0, -0.05]], n * n, axis=0)
        candidates = build(surface, x, p, 0.0)
        alpha, _ = max_step(candidates, x, p)
        assert alpha > 0
        x = x + alpha * p
        assert not ipctk.has_intersections(mesh, x)
        for q, offset in zip(candidates.pt, candidates.pt_offset, strict=True):
            assert measure("pt", x[q]) > offset
        for q, offset in zip(candidates.ee, candidates.ee_offset, strict=True):
            assert measure("ee", x[q]) > offset
