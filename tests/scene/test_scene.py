"""The scene's own rules."""

import pytest

from plisse.core.errors import SceneError
from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.loads import Pressure, Wind
from plisse.scene.scene import Scene, Shell
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource

CLOTH = Shell(MeshSource(shape="grid"), name="cloth")


def test_defaults():
    scene = Scene((CLOTH,))
    assert scene.gravity == (0.0, 0.0, -9.81)
    assert scene.time.step == 0.3 and Time("dynamic").step == 0.02 and Time(h=0.1).step == 0.1
    assert Time("dynamic", duration=1.2).steps == 60 and Time().steps == 2000
    assert scene.contact.dhat is None and scene.contact.enabled


def test_half_space_normal_is_unit():
    assert HalfSpace(normal=(0, 3, 4)).normal == pytest.approx((0, 0.6, 0.8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scene(()),
        lambda: Scene((CLOTH, CLOTH)),
        lambda: Scene((CLOTH,), gravity=(0, 0)),
        lambda: Scene((CLOTH,), seed=-1),
        lambda: Shell(MeshSource(shape="grid"), scale=-1),
        lambda: MeshSource(),
        lambda: MeshSource(file="a.obj", shape="grid"),
        lambda: MeshSource(file="a.obj", parameters={"radius": 1}),
        lambda: Collider(),
        lambda: HalfSpace(normal=(0, 0, 0)),
        lambda: Pressure(-1.0, "gas"),
        lambda: Pressure(1.0, "air"),
        lambda: Wind(law="cubic"),
        lambda: Contact(friction=-0.1),
        lambda: Contact(dhat=0),
        lambda: Contact(enabled="no"),
        lambda: Solver(tol=0),
        lambda: Solver(linear="magic"),
        lambda: Time(h=0),
        lambda: Time(mode="still"),
        lambda: Time(max_steps=2.5),
    ],
)
def test_mistakes_raise_one_sentence(make):
    with pytest.raises(SceneError) as caught:
        make()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
