"""The panel of the page: what it shows of the scene and of the work, and what the user does there, as events."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from plisse.core.arrays import Ints
from plisse.studio.editing import GRIPS, HOLDS
from plisse.studio.files import UPLOADABLE
from plisse.studio.form import Field, Section
from plisse.studio.intake import MOST_TEXT, is_number
from plisse.studio.thumbnails import draw_fabrics
from plisse.studio.view import HOW, SECTIONS

WAYS = ("Undo", "Redo", "Pause")

Post = Callable[..., None]


class Panel:
    """gui: of viser's server. post: takes every event, a name with plain values; it returns at once."""

    def __init__(self, gui: Any, post: Post) -> None:
        self._gui, self._post = gui, post
        self._controls: dict[str, Any] = {}  # that a user can set, by their uuid
        self._sections: list[Any] = []
        self._lay_out()

    def _lay_out(self) -> None:
        gui = self._gui
        self._status = gui.add_html(_box("Starting…"))
        self._ways = gui.add_button_group("", WAYS)
        self._ways.on_click(self._go)
        self._know(self._ways)
        self._history = gui.add_html("", visible=False)
        for label, event, key in (("Undo", "undo", "Z"), ("Redo", "redo", "Y")):
            command = gui.add_command(label, hotkey=key, modifier="cmd/ctrl")  # type: ignore[arg-type]
            command.on_trigger(self._poster(event))
        tabs = gui.add_tab_group()
        with tabs.add_tab("Scene", icon="hierarchy"):
            self._tree = gui.add_dropdown("part", ("scene",), hint="what the form below is of")
            self._listen(self._tree, "select")
            self._add = gui.add_dropdown("add", ("…",), hint="a body, or a part of the body that is chosen")
            self._listen(self._add, "add")
            self._name = gui.add_text("name", "")
            self._listen(self._name, "rename")
            acts = gui.add_button_group("", ("Duplicate", "Delete"))
            self._listen(acts, "act")
            self._grip = gui.add_dropdown("gizmo", GRIPS, hint="what dragging it does")
            self._listen(self._grip, "grip")
            self._picks = gui.add_button_group(
                "hold by", ("Click", "Rectangle"),
                hint="then click a vertex, or draw a rectangle, on the chosen shell: it is held where it is",
            )  # fmt: skip
            self._listen(self._picks, "pick")
            self._firm = gui.add_dropdown("hold", HOLDS, hint="what a new pin does")
            self._listen(self._firm, "hold_how")
            self._refusal = gui.add_html("", visible=False)
            self._form = gui.add_folder(None)
        with tabs.add_tab("Levels", icon="stack-2"):
            self._level = gui.add_dropdown("show", ("the newest",))
            self._listen(self._level, "level")
            self._refine = gui.add_checkbox("refine by itself", True, hint="once a level is in equilibrium")
            self._listen(self._refine, "refine")
            self._upto = gui.add_dropdown("up to", ("the finest",))
            self._listen(self._upto, "upto")
            self._beside = gui.add_dropdown("compare with", ("nothing",))
            self._listen(self._beside, "beside")
            self._how = gui.add_dropdown("how", HOW, visible=False)
            self._listen(self._how, "how")
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
            self._section = gui.add_dropdown("section", SECTIONS)
            self._listen(self._section, "section")
            self._cut = gui.add_slider("cut", 0.0, 1.0, 0.01, 0.5, visible=False)
            self._listen(self._cut, "cut")
            self._ends = gui.add_html("")
            self._small = gui.add_image(np.full((2, 2, 3), 255, np.uint8), visible=False)
            self._button("Measure", "measure", icon="ruler-measure", hint="the distance of two points that you click")
            self._button("Report", "report", icon="report", hint="of everything that was reached")
            self._report = gui.add_html("", visible=False)
        with tabs.add_tab("Motion", icon="movie"):
            self._motion_note = gui.add_html(_small("A scene in equilibrium has no motion: set time.mode to dynamic."))
            self._frame = gui.add_slider("frame", 0, 1, 1, 0, visible=False)
            self._listen(self._frame, "frame")
            self._play = self._button("Play", "play", icon="player-play")
            self._play.visible = False
            self._window = gui.add_multi_slider("window", 0, 1, 1, (0, 1), visible=False)
            self._listen(self._window, "window")
            self._refine_frames = self._button("Refine the window", "refine_frames", icon="stack-2")
            self._refine_frames.visible = False
        with tabs.add_tab("File", icon="device-floppy"):
            self._file = gui.add_text("file", "", hint="name of what is written into the scene's folder")
            self._button("Save scene", "save", icon="device-floppy")
            self._open = gui.add_dropdown("open", ("…",))
            self._listen(self._open, "open")
            self._upload = gui.add_upload_button(
                "Add file", icon="upload", mime_type=",".join(UPLOADABLE), hint="a scene or a mesh for the folder"
            )  # fmt: skip
            self._upload.on_upload(self._take_file)
            self._format = gui.add_dropdown("format", ("usdc",))
            self._button("Export", "export", icon="download")
            self._button("Picture", "picture", icon="camera")
            self._button("Web page", "web_page", icon="world", hint="what is shown, for any browser")
            self._command = gui.add_html("")
        self._know(self._file, self._format)
        self._message = gui.add_html("", visible=False)

    def _button(self, label: str, event: str, *, icon: Any = None, hint: str | None = None) -> Any:
        button = self._gui.add_button(label, icon=icon, hint=hint)

        button.on_click(self._poster(event))
        self._know(button)
        return button

    def _listen(self, control: Any, event: str, *more: Any) -> None:
        """Posts what a user sets a control to; what we set it to ourselves is no event."""

        async def tell(said: Any) -> None:
            if said.client is not None:
                self._post(event, *more, said.target.value)

        (control.on_click if hasattr(control, "on_click") else control.on_update)(tell)
        self._know(control)

    def _know(self, *controls: Any) -> None:
        """Controls that a user can set."""
        self._controls |= {control._impl.uuid: control for control in controls}

    def accepts(self, uuid: str, value: Any) -> bool:
        """Whether a user can set a control to that."""
        control = self._controls.get(uuid)
        if control is None:
            return False
        now = control.value
        if hasattr(control, "options"):
            return value in control.options
        if isinstance(now, bool):
            return isinstance(value, bool)
        if isinstance(now, (int, float)):
            least, most = getattr(control, "min", None), getattr(control, "max", None)
            return is_number(value) and (-math.inf if least is None else least) <= value <= (most or math.inf)
        if isinstance(now, tuple):
            return isinstance(value, list) and len(value) == len(now) and all(map(is_number, value))
        return isinstance(value, str) and len(value) <= MOST_TEXT

    async def _take_file(self, event: Any) -> None:
        file = event.target.value
        self._post("uploaded", file.name, file.content)

    def takes_files(self, uuid: str) -> bool:
        return bool(uuid == self._upload._impl.uuid)

    def show_status(self, lines: Sequence[str], *, busy: bool) -> None:
        self._status.content = _box("<br>".join(lines), busy=busy)

    async def _go(self, event: Any) -> None:
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

    def allow_grip(self, allowed: bool) -> None:
        self._grip.visible = allowed

    def allow_picks(self, allowed: bool) -> None:
        self._picks.visible = self._firm.visible = allowed

    def _options(self, dropdown: Any, options: Sequence[str], chosen: str) -> None:
        if tuple(dropdown.options) != tuple(options):
            dropdown.options = tuple(options)
        if dropdown.value != chosen:
            dropdown.value = chosen

    # --- the form -----------------------------------------------------------------------------------------------------

    def show_form(self, sections: Sequence[Section]) -> None:
        for old in self._sections:
            old.remove()
        self._controls = {uuid: each for uuid, each in self._controls.items() if not each._impl.removed}
        with self._form:
            self._sections = [self._show_section(section) for section in sections]

    def _show_section(self, section: Section) -> Any:
        folder = self._gui.add_folder(section.title or None, expand_by_default=section.common)
        with folder:
            if section.title == "material":
                self._gui.add_image(draw_fabrics(section.fields[0].value).astype(np.uint8))
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
        self._how.visible = beside is not None
        self._wipe.visible = beside is not None and self._how.value == HOW[0]
        upto = ("the finest", *(f"level {level}" for level in range(count - 1)))
        self._options(self._upto, upto, self._upto.value if self._upto.value in upto else "the finest")

    def show_ends(self, rows: Sequence[tuple[str, ...]]) -> None:
        """How each level ended."""
        cells = ("".join(f"<td style='padding-right:1em'>{escape(cell)}</td>" for cell in row) for row in rows)
        self._ends.content = _small(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>") if rows else ""

    def allow_cut(self, allowed: bool) -> None:
        self._cut.visible = allowed

    def show_small(self, image: Ints | None) -> None:
        """Small pictures of the levels, (height, width, 3), 0 to 255."""
        self._small.visible = image is not None
        if image is not None:
            self._small.image = image.astype(np.uint8)

    def show_report(self, text: str) -> None:
        self._report.visible = bool(text)
        self._report.content = (
            f"<pre style='margin:.3em .8em;font-size:.7em;line-height:1.4;overflow-x:auto'>{escape(text)}</pre>"
        )

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
        for control in (self._frame, self._play, self._window, self._refine_frames):
            control.visible = last > 0
        if last > 0:
            self._frame.max = self._window.max = last
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

    @property
    def format(self) -> str:
        return str(self._format.value)


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
