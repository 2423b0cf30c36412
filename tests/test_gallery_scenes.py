"""Every scene of the gallery runs from the command line at a small size, and each has its expected numbers here."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import plisse.runs.album
from plisse.bench.pd_gallery import SMALL as MOTIONS
from plisse.cli import main
from plisse.core.mesh import Mesh
from plisse.pictures.render import render
from plisse.scene.schedule import rotation
from tests.gallery import (
    FOLDER,
    Outcome,
    Small,
    check_always,
    check_floor,
    check_rest,
    outside_of_ball,
    run_scene,
)
from tests.test_gallery_shells import SCENES as SHELLS

COTTON, RUBBER = 472.64 * 0.318e-3, 950.0 * 0.3e-3  # mass per area [kg/m²]
G = 9.81


def check_drape(found: Outcome) -> None:
    check_rest(found)
    x, floor = found.x[-1], -0.51
    # the top lies on the ball, as well as cells of 50 mm can; the hem lies on the floor
    assert -0.012 < x[:, 2].max() < -0.005
    assert found.contact["offset"] < x[:, 2].min() - floor < found.near
    assert outside_of_ball(found, -0.26, 0.25).min() > -1e-3
    # it hangs evenly on all sides, and has come down by about as much as the ball's middle
    assert np.abs(x[:, :2].mean(axis=0)).max() < 0.02
    assert -0.3 < x[:, 2].mean() < -0.2
    # what it has lost in height outweighs what it has taken up in bending and contact
    weight = COTTON * G * x[:, 2].mean()
    assert 1.2 * weight < found.level["energy"] < 0.8 * weight


def check_drop(found: Outcome) -> None:
    x, floor, h = found.x, -0.5, 0.02
    assert len(x) == 1 + found.level["steps"]
    # it falls freely until its middle is near the ball: z − z₀ = −g h² n (n + 1)/2
    n = 3
    assert x[n, :, 2] - 0.05 == pytest.approx(-G * h * h * n * (n + 1) / 2, rel=1e-6)
    # then it is on the ball with its corners on the floor, having bounced no higher than it came from
    assert x[-1, :, 2].max() < 0.01 and x[:, :, 2].max() <= 0.05
    assert found.contact["offset"] < x[-1, :, 2].min() - floor < 2 * found.near
    assert (x[:, :, 2] > floor + found.contact["offset"]).all()
    assert outside_of_ball(found, -0.25, 0.25).min() > -1e-3
    # energy only gets lost: below the one that it starts with
    assert found.level["energy"] < COTTON * G * 0.05


def check_inflate(found: Outcome) -> None:
    check_rest(found)
    x, start, floor = found.x[-1], found.x[0], -0.21
    assert found.contact["offset"] < x[:, 2].min() - floor < found.near
    V0, V = (Mesh(np.ascontiguousarray(position), found.triangles).volume for position in (start, x))
    # a gas: p V stays 200 Pa · V₀, and p = 2 σ τ/R with σ = E ε/(1 − ν) gives its growth
    p, (E, nu, tau, radius) = 200 * V0 / V, (1.5e6, 0.49, 0.3e-3, 0.2)
    growth = (V / V0) ** (1 / 3)
    assert p < 200
    assert growth - 1 == pytest.approx(p * radius * (1 - nu) / (2 * E * tau), rel=0.06)
    # upright and round: the floor flattens it by less than a tenth of its radius
    assert x.mean(axis=0)[:2] == pytest.approx([0, 0], abs=1e-3)
    assert np.ptp(x, axis=0)[:2] == pytest.approx(0.4 * growth, rel=0.02)
    assert 0.38 < np.ptp(x[:, 2]) < 0.41
    # energy: gas −p₀V₀ ln(V/V₀), weight, and a membrane that has taken up about half of the gas's work
    gas, weight = -200 * V0 * np.log(V / V0), RUBBER * G * 4 * np.pi * radius**2 * x[:, 2].mean()
    assert (found.level["energy"] - gas - weight) / -gas == pytest.approx(0.5, abs=0.05)


def check_twist(found: Outcome) -> None:
    start, x = found.x[0], found.x[-1]
    assert len(found.x) == 1 + found.level["steps"] // 5
    for side in (-1.0, 1.0):
        # the handles have arrived, a whole turn and 50 mm each
        held = np.abs(start[:, 0] - 0.3 * side) < 1e-9
        assert held.sum() >= 4
        place = start[held] @ rotation([-360 * side, 0, 0]).T + [-0.05 * side, 0, 0]
        assert np.abs(x[held] - place).max() < 1e-12
    # it stays between them and within its width, wrung: the middle is narrower than the ends
    assert np.abs(x[:, 0]).max() < 0.25 + 1e-9
    assert np.linalg.norm(x[:, 1:], axis=1).max() < 0.1 + 1e-9
    middle = np.abs(start[:, 0]) < 0.05
    assert np.linalg.norm(x[middle, 1:], axis=1).max() < 0.08
    # without a load it has only taken up energy
    assert found.level["energy"] > 0


# --- several levels -------------------------------------------------------------------------------------------------


def check_on_ball(found: Outcome, center: float, radius: float, *, facets: float) -> None:
    """It lies on top of the ball about (0, 0, center), outside of it but for the depth of the ball's facets [m]."""
    check_rest(found)
    assert outside_of_ball(found, center, radius).min() > -facets
    assert -facets < found.x[-1, :, 2].max() - (center + radius) < 0.01
    assert np.abs(found.x[-1, :, :2].mean(axis=0)).max() < 0.03


def check_sphere(found: Outcome) -> None:
    check_on_ball(found, -0.31, 0.3, facets=3e-3)
    # it is not large enough for the floor, but its corners hang far down
    assert -0.61 < found.x[-1, :, 2].min() < -0.45
    weight = COTTON * G * found.x[-1, :, 2].mean()
    assert 1.2 * weight < found.level["energy"] < 0.8 * weight


def check_cube(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.41)
    x = found.x[-1]
    # nothing is in the cube, and what is over its top lies on it
    aside = np.abs(x[:, :2]).max(axis=1)
    assert ((aside > 0.2) | (x[:, 2] > -0.01)).all()
    assert x[aside < 0.15, 2].max() < 0.02 and (aside < 0.15).sum() > 20


def check_bunny(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.51)
    assert -0.005 < found.x[-1, :, 2].max() - found.solids[:, 2].max() < 0.02
    assert 0.9 < found.level["max_stretch_over_limit"] < 1.0


def check_dragon(found: Outcome) -> None:
    check_rest(found)
    check_floor(found, -0.57)
    x, top = found.x[-1], found.solids[:, 2].max()
    assert -0.005 < x[:, 2].max() - top < 0.02
    # held up by more than one place: the upper third of the height is wider than one horn
    high = x[x[:, 2] > top - 0.18]
    assert np.ptp(high[:, :2], axis=0).min() > 0.15


def check_ball_drape(found: Outcome) -> None:
    """Any material and any triangulation of the drape over the ball of 0.25 m."""
    check_on_ball(found, -0.26, 0.25, facets=8e-3)
    check_floor(found, -0.51)
    assert -0.3 < found.x[-1, :, 2].mean() < -0.2
    assert found.level["energy"] < 0.0 and 4 <= found.level["metrics"]["folds"] <= 20


def check_triangulation(found: Outcome) -> None:
    check_ball_drape(found)
    assert found.level["energy"] == pytest.approx(-0.336, rel=0.05)


def check_table(found: Outcome) -> None:
    check_rest(found)
    x = found.x[-1]
    r = np.linalg.norm(x[:, :2], axis=1)
    # level on the table, hanging around it, above the floor
    assert (x[r < 0.2, 2] > -0.01).all() and np.abs(x[r < 0.2, 2] + 0.01).max() < 0.012
    assert -0.31 < x[:, 2].min() < -0.2 and np.abs(x[:, :2].mean(axis=0)).max() < 5e-3


def check_ribbon(found: Outcome) -> None:
    check_rest(found)
    start, x = found.start, found.x[-1][: len(found.start)]
    for side in (-1.0, 1.0):
        held = np.abs(start[:, 0] - 0.5 * side) < 1e-9
        assert held.sum() >= 3
        assert np.abs(x[held] - start[held] + [0.1 * side, 0, 0]).max() < 1e-9
    # its cross direction turns from one handle to the other; seen along x, a slanting part may hide one of two turns
    at, rims = np.linspace(-0.5, 0.5, 400), []
    for side in (-1.0, 1.0):
        rim = np.flatnonzero(np.abs(start[:, 1] - 0.06 * side) < 1e-9)
        rim = rim[np.argsort(start[rim, 0])]
        rims.append(np.column_stack([np.interp(at, start[rim, 0], x[rim, k]) for k in (1, 2)]))
    across = rims[1] - rims[0]
    turn = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    assert np.ptp(turn) > 1.9 * np.pi
    # and it hangs between them
    assert -0.4 < x[:, 2].min() < -0.1 and x[:, 2].max() < 0.07


def check_still_life(found: Outcome) -> None:
    check_rest(found)
    x = found.x[-1]
    # the ball has arrived, its top at −0.19 m, and what is under it is in the bowl
    assert all(level["missed_keyframes"] <= found.contact["dhat"] for level in found.levels)
    assert found.solids[-10:, 2].max() < -0.19 + 1e-3
    in_bowl = np.linalg.norm(x[:, :2] - [0.19, 0.0], axis=1) < 0.08
    assert in_bowl.sum() > 5 and x[in_bowl, 2].min() < -0.35
    assert x[:, 2].min() > -0.401
    # both layers lie on the table, the wool over the cotton
    on_table = x[:, 0] < -0.1
    heights = [x[on_table & (found.body == body), 2] for body in (0, 1)]
    assert all(len(height) > 3 and height.min() > 0.0 for height in heights)
    assert heights[0].mean() < 0.05 and heights[1].mean() > heights[0].min()


def check_hat(found: Outcome) -> None:
    check_rest(found)
    assert outside_of_ball(found, -0.19, 0.12).min() > -2e-3
    x = found.x[-1]
    # it has come down on the ball, evenly, and stretched nearly as far as it can
    assert np.abs(x[:, :2].mean(axis=0)).max() < 5e-3
    assert x[:, 2].max() < found.start[:, 2].max() - 0.02 and x[:, 2].min() > -0.31
    assert 0.85 < found.level["max_stretch_over_limit"] < 1.0


def check_limit(found: Outcome) -> None:
    check_on_ball(found, -0.26, 0.25, facets=8e-3)
    check_floor(found, -0.51)
    # nearly reached on every level, and kept
    assert all(0.95 < level["max_stretch_over_limit"] < 1.0 for level in found.levels)


TWO = "hierarchy.levels=2"
SMALL_BALL = [TWO, "shell.vertices=100", "collider.0.subdivisions=2"]
MATERIALS = (
    "cotton", "wool", "wool-lycra", "polyester", "rubber", '{preset="paper", thickness=5e-5, E=3e7, E_bend=3e9}',
    "{density=400, thickness=1.2e-4, E=3e5, nu=0.3, E_bend=1.5e5, bending=\"hinge\"}",
)  # fmt: skip
DIAGONALS = ("uniform", "alternating", "jittered", "delaunay", "equilateral")
STILL_LIFE = ["shell.0.vertices=100", "shell.1.vertices=70", "collider.0.resolution=5", "collider.2.subdivisions=2"]

SCENES = {
    "01-drape": Small(["shell.vertices=361"], check_drape),
    "02-drop": Small(["shell.vertices=196", "time.duration=0.5"], check_drop),
    "03-inflate": Small(["shell.subdivisions=2"], check_inflate),
    "04-twist": Small(["shell.vertices=160"], check_twist),
    "05-sphere": Small([TWO, "shell.vertices=150", "collider.0.subdivisions=3"], check_sphere),
    "06-cube": Small([TWO, "shell.vertices=150", "collider.0.resolution=6"], check_cube),
    "07-bunny": Small([TWO, "shell.vertices=80"], check_bunny),
    "08-dragon": Small([TWO, "shell.vertices=100"], check_dragon),
    "09-materials": Small(SMALL_BALL, check_ball_drape, tuple(f"shell.material={name}" for name in MATERIALS)),
    "10-bending": Small([TWO, "shell.vertices=120"], check_table),
    "11-ribbon": Small([TWO, "shell.vertices=120"], check_ribbon),
    "12-still-life": Small([TWO, *STILL_LIFE], check_still_life),
    "13-triangulations": Small(SMALL_BALL, check_triangulation, tuple(f"shell.diagonals={d}" for d in DIAGONALS)),
    "14-hat": Small([TWO, "shell.vertices=120", "collider.0.subdivisions=3"], check_hat),
    "15-strain-limit": Small(SMALL_BALL, check_limit),
}
PICTURED = ("01-drape",)


def test_every_scene_has_its_numbers() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted((*SCENES, *SHELLS, *MOTIONS))


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of a small run would be its pictures."""
    for name in ("render", "render_strip"):
        monkeypatch.setattr(plisse.runs.album, name, lambda path, *_, **__: path.write_bytes(b""))


@pytest.mark.parametrize(
    ("name", "variant"), [(name, variant) for name, small in SCENES.items() for variant in small.variants]
)
def test_scene(name: str, variant: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name in PICTURED:
        request.getfixturevalue("monkeypatch").setattr(plisse.runs.album, "render", partial(render, size=(160, 120)))
    else:
        request.getfixturevalue("no_pictures")
    small = SCENES[name]
    found = run_scene(name, [*small.sets, *([variant] if variant else [])], tmp_path / "run")
    check_always(found)
    small.check(found)
    assert name not in PICTURED or (tmp_path / "run" / "preview.png").stat().st_size > 1000


@pytest.mark.usefixtures("no_pictures")
def test_softer_bending_hangs_lower_in_more_folds(tmp_path: Path) -> None:
    folds, energies = [], []
    for stiffness in ("8.21e4", "8.21e5", "8.21e6"):
        found = run_scene(
            "10-bending", [TWO, "shell.vertices=250", f"shell.material.E_bend={stiffness}"], tmp_path / stiffness
        )
        check_always(found)
        check_table(found)
        folds.append(found.level["metrics"]["folds"])
        energies.append(found.level["energy"])
    assert folds == sorted(folds, reverse=True) and folds[0] > folds[2]
    assert energies == sorted(energies)


@pytest.mark.usefixtures("no_pictures")
def test_a_tighter_tolerance_settles_lower(tmp_path: Path) -> None:
    # of one run: another tolerance from the start would also change what the coarse levels choose to fold
    out, energies = tmp_path / "run", []
    run_scene("06-cube", [*SCENES["06-cube"].sets, "solver.tol=0.05"], out)
    for tol in (0.05, 0.01, 0.001):
        if tol < 0.05:
            assert main(["refine", str(out), "--tol", str(tol), "--threads", "1"]) == 0
        level = json.loads((out / "report.json").read_text())["levels"][-1]
        assert level["converged"] and level["residual"] <= tol and level["force_balance"] < 0.02
        energies.append(level["energy"])
    assert energies == sorted(energies, reverse=True) and energies[0] > energies[-1]
