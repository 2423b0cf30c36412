"""The independent detector on scenes whose intersections are known."""

import numpy as np
import pytest

from plisse.contact.check import Detector
from plisse.core.mesh import Mesh, concatenate
from plisse.shapes import catalogue as shapes


def make_detector(meshes, *, shells):
    mesh, starts = concatenate(meshes)
    return mesh, Detector(mesh.X, mesh.edges, mesh.triangles, int(starts[shells]))


def triangle(corners):
    """A single triangle as a mesh."""
    return Mesh(np.array(corners, float), np.array([[0, 1, 2]], np.int32))


FLOOR = triangle([[-1, -1, 0], [1, -1, 0], [0, 1, 0]])
SPIKE = triangle([[0, 0, -0.1], [0.2, 0, 0.5], [-0.2, 0, 0.5]])  # two of its edges pass through the floor


def test_names_and_counts_the_pairs_that_cross():
    mesh, detector = make_detector([FLOOR, SPIKE], shells=2)
    found = detector.intersections(mesh.X)
    assert detector.count(mesh.X) == len(found) == 2
    assert all(triangle == 0 for _, triangle in found)
    assert {tuple(mesh.edges[edge]) for edge, _ in found} == {(3, 4), (3, 5)}


def test_finds_nothing_where_nothing_crosses():
    mesh, detector = make_detector([FLOOR, SPIKE], shells=2)
    raised = mesh.X + np.where(np.arange(6) < 3, 0.0, 0.1 + 1e-9)[:, None] * [0, 0, 1]
    assert detector.count(raised) == 0
    assert detector.intersections(raised) == []


def test_neighbours_that_share_a_vertex_do_not_count():
    mesh, detector = make_detector([shapes.sphere(0.3, subdivisions=2)], shells=1)
    assert detector.count(mesh.X) == 0
    flat, on_flat = make_detector([shapes.grid(1.0, 1.0, resolution=8, diagonals="jittered")], shells=1)
    assert on_flat.count(flat.X) == 0


def test_finds_a_shell_that_crosses_itself():
    mesh, detector = make_detector([shapes.grid(1.0, 0.3, resolution=(20, 6))], shells=1)
    # the curve (sin t, sin 2t) crosses itself where t = 0 and t = π
    t = np.pi / 2 + 1.4 * np.pi * mesh.X[:, 0]
    loop = np.column_stack([0.2 * np.sin(t), mesh.X[:, 1], 0.2 * np.sin(2 * t)])
    assert detector.count(mesh.X) == 0
    assert detector.count(loop) > 0


@pytest.mark.parametrize(("shells", "expected"), [(2, 2), (1, 2), (0, 0)], ids=["shells", "mixed", "colliders"])
def test_colliders_among_themselves_are_not_asked(shells, expected):
    mesh, detector = make_detector([FLOOR, SPIKE], shells=shells)
    assert detector.count(mesh.X) == expected
    assert len(detector.intersections(mesh.X)) == expected


def test_counts_only_the_pairs_with_a_shell():
    """A shell and two colliders through one another: the colliders' own crossings are left out."""
    ball, block = shapes.sphere(0.25, subdivisions=2), shapes.box(0.35, resolution=4)
    sheet = shapes.grid(1.0, 1.0, resolution=9, diagonals="jittered")
    mesh, all_shells = make_detector([sheet, ball, block], shells=3)
    _, two_colliders = make_detector([sheet, ball, block], shells=1)
    _, colliders_only = make_detector([ball, block], shells=2)
    everything, inner = all_shells.count(mesh.X), colliders_only.count(mesh.X[len(sheet.X) :])
    assert inner > 0
    assert two_colliders.count(mesh.X) == everything - inner > 0
