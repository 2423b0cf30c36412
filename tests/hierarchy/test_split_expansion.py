"""Vertex splits: the finer mesh is what comes out, nothing crosses on the way, and what cannot be placed is said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.bench.climb import gallery_scene
from plisse.bench.folds import FOLDS, Folded, expand, fold
from plisse.contact.check import Detector
from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh, concatenate
from plisse.core.potential import Clock, frozen
from plisse.hierarchy.decimate import decimate
from plisse.hierarchy.relax import relax_target
from plisse.hierarchy.split_expansion import SplitExpansion
from plisse.hierarchy.splits import OfBody, find_splits
from plisse.kernels.crossing import Clearance, Scenery, keeps_clear, pierces
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.runs.opening import open_session
from plisse.shapes.catalogue import make_shape
from plisse.solve.newton import make_newton


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


# --- the record of splits ---------------------------------------------------------------------------------------------


def test_splits_of_several_bodies_lead_to_the_finer_meshes() -> None:
    ball, sheet, still = (
        make_shape("sphere", {"subdivisions": 3}),
        make_shape("grid", {"vertices": 500, "diagonals": "delaunay"}),
        make_shape("box", {"resolution": 3}),
    )
    known = [decimate(mesh, [100, 250]) for mesh in (ball, sheet)]
    bodies = [OfBody(known[0].meshes[2], known[0], 0, 2), OfBody(still), OfBody(known[1].meshes[1], known[1], 0, 1)]
    splits = find_splits(bodies)
    fine, _ = concatenate([body.mesh for body in bodies])
    coarse, _ = concatenate([known[0].meshes[0], still, known[1].meshes[0]])
    there = splits.triangles[:, 0] >= 0
    assert np.array_equal(splits.triangles[there], splits.kept[coarse.triangles])
    assert splits.vertices == len(fine.X)
    # undone one after the other, batch by batch, they leave the finer triangles
    triangles, record = splits.triangles.copy(), splits.record
    for c in np.concatenate(splits.batches):
        for f in record.moved[record.moved_start[c] : record.moved_start[c + 1]]:
            triangles[f] = np.where(triangles[f] == record.kept[c], record.new[c], triangles[f])
        for f, corners in zip(record.faces[c], record.corners[c], strict=True):
            if f >= 0:
                triangles[f] = corners
    assert np.array_equal(triangles, fine.triangles)
    new = np.sort(np.concatenate([splits.kept, record.new]))
    assert np.array_equal(new, np.arange(len(fine.X)))


# --- whether two triangles keep clear ---------------------------------------------------------------------------------


def scenery(X: Floats, *, body: list[int], offset: float = 0.01, dhat: float = 0.01) -> Scenery:
    n = len(X)
    return Scenery(X, np.array(body, np.int32), np.ones(n, np.uint8), np.empty((0, 4)), offset, dhat)


def test_crossing_is_found_as_the_detector_finds_it() -> None:
    rng = np.random.default_rng(5)
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    asked, hits = Clearance(0.0, 0.0), 0
    for _ in range(3000):
        x = rng.normal(size=(6, 3))
        mesh = Mesh(x, faces)
        crossed = Detector(x, mesh.edges, faces, 6).count(x) > 0
        hits += crossed
        rest = scenery(x, body=[0, 0, 0, 1, 1, 1], offset=1e-12, dhat=1e-12)
        assert keeps_clear(x, rest, faces[0], faces[1], asked) != crossed
    assert 300 < hits < 2700


@pytest.mark.parametrize("gap", [0.005, 0.0149, 0.0151, 0.03])
@pytest.mark.parametrize("same", [True, False])
def test_distances_are_asked_by_the_rule_of_contact(gap: float, same: bool) -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, gap], [0.3, 0.2, 1], [0.2, 0.3, 1]], float)
    faces, asked = np.array([[0, 1, 2], [3, 4, 5]], np.int32), Clearance(1.0, 0.5)
    far = scenery(x + np.array([[0, 0, 0]] * 3 + [[0, 0, 5]] * 3), body=[0, 0, 0] + [0 if same else 1] * 3)
    assert keeps_clear(x, far, faces[0], faces[1], asked) == (gap > 0.015)
    # neighbours at rest, 0.02 apart, are asked for a quarter of that, and half as much again
    near = scenery(x + np.array([[0, 0, 0]] * 3 + [[0, 0, 0.02 - gap]] * 3), body=[0, 0, 0] + [0 if same else 1] * 3)
    assert keeps_clear(x, near, faces[0], faces[1], asked) == (gap > (0.0075 if same else 0.015))


def test_an_edge_that_passes_beside_a_triangle_does_not_pierce_it() -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, -1], [0.3, 0.3, 1], [0.8, 0.8, -1], [0.8, 0.8, 1]], float)
    assert pierces(x, 3, 4, 0, 1, 2) and pierces(x, 4, 3, 0, 1, 2)
    assert not pierces(x, 5, 6, 0, 1, 2) and not pierces(x, 3, 5, 0, 1, 2)


# --- folded states ----------------------------------------------------------------------------------------------------


def folded_states(count: int) -> list[Folded]:
    made = (fold(seed) for seed in range(1000))
    found = []
    for each in made:
        if each is not None:
            found.append(each)
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("smooth", [False, True])
def test_folded_states_grow_without_crossing_anything(smooth: bool) -> None:
    kinds = set()
    for folded in folded_states(12):
        found = expand(folded, smooth=smooth)
        assert found.crossings == 0 and found.missing == 0 and found.batches > 3
        kinds.add(folded.kind)
    assert len(kinds) >= 3 and kinds <= set(FOLDS)


@pytest.mark.parametrize("seed", [277, 1297])
def test_borders_leave_no_slivers_of_which_rounding_decides_whether_they_cross(seed: int) -> None:
    folded = fold(seed)
    assert folded is not None
    found = expand(folded, seed=seed + 1, smooth=seed % 2 == 0)
    assert found.crossings == 0 and found.missing == 0


@pytest.mark.slow
def test_a_hundred_folded_states_grow_or_are_refused() -> None:
    for folded in folded_states(100):
        assert expand(folded).crossings == 0


def test_the_same_seed_makes_the_same_start() -> None:
    (folded,) = folded_states(1)
    a, b = expand(folded, seed=3), expand(folded, seed=3)
    assert np.array_equal(a.x, b.x) and np.array_equal(a.tally.ends, b.tally.ends)


def test_a_state_at_rest_arrives_at_once() -> None:
    sheet = make_shape("grid", {"vertices": 600, "diagonals": "jittered"})
    known = decimate(sheet, [150])
    found = expand(Folded("flat", known, known.meshes[0].X, 1e-3))
    assert np.abs(found.x - sheet.X).max() < 1e-12
    assert found.tally.ends[1] == len(sheet.X) - len(known.meshes[0].X) and found.tally.behind == 0


# --- in a scene -------------------------------------------------------------------------------------------------------


def make(**more: Any) -> Any:
    table = {
        "shell": [{"shape": "grid", "vertices": 400, "width": 0.5, "height": 0.5, "material": "cotton"}],
        "hierarchy": {"kind": "decimation", "levels": [100]},
    } | more
    return open_session(scene_from_dict(table, Path()))


def test_a_vertex_without_a_place_is_named_and_the_preview_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import plisse.hierarchy.split_expansion as module

    session = make()
    for _ in session.preview():
        pass
    before = session.grid.last(0)

    def nowhere(mesh: Any, scenery: Any, record: Any, batch: Any, *rest: Any) -> None:
        rest[-1][:] = module.STUCK

    monkeypatch.setattr(module, "split_batch", nowhere)
    with pytest.raises(SceneError, match=r"Level 1 cannot be reached .* the first beside vertex \d+ of"):
        for _ in session.refine():
            pass
    assert session.grid.last(0) is before and session.grid.last(1) is None


def test_expansion_keeps_away_from_colliders_and_floors() -> None:
    session = make(
        collider=[{"shape": "sphere", "radius": 0.15, "translate": [0, 0, -0.16]}, {"shape": "floor", "height": -0.3}]
    )
    for _ in session.preview():
        pass
    below, ladder = session.grid.last(0), session.ladder
    expansion = ladder.hierarchy.expansion(0)
    assert isinstance(expansion, SplitExpansion)
    target = ladder.hierarchy.between(0, 1)(below.x)
    steps = expansion(below.x, target, lambda x: ladder.problem(1, start=x), make_newton(), Clock(), h=0.3)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            start = done.value
            break
    assert Detector.of(start.problem).count(start.x) == 0 and start.problem.clearance(start.x) > 1.0
    shell = start.problem.bodies.is_simulated
    assert np.linalg.norm((start.x - target)[shell], axis=1).max() < 0.05


def test_flat_shells_are_not_drawn_through_themselves_before_they_are_split() -> None:
    """Without contact a strained state would let go: flat ones are left where the coarse surface has them."""
    session = make()
    problem, (X,) = session.ladder.problem(1), session.ladder.given.shell_positions
    strained = frozen(X * np.array([1.2, 0.9, 1.0]))
    flat, curved = np.zeros(len(X), bool), np.ones(len(X), bool)
    assert relax_target(problem, make_newton(), Clock(), strained, flat, 0.05) is strained
    assert np.abs(relax_target(problem, make_newton(), Clock(), strained, curved, 0.05) - strained).max() > 1e-3


@pytest.mark.slow
def test_a_balloon_at_its_strain_limit_is_refined_among_its_own_layers() -> None:
    """Its layers press on each other, and where its finer vertices are wanted they would cross."""
    scene = gallery_scene("23-character", sets=("shell.resolution=30", "hierarchy.levels=[350]"), tol=None)
    session = open_session(scene)
    for _ in session.preview():
        pass
    looks = 0
    for state in session.refine():
        if state.level == 1:
            break
        looks += 1
    assert session.problem is not None and session.problem.strain_limit is not None
    assert looks < 200 and session.problem.strain_limit.max_stretch_over_limit(session.problem.x0) < 1.0
    assert Detector.of(session.problem).count(session.problem.x0) == 0
