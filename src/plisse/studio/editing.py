"""What the user does to the scene: choose a part of it, change it in the form or by its gizmo, hold it, go back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.scene.geometry import Geometry
from plisse.studio.document import FROM_FILE, PARTS, SHAPES, Document, Path_, Table, Version, find, put
from plisse.studio.files import list_meshes
from plisse.studio.form import Field, make_form, settings
from plisse.studio.places import Size, angles_of, frame, matrix_of, measure_size, meet, wxyz_of
from plisse.studio.view import View

if TYPE_CHECKING:
    from plisse.studio.page import Page

HOLDS = ("firmly", "by springs")
SPRING = "20 N/m"  # of a new pin; a square metre of cotton stretches it by 7 cm
GRIPS = ("move, turn", "size", "size along axes")  # what the gizmo does
TOGETHER = 1.0  # seconds within which changes of one value count as one for undoing
NOTHING = np.zeros((0, 3))


class Editing:
    """send: has a version of the scene simulated. chosen: the place that the form and the gizmo are of."""

    def __init__(self, document: Document, page: Page, view: View, send: Callable[[Version], None]) -> None:
        self.document, self.page, self.view, self._send = document, page, view, send
        self.chosen: Path_ = ()
        self.dragging = False
        self._grip, self._hold = GRIPS[0], HOLDS[0]
        self._size: Size | None = None  # what the gizmo changes, where that is a size
        self._mark: tuple[Any, float] = (None, 0.0)
        self._grabbed = (np.zeros(3), np.zeros(4))  # where the gizmo was at the beginning of a drag

    # --- changes ------------------------------------------------------------------------------------------------------

    def changed(self, version: Version, *, form: bool = True) -> None:
        self.page.show_refusal("")
        self.page.mark_triangles(None)
        self._send(version)
        if form:
            self.show_place()

    def on_set(self, field: Field, value: Any) -> None:
        version = self.document.set(field.path, field.read(value), mark=self._mark_of(field.path))
        # a control that is dragged has to stay where it is
        self.changed(version, form=field.control in ("choice", "text", "flag"))
        if field.control == "vector":
            self._show_gizmo()

    def _mark_of(self, what: object) -> object:
        """The same mark for changes of one thing that come quickly one after another."""
        now = time.monotonic()
        mark, last = self._mark
        fresh = mark if mark is not None and mark[0] == what and now - last < TOGETHER else (what, now)
        self._mark = (fresh, now)
        return fresh

    def on_undo(self) -> None:
        self._go(self.document.undo())

    def on_redo(self) -> None:
        self._go(self.document.redo())

    def _go(self, version: Version | None) -> None:
        if version is not None:
            self.choose(self.chosen)
            self.changed(version)

    def on_select(self, title: str) -> None:
        self.page.show_refusal("")
        self.page.await_pick(None)
        self.choose(self._titles().get(title, ()))
        self.show_place()

    def on_add(self, kind: str) -> None:
        if kind in (*SHAPES, *PARTS, *self._files()):
            place = self.document.add(kind, owner=self.chosen if kind in PARTS else (), at=self._above())
            self.choose(place)
            self.changed(self.document.now)

    def on_act(self, what: str) -> None:
        if not self.chosen or not isinstance(self.chosen[-1], int):
            raise SceneError("Choose a body, or a part of one, first.")
        if what == "Duplicate":
            self.choose(self.document.duplicate(self.chosen))
        else:
            self.document.delete(self.chosen)
            self.choose(self.chosen[:-2])
        self.changed(self.document.now)

    def on_rename(self, name: str) -> None:
        if self._is_body and name != self.document.title(self.chosen):
            self.changed(self.document.rename(self.chosen, name))

    # --- the gizmo ----------------------------------------------------------------------------------------------------

    def on_drag(self, place: Path_, phase: str, position: Floats, wxyz: Floats) -> None:
        """The gizmo is moved: the scene follows at once, and the simulation as it can."""
        self.dragging = phase != "end"
        if phase == "start":
            self._mark, self._grabbed = (None, 0.0), (position, wxyz)
        if np.allclose(position, self._grabbed[0]) and np.allclose(wxyz, self._grabbed[1]) and self._mark[0] is None:
            return  # touched, and not moved
        rotate, mark = angles_of(wxyz), self._mark_of(("drag", place))
        if self._size is not None:
            factors = self._size.at(position, uniform=self._grip == GRIPS[1])
            version = self._scale(place, factors, mark)
        elif len(place) > 2:
            version = self._lead(place, position, rotate, mark)
        else:
            version = self.document.set_pose(place, [round(float(p), 5) for p in position], rotate, mark=mark)
        self.changed(version, form=phase == "end")

    def on_grip(self, grip: str) -> None:
        self._grip = grip
        self._show_gizmo()

    def _scale(self, place: Path_, factors: list[float], mark: object) -> Version:
        """Scales a body at rest, or leads a pin's vertices apart from their middle."""
        middle = self._held(place).mean(axis=0) if len(place) > 2 else None

        def change(table: Table) -> None:
            said = find(table, place)
            if middle is not None:
                said["pivot"] = [round(float(p), 6) for p in middle]
                said = said.setdefault("motion", [{"time": 1.0}])[-1]
            said["scale"] = factors if len(set(factors)) > 1 else factors[0]

        return self.document.edit(change, f"size of {self.document.title(place)}", mark=mark)

    def _lead(self, pin: Path_, position: Floats, rotate: list[float], mark: object) -> Version:
        """A pin's vertices are led to where its gizmo is, turned about their middle."""
        middle = self._held(pin).mean(axis=0)

        def change(table: Table) -> None:
            said = find(table, pin)
            said["pivot"] = [round(float(p), 6) for p in middle]
            said.setdefault("motion", [{"time": 1.0}])
            said["motion"][-1]["translate"] = [round(float(p), 5) for p in position - middle]
            put(said["motion"][-1], ("rotate",), rotate if any(rotate) else None)

        return self.document.edit(change, f"move {self.document.title(pin)}", mark=mark)

    def _show_gizmo(self) -> None:
        scene, path = self.document.scene, self.chosen
        self.page.mark("pin", NOTHING, 0.0)
        self._size = None
        pin = path[:4] if len(path) >= 4 and path[2] == "pin" else None
        if pin is not None:
            self._show_gizmo_of(pin)
            return
        if not self._is_body:
            self.page.show_gizmo(path, None)
            return
        body = (scene.shells if path[0] == "shell" else scene.colliders)[int(path[1])]
        space = getattr(body, "half_space", None)
        place = np.array(body.translate if space is None else space.point, float)
        wxyz, x = wxyz_of(np.array(body.rotate)), self._placed(path)
        if self._grip != GRIPS[0] and x is not None:
            self._size = measure_size(x, place, matrix_of(wxyz), np.array(body.scale))
        self._put_gizmo(path, place, wxyz, turns=space is None)

    def _show_gizmo_of(self, pin: Path_) -> None:
        """The gizmo that leads a pin's vertices to their places, or scales them about their middle."""
        try:
            held = self._held(pin)
        except SceneError:  # it selects nothing, which the process says
            self.page.show_gizmo(pin, None)
            return
        last = self.document.scene.shells[int(pin[1])].pins[int(pin[3])].motion[-1:]
        middle, shift = held.mean(axis=0), np.array(last[0].translate) if last else np.zeros(3)
        wxyz = wxyz_of(np.array(last[0].rotate if last else (0.0, 0.0, 0.0)))
        scale = np.array(last[0].scale) if last else np.ones(3)
        led = ((held - middle) * scale) @ matrix_of(wxyz).T + middle + shift
        self.page.mark("pin", led, 0.03 * self._extent())
        if self._grip != GRIPS[0] and np.ptp(led, axis=0).max() > 1e-6:
            self._size = measure_size(led, middle + shift, matrix_of(wxyz), scale)
        self._put_gizmo(pin, middle + shift, wxyz)

    def _put_gizmo(self, path: Path_, place: Floats, wxyz: Floats, *, turns: bool = True) -> None:
        at = place if self._size is None else self._size.corner
        self.page.show_gizmo(path, at, wxyz, size=0.35 * self._extent(), turns=turns and self._size is None)

    def _placed(self, path: Path_) -> Floats | None:
        """Where a body's vertices start [m], (n, 3); None of a half-space, and where the scene cannot be."""
        try:
            geometry = self._geometry()
        except SceneError:
            return None
        if path[0] == "shell":
            return geometry.shell_positions[int(path[1])]
        mesh = geometry.colliders[int(path[1])]
        return None if mesh is None else mesh.X

    # --- holding ------------------------------------------------------------------------------------------------------

    def on_pick(self, kind: str) -> None:
        if not self.chosen or self.chosen[0] != "shell":
            raise SceneError("Choose the shell that is to be held first.")
        self.page.show_gizmo(self.chosen, None)  # it would be in the way
        self.page.await_pick(kind)
        self.page.tell("Click a vertex of the shell." if kind == "Click" else "Draw a rectangle over the shell.")

    def on_hold_how(self, how: str) -> None:
        self._hold = how

    def on_picked(self, origin: Floats, direction: Floats) -> None:
        """A click: the vertex of the first surface that it meets is held, if that is a shell."""
        stage, x = self.view.compose()
        hits = []
        for number, part in enumerate(stage.parts):
            found = meet(origin, direction, x[part.first : part.last], part.triangles)
            if found is not None:
                hits.append((found[0], number, found[1]))
        _, number, vertex = min(hits, default=(0.0, int(self.chosen[1]), -1))
        if not hits:
            # hardly beside the edge of the chosen shell is meant to be on it
            part = stage.parts[number]
            aside = np.linalg.norm(np.cross(x[part.first : part.last] - origin, direction), axis=1)
            aside /= np.linalg.norm(direction)
            vertex = int(aside.argmin()) if aside.min() < 0.03 * self._extent() else -1
        if vertex < 0 or not stage.parts[number].is_shell:
            self.page.tell("There is no shell: click on one.")
            return
        self.hold(number, x[stage.parts[number].first + vertex][None])

    def on_framed(self, camera: Any, least: Floats, greatest: Floats) -> None:
        """A rectangle: the chosen shell's vertices in it are held."""
        number = int(self.chosen[1])
        x = self._given_positions(number)
        inside = frame(camera, least, greatest, x)
        if not len(inside):
            self.page.tell("The rectangle holds no vertex: draw a larger one.")
            return
        self.hold(number, x[inside])

    def hold(self, shell: int, points: Floats) -> None:
        """A new pin that holds the vertices nearest to the points (k, 3) [m] where they are now."""
        self.page.await_pick(None)
        self.page.tell("")
        x = self._given_positions(shell)
        near = sorted({int(np.linalg.norm(x - point, axis=1).argmin()) for point in points})
        placed = self._geometry().shell_positions[shell][near]
        shift = (x[near] - placed).mean(axis=0)
        says: Table = {"vertices": near, "pivot": [round(float(p), 6) for p in placed.mean(axis=0)]}
        if self._hold != HOLDS[0]:
            says["stiffness"] = SPRING
        if np.linalg.norm(shift) > 1e-6:
            says["motion"] = [{"time": 1.0, "translate": [round(float(p), 6) for p in shift]}]
        self.choose(self.document.add("pin", owner=("shell", shell), **says))
        self.changed(self.document.now)

    def _given_positions(self, shell: int) -> Floats:
        """Where a shell's vertices are [m], (n, 3), in the order in which a scene file can name them."""
        levels = self.document.scene.hierarchy
        given = self.view.levels.get(0 if levels.kind == "loop" else levels.count - 1)
        if given is None:
            raise SceneError("Vertices can be chosen once the finest level is there, which has the given mesh.")
        part = given.stage.parts[shell]
        return given.x[part.first : part.last].astype(np.float64)

    def _geometry(self) -> Geometry:
        return load_geometry(self.document.scene, self.document.base)

    def _held(self, pin: Path_) -> Floats:
        """Where a pin's vertices start [m], (k, 3)."""
        geometry, shell = self._geometry(), int(pin[1])
        return np.asarray(geometry.shell_positions[shell][geometry.pins[shell][int(pin[3])]])

    def _above(self) -> tuple[float, float, float]:
        """A place for something new: over everything."""
        x = self._seen()
        middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
        return float(middle[0]), float(middle[1]), float(x[:, 2].max() + 0.3 * self._extent())

    def _extent(self) -> float:
        return max(float(np.ptp(self._seen(), axis=0).max()), 1e-3)

    def _seen(self) -> Floats:
        """Where everything is [m], (n, 3), as far as that is known: an edited scene need not be one that can be."""
        if self.view.levels:
            return self.view.levels[min(self.view.levels)].x.astype(np.float64)
        try:
            return self._geometry().placed
        except SceneError:
            return np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])

    # --- what is chosen -----------------------------------------------------------------------------------------------

    @property
    def _is_body(self) -> bool:
        return len(self.chosen) == 2 and isinstance(self.chosen[1], int)

    def _titles(self) -> dict[str, Path_]:
        """Everything that the form can be of, by how it is listed; settings as their headings in the file."""
        out: dict[str, Path_] = {"[scene]": ()}
        for path, title in self.document.items():
            above = [self.document.title(path[:k]) for k in range(2, len(path), 2)]
            out[" › ".join([*above, title])] = path
        return out | {f"[{key}]": (key,) for key in settings()}

    def _files(self) -> list[str]:
        """Mesh files of the folder, as what can be added."""
        return [
            f"{FROM_FILE}{kind} {name}" for name in list_meshes(self.document.base) for kind in ("collider", "shell")
        ]

    def on_select_again(self) -> None:
        self.show_place()

    def choose(self, path: Path_) -> None:
        """What the form and the gizmo are of; what is there no more gives way to what it was a part of."""
        known = set(self._titles().values())
        while path not in known:
            path = path[:-1]
        self.chosen = path

    def show_place(self) -> None:
        """The tree, the form and the gizmo of what is chosen."""
        titles = self._titles()
        title = next(title for title, path in titles.items() if path == self.chosen)
        owns: list[str] = []
        if self._is_body:
            owns = ["pin", "region"] if self.chosen[0] == "shell" else ["motion"]
        elif len(self.chosen) == 4 and self.chosen[2] == "pin":
            owns = ["motion"]
        name = self.document.title(self.chosen) if self._is_body else None
        self.page.show_tree(list(titles), title, addable=[*owns, *SHAPES, *self._files()], name=name)
        self.page.allow_grip(self._is_body or "pin" in self.chosen)
        self.page.allow_picks(self._is_body and self.chosen[0] == "shell")
        self.page.show_form(make_form(self.document, self.chosen))
        self._show_gizmo()
