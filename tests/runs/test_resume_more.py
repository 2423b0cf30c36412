"""Resuming to the bit where more than contact is remembered: keyframed values, sequences, strain limits, pressure."""

from pathlib import Path

import numpy as np
import pytest
from tests.runs.test_resume import contents, differences, make_scene, no_pictures, run, take_snapshots

from plisse.meshes.obj import write_obj
from plisse.shapes.catalogue import make_shape

__all__ = ["no_pictures"]  # a fixture

SEQUENCE = '[[collider]]\nsequence = "ball"\nrate = 10\nstart = 0.05\n'
FLOOR = '[[collider]]\nshape = "floor"\nheight = 0\n'
SHEET = """[[shell]]
shape = "grid"
width = 0.3
height = 0.3
resolution = 6
translate = [0, 0, 0.09]
"""
LIMITED = SHEET + 'material = { preset = "cotton", strain_limit = true }\n'
CHANGING = """[shell.material]
preset = "cotton"
strain_limit = true
E = [{ time = 0.1, value = "1 MPa" }, { time = 0.2, value = "0.5 MPa" }]
density = [{ time = 0.1, value = 400 }, { time = 0.3, value = 800 }]
"""
WIND = "[wind]\nvelocity = [{ time = 0, value = [0, 0, 0] }, { time = 0.2, value = [3, 0, 0] }]\n"
BALL = '[[shell]]\nshape = "sphere"\nradius = 0.1\nsubdivisions = 1\ntranslate = [0, 0, 0.12]\n'
GAS = 'pressure = { kind = "gas", value = [{ time = 0, value = 1 }, { time = 2, value = "50 Pa" }] }\n'
PRESSURE = 'pressure = [{ time = 0, value = 0 }, { time = 2, value = "50 Pa" }]\n'
SOFTER = (
    'material = { preset = "cotton", E = [{ time = 0, value = 1e6 }, { time = 3, value = 5e5 }], strain_limit = 1.1 }\n'
)
SETS_IN = "gravity = [{ time = 0, value = [0, 0, 0] }, { time = 1, value = [0, 0, -9.81] }]\n"
TWO = "[hierarchy]\nlevels = 2\n"
SCENES = {
    "sequence, levels": SHEET + SEQUENCE + FLOOR + TWO + "[time]\nh = 0.05\n",
    "sequence, bdf2": SHEET
    + SEQUENCE
    + FLOOR
    + '[time]\nmode = "dynamic"\nduration = 0.4\nframe_every = 3\nintegrator = "bdf2"\n',
    "changing material": SHEET + CHANGING + SEQUENCE + FLOOR + WIND + '[time]\nmode = "dynamic"\nduration = 0.4\n',
    "gas": BALL + GAS + FLOOR + TWO + "[time]\nmax_steps = 60\n",
    "pressure, Loop": BALL + PRESSURE + SOFTER + FLOOR + TWO + "[time]\nmax_steps = 60\n",
    "printed proxy": SETS_IN + LIMITED + SEQUENCE + FLOOR + TWO + 'preset = "paper"\n[time]\nh = 0.1\nmax_steps = 80\n',
}
# of the files that appear, those before which the folder is copied
MOMENTS = {9, 14, 23, 40, 66, 67, 90, 91}


@pytest.mark.parametrize("name", SCENES)
def test_a_run_that_was_killed_ends_at_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ball = make_shape("sphere", {"radius": 0.08, "subdivisions": 2})
    (tmp_path / "ball").mkdir()
    for k in range(6):
        moved = ball.X * (1 + 0.05 * k) + np.array([0.01 * k, 0, 0.004 * k])
        write_obj(tmp_path / "ball" / f"f{k}.obj", moved, ball.triangles)
    scene, whole = make_scene(tmp_path, SCENES[name]), tmp_path / "whole"
    with monkeypatch.context() as patch:
        copies = take_snapshots(patch, MOMENTS.__contains__, whole, tmp_path)
        assert run(scene, whole) in (0, 1)
    expected = contents(whole)
    assert len(copies) >= 4
    for copy in copies:
        assert run(scene, copy, "--resume") in (0, 1)
        assert differences(contents(copy), expected) == [], copy.name
