"""Hierarchies that begin with the finest mesh: the user's mesh, pins and groups are those of the finest level."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.hierarchy.expand import Expansion
from plisse.hierarchy.hierarchy import KINDS, Hierarchy, Plan, build_hierarchy
from plisse.hierarchy.maps import LevelMap, LinearMap
from plisse.hierarchy.subdivision import Subdivision
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.shapes.catalogue import grid
from plisse.solve.newton import make_newton


class Reversed(Hierarchy):
    """A subdivided grid whose own vertex numbers are shuffled: the coarser levels have to be found from the finest."""

    def __init__(self, bodies: Sequence[Mesh], levels: int) -> None:
        (fine,) = bodies
        self._known = Subdivision([coarse_grid()], levels=levels, rules=["linear"])
        (own,) = self._known.levels[-1]
        # the user's vertex of each vertex of the subdivided mesh
        order = np.lexsort(fine.X.T)[np.argsort(np.lexsort(own.X.T))]
        assert np.allclose(fine.X[order], own.X)
        self._order = order.astype(np.int32)
        self.levels = (*self._known.levels[:-1], (fine,))
        self.given, self.nested = levels - 1, (True,)

    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        known = self._known.between(coarse, fine, bodies=bodies)
        if fine < self.finest or coarse == fine:
            return known
        matrix = known.matrix[np.argsort(self._order)]
        return LinearMap(matrix, kept=self._order[known.kept])

    def smooth_between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        return self.between(coarse, fine, bodies=bodies)

    def expansion(self, coarse: int, *, seed: int = 0) -> Expansion:
        from plisse.hierarchy.expand import MidpointExpansion

        step = self.between(coarse, coarse + 1)
        assert isinstance(step, LinearMap)
        return MidpointExpansion(step)


def coarse_grid() -> Mesh:
    return grid(0.6, 0.6, resolution=6, diagonals="uniform")


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind "loop" of scene files, made from the finest mesh."""
    monkeypatch.setitem(KINDS, "loop", lambda plan: Reversed(plan.bodies, plan.levels))
    use_threads(1)
    yield


def make_session(tmp_path: Path) -> Session:
    fine = Subdivision([coarse_grid()], levels=3, rules=["linear"]).levels[-1][0]
    rank = np.random.default_rng(4).permutation(len(fine.X))
    X = np.empty_like(fine.X)
    X[rank] = fine.X
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in X]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in rank[fine.triangles]]
    (tmp_path / "fine.obj").write_text("".join(lines))
    shell = {"file": "fine.obj", "pin": [{"box": [[-0.31, -0.31, -1], [-0.29, 0.31, 1]]}]}
    return open_session(scene_from_dict({"shell": [shell], "hierarchy": {"levels": 3}}, tmp_path), tmp_path)


def test_the_users_mesh_is_the_finest_level_with_its_own_numbers(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    ladder = session.ladder
    assert ladder.hierarchy.given == session.finest == 2
    assert ladder.geometry(2) is ladder.given
    sizes = [len(ladder.geometry(level).shells[0].X) for level in range(3)]
    assert sizes == [49, 169, 625]


def test_pins_and_places_are_carried_down(tmp_path: Path) -> None:
    ladder = make_session(tmp_path).ladder
    for level, count in ((0, 7), (1, 13), (2, 25)):
        geometry = ladder.geometry(level)
        (chosen,) = geometry.pins[0]
        assert len(chosen) == count
        assert geometry.shell_positions[0][chosen, 0] == pytest.approx(-0.3, abs=1e-12)
        assert np.array_equal(geometry.shell_positions[0], geometry.shells[0].X)


def test_it_is_previewed_and_refined_to_the_users_mesh(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    for _ in session.preview():
        pass
    *_, state = session.refine()
    assert state.level == 2 and state.converged and len(state.x) == 625
    (chosen,) = session.ladder.given.pins[0]
    assert np.array_equal(state.x[chosen], session.ladder.given.shell_positions[0][chosen])
    # it hangs from its side
    assert state.x[:, 2].min() < -0.3


def test_a_kind_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(SceneError, match='no hierarchy of the kind "octree": choose from decimation, loop'):
        build_hierarchy("octree", Plan([coarse_grid()], rules=["linear"], levels=2))


def test_a_newton_is_made_once_a_level(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    first = session.newton
    for _ in session.preview():
        pass
    assert type(session.newton) is type(make_newton()) and session.newton is not first
