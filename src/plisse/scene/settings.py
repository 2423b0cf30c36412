"""Settings of contact, the solver and time."""

import math
from dataclasses import dataclass
from typing import Any

from plisse.core.errors import SceneError
from plisse.core.record import Record, choice, count, flag, number

SQUARE_METRE = math.sqrt(2.0 / 3.0)  # its size, as a scene [m]
FRICTION_SPEED = 1e-3  # m/s
DEFAULT_TOL = 0.01  # m/s
MOST_STEPS = 10_000_000  # of motion: a slip of the keyboard beyond that


@dataclass(frozen=True)
class Contact(Record):
    """Contact between bodies, and of shells with themselves; within one shell, `offset` and `dhat` of a pair are at
    most a quarter of its rest distance."""

    dhat: float | None = number(
        "m",
        "d̂: reach of the contact force beyond the offset; size is the diagonal of the shells' rest shapes over √3",
        default=None, shown="the larger of `offset` and 0.001 × size", above=0,
    )  # fmt: skip
    offset: float | None = number(
        "m",
        "ξ: smallest distance, which is never reached",
        default=None,
        shown="thickness of the thinnest shell or region",
        above=0,
    )
    stiffness: float | None = number(
        "Pa",
        "the barrier's pressure at a gap of d̂/2; by default 200 × (dynamics: 40 ×) the pressures that contact bears: "
        "weight per area × shells, inner pressure, dynamic pressure of the wind, tension caused by scripted motion, "
        "which a larger strain limit raises; in dynamics plus 10 × the pressure that stops the heaviest sheet in one "
        "step",
        default=None, shown="from the loads", above=0,
    )  # fmt: skip
    friction: float = number(
        None,
        "Coulomb's friction coefficient μ of every body that has none of its own; two bodies rub with √(μ₁ μ₂)",
        default=0.3,
        least=0,
    )
    friction_speed: float | None = number(
        "m/s", "slip speed at which friction is fully developed", default=None,
        shown="0.001; in statics that ends at rest × √(size / 0.82 m)", above=0,
    )  # fmt: skip
    enabled: bool = flag("`false` turns all contact off, and with it the guarantee", default=True)


def own_friction() -> Any:
    """The field with which a body takes another coefficient of friction than the scene's."""
    return number(
        None, "Coulomb's μ of this body; two bodies rub with √(μ₁ μ₂), so that 0 slides on everything", default=None,
        shown="`contact.friction`", least=0,
    )  # fmt: skip


def froude_scale(size: float) -> float:
    """√(size / that of a square metre): times and speeds of motion under gravity grow so with the size [m]."""
    return math.sqrt(size / SQUARE_METRE)


def choose_lengths(contact: Contact, *, thinnest: float, size: float) -> tuple[float, float]:
    """offset and dhat [m], where they are left open by the thinnest shell and the size of the scene, both [m]."""
    offset = contact.offset if contact.offset is not None else thinnest
    return offset, contact.dhat if contact.dhat is not None else max(1e-3 * size, offset)


@dataclass(frozen=True)
class Solver(Record):
    """Newton's method and the linear solver."""

    rest: float = number(
        None,
        "statics ends where no vertex is farther from rest than this part of the scene's size; size is the diagonal of "
        "the shells' rest shapes over √3",
        default=5e-4, above=0, below=1,
    )  # fmt: skip
    tol: float | None = number(
        "m/s",
        "ε in ‖d‖ ≤ √n h ε: to that a step of dynamics is solved. Where it is given, statics ends by it as well, as "
        "published, in place of `rest`; with several levels, that of the finest, see `hierarchy.coarse_tol`",
        default=None, shown="0.01", above=0,
    )  # fmt: skip
    leave_saddles: bool = flag(
        "push a state that is at rest but unstable, e.g. a flat sheet under compression, to a lower one; `false` keeps "
        "it", default=True,
    )  # fmt: skip
    max_iterations: int = count(
        "Newton iterations per step (statics makes one, unless `hierarchy.method` is `\"plain\"`), and of moving "
        "scripted vertices that something holds back to their positions before the step",
        default=100, least=1,
    )  # fmt: skip
    linear: str = choice(
        "sparse factorisation; `\"cholmod\"` is an extra under the GPL: `pip install 'plisse[cholmod]'`",
        ("auto", "pardiso", "superlu", "cholmod"),
        default="auto",
    )
    precision: str = choice(
        '`"mixed"` factorises in single precision and iterates in double precision to a relative residual of 1e-6: '
        'faster, and with less memory, but with PARDISO only; `"auto"` is `"mixed"` from 2,000 free vertices on where '
        'PARDISO is in use, else `"double"`',
        ("auto", "double", "mixed"),
        default="auto",
    )

    @property
    def step_tol(self) -> float:
        """ε in use [m/s]."""
        return DEFAULT_TOL if self.tol is None else self.tol

    def check(self) -> None:
        if self.precision == "mixed" and self.linear in ("superlu", "cholmod"):
            raise SceneError(
                f'solver.precision = "mixed" needs PARDISO: leave out solver.linear = "{self.linear}", or use '
                'precision = "double".'
            )


@dataclass(frozen=True)
class Time(Record):
    """Equilibrium, or motion through time."""

    mode: str = choice("equilibrium, or motion", ("static", "dynamic"), default="static")
    h: float | None = number(
        "s", "time step", default=None,
        shown="0.02 in dynamics; in statics 0.3, and where it ends at rest × √(size / 0.82 m), at most 0.3 where "
        "something is keyframed", above=0,
    )  # fmt: skip
    each: str = choice(
        'where something is keyframed in statics: `"step"` follows the keyframes with every time step, and the path '
        'depends on their speed; `"equilibrium"` comes to rest after every time step before the next, which is divided '
        "where that takes long",
        ("step", "equilibrium"), default="step",
    )  # fmt: skip
    duration: float = number("s", "duration of the motion", default=1.0, above=0)
    max_steps: int = count("statics gives up on a level after this many steps", default=2000, least=1)
    integrator: str = choice(
        "time integration: implicit Euler, or BDF2, which damps motion less", ("euler", "bdf2"), default="euler"
    )
    frame_every: int | None = count(
        "steps between frames", default=None, shown="1 in dynamics; in statics only the start and the end", least=1
    )

    def check(self) -> None:
        if self.mode == "dynamic" and self.each == "equilibrium":
            raise SceneError('each = "equilibrium" is for statics: leave it out, or use mode = "static".')
        if self.mode == "dynamic" and self.duration / self.step > MOST_STEPS:
            raise SceneError(
                f"duration = {self.duration:g} s takes {self.duration / self.step:.3g} steps of h = {self.step:g} s, "
                f"more than {MOST_STEPS:,}: shorten duration or make h larger."
            )

    @property
    def step(self) -> float:
        """The time step in use [s]; in statics of a scene as large as a square metre, see `step_of`."""
        if self.h is not None:
            return self.h
        return 0.3 if self.mode == "static" else 0.02

    def step_of(self, size: float, *, keyed: bool) -> float:
        """The time step in use in a scene of some size [m], in which something is keyframed or not [s]."""
        if self.h is not None:
            return self.h
        return self.step * (min(froude_scale(size), 1.0) if keyed else froude_scale(size))

    @property
    def steps(self) -> int:
        """How many steps a run takes at most."""
        return self.max_steps if self.mode == "static" else max(1, round(self.duration / self.step))

    @property
    def frame_steps(self) -> int | None:
        """Steps from frame to frame, None where only the start and the end are kept."""
        return 1 if self.frame_every is None and self.mode == "dynamic" else self.frame_every
