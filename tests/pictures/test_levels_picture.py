"""Pictures of hierarchies: patches cover the surface once, neighbours differ, lines lie above it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse.pictures.levels
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import decimate
from plisse.hierarchy.loop import subdivide
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.pictures.camera import Camera
from plisse.pictures.levels import COLORS, WIDTH, draw_levels
from plisse.pictures.patches import color_patches, cut_along, cut_between, find_crossings
from plisse.pictures.ribbons import frame_triangles, trace_lines
from plisse.progressive.ladder import Ladder
from plisse.shapes.catalogue import grid, make_shape, sphere

MESHES = {"sheet": grid(vertices=400), "ball": sphere(subdivisions=3), "can": make_shape("can", {"vertices": 300})}
ABOVE = Camera(eye=(0.1, 0.2, 9.0), target=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("name", MESHES)
def test_patches_cover_the_surface_once(name: str) -> None:
    fine = MESHES[name]
    made = decimate(fine, [len(fine.X) // 8])
    home, weights = made.places[0, 1]
    patches = cut_between(fine, fine.X, home.astype(np.int64), find_crossings(made.meshes[0], fine, home, weights))
    cut = Mesh(patches.x, patches.triangles)
    assert cut.triangle_areas.sum() == pytest.approx(fine.triangle_areas.sum())
    # each holds the vertices that lie in it
    whole = np.isin(patches.triangles, np.arange(len(fine.X)))
    corners, of = patches.triangles[whole], np.repeat(patches.of, whole.sum(axis=1))
    assert np.array_equal(home[corners], of)
    assert set(np.unique(home)) == set(patches.of)


def test_on_a_flat_sheet_patches_are_the_coarse_triangles() -> None:
    fine = grid(vertices=2000)
    made = decimate(fine, [30])
    (coarse, _), (home, weights) = made.meshes, made.places[0, 1]
    patches = cut_between(fine, fine.X, home.astype(np.int64), find_crossings(coarse, fine, home, weights))
    areas = np.bincount(patches.of, weights=Mesh(patches.x, patches.triangles).triangle_areas)
    assert areas == pytest.approx(coarse.triangle_areas, rel=0.03, abs=0.05 * coarse.triangle_areas.mean())


@pytest.mark.parametrize("name", MESHES)
def test_neighbouring_patches_have_different_colours(name: str) -> None:
    mesh = MESHES[name]
    colors = color_patches(mesh, len(COLORS))
    assert colors.min() >= 0 and colors.max() < len(COLORS)
    whole = cut_along(mesh, mesh.X, colors)
    assert len(whole.borders) == len(mesh.hinges)
    # all colours are used about as often
    assert np.bincount(colors).min() > 0.5 * len(colors) / len(COLORS)


def test_subdivided_triangles_are_patches_of_those_that_they_came_from() -> None:
    coarse = grid(resolution=3)
    fine = subdivide(subdivide(coarse, rule="linear")[0], rule="linear")[0]
    of = np.arange(len(fine.triangles)) % len(coarse.triangles)
    areas = np.bincount(of, weights=fine.triangle_areas)
    assert areas == pytest.approx(coarse.triangle_areas)
    lines = cut_along(fine, fine.X, of).borders
    inner = len(coarse.hinges) * 4
    assert len(lines) == inner


def test_lines_lie_above_the_side_that_is_seen() -> None:
    mesh = grid(resolution=4)
    for X, triangles in ((mesh.X, mesh.triangles), (mesh.X, mesh.triangles[:, ::-1])):
        x, ribbons = frame_triangles(X, triangles, ABOVE, 0.004)
        assert (x[:, 2] > 0.0).all() and len(ribbons) == 6 * len(triangles)
        area = Mesh(x, ribbons).triangle_areas.sum()
        # each triangle has its half along each of its sides, but for the corners
        assert 0.9 * 0.004 < area / (mesh.edge_lengths[mesh.triangle_edges].sum()) <= 0.004
    ends = mesh.X[mesh.edges]
    x, ribbons = trace_lines(ends, np.tile([0.0, 0.0, -1.0], (len(ends), 1)), ABOVE, 0.004)
    assert (x[:, 2] > 0.0).all()
    assert Mesh(x, ribbons).triangle_areas.sum() == pytest.approx(0.004 * mesh.edge_lengths.sum())


@pytest.mark.parametrize("hierarchy", [{"kind": "decimation", "levels": [40, 120]}, {"levels": 2}])
def test_every_level_is_drawn(hierarchy: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.pictures.levels, "SAMPLES", 1)
    shells = [{"shape": "grid", "vertices": 300}, {"shape": "dome", "vertices": 200, "translate": [2, 0, 0]}]
    scene = scene_from_dict({"shell": shells, "hierarchy": hierarchy}, Path())
    picture = draw_levels(Ladder.of(scene, load_geometry(scene, Path())))
    assert picture.width == WIDTH and picture.height > 1000
