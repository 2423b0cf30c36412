"""Rest shapes that are not the mesh itself: their corners carry lengths, areas and angles, across seams too."""

from dataclasses import replace

import numpy as np
import pytest
from tests.potentials import BALL, SHEET, TUBE, crumpled, full

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh, concatenate
from plisse.energies.bending import Bending
from plisse.energies.membrane import Membrane, shape_gradients
from plisse.hierarchy.flatness import is_flat
from plisse.hierarchy.loop import subdivide
from plisse.shapes.catalogue import cylinder, grid


def flat_corners(uv: Floats, unit: float) -> Floats:
    return np.concatenate([unit * uv, np.zeros((len(uv), 3, 1))], axis=2)


def exact_tube(around: int = 9, along: int = 3) -> Mesh:
    """A tube of flat faces, and the pattern that it is without any strain."""
    tube = cylinder(0.1, 0.2, around=around, along=along, closed=False)
    assert tube.uv is not None
    width, height = around * 0.2 * np.sin(np.pi / around), 2.0 * np.pi * 0.1
    return replace(tube, rest=flat_corners(tube.uv * [width / height, 1.0], height))


def membrane(mesh: Mesh) -> Membrane:
    return Membrane(mesh, E=full(mesh, 1e6), nu=full(mesh, 0.3), thickness=full(mesh, 1e-3))


def bending(mesh: Mesh) -> Bending:
    E, nu, thickness = (full(mesh, value, hinges=True) for value in (1e6, 0.3, 1e-3))
    return Bending(mesh, E=E, nu=nu, thickness=thickness)


@pytest.mark.parametrize("mesh", [SHEET, BALL], ids=["sheet", "ball"])
def test_the_mesh_itself_as_rest_changes_no_bit(mesh: Mesh) -> None:
    same = replace(mesh, rest=mesh.X[mesh.triangles])
    x = crumpled(mesh, 0.01)(np.random.default_rng(1))
    for make in (membrane, bending):
        assert make(mesh).value(x) == make(same).value(x)
        assert np.array_equal(make(mesh).gradient(x), make(same).gradient(x))
    for name in ("triangle_areas", "vertex_areas", "edge_areas"):
        assert np.array_equal(getattr(mesh, name), getattr(same, name))
    np.testing.assert_allclose(mesh.edge_lengths, same.edge_lengths, rtol=1e-14)
    assert is_flat(mesh) == is_flat(same)


def test_a_tube_of_flat_faces_has_no_strain() -> None:
    tube = exact_tube()
    stretches = np.linalg.svd(
        np.einsum("mai,maj->mij", tube.X[tube.triangles], shape_gradients(tube)), compute_uv=False
    )
    np.testing.assert_allclose(stretches, 1.0, atol=1e-12)
    assert abs(membrane(tube).value(tube.X)) < 1e-15 < membrane(TUBE).value(TUBE.X)
    assert tube.rest_places is None and is_flat(tube) and not is_flat(replace(tube, rest=None))
    # along the seam as elsewhere: the same on every row of hinges
    along = np.isclose(tube.X[tube.edges[:, 0], 2], tube.X[tube.edges[:, 1], 2])
    np.testing.assert_allclose(tube.edge_lengths[along], 0.2 * np.sin(np.pi / 9), rtol=1e-12)


def test_pieces_are_sewn_together_flat() -> None:
    tube = exact_tube()
    # nine upright hinges a row are bent by 40° each, that of the seam as the others; the quads' diagonals not at all
    k = 1e6 * 1e-9 / (24.0 * (1.0 - 0.09))
    width, height = 0.2 * np.sin(np.pi / 9), 0.2 / 3
    energy = 27 * k * 3.0 * height**2 / (width * height) * (2.0 * np.pi / 9) ** 2
    assert bending(tube).value(tube.X) == pytest.approx(energy, rel=1e-9)


def test_a_curved_rest_shape_keeps_its_angles() -> None:
    # the sheet at rest is the curved one, wherever the vertices start
    flat = Mesh(SHEET.X * [1.0, 1.0, 0.0], SHEET.triangles, rest=SHEET.X[SHEET.triangles])
    for make in (membrane, bending):
        assert abs(make(flat).value(SHEET.X)) < 1e-15 < make(flat).value(flat.X)
    np.testing.assert_array_equal(flat.rest_places, SHEET.X)


@pytest.mark.parametrize("mesh", [exact_tube(), TUBE], ids=["exact", "wide"])
def test_midpoints_leave_the_metric_as_it_is(mesh: Mesh) -> None:
    fine, U = subdivide(mesh, rule="linear")
    x = crumpled(mesh, 0.01)(np.random.default_rng(2))
    np.testing.assert_allclose(fine.triangle_areas, np.tile(mesh.triangle_areas / 4.0, 4), rtol=1e-12)
    assert membrane(fine).value(U(x)) == pytest.approx(membrane(mesh).value(x), rel=1e-12)
    assert fine.rest_places is None
    # hinges of old edges are cut in two, and new ones are flat: twice the energy, which the coarse levels know
    assert bending(fine).value(U(x)) == pytest.approx(2.0 * bending(mesh).value(x), rel=1e-9)


def test_loops_rule_goes_by_the_rest_shape_without_seams() -> None:
    sheet = grid(resolution=4)
    dome = sheet.X + np.column_stack([0.0 * sheet.X[:, :2], 0.2 - (sheet.X[:, :2] ** 2).sum(axis=1)])
    fine, P = subdivide(Mesh(dome, sheet.triangles, rest=sheet.X[sheet.triangles]), rule="loop")
    np.testing.assert_array_equal(fine.X, P(dome))
    np.testing.assert_array_equal(fine.rest, P(sheet.X)[fine.triangles])
    with pytest.raises(AssertionError, match="midpoints"):
        subdivide(TUBE, rule="loop")


def test_put_together_each_keeps_its_own() -> None:
    both, starts = concatenate([SHEET, TUBE])
    assert both.rest is not None
    np.testing.assert_array_equal(both.rest[: len(SHEET.triangles)], SHEET.X[SHEET.triangles])
    np.testing.assert_array_equal(both.rest[len(SHEET.triangles) :], TUBE.rest)
    np.testing.assert_array_equal(both.triangle_areas, np.concatenate([SHEET.triangle_areas, TUBE.triangle_areas]))
    assert starts.tolist() == [0, len(SHEET.X), len(SHEET.X) + len(TUBE.X)]
