"""Why forces are restricted along a surface and not through space: [Zhang2023] appendix A on polylines in the plane.

A polyline stands for a shell. Collapsing an edge gives a coarser one, and each collapse has two linear maps from coarse
vertices to fine ones: the affine map that fits the neighbours in the plane [Liu2019], and interpolation along the line
itself [Liu2021]. Their transposes take forces from fine vertices to coarse ones.

    python docs/examples/polyline_restriction.py [picture.svg]
"""

import sys
from pathlib import Path

import numpy as np

TIKHONOV = 1e-6  # of the neighbours' spread: on a straight line there is none across


def collapse(x: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices i and i + 1 of a polyline x (n, 2) become their middle: the coarse line, and both maps (n, n − 1)."""
    n = len(x)
    coarse = np.concatenate([x[:i], x[i : i + 2].mean(axis=0, keepdims=True), x[i + 2 :]])
    # all others stay
    affine, along = (np.eye(n - 1)[np.r_[: i + 1, i : n - 1]] for _ in range(2))
    # in the plane: x_f = c + γ₁ (left − c) + γ₂ (right − c)
    arms = np.column_stack([coarse[i - 1] - coarse[i], coarse[i + 1] - coarse[i]])
    spread = arms.T @ arms
    gammas = np.linalg.solve(spread + TIKHONOV * np.trace(spread) * np.eye(2), arms.T @ (x[i : i + 2] - coarse[i]).T).T
    affine[i : i + 2, i - 1 : i + 2] = np.column_stack([gammas[:, 0], 1.0 - gammas.sum(axis=1), gammas[:, 1]])
    # along the line: both patches flattened onto the same interval
    fine_at, coarse_at = (flatten(line) for line in (x[i - 1 : i + 3], coarse[i - 1 : i + 2]))
    along[i : i + 2, i - 1 : i + 2] = [
        [np.interp(s, coarse_at, corner) for corner in np.eye(3)] for s in fine_at[1:3]
    ]  # fmt: skip
    return coarse, affine, along


def flatten(line: np.ndarray) -> np.ndarray:
    """Arc length of a polyline's vertices, from 0 to 1."""
    arc = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    return arc / arc[-1]


def coarsen(x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collapses the shortest inner edges until count vertices are left: the coarse line, and both maps from it."""
    affine = along = np.eye(len(x))
    while len(x) > count:
        lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
        x, A, U = collapse(x, 1 + int(np.argmin(lengths[1:-1])))
        affine, along = affine @ A, along @ U
    return x, affine, along


def measure(P: np.ndarray, forces: np.ndarray) -> dict[str, float]:
    """Entries a row, the least and the largest, and how large restricted forces are beside the fine ones."""
    return {
        "entries a row": float((np.abs(P) > 1e-9).sum(axis=1).mean()),
        "least entry": float(P.min()),
        "largest entry": float(P.max()),
        "restricted / fine forces": float(np.linalg.norm(P.T @ forces) / np.linalg.norm(forces)),
    }


def wave(n: int = 65) -> np.ndarray:
    t = np.linspace(0.0, 4.0 * np.pi, n)
    return np.column_stack([t + 0.8 * np.sin(2.0 * t), 1.5 * np.sin(t)])


def draw(path: Path, fine: np.ndarray, coarse: np.ndarray, forces: dict[str, np.ndarray]) -> None:
    """Fine line in blue, coarse line in red, and the restricted forces of each map."""

    def line(points: np.ndarray, color: str) -> str:
        places = " ".join(f"{40 * px + 20:.1f},{-40 * py:.1f}" for px, py in points)
        return f'<polyline fill="none" stroke="{color}" points="{places}"/>'

    parts = []
    for at, (name, each) in enumerate(forces.items()):
        arrows = [line(np.array([c, c + f]), "#333") for c, f in zip(coarse, 0.5 * each, strict=True)]
        marks = [line(fine, "#2f6db5"), line(coarse, "#c0392b"), *arrows, f'<text x="20" y="-110">{name}</text>']
        parts.append(f'<g transform="translate(0 {150 + 260 * at})">{"".join(marks)}</g>')
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-40 -60 640 600">{"".join(parts)}</svg>\n')


def main(picture: Path | None = None) -> dict[str, dict[str, float]]:
    fine = wave()
    forces = np.random.default_rng(0).standard_normal(fine.shape)  # as elastic forces of a bent line: in all directions
    coarse, affine, along = coarsen(fine, 13)
    maps = {"affine": affine, "along the line": along}
    if picture is not None:
        draw(picture, fine, coarse, {name: P.T @ forces for name, P in maps.items()})
    return {name: measure(P, forces) for name, P in maps.items()}


if __name__ == "__main__":
    for name, figures in main(Path(sys.argv[1]) if len(sys.argv) > 1 else None).items():
        print(f"{name:16}", ", ".join(f"{what} {value:.2f}" for what, value in figures.items()))
