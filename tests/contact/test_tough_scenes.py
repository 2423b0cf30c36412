"""Scenes with much contact: no accepted Newton iterate intersects or comes as close as the offset."""

from pathlib import Path

import numpy as np
import pytest
from tests.progressive.scenes import states
from tests.scenes import tough

from plisse.contact.check import Detector
from plisse.kernels.threads import use_threads
from plisse.loading.geometry import load_geometry
from plisse.progressive.scene_problem import SceneProblem


def run_checked(case):
    """Runs a scene with every iterate checked; gives the problem and the state after each step."""
    use_threads(1)  # scenes this small gain nothing from two
    problem = SceneProblem(case.scene, load_geometry(case.scene, Path()))
    everything = problem.surface
    detector = Detector(everything.X, everything.edges, everything.triangles, problem.bodies.n_simulated)
    assert detector.count(problem.x0) == 0
    problem.check_distances()
    steps, last = [], None
    for state in states(problem):
        if state.x is not last:
            assert detector.count(state.x) == 0, f"step {state.step}, iteration {state.newton_iteration}"
            assert problem.clearance(state.x) > 1.0
            last = state.x
        if state.accepted:
            steps.append(state)
    assert len(steps) == case.scene.time.steps
    z = steps[-1].x[: problem.bodies.n_simulated, 2]
    assert max(state.contacts for state in steps) >= case.contacts
    assert case.lowest <= z.min() and z.max() <= case.highest
    return problem, steps


def check_stack(case):
    problem, states = run_checked(case)
    assert all(state.converged for state in states)
    final = states[-1]
    # at rest, and the layers lie in the order in which they fell
    assert np.abs(final.v).max() < 0.02
    layers = [final.x[problem.bodies.of_vertex == body, 2].mean() for body in range(len(case.scene.shells))]
    assert (np.diff(layers) > problem.scene.contact.offset).all()


def check_ring(case):
    problem, states = run_checked(case)
    # while the folded rim snaps through the hole steps may use up their iterations; the pins arrive still
    pinned = ~problem.free[: problem.bodies.n_simulated]
    target = problem.x0[: problem.bodies.n_simulated][pinned] + case.scene.shells[0].pins[0].motion[-1].translate
    assert np.abs(states[-1].x[: problem.bodies.n_simulated][pinned] - target).max() < 1e-12


def check_twist(case):
    problem, states = run_checked(case)
    assert all(state.converged for state in states)
    # the strip's middle is wound up to a rope much narrower than its rest width of 0.06 m
    middle = np.abs(problem.shells.X[:, 0]) < 0.05
    assert np.linalg.norm(states[-1].x[: problem.bodies.n_simulated][middle, 1:], axis=1).max() < 0.02


def test_a_stack_of_twenty_layers():
    check_stack(tough.stack())


def test_a_cloth_pulled_through_a_ring():
    check_ring(tough.ring(rings=8, duration=0.6))


def test_a_tightly_twisted_strip():
    check_twist(tough.twist())


@pytest.mark.slow
def test_a_finer_stack():
    check_stack(tough.stack(cells=10))


@pytest.mark.slow
def test_a_finer_cloth_through_a_ring():
    check_ring(tough.ring(rings=14))


@pytest.mark.slow
def test_a_finer_twisted_strip():
    check_twist(tough.twist(cells=(75, 15)))
