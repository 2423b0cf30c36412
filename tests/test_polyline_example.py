"""Restriction of forces on polylines, docs/examples/polyline_restriction.py: its numbers hold."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "docs/examples/polyline_restriction.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_one_collapse_as_in_the_paper(example: dict[str, Any]) -> None:
    """The affine map gives a force at one fine vertex to the far coarse vertex too, and with the wrong sign."""
    fine = np.array([[-2.0, 0.0], [-0.5, 1.0], [0.5, 1.0], [2.0, 0.0]])
    coarse, affine, along = example["collapse"](fine, 1)
    assert coarse.tolist() == [[-2.0, 0.0], [0.0, 1.0], [2.0, 0.0]]
    assert affine[1] == pytest.approx([0.125, 1.0, -0.125], abs=1e-5)
    arc = np.sqrt(1.5**2 + 1.0)
    w = 2.0 * arc / (2.0 * arc + 1.0)  # of the way to the middle
    assert along[1] == pytest.approx([1.0 - w, w, 0.0])
    for P in (affine, along):
        assert P.sum(axis=1) == pytest.approx(1.0) and (P[0] == [1, 0, 0]).all() and (P[3] == [0, 0, 1]).all()
    # rest shapes: kept in space, not along the line
    assert affine @ coarse == pytest.approx(fine, abs=1e-5)
    assert np.abs(along @ coarse - fine).max() > 0.1


def test_many_collapses(example: dict[str, Any], tmp_path: Path) -> None:
    figures = example["main"](tmp_path / "forces.svg")
    affine, along = figures["affine"], figures["along the line"]
    assert along["least entry"] >= 0.0 and along["largest entry"] <= 1.0
    assert affine["least entry"] < -0.2 and affine["largest entry"] > 1.05
    assert affine["entries a row"] > 1.3 * along["entries a row"]
    assert affine["restricted / fine forces"] > 1.1 * along["restricted / fine forces"]
    assert (tmp_path / "forces.svg").read_text().startswith("<svg")
