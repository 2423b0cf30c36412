"""A preview whose elasticity is evaluated through a ShellMap, from a fine mesh down to a coarse level at rest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.hierarchy.riding import Pair, dome, ride

from plisse.core.mesh import Mesh
from plisse.hierarchy.expand import Expansion
from plisse.hierarchy.hierarchy import KINDS, Hierarchy
from plisse.hierarchy.maps import LevelMap, identity
from plisse.kernels.threads import use_threads
from plisse.loading.scene_file import scene_from_dict
from plisse.runs.opening import open_session


class TwoLevels(Hierarchy):
    """One body, and a coarse mesh of it that shares no vertices with it."""

    given, nested = 1, (False,)

    def __init__(self, bodies: Sequence[Mesh], pair: Pair, phong: float) -> None:
        self.levels = ((pair.coarse,), tuple(bodies))
        self._P = pair.map(phong=phong)

    def between(self, coarse: int, fine: int, *, bodies: int | None = None) -> LevelMap:
        return self._P if coarse < fine else identity(len(self.levels[coarse][0].X))

    smooth_between = between

    def expansion(self, coarse: int) -> Expansion:
        raise NotImplementedError


@pytest.mark.parametrize("phong", [0.0, 0.5])
def test_a_coarse_shell_comes_to_rest(phong: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With offsets frozen in the gradient it did not, neither with α = 0 nor with ½."""
    use_threads(1)
    pair = ride(dome, 10, 40)
    monkeypatch.setitem(KINDS, "loop", lambda plan: TwoLevels(plan.bodies, pair, phong))
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in pair.fine.X]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in pair.fine.triangles]
    (tmp_path / "fine.obj").write_text("".join(lines))
    pin = {"box": [[-1, -1, -0.01], [0.01, 2, 1]]}
    scene = {"shell": [{"file": "fine.obj", "pin": [pin], "material": "cotton"}], "hierarchy": {"levels": 2}}
    session = open_session(scene_from_dict(scene, tmp_path), tmp_path)
    geometry = session.ladder.geometry(0)
    # it starts from its own rest shape, and hangs from its own vertices there
    assert np.abs(geometry.shell_positions[0] - pair.coarse.X).max() < 1e-12
    (chosen,) = geometry.pins[0]
    assert len(chosen) == 11 and np.abs(pair.coarse.X[chosen, 0]).max() < 1e-12
    *_, state = session.preview()
    assert state.converged and state.x[:, 2].min() < -0.5
