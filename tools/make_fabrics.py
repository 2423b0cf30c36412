"""Draws how each fabric of the presets drapes, as the studio shows it beside the list of fabrics.

Run from the checkout: python tools/make_fabrics.py. It simulates a square of each over a small round table, and writes
src/plisse/studio/fabrics.npz.
"""

from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import load_scene
from plisse.pictures.stage import set_stage
from plisse.progressive.session import Session
from plisse.scene.presets import PRESETS
from plisse.studio.thumbnails import draw_thumbnail

OUT = Path(__file__).parents[1] / "src/plisse/studio/fabrics.npz"
WIDTH, HEIGHT, CAPTION = 88, 66, 12
MOST = 400  # Newton iterations


def drape(fabric: str) -> np.ndarray:
    """A picture of a square of the fabric that hangs over a small round table."""
    scene = load_scene(
        {
            "shell": [
                {"name": "cloth", "shape": "grid", "width": 0.5, "height": 0.5, "vertices": 1500, "material": fabric,
                 "rest_on": "table"}
            ],
            "collider": [
                {"name": "table", "shape": "can", "radius": 0.13, "height": 0.02, "rounding": 0.004, "vertices": 800,
                 "translate": [0.0, 0.0, 0.4]}
            ],
        }
    )  # fmt: skip
    geometry = load_geometry(scene, Path())
    session = Session(scene, geometry)
    *_, state = islice(session.preview(), MOST)
    stage = set_stage(scene, [*geometry.shells, *geometry.solids])
    tile = np.full((HEIGHT + CAPTION, WIDTH, 3), 255, np.uint8)
    tile[:HEIGHT] = draw_thumbnail(stage, state.x, width=WIDTH, height=HEIGHT)
    image = Image.fromarray(tile)
    ImageDraw.Draw(image).text((WIDTH // 2, HEIGHT + CAPTION // 2), fabric, fill=(60, 60, 60), anchor="mm")
    print(fabric, state.step, state.converged, flush=True)
    return np.asarray(image)


if __name__ == "__main__":
    np.savez_compressed(OUT, **{fabric: drape(fabric) for fabric in PRESETS})
    print(f"{OUT}: {OUT.stat().st_size / 1024:.0f} KB")
