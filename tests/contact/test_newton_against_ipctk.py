"""Newton with the package's contact blocks against Newton with ipctk's projected Hessian, in rich contact.

ipctk's matrix is rebuilt here as each pair's exact Hessian without its negative eigenvalues;
that it is the same is tested first. Unlike ipctk's own it knows the pair rule: limited reach near
the rest shape, colliders' weights.
"""

from functools import partial
from pathlib import Path

import ipctk
import numpy as np
import pytest
from tests.contact.test_barrier import KAPPA, STATES, Oracle, assemble, make_surface
from tests.progressive.scenes import states
from tests.scenes import tough

from plisse.contact.barrier import Barrier
from plisse.core.potential import Clock, DenseBlocks, Hessian
from plisse.loading.geometry import load_geometry
from plisse.progressive.scene_problem import SceneProblem
from plisse.progressive.steps import Step, solve_step
from plisse.solve.linear import make_solver
from plisse.solve.newton import Newton


class Clamped(Barrier):
    """The barrier with ipctk's projection: negative eigenvalues of each pair's exact Hessian set to zero."""

    def hessian(self, x, *, psd=True):
        exact = super().hessian(x, psd=False)
        if not psd:
            return exact
        (part,) = exact.blocks
        values, vectors = np.linalg.eigh(part.dense())
        full = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        full = full.reshape(-1, 4, 3, 4, 3)
        upper = [full[:, a, :, b, :] for a in range(4) for b in range(a, 4)]
        return Hessian((DenseBlocks(part.nodes, np.ascontiguousarray(np.stack(upper, axis=1))),))


@pytest.mark.parametrize("name", STATES)
def test_the_clamped_hessian_is_that_of_ipctk(name):
    mesh, body, x = STATES[name](np.random.default_rng(7))
    barrier = Clamped(make_surface(mesh, body), kappa=KAPPA, margin=1e-3)
    ours = assemble(barrier.hessian(x), len(x))
    theirs = Oracle(mesh, x).hessian(ipctk.PSDProjectionMethod.CLAMP)
    assert abs(ours - theirs).max() <= 1e-8 * abs(theirs).max()


def make_problem(scene, kind):
    problem = SceneProblem(scene, load_geometry(scene, Path()))
    barrier = problem.barrier
    other = kind(barrier.surface, kappa=barrier._kappa, margin=barrier._margin)
    problem._contact = [other, *problem._contact[1:]]
    problem._compose(None)
    return problem


def count_iterations(problem, state, previous):
    """Newton iterations of the implicit Euler step that leads on from `previous`, each solve on its own."""
    scene, h = problem.scene, problem.scene.time.step
    x, v = previous.x, previous.v
    step = Step(x, problem.prescribed(x, state.time), x + h * v, h, h * v, problem.lagged(x, v, h, h * v))
    newton = Newton(make_solver(scene.solver.linear, threads=1))
    stop = np.sqrt(problem.free.sum()) * h * scene.solver.step_tol
    iterates = list(solve_step(problem, newton, step, Clock(), stop=stop, max_iterations=200, bring_iterations=200))
    assert iterates[-1].converged
    return len(iterates)


# step ranges in which the layers land, the strip coils, the cloth meets the ball, the rim folds into the hole
CASES = {
    "stack": (tough.stack, range(3, 9)),
    "twist": (tough.twist, range(58, 73)),
    "drape": (tough.drape, range(5, 15)),
    "ring": (partial(tough.ring, stiffness=1e3), range(11, 21)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_needs_no_more_iterations_than_the_projected_hessian(name, record_property):
    make, steps = CASES[name]
    scene = make().scene
    ours, theirs = make_problem(scene, Barrier), make_problem(scene, Clamped)
    newton, previous, counts = Newton(make_solver(scene.solver.linear, threads=1)), None, []
    for state in states(make_problem(scene, Clamped), newton):
        if not state.accepted:
            continue
        # both start from the same state, so that small differences do not add up over the steps
        if state.step in steps:
            assert state.contacts > 20
            counts.append([count_iterations(problem, state, previous) for problem in (ours, theirs)])
        previous = state
        if state.step >= steps[-1]:
            break
    total = np.sum(counts, axis=0)
    record_property("iterations", total.tolist())
    print(f"{name}: {total[0]} iterations, {total[1]} with the projected Hessian; by step {counts}")
    assert total[0] <= 1.2 * total[1]
