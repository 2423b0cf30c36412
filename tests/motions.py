"""How motions of the gallery are run at a small size, and what holds for every level of all of them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plisse.cli import main
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from tests.gallery import FOLDER


@dataclass(frozen=True, eq=False)
class Row:
    """One level of a motion. x: all frames of the shells [m], shape (frames, n, 3); body: which shell (n,).

    mass: of the vertices, up to a factor (n,).
    """

    x: Floats
    body: np.ndarray
    mass: Floats

    def of(self, body: int) -> Floats:
        """All frames of one shell [m]."""
        return self.x[:, self.body == body]

    def path(self, body: int = 0) -> Floats:
        """A shell's centre of mass [m], shape (frames, 3)."""
        mass = self.mass[self.body == body]
        return np.asarray(np.einsum("tij,i->tj", self.of(body), mass / mass.sum()))

    def extent(self, axis: int, body: int = 0) -> Floats:
        """A shell's extent along an axis [m], shape (frames,)."""
        return np.asarray(np.ptp(self.of(body)[..., axis], axis=1))

    def moves(self, body: int = 0) -> Floats:
        """How far a shell moves in each step, root mean square [m], shape (frames - 1,)."""
        mass = self.mass[self.body == body]
        d = np.diff(self.of(body), axis=0)
        return np.asarray(np.sqrt(np.einsum("tij,tij,i->t", d, d, mass / mass.sum())))


def run_motion(name: str, sets: list[str], out: Path) -> list[Row]:
    """All levels of a small motion; every accepted state was looked at by the independent detector."""
    arguments = ["run", str(FOLDER / f"{name}.toml"), "--out", str(out), "--threads", "1", "--check-every", "1"]
    assert main([*arguments, *(word for text in sets for word in ("--set", text))]) == 0
    report = json.loads((out / "report.json").read_text())
    rows = []
    for at, level in enumerate(report["levels"]):
        assert level["level"] == at
        assert level["converged"] and level["unconverged_steps"] == 0 and not level["stalled"]
        assert level["intersections"] == 0 and level["states_checked"] == level["newton_iterations"] > 0
        nearest, stretch = level["min_distance_over_offset"], level["max_stretch_over_limit"]
        assert nearest is None or nearest > 1.0
        assert stretch is None or stretch < 1.0
        folder, n = out / f"level-{at}", level["vertices"]
        with np.load(folder / "mesh.npz") as mesh:
            triangles, body = mesh["triangles"][: level["triangles"]], mesh["body"][:n]
        x = np.stack([np.load(frame)[:n] for frame in sorted(folder.glob("frame-*.npy"))])
        assert len(x) == level["steps"] + 1 and np.isfinite(x).all()
        areas = Mesh(np.ascontiguousarray(x[0]), triangles).triangle_areas
        mass = np.bincount(triangles.reshape(-1), np.repeat(areas, 3), minlength=n)
        rows.append(Row(x, body, mass))
    return rows
