"""Random touches at random moments, of everything that a user can do: nothing breaks, and nothing ever intersects."""

import io
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.contact.check import Detector
from plisse.core.mesh import Mesh, concatenate
from plisse.core.state import State
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene
from plisse.loading.scene_text import write_table
from plisse.progressive.session import Session
from plisse.scene.presets import PRESETS
from plisse.studio.form import UNSET, Field, make_form
from plisse.studio.words import Frame, Refused, Resting, Shown, Taken

from .test_work import SCENE

pytest.importorskip("viser", reason="the extra plisse[studio] is not installed")

from plisse.studio.studio import Studio

# sizes that only make it slow, what would need other files, and what lets everything pass through everything
LEFT_ALONE = {
    "levels", "kind", "sizes", "vertices", "resolution", "subdivisions", "segments", "mode", "method", "max_steps", "h",
    "file", "sequence", "ids", "group", "start", "rest", "proxy_levels_up", "duration", "linear",
    "enabled", "rest_distance",
}  # fmt: skip
MOST_BODIES = 5


class Witness:
    """Everything that the process says, each state looked at by the independent detector."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.said = studio, list[Any]()
        self.checked = self.refused = 0
        self.found: list[Frame] = []
        self._detectors: dict[int, Detector] = {}
        self._hear, studio.on_heard = studio.on_heard, self.hear  # type: ignore[method-assign]

    def hear(self, word: Any) -> None:
        if isinstance(word, Shown):
            parts = word.stage.parts
            whole, _ = concatenate([Mesh(word.x[p.first : p.last].astype(float), p.triangles) for p in parts])
            simulated = max(part.last for part in parts if part.is_shell)
            self._detectors[word.level] = Detector(whole.X, whole.edges, whole.triangles, simulated)
        elif isinstance(word, Frame):  # also iterates on the way, which have to be as good
            self.checked += 1
            if self._detectors[word.level].count(word.x.astype(float)) or word.intersections:
                self.found.append(word)
        self.refused += isinstance(word, Refused)
        self.said.append(word)
        self._hear(word)

    def wait(self, what: Callable[[], Any], why: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, f"waited in vain for {why}"
            time.sleep(0.02)


class Hand:
    """A user who does one thing after another without thinking."""

    def __init__(self, studio: Studio, seed: int) -> None:
        self.studio, self.rng = studio, np.random.default_rng(seed)
        self.post = studio.post

    def pick(self, options: Any) -> Any:
        options = list(options)
        return options[int(self.rng.integers(len(options)))]

    def act(self) -> str:
        acts: list[tuple[float, Callable[[], Any]]] = [
            (5, self.drag), (3, self.set_anything), (2, self.change_fabric), (1, self.add), (1, self.delete),
            (1, self.pin), (2, lambda: self.post("undo")), (1, lambda: self.post("redo")), (3, self.look),
            (0.5, lambda: self.post("hold")), (0.5, lambda: self.post("refine", bool(self.rng.integers(2)))),
            (0.5, lambda: self.post("upto", self.pick(["the finest", "level 0"]))),
            (0.5, lambda: self.post("rename", f"body {self.rng.integers(99)}")),
        ]  # fmt: skip
        weights = np.array([weight for weight, _ in acts])
        act = acts[int(self.rng.choice(len(acts), p=weights / weights.sum()))][1]
        act()
        return getattr(act, "__name__", "")

    def places(self) -> list[Any]:
        return [path for path, _ in self.studio.document.items()]

    def select(self, path: Any) -> None:
        titles = {place: title for title, place in self.studio.editing._titles().items()}
        self.post("select", titles.get(path, "[scene]"))

    def drag(self) -> None:
        path = self.pick([place for place in self.places() if len(place) == 2 or place[-2] == "pin"])
        self.select(path)
        if len(path) == 2:
            table = self.studio.document.scene
            body = (table.shells if path[0] == "shell" else table.colliders)[path[1]]
            start = np.array(body.translate, float)
        else:
            start = np.asarray(self.studio.looking.view.levels[0].x[0], float)
        end = time.monotonic() + 1.0
        while self.studio.editing.chosen != path and time.monotonic() < end:
            time.sleep(0.01)
        if self.studio.editing._size is not None:
            start = self.studio.editing._size.corner
        way = self.rng.normal(0.0, 0.03, 3)
        angle = float(self.rng.normal(0.0, 0.2)) if self.rng.uniform() < 0.3 else 0.0
        wxyz = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
        self.post("drag", path, "start", start, np.array([1.0, 0.0, 0.0, 0.0]))
        for part in np.linspace(0.2, 1.0, 4):
            self.post("drag", path, "update", start + part * way, wxyz)
            time.sleep(float(self.rng.uniform(0.0, 0.05)))
        self.post("drag", path, "end", start + way, wxyz)

    def set_anything(self) -> None:
        path = self.pick([(), *self.places(), ("contact",), ("wind",), ("time",), ("solver",), ("hierarchy",)])
        fields = [f for part in make_form(self.studio.document, path) for f in part.fields if f.label]
        fields = [f for f in fields if str(f.path[-1]) not in LEFT_ALONE and f.control != "text"]
        field: Field = self.pick(fields) if fields else Field((), "", "", None, "")
        value: Any = None
        if field.control in ("slider", "number"):
            value = float(field.value) * float(self.rng.uniform(0.6, 1.5)) + float(self.rng.normal(0.0, 0.01))
            value = round(value) if isinstance(field.value, int) else value
        elif field.control == "vector":
            value = [float(v) + float(self.rng.normal(0.0, 0.05)) for v in field.value]
        elif field.control == "choice":
            value = self.pick([*field.options, UNSET])
        elif field.control == "flag":
            value = not field.value
        if field.path:
            self.select(path)
            self.post("set", field, value)

    def change_fabric(self) -> None:
        fields = [f for part in make_form(self.studio.document, ("shell", 0)) for f in part.fields]
        self.post("set", next(f for f in fields if f.label == "fabric"), self.pick(PRESETS))

    def add(self) -> None:
        bodies = [place for place in self.places() if len(place) == 2]
        if len(bodies) < MOST_BODIES:
            self.select(self.pick(bodies))
            if self.rng.uniform() < 0.3:
                self.post("act", "Duplicate")
            else:
                self.post("add", self.pick(["ball", "box", "disc", "pin", "region", "motion", "floor"]))

    def delete(self) -> None:
        places = [place for place in self.places() if place != ("shell", 0)]
        if len(places) > 2:
            self.select(self.pick(places))
            self.post("act", "Delete")

    def pin(self) -> None:
        self.select(("shell", 0))
        level = self.studio.looking.view.levels.get(0)
        if level is not None and level.stage.parts[0].is_shell:
            x = level.x[level.stage.parts[0].first : level.stage.parts[0].last].astype(float)
            at = x[int(self.rng.integers(len(x)))]
            self.post("pick", "Click")
            self.post("picked", at + np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, -1.0]))

    def look(self) -> None:
        what, *values = self.pick([
            ("map", "strain"), ("map", "contact"), ("map", "curvature"), ("map", "none"), ("smooth", True),
            ("smooth", False), ("level", "level 0"), ("level", "the newest"), ("beside", "level 0"),
            ("beside", "nothing"), ("wipe", 0.3), ("edges", True), ("limits", True), ("edges", False),
            ("section", "across x"), ("section", "across y"), ("section", "none"), ("cut", 0.3),
            ("how", "side by side"), ("how", "wipe"), ("grip", "size"), ("grip", "size along axes"),
            ("grip", "move, turn"), ("hold_how", "by springs"), ("hold_how", "firmly"), ("measure",),
            ("pointed", np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, -1.0])), ("report",),
        ])  # fmt: skip
        self.post(what, *values)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[tuple[Studio, Witness, io.StringIO]]:
    (tmp_path / "tiny.toml").write_text(write_table(SCENE | {"contact": {"friction": 0.3}}))
    studio = Studio(tmp_path / "tiny.toml", host="127.0.0.1", port=0, threads=1)
    witness, said = Witness(studio), io.StringIO()
    thread = threading.Thread(target=partial(studio.run, said=said), daemon=True)
    thread.start()
    yield studio, witness, said
    studio.post("stop")
    thread.join(30)
    studio.close()


def touch_at_random(count: int, seed: int, studio: Studio, witness: Witness, said: io.StringIO) -> Path:
    """Random touches, then a moment's rest, then the scene is saved; the file is returned."""
    hand = Hand(studio, seed)
    witness.wait(lambda: studio.looking.view.levels, "the scene")
    for _ in range(count):
        hand.act()
        time.sleep(float(hand.rng.exponential(0.08)))
    if studio.steer.hold:
        studio.post("hold")
    studio.post("select", "[scene]")
    # everything that was done has been answered, and then there is rest
    witness.wait(lambda: studio._events.empty(), "the studio to come to an end")
    witness.wait(lambda: not studio._asked or max(studio._asked) <= newest(witness.said), "the last answer")
    hand.post("refine", True)
    hand.post("upto", "the finest")

    def rests() -> bool:
        return any(isinstance(word, Resting) for word in witness.said[-4:])

    end = time.monotonic() + 60.0
    while not rests() and time.monotonic() < end:
        time.sleep(0.02)
    if not rests():  # what came of it takes long to settle: it is left where it is
        studio.post("hold")
        witness.wait(rests, "a pause")
    studio.post("save")
    path = studio.document.base / "tiny-studio.toml"
    witness.wait(path.exists, "the saved scene")
    return path


def newest(said: list[Any]) -> int:
    """Number of the newest change that was answered."""
    return max((word.number for word in said if isinstance(word, (Taken, Refused))), default=0)


def check(path: Path, studio: Studio, witness: Witness, said: io.StringIO, err: str) -> None:
    assert "Traceback" not in said.getvalue(), said.getvalue()
    assert "Traceback" not in err, err
    assert not [
        word.sentence for word in witness.said if isinstance(word, Resting) and "error of its own" in word.sentence
    ]
    assert witness.found == []
    # the saved scene is the one that is shown, and what is shown is where it rests
    scene = load_scene(path, [f"name={studio.document.name}"])
    assert scene == studio.document.scene
    frames = [word for word in witness.said if isinstance(word, Frame) and word.level == 0]
    if scene.time.mode == "static" and frames[-1].converged:
        load = partial(load_geometry, base=path.parent)
        session = Session(scene, load(scene), load=load)
        x = frames[-1].x.astype(float)
        session.grid.put(State(0, 1, 1e3, x, np.zeros_like(x)))
        *_, last = session.preview()
        rest = session.ladder.rest()
        assert last.converged and rest is not None
        assert np.abs(last.x - x).max() < 50.0 * rest.distance


def test_a_few_random_touches(studio: tuple[Studio, Witness, io.StringIO], capfd: pytest.CaptureFixture[str]) -> None:
    path = touch_at_random(10, 3, *studio)
    check(path, *studio, capfd.readouterr().err)
    assert studio[1].checked > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_200_random_touches(
    studio: tuple[Studio, Witness, io.StringIO], seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    path = touch_at_random(200, seed, *studio)
    check(path, *studio, capfd.readouterr().err)
    assert studio[1].checked > 500
