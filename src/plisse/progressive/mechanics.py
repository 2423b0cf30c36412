"""What a state bears: reactions of pins and colliders, contact forces, strain, stress and curvature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.potential import Sum
from plisse.energies.membrane import shape_gradients
from plisse.energies.springs import Springs
from plisse.progressive.metrics import curvatures
from plisse.progressive.report import MechanicsReport
from plisse.progressive.scene_problem import SceneProblem

HIGH = 99.0  # percentile of triangles that the report gives beside the largest: that one depends on the mesh


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Of the shells' m triangles: strain, principal stretches less one, and stress, principal Cauchy stresses of the
    membrane [Pa], larger first, and curvature, both principal ones [1/m], shape (m, 2) each.

    contact: forces of contact on all n vertices [N], shape (n, 3), without friction. pins: force with which each shell
    is held [N]; colliders: force with which each collider pushes [N]; both by name, shape (3,).
    """

    strain: Floats
    stress: Floats
    curvature: Floats
    contact: Floats
    pins: dict[str, Floats]
    colliders: dict[str, Floats]


def measure_mechanics(problem: SceneProblem, x: Floats) -> Mechanics:
    """What positions x (n, 3) [m] mean for shells, pins and colliders."""
    bodies, mesh = problem.bodies, problem.shells
    F = np.einsum("mai,maj->mij", x[mesh.triangles], shape_gradients(mesh))
    stretches = np.linalg.svd(F, compute_uv=False)
    at_corners = curvatures(mesh.triangles, bodies.simulated_part(x))[mesh.triangles]
    total = Sum(problem.potentials).gradient(x)
    contact = -Sum(problem.contact_parts).gradient(x) if problem.contact_parts else np.zeros_like(x)
    held = np.where((bodies.is_simulated & ~problem.free)[:, None], total, 0.0)
    springs = [part for part in problem.potentials if isinstance(part, Springs)]
    held -= Sum(springs).gradient(x) if springs else 0.0
    pins = {
        bodies.names[shell]: bodies.part(held, shell).sum(axis=0)
        for shell in range(bodies.simulated)
        if problem.scene.shells[shell].pins
    }
    # what contact does to a mesh collider's vertices, it does to the shells the other way round
    solids = range(bodies.simulated, len(bodies.names))
    colliders = {bodies.names[solid]: -bodies.part(contact, solid).sum(axis=0) for solid in solids}
    planes = [collider.name for collider in problem.scene.colliders if collider.half_space is not None]
    for name, part in zip(planes, problem.contact_parts[1:], strict=False):
        colliders[name] = -part.gradient(x).sum(axis=0)
    return Mechanics(
        stretches - 1.0, _stress(problem, stretches), at_corners[:, :, 2:4].mean(axis=1), contact, pins, colliders
    )


def _stress(problem: SceneProblem, stretches: Floats) -> Floats:
    """Principal Cauchy stresses (m, 2) [Pa] of the neo-Hookean membrane, see `Membrane`."""
    E, nu = problem.model.E[:, None], problem.model.nu[:, None]
    mu, lam = E / (2.0 * (1.0 + nu)), E * nu / (1.0 - nu**2)
    J = stretches.prod(axis=1, keepdims=True)
    return np.asarray((mu * (stretches**2 - 1.0) + lam * np.log(J)) / J)


def report_mechanics(mechanics: Mechanics) -> MechanicsReport:
    """The forces, and the largest of the rest."""

    def largest(values: Floats) -> list[float]:
        sizes = np.abs(values).max(axis=1)
        return [float(sizes.max()), float(np.percentile(sizes, HIGH))]

    return MechanicsReport(
        pins={name: force.tolist() for name, force in mechanics.pins.items()},
        colliders={name: force.tolist() for name, force in mechanics.colliders.items()},
        strain=largest(mechanics.strain),
        stress=largest(mechanics.stress),
        curvature=largest(mechanics.curvature),
    )
