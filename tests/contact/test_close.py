"""Neighbours that were folded together on a coarse mesh stay apart when they are subdivided."""

import numpy as np
import pytest

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface, build
from plisse.contact.check import Detector
from plisse.contact.close import FIRMNESS, SLACK, find_close
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.potential import frozen
from plisse.hierarchy.loop import subdivide
from plisse.kernels.distance import edge_edge, point_triangle


def folded(angle: float, times: int) -> tuple[Mesh, Floats]:
    """Two triangles on a common edge, folded by an angle [degrees], subdivided."""
    X = np.array([[0.0, -0.05, 0.0], [0.0, 0.05, 0.0], [-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
    mesh = Mesh(X, np.array([[0, 1, 2], [1, 0, 3]], np.int32))
    turn = np.radians(angle)
    x = X.copy()
    x[3] = [0.1 * np.cos(turn), 0.0, 0.1 * np.sin(turn)]
    for _ in range(times):
        mesh, U = subdivide(mesh, rule="linear")
        x = U(x)
    return mesh, frozen(x)


def barrier_of(mesh: Mesh, start: Floats | None) -> Barrier:
    every = np.ones(len(mesh.X), bool)
    body = np.zeros(len(mesh.X), np.int32)
    surface = CollisionSurface(
        mesh.edges, mesh.triangles, np.arange(len(mesh.X)), body, ~every, mesh.X, every, 1e-3, 1e-3
    )
    return Barrier(surface, kappa=1.0, margin=1e-4, start=start)


@pytest.mark.parametrize("angle", [178.5, 179.5, 179.99])
def test_a_sharp_fold_is_a_feasible_start_once_its_pairs_are_known(angle: float) -> None:
    mesh, x = folded(angle, 2)
    assert barrier_of(mesh, None).closest(x)[0] < 1.0
    known = barrier_of(mesh, x)
    assert known.closest(x)[0] > 1.0
    assert np.isfinite(known.value(x)) and np.isfinite(known.gradient(x)).all()


def test_pairs_that_are_not_too_close_keep_their_offset() -> None:
    mesh, x = folded(60.0, 2)
    plain, known = barrier_of(mesh, None), barrier_of(mesh, x)
    assert known.value(x) == plain.value(x) and known.closest(x)[0] == plain.closest(x)[0]


def test_only_close_pairs_are_firm_and_short_of_reach() -> None:
    mesh, x = folded(179.5, 2)
    surface = barrier_of(mesh, None).surface
    found = build(surface, x, np.zeros_like(x), 2e-2)
    relaxed, firmness = find_close(found, x, surface.body).relax(found)
    corners = x[np.concatenate([found.pt, found.ee])].reshape(-1, 12)
    d = np.array(
        [(point_triangle if k < len(found.pt) else edge_edge)(*row)[0] ** 0.5 for k, row in enumerate(corners)]
    )
    offset, dhat = (
        np.concatenate([getattr(found, f"pt_{name}"), getattr(found, f"ee_{name}")]) for name in ("offset", "dhat")
    )
    close = d <= offset * (1.0 + SLACK)
    assert 0 < close.sum() < len(close)
    np.testing.assert_array_equal(firmness, np.where(close, FIRMNESS, 1.0))
    own = np.concatenate([relaxed.pt_dhat, relaxed.ee_dhat])
    np.testing.assert_allclose(own[close], np.minimum(dhat, 0.5 * d)[close])
    np.testing.assert_array_equal(own[~close], dhat[~close])


def test_folding_on_is_stopped_before_anything_passes_through() -> None:
    mesh, x = folded(179.0, 2)
    known = barrier_of(mesh, x)
    # the upper half goes straight down through the lower one
    upper = x[:, 2] > 1e-9
    p = np.where(upper[:, None], [0.0, 0.0, -0.01], 0.0)
    step = known.max_step(x, p)
    assert 0.0 < step < 1.0
    assert (x + step * p)[upper, 2].min() > 0.0 > (x + p)[upper, 2].max()
    assert Detector(mesh.X, mesh.edges, mesh.triangles, len(mesh.X)).count(x + step * p) == 0
