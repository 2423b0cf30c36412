"""Every export, opened in the real Blender: size, axes, motion, shading, materials, and one picture.

PLISSE_BPY_PYTHON names a Python that has the bpy wheel (`pip install bpy==5.0.1` in an environment of its own).
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.runs.test_recording import record

from plisse.core.mesh import Floats
from plisse.export import export_run
from plisse.export.look import linear
from plisse.pictures.normals import vertex_normals
from plisse.pictures.stage import SHELL_COLORS
from plisse.runs.recording import Recording, open_recording
from plisse.runs.store import RunStore

PYTHON = os.environ.get("PLISSE_BPY_PYTHON")
FILES: dict[str, dict[str, Any]] = {
    "all.usdc": {}, "all.abc": {}, "last.glb": {}, "animated.glb": {"animated": True}, "last.obj": {}, "last.ply": {},
}  # fmt: skip
MOVING = ("all.usdc", "all.abc", "animated.glb")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PYTHON is None, reason="PLISSE_BPY_PYTHON names no Python with the bpy wheel"),
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Recording, Path]:
    """What Blender says of each file, the recording that they were made of, and Blender's picture."""
    place = tmp_path_factory.mktemp("blender")
    run, frames = record(place / "run", shell=[
        {"shape": "grid", "vertices": 400, "name": "lower", "material": "cotton"},
        {"shape": "grid", "vertices": 100, "name": "upper", "material": "wool", "translate": [0, 0, 0.3]},
    ])  # fmt: skip
    recording = open_recording(run)
    # runs begin with flat sheets
    start = frames[0].copy()
    for body, height in zip(recording.bodies[:2], (0.0, 0.3), strict=True):
        start[body.first : body.last, 2] = height
    RunStore.open(run).write_frame(0, 0, start)
    out = place / "out"
    for name, options in FILES.items():
        export_run(run, out / name, **options)
    picture, script = place / "picture.png", Path(__file__).with_name("blender_look.py")
    arguments = [str(out), str(len(recording)), str(round(recording.rate)), str(picture)]
    # without our own paths: Blender brings other versions of the same libraries
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(PYTHON), str(script), *arguments], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("FOUND "))
    return json.loads(line.removeprefix("FOUND ")), recording, picture


def places(recording: Recording, index: int, *, body: int) -> Floats:
    part = recording.bodies[body]
    return recording.positions(recording.numbers[index])[part.first : part.last]


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_the_right_size_axes_and_motion(
    opened: tuple[dict[str, Any], Recording, Path], name: str
) -> None:
    found, recording, _ = opened
    shells = {"last": None} if name == "last.ply" else {"lower": 0, "upper": 1}
    for shell, number in shells.items():
        shown = np.array(found[name][shell]["places"])
        for index in range(len(recording)):
            at = index if name in MOVING else len(recording) - 1
            parts = [places(recording, at, body=body) for body in ((0, 1) if number is None else (number,))]
            assert shown[index] == pytest.approx(np.concatenate(parts), abs=1e-5)
    if name in MOVING:
        ball = np.array(found[name]["ball"]["places"])
        assert np.ptp(ball[:, :, 2].mean(axis=1)) == pytest.approx(0.02, abs=1e-5)  # it rises in the last two frames


@pytest.mark.parametrize("name", sorted(set(FILES) - {"last.ply"}))
def test_shells_are_shaded_smooth(opened: tuple[dict[str, Any], Recording, Path], name: str) -> None:
    found, recording, _ = opened
    lower = found[name]["lower"]
    assert lower["flat"] == 0
    corners, triangles = np.array(lower["normals"]).reshape(-1, 3, 3), np.array(lower["triangles"])
    expected = vertex_normals(places(recording, len(recording) - 1, body=0), recording.bodies[0].triangles)
    # of morph targets and OBJ Blender makes the normals itself, weighted by angles; the others it keeps in few bits
    allowed = 6.0 if name in ("animated.glb", "last.obj") else 0.5
    assert np.sum(corners * expected[triangles], axis=-1).min() > np.cos(np.radians(allowed))


@pytest.mark.parametrize("name", sorted(set(FILES) - {"last.ply"}))
def test_materials_have_their_names_and_colours(opened: tuple[dict[str, Any], Recording, Path], name: str) -> None:
    found, _, _ = opened
    for shell, material, color in (("lower", "cotton", SHELL_COLORS[0]), ("upper", "wool", SHELL_COLORS[1])):
        seen = found[name][shell]
        assert seen["materials"] == [material]
        if name.endswith((".usdc", ".glb")):
            assert seen["colors"][0] == pytest.approx(linear(color), abs=0.01)
        if name.endswith((".usdc", ".abc")):
            assert seen["painted"] == pytest.approx(linear(color), abs=0.01)
    if name not in ("last.obj",):
        assert found[name]["block"]["materials"] == ["collider"]


def test_a_picture_shows_both_sheets(opened: tuple[dict[str, Any], Recording, Path]) -> None:
    picture = np.asarray(Image.open(opened[2]).convert("RGB")).astype(int)
    red, blue = (picture[..., a] > picture[..., b] + 30 for a, b in ((0, 2), (2, 0)))
    assert red.sum() > 2000 and blue.sum() > 2000
