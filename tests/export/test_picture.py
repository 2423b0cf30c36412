"""`plisse render` draws what a run's own pictures show: the same bodies, half-spaces, colours and framing."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.runs.test_resume import DRAPE, make_scene

from plisse.cli import main

SLOPE = """[[shell]]
name = "cloth"
shape = "grid"
vertices = 49
translate = [0, 0, 0.7]
[[shell]]
name = "scarf"
shape = "grid"
vertices = 16
translate = [0, 0, 0.9]
[[collider]]
name = "slope"
half_space = { normal = [0.08, -0.08, 1] }
[[collider]]
name = "ground"
shape = "floor"
height = -0.1
[[collider]]
name = "block"
shape = "box"
size = [0.2, 0.2, 0.2]
translate = [0.1, 0, 0.4]
[time]
mode = "dynamic"
duration = 0.04
"""


def read_picture(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path)).astype(int)


@pytest.mark.parametrize(("text", "levels"), [(SLOPE, 1), (DRAPE, 2)])
def test_render_draws_what_the_runs_own_picture_shows(tmp_path: Path, text: str, levels: int) -> None:
    run = tmp_path / "run"
    assert main(["run", str(make_scene(tmp_path, text)), "--out", str(run), "--threads", "1", "--quiet"]) == 0
    for level in range(levels):
        own, out = run / f"level-{level}" / "picture.png", tmp_path / "rendered.png"
        size = "x".join(str(side) for side in Image.open(own).size)
        assert main(["render", str(run), "--level", str(level), "--size", size, "--out", str(out)]) == 0
        assert np.array_equal(read_picture(own), read_picture(out))
