"""Surfaces placed in the world."""

from pathlib import Path

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.loads import Pressure
from plisse.scene.scene import Scene, Shell
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import grid

SHEET = MeshSource(shape="grid", parameters={"resolution": (2, 2)})


def test_scale_is_rest_and_placing_is_not():
    shell = Shell(SHEET, scale=(2, 1, 1), rotate=(0, 0, 90), translate=(0, 0, 3))
    wall = Collider("wall", mesh=SHEET, scale=2, rotate=(90, 0, 0), translate=(0, 1, 0))
    floor = Collider("floor", half_space=HalfSpace())
    geometry = load_geometry(Scene((shell,), (wall, floor), seed=4), Path("."))
    rest = grid(resolution=(2, 2), seed=4).X
    np.testing.assert_allclose(geometry.shells[0].X, rest * (2, 1, 1))
    expected = np.column_stack((-rest[:, 1], 2 * rest[:, 0], np.full(9, 3.0)))
    np.testing.assert_allclose(geometry.shell_positions[0], expected, atol=1e-15)
    assert geometry.shell_positions[0].flags.c_contiguous
    wall_expected = np.column_stack((2 * rest[:, 0], np.ones(9), 2 * rest[:, 1]))
    np.testing.assert_allclose(geometry.colliders[0].X, wall_expected, atol=1e-15)
    assert geometry.colliders[1] is None


def test_pressure_needs_a_closed_shell():
    with pytest.raises(SceneError, match="open boundary"):
        load_geometry(Scene((Shell(SHEET, pressure=Pressure(1.0)),)), Path("."))
    ball = Shell(MeshSource(shape="sphere"), pressure=Pressure(1.0))
    assert load_geometry(Scene((ball,)), Path(".")).shells[0].is_closed


def test_errors_name_the_body():
    with pytest.raises(SceneError, match=r"curtain: .*velvet\.obj does not exist"):
        load_geometry(Scene((Shell(MeshSource(file="velvet.obj"), name="curtain"),)), Path("."))
