"""Several shells in one scene keep their own materials, masses and places."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.assemble import System, assemble

SHELLS: list[dict[str, Any]] = [
    {"name": "a", "shape": "grid", "vertices": 30, "material": "cotton"},
    {"name": "b", "shape": "disc", "rings": 3, "translate": [0, 0, 0.2], "material": "wool"},
    {
        "name": "c", "shape": "sphere", "radius": 0.1, "subdivisions": 1, "translate": [0, 0, 0.5],
        "material": {"preset": "rubber", "strain_limit": 1.5}, "velocity": [1, 2, 3], "pressure": {"value": 20.0},
    },
]  # fmt: skip


def system_of(shells: list[dict[str, Any]]) -> System:
    return assemble(scene_from_dict({"shell": shells}, Path()), ".")


def test_a_scene_of_several_shells_is_the_sum_of_scenes_of_one() -> None:
    together, alone = system_of(SHELLS), [system_of([shell]) for shell in SHELLS]
    rng = np.random.default_rng(3)
    bent = [system.x0 + rng.uniform(-4e-3, 4e-3, system.x0.shape) for system in alone]
    x = np.concatenate(bent)
    assert together.mass == pytest.approx(np.concatenate([system.mass for system in alone]))
    assert np.array_equal(together.v0, np.concatenate([system.v0 for system in alone]))
    assert [together.name_of(int(i)) for i in np.cumsum([0, *map(len, bent[:-1])])] == ["a", "b", "c"]
    for parts in ("elastic", "loads"):
        models = zip((one.model for one in alone), bent, strict=True)
        apart = [sum(part.gradient(y) for part in getattr(model, parts)) for model, y in models]
        whole = sum(part.gradient(x) for part in getattr(together.model, parts))
        assert whole == pytest.approx(np.concatenate(apart), rel=1e-9, abs=1e-12)
