"""The contact part and the CCD against ipctk's, threads equal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ipctk
import numpy as np

from plisse.bench.drape import draped
from plisse.bench.figures import Figure, use_threads
from plisse.contact import candidates as broad
from plisse.contact.barrier import Barrier
from plisse.contact.ccd import max_step
from plisse.core.arrays import Floats
from plisse.core.potential import Pattern
from plisse.progressive.scene_problem import SceneProblem

REPEATS = 7


def measure(threads: int) -> tuple[list[Figure], dict[str, Any]]:
    """At 6K and 90K cloth vertices over a sphere of 10K: candidates, closest points, gradient, PSD matrix; CCD."""
    use_threads(threads)
    figures, details = [], {}
    for times, name in ((0, "6K"), (2, "90K")):
        session, _ = draped(times, threads=threads, warm_up=3)
        problem, state = session.problem, session.state
        assert problem is not None and state is not None
        ours, theirs = _contact_seconds(problem, state.x)
        p = np.zeros_like(state.x)
        free = problem.bodies.simulated_part(p)
        free[:] = np.random.default_rng(0).normal(scale=2e-4, size=free.shape)
        our_ccd, their_ccd, steps = _ccd_seconds(problem, state.x, p)
        figures.append(Figure(f"contact part at {name}, ipctk / ours", theirs / ours, 2.5, "higher"))
        figures.append(Figure(f"swept CCD at {name}, ipctk / ours", their_ccd / our_ccd, 1.0, "higher"))
        details[name] = {
            "vertices": problem.bodies.n_simulated,
            "active pairs": state.contacts,
            "contact ours, ms": round(1e3 * ours, 1),
            "contact ipctk, ms": round(1e3 * theirs, 1),
            "ccd ours, ms": round(1e3 * our_ccd, 1),
            "ccd ipctk, ms": round(1e3 * their_ccd, 1),
            "steps allowed, ours and ipctk": [round(step, 4) for step in steps],
        }
    return figures, details


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of several calls, and the last answer."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        answer = work()
        seconds.append(time.perf_counter() - began)
    return min(seconds), answer


def _mesh(problem: SceneProblem) -> ipctk.CollisionMesh:
    everything = problem.surface
    assert everything is not None
    mesh = ipctk.CollisionMesh(
        np.asfortranarray(everything.X), np.asfortranarray(everything.edges), np.asfortranarray(everything.triangles)
    )
    mesh.can_collide = ipctk.make_static_obstacle_filter(problem.bodies.n_simulated)
    return mesh


def _contact_seconds(problem: SceneProblem, x: Floats) -> tuple[float, float]:
    x = x.copy()
    x.flags.writeable = False
    assert problem.barrier is not None
    surface = problem.barrier.surface
    hessian = problem.barrier.hessian(x)
    pattern = Pattern.of(problem.free, [block.nodes for block in hessian.blocks])

    def ours() -> None:
        barrier = Barrier(surface, kappa=1.0, margin=0.0)
        barrier.gradient(x)
        pattern.assemble(barrier.hessian(x))

    mesh, x_their = _mesh(problem), np.asfortranarray(x)
    potential = ipctk.BarrierPotential(surface.dhat, 1.0)

    def theirs() -> None:
        collisions = ipctk.NormalCollisions()
        collisions.use_area_weighting = True
        collisions.build(mesh, x_their, surface.dhat, surface.offset, broad_phase=ipctk.LBVH())
        potential.gradient(collisions, mesh, x_their)
        potential.hessian(collisions, mesh, x_their, ipctk.PSDProjectionMethod.CLAMP)

    return _best(ours)[0], _best(theirs)[0]


def _ccd_seconds(problem: SceneProblem, x: Floats, p: Floats) -> tuple[float, float, tuple[float, float]]:
    assert problem.barrier is not None
    surface = problem.barrier.surface
    our_seconds, ours = _best(lambda: max_step(broad.build(surface, x, p, 0.0), x, p))
    mesh, x0, x1 = _mesh(problem), np.asfortranarray(x), np.asfortranarray(x + p)
    their_seconds, theirs = _best(
        lambda: ipctk.compute_collision_free_stepsize(
            mesh, x0, x1, min_distance=surface.offset, broad_phase=ipctk.LBVH(), narrow_phase_ccd=ipctk.AdditiveCCD()
        )
    )
    return our_seconds, their_seconds, (ours[0], theirs)
