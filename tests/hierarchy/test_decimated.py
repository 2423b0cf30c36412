"""Maps through decimated levels: rest shapes, rigid motions, linear parts, several bodies."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plisse.core.mesh import Mesh
from plisse.hierarchy.decimated import Decimated
from plisse.hierarchy.hierarchy import Plan
from plisse.hierarchy.maps import LinearMap
from plisse.kernels.threads import use_threads
from plisse.progressive.metrics import Projection
from plisse.shapes.catalogue import make_shape

SHAPES: dict[str, dict[str, Any]] = {
    "grid": {"vertices": 1200, "diagonals": "jittered"},
    "disc": {"vertices": 1200},
    "dome": {"vertices": 1200},
    "torus": {"around": 60, "across": 20},
    "bunny": {"resolution": 32},
    "hat": {"vertices": 1200},
}
PARTS = (1 / 30, 1 / 12, 1 / 4)
SHELLS = ("linear", "smooth", "shell", "printed")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    use_threads(1)


def make(mesh: Mesh, rule: str = "shell") -> Decimated:
    return Decimated(Plan([mesh], rules=[rule], levels=len(PARTS) + 1, parts=PARTS))


def pairs(known: Decimated) -> list[tuple[int, int]]:
    return list(combinations(range(len(known.levels)), 2))


@pytest.mark.parametrize("rule", SHELLS)
@pytest.mark.parametrize("name", SHAPES)
def test_rest_shapes_and_rigid_motions_are_kept_exactly(name: str, rule: str) -> None:
    known = make(make_shape(name, SHAPES[name]), rule)
    turn, way = Rotation.from_rotvec([0.7, -1.1, 0.4]).as_matrix().T, np.array([3.0, -2.0, 5.0])
    for coarse, fine in pairs(known):
        (X,), (Y,) = ([mesh.X for mesh in known.levels[level]] for level in (coarse, fine))
        P, size = known.between(coarse, fine), float(np.ptp(Y, axis=0).max())
        assert np.abs(P(X) - Y).max() <= 1e-12 * size
        # about a place that is 6 m away, to whose size rounding belongs
        assert np.abs(P(X @ turn + way) - (Y @ turn + way)).max() <= 1e-12 * (size + np.linalg.norm(way))
        assert np.abs(P.restrict(Y @ turn + way) - (X @ turn + way)).max() <= 1e-9 * size


@pytest.mark.parametrize("name", SHAPES)
def test_linear_parts_are_convex_and_have_full_column_rank(name: str) -> None:
    known = make(make_shape(name, SHAPES[name]))
    for coarse, fine in pairs(known):
        U = known.between(coarse, fine).linear
        assert isinstance(U, LinearMap)
        assert np.diff(U.matrix.indptr).max() <= 3 and U.matrix.data.min() >= 0.0
        assert np.asarray(U.matrix.sum(axis=1)) == pytest.approx(1.0, abs=1e-12)
        # of full column rank, every coarse field is found again from its fine values
        field = np.random.default_rng(5).normal(size=(U.coarse, 3))
        assert Projection(U)(U(field)) == pytest.approx(field, abs=1e-8)


def test_linear_fields_on_flat_sheets_are_reproduced() -> None:
    known = make(make_shape("grid", SHAPES["grid"]))
    for coarse, fine in pairs(known):
        (X,), (Y,) = ([mesh.X for mesh in known.levels[level]] for level in (coarse, fine))
        assert np.abs(known.between(coarse, fine).linear(X) - Y).max() < 1e-10


def test_bodies_have_their_own_levels_side_by_side() -> None:
    sheet, ball, dome = (make_shape(name, SHAPES[name]) for name in ("grid", "torus", "dome"))
    plan = Plan([sheet, ball, dome], rules=["linear", None, "linear"], levels=2, parts=(0.1,))
    known = Decimated(plan)
    sizes = [len(mesh.X) for mesh in known.levels[0]]
    assert sizes[1] == len(ball.X) and sizes[0] < 0.12 * len(sheet.X) and sizes[2] < 0.12 * len(dome.X)
    X, Y = (np.concatenate([mesh.X for mesh in level]) for level in known.levels)
    assert np.abs(known.between(0, 1)(X) - Y).max() < 1e-12
    shells = known.between(0, 1, bodies=1)
    assert (shells.coarse, shells.fine) == (sizes[0], len(sheet.X))
