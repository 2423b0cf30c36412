"""What every bench writes, and the mesh that the benches share. Nothing here is timed."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from plisse.bench import drop
from plisse.bench.climb import gallery_scene
from plisse.bench.figures import Figure, conclude
from plisse.bench.pd_parallel import critical_path
from plisse.cli import entry as cli
from plisse.core.errors import SceneError

GOOD = [Figure("ratio", 1.25, 1.5, "lower"), Figure("speed-up", 3.0, 2.5, "higher")]
BAD = Figure("memory, GB", 3.5, 3.0, "lower")

# --- figures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "better", "holds"),
    [
        (1.0, "lower", True), (2.0, "lower", True), (2.1, "lower", False), (np.nan, "lower", False),
        (3.0, "higher", True), (2.0, "higher", True), (1.9, "higher", False), (np.nan, "higher", False),
    ],
)  # fmt: skip
def test_a_figure_holds_up_to_what_is_asked(value: float, better: str, holds: bool) -> None:
    assert Figure("figure", value, 2.0, better).holds is holds


def test_json_has_the_layout_that_all_benches_share(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    assert conclude("drop", 2, GOOD, {"steps": 60}, path) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "bench": "drop",
        "threads": 2,
        "figures": [
            {"name": "ratio", "value": 1.25, "asked": 1.5, "better": "lower", "holds": True},
            {"name": "speed-up", "value": 3.0, "asked": 2.5, "better": "higher", "holds": True},
        ],
        "details": {"steps": 60},
    }


def test_numbers_of_numpy_are_written_as_well(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    assert conclude("drop", 2, [Figure("ratio", np.float64(1.25), 1.5, "lower")], {}, path) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["figures"][0]["holds"] is True


def test_levels_at_the_same_time_take_as_long_as_their_critical_path() -> None:
    """A finer level's step waits for the same one below, and for its own last one."""
    assert critical_path([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]) == 7.0
    assert critical_path([[1.0, 5.0, 1.0], [2.0, 2.0, 2.0]]) == 10.0
    assert critical_path([[2.0, 3.0]]) == 5.0


def test_one_figure_that_falls_short_is_exit_1_and_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    assert conclude("newton", 1, [*GOOD, BAD], {}, path) == 1
    data = json.loads(path.read_text(encoding="utf-8"))
    assert [figure["holds"] for figure in data["figures"]] == [True, True, False]


def test_the_table_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude("newton", 2, [*GOOD, BAD], {"vertices": 90000}, None) == 1
    head, *rows, details = capsys.readouterr().out.splitlines()
    assert "newton" in head and "2 threads" in head and "asked" in head
    for figure, row, sign in zip([*GOOD, BAD], rows, "≤≥≤", strict=True):
        assert row.startswith(figure.name)
        verdict = "holds" if figure.holds else "FALLS SHORT"
        assert row[len(figure.name) :].split(maxsplit=3) == [
            f"{figure.value:.3f}", sign, f"{figure.asked:.3f}", verdict,
        ]  # fmt: skip
    assert "vertices" in details and "90000" in details


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="cannot be written"):
        conclude("drop", 2, GOOD, {}, tmp_path / "nowhere" / "bench.json")


@pytest.mark.parametrize(("figures", "code"), [(GOOD, 0), ([BAD], 1)])
def test_the_command_passes_threads_on_and_exits_by_the_figures(
    figures: list[Figure], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(drop, "measure", lambda threads: (asked.append(threads) or figures, {"h": 0.02}))
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "drop", "--threads", "1", "--json", str(path)]) == code
    data = json.loads(path.read_text(encoding="utf-8"))
    assert asked == [1] and data["bench"] == "drop" and data["threads"] == 1 and data["details"] == {"h": 0.02}


def test_every_bench_of_the_command_is_a_module_with_a_measure() -> None:
    for name in cli.BENCHES:
        assert callable(import_module(f"plisse.bench.{name}").measure)


def test_gallery_scenes_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scene = gallery_scene("05-sphere", sets=("shell.vertices=30",), levels=2)
    assert (scene.name, scene.hierarchy.levels, scene.shells[0].mesh.parameters["vertices"]) == ("05-sphere", 2, 30)
