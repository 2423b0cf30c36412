"""Bodies whose place a scene leaves open: shells above what they rest on, colliders below the shells."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError, suggest
from plisse.loading.geometry import load_collider, load_shell
from plisse.scene.colliders import HalfSpace, move_half_space
from plisse.scene.geometry import scene_size
from plisse.scene.scene import Scene
from plisse.scene.settings import choose_lengths

GAP = 0.01  # room between a body and what is put below or above it by default [m]
LEVEL = 1.0 - 1e-9  # from this height of its unit normal on a half-space is level


def place(scene: Scene, base: Path, *, loose: Collection[int], floors: Collection[int]) -> Scene:
    """The scene with every body in its place.

    loose: colliders without a place of their own; floors: half-spaces without a height. Shells that rest on something
    are put above it, where it is; loose colliders on which none rests go below all shells, floors below everything.
    """
    resting = [i for i, s in enumerate(scene.shells) if s.rest_on is not None or s.drop_height is not None]
    if not (resting or loose or floors):
        return scene
    if any(scene.shells[i].translate != (0.0, 0.0, 0.0) for i in resting):
        i = next(i for i in resting if scene.shells[i].translate != (0.0, 0.0, 0.0))
        raise SceneError(
            f"{scene.shells[i].name}: rest_on and drop_height already place the shell: remove them or translate."
        )
    held_up = _below(scene, resting)
    # a floor on which a shell rests stays, as other colliders do
    named = {scene.shells[i].rest_on for i in resting}
    alone = None in named and all(collider.mesh is None for collider in scene.colliders)
    floors = [] if alone else [i for i in floors if scene.colliders[i].name not in named]
    loaded = [load_shell(shell, base, scene.seed) for shell in scene.shells]
    gap = _out_of_touch(scene, scene_size([body.mesh for body in loaded]))
    shells = {i: body.placed for i, body in enumerate(loaded)}
    solids = {i: _placed(scene, i, base) for i in range(len(scene.colliders))}
    scene = _rest(scene, resting, floors, gap, shells, solids)
    low = [i for i in loose if scene.colliders[i].name not in held_up]
    scene = _sink(scene, low, gap, shells, solids)
    lowest = min(float(x[:, 2].min()) for x in [*shells.values(), *solids.values()] if x is not None)
    colliders = list(scene.colliders)
    for i in floors:
        colliders[i] = replace(colliders[i], half_space=HalfSpace((0.0, 0.0, lowest - gap)))
    return replace(scene, colliders=tuple(colliders))


def _out_of_touch(scene: Scene, size: float) -> float:
    """Room [m] that leaves contact nothing to do; size: of the scene [m]."""
    thicknesses = [material.thickness for shell in scene.shells for material in shell.materials]
    offset, dhat = choose_lengths(scene.contact, thinnest=min(thicknesses), size=size)
    return max(GAP, 3.0 * max(thicknesses), 1.5 * (offset + dhat))


def _placed(scene: Scene, number: int, base: Path) -> Floats | None:
    collider = scene.colliders[number]
    return None if collider.mesh is None else load_collider(collider, base, scene.seed, moving=False).placed


def _below(scene: Scene, resting: Collection[int]) -> set[str]:
    """Names of the bodies on which shells rest; a SceneError where there is none of that name."""
    names = [*(c.name for c in scene.colliders), *(s.name for s in scene.shells)]
    out: set[str] = set()
    for i in resting:
        shell = scene.shells[i]
        if shell.rest_on is None:
            out |= {collider.name for collider in scene.colliders}
        elif shell.rest_on == shell.name or shell.rest_on not in names:
            others = [name for name in names if name != shell.name]
            raise SceneError(
                f'{shell.name}: rest_on names no other body "{shell.rest_on}"{suggest(shell.rest_on, others)}: the '
                f"others are {', '.join(others) or 'none'}."
            )
        else:
            out.add(shell.rest_on)
    return out


def _rest(
    scene: Scene,
    resting: Collection[int],
    floors: Collection[int],
    gap: float,
    shells: dict[int, Floats],
    solids: dict[int, Floats | None],
) -> Scene:
    """Puts shells above what they rest on, those that carry others first."""
    waiting, done = list(resting), list(scene.shells)
    number_of = {shell.name: i for i, shell in enumerate(scene.shells)}
    while waiting:
        ready = [i for i in waiting if number_of.get(scene.shells[i].rest_on or "") not in waiting]
        if not ready:
            ring = " and ".join(scene.shells[i].name for i in waiting)
            raise SceneError(f"{ring} rest on each other: let one of them rest on something else.")
        for i in ready:
            shell = scene.shells[i]
            place, top = _top(scene, shell.rest_on, floors, shells, solids)
            x = shells[i]
            middle = (x.min(axis=0) + x.max(axis=0)) / 2
            height = gap if shell.drop_height is None else shell.drop_height
            shift = np.array([*(middle[:2] if place is None else place) - middle[:2], top + height - x[:, 2].min()])
            shells[i] = x + shift
            moved = (float(shift[0]), float(shift[1]), float(shift[2]))
            done[i] = replace(shell, translate=moved, rest_on=None, drop_height=None)
            waiting.remove(i)
    return replace(scene, shells=tuple(done))


def _top(
    scene: Scene,
    name: str | None,
    floors: Collection[int],
    shells: dict[int, Floats],
    solids: dict[int, Floats | None],
) -> tuple[Floats | None, float]:
    """Middle (2,) in the plane, None for a half-space, and the highest point [m] of what a shell rests on.

    floors: half-spaces that have no place yet.
    """
    for i, shell in enumerate(scene.shells):
        if shell.name == name:
            return (shells[i][:, :2].min(axis=0) + shells[i][:, :2].max(axis=0)) / 2, float(shells[i][:, 2].max())
    chosen = [i for i, collider in enumerate(scene.colliders) if name is None or collider.name == name]
    meshes = [x for i in chosen if (x := solids[i]) is not None]
    planes = [move_half_space(scene.colliders[i], 0.0) for i in chosen if solids[i] is None and i not in floors]
    tops = [float(point[2]) for point, normal in planes if normal[2] > LEVEL]
    if meshes:
        x = np.concatenate(meshes)
        return (x[:, :2].min(axis=0) + x[:, :2].max(axis=0)) / 2, max([float(x[:, 2].max()), *tops])
    if tops:
        return None, max(tops)
    if chosen:
        raise SceneError(
            f"{scene.colliders[chosen[0]].name} is a tilted half-space, which has no highest point to rest on: place "
            "the shell with translate."
        )
    raise SceneError("drop_height needs a collider to drop onto: add one, or place the shell with translate.")


def _sink(
    scene: Scene, loose: Collection[int], gap: float, shells: dict[int, Floats], solids: dict[int, Floats | None]
) -> Scene:
    """Centres loose colliders below all shells."""
    points = np.concatenate(list(shells.values()))
    least, greatest = points.min(axis=0), points.max(axis=0)
    colliders = list(scene.colliders)
    for i in loose:
        X = solids[i]
        if X is None:
            continue
        x, y = (least[:2] + greatest[:2]) / 2
        shift = (float(x), float(y), float(least[2] - gap - X[:, 2].max()))
        colliders[i] = replace(colliders[i], translate=shift)
        solids[i] = X + np.array(shift)
    return replace(scene, colliders=tuple(colliders))
