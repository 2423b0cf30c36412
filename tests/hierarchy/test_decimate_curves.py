"""Boundaries, seams, groups and fixed vertices keep what is theirs through decimation."""

import numpy as np
import pytest
from tests.hierarchy.surfaces import bare, disc_with_holes, on_rim

from plisse.core.arrays import Bools, Floats
from plisse.core.mesh import Mesh
from plisse.hierarchy.decimate import Decimation, decimate
from plisse.shapes import catalogue


def sheet() -> Mesh:
    return bare(catalogue.grid(vertices=2500))


def on_group(found: Decimation, group: Bools) -> Floats:
    """How much of each fine vertex's weight is on coarse vertices of a group, on the coarsest level."""
    triangles, weights = found.places[0, len(found.meshes) - 1]
    return np.asarray((weights * group[found.ids[0]][found.meshes[0].triangles[triangles]]).sum(axis=1))


def area_of(corners: Floats) -> Floats:
    """Signed areas of triangles in the plane (m, 3, 2)."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return np.asarray(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))


@pytest.mark.parametrize("shape", ["disc", "square", "row", "end of a row", "point", "two"])
def test_groups_keep_their_outline(shape: str) -> None:
    mesh = sheet()
    x, y = mesh.X[:, 0] - mesh.X[:, 0].mean(), mesh.X[:, 1] - mesh.X[:, 1].mean()
    groups = {
        "disc": [np.hypot(x, y) < 0.3],
        "square": [(np.abs(x) < 0.26) & (y > 0.1)],
        "row": [y > y.max() - 1e-9],
        "end of a row": [(y > y.max() - 1e-9) & (x < 0.0)],
        "point": [np.arange(len(x)) == np.argmin(np.hypot(x, y))],
        "two": [np.hypot(x, y) < 0.3, x < 0.1],
    }[shape]
    found = decimate(mesh, [len(x) // 20, len(x) // 5], groups=groups)
    for group in groups:
        share = on_group(found, group)
        assert share[group].min() > 1.0 - 1e-9
        assert share[~group].max() < 1.0 - 1e-9
    reached = len(found.meshes[0].X)
    assert reached == len(x) // 20 or (found.stopped is not None and found.stopped.refused)
    assert reached < len(x) // 4


def jagged(seed: int) -> tuple[Mesh, dict[str, Bools]]:
    """An unstructured sheet with a disc and a box of vertices, whose borders turn at almost every one of theirs."""
    mesh = bare(catalogue.grid(vertices=5000, diagonals="delaunay", seed=seed))
    x, y = mesh.X[:, 0], mesh.X[:, 1]
    x, y = x - x.min(), y - y.min()
    return mesh, {
        "disc": np.hypot(x - 0.3, y - 0.3) < 0.2,
        "box": (np.abs(x - 0.7) < 0.2) & (np.abs(y - 0.65) < 0.25),
    }


# a disc with hardly a dozen vertices on its rim is smaller than a round one
@pytest.mark.parametrize(("part", "excess", "loss"), [(20, 1.0, 0.04), (60, 1.25, 0.15)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_jagged_borders_of_groups_grow_coarse(part: int, excess: float, loss: float, seed: int) -> None:
    mesh, groups = jagged(seed)
    found = decimate(mesh, [len(mesh.X) // part], groups=list(groups.values()))
    assert len(found.meshes[0].X) <= excess * (len(mesh.X) // part)
    coarse, edge = found.meshes[0], found.meshes[0].edge_lengths.mean()
    for group in groups.values():
        share = on_group(found, group)
        assert share[group].min() > 1.0 - 1e-9
        assert share[~group].max() < 1.0 - 1e-9
        areas = [
            level.triangle_areas[group[ids][level.triangles].all(axis=1)].sum()
            for level, ids in zip(found.meshes, found.ids, strict=True)
        ]
        assert areas[0] == pytest.approx(areas[1], rel=loss)
    box, low, high = groups["box"], mesh.X[groups["box"]].min(axis=0), mesh.X[groups["box"]].max(axis=0)
    for corner in ((low[0], low[1]), (low[0], high[1]), (high[0], low[1]), (high[0], high[1])):
        away = np.linalg.norm(coarse.X[box[found.ids[0]], :2] - corner, axis=1)
        assert away.min() < 0.5 * edge


def test_jagged_seams_of_texture_charts_grow_coarse() -> None:
    mesh, groups = jagged(0)
    chart = groups["disc"][mesh.triangles].all(axis=1)
    uv = mesh.X[mesh.triangles][..., :2] + np.where(chart, 2.0, 0.0)[:, None, None]
    mesh = Mesh(mesh.X, mesh.triangles, uv)
    found = decimate(mesh, [len(mesh.X) // 60])
    assert found.stopped is None
    coarse = found.meshes[0]
    assert coarse.uv is not None
    given, area = area_of(uv), area_of(coarse.uv)
    assert (np.sign(area) == np.sign(given[0])).all()
    apart = coarse.uv[:, 0, 0] > 1.5
    assert (coarse.uv[apart] > 1.0).all()
    assert area[apart].sum() == pytest.approx(given[chart].sum(), rel=0.1)
    assert area.sum() == pytest.approx(given.sum(), rel=1e-9)


def test_a_triangle_with_two_sides_on_the_rim_is_taken_up_by_its_tip() -> None:
    # the rim's corner triangles are ears; their sides shrink towards the corner, which stays
    mesh = bare(catalogue.grid(vertices=400, diagonals="uniform"))
    found = decimate(mesh, [4])
    assert len(found.meshes[0].X) == 4
    assert np.array_equal(np.sort(found.meshes[0].X[:, 0]), np.sort([mesh.X[:, 0].min(), mesh.X[:, 0].max()] * 2))


def test_fixed_vertices_are_untouched() -> None:
    mesh = sheet()
    rng = np.random.default_rng(0)
    fixed = rng.random(len(mesh.X)) < 0.01
    found = decimate(mesh, [len(mesh.X) // 20], fixed=fixed)
    stay = np.searchsorted(found.ids[0], np.flatnonzero(fixed))
    assert np.array_equal(found.ids[0][stay], np.flatnonzero(fixed))
    assert np.array_equal(found.meshes[0].X[stay], mesh.X[fixed])
    triangles, weights = found.places[0, 1]
    assert (weights[fixed].max(axis=1) == 1.0).all()
    own = found.meshes[0].triangles[triangles[fixed], weights[fixed].argmax(axis=1)]
    assert np.array_equal(own, stay)


def test_straight_rims_and_corners_stay() -> None:
    mesh = sheet()
    coarse = decimate(mesh, [len(mesh.X) // 60]).meshes[0]
    assert coarse.triangle_areas.sum() == pytest.approx(mesh.triangle_areas.sum(), rel=1e-12)
    low, high = mesh.X.min(axis=0), mesh.X.max(axis=0)
    rim = coarse.X[on_rim(coarse)]
    assert (((rim == low) | (rim == high))[:, :2].any(axis=1)).all()


def test_round_rims_lose_little() -> None:
    mesh = disc_with_holes(0.03)
    found = decimate(mesh, [len(mesh.X) // 16])
    coarse = found.meshes[0]
    assert coarse.triangle_areas.sum() == pytest.approx(mesh.triangle_areas.sum(), rel=0.02)
    # points on a rim stay on it
    triangles, weights = found.places[0, 1]
    rim = on_rim(coarse)[coarse.triangles[triangles]]
    assert (weights * rim).sum(axis=1)[on_rim(mesh)].min() > 1.0 - 1e-9


@pytest.mark.parametrize("fraction", [4, 40])
def test_texture_coordinates_along_a_seam(fraction: int) -> None:
    mesh = catalogue.cylinder(around=60, closed=False)
    assert mesh.uv is not None
    coarse = decimate(mesh, [len(mesh.X) // fraction]).meshes[0]
    assert coarse.uv is not None
    # it is a rectangle with straight sides, two of them sewn together
    area, given = area_of(coarse.uv), area_of(mesh.uv)
    assert (np.sign(area) == np.sign(given[0])).all()
    assert area.sum() == pytest.approx(given.sum(), rel=1e-9)
    assert coarse.uv.min() == mesh.uv.min() and coarse.uv.max() == mesh.uv.max()


def test_texture_coordinates_of_a_flat_sheet_are_exact() -> None:
    mesh = catalogue.grid(0.8, 0.6, vertices=2500)
    assert mesh.uv is not None
    flat = np.column_stack((mesh.X[:, :2].repeat(1, axis=0), np.ones(len(mesh.X))))
    linear = np.linalg.lstsq(flat[mesh.triangles.ravel()], mesh.uv.reshape(-1, 2), rcond=None)[0]
    coarse = decimate(mesh, [len(mesh.X) // 40]).meshes[0]
    assert coarse.uv is not None
    expected = np.column_stack((coarse.X[:, :2], np.ones(len(coarse.X)))) @ linear
    assert np.abs(coarse.uv - expected[coarse.triangles]).max() < 1e-10


def test_a_pattern_stays_a_pattern() -> None:
    tube = catalogue.cylinder(0.2, 0.6, around=60, closed=False)
    assert tube.uv is not None
    rest = np.concatenate((tube.uv * (0.4 * np.pi, 0.6), np.zeros((*tube.uv.shape[:2], 1))), axis=2)
    mesh = Mesh(tube.X, tube.triangles, None, rest)
    found = decimate(mesh, [len(mesh.X) // 40, len(mesh.X) // 6])
    for coarse in found.meshes[:-1]:
        assert coarse.uv is None and coarse.rest is not None
        assert not coarse.rest[..., 2].any()
        area = area_of(coarse.rest[..., :2])
        assert (np.sign(area) == np.sign(area_of(rest[:1, :, :2]))[0]).all()
        assert area.sum() == pytest.approx(area_of(rest[..., :2]).sum(), rel=1e-9)
        # both sides of the seam have the same length still
        seam = np.abs(coarse.rest[..., 0] - coarse.rest[..., 0].max()) < 1e-12
        assert seam.any()


def test_ears_and_bridges_are_refused() -> None:
    # a strip of triangles has nothing but ears and bridges inside, and straight rims that may shrink
    top = np.column_stack((np.arange(30.0), np.ones(30), np.zeros(30)))
    X = np.concatenate((top - (0.0, 1.0, 0.0), top))
    k = np.arange(29)
    mesh = Mesh(X, np.concatenate((np.stack((k, k + 1, k + 31), 1), np.stack((k, k + 31, k + 30), 1))))
    found = decimate(mesh, [4])
    assert found.meshes[0].triangle_areas.sum() == pytest.approx(29.0)
    assert found.stopped is not None and "bridge" in found.stopped.refused
