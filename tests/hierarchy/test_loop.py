"""Levels and their prolongations: Loop's rule, midpoints, and what both must keep."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plisse.core.mesh import Mesh, check_manifold
from plisse.hierarchy.flatness import is_flat
from plisse.hierarchy.loop import loop, midpoints, split_triangles, subdivide
from plisse.hierarchy.subdivision import Subdivision
from plisse.shapes.catalogue import box, cylinder, disc, grid, sphere, torus

MESHES = {
    "grid": grid(resolution=5),
    "strip": grid(1.0, 0.2, resolution=(5, 1)),  # no inner vertices
    "disc": disc(rings=3),
    "tube": cylinder(around=10, closed=False),
    "sphere": sphere(subdivisions=1),
    "torus": torus(around=12, across=8),
    "box": box(resolution=2),
}
FLAT = ("grid", "strip", "disc")
CLOSED = {"sphere": 2, "torus": 0, "box": 2}
RULES = ["loop", "linear"]


@pytest.fixture(params=MESHES)
def mesh(request: pytest.FixtureRequest) -> Mesh:
    return MESHES[request.param]


def characteristic(mesh: Mesh) -> int:
    return len(mesh.X) - len(mesh.edges) + len(mesh.triangles)


@pytest.mark.parametrize("rule", RULES)
def test_rows_sum_to_one_and_are_not_negative(mesh: Mesh, rule: str) -> None:
    _, P = subdivide(mesh, rule=rule)
    U = P.along
    for matrix in (P.matrix, U.matrix):
        assert matrix.shape == (len(mesh.X) + len(mesh.edges), len(mesh.X))
        assert matrix.sum(axis=1) == pytest.approx(1.0)
        assert matrix.data.min() > 0.0


def test_midpoints_are_midpoints_and_even_vertices_stay(mesh: Mesh) -> None:
    x = midpoints(mesh)(mesh.X)
    assert (x[: len(mesh.X)] == mesh.X).all()
    assert x[len(mesh.X) :] == pytest.approx(mesh.X[mesh.edges].mean(axis=1))


def test_even_vertices_keep_their_numbers(mesh: Mesh) -> None:
    """Corner i of a triangle is a corner of the i-th part; the fourth part has none of the old vertices."""
    n, m = len(mesh.X), len(mesh.triangles)
    parts = split_triangles(mesh).reshape(4, m, 3)
    for corner in range(3):
        assert (parts[corner, :, 0] == mesh.triangles[:, corner]).all()
        assert (parts[corner, :, 1:] >= n).all()
    assert (parts[3] >= n).all()
    # the vertex n + e lies on edge e: the two parts at its ends have it
    _, P = subdivide(mesh, rule="loop")
    U = P.along
    for e, (i, j) in enumerate(mesh.edges):
        assert set(U.matrix[[n + e]].indices) == {i, j}
        assert P.matrix[n + e, i] == P.matrix[n + e, j] >= 0.375


def test_boundary_is_fixed_with_midpoints_inserted(mesh: Mesh) -> None:
    x = np.random.default_rng(0).normal(size=mesh.X.shape)
    fine, P = subdivide(mesh, rule="loop")
    y = P(x)
    on_boundary = np.unique(mesh.boundary_edges)
    assert (y[on_boundary] == x[on_boundary]).all()
    place = {tuple(edge): len(x) + e for e, edge in enumerate(mesh.edges.tolist())}
    odd = np.array([place[min(edge), max(edge)] for edge in mesh.boundary_edges.tolist()], dtype=int)
    assert y[odd] == pytest.approx(x[mesh.boundary_edges].mean(axis=1).reshape(-1, 3))
    assert set(np.unique(fine.boundary_edges)) == {*on_boundary.tolist(), *odd.tolist()}


def test_loop_weights_at_regular_vertices() -> None:
    """Valence 6: 5/8 and six times 1/16; inner edges: 3/8, 3/8, 1/8, 1/8."""
    mesh = grid(resolution=5, diagonals="uniform")
    P, n = loop(mesh).matrix, len(mesh.X)
    inner = np.setdiff1d(np.arange(n), mesh.boundary_edges)
    assert len(inner) == 16
    assert (np.bincount(mesh.edges.ravel())[inner] == 6).all()
    for i in inner:
        assert sorted(P[[i]].data) == pytest.approx([1 / 16] * 6 + [5 / 8])
        assert P[i, i] == pytest.approx(5 / 8)
    for v0, v1, v2, v3 in mesh.hinges:
        e = np.flatnonzero((mesh.edges == sorted((v0, v1))).all(axis=1))[0]
        assert [float(P[n + e, v]) for v in (v0, v1, v2, v3)] == [0.375, 0.375, 0.125, 0.125]


def test_loop_weights_at_irregular_vertices() -> None:
    """Valence 3: β = 3/16; valence 5, as on the icosahedron: Loop's original weights."""
    tetrahedron = Mesh(
        np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float),
        np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]),
    )
    assert loop(tetrahedron).matrix[[0]].toarray().tolist() == [pytest.approx([7 / 16, 3 / 16, 3 / 16, 3 / 16])]
    beta = (5 / 8 - (3 / 8 + np.cos(2 * np.pi / 5) / 4) ** 2) / 5
    assert sorted(loop(sphere(subdivisions=0)).matrix[[0]].data) == pytest.approx([beta] * 5 + [1 - 5 * beta])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), name=st.sampled_from(list(MESHES)), rule=st.sampled_from(RULES))
def test_prolongation_commutes_with_affine_maps(seed: int, name: str, rule: str) -> None:
    rng = np.random.default_rng(seed)
    A, b, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=MESHES[name].X.shape)
    _, P = subdivide(MESHES[name], rule=rule)
    assert P(x @ A.T + b) == pytest.approx(P(x) @ A.T + b, abs=1e-12)


def test_restriction_is_the_transpose(mesh: Mesh) -> None:
    P = loop(mesh)
    g = np.random.default_rng(3).normal(size=(P.matrix.shape[0], 3))
    assert P.pull_back(mesh.X, g) == pytest.approx(P.matrix.T @ g)
    assert P(mesh.X) == pytest.approx(P.matrix @ mesh.X)


@pytest.mark.parametrize("rule", RULES)
def test_finer_meshes_are_manifold(mesh: Mesh, rule: str) -> None:
    hierarchy = Subdivision([mesh], levels=3, rules=[rule])
    for level, finer in pairwise(hierarchy.levels):
        (a,), (b,) = level, finer
        check_manifold(b, "the finer mesh")
        assert len(b.triangles) == 4 * len(a.triangles)
        assert len(b.X) == len(a.X) + len(a.edges)
        assert len(b.boundary_edges) == 2 * len(a.boundary_edges)
        assert characteristic(b) == characteristic(a)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_meshes_keep_their_genus_and_their_outside(name: str) -> None:
    for rule in RULES:
        fine = Subdivision([MESHES[name]], levels=3, rules=[rule]).levels[-1][0]
        assert fine.is_closed
        assert characteristic(fine) == CLOSED[name]
        assert fine.volume > 0.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FLAT)
def test_flat_meshes_keep_area_plane_and_orientation(name: str, rule: str) -> None:
    coarse = MESHES[name]
    for level in Subdivision([coarse], levels=4, rules=[rule]).levels[1:]:
        (fine,) = level
        a, b, c = (fine.X[fine.triangles[:, k]] for k in range(3))
        up = np.cross(b - a, c - a)[:, 2]
        assert up.min() > 0.0
        assert 0.5 * up.sum() == pytest.approx(coarse.triangle_areas.sum())
        assert is_flat(fine)


@pytest.mark.parametrize("rule", RULES)
def test_rest_shapes_follow_the_prolongation(mesh: Mesh, rule: str) -> None:
    hierarchy = Subdivision([mesh], levels=4, rules=[rule])
    assert hierarchy.finest == 3
    assert hierarchy._rules == (rule,)
    for coarse in range(4):
        P = hierarchy.between(coarse, 3)
        assert P(hierarchy.levels[coarse][0].X) == pytest.approx(hierarchy.levels[3][0].X, abs=1e-14)
    assert hierarchy.levels[0][0] is mesh
    assert hierarchy.given == 0
    assert hierarchy.between(0, 3) is hierarchy.between(0, 3)


def test_steps_compose() -> None:
    hierarchy = Subdivision([grid(resolution=3)], levels=4, rules=["loop"])
    x = np.random.default_rng(4).normal(size=(16, 3))
    step_by_step = x
    for level in range(3):
        step_by_step = hierarchy.between(level, level + 1)(step_by_step)
    assert hierarchy.between(0, 3)(x) == pytest.approx(step_by_step, abs=1e-13)
    assert (hierarchy.between(2, 2)(hierarchy.between(0, 2)(x)) == hierarchy.between(0, 2)(x)).all()


def test_bodies_grow_by_their_own_rules() -> None:
    bodies = [grid(resolution=3), sphere(subdivisions=1), disc(rings=2)]
    hierarchy = Subdivision(bodies, levels=3, rules=["loop", None, "linear"])
    alone = [Subdivision([body], levels=3, rules=[rule]) for body, rule in zip(bodies, hierarchy._rules, strict=True)]
    x = [np.random.default_rng(k).normal(size=body.X.shape) for k, body in enumerate(bodies)]
    expected = [one.between(0, 2)(part) for one, part in zip(alone, x, strict=True)]
    assert hierarchy.between(0, 2)(np.concatenate(x)) == pytest.approx(np.concatenate(expected))
    assert hierarchy.between(0, 2, bodies=2)(np.concatenate(x[:2])) == pytest.approx(np.concatenate(expected[:2]))
    for level in hierarchy.levels:
        assert level[1] is bodies[1]
    upsampling = hierarchy.between(0, 1).along
    assert upsampling(np.concatenate(x)) == pytest.approx(
        np.concatenate([midpoints(bodies[0])(x[0]), x[1], midpoints(bodies[2])(x[2])])
    )


def test_loop_of_a_sphere_shrinks_a_little_and_stays_round() -> None:
    levels = Subdivision([sphere(0.25, subdivisions=1)], levels=4, rules=["loop"]).levels
    volumes = [level[0].volume for level in levels]
    radii = [np.linalg.norm(level[0].X, axis=1) for level in levels]
    assert all(fine < coarse for coarse, fine in pairwise([r.max() for r in radii]))
    losses = -np.diff([r.mean() for r in radii])
    assert all(fine < 0.5 * coarse for coarse, fine in pairwise(losses))  # it converges
    assert radii[-1].min() > 0.22
    assert np.ptp(radii[-1]) < 0.02 * radii[-1].mean()
    assert volumes[-1] < volumes[0]


def test_loop_smooths_what_midpoints_leave() -> None:
    """The largest angle between neighbouring triangles falls with each Loop step, with midpoints it stays."""

    def sharpest(mesh: Mesh) -> float:
        a, b, c, d = (mesh.X[mesh.hinges[:, k]] for k in range(4))
        first, second = np.cross(b - a, c - a), np.cross(a - b, d - b)
        cosine = np.einsum("ij,ij->i", first, second)
        return float(
            np.arccos(np.clip(cosine / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1), -1, 1)).max()
        )

    for rule, factor in (("loop", 0.7), ("linear", 1.0)):
        angles = [sharpest(level[0]) for level in Subdivision([sphere(subdivisions=0)], levels=4, rules=[rule]).levels]
        assert all(fine <= factor * coarse + 1e-6 for coarse, fine in pairwise(angles))
        assert (angles[-1] < 0.3 * angles[0]) == (rule == "loop")
