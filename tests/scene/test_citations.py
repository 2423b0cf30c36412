"""What a scene is to cite, and that the bibliography holds it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import plisse
from plisse.scene.citations import ALWAYS, read_references

ROOT = Path(__file__).parents[2]
PLATE = ("Morley1968", "Grinspun2006")
SHEET = {"shape": "grid", "vertices": 9, "material": "paper"}
LEVELS = {"levels": 3}


def cited(scene: dict[str, Any]) -> set[str]:
    """Keys of the entries beyond those of every scene."""
    text = plisse.cite(plisse.load(scene))
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) and set(keys) >= set(ALWAYS)
    return set(keys) - set(ALWAYS)


def test_every_key_in_the_source_and_the_documents_has_an_entry() -> None:
    used = set()
    for path in (*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"):
        used |= set(re.findall(r"\[([A-Z]\w+\d{4})\]", path.read_text(encoding="utf-8")))
    assert len(used) > 20 and used <= read_references().keys()


def test_entries_are_whole() -> None:
    text = (ROOT / "src/plisse/references.bib").read_text(encoding="utf-8")
    entries = read_references()
    assert len(entries) == len(re.findall(r"^@", text, re.MULTILINE))
    for key, entry in entries.items():
        assert entry.count("{") == entry.count("}"), key
        assert "title" in entry and "year" in entry, key


def test_without_a_scene_what_all_scenes_use() -> None:
    assert re.findall(r"@\w+\{(\w+),", plisse.cite()) == list(ALWAYS)


@pytest.mark.parametrize(
    ("scene", "keys"),
    [
        ({"shell": [SHEET]}, {"Zhang2022"}),
        ({"shell": [SHEET], "time": {"mode": "dynamic"}}, set()),
        ({"shell": [SHEET], "hierarchy": LEVELS}, {"Zhang2022", "Pipkin1986"}),
        ({"shell": [SHEET], "hierarchy": LEVELS | {"compression": 1}}, {"Zhang2022"}),
        ({"shell": [SHEET], "hierarchy": LEVELS | {"preset": "paper"}}, {"Zhang2022", "Loop1987"}),
        ({"shell": [SHEET], "hierarchy": LEVELS | {"method": "cascadic"}}, {"Zhang2022", "Umetani2011"}),
        ({"shell": [SHEET], "hierarchy": {"method": "plain"}}, set()),
        (
            {"shell": [SHEET | {"material": {"preset": "paper", "bending": "plate"}}]},
            {"Zhang2022", *PLATE},
        ),
        (
            {"shell": [SHEET | {"shape": "dome", "vertices": 50}], "hierarchy": LEVELS},
            {"Zhang2022", "Pipkin1986", "Loop1987"},
        ),
        (
            {"shell": [SHEET], "collider": [{"shape": "sphere", "refine": True}], "hierarchy": LEVELS},
            {"Zhang2022", "Pipkin1986", "Loop1987"},
        ),
        (
            {"shell": [SHEET | {"material": {"preset": "paper", "strain_limit": 1.1}}], "hierarchy": LEVELS},
            {"Zhang2022", "Pipkin1986", "Chao2010"},
        ),
        (
            {"shell": [SHEET | {"material": "denim"}, SHEET | {"material": "cotton"}]},
            {"Zhang2022", "Wang2011", "Penava2014"},
        ),
        (
            {"shell": [SHEET | {"material": {"density": 1, "thickness": 1e-3, "E": 1e6, "nu": 0.3}}]},
            {"Zhang2022", *PLATE},
        ),
    ],
)  # fmt: skip
def test_a_scene_cites_what_it_uses(scene: dict[str, Any], keys: set[str]) -> None:
    assert cited(scene) == keys


@pytest.mark.slow
def test_the_bibliography_is_in_the_wheel(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    # in an environment of its own, as `pip install` does it
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "."], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("plisse-*.whl")
    with ZipFile(wheel) as archive:
        assert archive.read("plisse/references.bib") == (ROOT / "src/plisse/references.bib").read_bytes()
