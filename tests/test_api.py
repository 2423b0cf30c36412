"""The public names are declared once, take plain text for paths, and import nothing heavy before it is needed."""

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np

import plisse
from plisse.shapes.catalogue import grid, sphere


def test_every_public_name_resolves_to_what_its_home_exports() -> None:
    for name in plisse.__all__:
        assert getattr(plisse, name) is not None
    assert set(plisse._HOMES) == set(plisse.__all__) - {"__version__"}


def test_every_public_name_is_documented() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("docs/*.md"))
    for name in plisse.__all__:
        assert f"plisse.{name}" in pages or f"`{name}`" in pages, name
        if name != "__version__":
            assert inspect.getdoc(getattr(plisse, name)), name


def test_every_path_may_be_plain_text() -> None:
    """What is annotated with Path alone would break on text, or be told so by a type checker."""
    for name in plisse.__all__:
        value = getattr(plisse, name)
        if inspect.isfunction(value):
            for parameter in inspect.signature(value).parameters.values():
                said = str(parameter.annotation).replace("pathlib.Path", "Path")
                assert "Path" not in said or "str" in said, f"{name}({parameter})"


def test_no_public_name_is_hidden_by_a_room() -> None:
    # importing a room makes it an attribute of the package, in place of a public name that is spelt like it
    rooms = {path.name for path in Path(plisse.__file__).parent.iterdir() if path.is_dir()}
    assert not rooms & set(plisse.__all__)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, plisse.cli; plisse.cli.build_parser(); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "numpy", "scipy", "ipctk", "PIL"):
        assert f"'{heavy}'" not in loaded


def test_forces_are_those_of_every_kind_and_balance_where_they_should() -> None:
    ball = sphere(0.1, subdivisions=2)
    scene = plisse.load(
        {"shell": [{"mesh": ball, "pressure": 40}, {"mesh": grid(0.3, resolution=4), "translate": [0, 0, 1]}]}
    )
    problem = plisse.open_session(scene).ladder.problem(0)
    x = problem.x0 * 1.01
    found = plisse.forces(problem.potentials, x)
    assert {"Membrane", "Bending", "Gravity", "PressureLoad", "Barrier"} <= found.keys()
    assert all(force.shape == x.shape for force in found.values())
    # a pressure pushes outwards, and a closed shell by it nowhere; weight is weight
    n = len(ball.X)
    assert (np.einsum("ij,ij->i", found["PressureLoad"][:n], x[:n]) > 0).all() and not found["PressureLoad"][n:].any()
    np.testing.assert_allclose(found["PressureLoad"].sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found["Gravity"].sum(axis=0), [0.0, 0.0, -9.81 * problem.mass.sum()], atol=1e-12)
    # against the energies' differences along a direction
    p, eps = np.random.default_rng(1).normal(size=x.shape), 1e-7
    energies = [sum(part.value(x + s * eps * p) for part in problem.potentials) for s in (-1, 1)]
    slope = (energies[1] - energies[0]) / (2 * eps)
    assert np.isclose(-slope, sum((force * p).sum() for force in found.values()), rtol=1e-5)
