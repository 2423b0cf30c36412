"""The test that every Potential joins: derivatives by central differences, projection, invariance, registry."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from tests.potentials import CASES, as_matrix

import plisse.contact
import plisse.energies
import plisse.progressive
from plisse.core.potential import Potential, Sum

STIFFNESSES = [1.0, 1e3, 1e6]


def central(f, x: np.ndarray, p: np.ndarray, eps: float):
    """Fourth-order central difference of f along p."""
    return (8.0 * (f(x + eps * p) - f(x - eps * p)) - (f(x + 2 * eps * p) - f(x - 2 * eps * p))) / (12.0 * eps)


@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("name", CASES)
def test_gradient_and_hessian_match_central_differences(name: str, stiffness: float) -> None:
    case, rng = CASES[name], np.random.default_rng(7)
    potential = case.make(stiffness)
    for _ in range(3):
        x = case.state(rng)
        p = rng.normal(size=x.shape)
        p /= np.abs(p).max()
        g = potential.gradient(x)
        scale = np.linalg.norm(g) * np.linalg.norm(p) + 1e-12 * stiffness
        assert abs(central(potential.value, x, p, case.spacing) - (g * p).sum()) < 1e-7 * scale
        if case.preconditioner:
            continue
        Hp = as_matrix(potential.hessian(x, psd=False), len(x)) @ p.ravel()
        numeric = central(potential.gradient, x, p, 0.1 * case.spacing).ravel()
        assert np.linalg.norm(numeric - Hp) <= 2e-6 * np.linalg.norm(Hp) + 1e-9 * stiffness


@pytest.mark.parametrize("name", CASES)
def test_projected_blocks_are_positive_semidefinite(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(11)
    potential = case.make(1e3)
    for _ in range(3):
        x = case.state(rng)
        projected, exact = potential.hessian(x), potential.hessian(x, psd=False)
        if case.preconditioner:
            values = np.linalg.eigvalsh(as_matrix(projected, len(x)))
            assert values[-1] > 0.0 and values[0] >= -1e-9 * values[-1]
            continue
        for block in projected.blocks:
            values = np.linalg.eigvalsh(block.dense())
            assert values.min(initial=0.0) >= -1e-9 * np.abs(values).max(initial=1e-300)
        assert projected.diagonal is None or (projected.diagonal >= 0).all()
        if case.exact_projection:
            for mine, plain in zip(projected.blocks, exact.blocks, strict=True):
                assert_projection(name, potential, x, mine, plain)


def assert_projection(name: str, potential: Potential, x: np.ndarray, mine, plain) -> None:
    """Against eigh. Stretch energies are projected in the space of deformation gradients: H = Bᵀ A⁺ B."""
    H, P = plain.dense(), mine.dense()
    B = getattr(potential, "_B", None)
    if B is None:
        values, vectors = np.linalg.eigh(H)
        expected = np.einsum("mik,mk,mjk->mij", vectors, np.maximum(values, 0.0), vectors)
        assert np.abs(P - expected).max(initial=0) <= 1e-9 * np.abs(H).max(initial=1e-300)
        return
    triangles = potential._triangles
    rows = [np.flatnonzero((triangles == nodes).all(axis=1))[0] for nodes in plain.nodes]
    for local, ours, b in zip(H, P, B[rows], strict=True):
        J = np.kron(b.T, np.eye(3))  # vec F = J x
        J_plus = np.linalg.pinv(J)
        values, vectors = np.linalg.eigh(J_plus.T @ local @ J_plus)
        expected = J.T @ (vectors * np.maximum(values, 0.0)) @ vectors.T @ J
        assert np.abs(ours - expected).max() <= 1e-8 * np.abs(local).max()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.rigid])
def test_value_is_invariant_and_forces_balance_under_rigid_motion(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(13)
    potential = case.make(1e3)
    x = case.state(rng)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    Q *= np.sign(np.linalg.det(Q))
    moved = x @ Q.T + rng.normal(size=3)
    g = potential.gradient(x)
    assert np.isclose(potential.value(moved), potential.value(x), rtol=1e-8)
    assert np.allclose(potential.gradient(moved), g @ Q.T, atol=1e-7 * np.abs(g).max())
    assert np.abs(g.sum(axis=0)).max() <= 1e-10 * np.abs(g).sum()
    assert np.abs(np.cross(x, g).sum(axis=0)).max() <= 1e-10 * np.abs(g).sum()


def test_every_potential_of_the_package_has_a_case() -> None:
    for room in (plisse.energies, plisse.contact, plisse.progressive):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    known, waiting = {type(case.make(1.0)) for case in CASES.values()}, [Potential]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if not inspect.isabstract(kind) and kind.__module__.startswith("plisse.") and kind is not Sum:
            assert kind in known, f"{kind.__name__} has no case in tests/potentials.py"
