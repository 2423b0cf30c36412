"""Strain, stress, curvature and contact forces in exports, against the state itself and closed forms."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from plisse.cli import main
from plisse.core.errors import SceneError
from plisse.export import export_run
from plisse.loading.scene_table import scene_from_dict
from plisse.progressive.mechanics import Mechanics, measure_mechanics
from plisse.runs.opening import open_session
from plisse.runs.run import run_scene

RUBBER = {"density": 1000, "thickness": 1e-3, "E": 1e6, "nu": 0.0}
WEIGHT = 0.2**2 * 1e-3 * 1000 * 9.81  # of the sheet on the floor [N]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strip that hangs from its upper edge, and a sheet that lies on the floor, on two levels."""
    top = {"box": [[-1, -1, 1.099], [1, 1, 1.101]]}
    strip = {"width": 0.1, "height": 1.0, "resolution": [1, 10], "rotate": [90, 0, 0], "translate": [0, 0, 0.6]}
    sheet = {"width": 0.2, "height": 0.2, "resolution": [4, 4], "translate": [1, 0, 0.004]}
    shells = [{"name": "strip", "pin": [top]} | strip, {"name": "sheet"} | sheet]
    table = {
        "shell": [{"shape": "grid", "material": RUBBER} | shell for shell in shells],
        "collider": [{"shape": "floor", "height": 0.0}],
        "hierarchy": {"levels": 2},
    }
    out = tmp_path_factory.mktemp("borne") / "run"
    assert run_scene(scene_from_dict(table, Path()), Path(), out, threads=1).levels[-1].converged
    return out


def measured(folder: Path, level: int) -> Mechanics:
    session = open_session(folder)
    state = session.grid.last(level)
    assert state is not None
    return measure_mechanics(session.ladder.problem(level, start=state.x), state.x)


def read_ply(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces as tables, by the header alone: meshio reads no faces with both lists and numbers."""
    header, _, data = path.read_bytes().partition(b"end_header\n")
    counts, fields = dict[str, int](), dict[str, list]()
    for words in (line.split() for line in header.decode().splitlines()):
        if words[0] == "element":
            last, counts[words[1]] = words[1], int(words[2])
        elif words[:2] == ["property", "list"]:
            fields.setdefault(last, []).extend([("count", "u1"), (words[4], "<i4", 3)])
        elif words[0] == "property":
            fields.setdefault(last, []).append((words[2], {"double": "<f8", "float": "<f4"}[words[1]]))
    points = np.frombuffer(data, fields["vertex"], counts["vertex"])
    return points, np.frombuffer(data, fields["face"], counts["face"], offset=points.nbytes)


@pytest.mark.parametrize("level", [0, 1])
def test_ply_holds_what_the_state_bears(folder: Path, tmp_path: Path, level: int) -> None:
    assert main(["export", str(folder), "--out", str(tmp_path / "a.ply"), "--level", str(level), "--mechanics"]) == 0
    assert main(["export", str(folder), "--out", str(tmp_path / "all"), "--format", "ply", "--mechanics"]) == 0
    assert "stress_1" in (read_ply(sorted((tmp_path / "all").glob("*.ply"))[-1])[1].dtype.names or ())
    (points, faces), expected = read_ply(tmp_path / "a.ply"), measured(folder, level)
    for name in ("strain", "stress", "curvature"):
        found = np.column_stack([faces[f"{name}_{k}"] for k in "12"])
        assert found == pytest.approx(getattr(expected, name), rel=1e-5, abs=1e-6 * float(np.abs(found).max()))
    contact = np.column_stack([points[f"contact_{axis}"] for axis in "xyz"])
    assert np.array_equal(contact, expected.contact[: len(contact)])
    # it bears its own weight: ρ g z / E above its lower end, where strains are small
    x, z = points["x"], points["z"]
    corners = faces["vertex_indices"]
    hangs = x[corners[:, 0]] < 0.5
    height = z[corners[hangs]].mean(axis=1) - z[x < 0.5].min()
    assert faces["strain_1"][hangs] == pytest.approx(1000 * 9.81 * height / 1e6, abs=6e-4)
    assert contact.sum(axis=0) == pytest.approx([0.0, 0.0, WEIGHT], abs=0.02 * WEIGHT)


def test_usd_holds_it_as_primvars(folder: Path, tmp_path: Path) -> None:
    stage = Usd.Stage.Open(str(export_run(folder, tmp_path / "a.usdc", mechanics=True).path))
    expected, first = measured(folder, 1), 0
    for name in ("strip", "sheet"):
        mesh = UsdGeom.Mesh(stage.GetDefaultPrim().GetChild(name))
        last = first + len(mesh.GetFaceVertexCountsAttr().Get())
        end = Usd.TimeCode(stage.GetEndTimeCode())
        primvars = UsdGeom.PrimvarsAPI(mesh)
        for what in ("strain", "stress", "curvature"):
            primvar, values = primvars.GetPrimvar(f"plisse:{what}"), getattr(expected, what)[first:last]
            assert primvar.GetInterpolation() == "uniform"
            assert np.array(primvar.Get(end)) == pytest.approx(values, rel=1e-5, abs=1e-6 * np.abs(values).max())
        contact = primvars.GetPrimvar("plisse:contact")
        assert contact.GetInterpolation() == "vertex"
        total = np.array(contact.Get(end)).sum(axis=0)
        assert total == pytest.approx([0.0, 0.0, WEIGHT if name == "sheet" else 0.0], abs=0.02 * WEIGHT)
        first = last
    ground = UsdGeom.PrimvarsAPI(UsdGeom.Mesh(stage.GetDefaultPrim().GetChildren()[-1]))
    assert not ground.GetPrimvar("plisse:contact").HasValue()


@pytest.mark.parametrize(
    ("out", "keys", "said"),
    [
        ("a.obj", {}, "has no option mechanics: it applies only to usd and ply"),
        ("a.glb", {}, "has no option mechanics: it applies only to usd and ply"),
        ("a.ply", {"smooth": True}, "leave out --smooth"),
    ],
)
def test_what_cannot_hold_it_is_one_sentence(folder: Path, tmp_path: Path, out: str, keys: dict, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        export_run(folder, tmp_path / out, mechanics=True, **keys)
