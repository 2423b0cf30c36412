"""Every Potential of the package, ready for the tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from plisse.contact.barrier import Barrier
from plisse.contact.candidates import CollisionSurface
from plisse.contact.friction import Friction
from plisse.contact.plane import PlaneContact
from plisse.core.arrays import Bools, Floats, Ints
from plisse.core.mesh import Mesh
from plisse.core.potential import Hessian, Past, Potential, Sum
from plisse.energies.arap import Arap
from plisse.energies.bending import Bending
from plisse.energies.inertia import AugmentedLagrangian, Inertia, Rigidity
from plisse.energies.loads import Gravity, PressureLoad, WindDrag
from plisse.energies.membrane import Membrane
from plisse.energies.plate import Plate
from plisse.energies.springs import Springs as PinSprings
from plisse.energies.strain_limit import StrainLimit
from plisse.hierarchy.loop import subdivide
from plisse.progressive.proxy import Prolonged
from plisse.shapes import catalogue as shapes
from tests.problems import NeoHookeanTetrahedra, Springs, bar_mesh


@dataclass(frozen=True)
class Case:
    """A potential at stiffness k on mesh X, random states of it, and what holds of it."""

    make: Callable[[float], Potential]
    state: Callable[[np.random.Generator], Floats]
    rigid: bool = True  # value is invariant under rigid motion
    spacing: float = 1e-5  # of the differences [m]; small where distances switch between features
    exact_projection: bool = True  # the psd Hessian is each stencil's exact projection (else Gauss–Newton or majorant)
    preconditioner: bool = False  # the Hessian is not that of the value, and positive semidefinite only as a whole


def curved_sheet() -> Mesh:
    """A small sheet with a curved rest shape and irregular triangles."""
    flat = shapes.grid(0.4, 0.3, resolution=(5, 4), diagonals="jittered", seed=3)
    X = flat.X.copy()
    X[:, 2] = 0.3 * X[:, 0] ** 2 - 0.2 * X[:, 0] * X[:, 1]
    return Mesh(X, flat.triangles)


def sewn_tube() -> Mesh:
    """A tube whose rest shape is a flat pattern, a little wider, with a seam along its side."""
    tube = shapes.cylinder(0.1, 0.2, around=9, along=3, closed=False)
    assert tube.uv is not None
    return replace(tube, rest=np.concatenate([0.65 * tube.uv, np.zeros((len(tube.triangles), 3, 1))], axis=2))


SHEET = curved_sheet()
TUBE = sewn_tube()
FINER, LOOP = subdivide(SHEET, rule="loop")
BALL = shapes.sphere(0.2, subdivisions=1)
# around each of its triangles the same hinges come up several times
TETRAHEDRON = Mesh(
    0.2 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
)


def full(mesh: Mesh, value: float, *, hinges: bool = False) -> Floats:
    return np.full(len(mesh.hinges) if hinges else len(mesh.triangles), value)


def crumpled(mesh: Mesh, amount: float) -> Callable[[np.random.Generator], Floats]:
    """Random deformed states: each vertex moved by up to `amount`."""
    return lambda rng: mesh.X + rng.uniform(-amount, amount, mesh.X.shape)


def stretched(rng: np.random.Generator) -> Floats:
    """States whose stretches spread over and past the strain limit's onset, all below the limit."""
    F = np.eye(3) + rng.uniform(-0.08, 0.08, (3, 3))
    return SHEET.X @ F.T + rng.uniform(-2e-4, 2e-4, SHEET.X.shape)


def principal_stretches(mesh: Mesh, x: Floats) -> Floats:
    """σ₁ ≥ σ₂ of each triangle (m, 2), from edge vectors and not by the package's kernels."""

    def frame(X: Floats) -> Floats:
        corner = X[mesh.triangles]
        return np.stack([corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]], axis=2)

    rest, now = frame(mesh.X), frame(x)
    a, c = (np.einsum("mki,mkj->mij", each, each) for each in (rest, now))
    values = np.linalg.eigvals(np.linalg.solve(a, c)).real
    return np.sqrt(np.sort(values, axis=1)[:, ::-1])


def tension_states(stretches: Floats, nu: float) -> tuple[np.ndarray, Floats]:
    """0 slack, 1 wrinkled, 2 taut for each pair of stretches (m, 2), and how far it is from another state (m,)."""
    s1, s2 = stretches.T
    # ∂W/∂σ₂ = 0 over E: positive where taut
    cross = (s2**2 - 1.0) / (2.0 * (1.0 + nu)) + nu / (1.0 - nu**2) * np.log(s1 * s2)
    state = np.where(s1 <= 1.0, 0, np.where(cross < 0.0, 1, 2))
    return state, np.where(s1 <= 1.0, 1.0 - s1, np.minimum(s1 - 1.0, np.abs(cross)))


def wrinkled(rng: np.random.Generator) -> Floats:
    """States with slack, wrinkled and taut triangles, none of them close to becoming another."""
    while True:
        x = SHEET.X * rng.uniform(0.93, 1.05) + rng.uniform(-0.02, 0.02, SHEET.X.shape)
        state, distance = tension_states(principal_stretches(SHEET, x), 0.3)
        if distance.min() > 2e-3 and len(np.unique(state)) == 3:
            return x


def two_sheets() -> CollisionSurface:
    """Two irregular sheets, one close above the other, in contact but not adjacent."""
    lower = shapes.grid(0.3, 0.3, resolution=(5, 5), diagonals="jittered", seed=1)
    upper = shapes.grid(0.28, 0.28, resolution=(4, 4), diagonals="jittered", seed=2)
    X = np.concatenate([lower.X, upper.X + np.array([0.01, 0.013, 0.012])])
    both = Mesh(X, np.concatenate([lower.triangles, upper.triangles + len(lower.X)]))
    body = np.repeat([0, 1], [len(lower.X), len(upper.X)])
    every = np.ones(len(X), bool)
    return CollisionSurface(both.edges, both.triangles, np.arange(len(X)), body, ~every, X, every, 2e-3, 2e-2)


SURFACE = two_sheets()


def touching(rng: np.random.Generator) -> Floats:
    return SURFACE.X + rng.uniform(-1.5e-3, 1.5e-3, SURFACE.X.shape)


def make_friction(k: float) -> Friction:
    contacts = Barrier(SURFACE, kappa=k, margin=1e-3).contacts(SURFACE.X)
    mu = np.linspace(0.1, 0.7, len(contacts.nodes))
    return Friction(contacts, SURFACE.X, mu=mu, speed=0.02, h=0.05)


def make_wind(k: float) -> WindDrag:
    rng = np.random.default_rng(5)
    v = rng.normal(size=SHEET.X.shape)
    return WindDrag(
        SHEET.triangles, SHEET.X, v, 0.02, wind=np.array([3.0, 1.0, 0.5]), air_density=1.2 * k, drag_normal=1.1,
        drag_tangential=0.2, law="quadratic",
    )  # fmt: skip


def make_membrane(k: float, compression: float) -> Membrane:
    return Membrane(
        SHEET, E=full(SHEET, k), nu=full(SHEET, 0.3), thickness=full(SHEET, 1e-3), compression=compression
    )  # fmt: skip


def make_past() -> Past:
    """Two crumpled states as BDF2 weighs them."""
    state, rng = crumpled(SHEET, 0.02), np.random.default_rng(17)
    return (4.0 / 3.0, state(rng)), (-1.0 / 3.0, state(rng))


def make_damped(k: float, part: str, compression: float = 1.0) -> Potential:
    """What resists the rates of an elastic part, with a damping time that differs from place to place."""
    hinges = part == "bending"
    E, nu, thickness = (full(SHEET, value, hinges=hinges) for value in (k, 0.3, 1e-2))
    damping = np.linspace(0.0, 0.1, len(E))
    elastic: Membrane | Bending | Plate
    if part == "membrane":
        elastic = Membrane(SHEET, E=E, nu=nu, thickness=thickness, compression=compression, damping=damping)
    else:
        elastic = (Bending if hinges else Plate)(SHEET, E=E, nu=nu, thickness=thickness, damping=damping)
    damped = elastic.damped(make_past(), 0.02)
    assert damped is not None
    return damped


def make_elastic(mesh: Mesh, k: float) -> list[Potential]:
    membrane = Membrane(mesh, E=full(mesh, k), nu=full(mesh, 0.3), thickness=full(mesh, 1e-3))
    E, nu, thickness = (full(mesh, value, hinges=True) for value in (k, 0.3, 1e-2))
    return [membrane, Bending(mesh, E=E, nu=nu, thickness=thickness)]


def make_plate(mesh: Mesh, k: float, *, held: Bools | None = None) -> Plate:
    E, nu, thickness = (full(mesh, value) for value in (k, 0.3, 1e-2))
    return Plate(mesh, E=E, nu=nu, thickness=thickness, held=held)


def make_limit(k: float) -> StrainLimit:
    return StrainLimit(
        SHEET, selected=full(SHEET, 1.0) > 0, onset=full(SHEET, 1.0), limit=full(SHEET, 1.3),
        kappa=full(SHEET, k), thickness=full(SHEET, 1e-3),
    )  # fmt: skip


BAR, TETRAHEDRA = bar_mesh((1, 2, 1), (0.1, 0.2, 0.15))
LINKS: Ints = np.array([[0, 1], [1, 2], [2, 5], [5, 0]], np.int32)
MASS = np.linspace(0.5, 2.0, len(SHEET.X))
FLOOR = np.arange(len(SHEET.X), dtype=np.int32)

CASES: dict[str, Case] = {
    "membrane": Case(
        lambda k: Membrane(SHEET, E=full(SHEET, k), nu=full(SHEET, 0.3), thickness=full(SHEET, 1e-3)),
        crumpled(SHEET, 0.02),
    ),
    "membrane of a pattern": Case(lambda k: make_elastic(TUBE, k)[0], crumpled(TUBE, 0.01)),
    "bending of a pattern": Case(lambda k: make_elastic(TUBE, k)[1], crumpled(TUBE, 0.01), exact_projection=False),
    "membrane, compression 0.3": Case(lambda k: make_membrane(k, 0.3), wrinkled),
    "membrane, compression 0.03": Case(lambda k: make_membrane(k, 0.03), wrinkled),
    "bending": Case(
        lambda k: Bending(
            SHEET, E=full(SHEET, k, hinges=True), nu=full(SHEET, 0.3, hinges=True),
            thickness=full(SHEET, 1e-2, hinges=True),
        ),
        crumpled(SHEET, 0.02), exact_projection=False,
    ),
    "damped membrane": Case(
        lambda k: make_damped(k, "membrane"), crumpled(SHEET, 0.02), exact_projection=False
    ),
    "damped membrane, compression 0.1": Case(
        lambda k: make_damped(k, "membrane", 0.1), crumpled(SHEET, 0.02), exact_projection=False
    ),
    "damped bending": Case(lambda k: make_damped(k, "bending"), crumpled(SHEET, 0.02), exact_projection=False),
    "damped plate": Case(lambda k: make_damped(k, "plate"), crumpled(SHEET, 0.02), exact_projection=False),
    "plate": Case(lambda k: make_plate(SHEET, k), crumpled(SHEET, 0.02), exact_projection=False),
    "plate of a pattern": Case(lambda k: make_plate(TUBE, k), crumpled(TUBE, 0.01), exact_projection=False),
    "plate with a clamp": Case(
        lambda k: make_plate(SHEET, k, held=(SHEET.X[SHEET.triangles, 0] < 0.0).all(axis=1)),
        crumpled(SHEET, 0.02), exact_projection=False,
    ),
    "plate, closed": Case(lambda k: make_plate(TETRAHEDRON, k), crumpled(TETRAHEDRON, 0.02), exact_projection=False),
    "tetrahedra": Case(
        lambda k: NeoHookeanTetrahedra(BAR, TETRAHEDRA, E=k, nu=0.3),
        lambda rng: BAR + rng.uniform(-0.01, 0.01, BAR.shape),
    ),
    "springs": Case(
        lambda k: Springs(LINKS, np.full(4, 0.1), np.full(4, k)), lambda rng: BAR + rng.uniform(-0.02, 0.02, BAR.shape)
    ),
    "strain limit": Case(make_limit, stretched),
    "as rigid as possible": Case(
        lambda k: Arap(
            SHEET, selected=np.arange(len(SHEET.triangles)) % 3 > 0, kappa=full(SHEET, k), thickness=full(SHEET, 1e-3)
        ),
        crumpled(SHEET, 0.02),
    ),
    "barrier": Case(lambda k: Barrier(SURFACE, kappa=k, margin=1e-3), touching, spacing=3e-8, exact_projection=False),
    "half-space": Case(
        lambda k: PlaneContact(
            np.array([0, 0, -0.06]), np.array([0.1, 0.2, 1.0]), FLOOR, SHEET.vertex_areas,
            kappa=k, dhat=0.08, offset=1e-3,
        ),
        crumpled(SHEET, 1e-3), rigid=False,
    ),
    "friction": Case(make_friction, touching, rigid=False, exact_projection=False),
    "inertia": Case(lambda k: Inertia(MASS * k, SHEET.X, 0.1), crumpled(SHEET, 0.02), rigid=False),
    "augmented Lagrangian": Case(
        lambda k: AugmentedLagrangian(MASS, SHEET.X, k, np.full(SHEET.X.shape, 0.1 * k)),
        crumpled(SHEET, 0.02), rigid=False,
    ),
    "springs of a pin": Case(lambda k: PinSprings(MASS * k, SHEET.X), crumpled(SHEET, 0.02), rigid=False),
    "rigidity": Case(lambda k: Rigidity(SHEET.edges, SHEET.X, k), crumpled(SHEET, 0.02), rigid=False),
    "gravity": Case(lambda k: Gravity(MASS * k, np.array([0.0, 0.0, -9.81])), crumpled(SHEET, 0.02), rigid=False),
    "pressure": Case(lambda k: PressureLoad(BALL, k), crumpled(BALL, 0.02), exact_projection=False),
    "gas": Case(lambda k: PressureLoad(BALL, k, gas=True), crumpled(BALL, 0.02), exact_projection=False),
    "wind": Case(make_wind, crumpled(SHEET, 1e-2), rigid=False),
    "prolonged": Case(
        lambda k: Prolonged(make_elastic(FINER, k), LOOP, make_elastic(SHEET, k)),
        crumpled(SHEET, 0.02), preconditioner=True,
    ),
    "sum": Case(
        lambda k: Sum([CASES["membrane"].make(k), CASES["bending"].make(k), CASES["inertia"].make(k)]),
        crumpled(SHEET, 0.02), rigid=False, exact_projection=False,
    ),
}  # fmt: skip


def as_matrix(hessian: Hessian, n: int) -> np.ndarray:
    """The whole Hessian as a dense matrix, assembled here and not by the solver's scatter."""
    H = np.zeros((3 * n, 3 * n))
    for block in hessian.blocks:
        for nodes, local in zip(block.nodes, block.dense(), strict=True):
            dofs = (3 * nodes[:, None] + np.arange(3)).ravel()
            H[np.ix_(dofs, dofs)] += local
    if hessian.diagonal is not None:
        H += np.diag(np.repeat(hessian.diagonal, 3))
    for u in hessian.rank_one:
        H += np.outer(u.ravel(), u.ravel())
    for product in hessian.products:
        H += np.stack([product(unit.reshape(n, 3)).ravel() for unit in np.eye(3 * n)], axis=1)
    return H
