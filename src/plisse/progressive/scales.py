"""Lengths and pressures of contact that a scene leaves open, the same on all of its levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plisse.core.arrays import Floats
from plisse.scene.geometry import Geometry, scene_size
from plisse.scene.materials import Material
from plisse.scene.scene import Scene, Shell
from plisse.scene.settings import FRICTION_SPEED, choose_lengths, froude_scale

# the barrier's reference pressure as a multiple of the scene's own load per area
LOAD_FACTOR = {"static": 200.0, "dynamic": 40.0}
STOP_FACTOR = 10.0  # the same for the pressure that stops a falling sheet in one step
PULL_STRAIN = 0.02  # membrane strain that scripted motion is taken to cause,
PULL_OF_LIMIT = 0.3  # or this part of what a strain limit allows, where that is more: a mat of rubber is wrung hard
STRONG = 2.0  # an eddy's velocity over its root mean square
MIDWAY = 0.5  # part of dhat at which the reference pressure is reached


def settle_contact(scene: Scene, geometry: Geometry) -> Scene:
    """The scene with contact.offset, dhat, stiffness and friction_speed filled in where it leaves them open."""
    settings = scene.contact
    size = scene_size(geometry.shells)
    thinnest = min(material.thickness for shell in scene.shells for material in shell.materials)
    offset, dhat = choose_lengths(settings, thinnest=thinnest, size=size)
    stiffness = settings.stiffness
    if stiffness is None:
        # what is keyframed counts with the heaviest of its loads
        times = {time for keyed in scene.keyed for time in keyed.times}
        stiffness = max(_reference_pressure(scene.at(t), geometry, size, dhat) for t in times or (0.0,))
    speed = settings.friction_speed
    if speed is None:
        speed = FRICTION_SPEED * (1.0 if scene.ends_by_tolerance else froude_scale(size))
    chosen = replace(settings, offset=offset, dhat=dhat, stiffness=stiffness, friction_speed=speed)
    return replace(scene, contact=chosen)


def _reference_pressure(scene: Scene, geometry: Geometry, size: float, dhat: float) -> float:
    """What the barrier should be able to push back with halfway into its range [Pa].

    LOAD_FACTOR times the pressures that rest on contact, and in dynamics STOP_FACTOR times what stops a sheet
    within one step: ρ τ v / h at the speed of falling through the scene.
    """
    h = scene.time.step
    materials = [material for shell in scene.shells for material in shell.materials]
    heaviest = max(material.area_density for material in materials)
    g = float(np.linalg.norm(scene.gravity))
    load = heaviest * g * len(scene.shells)
    load += max((abs(s.pressure.value) for s in scene.shells if s.pressure), default=0.0)
    if scene.wind is not None:
        swell = 1.0 + scene.wind.gusts + STRONG * scene.wind.turbulence if scene.time.mode == "dynamic" else 1.0
        load += 0.5 * scene.wind.air_density * swell**2 * float(np.dot(scene.wind.velocity, scene.wind.velocity))
    if scene.leads:
        # handles and moving colliders load contact through the membrane's tension
        load += max(_pull_strain(m) * m.E * m.thickness for m in materials) / size
    factor = LOAD_FACTOR[scene.time.mode]
    pressure = factor * load
    if scene.time.mode == "dynamic":
        extent = float(np.ptp(geometry.placed, axis=0).max())
        speed = max(map(_fastest, scene.shells, geometry.shell_positions))
        speed += min(np.sqrt(2.0 * g * extent), g * scene.time.duration)
        pressure += STOP_FACTOR * heaviest * speed / h
    # without any load: what moves a sheet by dhat in one step
    return pressure if pressure > 0.0 else factor * heaviest * dhat / h**2


def _fastest(shell: Shell, x: Floats) -> float:
    """Speed of a thrown shell's fastest vertex [m/s], at most."""
    radius = float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).max()))
    return float(np.linalg.norm(shell.velocity)) + float(np.linalg.norm(np.radians(shell.spin))) * radius


def _pull_strain(material: Material) -> float:
    allowed = 0.0 if material.strain_limit is None else material.strain_limit - 1.0
    return max(PULL_STRAIN, PULL_OF_LIMIT * allowed)


def pressure_of_unit_barrier(offset: float, dhat: float) -> float:
    """Force per area −κ b′ 2d [1/m · κ] of a barrier with κ = 1 at the gap MIDWAY · dhat."""
    d = offset + MIDWAY * dhat
    width = dhat * (2.0 * offset + dhat)
    y = (d * d - offset * offset) / width
    slope = -2.0 * (y - 1.0) * np.log(y) - (y - 1.0) ** 2 / y
    return float(-slope / width * 2.0 * d)
