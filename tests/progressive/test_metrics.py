"""Metrics against surfaces whose curvatures, distances and folds are known."""

from itertools import pairwise

import numpy as np
import pytest

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh, concatenate
from plisse.hierarchy.loop import loop
from plisse.hierarchy.subdivision import Subdivision
from plisse.progressive.metrics import (
    Projection,
    count_folds,
    curvature_distance,
    curvatures,
    find_inner,
    geometric_consistency,
    position_error,
    walk_boundary,
)
from plisse.shapes.catalogue import cylinder, disc, grid, sphere

RADIUS = 0.25


def test_sphere_has_the_curvatures_of_a_sphere_and_converges() -> None:
    expected = np.array([1 / RADIUS, 1 / RADIUS**2, 1 / RADIUS, 1 / RADIUS])
    errors = []
    for subdivisions in (2, 3, 4):
        mesh = sphere(RADIUS, subdivisions=subdivisions)
        errors.append(np.abs(curvatures(mesh.triangles, mesh.X) / expected - 1.0).max(axis=0))
    assert errors[-1].max() < 2e-3
    for coarse, fine in pairwise(errors):
        assert (fine < 0.3 * coarse).all()  # second order


def test_curvature_changes_sign_with_the_side_and_scales_with_the_size() -> None:
    mesh = sphere(RADIUS, subdivisions=3)
    ours = curvatures(mesh.triangles, mesh.X)
    inside_out = curvatures(mesh.triangles[:, ::-1].copy(), mesh.X)
    assert inside_out[:, 0] == pytest.approx(-ours[:, 0])
    assert inside_out[:, 1] == pytest.approx(ours[:, 1])
    assert curvatures(mesh.triangles, 2.0 * mesh.X) == pytest.approx(ours * [0.5, 0.25, 0.5, 0.5])


def test_gauss_bonnet() -> None:
    """∫K = 4π on any closed surface of genus 0, here an ellipsoid; up to the choice of the vertices' areas."""
    mesh = sphere(RADIUS, subdivisions=3)
    x = mesh.X * (1.0, 0.5, 2.0)
    k = curvatures(mesh.triangles, x)[:, 1]
    assert k @ Mesh(x, mesh.triangles).vertex_areas == pytest.approx(4.0 * np.pi, rel=0.02)


def test_cylinder_bends_one_way_only() -> None:
    mesh = cylinder(RADIUS, 1.0, around=48, closed=False)
    k = curvatures(mesh.triangles, mesh.X)
    inner = find_inner(mesh.triangles, len(mesh.X))
    assert k[inner] == pytest.approx(np.tile([0.5 / RADIUS, 0.0, 1 / RADIUS, 0.0], (inner.sum(), 1)), abs=1e-9)
    assert not k[~inner].any()


def test_plane_has_none() -> None:
    mesh = grid(resolution=20)
    assert np.abs(curvatures(mesh.triangles, mesh.X)).max() < 1e-5  # √ of rounding errors in H² − K


def test_saddle_converges() -> None:
    errors = []
    for resolution in (20, 40):
        mesh = grid(resolution=resolution, diagonals="uniform")
        u, v, _ = mesh.X.T
        x = np.column_stack([u, v, 0.5 * (u**2 - v**2)])
        w = 1.0 + u**2 + v**2
        mean, gaussian = (u**2 - v**2) / (2.0 * w**1.5), -1.0 / w**2
        difference = curvatures(mesh.triangles, x)[:, :2] - np.column_stack([mean, gaussian])
        errors.append(np.abs(difference[find_inner(mesh.triangles, len(x))]).max(axis=0))
    assert errors[1].max() < 1e-3
    assert (errors[1] < 0.35 * errors[0]).all()


def test_principal_curvatures_belong_to_mean_and_gaussian() -> None:
    mesh = grid(resolution=24)
    x = mesh.X + np.column_stack([np.zeros((len(mesh.X), 2)), 0.1 * np.sin(7.0 * mesh.X[:, 0]) * mesh.X[:, 1]])
    mean, gaussian, larger, smaller = curvatures(mesh.triangles, x).T
    assert (larger >= smaller).all()
    assert larger + smaller == pytest.approx(2.0 * mean)
    real = mean**2 > gaussian
    assert (larger * smaller)[real] == pytest.approx(gaussian[real], abs=1e-9)


@pytest.mark.parametrize("mesh", [grid(resolution=7), disc(rings=4), cylinder(closed=False), sphere(subdivisions=1)])
def test_inner_vertices_are_those_without_a_boundary_edge(mesh: Mesh) -> None:
    expected = np.ones(len(mesh.X), bool)
    expected[mesh.boundary_edges] = False
    assert (find_inner(mesh.triangles, len(mesh.X)) == expected).all()


def test_smooth_between_is_loop_where_the_hierarchy_is_linear() -> None:
    cloth, ball = grid(resolution=4), sphere(subdivisions=1)
    linear = Subdivision([cloth, ball], levels=3, rules=["linear", None])
    smooth = Subdivision([cloth, ball], levels=3, rules=["loop", None])
    ours = linear.smooth_between(0, 2)
    assert abs(ours.matrix - smooth.between(0, 2).matrix).max() < 1e-15
    assert linear.smooth_between(0, 2) is ours
    assert smooth.smooth_between(0, 2) is smooth.between(0, 2)
    head = linear.smooth_between(0, 1, bodies=1)
    assert abs(head.matrix - loop(cloth).matrix).max() == 0.0
    x = np.random.default_rng(0).normal(size=(len(cloth.X) + len(ball.X), 3))
    assert (ours(x)[-len(ball.X) :] == x[-len(ball.X) :]).all()


def test_curvature_distance_is_small_through_loop_and_large_through_midpoints() -> None:
    """A bulge given on the coarse level: its Loop surface is near the true one, its facets are not."""
    hierarchy = Subdivision([grid(resolution=10)], levels=3, rules=["linear"])
    coarse, fine = hierarchy.levels[0][0], hierarchy.levels[2][0]

    def bulge(X: Floats) -> Floats:
        return X + np.column_stack([np.zeros((len(X), 2)), 0.1 * np.cos(3.0 * X[:, 0]) * np.cos(3.0 * X[:, 1])])

    target, start = bulge(fine.X), bulge(coarse.X)
    through_loop = hierarchy.smooth_between(0, 2)(start)
    through_midpoints = hierarchy.between(0, 2)(start)
    near, far = (
        curvature_distance(fine.triangles, fine.vertex_areas, x, target) for x in (through_loop, through_midpoints)
    )
    assert near.shape == (4,)
    assert (near < 0.25 * far).all()
    assert not curvature_distance(fine.triangles, fine.vertex_areas, target, target).any()


def test_curvature_distance_of_two_spheres() -> None:
    mesh = sphere(RADIUS, subdivisions=4)
    found = curvature_distance(mesh.triangles, mesh.vertex_areas, mesh.X, 2.0 * mesh.X)
    a, b = np.array([4.0, 16.0, 4.0, 4.0]), np.array([2.0, 4.0, 2.0, 2.0])
    assert found == pytest.approx(4.0 * np.pi * RADIUS**2 * (a - b) ** 2, rel=5e-3)


def test_position_error_is_the_distance_of_a_shift_and_weighs_by_area() -> None:
    mesh = grid(resolution=8)
    assert position_error(mesh.vertex_areas, mesh.X, mesh.X + np.array([0.03, 0.0, 0.04])) == pytest.approx(0.05)
    half = mesh.X + np.where(mesh.X[:, :1] > 0, 0.02, 0.0) * np.array([0.0, 0.0, 1.0])
    area = mesh.vertex_areas
    expected = 0.02 * np.sqrt(area[mesh.X[:, 0] > 0].sum() / area.sum())
    assert position_error(area, mesh.X, half) == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["loop", "linear"])
def test_projection_is_the_least_squares_one(rule: str) -> None:
    hierarchy = Subdivision([grid(resolution=4), sphere(subdivisions=1)], levels=3, rules=[rule, None])
    P = hierarchy.between(0, 2)
    projection = Projection(P)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(P.matrix.shape[1], 3))
    assert projection(P(x)) == pytest.approx(x)
    fine = rng.normal(size=(P.matrix.shape[0], 3))
    assert projection(fine) == pytest.approx(np.linalg.lstsq(P.matrix.toarray(), fine)[0])


def test_projection_with_superlu() -> None:
    P = loop(grid(resolution=5))
    fine = np.random.default_rng(2).normal(size=(P.matrix.shape[0], 3))
    assert Projection(P, linear="superlu")(fine) == pytest.approx(np.linalg.lstsq(P.matrix.toarray(), fine)[0])


def test_geometric_consistency_sees_what_is_left_of_the_fine_motion() -> None:
    mesh = grid(resolution=6)
    P = loop(mesh)
    projection, mass = Projection(P), 0.15 * mesh.vertex_areas
    assert geometric_consistency(projection, mass, P(mesh.X), mesh.X) == pytest.approx(0.0, abs=1e-25)
    moved = P(mesh.X + np.array([0.0, 0.0, 0.1]))
    assert geometric_consistency(projection, mass, moved, mesh.X) == pytest.approx(0.15 * 1.0 * 0.01)


def test_boundary_is_walked_once_around() -> None:
    tube = cylinder(around=12, closed=False)
    loops = walk_boundary(tube)
    assert sorted(len(one) for one in loops) == [12, 12]
    walked = {(int(i), int(j)) for one in loops for i, j in zip(one, np.roll(one, -1), strict=True)}
    assert walked == {tuple(edge) for edge in tube.boundary_edges.tolist()}
    assert walk_boundary(sphere(subdivisions=1)) == []


def hang(mesh: Mesh, folds: int, *, amplitude: float = 0.04, phase: float = 0.3) -> Floats:
    """The sheet over a ball of radius 0.25, its skirt waving more the lower it hangs."""
    r, angle = np.hypot(mesh.X[:, 0], mesh.X[:, 1]), np.arctan2(mesh.X[:, 1], mesh.X[:, 0])
    bend = np.minimum(r / 0.25, 0.5 * np.pi)
    out = 0.25 * np.sin(bend) + amplitude * np.clip(r / 0.25 - 1.0, 0.0, 1.0) * np.cos(folds * angle + phase)
    down = 0.25 * np.cos(bend) - np.maximum(r - 0.25 * 0.5 * np.pi, 0.0)
    return np.column_stack([out * np.cos(angle), out * np.sin(angle), down])


@pytest.mark.parametrize("folds", [5, 9, 14])
@pytest.mark.parametrize("rings", [14, 25, 60])
def test_folds_of_a_round_skirt_are_counted_at_any_resolution(folds: int, rings: int) -> None:
    mesh = disc(0.5, rings=rings)
    assert count_folds(mesh, hang(mesh, folds)) == folds


@pytest.mark.parametrize("folds", [8, 11, 14])
@pytest.mark.parametrize("resolution", [30, 55, 100])
def test_folds_of_a_square_are_counted_at_any_resolution(folds: int, resolution: int) -> None:
    mesh = grid(resolution=resolution)
    assert count_folds(mesh, hang(mesh, folds)) == folds


def test_no_folds_without_draping() -> None:
    square = grid(resolution=20)
    assert count_folds(square, square.X) == 0
    turned = square.X @ np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]) + (3.0, 1.0, 2.0)
    assert count_folds(square, turned) == 0
    assert count_folds(disc(rings=8), disc(rings=8).X) == 0
    assert count_folds(sphere(subdivisions=2), sphere(subdivisions=2).X) == 0


def test_small_waves_are_no_folds() -> None:
    mesh = disc(0.5, rings=30)
    assert count_folds(mesh, hang(mesh, 9, amplitude=0.004)) == 0


def test_several_sheets_are_each_seen_from_their_own_middle() -> None:
    one, two = disc(0.5, rings=20), grid(resolution=40)
    both, _ = concatenate([one, two])
    x = np.concatenate([hang(one, 7), hang(two, 9) + np.array([5.0, 0.0, 0.0])])
    assert count_folds(both, x) == 16
