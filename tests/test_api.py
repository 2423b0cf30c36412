"""The public names are declared once, and nothing heavy is imported before it is needed."""

import subprocess
import sys
from pathlib import Path

import plisse


def test_every_public_name_resolves_to_what_its_home_exports() -> None:
    for name in plisse.__all__:
        assert getattr(plisse, name) is not None
    assert set(plisse._HOMES) == set(plisse.__all__) - {"__version__"}


def test_no_public_name_is_hidden_by_a_room() -> None:
    # importing a room makes it an attribute of the package, in place of a public name that is spelt like it
    rooms = {path.name for path in Path(plisse.__file__).parent.iterdir() if path.is_dir()}
    assert not rooms & set(plisse.__all__)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, plisse.cli; plisse.cli.build_parser(); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "numpy", "scipy", "ipctk", "PIL"):
        assert f"'{heavy}'" not in loaded
