"""Motions of the gallery at small sizes: solved and free of intersections on all levels, which agree on the outcome."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import plisse.runs.album
from plisse.bench.climb import gallery_scene
from plisse.bench.courses import Course
from plisse.bench.pd_gallery import SMALL
from plisse.bench.pd_outcomes import leaves_ball
from plisse.core.arrays import Floats
from tests.motions import Row, run_motion


def distance(rows: list[Row], body: int) -> float:
    """Largest distance [m] of a body's centre of mass on the coarsest level to that on the finest."""
    return float(np.linalg.norm(rows[0].path(body) - rows[-1].path(body), axis=1).max())


def check_bounce(row: Row, body: int, *, rise: float) -> int:
    """A body that falls on the sheet, sinks into it and is thrown up again by at least `rise` [m]: the lowest step."""
    z = row.path(body)[:, 2]
    lowest = int(z.argmin())
    assert 0 < lowest < len(z) - 1
    assert row.of(0)[lowest, :, 2].min() < -0.02  # the sheet gives way
    assert z[lowest:].max() - z[lowest] > rise
    return lowest


def check_gear(rows: list[Row]) -> None:
    for row in rows:
        x, r = row.x[-1], np.hypot(row.x[-1, :, 0], row.x[-1, :, 2])
        # it hangs over the wheel, whose teeth hold it up, and reaches far down on both sides
        assert 0.29 < x[:, 2].max() < 0.35 and x[:, 2].min() < 0.0
        # none of it is within the wheel, whose bore it may hang into
        assert not ((np.abs(x[:, 1]) < 0.08) & (0.12 < r) & (r < 0.2)).any()
    assert distance(rows, 0) < 0.03


def check_cube(rows: list[Row]) -> None:
    lowest = [check_bounce(row, 1, rise=0.05) for row in rows]
    assert np.ptp(lowest) <= 2
    assert distance(rows, 1) < 0.01
    # stiff: it stays a cube
    for row in rows:
        corners = row.of(1)[:, np.linalg.norm(row.of(1)[0] - row.path(1)[0], axis=1) > 0.17]
        size = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2)
        np.testing.assert_allclose(size, 0.1 * 3**0.5, rtol=0.02)


def check_flag(rows: list[Row]) -> None:
    for row in rows:
        # to the end it is in motion, and blown out from its pole
        assert row.moves()[len(row.x) // 2 :].min() > 2e-3
        assert row.path()[len(row.x) // 2 :, 0].min() > 0.25
        held = np.abs(row.x[0, :, 0]) < 1e-9
        np.testing.assert_array_equal(row.x[:, held], np.broadcast_to(row.x[0, held], row.x[:, held].shape))
    assert distance(rows, 0) < 0.08


def check_jumble(rows: list[Row]) -> None:
    for body in range(1, 7):
        # nobody falls through or off, and levels agree where each one is
        for row in rows:
            assert np.abs(row.path(body)[-1, :2]).max() < 0.4 and row.path(body)[:, 2].min() > -0.35
        assert distance(rows, body) < 0.06
    for row in rows:
        assert row.of(0)[-1, :, 2].min() < -0.03


def check_ball(rows: list[Row]) -> None:
    for row in rows:
        height, z = row.extent(2), row.path()[:, 2]
        # dented by a fifth and more; then round again, and on its way up
        assert height.min() < 0.16 and height[0] == pytest.approx(0.2, rel=0.01)
        r = np.linalg.norm(row.x[-1] - row.path()[-1], axis=1)
        assert 0.09 < r.min() and r.max() < 0.11
        assert z[-1] - z[-2] > 2e-3 and z[-1] > 0.12
    assert distance(rows, 0) < 0.03


def check_laundry(rows: list[Row]) -> None:
    for row in rows:
        # its middle is below the rim, and more than half of it is in the basket
        x = row.x[-1]
        inside = (np.hypot(x[:, 0], x[:, 1]) < 0.37) & (x[:, 2] < 0.28)
        assert row.mass[inside].sum() > 0.5 * row.mass.sum()
        assert row.path()[-1, 2] < 0.1
    assert distance(rows, 0) < 0.08


def turning(row: Row, step: int) -> float:
    """Turns of a sheet about the z axis in a step."""
    x, v = row.x[step], row.x[step] - row.x[step - 1]
    r = x[:, :2] - row.path()[step, :2]
    spin = row.mass @ (r[:, 0] * v[:, 1] - r[:, 1] * v[:, 0])
    return float(spin / (row.mass @ (r**2).sum(axis=1))) / (2 * np.pi)


def check_spin(rows: list[Row]) -> None:
    slows, h = 70, 0.02
    ball = gallery_scene("36-spin-cycle", sets=SMALL["36-spin-cycle"])
    off = []
    for row in rows:
        (step,) = leaves_ball(ball, Course(0, history={"centres": row.path()[1:, None].tolist()}))
        off.append(step)
        # it is whirled around, stays as long as the ball is fast, and then flies off aside
        assert turning(row, slows) > 0.3 * h and row.path()[slows, 2] > -0.1
        assert step > slows and np.linalg.norm(row.path()[-1, :2]) > 0.4
        assert np.linalg.norm(row.x, axis=2).min() > 0.245
    assert np.ptp(off) <= 1


def crossing(path: Floats, point: list[float], axis: list[float]) -> float:
    """How far from a hoop's middle a path crosses its plane [m]."""
    along = (path - point) @ axis
    (at,) = np.flatnonzero((along[:-1] < 0) & (along[1:] >= 0))
    part = -along[at] / (along[at + 1] - along[at])
    return float(np.linalg.norm(path[at] + part * (path[at + 1] - path[at]) - point))


def check_toss(rows: list[Row]) -> None:
    hoops = (([0.7, 0, 0.55], 60, 0.3), ([1.4, 0, 0.72], 90, 0.28), ([2.1, 0, 0.52], 130, 0.26))
    for row in rows:
        for point, tilt, radius in hoops:
            axis = [np.sin(np.radians(tilt)), 0.0, np.cos(np.radians(tilt))]
            assert crossing(row.path(), point, axis) < 0.5 * radius
    assert distance(rows, 0) < 0.09


def check_octocats(rows: list[Row]) -> None:
    for row in rows:
        for body, middle in ((0, [-0.14, -0.32]), (1, [0.17, 0.36])):
            end = row.path(body)[-1]
            assert np.linalg.norm(end[:2] - middle) < 0.2 and -0.25 < end[2] < 0.05
    assert max(distance(rows, 0), distance(rows, 1)) < 0.1


def check_dancers(rows: list[Row]) -> None:
    for row in rows:
        for body in range(3):
            top = row.of(body)[..., 2].max(axis=1)
            lowest = int(top.argmin())
            # it sinks as the pressure falls, and rises with it
            assert top[0] == pytest.approx(2.0, rel=0.01) and top.min() < 1.9
            assert top[lowest:].max() > top.min() + 0.03
    assert max(distance(rows, body) for body in range(3)) < 0.1


def check_duck(rows: list[Row]) -> None:
    for row in rows:
        length, x = row.extent(0), row.path()[:, 0]
        # squeezed to two thirds, then long again, and on its way back
        assert length.min() < 0.2 and length[length.argmin() :].max() > 0.26
        assert x[-1] - x[-2] < -0.01 and row.x[..., 0].max() < 0
    assert np.ptp([row.extent(0).argmin() for row in rows]) <= 1
    assert distance(rows, 0) < 0.03


def check_trampolines(rows: list[Row]) -> None:
    for body in (1, 2, 3):
        lowest = [check_bounce(row, body, rise=0.01) for row in rows]
        assert np.ptp(lowest) <= 2
        assert distance(rows, body) < 0.03


def check_on_creature(rows: list[Row], floor: float, top: float) -> None:
    """It has fallen on a creature, which holds it up in the middle, and reaches the floor or hangs low."""
    for row in rows:
        z = row.x[-1, :, 2]
        assert z.min() > floor and z.max() < top
        assert z.max() - z.min() > 0.3
    assert distance(rows, 0) < 0.05


def check_balloons(rows: list[Row]) -> None:
    for row in rows:
        apart = np.linalg.norm(row.path(0) - row.path(1), axis=1)
        nearest = int(apart.argmin())
        # they meet, are pressed into each other, and part
        assert apart[nearest] < 0.2 and apart[-1] > apart[nearest] + 0.1
        assert row.path(0)[-1, 1] < -0.03 and row.path(1)[-1, 1] > 0.08
    assert max(distance(rows, 0), distance(rows, 1)) < 0.05


def check_pile(rows: list[Row]) -> None:
    for row in rows:
        # the fourth corner hangs down, the other three are held
        sheet = row.of(0)
        corner = np.abs(sheet[0, :, :2]).min(axis=1) > 0.4999
        loose = corner & (sheet[0, :, :2].sum(axis=1) > 0.999)
        assert corner.sum() == 4 and loose.sum() == 1
        np.testing.assert_array_equal(sheet[-1, corner & ~loose], sheet[0, corner & ~loose])
        assert sheet[-1, loose, 2] < -0.2
    assert max(distance(rows, body) for body in range(1, 5)) < 0.15


def check_hats(rows: list[Row]) -> None:
    for row in rows:
        for k in range(5):
            middle = row.path(k)[-1]
            # each hangs from its own hook, around its knob
            assert np.abs(middle - [0.25, 0.42 * (k - 2), 0.05]).max() < 0.08
            assert row.of(k)[-1, :, 2].max() > 0.14
    assert max(distance(rows, k) for k in range(5)) < 0.05


CHECKS: dict[str, Callable[[list[Row]], None]] = {
    "30-gear": check_gear,
    "31-bouncy-cube": check_cube,
    "32-flag": check_flag,
    "33-jumble": check_jumble,
    "34-ball-drop": check_ball,
    "35-laundry": check_laundry,
    "36-spin-cycle": check_spin,
    "37-toy-toss": check_toss,
    "38-octocats": check_octocats,
    "39-sky-dancers": check_dancers,
    "40-duck": check_duck,
    "41-trampolines": check_trampolines,
    "42-bunny-drop": lambda rows: check_on_creature(rows, -0.25, 0.3),
    "43-cow-drop": lambda rows: check_on_creature(rows, -0.21, 0.25),
    "44-flag-dense": check_flag,
    "45-balloons": check_balloons,
    "46-jumble-pile": check_pile,
    "47-hats": check_hats,
}
# what takes no longer than five seconds
QUICK = ("31-bouncy-cube", "32-flag", "34-ball-drop", "40-duck")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SMALL])
def test_motion(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    rows = run_motion(name, list(SMALL[name]), tmp_path / "run")
    assert len(rows) >= 2
    CHECKS[name](rows)


@pytest.mark.slow
def test_consistency_keeps_a_pile_near_its_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.runs.album, "render", lambda path, *_, **__: path.write_bytes(b""))
    apart = []
    for w in (0.0, 0.5):
        rows = run_motion("46-jumble-pile", [*SMALL["46-jumble-pile"], f"hierarchy.consistency={w}"], tmp_path / f"{w}")
        gaps = [np.linalg.norm(rows[0].path(body) - rows[1].path(body), axis=1).mean() for body in range(1, 5)]
        apart.append(float(np.mean(gaps)))
    assert apart[1] < 0.8 * apart[0]
