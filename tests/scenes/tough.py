"""Scenes with much contact, each with the numbers that are expected of it."""

from __future__ import annotations

from dataclasses import dataclass

from plisse.scene.colliders import Collider, HalfSpace
from plisse.scene.pins import Ball, Pin
from plisse.scene.scene import Scene, Shell
from plisse.scene.schedule import Keyframe
from plisse.scene.settings import Contact, Solver, Time
from plisse.scene.sources import MeshSource


@dataclass(frozen=True)
class Tough:
    """A scene and what must be true of its run.

    contacts: active pairs at the end, at least. lowest, highest: z range that the shells keep to at the end [m].
    """

    scene: Scene
    contacts: int
    lowest: float
    highest: float


def _sheet(**parameters: object) -> MeshSource:
    return MeshSource(shape="grid", parameters=parameters)


def stack(*, layers: int = 20, cells: int = 4, duration: float = 0.4) -> Tough:
    """Square sheets of 0.1 m, each turned and shifted a little, fall 2 mm apart onto a floor and come to rest.

    At rest the pile is as high as its layers' gaps, each between the offset (0.318 mm) and twice that (offset + dhat);
    edges that hang out over the layer below may lie lower, none higher.
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
    return Tough(scene, contacts=20 * layers, lowest=0.318e-3, highest=2 * 0.318e-3 * layers)


def ring(*, vertices: int = 300, hole: float = 0.05, depth: float = 0.25, duration: float = 1.0) -> Tough:
    """A round cloth (radius 0.16 m) lies on a torus whose hole (radius 0.03 m) its centre is pulled through, downwards.

    The whole cloth is through when its rim is below the torus.
    """
    cloth = Shell(
        MeshSource(shape="disc", parameters={"radius": 0.16, "vertices": vertices}),
        name="cloth",
        translate=(0.0, 0.0, 0.022),
        pins=(Pin(sphere=Ball((0, 0, 0.022), 0.016), motion=(Keyframe(duration, translate=(0, 0, -depth)),)),),
    )
    torus = Collider(
        "ring",
        mesh=MeshSource(shape="torus", parameters={"major": hole + 0.02, "minor": 0.02, "around": 32, "across": 14}),
    )
    scene = Scene(
        (cloth,),
        (torus,),
        name="ring",
        contact=Contact(friction=0.2),
        time=Time(mode="dynamic", h=0.02, duration=duration),
    )
    return Tough(scene, contacts=100, lowest=-0.4, highest=0.1)


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
        contact=Contact(friction=0.2),
        solver=Solver(max_iterations=200),
        time=Time(mode="dynamic", h=0.02, duration=duration),
    )
    return Tough(scene, contacts=50, lowest=-0.04, highest=0.04)
