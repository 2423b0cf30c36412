"""Compiled kernels are found again from another clone, and never when a kernel they call has changed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plisse.kernels.cache as cache

CALLEE = """
from plisse.kernels.jit import kernel

@kernel
def scale(x):
    return FACTOR * x
"""
CALLER = """
import numpy as np
from plisse.kernels.jit import kernel
from plisse.kernels.callee import scale

@kernel
def total(x):
    s = 0.0
    for value in x:
        s += scale(value)
    return s
"""
OTHER = """
from plisse.kernels.jit import kernel

@kernel
def scale(x):
    return -x
"""
PROBE = """
import json
import numpy as np
from plisse.kernels.caller import total
from plisse.kernels.other import scale
value, negative = total(np.ones(4)), scale(1.0)
hits = [sum(function.stats.cache_hits.values()) for function in (total, scale)]
print(json.dumps([value, negative, *hits]))
"""


def make_clone(folder: Path, *, factor: str) -> Path:
    package = folder / "plisse" / "kernels"
    package.mkdir(parents=True)
    for part in (package.parent, package):
        (part / "__init__.py").touch()
    for name in ("jit.py", "cache.py"):
        shutil.copy(Path(cache.__file__).with_name(name), package / name)
    for name, text in (("callee", CALLEE.replace("FACTOR", factor)), ("caller", CALLER), ("other", OTHER)):
        (package / f"{name}.py").write_text(text)
    return folder


def run_clone(clone: Path, store: Path) -> list[float]:
    environment = {**os.environ, "PYTHONPATH": str(clone), "PLISSE_CACHE": str(store)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, cwd=clone, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_clone_elsewhere_loads_and_changed_callee_recompiles(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run_clone(make_clone(tmp_path / "a", factor="2.0"), store) == [8.0, -1.0, 0, 0]
    assert run_clone(make_clone(tmp_path / "b", factor="2.0"), store) == [8.0, -1.0, 1, 1]
    # `other` does not import the changed module and stays warm
    assert run_clone(make_clone(tmp_path / "c", factor="3.0"), store) == [12.0, -1.0, 0, 1]
    assert run_clone(tmp_path / "a", store) == [8.0, -1.0, 1, 1]


def test_damaged_entry_is_compiled_again(tmp_path: Path) -> None:
    store, clone = tmp_path / "store", make_clone(tmp_path / "a", factor="2.0")
    run_clone(clone, store)
    for entry in store.rglob("*.nbc"):
        entry.write_bytes(entry.read_bytes()[:100])
    assert run_clone(clone, store) == [8.0, -1.0, 0, 0]


def test_unwritable_store_falls_back_beside_the_sources(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "a", factor="2.0")
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    assert run_clone(clone, blocked)[2:] == [0, 0]
    assert run_clone(clone, blocked)[2:] == [1, 1]


def test_two_processes_at_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    clone = make_clone(tmp_path / "a", factor="2.0")
    environment = {**os.environ, "PYTHONPATH": str(clone), "PLISSE_CACHE": str(store)}
    jobs = [
        subprocess.Popen([sys.executable, "-c", PROBE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [json.loads(job.communicate()[0])[:2] for job in jobs] == [[8.0, -1.0]] * 2
    assert run_clone(clone, store) == [8.0, -1.0, 1, 1]


def test_only_the_newest_versions_are_kept(tmp_path: Path) -> None:
    for age in range(6):
        folder = tmp_path / f"tree-{age:020d}"
        folder.mkdir()
        os.utime(folder, (1000.0 - age, 1000.0 - age))
    (tmp_path / f"treetop-{0:020d}").mkdir()
    cache._prune(tmp_path, "tree")
    left = sorted(folder.name for folder in tmp_path.iterdir())
    assert left == [f"tree-{age:020d}" for age in range(cache.KEPT_VERSIONS)] + [f"treetop-{0:020d}"]


@pytest.mark.parametrize("variable", ["PLISSE_CACHE", "XDG_CACHE_HOME"])
def test_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str) -> None:
    monkeypatch.delenv("PLISSE_CACHE", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert tmp_path in cache.find_cache_root().parents
