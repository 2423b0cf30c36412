"""Selections of vertices."""

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.core.shapes import disc, grid, sphere
from plisse.scene.pins import Ball, Pin, select_vertices

SHEET = grid(resolution=10)


def select(pin, mesh=SHEET, shift=(0, 0, 0)):
    return select_vertices(pin, mesh, mesh.X + np.array(shift))


def test_corners_and_boundary():
    assert select(Pin(corners=True)).tolist() == [0, 10, 110, 120]
    assert len(select(Pin(boundary=True))) == 40
    assert select(Pin(corners=True)).dtype == np.int32


def test_indices_box_and_sphere():
    assert select(Pin(vertices=(5, 3, 5))).tolist() == [3, 5]
    edge = select(Pin(box=((-0.5, -0.5, 1), (-0.5, 0.5, 1))), shift=(0, 0, 1))
    assert edge.tolist() == list(range(0, 121, 11))
    assert select(Pin(sphere=Ball((-0.5, -0.5, 0), 0.11))).tolist() == [0, 1, 11]


@pytest.mark.parametrize(
    ("pin", "mesh", "word"),
    [
        (Pin(vertices=(400,)), SHEET, "names vertex 400"),
        (Pin(vertices=()), SHEET, "selects no vertex"),
        (Pin(box=((5, 5, 5), (6, 6, 6))), SHEET, "selects no vertex"),
        (Pin(boundary=True), sphere(), "selects no vertex"),
        (Pin(corners=True), disc(), "selects no vertex"),
    ],
)
def test_empty_selections(pin, mesh, word):
    with pytest.raises(SceneError, match=word):
        select(pin, mesh)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"corners": True, "boundary": True},
        {"corners": 1},
        {"vertices": "0"},
        {"vertices": [-1]},
        {"box": [[0, 0, 0]]},
        {"box": [[1, 0, 0], [0, 0, 0]]},
        {"boundary": True, "pivot": 3},
    ],
)
def test_bad_pins(values):
    with pytest.raises(SceneError):
        Pin(**values)
