"""Where bodies go whose place a scene leaves open."""

from pathlib import Path

import numpy as np
import pytest

from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.loading.placement import GAP
from plisse.loading.scene_table import scene_from_dict, scene_to_dict
from plisse.progressive.feasibility import check_start
from plisse.progressive.scene_problem import SceneProblem

CLOTH = {"name": "cloth", "shape": "grid", "resolution": 6}
BALL = {"name": "ball", "shape": "sphere", "subdivisions": 2, "translate": [0.5, -0.2, 1.0]}
FLOOR = {"name": "ground", "shape": "floor"}


def place(*bodies, **more):
    """The scene of these bodies, and their positions by name, None for half-spaces."""
    shells = [body for body in bodies if body["name"].startswith(("cloth", "bag"))]
    colliders = [body for body in bodies if body not in shells]
    scene = scene_from_dict({"shell": shells, "collider": colliders} | more, Path())
    geometry = load_geometry(scene, Path())
    found = dict(zip((shell.name for shell in scene.shells), geometry.shell_positions, strict=True))
    for collider, mesh in zip(scene.colliders, geometry.colliders, strict=True):
        found[collider.name] = None if mesh is None else mesh.X
    # nothing starts in touch
    problem = SceneProblem(scene, geometry)
    check_start(problem)
    assert problem.contact_count(problem.x0) == 0
    return scene, found


def middle(x):
    return (x.min(axis=0) + x.max(axis=0))[:2] / 2


def refused(*bodies, **more):
    with pytest.raises(SceneError) as caught:
        place(*bodies, **more)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    return str(caught.value)


def test_a_shell_rests_above_the_middle_of_a_collider():
    scene, x = place(CLOTH | {"rest_on": "ball"}, BALL)
    assert middle(x["cloth"]) == pytest.approx([0.5, -0.2], abs=1e-12)
    assert x["cloth"][:, 2].min() == pytest.approx(x["ball"][:, 2].max() + GAP)
    # what was asked for is settled: writing the scene and reading it again moves nothing
    assert scene.shells[0].rest_on is None and scene.shells[0].translate[2] > 1.2
    assert scene_from_dict(scene_to_dict(scene), Path()) == scene


def test_the_height_to_drop_from_is_between_the_lowest_and_the_highest_point():
    _, x = place(CLOTH | {"rest_on": "ball", "drop_height": "30 cm"}, BALL)
    assert x["cloth"][:, 2].min() == pytest.approx(x["ball"][:, 2].max() + 0.3)


def test_without_a_name_the_height_is_above_all_colliders():
    tower = {"name": "tower", "shape": "box", "size": [0.2, 0.2, 4], "translate": [2, 2, 0]}
    _, x = place(CLOTH | {"drop_height": 0.1}, BALL, tower)
    assert x["cloth"][:, 2].min() == pytest.approx(2.1)
    both = np.concatenate((x["ball"], x["tower"]))
    assert middle(x["cloth"]) == pytest.approx(middle(both), abs=1e-12)


def test_shells_are_stacked_in_any_order():
    stack = [CLOTH | {"name": f"cloth-{k}", "rest_on": f"cloth-{k - 1}"} for k in (3, 1, 2)]
    stack[1]["rest_on"] = "ball"
    _, x = place(*stack, BALL)
    levels = [x["ball"][:, 2].max(), *(x[f"cloth-{k}"][:, 2].min() for k in (1, 2, 3))]
    assert np.diff(levels) == pytest.approx([GAP] * 3)
    assert all(middle(x[f"cloth-{k}"]) == pytest.approx([0.5, -0.2], abs=1e-12) for k in (1, 2, 3))


@pytest.mark.parametrize("turn", [[90, 0, 0], [30, 40, 50], "45 deg"])
def test_what_counts_are_rotated_and_scaled_bodies(turn):
    crate = {"name": "crate", "shape": "box", "size": [0.4, 0.1, 0.2], "translate": [1, 0, 0], "rotate": [20, 30, 0]}
    _, x = place(CLOTH | {"rest_on": "crate", "rotate": turn, "scale": [1, 0.5, 1]}, crate)
    assert x["cloth"][:, 2].min() == pytest.approx(x["crate"][:, 2].max() + GAP)
    assert middle(x["cloth"]) == pytest.approx(middle(x["crate"]), abs=1e-12)


def test_the_gap_grows_with_thickness_and_offset():
    thick = {"preset": "cotton", "thickness": "1 cm"}
    for more, gap in (({}, GAP), ({"contact": {"offset": "2 cm"}}, 0.06)):
        _, x = place(CLOTH | {"rest_on": "ball"}, BALL, **more)
        assert x["cloth"][:, 2].min() - x["ball"][:, 2].max() == pytest.approx(gap)
    _, x = place(CLOTH | {"rest_on": "ball", "material": thick}, BALL)
    assert x["cloth"][:, 2].min() - x["ball"][:, 2].max() == pytest.approx(0.03)


def test_a_shell_above_a_half_space_stays_in_the_plane():
    _, x = place(CLOTH | {"rest_on": "ground", "drop_height": 0.5}, FLOOR | {"height": 2})
    assert x["cloth"][:, 2].min() == pytest.approx(2.5) and middle(x["cloth"]) == pytest.approx([0, 0], abs=1e-12)
    _, x = place(CLOTH | {"rest_on": "plane"}, {"name": "plane", "half_space": {"point": [0, 0, 3]}})
    assert x["cloth"][:, 2].min() == pytest.approx(3 + GAP)


def test_loose_colliders_go_below_all_shells():
    _, x = place(CLOTH | {"translate": [3, 1, 2]}, {"name": "tray", "shape": "box", "resolution": 2})
    assert x["tray"][:, 2].max() == pytest.approx(2 - GAP) and middle(x["tray"]) == pytest.approx([3, 1])


def test_a_loose_collider_on_which_a_shell_rests_stays():
    _, x = place(CLOTH | {"rest_on": "tray"}, {"name": "tray", "shape": "box", "size": 0.2})
    assert np.abs(x["tray"]).max() == pytest.approx(0.1) and x["cloth"][:, 2].min() == pytest.approx(0.1 + GAP)


def test_a_floor_without_a_height_goes_below_everything():
    scene, x = place(CLOTH, BALL | {"translate": [0, 0, -3]}, FLOOR)
    assert scene.colliders[1].half_space.point[2] == pytest.approx(x["ball"][:, 2].min() - GAP)
    scene, x = place(CLOTH | {"rest_on": "tray"}, {"name": "tray", "shape": "box"}, FLOOR)
    assert scene.colliders[1].half_space.point[2] == pytest.approx(x["tray"][:, 2].min() - GAP)


def test_a_floor_with_a_height_stays_there():
    scene, _ = place(CLOTH | {"translate": [0, 0, 1]}, FLOOR | {"height": "-20 cm"})
    assert scene.colliders[0].half_space.point == (0.0, 0.0, -0.2)


def test_bodies_with_places_of_their_own_are_left_alone():
    scene, x = place(CLOTH | {"translate": [0, 0, 2]}, BALL)
    assert scene.shells[0].translate == (0, 0, 2) and scene.colliders[0].translate == (0.5, -0.2, 1.0)
    assert (x["cloth"][:, 2] == 2.0).all()


def test_a_shell_on_a_shell_that_has_its_own_place():
    bag = {"name": "bag", "shape": "sphere", "subdivisions": 2, "translate": [0, 1, 5]}
    _, x = place(CLOTH | {"rest_on": "bag"}, bag)
    assert x["cloth"][:, 2].min() == pytest.approx(5.25 + GAP) and middle(x["cloth"]) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        ([CLOTH | {"rest_on": "bal"}, BALL], ["cloth: ", '"bal"', 'did you mean "ball"', "the others are ball"]),
        ([CLOTH | {"rest_on": "cloth"}], ["cloth: ", "no other body", "the others are none"]),
        ([CLOTH | {"rest_on": "ball", "translate": [0, 0, 1]}, BALL], ["cloth: ", "remove"]),
        ([CLOTH | {"drop_height": 1}], ["needs a collider", "translate"]),
        ([CLOTH | {"drop_height": 0, "rest_on": "ball"}, BALL], ["drop_height", "above 0"]),
        (
            [CLOTH | {"name": "cloth-a", "rest_on": "cloth-b"}, CLOTH | {"name": "cloth-b", "rest_on": "cloth-a"}],
            ["cloth-a and cloth-b rest on each other", "something else"],
        ),
        (
            [CLOTH | {"name": f"cloth-{a}", "rest_on": f"cloth-{b}"} for a, b in ("ab", "bc", "ca")] + [BALL],
            ["cloth-a and cloth-b and cloth-c rest on each other"],
        ),
        (
            [CLOTH | {"name": "cloth-a", "rest_on": "cloth-b"}, CLOTH | {"name": "cloth-b", "rest_on": "ball"}],
            ["cloth-b: ", '"ball"'],
        ),
    ],
)
def test_places_that_cannot_be_found(bodies, words):
    said = refused(*bodies)
    assert all(word in said for word in words), said


def test_a_tilted_half_space_carries_nothing():
    slope = {"name": "slope", "half_space": {"point": [0, 0, 0], "normal": [1, 0, 1]}}
    assert "slope is a tilted half-space" in refused(CLOTH | {"rest_on": "slope"}, slope)
    _, x = place(CLOTH | {"drop_height": 3}, slope, FLOOR | {"height": -1})
    assert x["cloth"][:, 2].min() == pytest.approx(2.0)


@pytest.mark.parametrize("rest", [{"rest_on": "ground"}, {}])
def test_a_floor_without_a_height_on_which_a_shell_rests_stays_at_zero(rest):
    scene, x = place(CLOTH | {"drop_height": 0.5} | rest, FLOOR)
    assert scene.colliders[0].half_space.point[2] == 0.0 and x["cloth"][:, 2].min() == pytest.approx(0.5)


def test_room_is_left_for_the_reach_of_contact():
    _, x = place(CLOTH | {"rest_on": "ball"}, BALL, contact={"dhat": "5 cm"})
    assert x["cloth"][:, 2].min() > x["ball"][:, 2].max() + 0.05
    # a large scene's own dhat is longer than the usual room
    place(CLOTH | {"width": 20, "height": 20, "rest_on": "ball"}, BALL)


def test_a_floor_that_is_placed_by_other_keys_stays_there():
    for keys in (
        {"translate": [0, 0, -2]},
        {"rotate": [0, 20, 0], "translate": [0, 0, -2]},
        {"scale": 3, "height": -1},
    ):
        scene, _ = place(CLOTH, FLOOR | keys)
        assert scene.colliders[0].half_space.point[2] == keys.get("height", 0.0)


def test_dropping_onto_all_colliders_counts_level_half_spaces():
    low = BALL | {"translate": [0, 0, -5]}
    _, x = place(CLOTH | {"drop_height": 0.2}, low, FLOOR | {"height": 0})
    assert x["cloth"][:, 2].min() == pytest.approx(0.2)
