"""The parts of a collapse against slow, obvious counterparts."""

import numpy as np
import pytest

from plisse.kernels.flatten import find_stretch, flatten, is_injective
from plisse.kernels.heap import Heap, heapify, set_price, take_out
from plisse.kernels.patch import KEPT, MERGED, REMOVED, RING, Patch, make_patch
from plisse.kernels.quadrics import add_line, add_plane, evaluate, find_minimum, find_minimum_between


def test_the_heap_always_gives_the_cheapest() -> None:
    rng = np.random.default_rng(0)
    k = 200
    heap = Heap(np.zeros(k, np.int32), np.full(k, -1, np.int32), np.zeros(k), np.zeros(1, np.int32))
    prices = {item: float(rng.integers(20)) for item in range(0, k, 2)}
    for at, (item, price) in enumerate(prices.items()):
        heap.items[at], heap.price[item] = item, price
    heap.size[0] = len(prices)
    heapify(heap)
    for _ in range(3000):
        item = int(rng.integers(k))
        if rng.random() < 0.6:
            prices[item] = float(rng.integers(20))
            set_price(heap, item, prices[item])
        else:
            prices.pop(item, None)
            take_out(heap, item)
        assert heap.size[0] == len(prices)
        if prices:
            assert heap.items[0] == min(prices, key=lambda v: (prices[v], v))


def test_quadrics_are_squared_distances() -> None:
    rng = np.random.default_rng(0)
    n, p, t, r, x = rng.standard_normal((5, 3))
    n, t = n / np.linalg.norm(n), t / np.linalg.norm(t)
    q = np.zeros(10)
    add_plane(q, n, p, 2.0, 0.1)
    add_line(q, t, r, 3.0)
    plane = 2.0 * ((n @ (x - p)) ** 2 + 0.01 * (x - p) @ (x - p))
    line = 3.0 * ((x - r) @ (x - r) - (t @ (x - r)) ** 2)
    assert evaluate(q, *x) == pytest.approx(plane + line)
    best = np.array(find_minimum(q))
    for step in 1e-3 * rng.standard_normal((20, 3)):
        assert evaluate(q, *(best + step)) > evaluate(q, *best)
    d = rng.standard_normal(3)
    parts = np.linspace(0.0, 1.0, 2001)
    costs = [evaluate(q, *(x + part * d)) for part in parts]
    assert find_minimum_between(q, x, d) == pytest.approx(parts[np.argmin(costs)], abs=1e-3)


def make_disc(bump: float) -> Patch:
    """Two ends of an edge in a ring of eight, before and after they merge."""
    patch = make_patch(0)
    angle = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
    patch.P[RING : RING + 8] = np.column_stack((1.6 * np.cos(angle), np.sin(angle), bump * np.sin(3.0 * angle)))
    patch.P[KEPT], patch.P[REMOVED], patch.P[MERGED] = (-0.5, 0.1, bump), (0.6, 0.0, bump), (0.1, 0.0, 1.2 * bump)
    left, right = RING + 2, RING + 6
    before = [(KEPT, RING + k, RING + k + 1) for k in range(2, 6)]
    before += [(REMOVED, RING + k, RING + (k + 1) % 8) for k in (6, 7, 0, 1)]
    before += [(KEPT, REMOVED, left), (REMOVED, KEPT, right)]
    after = [(MERGED, RING + k, RING + (k + 1) % 8) for k in range(8)]
    patch.local[:18] = np.array(before + after)
    patch.counts[:] = RING + 8, 10, 18, 1
    return patch


def conformal_rows(patch: Patch) -> np.ndarray:
    """Rows of the complex least-squares problem, one a triangle."""
    rows = np.zeros((patch.counts[2], patch.counts[0]), complex)
    for row, triangle in zip(rows, patch.local, strict=False):
        a, b, c = patch.P[triangle]
        x = (b - a) / np.linalg.norm(b - a)
        normal = np.cross(b - a, c - a)
        y = np.cross(normal / np.linalg.norm(normal), x)
        z = np.array([(v - a) @ x + 1j * ((v - a) @ y) for v in (a, b, c)])
        row[triangle] = (np.roll(z, -2) - np.roll(z, -1)) / np.sqrt(np.linalg.norm(normal))
    return rows


@pytest.mark.parametrize("bump", [0.0, 0.2, 0.5])
def test_flattening_is_the_least_squares_conformal_map(bump: float) -> None:
    patch = make_disc(bump)
    assert flatten(patch, True, -1.0, -1, -1)
    assert is_injective(patch)
    rows = conformal_rows(patch)
    ends, others = [KEPT, REMOVED], list(range(MERGED, RING + 8))
    given = patch.uv[ends] @ (1.0, 1j)
    expected = np.linalg.lstsq(rows[:, others], -rows[:, ends] @ given, rcond=None)[0]
    assert np.allclose(patch.uv[others] @ (1.0, 1j), expected, atol=1e-12)
    assert find_stretch(patch) == pytest.approx(1.0, abs=1e-12) if bump == 0.0 else find_stretch(patch) > 1.01


def test_a_curve_is_straight_in_the_plane() -> None:
    patch = make_disc(0.3)
    assert flatten(patch, True, 0.4, RING, RING + 4)
    assert is_injective(patch)
    assert not patch.uv[[KEPT, REMOVED, MERGED, RING, RING + 4], 1].any()
    assert patch.uv[MERGED, 0] == pytest.approx(0.4 * patch.uv[REMOVED, 0])
    assert patch.uv[RING + 4, 0] < 0.0 < patch.uv[REMOVED, 0] < patch.uv[RING, 0]


def test_an_inverted_patch_is_found() -> None:
    patch = make_disc(0.0)
    assert flatten(patch, True, -1.0, -1, -1)
    patch.uv[MERGED] = 3.0, 0.0
    assert not is_injective(patch)
