"""Scenes of the gallery whose levels are found by decimation: small previews of each, with their expected numbers."""

from pathlib import Path

import numpy as np
import pytest

import plisse.runs.album
from plisse.bench.psq_gallery import SMALL
from plisse.core.arrays import Bools
from plisse.core.mesh import Mesh
from plisse.scene.schedule import rotation
from tests.gallery import Outcome, Small, check_always, check_floor, check_rest, outside_of_ball, run_scene


def volume(found: Outcome, frame: int) -> float:
    return float(Mesh(np.ascontiguousarray(found.x[frame]), found.triangles).volume)


def check_arrived(found: Outcome) -> None:
    """All that is led has come to its last key."""
    assert found.level["missed_keyframes"] <= found.contact["dhat"]


def check_moved(found: Outcome, held: Bools, by: list[float]) -> None:
    """These vertices were pinned, and have gone just as far."""
    assert held.sum() >= 3
    np.testing.assert_allclose(found.x[-1][held] - found.x[0][held], np.tile(by, (held.sum(), 1)), atol=1e-9)


def check_can(found: Outcome) -> None:
    check_rest(found)
    check_arrived(found)
    start, x = found.x[0], found.x[-1]
    # it stands on the lower plate, and the upper one has come down on it
    assert found.contact["offset"] < 0.0502 + x[:, 2].min() < found.near
    assert found.contact["offset"] < 0.0502 - 0.012 - x[:, 2].max() < found.near
    # the wall has buckled, with dents of some millimetres
    wall = np.abs(start[:, 2]) < 0.04
    dents = 0.033 - np.hypot(x[wall, 0], x[wall, 1])
    assert dents.max() > 3e-3 and np.abs(dents).max() < 0.033
    assert 0.3 < volume(found, -1) / volume(found, 0) < 0.95


def check_mat(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    for side in (-1.0, 1.0):
        held = np.abs(start[:, 0] - 0.5 * side) < 1e-9
        assert held.sum() >= 10
        np.testing.assert_allclose(x[held], start[held] @ rotation([-180 * side, 0, 0]).T, atol=1e-9)
    # wrung to less than half its width in the middle, and stretched along its rims
    middle = np.abs(start[:, 0]) < 0.1
    assert np.linalg.norm(x[middle, 1:], axis=1).max() < 0.25
    assert found.level["energy"] > 0.0


def check_buckle(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    for side in (-1.0, 1.0):
        check_moved(found, np.abs(start[:, 0] - 0.1 * side) < 1e-9, [-0.015 * side, 0, 0])
    # up, as high as an elastica that is 15 % shorter than its length; straight from side to side
    assert x[:, 2].max() == pytest.approx(0.2 * 0.235, rel=0.05) and x[:, 2].min() > -1e-3
    assert np.ptp(x[np.abs(start[:, 0]) < 0.01, 2]) < 5e-3


def check_shear(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    for side in (-1.0, 1.0):
        check_moved(found, np.abs(start[:, 0] - 0.1 * side) < 1e-9, [0, 0.02 * side, 0])
    # wrinkles along the diagonal that is pulled: heights vary across it more than along it
    assert 2e-3 < np.ptp(x[:, 2]) < 0.05
    inner = np.abs(start[:, :2]).max(axis=1) < 0.07
    heights, along = x[inner, 2] - x[inner, 2].mean(), start[inner, :2] @ [[1, 1], [1, -1]]
    i, j = np.triu_indices(inner.sum(), 1)
    apart, change = np.abs(along[i] - along[j]), (heights[i] - heights[j]) ** 2
    rms = [change[(apart[:, k] < 0.02) & (apart[:, k - 1] > 0.04) & (apart[:, k - 1] < 0.06)].mean() for k in (0, 1)]
    assert rms[0] > 1.3 * rms[1]


def check_dome(found: Outcome) -> None:
    check_rest(found)
    check_arrived(found)
    start, x = found.x[0], found.x[-1]
    # the ball is back above the dome, which hangs from its rim as a mirror image of what it was
    assert found.solids[:, 2].min() == pytest.approx(0.053, abs=1e-3)
    check_moved(found, start[:, 2] < -0.05 + 1e-9, [0, 0, 0])
    assert np.abs(x - [0, 0, -0.1] - start * [1, 1, -1]).max() < 0.01


def check_pumpkin(found: Outcome) -> None:
    check_rest(found)
    check_arrived(found)
    x = found.x[-1]
    assert found.contact["offset"] < 0.051 + x[:, 2].min() < found.near
    assert found.contact["offset"] < 0.051 - 0.025 - x[:, 2].max() < found.near
    assert 0.5 < volume(found, -1) / volume(found, 0) < 0.95


def check_cage(found: Outcome) -> None:
    check_rest(found)
    check_arrived(found)
    # the cage has closed, the monster's horns look out of it, and pressure keeps most of it round
    assert np.linalg.norm(found.solids, axis=1).max() == pytest.approx(0.14, rel=0.02)
    assert np.linalg.norm(found.x[-1], axis=1).max() > 0.145
    assert 0.9 < volume(found, -1) / volume(found, 0) < 2.0
    assert found.level["max_stretch_over_limit"] > 0.85


def check_character(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    hand = np.linalg.norm(start - [0.105, 0.115, 0.155], axis=1) < 0.02
    check_moved(found, hand, [-0.02, 0, 0.06])
    # on the stool, larger than at rest
    assert found.contact["offset"] < x[np.abs(x[:, :2]).max(axis=1) < 0.1, 2].min() < 0.02
    assert 1.1 < volume(found, -1) / volume(found, 0) < 2.2


def check_pocket(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    # what was the pocket's floor is on top now
    inside = (np.hypot(start[:, 0], start[:, 1]) < 0.02) & (np.abs(start[:, 2]) < 0.03)
    assert inside.any() and x[inside, 2].min() > 0.11
    assert volume(found, -1) > 1.2 * volume(found, 0)


def check_hat(found: Outcome) -> None:
    check_rest(found)
    assert outside_of_ball(found, -0.19, 0.12).min() > -2e-3
    x = found.x[-1]
    assert np.abs(x[:, :2].mean(axis=0)).max() < 0.01
    assert x[:, 2].max() < found.start[:, 2].max() - 0.02 and x[:, 2].min() > -0.31
    assert 0.85 < found.level["max_stretch_over_limit"] < 1.0


def check_cow(found: Outcome) -> None:
    check_rest(found)
    start, x = found.x[0], found.x[-1]
    # it rests on the board, its head and its legs hang
    assert -0.095 < x[(np.abs(x[:, 0]) < 0.06) & (np.abs(x[:, 1]) < 0.008), 2].min() < -0.03
    head = start[:, 0] > 0.2
    assert x[head, 2].mean() < start[head, 2].mean() - 0.02
    assert x[:, 2].min() > -0.252


def check_cutter(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.026)
    # round and firm, held up by the cutter
    assert 1.1 < volume(found, -1) / volume(found, 0) < 1.75
    assert found.x[-1].mean(axis=0)[2] > 0.05


def check_blanket(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.51)
    assert -0.005 < found.x[-1, :, 2].max() - found.solids[:, 2].max() < 0.02
    assert 0.9 < found.level["max_stretch_over_limit"] < 1.0


def check_star(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.02)
    start, x = found.x[0], found.x[-1]
    # it has lain down, its tips first
    assert x[:, 2].max() < start[:, 2].max()
    tips = np.hypot(start[:, 0], start[:, 1]) > 0.099
    assert tips.sum() == 16 and x[tips, 2].max() < -0.01


CHECKS = {
    "16-can": check_can,
    "17-mat": check_mat,
    "18-plate-buckle": check_buckle,
    "19-plate-shear": check_shear,
    "20-dome": check_dome,
    "21-pumpkin": check_pumpkin,
    "22-cage": check_cage,
    "23-character": check_character,
    "24-pocket": check_pocket,
    "25-hat-decimated": check_hat,
    "26-cow": check_cow,
    "27-cutter": check_cutter,
    "28-bunny-blanket": check_blanket,
    "29-star": check_star,
}
SCENES = {name: Small(list(sets), CHECKS[name]) for name, sets in SMALL.items()}


# what takes longer than five seconds
SLOW = ("20-dome", "21-pumpkin", "22-cage", "23-character", "24-pocket")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in SCENES])
def test_preview(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    found = run_scene(name, SCENES[name].sets, tmp_path / "run", "--preview-only")
    check_always(found)
    SCENES[name].check(found)


# what is refined in a few seconds
QUICK = ("18-plate-buckle", "19-plate-shear", "25-hat-decimated", "29-star")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SCENES])
def test_refined(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    found = run_scene(name, SCENES[name].sets, tmp_path / "run", "--check-every", "1")
    assert len(found.levels) == 2
    check_always(found)
    check_rest(found)
    check_arrived(found)
