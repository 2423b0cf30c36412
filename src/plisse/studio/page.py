"""The page in the browser: the only module that calls viser. It shows what it is given, and posts what the user does.

Everything that the user does becomes an event, a name with plain values, which `post` takes; it returns at once, as it
is called on the server's own thread.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

import numpy as np
import viser

from plisse.core.arrays import Floats, Ints, Singles
from plisse.pictures.render import Color
from plisse.pictures.stage import Part, Plane, Stage
from plisse.studio.form import Field, Section
from plisse.studio.gate import Gate, guarding, reserve

BRAND = (166, 77, 58)
GROUND = (214, 211, 204)
WAYS = ("Undo", "Redo", "Pause")
MARKS = {"pin": (30, 90, 170), "limit": (220, 40, 40), "refused": (220, 40, 40)}
REACH = 8.0  # half a side of a half-space's square, in sizes of the scene

Post = Callable[..., None]


class Page:
    """gate: who may come in. post: takes every event."""

    def __init__(self, host: str, port: int, post: Post, *, names: tuple[str, ...] = ()) -> None:
        listener = reserve(host, port)
        self.gate = Gate(host, listener.getsockname()[1], names)
        with guarding(self.gate, listener) as placed, _quietly():
            self._server = viser.ViserServer(host=host, port=self.gate.port, label="Plissé", verbose=False)
        if not placed():
            self._server.stop()
            raise RuntimeError("The gate is not before this version of viser: nothing is served.")
        self._post = post
        self._gui, self._scene = self._server.gui, self._server.scene
        self._meshes: dict[str, Any] = {}
        self._parts: tuple[Part, ...] = ()
        self._stage = Stage((), ())  # what is shown
        self._plain: bool | None = None  # with edges or without, None where a map is on it
        self._sections: list[Any] = []
        self._gizmo: Any = None
        self._gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
        self._gui.main_panel.dock_right()
        self._scene.configure_environment_map("studio", environment_intensity=0.35)
        self._lay_out()
        self._server.on_client_connect(self._greet)

    def close(self) -> None:
        with _quietly():
            self._server.stop()

    async def _greet(self, client: viser.ClientHandle) -> None:
        self._post("came")

    # --- the panel ----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        gui = self._gui
        self._status = gui.add_html(_box("Starting…"))
        self._ways = gui.add_button_group("", WAYS)
        self._ways.on_click(self._go)
        self._history = gui.add_html("", visible=False)
        for label, event, key in (("Undo", "undo", "Z"), ("Redo", "redo", "Y")):
            command = gui.add_command(label, hotkey=key, modifier="cmd/ctrl")  # type: ignore[arg-type]
            command.on_trigger(self._poster(event))
        tabs = gui.add_tab_group()
        with tabs.add_tab("Scene", icon=viser.Icon.HIERARCHY):
            self._tree = gui.add_dropdown("part", ("scene",), hint="what the form below is of")
            self._listen(self._tree, "select")
            self._add = gui.add_dropdown("add", ("…",), hint="a body, or a part of the body that is chosen")
            self._listen(self._add, "add")
            self._name = gui.add_text("name", "")
            self._listen(self._name, "rename")
            acts = gui.add_button_group("", ("Duplicate", "Delete"))
            self._listen(acts, "act")
            self._picks = gui.add_button_group(
                "hold by", ("Click", "Rectangle"),
                hint="then click a vertex, or draw a rectangle, on the chosen shell: it is held where it is",
            )  # fmt: skip
            self._listen(self._picks, "pick")
            self._refusal = gui.add_html("", visible=False)
            self._form = gui.add_folder(None)
        with tabs.add_tab("Levels", icon=viser.Icon.STACK_2):
            self._level = gui.add_dropdown("show", ("the newest",))
            self._listen(self._level, "level")
            self._refine = gui.add_checkbox("refine by itself", True, hint="once a level is in equilibrium")
            self._listen(self._refine, "refine")
            self._upto = gui.add_dropdown("up to", ("the finest",))
            self._listen(self._upto, "upto")
            self._beside = gui.add_dropdown("compare with", ("nothing",))
            self._listen(self._beside, "beside")
            self._wipe = gui.add_slider("wipe", 0.0, 1.0, 0.01, 0.5, visible=False)
            self._listen(self._wipe, "wipe")
            self._map = gui.add_dropdown("map", ("none", "strain", "curvature", "contact"))
            self._listen(self._map, "map")
            self._legend = gui.add_html("", visible=False)
            self._smooth = gui.add_checkbox("smooth view", False, hint="a rounded surface through a coarse level")
            self._listen(self._smooth, "smooth")
            self._edges = gui.add_checkbox("edges", False)
            self._listen(self._edges, "edges")
            self._limits = gui.add_checkbox("what limits the step", False, hint="vertices that leave no room for it")
            self._listen(self._limits, "limits")
            self._ends = gui.add_html("")
        with tabs.add_tab("Motion", icon=viser.Icon.MOVIE):
            self._motion_note = gui.add_html(_small("A scene in equilibrium has no motion: set time.mode to dynamic."))
            self._frame = gui.add_slider("frame", 0, 1, 1, 0, visible=False)
            self._listen(self._frame, "frame")
            self._play = self._button("Play", "play", icon=viser.Icon.PLAYER_PLAY)
            self._play.visible = False
        with tabs.add_tab("File", icon=viser.Icon.DEVICE_FLOPPY):
            self._file = gui.add_text("file", "", hint="name of what is written into the scene's folder")
            self._button("Save scene", "save", icon=viser.Icon.DEVICE_FLOPPY)
            self._open = gui.add_dropdown("open", ("…",))
            self._listen(self._open, "open")
            self._format = gui.add_dropdown("format", ("usdc",))
            self._button("Export", "export", icon=viser.Icon.DOWNLOAD)
            self._button("Picture", "picture", icon=viser.Icon.CAMERA)
            self._button("Web page", "web_page", icon=viser.Icon.WORLD, hint="what is shown, for any browser")
            self._command = gui.add_html("")
        self._message = gui.add_html("", visible=False)

    def _button(self, label: str, event: str, *, icon: Any = None, hint: str | None = None) -> Any:
        button = self._gui.add_button(label, icon=icon, hint=hint)

        button.on_click(self._poster(event))
        return button

    def _listen(self, control: Any, event: str, *more: Any) -> None:
        """Posts what a user sets a control to; what we set it to ourselves is no event."""

        async def tell(said: viser.GuiEvent) -> None:
            if said.client is not None:
                self._post(event, *more, said.target.value)

        (control.on_click if hasattr(control, "on_click") else control.on_update)(tell)

    def show_status(self, lines: Sequence[str], *, busy: bool) -> None:
        self._status.content = _box("<br>".join(lines), busy=busy)

    async def _go(self, event: viser.GuiEvent) -> None:
        self._post({"Undo": "undo", "Redo": "redo"}.get(event.target.value, "hold"))

    def _poster(self, event: str) -> Any:
        async def tell(_: Any) -> None:
            self._post(event)

        return tell

    def show_history(self, undo: str | None, redo: str | None) -> None:
        said = [f"{word}: {escape(what)}" for word, what in (("undo", undo), ("redo", redo)) if what]
        self._history.visible = bool(said)
        self._history.content = _small(" · ".join(said))

    def show_held(self, held: bool) -> None:
        self._ways.options = (*WAYS[:2], "Go on") if held else WAYS

    def show_refusal(self, sentence: str) -> None:
        """Says beside the form why a change was not taken; an empty one takes that away."""
        self._refusal.visible = bool(sentence)
        self._refusal.content = _warning(sentence) if sentence else ""

    def tell(self, sentence: str, *, bad: bool = False) -> None:
        """A line at the foot of the panel."""
        self._message.visible = bool(sentence)
        self._message.content = _warning(sentence) if bad else _small(escape(sentence))

    def show_tree(self, titles: Sequence[str], chosen: str, *, addable: Sequence[str], name: str | None) -> None:
        self._options(self._tree, titles, chosen)
        self._options(self._add, ("…", *addable), "…")
        self._name.visible = name is not None
        if name is not None:
            self._name.value = name

    def allow_picks(self, allowed: bool) -> None:
        self._picks.visible = allowed

    def _options(self, dropdown: Any, options: Sequence[str], chosen: str) -> None:
        if tuple(dropdown.options) != tuple(options):
            dropdown.options = tuple(options)
        if dropdown.value != chosen:
            dropdown.value = chosen

    # --- the form -----------------------------------------------------------------------------------------------------

    def show_form(self, sections: Sequence[Section]) -> None:
        for old in self._sections:
            old.remove()
        with self._form:
            self._sections = [self._show_section(section) for section in sections]

    def _show_section(self, section: Section) -> Any:
        folder = self._gui.add_folder(section.title or None, expand_by_default=section.common)
        with folder:
            for field in section.fields:
                self._listen(self._control(field), "set", field)
        return folder

    def _control(self, field: Field) -> Any:
        gui, label, value, hint = self._gui, field.label.replace("_", " "), field.value, field.hint
        if field.control == "slider":
            assert field.least is not None and field.most is not None and field.step is not None
            return gui.add_slider(label, field.least, field.most, field.step, value, hint=hint)
        if field.control == "number":
            return gui.add_number(label, value, min=field.least, max=field.most, step=field.step, hint=hint)
        if field.control == "vector":
            return gui.add_vector3(label, value, step=field.step, hint=hint)
        if field.control == "choice":
            options = field.options if value in field.options else (*field.options, value)
            return gui.add_dropdown(label, options, initial_value=value, hint=hint)
        if field.control == "flag":
            return gui.add_checkbox(label, value, hint=hint)
        return gui.add_text(label, value, hint=hint)

    # --- levels, motion, files ----------------------------------------------------------------------------------------

    def show_levels(self, reached: Sequence[int], count: int, *, shown: int | None, beside: int | None) -> None:
        names = [f"level {level}" for level in reached]
        self._options(self._level, ("the newest", *names), "the newest" if shown is None else f"level {shown}")
        self._options(self._beside, ("nothing", *names), "nothing" if beside is None else f"level {beside}")
        self._wipe.visible = beside is not None
        upto = ("the finest", *(f"level {level}" for level in range(count - 1)))
        self._options(self._upto, upto, self._upto.value if self._upto.value in upto else "the finest")

    def show_ends(self, rows: Sequence[tuple[str, ...]]) -> None:
        """How each level ended."""
        cells = ("".join(f"<td style='padding-right:1em'>{escape(cell)}</td>" for cell in row) for row in rows)
        self._ends.content = _small(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>") if rows else ""

    def show_legend(self, title: str, low: str, high: str, colors: Sequence[tuple[int, int, int]]) -> None:
        """The colours of a map; without a title, none."""
        self._legend.visible = bool(title)
        stops = ", ".join(f"rgb{color}" for color in colors)
        self._legend.content = _small(
            f"{escape(title)}<div style='height:.8em;background:linear-gradient(to right,{stops})'></div>"
            f"<div style='display:flex;justify-content:space-between'><span>{low}</span><span>{high}</span></div>"
        )

    def show_frames(self, last: int, at: int, *, playing: bool) -> None:
        """The timeline of a motion; last = 0 where there is none."""
        self._motion_note.visible = last == 0
        self._frame.visible = self._play.visible = last > 0
        if last > 0:
            self._frame.max = last
            self._frame.value = at
            self._play.label = "Stop" if playing else "Play"

    def show_files(self, name: str, openable: Sequence[str], formats: Sequence[str], command: str) -> None:
        if not self._file.value:
            self._file.value = name
        self._options(self._open, ("…", *openable), "…")
        self._options(self._format, formats, self._format.value if self._format.value in formats else formats[0])
        self._command.content = _small(f"The same by the command line:<br><code>{escape(command)}</code>")

    @property
    def file_name(self) -> str:
        return str(self._file.value)

    def as_web_page(self) -> str:
        """What is shown, as a page that needs no server."""
        return str(self._scene.as_html())

    @property
    def format(self) -> str:
        return str(self._format.value)

    # --- the view -----------------------------------------------------------------------------------------------------

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
        """Dots at places (k, 3) [m], "pin", "limit" or "refused"; none takes them away."""
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
        async def _(event: viser.TransformControlsEvent) -> None:
            if event.client is not None:
                self._post("drag", place, event.phase, np.array(gizmo.position), np.array(gizmo.wxyz))

        self._gizmo = gizmo

    def await_pick(self, kind: str | None) -> None:
        """The next click or rectangle in the view is posted as "picked"; None waits for none."""
        self._scene.remove_click_callback()
        self._scene.remove_rect_select_callback()
        if kind == "Click":

            @self._scene.on_click()
            async def _(event: Any) -> None:
                self._post("picked", np.array(event.ray_origin), np.array(event.ray_direction))

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


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """viser prints addresses without the token, which nobody can open."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


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


def _box(content: str, *, busy: bool = True) -> str:
    bar = "#a64d3a" if busy else "#5b8c5a"
    return (
        f"<div style='margin:.3em .8em;padding:.5em .7em;border-left:4px solid {bar};background:rgba(128,128,128,.08);"
        f"font-size:.85em;line-height:1.5'>{content}</div>"
    )


def _small(content: str) -> str:
    return f"<div style='margin:.3em .8em;font-size:.82em;line-height:1.5'>{content}</div>"


def _warning(sentence: str) -> str:
    return (
        "<div style='margin:.4em .8em;padding:.5em .7em;border-left:4px solid #c8372d;background:rgba(200,55,45,.09);"
        f"font-size:.85em'>{escape(sentence)}</div>"
    )
