"""Scenes with much contact, each with the numbers that are expected of it."""

from __future__ import annotations

from dataclasses import dataclass

from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.pins import Ball, Pin
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe
from plisse.scene.settings import Contact, Time
from plisse.scene.sources import MeshSource


@dataclass(frozen=True)
class Tough:
    """A scene and what must be true of its run.

    contacts: active pairs after the fullest step, at least. lowest, highest: z of the shells at the end [m].
    """

    scene: Scene
    contacts: int
    lowest: float
    highest: float


OFFSET = 0.318e-3  # thickness of cotton [m]: here both offset and dhat


def _sheet(**parameters: object) -> MeshSource:
    return MeshSource(shape="grid", parameters=parameters)


def stack(*, layers: int = 20, cells: int = 4, duration: float = 0.4) -> Tough:
    """Square sheets of 0.1 m, each turned and shifted, fall 2 mm apart onto a floor and come to rest.

    At rest gaps are between offset and offset + dhat: the pile is at most 2 × 0.318 mm × layers high.
    """
    shells = tuple(
        Shell(
            _sheet(width=0.1, height=0.1, resolution=cells, diagonals="jittered", seed=i),
            name=f"layer-{i}",
            translate=(0.004 * (i % 3 - 1), 0.003 * (i % 4 - 1.5), 0.002 * (i + 1)),
            rotate=(0.0, 0.0, 17.0 * i),
        )
        for i in range(layers)
    )
    scene = Scene(
        shells,
        (Collider("floor", half_space=HalfSpace()),),
        name="stack",
        contact=Contact(friction=0.3),
        time=Time(mode="dynamic", h=0.01, duration=duration),
    )
    return Tough(scene, contacts=100 * layers, lowest=OFFSET, highest=2 * OFFSET * layers)


def ring(
    *, rings: int = 9, hole: float = 0.05, stiffness: float = 1e4, depth: float = 0.25, duration: float = 1.0
) -> Tough:
    """A round cloth (radius 0.16 m) lies on a torus; its centre is pulled down through the hole.

    All of it follows: at the end it is wholly below the torus, whose lowest z is −0.02 m.
    """
    cloth = Shell(
        MeshSource(shape="disc", parameters={"radius": 0.16, "rings": rings}),
        name="cloth",
        translate=(0.0, 0.0, 0.022),
        pins=(Pin(sphere=Ball((0, 0, 0.022), 0.02), motion=(Keyframe(duration, translate=(0, 0, -depth)),)),),
    )
    torus = MeshSource(shape="torus", parameters={"major": hole + 0.02, "minor": 0.02, "around": 32, "across": 14})
    scene = Scene(
        (cloth,),
        (Collider("ring", mesh=torus),),
        name="ring",
        contact=Contact(friction=0.2, stiffness=stiffness),
        time=Time(mode="dynamic", h=0.02, duration=duration),
    )
    return Tough(scene, contacts=100, lowest=0.022 - depth - 0.16, highest=-0.02)


def twist(*, cells: tuple[int, int] = (30, 6), turns: float = 4.0, duration: float = 1.6) -> Tough:
    """A strip of 0.3 × 0.06 m, its ends turned against each other until it coils into contact with itself."""
    half = 360.0 * turns / 2

    def end(side: float) -> Pin:
        here = 0.15 * side
        key = Keyframe(duration, translate=(-0.03 * side, 0, 0), rotate=(-half * side, 0, 0))
        return Pin(box=((here, -0.03, 0.0), (here, 0.03, 0.0)), motion=(key,))

    strip = Shell(_sheet(width=0.3, height=0.06, resolution=cells), name="strip", pins=(end(-1.0), end(1.0)))
    scene = Scene(
        (strip,),
        name="twist",
        gravity=(0.0, 0.0, 0.0),
        contact=Contact(friction=0.2, stiffness=1e3),
        time=Time(mode="dynamic", h=0.02, duration=duration),
    )
    return Tough(scene, contacts=30, lowest=-0.03, highest=0.03)


def drape(*, cells: int = 16, duration: float = 0.3) -> Tough:
    """A sheet of 0.4 m falls over a ball of radius 0.1 m."""
    ball = MeshSource(shape="sphere", parameters={"radius": 0.1, "subdivisions": 3})
    scene = Scene(
        (Shell(_sheet(width=0.4, height=0.4, resolution=cells), name="cloth", translate=(0.01, 0.0, 0.105)),),
        (Collider("ball", mesh=ball),),
        name="drape",
        contact=Contact(friction=0.3),
        time=Time(mode="dynamic", h=0.02, duration=duration),
    )
    return Tough(scene, contacts=50, lowest=-0.2, highest=0.102)
