"""What the user does to the scene, with a page that shows nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.pictures.stage import set_stage
from plisse.scene.schedule import transform_points
from plisse.studio.document import Document, Version
from plisse.studio.editing import Editing
from plisse.studio.form import make_form
from plisse.studio.view import View
from plisse.studio.words import Shown

from .test_work import SCENE


class Blank:
    """A page without a browser."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Desk:
    def __init__(self, folder: Path) -> None:
        self.document, self.view = Document(SCENE, folder), View()
        self.sent: list[Version] = []
        self.editing = Editing(self.document, Blank(), self.view, self.sent.append)  # type: ignore[arg-type]
        geometry = load_geometry(self.document.scene, folder)
        # the shell hangs lower than it started, and a little aside
        self.x = geometry.placed - [0.02, 0.0, 0.1]
        stage = set_stage(self.document.scene, [*geometry.shells, *geometry.solids])
        self.view.take_shown(Shown(1, 0, stage, self.x.astype(np.float32)))

    def target(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """A pin's vertices, and where they are led in the end [m]."""
        scene = self.document.scene
        geometry, pin = load_geometry(scene, self.document.base), scene.shells[0].pins[number]
        chosen, pivot = geometry.pins[0][number], pin.pivot or scene.shells[0].translate
        return chosen, transform_points(geometry.shell_positions[0][chosen], pin.motion, 1e9, pivot=pivot)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_vertices_are_held_where_they_are(desk: Desk) -> None:
    desk.editing.choose(("shell", 0))
    desk.editing.hold(0, desk.x[[3, 10]])
    chosen, places = desk.target(0)
    assert chosen.tolist() == [3, 10] and desk.editing.chosen == ("shell", 0, "pin", 0)
    np.testing.assert_allclose(places, desk.x[[3, 10]], atol=1e-5)
    assert desk.sent[-1] is desk.document.now and not desk.sent[-1].restart


def test_a_click_on_the_shell_holds_the_vertex_under_it(desk: Desk) -> None:
    desk.editing.choose(("shell", 0))
    desk.editing.on_picked(desk.x[24] + [0.001, 0.0, 1.0], np.array([0.0, 0.0, -1.0]))
    assert desk.target(0)[0].tolist() == [24]
    desk.editing.choose(("shell", 0))
    corner = int(np.argmin(desk.x[:49].sum(axis=1)))
    desk.editing.on_picked(desk.x[corner] + [-0.004, -0.004, 1.0], np.array([0.0, 0.0, -1.0]))
    assert desk.target(1)[0].tolist() == [corner], "hardly beside the edge is meant to be on it"
    before = desk.document.now
    desk.editing.on_picked(np.array([5.0, 5.0, 1.0]), np.array([0.0, 0.0, -1.0]))
    assert desk.document.now is before, "a click beside everything holds nothing"


def test_the_gizmo_of_a_pin_leads_its_vertices(desk: Desk) -> None:
    desk.editing.choose(("shell", 0))
    desk.editing.hold(0, desk.x[[3, 10]])
    pin, middle = ("shell", 0, "pin", 0), desk.x[[3, 10]].mean(axis=0)
    half_turn = np.array([0.0, 0.0, 0.0, 1.0])
    for phase, z in (("start", 0.0), ("update", 0.1), ("update", 0.2), ("end", 0.2)):
        desk.editing.on_drag(pin, phase, middle + np.array([0.0, 0.0, z]), half_turn)
    _, places = desk.target(0)
    np.testing.assert_allclose(places, desk.x[[10, 3]] + [0.0, 0.0, 0.2], atol=1e-4)
    desk.editing.on_undo()
    np.testing.assert_allclose(desk.target(0)[1], desk.x[[3, 10]], atol=1e-5, err_msg="a drag is one step back")


def test_a_gizmo_that_is_only_touched_changes_nothing(desk: Desk) -> None:
    here, turn = np.array([0.0, 0.0, 0.2]), np.array([1.0, 0.0, 0.0, 0.0])
    for phase in ("start", "update", "end"):
        desk.editing.on_drag(("shell", 0), phase, here, turn)
    assert desk.sent == [] and not desk.editing.dragging
    desk.editing.on_drag(("shell", 0), "start", here, turn)
    desk.editing.on_drag(("shell", 0), "update", here + 0.1, turn)
    desk.editing.on_drag(("shell", 0), "end", here, turn)
    assert len(desk.sent) == 2, "moved and brought back is a change"


def test_every_version_is_sent_to_be_simulated(desk: Desk) -> None:
    desk.editing.on_add("ball")
    assert desk.editing.chosen == ("collider", 2) and len(desk.sent) == 1
    desk.editing.on_act("Duplicate")
    desk.editing.on_act("Delete")
    desk.editing.on_rename("nobody")  # nothing that has a name is chosen
    desk.editing.on_undo()
    desk.editing.on_redo()
    assert [version.table for version in desk.sent][-1] == desk.document.table
    assert len(desk.sent) == 5


def test_what_is_refused_is_not_sent(desk: Desk) -> None:
    desk.editing.choose(("contact",))
    friction = next(f for part in make_form(desk.document, ("contact",)) for f in part.fields if f.label == "friction")
    with pytest.raises(SceneError, match="friction"):
        desk.editing.on_set(friction, -1.0)
    assert desk.sent == []
    with pytest.raises(SceneError, match="Choose the shell"):
        desk.editing.on_pick("Click")


def dragged(desk: Desk, path: Any, factors: list[float]) -> None:
    """Drags the gizmo so that its distance from the middle grows by these factors along the turned axes."""
    size = desk.editing._size
    assert size is not None
    corner = size.origin + size.turn @ (size.reach * factors)
    for phase, at in (("start", size.corner), ("update", 0.5 * (size.corner + corner)), ("end", corner)):
        desk.editing.on_drag(path, phase, at, np.array([1.0, 0.0, 0.0, 0.0]))


def test_the_gizmo_scales_a_collider_alike_or_along_its_axes(desk: Desk) -> None:
    path = ("collider", 0)
    desk.document.set((*path, "rotate"), [0.0, 0.0, 90.0])
    desk.editing.choose(path)
    desk.editing.on_grip("size")
    dragged(desk, path, [1.5, 1.5, 1.5])
    assert desk.document.scene.colliders[0].scale == pytest.approx((1.5, 1.5, 1.5), rel=1e-3)
    desk.editing.on_grip("size along axes")
    dragged(desk, path, [1.0, 2.0, 0.5])
    assert desk.document.scene.colliders[0].scale == pytest.approx((1.5, 3.0, 0.75), rel=1e-3)
    # the axes are those of the body, before it is turned
    box = load_geometry(desk.document.scene, desk.document.base).colliders[0]
    assert box is not None
    np.testing.assert_allclose(np.ptp(box.X, axis=0), [0.3 * 3.0, 0.3 * 1.5, 0.3 * 0.75], rtol=0.02)
    desk.editing.on_undo()
    assert desk.document.scene.colliders[0].scale == pytest.approx((1.5, 1.5, 1.5), rel=1e-3), "a drag is one step back"
    desk.editing.on_grip("move, turn")
    assert desk.editing._size is None


def test_the_gizmo_scales_what_a_pin_holds(desk: Desk) -> None:
    desk.editing.choose(("shell", 0))
    desk.editing.hold(0, desk.x[[3, 10]])
    pin, middle = ("shell", 0, "pin", 0), desk.x[[3, 10]].mean(axis=0)
    desk.editing.on_grip("size")
    dragged(desk, pin, [2.0, 2.0, 2.0])
    _, places = desk.target(0)
    np.testing.assert_allclose(places, middle + 2.0 * (desk.x[[3, 10]] - middle), atol=1e-4)


def test_a_half_space_has_no_size(desk: Desk) -> None:
    desk.editing.on_grip("size")
    desk.editing.choose(("collider", 1))
    desk.editing.show_place()
    assert desk.editing._size is None


def test_vertices_are_held_by_springs_where_that_is_chosen(desk: Desk) -> None:
    desk.editing.choose(("shell", 0))
    desk.editing.on_hold_how("by springs")
    desk.editing.hold(0, desk.x[[3]])
    assert desk.document.scene.shells[0].pins[0].stiffness == 20.0
    desk.editing.on_hold_how("firmly")
    desk.editing.choose(("shell", 0))
    desk.editing.hold(0, desk.x[[5]])
    assert desk.document.scene.shells[0].pins[1].stiffness is None
