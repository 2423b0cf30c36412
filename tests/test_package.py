"""The wheel holds what it should, and its commands work in an environment that knows nothing of the checkout."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def package() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package", ROOT / "tools/package.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_belongs_into_the_package(package: ModuleType) -> None:
    names = package.source_files()
    assert {"__init__.py", "py.typed", "examples/tablecloth.toml", "gallery/05-sphere.toml", "runs/run.py"} <= names
    assert not any("test" in name or "cache/" in name for name in names)


def test_missing_superfluous_and_private_contents_are_named(package: ModuleType) -> None:
    wheel = Path("plisse-1.whl")
    with pytest.raises(package.PackageError, match=r"plisse-1\.whl lacks a\.py, b\.py\."):
        package.check_names(wheel, {"c.py"}, {"a.py", "b.py", "c.py"})
    with pytest.raises(package.PackageError, match=r"must not hold tests/test_a\.py\."):
        package.check_names(wheel, {"c.py", "tests/test_a.py"}, {"c.py"})
    with pytest.raises(package.PackageError, match=r"holds the path .* in c\.py\."):
        package.check_paths(wheel, {"c.py": f"path = '{ROOT}/src'".encode()})


@pytest.mark.slow
def test_the_wheel_works_outside_of_the_checkout(tmp_path: Path) -> None:
    tool = [sys.executable, str(ROOT / "tools/package.py"), str(tmp_path)]
    ran = subprocess.run(tool, capture_output=True, text=True, cwd=tmp_path, timeout=1200)
    assert ran.returncode == 0, ran.stderr
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".gz", ".whl"]
