"""Shells that relax from their start to another rest shape, with the numbers that follow from it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.progressive.test_progressive import check_states

import plisse.pictures.render
from plisse.cli import main
from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh
from plisse.core.state import State
from plisse.energies.membrane import shape_gradients
from plisse.kernels.threads import use_threads
from plisse.loading.scene_table import scene_from_dict
from plisse.meshes.obj import write_obj
from plisse.progressive.feasibility import check_start
from plisse.progressive.session import Session
from plisse.runs.opening import open_session
from plisse.runs.store import RunStore
from plisse.shapes.catalogue import cylinder

AROUND = 2.0 * np.pi * 0.1
SHEET: dict[str, Any] = {"shape": "grid", "resolution": 6, "rest": "uv", "uv_unit": 1.1}
TUBE: dict[str, Any] = {
    "shape": "cylinder", "closed": False, "radius": 0.1, "height": 0.2, "around": 16, "along": 5, "rest": "uv",
    "uv_unit": AROUND,
}  # fmt: skip


def make_session(shell: dict[str, Any], base: Path = Path(), **rest: Any) -> Session:
    use_threads(1)
    data = {"gravity": [0, 0, 0], "shell": [shell], "solver": {"tol": 1e-3}, **rest}
    session = open_session(scene_from_dict(data, base), base)
    check_start(session.ladder.problem(0))
    return session


def climb(session: Session) -> list[State]:
    """The last state of each level, whose states were all looked at."""
    *_, last = check_states(session, session.preview())
    out = [last]
    for level in range(1, session.finest + 1):
        *_, last = check_states(session, session.refine(to_level=level))
        out.append(last)
    assert all(state.converged for state in out)
    return out


def strains(mesh: Mesh, x: Floats) -> Floats:
    """Principal stretches less one, shape (m, 2)."""
    F = np.einsum("mai,maj->mij", x[mesh.triangles], shape_gradients(mesh))
    return np.asarray(np.linalg.svd(F, compute_uv=False) - 1.0)


@pytest.mark.parametrize("rule", ["linear", "loop"])
def test_a_sheet_grows_to_its_pattern(rule: str) -> None:
    session = make_session(SHEET, hierarchy={"levels": 2, "prolongation": rule})
    assert session.ladder.hierarchy._rules == (rule,)
    for level, state in enumerate(climb(session)):
        mesh = session.ladder.geometry(level).shells[0]
        np.testing.assert_allclose(strains(mesh, mesh.X), 1 / 1.1 - 1, atol=1e-12)
        np.testing.assert_allclose(strains(mesh, state.x), 0.0, atol=1e-5)
        np.testing.assert_allclose(np.ptp(state.x, axis=0), [1.1, 1.1, 0.0], atol=1e-5)


def test_a_tube_takes_the_girth_of_its_pattern() -> None:
    session = make_session(TUBE | {"uv_unit": 1.1 * AROUND, "material": "paper"}, hierarchy={"levels": 2})
    # the seam asks for midpoints, whatever the scene says of flat shapes
    assert session.ladder.hierarchy._rules == ("linear",)
    for level, state in enumerate(climb(session)):
        mesh, edges = session.ladder.geometry(level).shells[0], 16 * 2**level
        assert np.abs(strains(mesh, mesh.X)).max() > 0.09
        assert np.abs(strains(mesh, state.x)).max() < 3e-4
        # bending keeps it round: its cells are the sides of a regular polygon of that girth
        radius = 1.1 * AROUND / edges / (2.0 * np.sin(np.pi / edges))
        np.testing.assert_allclose(np.linalg.norm(state.x[:, :2], axis=1), radius, rtol=0.01)
        assert np.ptp(state.x[:, 2]) == pytest.approx(0.22, rel=1e-3)


def test_a_tube_of_the_same_girth_stays_unstrained() -> None:
    session = make_session(TUBE)
    (state,) = climb(session)
    # at the start it lacks what a polygon of 16 sides lacks of a circle, 0.64 %
    mesh = session.ladder.geometry(0).shells[0]
    assert np.abs(strains(mesh, mesh.X)).max() == pytest.approx(1 - np.sin(np.pi / 16) / (np.pi / 16), rel=1e-3)
    assert np.abs(strains(mesh, state.x)).max() < 3e-4


def test_contact_holds_between_pieces_that_overlap_in_the_pattern(tmp_path: Path) -> None:
    # front and back of a tube lie on each other in the plane, and on each other when it has collapsed on a floor
    tube = cylinder(0.1, 0.3, around=24, along=8, closed=False)
    assert tube.uv is not None
    uv = np.stack([np.minimum(tube.uv[..., 0], 1.0 - tube.uv[..., 0]), tube.uv[..., 1]], axis=2)
    write_obj(tmp_path / "tube.obj", tube.X, tube.triangles, uv=uv)
    shell = {"file": "tube.obj", "rest": "uv", "uv_unit": AROUND, "rotate": [90, 0, 0], "drop_height": "2 mm"}
    floor = {"name": "ground", "shape": "floor", "height": 0}
    session = make_session(
        shell | {"material": "wool-lycra"}, tmp_path, gravity=[0, 0, -9.81], collider=[floor], solver={"tol": 0.01}
    )
    (state,) = climb(session)
    mesh, problem = session.ladder.geometry(0).shells[0], session.problem
    assert problem is not None
    assert mesh.rest_places is None and state.x[:, 2].max() < 0.06
    # pairs of an upper and a lower vertex, which are at one place of the pattern, keep the whole offset
    assert problem.barrier is not None
    found = problem.barrier.contacts(state.x).nodes
    far = np.linalg.norm(tube.X[found[:, 0]] - tube.X[found[:, 3]], axis=1) > 0.1
    assert far.sum() > 10
    assert problem.barrier.closest(state.x)[0] > 1.0


def test_a_pattern_can_be_changed_on_the_way() -> None:
    session = make_session(SHEET, hierarchy={"levels": 2})
    for _ in session.preview():
        pass
    before = session.ladder.geometry(1).shells[0]
    session.change(session.scene)
    assert session.ladder.geometry(1).shells[0] is before
    session.change(replace(session.scene, shells=(replace(session.scene.shells[0], uv_unit=1.2),)))
    assert session.ladder.geometry(1).shells[0] is not before
    for state in climb(session):
        np.testing.assert_allclose(np.ptp(state.x, axis=0)[:2], 1.2, atol=1e-5)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plisse.pictures.render, "draw", lambda *_, size, **__: np.zeros((*size[::-1], 3), np.uint8))


SCENE = """
gravity = [0, 0, 0]
hierarchy.levels = 2
[[shell]]
name = "tube"
shape = "cylinder"
closed = false
radius = 0.1
height = 0.2
around = 12
along = 3
rest = "uv"
uv_unit = "66 cm"
material = "paper"
"""


@pytest.mark.usefixtures("no_pictures")
def test_runs_are_refined_and_taken_up_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tube.toml").write_text(SCENE, encoding="utf-8")
    common = ["--threads", "1", "--quiet"]
    assert main(["run", "tube.toml", "--out", "whole", *common]) == 0
    assert main(["run", "tube.toml", "--out", "parts", "--preview-only", *common]) == 0
    assert main(["refine", "parts", *common]) == 0
    ends = [np.load(Path(run) / "level-1" / "state.npz")["x"] for run in ("whole", "parts")]
    np.testing.assert_array_equal(*ends)
    assert main(["run", "tube.toml", "--out", "whole", "--resume", *common]) == 0
    assert main(["run", "tube.toml", "--out", "whole", "--resume", "--set", "shell.uv_unit=1", *common]) == 2


@pytest.mark.usefixtures("no_pictures")
def test_a_run_starts_where_another_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tube.toml").write_text(SCENE, encoding="utf-8")
    common = ["tube.toml", "--threads", "1", "--quiet", "--set", "hierarchy.levels=1"]
    assert main(["run", "--out", "first", *common]) == 0
    assert main(["run", "--out", "second", "--set", "shell.start=first", *common]) == 0
    first, second = (RunStore(tmp_path / name) for name in ("first", "second"))
    at = first.read_checkpoint(0)
    assert at is not None
    np.testing.assert_array_equal(second.read_frame(0, 0), at.state.x)
    # an equilibrium already
    again = second.read_checkpoint(0)
    assert again is not None and again.state.converged and again.state.step <= 2
    np.testing.assert_allclose(again.state.x, at.state.x, atol=1e-4)
    # and on in time, from the side
    moving = ["--set", "time.mode=dynamic", "--set", "time.duration=0.1", "--set", "shell.velocity=[1, 0, 0]"]
    assert main(["run", "--out", "third", "--set", 'shell.start={run="first", frame=-1}', *moving, *common]) == 0
    end = RunStore(tmp_path / "third").read_checkpoint(0)
    assert end is not None
    np.testing.assert_allclose((end.state.x - at.state.x).mean(axis=0), [0.1, 0.0, 0.0], atol=1e-3)


def test_a_shell_that_nothing_pulls_at_is_at_rest() -> None:
    """Forces are rounding alone then, and so is the pull at the pins that they could be compared with."""
    session = make_session({"shape": "dome", "vertices": 200, "pin": [{"boundary": True}]})
    *_, state = session.preview()
    assert state.converged and state.step == 1 and state.force_balance < 1e-6
