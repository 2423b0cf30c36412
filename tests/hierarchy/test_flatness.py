"""Flat, developable or curved: what levels take a rest shape for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import Delaunay

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.hierarchy.flatness import angle_defects, is_developable, is_flat
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.ladder import Ladder
from plisse.shapes.catalogue import cone, cylinder, dome, grid, sphere, torus


def test_flatness_is_seen_in_any_plane() -> None:
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    square = grid(resolution=4)
    assert is_flat(square)
    assert is_flat(Mesh(1e-3 * square.X @ turn + (1.0, 2.0, 3.0), square.triangles))
    for size in (0.05, 0.3):
        assert is_flat(Mesh(np.round(size * square.X @ turn, 6), square.triangles))
    assert not is_flat(Mesh(square.X + np.outer(square.X[:, 0] ** 2, (0.0, 0.0, 1e-3)), square.triangles))
    assert not is_flat(sphere(subdivisions=1))
    assert not is_flat(cylinder(closed=False))


def test_defects_add_up_to_the_surface() -> None:
    """Gauss and Bonnet: 4π on a sphere, none on a torus or about a tube; at the tip of a cone what its sides leave."""
    assert angle_defects(sphere(subdivisions=2)).sum() == pytest.approx(4.0 * np.pi)
    assert angle_defects(torus()).sum() == pytest.approx(0.0, abs=1e-9)
    assert np.abs(angle_defects(cylinder(closed=False))).max() < 1e-9
    mesh = cone(radius=0.3, height=0.4, vertices=2000)
    defects = angle_defects(mesh)
    tip = int(defects.argmax())
    sides = int((mesh.triangles == tip).sum())
    assert defects[tip] == pytest.approx(2.0 * np.pi - 2.0 * sides * np.arcsin(0.3 / 0.5 * np.sin(np.pi / sides)))


def sheet(shape: str, side: int, *, seed: int) -> Mesh:
    """Vertices in disorder on a unit square that is bent: rolled up, waved, or bulging."""
    rng = np.random.default_rng(seed)
    points = np.stack(np.meshgrid(*2 * [np.linspace(0.0, 1.0, side)]), -1).reshape(-1, 2)
    inner = np.all((points > 0.0) & (points < 1.0), axis=1)
    points[inner] += rng.uniform(-0.3, 0.3, (inner.sum(), 2)) / side
    triangles = Delaunay(points).simplices.astype(np.int32)
    a, b, c = points[triangles].transpose(1, 0, 2)
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    return Mesh(bend(points, shape), triangles[area > 1e-9])


def bend(points: Floats, shape: str) -> Floats:
    u, v = points.T
    bulge = 4.0 * ((u - 0.5) ** 2 + (v - 0.5) ** 2)
    return {
        "rolled": np.stack([np.cos(np.pi * u) / np.pi, np.sin(np.pi * u) / np.pi, v], axis=1),
        "waved": np.stack([u, v, 0.1 * np.sin(6.0 * u)], axis=1),
        "bulging": np.stack([u, v, 0.1 * bulge], axis=1),
        "saddle": np.stack([u, v, 0.4 * ((u - 0.5) ** 2 - (v - 0.5) ** 2)], axis=1),
    }[shape]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("side", [12, 25, 60])
@pytest.mark.parametrize(
    ("shape", "developable"), [("rolled", True), ("waved", True), ("bulging", False), ("saddle", False)]
)
def test_what_bends_without_strain_is_told_in_disorder_and_after_rounding(
    shape: str, developable: bool, side: int, seed: int
) -> None:
    mesh = sheet(shape, side, seed=seed)
    assert not is_flat(mesh)
    for X in (mesh.X, np.round(mesh.X, 6), np.round(0.1 * mesh.X, 6)):
        assert is_developable(Mesh(X, mesh.triangles)) == developable


def test_shapes_of_the_catalogue() -> None:
    assert is_developable(cone(vertices=700)) and is_developable(cylinder(closed=False)) and is_developable(grid())
    assert not any(map(is_developable, (sphere(subdivisions=3), dome(vertices=400), torus())))
    tube = cylinder(closed=False)
    assert is_developable(replace(tube, rest=tube.X[tube.triangles] * (1.0, 1.0, 0.0)))


@pytest.mark.parametrize(
    ("shape", "material", "gravity", "kind"),
    [
        ("grid", "cotton", -9.81, ""),
        ("cone", "cotton", -9.81, "could be cut from flat cloth"),
        ("cone", "steel", -9.81, "is curved at rest"),
        ("cone", "cotton", 0.0, "is curved at rest"),
        ("dome", "cotton", -9.81, "is curved at rest"),
    ],
)
def test_levels_say_what_they_took_a_shell_for(shape: str, material: str, gravity: float, kind: str) -> None:
    steel = {"density": 7850, "thickness": 0.2e-3, "E": 2e11, "nu": 0.3}
    shell = {"name": "it", "shape": shape, "vertices": 300, "material": steel if material == "steel" else material}
    table = {"gravity": [0, 0, gravity], "shell": [shell], "hierarchy": {"levels": 2}}
    scene = scene_from_dict(table, Path())
    ladder = Ladder.of(scene, load_geometry(scene, Path()))
    assert [kind in note for note in ladder.notes] == [True] * bool(kind)
    as_flat = "curved" not in kind
    assert ladder.hierarchy.nested[0] == as_flat
    assert (ladder.proxy(0).softening.compression[0] < 1.0) == as_flat
    paper = replace(scene, hierarchy=replace(scene.hierarchy, preset="paper"))
    assert Ladder.of(paper, load_geometry(paper, Path())).notes == ()
