"""Every example runs from the command line at a small size, and each has its expected numbers here."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plisse.run
from plisse.cli import main
from plisse.core.mesh import Floats, Mesh
from plisse.io.render import render
from plisse.scene.schedule import rotation

FOLDER = Path(__file__).parents[1] / "examples"
COTTON, RUBBER = 472.64 * 0.318e-3, 950.0 * 0.3e-3  # mass per area [kg/m²]
G = 9.81


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves behind. x: frames of the shells [m], shape (frames, n, 3)."""

    x: Floats
    triangles: np.ndarray
    level: dict[str, Any]
    contact: dict[str, float]

    @property
    def near(self) -> float:
        """Distance at which contact begins to push [m]."""
        return self.contact["offset"] + self.contact["dhat"]


def run_example(name: str, sets: list[str], out: Path) -> Outcome:
    arguments = ["run", str(FOLDER / f"{name}.toml"), "--out", str(out), "--threads", "1"]
    assert main([*arguments, *(word for text in sets for word in ("--set", text))]) == 0
    report = json.loads((out / "report.json").read_text())
    level = report["levels"][0]
    frames = sorted((out / "level-0").glob("frame-*.npy"))
    x = np.stack([np.load(frame)[: level["vertices"]] for frame in frames])
    with np.load(out / "level-0" / "mesh.npz") as mesh:
        triangles = mesh["triangles"][: level["triangles"]]
    assert (out / "preview.png").stat().st_size > 1000
    return Outcome(x, triangles, level, report["contact"])


def check_always(found: Outcome) -> None:
    assert found.level["converged"] and found.level["intersections"] == 0
    assert found.level["states_checked"] > found.level["newton_iterations"] // 10 - 1
    assert found.level["min_distance_over_offset"] > 1.0
    assert np.isfinite(found.x).all()


def check_rest(found: Outcome) -> None:
    assert found.level["force_balance"] < 0.02 and found.level["residual"] <= 0.01


def outside_of_ball(found: Outcome, center: float, radius: float) -> Floats:
    """Gaps [m] of all vertices in all frames to the ball about (0, 0, center)."""
    return np.linalg.norm(found.x - [0, 0, center], axis=2) - radius


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


@dataclass(frozen=True)
class Example:
    """Overrides that make an example small, and what must be true of its run."""

    sets: list[str]
    check: Callable[[Outcome], None]


EXAMPLES = {
    "01-drape": Example(["shell.vertices=361"], check_drape),
    "02-drop": Example(["shell.vertices=196", "time.duration=0.5"], check_drop),
    "03-inflate": Example(["shell.subdivisions=2"], check_inflate),
    "04-twist": Example(["shell.vertices=160"], check_twist),
}


def test_every_example_has_its_numbers_here() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # most of a small run would be its picture
    monkeypatch.setattr(plisse.run, "render", partial(render, size=(160, 120)))
    example = EXAMPLES[name]
    found = run_example(name, example.sets, tmp_path / "run")
    check_always(found)
    example.check(found)
