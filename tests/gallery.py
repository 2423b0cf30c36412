"""How scenes of the gallery are run at a small size, and what holds for all of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plisse.cli import main
from plisse.core.arrays import Floats

FOLDER = Path(__file__).parents[1] / "src/plisse/gallery"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves behind on its finest level. x: frames of the shells [m], shape (frames, n, 3).

    body: which shell a vertex belongs to (n,). start: the first frame of level 0, whose vertices are the first of each
    shell on finer levels too. solids: the mesh colliders in the last frame [m], shape (k, 3).
    """

    x: Floats
    triangles: np.ndarray
    body: np.ndarray
    start: Floats
    solids: Floats
    levels: list[dict[str, Any]]
    contact: dict[str, float]

    @property
    def level(self) -> dict[str, Any]:
        """The report of the finest level."""
        return self.levels[-1]

    @property
    def near(self) -> float:
        """Distance at which contact begins to push [m]."""
        return self.contact["offset"] + self.contact["dhat"]


def run_scene(name: str, sets: list[str], out: Path, *further: str) -> Outcome:
    arguments = ["run", str(FOLDER / f"{name}.toml"), "--out", str(out), "--threads", "1", *further]
    assert main([*arguments, *(word for text in sets for word in ("--set", text))]) == 0
    report = json.loads((out / "report.json").read_text())
    finest = report["levels"][-1]
    folder, n = out / f"level-{finest['level']}", finest["vertices"]
    frames = [np.load(frame) for frame in sorted(folder.glob("frame-*.npy"))]
    with np.load(folder / "mesh.npz") as mesh:
        triangles, body = mesh["triangles"][: finest["triangles"]], mesh["body"][:n]
    start = np.load(out / "level-0" / "frame-0000.npy")[: report["levels"][0]["vertices"]]
    assert (out / "preview.png").exists() and (out / "report.html").exists()
    assert (out / "levels.png").exists() == (len(report["levels"]) > 1)
    x = np.stack([frame[:n] for frame in frames])
    return Outcome(x, triangles, body, start, frames[-1][n:], report["levels"], report["contact"])


def check_always(found: Outcome) -> None:
    assert [level["level"] for level in found.levels] == list(range(len(found.levels)))
    for level in found.levels:
        assert level["converged"] and level["intersections"] == 0
        assert level["states_checked"] > level["newton_iterations"] // 10 - 1
        nearest = level["min_distance_over_offset"]  # None where nothing touches
        assert nearest is None or nearest > 1.0
        assert level["max_stretch_over_limit"] is None or level["max_stretch_over_limit"] < 1.0
    assert np.isfinite(found.x).all()


def check_rest(found: Outcome) -> None:
    for level in found.levels:
        assert level["force_balance"] < 0.02 and level["residual"] <= 0.01


def outside_of_ball(found: Outcome, center: float, radius: float) -> Floats:
    """Gaps [m] of all vertices in all frames to the ball about (0, 0, center)."""
    return np.linalg.norm(found.x - [0, 0, center], axis=2) - radius


def check_floor(found: Outcome, floor: float) -> None:
    """The lowest vertices lie on the floor."""
    assert found.contact["offset"] < found.x[-1, :, 2].min() - floor < found.near


@dataclass(frozen=True)
class Small:
    """Overrides that make a scene small, what must be true of its run, and in which variants."""

    sets: list[str]
    check: Callable[[Outcome], None]
    variants: tuple[str, ...] = ("",)
