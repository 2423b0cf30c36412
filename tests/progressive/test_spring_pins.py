"""Pins that are springs: what they bear is known exactly, on every level."""

from typing import Any

import numpy as np
import pytest

from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.mechanics import measure_mechanics
from plisse.progressive.session import Session


def scene_of(stiffness: Any, **says: Any) -> Any:
    pin = {"corners": True, "stiffness": stiffness, **says}
    shell = {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 4, "material": "cotton", "pin": [pin]}
    return scene_from_dict({"shell": [shell], "hierarchy": {"levels": 2}}, ".")


def test_springs_stretch_by_the_weight_over_their_stiffness_on_every_level() -> None:
    scene = scene_of("20 N/m")
    session = Session(scene, load_geometry(scene, "."))
    for go in (session.preview, session.refine):
        *_, state = go()
        assert state.converged
        problem = session.ladder.problem(state.level, start=state.x)
        weight = 9.81 * problem.mass.sum()
        geometry = session.ladder.geometry(state.level)
        (held,) = geometry.pins[0]
        assert len(held) == 4
        # the four corners of a grid have different areas; each spring bears its own part
        area = geometry.shells[0].vertex_areas[held]
        stiffness = 20.0 * area / area.sum()
        off = state.x[held] - geometry.placed[held]
        np.testing.assert_allclose(-(stiffness @ off), [0.0, 0.0, weight], atol=0.02 * weight)
        borne = measure_mechanics(problem, state.x).pins["shell-0"]
        np.testing.assert_allclose(borne, [0.0, 0.0, weight], atol=0.02 * weight)


def test_stiff_springs_are_as_good_as_firm_pins() -> None:
    ends = []
    for stiffness in ("1e7 N/m", None):
        scene = scene_of(stiffness) if stiffness else scene_from_dict(firm(), ".")
        session = Session(scene, load_geometry(scene, "."))
        *_, state = session.preview()
        assert state.converged
        ends.append(state.x)
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)


def firm() -> dict[str, Any]:
    shell = {"shape": "grid", "width": 0.4, "height": 0.4, "resolution": 4, "material": "cotton",
             "pin": [{"corners": True}]}  # fmt: skip
    return {"shell": [shell], "hierarchy": {"levels": 2}}


def test_springs_follow_their_keyframes() -> None:
    scene = scene_of("50 N/m", motion=[{"time": "1 s", "translate": [0.1, 0.0, 0.2]}])
    session = Session(scene, load_geometry(scene, "."))
    *_, state = session.preview()
    (held,) = session.ladder.geometry(0).pins[0]
    moved = (state.x - session.ladder.geometry(0).placed)[held].mean(axis=0)
    assert state.converged
    np.testing.assert_allclose(moved[:2], [0.1, 0.0], atol=5e-3)
    assert 0.1 < moved[2] < 0.2, "a little below, because of the weight"


def test_a_firm_pin_becomes_a_spring_on_the_way() -> None:
    scene = scene_from_dict(firm(), ".")
    session = Session(scene, load_geometry(scene, "."), load=lambda each: load_geometry(each, "."))
    *_, before = session.preview()
    session.change(scene_of("20 N/m"))
    *_, after = session.preview()
    (held,) = session.ladder.geometry(0).pins[0]
    assert after.converged and (after.x[held, 2] < before.x[held, 2] - 1e-3).all()


def test_a_spring_without_stiffness_is_refused() -> None:
    with pytest.raises(Exception, match="stiffness"):
        scene_of("0 N/m")
