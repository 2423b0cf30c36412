"""Array types have one name each, from one place."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import plisse
from plisse.core import arrays

SOURCE = Path(plisse.__file__).parent
NAMES = {name: value for name, value in vars(arrays).items() if name[0].isupper() and name != "NDArray"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Floats", "f8"), ("Singles", "f4"), ("Ints", "i4"), ("Longs", "i8"), ("Bools", "?"), ("Bytes", "u1")],
)
def test_each_name_is_of_one_type(name: str, kind: str) -> None:
    _, dtype = get_args(NAMES[name])
    assert np.dtype(get_args(dtype)[0]) == np.dtype(kind)


def test_no_other_module_makes_its_own() -> None:
    for path in SOURCE.rglob("*.py"):
        if path != SOURCE / "core/arrays.py":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"NDArray\[np\.", text), path
            for module, names in re.findall(r"^\s*from (plisse\.[\w.]+) import \(?([^)\n]+|[^)]+\))", text, re.M):
                taken = NAMES.keys() & set(re.findall(r"\w+", names))
                assert not taken or module == "plisse.core.arrays", f"{path} takes {taken} from {module}"
