"""The public names are declared once, and nothing heavy is imported before it is needed."""

import subprocess
import sys

import plisse


def test_every_public_name_resolves_to_what_its_home_exports() -> None:
    for name in plisse.__all__:
        assert getattr(plisse, name) is not None
    assert set(plisse._HOMES) == set(plisse.__all__) - {"__version__"}


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, plisse.cli; plisse.cli.build_parser(); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "numpy", "scipy", "ipctk", "PIL"):
        assert f"'{heavy}'" not in loaded
