"""Decimated meshes are sound, and every fine vertex has its one place on every coarser mesh."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu
from tests.hierarchy.decimations import invariants, prolongation
from tests.hierarchy.surfaces import SURFACES, bare, disc_with_holes

from plisse.core.mesh import Mesh, find_flaws
from plisse.hierarchy.decimate import Decimation, decimate
from plisse.shapes import catalogue

EVERY = pytest.mark.parametrize("name", SURFACES)


@cache
def surface(name: str) -> Mesh:
    return SURFACES[name]()


@cache
def decimation(name: str) -> Decimation:
    n = len(surface(name).X)
    return decimate(surface(name), [n // 60, n // 16, n // 4])


@EVERY
def test_levels_are_manifolds_of_the_same_topology_and_reach_their_size(name: str) -> None:
    found, mesh = decimation(name), surface(name)
    assert found.meshes[-1] is mesh
    assert (np.diff(found.ids[0]) > 0).all() and set(found.ids[0]) <= set(found.ids[1])
    for level in found.meshes:
        assert list(find_flaws(level)) == []
        assert invariants(level) == invariants(mesh)
    if found.stopped is None:
        n = len(mesh.X)
        assert [len(level.X) for level in found.meshes] == [n // 60, n // 16, n // 4, n]
    else:
        assert name in ("components", "disc with holes", "genus three", "thin plate")
        assert sum(found.stopped.refused.values()) == len(found.meshes[0].edges)


@EVERY
def test_weights_are_convex_and_maps_have_full_rank(name: str) -> None:
    found = decimation(name)
    finest = len(found.meshes) - 1
    assert set(found.places) == {(c, f) for f in range(finest + 1) for c in range(f)}
    assert found.slip < 1e-12
    for (coarse, fine), (triangles, weights) in found.places.items():
        assert len(triangles) == len(found.meshes[fine].X)
        assert (triangles >= 0).all() and (triangles < len(found.meshes[coarse].triangles)).all()
        assert (weights >= 0.0).all()
        assert np.abs(weights.sum(axis=1) - 1.0).max() < 1e-14
        U = prolongation(found, coarse, fine)
        assert np.abs(splu(csc_array(U.T @ U)).U.diagonal()).min() > 1e-6


@EVERY
def test_fine_vertices_stay_near(name: str) -> None:
    found = decimation(name)
    edge = found.meshes[0].edge_lengths.mean()
    away = prolongation(found, 0, len(found.meshes) - 1) @ found.meshes[0].X - found.meshes[-1].X
    assert np.linalg.norm(away, axis=1).max() < 1.5 * edge


@pytest.mark.parametrize("name", ["jittered grid", "regular grid"])
def test_linear_fields_on_flat_sheets(name: str) -> None:
    found = decimation(name)
    for coarse, fine in found.places:
        U = prolongation(found, coarse, fine)
        assert np.abs(U @ found.meshes[coarse].X - found.meshes[fine].X).max() < 1e-12


def test_on_a_disc_the_error_comes_from_its_rims() -> None:
    mesh = disc_with_holes()
    found = decimate(mesh, [len(mesh.X) // 4])
    away = np.linalg.norm(prolongation(found, 0, 1) @ found.meshes[0].X - mesh.X, axis=1)
    # a straight rim would give zero; what a round one loses is the height of its chords
    assert away.max() < 0.35 * found.meshes[0].edge_lengths.mean()
    assert np.median(away) < 1e-12


@EVERY
def test_fine_triangles_fill_coarse_ones_without_overlap(name: str) -> None:
    found = decimation(name)
    for coarse in range(len(found.meshes) - 1):
        triangles, weights = found.places[coarse, len(found.meshes) - 1]
        fine = found.meshes[-1].triangles
        home = triangles[fine]
        inside = (home == home[:, :1]).all(axis=1)
        part = np.linalg.det(weights[fine[inside]])
        # a few may turn over where hardly a dozen vertices are left of a shape
        assert (part < -1e-9).mean() < 1e-3 and part.min(initial=0.0) > -1e-2
        filled = np.bincount(home[inside, 0], part, minlength=len(found.meshes[coarse].triangles))
        assert filled.max(initial=0.0) < 1.0 + 1e-9


@pytest.mark.parametrize("name", ["ball", "torus", "bunny", "disc with holes"])
def test_no_point_of_a_coarse_triangle_is_covered_twice(name: str) -> None:
    found = decimation(name)
    triangles, weights = found.places[0, len(found.meshes) - 1]
    fine = found.meshes[-1].triangles
    home = triangles[fine]
    inside = (home == home[:, :1]).all(axis=1)
    rng = np.random.default_rng(0)
    covered = []
    for face in range(len(found.meshes[0].triangles)):
        points = rng.dirichlet((2.0, 2.0, 2.0), size=20)
        corners = weights[fine[inside & (home[:, 0] == face)]]
        within = (points @ np.linalg.inv(corners) >= 0.0).all(axis=2)
        covered.append(within.sum(axis=0))
    degree = np.concatenate(covered)
    # points that lie in none are in fine triangles across an edge
    assert degree.max() == 1
    assert (degree == 1).mean() > 0.5


def test_flat_sheets_are_covered_once() -> None:
    found = decimation("jittered grid")
    mapped = prolongation(found, 0, 3) @ found.meshes[0].X
    corner = mapped[found.meshes[-1].triangles]
    area = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])[:, 2] / 2.0
    assert area.min() > 0.0
    assert area.sum() == pytest.approx(found.meshes[0].triangle_areas.sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["ball", "tube", "bunny"])
def test_the_same_bits_again_and_others_with_another_seed(name: str) -> None:
    mesh, first = surface(name), decimation(name)
    n = len(mesh.X)
    again, other = (decimate(mesh, [n // 60, n // 16, n // 4], seed=seed) for seed in (0, 1))
    assert all(np.array_equal(a.X, b.X) for a, b in zip(first.meshes, again.meshes, strict=True))
    assert all(np.array_equal(first.places[k][1], again.places[k][1]) for k in first.places)
    assert np.array_equal(first.log.ring, again.log.ring)
    assert not np.array_equal(first.meshes[0].X, other.meshes[0].X)


@EVERY
def test_batches_lead_back_to_the_finer_connectivity(name: str) -> None:
    found = decimation(name)
    for level in range(len(found.meshes) - 1):
        triangles = np.full_like(found.meshes[-1].triangles, -1)
        triangles[found.faces[level]] = found.ids[level][found.meshes[level].triangles]
        present = np.zeros(len(triangles), bool)
        present[found.faces[level]] = True
        batches = found.batches(level)
        assert len(batches) < 80
        for batch in batches:
            touched = [found.log.ring[found.log.ring_start[k] : found.log.ring_start[k + 1]] for k in batch]
            together = np.concatenate((*touched, found.log.kept[batch]))
            assert len(np.unique(together)) == len(together)
            found.log.undo(triangles, present, batch)
        assert np.array_equal(np.flatnonzero(present), found.faces[level + 1])
        assert np.array_equal(triangles[present], found.ids[level + 1][found.meshes[level + 1].triangles])


def test_the_log_knows_positions_and_apexes() -> None:
    found = decimation("tube")
    log = found.log
    assert len(log.kept) == len(found.meshes[-1].X) - len(found.meshes[0].X)
    X = found.meshes[0].X
    last = {int(v): k for k, v in enumerate(log.kept)}
    for v, x in zip(found.ids[0], X, strict=True):
        assert np.array_equal(log.X_merged[last[int(v)]] if int(v) in last else found.meshes[-1].X[v], x)
    for k in range(0, len(log.kept), 50):
        ring = log.ring[log.ring_start[k] : log.ring_start[k + 1]]
        assert set(log.apexes[k][log.faces[k] >= 0]) <= set(ring)


def test_dense_levels() -> None:
    mesh = bare(catalogue.grid(vertices=2500))
    targets = [int(2500 / 1.3**k) for k in range(12, 0, -1)]
    found = decimate(mesh, targets)
    assert [len(level.X) for level in found.meshes] == [*targets, len(mesh.X)]
    for coarse, fine in found.places:
        error = prolongation(found, coarse, fine) @ found.meshes[coarse].X - found.meshes[fine].X
        assert np.abs(error).max() < 1e-12


def test_what_cannot_shrink_further_says_why() -> None:
    found = decimate(surface("components"), [4, 30])
    assert found.stopped is not None
    assert found.stopped.wanted == 30 and found.stopped.vertices == len(found.meshes[0].X)
    assert {"link", "ear"} & set(found.stopped.refused)
