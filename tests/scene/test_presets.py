"""Presets: what they are made from, and that every one says so."""

import re
from pathlib import Path

import numpy as np
import pytest

from plisse.energies.bending import Bending
from plisse.scene.citations import read_references
from plisse.scene.presets import PRESETS, SOURCES, hinge_modulus
from plisse.shapes.catalogue import grid

ASKED = {
    "cotton", "wool", "wool-lycra", "polyester", "silk", "denim", "leather", "paper", "aluminium", "rubber", "latex",
}  # fmt: skip
DOCS = Path(__file__).parents[2] / "docs"


def test_all_are_there_and_named():
    assert set(PRESETS) == set(SOURCES) == ASKED
    assert all(material.name == name for name, material in PRESETS.items())


@pytest.mark.parametrize("name", sorted(ASKED))
def test_every_source_is_in_the_references(name):
    note = SOURCES[name]
    cited = re.findall(r"\[(\w+)\]", note.source + note.note)
    assert cited, f"{name} cites nothing"
    assert set(cited) <= read_references().keys()


@pytest.mark.parametrize("name", sorted(ASKED))
def test_documented_with_these_values(name):
    text = (DOCS / "materials.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    material = PRESETS[name]
    written = [float(cell) for cell in cells[1:6]]
    held = [material.density, material.thickness * 1e3, material.E / 1e6, material.nu, material.bending_modulus / 1e6]
    assert written == pytest.approx(held, rel=0.01)


@pytest.mark.parametrize("name", sorted(ASKED))
def test_masses_per_area_are_those_of_sheets(name):
    # a density given in g/m² by mistake would be off by the thickness
    assert 0.05 < PRESETS[name].area_density < 0.6


def test_hinges_bend_as_the_measured_rigidity_says():
    B, nu, thickness = 2.0e-5, 0.2, 4.0e-4
    flat = grid(0.1, 0.1, resolution=20, diagonals="alternating")
    E = hinge_modulus(B, thickness=thickness, nu=nu)
    radius = 0.2
    rolled = flat.X.copy()
    rolled[:, 0], rolled[:, 2] = radius * np.sin(flat.X[:, 0] / radius), radius * np.cos(flat.X[:, 0] / radius)
    count = len(flat.hinges)
    bending = Bending(flat, E=np.full(count, E), nu=np.full(count, nu), thickness=np.full(count, thickness))
    # nothing beyond the outermost hinges bends: half a cell on either side
    bent = 0.1 * 0.1 * 19 / 20
    assert bending.value(rolled) == pytest.approx(0.5 * B * bent / radius**2, rel=1e-2)
