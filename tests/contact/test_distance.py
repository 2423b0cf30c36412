"""Closest points against a slow oracle in extended precision and against ipctk."""

import ipctk
import numpy as np
import pytest

from plisse.kernels.distance import edge_edge, point_triangle

WIDE = np.longdouble


def segment_oracle(p, a, b):
    e = b - a
    length2 = e @ e
    t = WIDE(0) if length2 == 0 else min(max((p - a) @ e / length2, WIDE(0)), WIDE(1))
    r = p - a - t * e
    return r @ r


def triangle_oracle(p, a, b, c):
    """Best of the three sides and, where the foot of the perpendicular is inside, the plane."""
    found = [segment_oracle(p, a, b), segment_oracle(p, b, c), segment_oracle(p, c, a)]
    n = np.cross(b - a, c - a)
    if n @ n > 0:
        inside = [n @ np.cross(v - u, p - u) > 0 for u, v in ((a, b), (b, c), (c, a))]
        if all(inside):
            found.append((n @ (p - a)) ** 2 / (n @ n))
    return min(found)


def edges_oracle(a, b, c, d):
    """Best of the four ends and, where the lines' common perpendicular meets both edges, the lines."""
    found = [
        segment_oracle(a, c, d),
        segment_oracle(b, c, d),
        segment_oracle(c, a, b),
        segment_oracle(d, a, b),
    ]
    u, v, r = b - a, d - c, a - c
    n = np.cross(u, v)
    det = n @ n
    if det > 0:
        s = -np.cross(r, v) @ n / det
        t = -np.cross(r, u) @ n / det
        if 0 < s < 1 and 0 < t < 1:
            found.append((n @ r) ** 2 / det)
    return min(found)


def make_quadruples(kind, count, seed):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, (count, 4, 3))
    if kind == "flat":
        q[:, :, 2] = 0
    elif kind == "near":
        q[:, 0] = q[:, 1:].mean(axis=1) + 1e-3 * q[:, 0]
    elif kind == "parallel":
        q[:, 3] = q[:, 2] + (q[:, 1] - q[:, 0]) * rng.uniform(-2, 2, (count, 1))
    elif kind == "nearly parallel":
        tilt = 10.0 ** rng.uniform(-9, -3, (count, 1))
        q[:, 3] = q[:, 2] + q[:, 1] - q[:, 0] + tilt * rng.normal(size=(count, 3))
    elif kind == "point edge":
        q[::2, 1] = q[::2, 0]
        q[1::2, 3] = q[1::2, 2]
    elif kind == "points":
        q[:, 1] = q[:, 0]
        q[:, 3] = q[:, 2]
    elif kind == "sliver":
        w = rng.uniform(0, 1, (count, 1))
        q[:, 3] = w * q[:, 1] + (1 - w) * q[:, 2] + 10.0 ** rng.uniform(-17, -4, (count, 1)) * q[:, 3]
    elif kind == "grid":
        q = rng.integers(-2, 3, (count, 4, 3)).astype(float)
    return q


def near(exact):
    """Agreement to 1e-12, or to the rounding of coordinates of size 1 where the distance is tiny."""
    return pytest.approx(exact, rel=1e-12, abs=4e-15 * exact**0.5 + 1e-28)


KINDS = ["random", "flat", "near", "parallel", "nearly parallel", "point edge", "points", "sliver", "grid"]


@pytest.mark.parametrize("kind", KINDS)
def test_point_triangle_is_exact(kind):
    for q in make_quadruples(kind, 400, 1):
        square, *weights = point_triangle(*q.ravel())
        exact = float(triangle_oracle(*q.astype(WIDE)))
        assert square == near(exact)
        assert min(weights) >= 0 and sum(weights) == pytest.approx(1, abs=1e-15)
        r = q[0] - weights @ q[1:]
        assert r @ r == near(exact)


@pytest.mark.parametrize("kind", KINDS)
def test_edge_edge_is_exact(kind):
    for q in make_quadruples(kind, 400, 2):
        square, s, t = edge_edge(*q.ravel())
        exact = float(edges_oracle(*q.astype(WIDE)))
        assert square == near(exact)
        assert 0 <= s <= 1 and 0 <= t <= 1
        r = q[0] + s * (q[1] - q[0]) - q[2] - t * (q[3] - q[2])
        assert r @ r == near(exact)


@pytest.mark.parametrize("kind", ["random", "near", "parallel"])
def test_agrees_with_ipctk(kind):
    for q in make_quadruples(kind, 200, 3):
        assert point_triangle(*q.ravel())[0] == pytest.approx(ipctk.point_triangle_distance(*q), rel=1e-10)
        assert edge_edge(*q.ravel())[0] == pytest.approx(ipctk.edge_edge_distance(*q), rel=1e-10)


def test_weights_on_the_boundary_are_exact():
    a, b, c = np.array([0.0, 0, 0]), np.array([1.1, 0, 0]), np.array([0, 0.9, 0.0])
    cases = [
        ((-0.3, -0.2, 0.5), (1, 0, 0)),
        ((1.7, -0.1, 0.5), (0, 1, 0)),
        ((-0.1, 1.3, 0.5), (0, 0, 1)),
        ((0.37, -0.2, 0.5), (None, None, 0)),
        ((-0.2, 0.37, 0.5), (None, 0, None)),
        ((0.9, 0.8, 0.5), (0, None, None)),
        ((0.3, 0.3, 0.5), (None, None, None)),
    ]
    for p, expected in cases:
        weights = point_triangle(*p, *a, *b, *c)[1:]
        for weight, value in zip(weights, expected, strict=True):
            assert (0 < weight < 1) if value is None else weight == value
    # one end above the other edge, then both ends
    assert edge_edge(0, 0, 1, 0, 0, 2, -1, 0, 0, 1, 0, 0)[1:] == (0.0, 0.5)
    assert edge_edge(0, 0, 0, 1, 0, 0, 2, 1, 0, 3, 1, 0)[1:] == (1.0, 0.0)
