"""Errors are plain data: what another process raises arrives here whole."""

import copy
import errno
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest

import plisse
from plisse.core.errors import IntersectionError, SceneError, StartAgain
from plisse.loading.scene_table import inside
from plisse.runs.writing import StoreError

EXAMPLES: list[SceneError] = [
    SceneError("A scene needs a shell."),
    StartAgain("The meshes of the scene were changed: start again."),
    StoreError(Path("runs/flag"), OSError(errno.ENOSPC, "No space left on device")),
    IntersectionError(
        "The scene starts with 1 intersection.",
        x=np.random.default_rng(1).normal(size=(6, 3)),
        triangles=np.array([[0, 1, 2], [3, 4, 5]], np.int32),
        marked=np.array([1]),
    ),
]


def kinds_of(kind: type) -> Iterator[type]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds_of(each)


def test_every_kind_has_an_example() -> None:
    for module in walk_packages(plisse.__path__, "plisse."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert set(kinds_of(SceneError)) == {type(error) for error in EXAMPLES}


def same(mine: Any, theirs: Any) -> bool:
    return type(mine) is type(theirs) and bool(np.all(mine == theirs))


@pytest.mark.parametrize("again", [copy.copy, *(lambda e, p=p: pickle.loads(pickle.dumps(e, p)) for p in range(2, 6))])
@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_with_its_words_and_its_data(error: SceneError, again: Any) -> None:
    with pytest.raises(SceneError) as caught, inside("flag.toml"):
        raise again(error)
    # words that are put in front do not cost the data
    found = again(caught.value)
    assert type(found) is type(error) and str(found) == f"flag.toml: {error}"
    assert vars(found).keys() == vars(error).keys()
    for name, value in vars(error).items():
        assert same(getattr(found, name), value), name
        # nothing that only this process knows
        assert isinstance(value, (str, int, float, tuple, Path, np.ndarray))
