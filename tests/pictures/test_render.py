"""Pictures show what is there: size, order, side, light; and the same bytes every time."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from plisse.core.errors import SceneError
from plisse.pictures.render import Body, Camera, Ground, draw, frame, render, render_strip

SIZE = (160, 120)
ABOVE = Camera(eye=(0.0, 0.0, 4.0), target=(0.0, 0.0, 0.0), angle=30.0)
RED, BLUE = (0.9, 0.1, 0.1), (0.1, 0.1, 0.9)


def make_square(half: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    x = np.array([[-half, -half, height], [half, -half, height], [half, half, height], [-half, half, height]])
    return x, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def make_sphere(radius: float, rings: int = 32) -> tuple[np.ndarray, np.ndarray]:
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.arange(2 * rings) * np.pi / rings, indexing="ij")
    x = radius * np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    i, j = np.meshgrid(np.arange(rings), np.arange(2 * rings), indexing="ij")
    a, b = (i * 2 * rings + j).ravel(), (i * 2 * rings + (j + 1) % (2 * rings)).ravel()
    c, d = a + 2 * rings, b + 2 * rings
    triangles = np.concatenate([np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)])
    return x.reshape(-1, 3), triangles.astype(np.int32)


def is_red(picture: np.ndarray) -> np.ndarray:
    rgb = picture.astype(int)
    return rgb[..., 0] > rgb[..., 2] + 40


def is_blue(picture: np.ndarray) -> np.ndarray:
    rgb = picture.astype(int)
    return rgb[..., 2] > rgb[..., 0] + 40


def brightness(picture: np.ndarray, chosen: np.ndarray) -> float:
    return float(picture[chosen].mean())


def test_silhouette_of_a_sphere_has_the_right_area() -> None:
    radius, distance, angle = 0.5, 4.0, 30.0
    camera = Camera(eye=(0.0, -distance, 0.0), target=(0.0, 0.0, 0.0), angle=angle)
    picture = draw([Body(*make_sphere(radius), color=RED)], size=SIZE, camera=camera)
    focal = 0.5 * SIZE[1] / np.tan(0.5 * np.radians(angle))
    # the outline is the cone that touches the sphere
    expected = np.pi * (focal * np.tan(np.arcsin(radius / distance))) ** 2
    assert is_red(picture).sum() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("order", [1, -1])
def test_nearer_body_hides_the_farther_one(order: int) -> None:
    bodies = [Body(*make_square(0.3, 0.5), color=RED), Body(*make_square(0.8, 0.0), color=BLUE)]
    picture = draw(bodies[::order], size=SIZE, camera=ABOVE)
    middle = picture[SIZE[1] // 2 - 4 : SIZE[1] // 2 + 4, SIZE[0] // 2 - 4 : SIZE[0] // 2 + 4]
    assert is_red(middle).all()
    assert is_blue(picture).sum() > is_red(picture).sum()


def test_bodies_that_cross_are_each_seen_on_their_side() -> None:
    x, triangles = make_square(0.8, 0.0)
    tilted = x + np.stack([0 * x[:, 0], 0 * x[:, 0], 0.5 * x[:, 0]], axis=1)
    picture = draw([Body(x, triangles, color=BLUE), Body(tilted, triangles, color=RED)], size=SIZE, camera=ABOVE)
    left, right = picture[50:70, 62:76], picture[50:70, 84:98]
    assert is_blue(left).all()
    assert is_red(right).all()


def test_back_has_its_own_colour() -> None:
    x, triangles = make_square(0.5, 0.0)
    front = draw([Body(x, triangles, color=RED, back_color=BLUE)], size=SIZE, camera=ABOVE)
    back = draw([Body(x, triangles[:, ::-1], color=RED, back_color=BLUE)], size=SIZE, camera=ABOVE)
    assert is_red(front).any() and not is_blue(front).any()
    assert is_blue(back).any() and not is_red(back).any()
    one_sided = draw([Body(x, triangles[:, ::-1], color=RED, two_sided=False)], size=SIZE, camera=ABOVE)
    assert np.array_equal(one_sided, front)
    paler = draw([Body(x, triangles[:, ::-1], color=RED)], size=SIZE, camera=ABOVE)
    assert is_red(paler).any() and not np.array_equal(paler, front)


def test_side_away_from_the_light_is_darker() -> None:
    camera = Camera(eye=(0.0, -4.0, 0.0), target=(0.0, 0.0, 0.0), angle=30.0)
    picture = draw([Body(*make_sphere(0.6), color=RED)], size=SIZE, camera=camera)
    red = is_red(picture)
    half = np.arange(SIZE[0]) < SIZE[0] // 2
    assert brightness(picture, red & half) > 1.2 * brightness(picture, red & ~half)
    rows = np.arange(SIZE[1])[:, None] < SIZE[1] // 2
    assert brightness(picture, red & rows) > 1.2 * brightness(picture, red & ~rows)


def test_shadow_darkens_ground_and_bodies_below() -> None:
    camera = Camera(eye=(0.0, -4.0, 3.0), target=(0.0, 0.0, 0.0), angle=30.0)
    lid = Body(*make_square(0.3, 0.6), color=RED)
    # one sample a pixel: none is half cloth, half ground
    bare = draw([lid], size=SIZE, camera=camera, supersample=1)
    floor = draw([lid], size=SIZE, camera=camera, grounds=[Ground()], supersample=1)
    changed = ~np.all(bare == floor, axis=-1)
    assert changed.any() and not (changed & is_red(bare)).any()
    assert (floor[changed] <= bare[changed]).all()
    assert floor[changed].min() < 0.8 * bare[changed].min()
    table = Body(*make_square(0.9, 0.0), color=BLUE)
    below, alone = draw([lid, table], size=SIZE, camera=camera), draw([table], size=SIZE, camera=camera)
    both = is_blue(below) & is_blue(alone)
    assert below[both].astype(int).min() < 0.7 * alone[both].astype(int).min()


def test_tilted_grounds_hide_what_is_below_them_and_have_a_tone_of_their_own() -> None:
    square = Body(*make_square(0.4, 0.0), color=RED)
    right, left = Ground((0.6, 0.0, 0.8)), Ground((-0.6, 0.0, 0.8))
    half = np.arange(SIZE[0]) < SIZE[0] // 2
    seen = is_red(draw([square], size=SIZE, camera=ABOVE, grounds=[right]))
    assert not (seen & half).any()
    assert np.array_equal(seen & ~half, is_red(draw([square], size=SIZE, camera=ABOVE)) & ~half)
    # of a valley each side is seen where it is above the other, and both are from outside only
    valley = draw([square], size=SIZE, camera=ABOVE, grounds=[right, left])
    assert not is_red(valley).any()
    assert np.abs(valley[:, :60].mean() - valley[:, 100:].mean()) > 5.0
    ceiling = Ground((0.0, 0.0, -1.0), offset=-1.0)
    assert is_red(draw([square], size=SIZE, camera=ABOVE, grounds=[ceiling])).any()


def test_floor_that_reaches_behind_the_camera_is_drawn() -> None:
    camera = Camera(eye=(0.0, -2.0, 1.0), target=(0.0, 0.0, 0.5), angle=40.0)
    floor = Body(*make_square(50.0, 0.0), color=BLUE, framed=False)
    picture = draw([floor, Body(*make_square(0.2, 0.5), color=RED)], size=SIZE, camera=camera)
    assert is_blue(picture[-20:]).all()
    assert not is_blue(picture[:10]).any()


@pytest.mark.parametrize("stretch", [(1.0, 1.0, 0.1), (0.2, 0.2, 3.0), (4.0, 0.3, 0.3)])
def test_automatic_camera_holds_everything(stretch: tuple[float, float, float]) -> None:
    x, triangles = make_sphere(0.5, rings=12)
    body = Body(x * stretch + 7.0, triangles, color=RED)
    red = is_red(draw([body], size=SIZE, camera=frame([body], size=SIZE)))
    assert not (red[0].any() or red[-1].any() or red[:, 0].any() or red[:, -1].any())
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert max(np.ptp(rows) / SIZE[1], np.ptp(columns) / SIZE[0]) > 0.75


def test_same_bytes_on_every_run(tmp_path: Path) -> None:
    bodies = [Body(*make_sphere(0.4, rings=12)), Body(*make_square(0.6, -0.1), color=BLUE)]
    for name in ("a", "b"):
        render(tmp_path / f"{name}.png", bodies, size=SIZE, grounds=[Ground(offset=-0.4)])
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert Image.open(tmp_path / "a.png").size == SIZE


def test_strip_puts_pictures_side_by_side(tmp_path: Path) -> None:
    groups = [[Body(*make_square(0.5, 0.0), color=RED)], [Body(*make_square(0.3, 0.0), color=BLUE)]]
    render_strip(tmp_path / "strip.png", groups, ["coarse", "12 × 12"], size=SIZE)
    strip = np.asarray(Image.open(tmp_path / "strip.png"))
    assert strip.shape[1] == 2 * SIZE[0] and strip.shape[0] > SIZE[1]
    assert is_red(strip[:, : SIZE[0]]).any() and is_blue(strip[:, SIZE[0] :]).any()
    assert strip[SIZE[1] :].min() < 100  # the labels


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="nothing to draw"):
        render(tmp_path / "empty.png", [])
    x, triangles = make_square(0.5, 0.0)
    with pytest.raises(SceneError, match="not finite"):
        render(tmp_path / "nan.png", [Body(x * np.nan, triangles)])
    with pytest.raises(SceneError, match="names vertex 9"):
        render(tmp_path / "index.png", [Body(x, [[0, 1, 9]])])
    with pytest.raises(SceneError, match="1, 2 or 4"):
        render(tmp_path / "samples.png", [Body(x, triangles)], supersample=3)
    with pytest.raises(SceneError, match="labels"):
        render_strip(tmp_path / "strip.png", [[Body(x, triangles)]], [])
    (tmp_path / "file").write_text("")
    with pytest.raises(SceneError, match="cannot be written"):
        render(tmp_path / "file" / "a.png", [Body(x, triangles)], size=(16, 12))
