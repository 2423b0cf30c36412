"""Prolongation of shells: what holds for every map, whatever its base is."""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.hierarchy.riding import PAIRS, Pair

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh, check_manifold
from plisse.hierarchy.maps import LevelMap, identity
from plisse.hierarchy.shell_map import ShellMap
from plisse.hierarchy.together import Together, put_together
from plisse.kernels.threads import use_threads
from plisse.progressive.metrics import Projection

MAPS = {
    "printed": {"phong": 0.0},
    "half": {},
    "printed, frozen": {"phong": 0.0, "frozen": True},
    "frozen": {"frozen": True},
}
TURN, SHIFT = Rotation.from_rotvec([0.4, -1.1, 2.0]).as_matrix(), np.array([3.0, -2.0, 1.0])

pair_of = cache(lambda name: PAIRS[name]())


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return pair_of(request.param)


@pytest.fixture(params=MAPS)
def P(request: pytest.FixtureRequest, pair: Pair) -> ShellMap:
    return pair.map(**MAPS[request.param])


def deform(X: Floats) -> Floats:
    return X + 0.06 * np.sin(5.0 * X[:, (1, 2, 0)]) + 0.04 * X[:, (2, 0, 1)] ** 2


def find_normals(mesh: Mesh, x: Floats) -> Floats:
    """Of vertices: sums of e₁×e₂/(‖ē₁‖²‖ē₂‖²) over the corners there, made units."""
    out = np.zeros_like(x)
    for k in range(3):
        i, j, l = (mesh.triangles[:, (k + step) % 3] for step in range(3))
        sides = np.square(mesh.X[j] - mesh.X[i]).sum(axis=1) * np.square(mesh.X[l] - mesh.X[i]).sum(axis=1)
        np.add.at(out, i, np.cross(x[j] - x[i], x[l] - x[i]) / sides[:, None])
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))


def move(X: Floats) -> Floats:
    return X @ TURN.T + SHIFT


def test_the_pairs_are_what_they_should_be(pair: Pair) -> None:
    check_manifold(pair.coarse, "coarse")
    check_manifold(pair.fine, "fine")
    assert pair.weights.min() >= 0.0 and pair.weights.sum(axis=1) == pytest.approx(1.0, abs=1e-14)


def test_rest_goes_to_rest(pair: Pair, P: ShellMap) -> None:
    assert np.abs(P(pair.coarse.X) - pair.fine.X).max() < 1e-12


def test_it_commutes_with_rigid_motions(pair: Pair, P: ShellMap) -> None:
    assert np.abs(P(move(pair.coarse.X)) - move(pair.fine.X)).max() < 1e-12
    x = deform(pair.coarse.X)
    assert np.abs(P(move(x)) - move(P(x))).max() < 1e-12


def test_the_two_derivatives_are_transposes(pair: Pair, P: ShellMap) -> None:
    x, rng = deform(pair.coarse.X), np.random.default_rng(1)
    d, g = rng.standard_normal(x.shape), rng.standard_normal(pair.fine.X.shape)
    assert (P.push_forward(x, d) * g).sum() == pytest.approx((d * P.pull_back(x, g)).sum(), rel=1e-10)


@pytest.mark.parametrize("phong", [0.0, 0.5, 1.0])
def test_the_derivative_is_that_of_the_map(pair: Pair, phong: float) -> None:
    P, x, h = pair.map(phong=phong), deform(pair.coarse.X), 1e-6
    d = np.random.default_rng(2).standard_normal(x.shape)
    differences = (P(x + h * d) - P(x - h * d)) / (2.0 * h)
    assert np.abs(P.push_forward(x, d) - differences).max() < 1e-6 * np.abs(differences).max()


def test_a_frozen_derivative_holds_frames_and_normals(pair: Pair) -> None:
    """The map with frames and normals of x is linear: U, and with α the planes through the moved corners."""
    x = deform(pair.coarse.X)
    d = np.random.default_rng(3).standard_normal(x.shape)
    U = pair.map().linear
    assert pair.map(phong=0.0, frozen=True).push_forward(x, d) == pytest.approx(U(d), abs=1e-12)
    corners = pair.coarse.triangles[pair.home]
    n = find_normals(pair.coarse, x)[corners]
    up = np.einsum("nki,nki->nk", n, U(d)[:, None] - d[corners])
    expected = U(d) - 0.5 * np.einsum("nk,nk,nki->ni", pair.weights, up, n)
    assert pair.map(frozen=True).push_forward(x, d) == pytest.approx(expected, abs=1e-12)


def test_forces_and_torques_are_kept(pair: Pair) -> None:
    """Of fine forces in balance the coarse ones are in balance too; frozen offsets lose the torque on curved shapes."""
    x = deform(pair.coarse.X)
    for phong in (0.0, 0.5):
        P = pair.map(phong=phong)
        y, g = P(x), np.random.default_rng(4).standard_normal(pair.fine.X.shape)
        on_coarse = P.pull_back(x, g)
        assert on_coarse.sum(axis=0) == pytest.approx(g.sum(axis=0), abs=1e-9)
        torque = np.cross(y, g).sum(axis=0)
        assert np.cross(x, on_coarse).sum(axis=0) == pytest.approx(torque, abs=1e-9)


def test_rows_are_convex_and_three_at_most(pair: Pair, P: ShellMap) -> None:
    U = P.linear.matrix
    assert U.data.min() > 0.0 and U.sum(axis=1) == pytest.approx(1.0) and np.diff(U.indptr).max() <= 3
    assert P.velocity(pair.coarse.X) == pytest.approx(U @ pair.coarse.X)


def test_restriction_undoes_rigid_motions_and_prolongation(pair: Pair) -> None:
    for phong in (0.0, 0.5):
        P = pair.map(phong=phong)
        assert np.abs(P.restrict(move(pair.fine.X)) - move(pair.coarse.X)).max() < 1e-12
        x = deform(pair.coarse.X)
        assert np.abs(P.restrict(P(x)) - x).max() < 1e-8


def test_restriction_of_any_deformation_is_near(pair: Pair) -> None:
    P, edge = pair.map(), pair.coarse.edge_lengths.mean()
    y = P.restrict(deform(pair.fine.X))
    assert np.abs(y - deform(pair.coarse.X)).max() < 0.2 * edge


def test_averages_stay_between_the_extremes(pair: Pair) -> None:
    P = pair.map()
    values = (pair.fine.X[:, 0] > pair.fine.X[:, 0].mean()).astype(float)
    mean = P.average(values)
    assert mean.min() >= 0.0 and mean.max() <= 1.0 and {0.0, 1.0} <= set(mean)
    assert P.average(np.ones(P.fine)) == pytest.approx(1.0)
    assert P.interpolate(np.ones(P.coarse)) == pytest.approx(1.0)


def test_pins_go_to_the_vertices_that_are_kept(pair: Pair) -> None:
    P = pair.map()
    chosen = np.sort(pair.kept[:5]).astype(np.int32)
    assert set(range(5)) <= set(P.carry_down(chosen).tolist())
    assert np.isin(pair.kept[P.carry_down(chosen)], chosen).all()


def test_projection_inverts_the_linear_part(pair: Pair) -> None:
    P = pair.map()
    x = deform(pair.coarse.X)
    assert Projection(P)(P.velocity(x)) == pytest.approx(x, abs=1e-9)


def test_bodies_side_by_side_are_each_mapped_by_their_own(pair: Pair) -> None:
    P, n = pair.map(), 7
    both: LevelMap = put_together([P, identity(n), P])
    assert isinstance(both, Together) and put_together([P]) is P
    x, y = deform(pair.coarse.X), np.arange(3.0 * n).reshape(n, 3)
    all_x = np.concatenate([x, y, move(x)])
    fine = both(all_x)
    assert np.array_equal(fine, np.concatenate([P(x), y, P(move(x))]))
    g = np.random.default_rng(5).standard_normal(fine.shape)
    d = np.random.default_rng(6).standard_normal(all_x.shape)
    pulled = both.pull_back(all_x, g)
    assert np.array_equal(pulled[: P.coarse], P.pull_back(x, np.ascontiguousarray(g[: P.fine])))
    assert (pulled * d).sum() == pytest.approx((g * both.push_forward(all_x, d)).sum(), rel=1e-10)
    assert both.velocity(d)[P.fine : P.fine + n] == pytest.approx(d[P.coarse : P.coarse + n])
    assert np.abs(both.restrict(fine) - all_x).max() < 1e-8
    assert both.interpolate(np.ones(both.coarse)) == pytest.approx(1.0) and len(both.average(fine[:, 0])) == both.coarse
    assert np.array_equal(both.kept[P.coarse :][:n], P.fine + np.arange(n))


def test_more_threads_give_the_same_bits(pair: Pair, P: ShellMap) -> None:
    x = deform(pair.coarse.X)
    g = np.random.default_rng(7).standard_normal(pair.fine.X.shape)
    one = P(x), P.pull_back(x, g), P.push_forward(x, x)
    use_threads(2)
    two = P(x), P.pull_back(x, g), P.push_forward(x, x)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("phong", [0.0, 0.5])
def test_triangles_that_collapse_give_numbers(phong: float) -> None:
    pair = pair_of("dome")
    P, g = pair.map(phong=phong), np.ones_like(pair.fine.X)
    line, point = pair.coarse.X.copy(), pair.coarse.X.copy()
    line[:, 1:] = 0.0
    point[pair.coarse.triangles[:4]] = point[0]
    for x in (line, point, np.zeros_like(line)):
        for result in (P(x), P.pull_back(x, g), P.push_forward(x, pair.coarse.X)):
            assert np.isfinite(result).all()


def test_a_rest_triangle_without_area_gives_numbers() -> None:
    pair = pair_of("dome")
    X = pair.coarse.X.copy()
    X[pair.coarse.triangles[5, 1]] = X[pair.coarse.triangles[5, 0]]
    P = ShellMap(Mesh(X, pair.coarse.triangles), pair.fine, pair.home, pair.weights, pair.kept)
    assert np.abs(P(X) - pair.fine.X).max() < 1e-12
    assert np.isfinite(P(deform(X))).all() and np.isfinite(P.pull_back(deform(X), pair.fine.X)).all()
