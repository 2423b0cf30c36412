"""What is drawn of a scene: surfaces with their colours, half-spaces, and what is framed."""

import numpy as np
import pytest

from plisse.core.mesh import Mesh
from plisse.pictures.stage import COLLIDER_COLOR, SHELL_COLORS, set_stage
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.scene import Scene, Shell
from plisse.scene.sources import MeshSource

SHEET = MeshSource(shape="grid")
TRIANGLE = Mesh(np.eye(3), np.array([[0, 1, 2]]))


def test_parts_have_their_rows_colours_and_framing() -> None:
    shells = tuple(Shell(name=f"shell-{k}", mesh=SHEET) for k in range(len(SHELL_COLORS) + 1))
    colliders = (
        Collider(name="floor", half_space=HalfSpace()),
        Collider(name="block", mesh=MeshSource(shape="box")),
        Collider(name="walker", mesh=MeshSource(sequence="walk")),
    )
    stage = set_stage(Scene(shells=shells, colliders=colliders), [TRIANGLE] * 9)
    assert [part.name for part in stage.parts] == [*(shell.name for shell in shells), "block", "walker"]
    assert [(part.first, part.last) for part in stage.parts] == [(3 * k, 3 * k + 3) for k in range(9)]
    assert [part.color for part in stage.parts] == [*SHELL_COLORS, SHELL_COLORS[0], COLLIDER_COLOR, COLLIDER_COLOR]
    assert [part.framed for part in stage.parts] == [True] * 7 + [False, True]
    x = np.arange(81.0).reshape(27, 3)
    bodies = stage.show(x)
    assert np.array_equal(np.concatenate([np.asarray(body.x) for body in bodies]), x)
    assert [body.two_sided for body in bodies] == [part.is_shell for part in stage.parts]


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.08, -0.08, 1.0), (0.0, -1.0, 0.1), (0.0, 0.0, -1.0)])
def test_every_half_space_is_a_ground_and_a_square(normal: tuple[float, float, float]) -> None:
    slope = Collider(name="slope", half_space=HalfSpace(normal=normal), translate=(0.3, 0.2, -0.1))
    (plane,) = set_stage(Scene(shells=(Shell(mesh=SHEET),), colliders=(slope,)), [TRIANGLE]).planes
    unit = np.array(normal) / np.linalg.norm(normal)
    assert plane.ground.normal == pytest.approx(unit) and plane.ground.offset == pytest.approx(unit @ slope.translate)
    corners = plane.square(np.array([1.0, 2.0, 3.0]), 4.0)
    assert corners @ unit == pytest.approx(np.full(4, plane.ground.offset))
    a, b, c, _ = corners
    assert np.cross(b - a, c - b) == pytest.approx(64.0 * unit)
