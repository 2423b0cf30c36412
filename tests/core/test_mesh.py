"""Connectivity and checks of a mesh."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, Names, check_manifold, concatenate, find_duplicates, find_flaws, flatness
from plisse.shapes.catalogue import cylinder, grid, sphere, torus

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
TWO = np.array([[0, 1, 2], [0, 2, 3]])


def obvious_hinges(mesh: Mesh) -> set[tuple[int, ...]]:
    """Every pair of triangles compared, in plain Python."""
    found = set()
    for i, first in enumerate(mesh.triangles.tolist()):
        for second in mesh.triangles[i + 1 :].tolist():
            shared = set(first) & set(second)
            if len(shared) == 2:
                (v2,), (v3,) = set(first) - shared, set(second) - shared
                at = first.index(v2)
                found.add((first[(at + 1) % 3], first[(at + 2) % 3], v2, v3))
    return found


def test_square_by_hand():
    mesh = Mesh(SQUARE, TWO)
    assert mesh.edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
    assert mesh.hinges.tolist() == [[2, 0, 1, 3]]
    assert mesh.boundary_edges.tolist() == [[0, 1], [3, 0], [1, 2], [2, 3]]
    assert mesh.triangle_edges.tolist() == [[0, 3, 1], [1, 4, 2]]
    np.testing.assert_allclose(mesh.triangle_areas, 0.5)
    np.testing.assert_allclose(mesh.vertex_areas, np.array([2, 1, 2, 1]) / 6)
    np.testing.assert_allclose(mesh.edge_areas, np.array([1, 2, 1, 1, 1]) / 6)
    np.testing.assert_allclose(mesh.edge_lengths, [1, 2**0.5, 1, 1, 1])
    assert not mesh.is_closed


@pytest.mark.parametrize(
    "mesh",
    [grid(resolution=4), sphere(subdivisions=1), torus(around=9, across=6), cylinder(closed=False, around=9)],
)
def test_against_obvious(mesh):
    assert set(map(tuple, mesh.hinges.tolist())) == obvious_hinges(mesh)
    # (v0, v1, v2) and (v1, v0, v3) are the two triangles
    cyclic = {tuple(np.roll(t, k)) for t in mesh.triangles for k in range(3)}
    assert all((a, b, c) in cyclic and (b, a, d) in cyclic for a, b, c, d in mesh.hinges)
    assert len(mesh.hinges) + len(mesh.boundary_edges) == len(mesh.edges)
    assert (np.diff(mesh.edges[:, 0].astype(np.int64) * len(mesh.X) + mesh.edges[:, 1]) > 0).all()
    sides = np.sort(np.stack((mesh.triangles, np.roll(mesh.triangles, -1, axis=1)), axis=2), axis=2)
    np.testing.assert_array_equal(mesh.edges[mesh.triangle_edges], sides)
    np.testing.assert_allclose(mesh.vertex_areas.sum(), mesh.triangle_areas.sum())
    np.testing.assert_allclose(mesh.edge_areas.sum(), mesh.triangle_areas.sum())


def test_arrays_have_one_layout():
    mesh = Mesh(np.asfortranarray(SQUARE.astype(np.float32)), TWO.tolist())
    for array in (mesh.triangles, mesh.edges, mesh.hinges, mesh.boundary_edges, mesh.triangle_edges):
        assert array.dtype == np.int32 and array.flags.c_contiguous
    for array in (mesh.X, mesh.triangle_areas, mesh.vertex_areas, mesh.edge_areas, mesh.edge_lengths):
        assert array.dtype == np.float64 and array.flags.c_contiguous


def test_concatenate_keeps_everything():
    a, b = grid(resolution=2), sphere(subdivisions=0)
    both, offsets = concatenate([a, b])
    assert offsets.tolist() == [0, 9, 21]
    np.testing.assert_array_equal(both.X[9:], b.X)
    np.testing.assert_array_equal(both.triangles[len(a.triangles) :] - 9, b.triangles)
    empty, offsets = concatenate([])
    assert empty.edges.shape == (0, 2) and offsets.tolist() == [0]


def bow_tie(sheets: int) -> Mesh:
    """Closed or open fans that share vertex 0 only."""
    parts = [sphere(subdivisions=0) for _ in range(sheets)]
    X = np.concatenate([part.X - part.X[0] + (5 * k, 0, 0) for k, part in enumerate(parts)])
    triangles = np.concatenate([part.triangles + 12 * k for k, part in enumerate(parts)])
    triangles[triangles % 12 == 0] = 0
    keep = np.setdiff1d(np.arange(len(X)), 12 * np.arange(1, sheets))
    return Mesh(X[keep], np.searchsorted(keep, triangles))


@pytest.mark.parametrize(
    ("X", "triangles", "word"),
    [
        (SQUARE, np.zeros((0, 3)), "no triangles"),
        (SQUARE * (1, np.nan, 1), TWO, "finite"),
        (SQUARE, [[0, 1, 4], [0, 2, 3]], "index"),
        (SQUARE, [[0, 1, -1], [0, 2, 3]], "index"),
        (SQUARE, [[0, 1, 2]], "no triangle uses"),
        (SQUARE * (1, 0, 1), TWO, "without area"),
        (SQUARE, [[0, 1, 2], [0, 1, 1], [0, 2, 3]], "without area"),
        (SQUARE, [[0, 1, 2], [0, 2, 3], [2, 0, 1]], "twice"),
        (SQUARE, [[0, 1, 2], [0, 3, 2]], "oriented"),
        (np.vstack((SQUARE, [[0, 0, 1]])), [[0, 1, 2], [0, 2, 3], [0, 2, 4]], "more than two"),
        (bow_tie(2).X, bow_tie(2).triangles, "touch at vertex 0"),
        (SQUARE * (1, 1e-4, 1), TWO, "2 sliver triangles.* 1.0e-04 of its longest edge"),
        (np.vstack((SQUARE[:3], [[0.4999, 0.5, 0]])), TWO, "a sliver triangle, triangle 1, whose"),
    ],
)
def test_bad_meshes_are_named(X, triangles, word):
    with pytest.raises(SceneError, match=word) as caught:
        check_manifold(Mesh(X, np.asarray(triangles)), "patch.obj")
    message = str(caught.value)
    assert "patch.obj" in message and message.endswith(".") and "\n" not in message


def test_two_open_fans_at_a_vertex_are_refused():
    X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [-1, 0, 0], [-1, -1, 0]], dtype=float)
    with pytest.raises(SceneError, match="touch at vertex 0"):
        check_manifold(Mesh(X, np.array([[0, 1, 2], [0, 3, 4]])), "tie")


def test_names_and_remedies_can_be_a_files_own():
    names = Names(lambda i: f"vertex {i + 1}", lambda t: f"face {10 * t}")
    with pytest.raises(SceneError, match=r"the edge between vertex 3 and vertex 1 traverse it in the same.*: mend it"):
        check_manifold(Mesh(SQUARE, np.array([[0, 1, 2], [0, 3, 2]])), "a", names=names, mend="mend it")
    X = np.vstack((SQUARE, [[0, 0, 1]]))
    fins = Mesh(X, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 4]]))
    with pytest.raises(SceneError, match="split or remove"):
        check_manifold(fins, "a", names=names, mend="mend it")
    with pytest.raises(SceneError, match="face 20 repeats face 0"):
        check_manifold(Mesh(SQUARE, np.array([[0, 1, 2], [0, 2, 3], [2, 0, 1]])), "a", names=names)


def test_flatness_is_height_over_longest_edge():
    mesh = Mesh(np.array([[0, 0, 0], [4, 0, 0], [1, 0.5, 0], [2, 0, 0]]), np.array([[0, 1, 2], [0, 1, 3], [0, 0, 0]]))
    np.testing.assert_allclose(flatness(mesh), [0.125, 0, 0])


def test_duplicates_name_the_earliest():
    again, earliest = find_duplicates(np.array([[5, 6, 7], [0, 1, 2], [2, 0, 1], [3, 1, 0], [1, 0, 2]]))
    assert again.tolist() == [2, 4] and earliest.tolist() == [1, 1]


def test_all_flaws_of_one_mesh():
    X = np.vstack((SQUARE, [[0, 0, 1], [9, 9, 9]]))
    flaws = [flaw.clause for flaw in find_flaws(Mesh(X, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 4], [1, 0, 2]])))]
    assert len(flaws) == 3
    for flaw, words in zip(flaws, ("no triangle uses", "triangle 3 repeats triangle 0", "more than two"), strict=True):
        assert words in flaw


def test_three_sheets_on_one_edge_are_one_fan():
    # not a manifold, but not for touching in a vertex
    X = np.vstack((SQUARE, [[0, 0, 1]]))
    flaws = [flaw.clause for flaw in find_flaws(Mesh(X, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 4]])))]
    assert len(flaws) == 1 and "more than two" in flaws[0]
