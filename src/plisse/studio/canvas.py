"""The view of the page: surfaces, marks and the gizmo, and what the user does there, as events."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np

from plisse.core.arrays import Floats, Ints, Singles
from plisse.pictures.render import Color
from plisse.pictures.stage import Part, Plane, Stage
from plisse.studio.panel import Post

GROUND = (214, 211, 204)
RED = (220, 40, 40)
MARKS = {"pin": (30, 90, 170), "limit": RED, "refused at": RED, "measure": (20, 120, 60)}
REACH = 8.0  # half a side of a half-space's square, in sizes of the scene


class Canvas:
    """server: viser's. post: takes every event, a name with plain values; it returns at once."""

    def __init__(self, server: Any, post: Post) -> None:
        self._server, self._scene, self._post = server, server.scene, post
        self._meshes: dict[str, Any] = {}
        self._parts: tuple[Part, ...] = ()
        self._stage = Stage((), ())  # what is shown
        self._plain: bool | None = None  # with edges or without, None where a map is on it
        self._gizmo: Any = None

    def set_stage(self, stage: Stage, x: Floats, *, edges: bool = False) -> None:
        """Shows the surfaces of a scene at x (n, 3) [m] in place of what was shown."""
        if self._plain == edges and _look_alike(stage, self._stage):
            self.move(x)
            return
        self._stage, self._plain, self._parts = stage, edges, stage.parts
        with self._server.atomic():
            known = {_node(name) for name in (*(p.name for p in stage.parts), *(p.name for p in stage.planes))}
            for name in [name for name in self._meshes if name.startswith("/bodies/") and name not in known]:
                self._meshes.pop(name).remove()
            for part in stage.parts:
                self._add_part(part, x[part.first : part.last], edges)
            size = max(float(np.ptp(x, axis=0).max()), 0.1) if len(x) else 1.0
            for plane in stage.planes:
                self._add_plane(plane, x.mean(axis=0), REACH * size)

    def _add_part(self, part: Part, x: Floats, edges: bool) -> None:
        name = _node(part.name)
        self._meshes[name] = self._scene.add_mesh_simple(
            name, np.ascontiguousarray(x, np.float32), part.triangles, color=_rgb(part.color), wireframe=False,
            side="double" if part.is_shell else "front",
        )  # fmt: skip
        lines = _edges_of(part.name)
        if edges and part.is_shell:
            self._meshes[lines] = self._scene.add_mesh_simple(
                lines, np.ascontiguousarray(x, np.float32), part.triangles, color=(40, 30, 30), wireframe=True
            )
        elif lines in self._meshes:
            self._meshes.pop(lines).remove()

    def _add_plane(self, plane: Plane, middle: Floats, reach: float) -> None:
        name = _node(plane.name)
        faces = np.array([[0, 1, 2], [0, 2, 3]], np.uint32)
        corners = plane.square(middle, reach).astype(np.float32)
        self._meshes[name] = self._scene.add_mesh_simple(
            name, corners, faces, color=GROUND, side="double", cast_shadow=False
        )

    def move(self, x: Floats | Singles) -> None:
        """The same surfaces at other places: only their positions are sent."""
        for part in self._parts:
            for name in (_node(part.name), _edges_of(part.name)):
                mesh = self._meshes.get(name)
                if mesh is not None and hasattr(mesh, "vertices"):
                    mesh.vertices = np.ascontiguousarray(x[part.first : part.last], np.float32)
        self._server.flush()  # a frame does not wait for others to be sent with it

    def tint(self, part: Part, x: Floats, colors: Ints) -> None:
        """Shows a surface with a colour (n, 3), 0 to 255, at each of its vertices."""
        import trimesh

        name, self._plain = _node(part.name), None
        # it has one side; the other one is seen as well
        sides = [
            trimesh.Trimesh(x, faces, vertex_colors=colors.astype(np.uint8), process=False)
            for faces in (part.triangles, part.triangles[:, ::-1])
        ]
        for side in sides:
            assert len(side.vertex_normals)  # found here, they are sent, and the surface is seen smooth
        self._meshes[name] = self._scene.add_mesh_trimesh(name, trimesh.util.concatenate(sides))

    def mark(self, kind: str, points: Floats | Singles, size: float) -> None:
        """Dots at places (k, 3) [m], one of MARKS; none takes them away."""
        name = f"/marks/{kind}"
        if not len(points):
            old = self._meshes.pop(name, None)
            if old is not None:
                old.remove()
            return
        self._meshes[name] = self._scene.add_point_cloud(
            name, np.ascontiguousarray(points, np.float32), MARKS[kind], point_size=size, point_shape="circle",
            precision="float32",
        )  # fmt: skip

    def mark_triangles(self, corners: Singles | None) -> None:
        """Triangles (k, 3, 3) [m] of which a refusal is, in red and seen through everything; None takes them away."""
        for old in [name for name in self._meshes if name.startswith("/marks/refused")]:
            self._meshes.pop(old).remove()
        if corners is None or not len(corners):
            return
        faces = np.arange(3 * len(corners), dtype=np.uint32).reshape(-1, 3)
        points = np.ascontiguousarray(corners.reshape(-1, 3), np.float32)
        for name, wireframe in (("/marks/refused", False), ("/marks/refused edges", True)):
            self._meshes[name] = self._scene.add_mesh_simple(
                name, points, faces, color=RED, wireframe=wireframe, side="double", cast_shadow=False
            )
        self.mark("refused at", corners.mean(axis=1), 0.01 * max(float(np.ptp(points, axis=0).max()), 0.02))

    def show_gizmo(
        self, place: Any, position: Floats | None, wxyz: Floats | None = None, *, size: float = 0.3, turns: bool = True
    ) -> None:
        """A gizmo with which a place of the scene is moved; none without a position."""
        if self._gizmo is not None:
            self._gizmo.remove()
            self._gizmo = None
        if position is None:
            return
        gizmo = self._scene.add_transform_controls(
            "/gizmo", scale=size, position=tuple(position), wxyz=(1.0, 0.0, 0.0, 0.0) if wxyz is None else tuple(wxyz),
            disable_rotations=not turns, depth_test=False, line_width=3.0,
        )  # fmt: skip

        @gizmo.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                self._post("drag", place, event.phase, np.array(gizmo.position), np.array(gizmo.wxyz))

        self._gizmo = gizmo

    def await_pick(self, kind: str | None) -> None:
        """The next click or rectangle in the view is posted; None waits for none. "Measure": a click, as "pointed"."""
        self._scene.remove_click_callback()
        self._scene.remove_rect_select_callback()
        if kind in ("Click", "Measure"):
            name = "picked" if kind == "Click" else "pointed"

            @self._scene.on_click()
            async def _(event: Any) -> None:
                self._post(name, np.array(event.ray_origin), np.array(event.ray_direction))

        elif kind == "Rectangle":

            @self._scene.on_rect_select()
            async def _(event: Any) -> None:
                camera = event.client.camera
                view = (np.array(camera.position), np.array(camera.wxyz), camera.fov, camera.aspect)
                self._post("framed", view, np.array(event.screen_min), np.array(event.screen_max))

    def aim(self, eye: Floats, middle: Floats) -> None:
        """Where cameras begin, and where those of open windows go."""
        start = self._server.initial_camera
        start.position, start.look_at, start.fov = tuple(eye), tuple(middle), 0.7
        for client in self._server.get_clients().values():
            client.camera.position, client.camera.look_at = tuple(eye), tuple(middle)


def _node(name: str) -> str:
    """Where a body is in viser's tree, in which slashes have a meaning."""
    return f"/bodies/{quote(name, safe=' ')}"


def _look_alike(a: Stage, b: Stage) -> bool:
    """Whether two stages differ in nothing but where they are."""
    return len(a.parts) == len(b.parts) and repr(a.planes) == repr(b.planes) and all(map(_is_same, a.parts, b.parts))


def _is_same(a: Part, b: Part) -> bool:
    plain = (a.name, a.color, a.is_shell, a.first, a.last) == (b.name, b.color, b.is_shell, b.first, b.last)
    return plain and np.array_equal(a.triangles, b.triangles)


def _edges_of(name: str) -> str:
    return f"/bodies/{quote(name, safe=' ')} edges"


def _rgb(color: Color) -> tuple[int, int, int]:
    r, g, b = (round(255 * part) for part in color)
    return r, g, b
