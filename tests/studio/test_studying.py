"""Sections, distances and small pictures of what is shown."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.scene.presets import PRESETS
from plisse.studio.studying import Studying
from plisse.studio.thumbnails import BACK, HEIGHT, WIDTH, draw_fabrics, draw_thumbnail, fabrics
from plisse.studio.view import SECTIONS, Level, View
from plisse.studio.words import Ended

from .test_editing import Blank, Desk


class Said(Blank):
    """A page that only remembers what it was told."""

    def __init__(self) -> None:
        self.said: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *values, **_: self.said.update({name: values})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def studying(desk: Desk, tmp_path: Path) -> Studying:
    return Studying(Said(), desk.view, tmp_path, post=lambda *_: None, draw=lambda: None)  # type: ignore[arg-type]


def middles(view: View) -> np.ndarray:
    stage, x = view.compose()
    return np.concatenate([x[p.first : p.last][p.triangles].mean(axis=1) for p in stage.parts])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_section_keeps_what_is_on_one_side_of_its_plane(desk: Desk, studying: Studying, axis: int) -> None:
    whole = middles(desk.view)
    studying.on_section(SECTIONS[axis + 1])
    studying.on_cut(0.3)
    _, x = desk.view.compose()
    edge = x[:, axis].min() + 0.3 * np.ptp(x[:, axis])
    kept = middles(desk.view)[:, axis]
    assert 0 < len(kept) < len(whole)
    assert (kept >= edge).all() if axis == 1 else (kept <= edge).all()
    expected = whole[:, axis] >= edge if axis == 1 else whole[:, axis] <= edge
    assert len(kept) == expected.sum()
    studying.on_section("none")
    assert len(middles(desk.view)) == len(whole)


def test_two_clicks_measure_a_distance(desk: Desk, studying: Studying) -> None:
    studying.on_measure()
    down = np.array([0.0, 0.0, -1.0])
    a, b = desk.x[16], desk.x[19]
    studying.on_pointed(np.array([9.0, 9.0, 1.0]), down)
    assert "no surface" in studying.page.said["tell"][0]  # type: ignore[attr-defined]
    for point in (a, b):
        studying.on_pointed(point + np.array([1e-4, 1e-4, 1.0]), down)
    said = studying.page.said["tell"][0]  # type: ignore[attr-defined]
    assert float(said.split()[0]) == pytest.approx(100.0 * float(np.linalg.norm(b - a)), abs=0.02)


def test_a_thumbnail_shows_every_surface_without_holes(desk: Desk) -> None:
    stage, x = desk.view.compose()
    image = draw_thumbnail(stage, x)
    assert image.shape == (HEIGHT, WIDTH, 3) and image.min() >= 0 and image.max() <= 255
    seen = (image != BACK).any(axis=2)
    assert 0.2 < seen.mean() < 0.95
    # a row of the picture through its middle is not interrupted
    columns = np.flatnonzero(seen[HEIGHT // 2])
    assert len(columns) == np.ptp(columns) + 1
    shell = np.array(stage.parts[0].color)
    hues = image[seen] / np.maximum(image[seen].max(axis=1, keepdims=True), 1)
    assert (np.abs(hues - shell / shell.max()).max(axis=1) < 0.05).mean() > 0.2, "the cloth is seen"


def test_levels_that_ended_have_small_pictures_and_lose_them_when_they_begin_anew(
    desk: Desk, studying: Studying
) -> None:
    level = desk.view.levels[0]
    desk.view.levels[1] = Level(level.stage, level.x)
    for number in (0, 1):
        desk.view.levels[number].ended = Ended(1, number, True)
    studying.show_small()
    image = studying.page.said["show_small"][0]  # type: ignore[attr-defined]
    assert image.shape[1] > 2 * WIDTH
    studying.forget(0)
    desk.view.levels = {0: Level(level.stage, level.x)}
    studying.show_small()
    assert studying.page.said["show_small"][0] is None  # type: ignore[attr-defined]


def test_every_fabric_has_a_picture_and_the_chosen_one_a_frame() -> None:
    assert set(fabrics()) == set(PRESETS)
    plain, framed = draw_fabrics(None), draw_fabrics("denim")
    assert plain.shape == framed.shape and 0.005 < (plain != framed).any(axis=2).mean() < 0.01
    # paper and metal stay flat, cloth hangs down
    tall = {name: np.ptp(np.flatnonzero((image[:66] != BACK).any(axis=(1, 2)))) for name, image in fabrics().items()}
    assert max(tall["paper"], tall["aluminium"]) < 0.7 * min(tall["cotton"], tall["silk"], tall["denim"])
