"""How contact, the solver and time are to be treated."""

from dataclasses import dataclass

from plisse.scene.values import as_choice, as_count, as_flag, as_number, settle


@dataclass(frozen=True)
class Contact:
    """Contact of everything with everything.

    dhat: distance beyond the offset at which contact starts to push [m]; offset: smallest distance ever [m];
    stiffness: reference pressure of the barrier [Pa]; all three chosen from the scene when not given.
    friction: Coulomb's μ; friction_speed: slip speed at which friction is fully developed [m/s].
    """

    dhat: float | None = None
    offset: float | None = None
    stiffness: float | None = None
    friction: float = 0.3
    friction_speed: float = 1e-3
    enabled: bool = True

    def __post_init__(self) -> None:
        settle(
            self,
            friction=as_number("friction", self.friction, least=0),
            friction_speed=as_number("friction_speed [m/s]", self.friction_speed, above=0),
            enabled=as_flag("enabled", self.enabled),
        )
        if self.dhat is not None:
            settle(self, dhat=as_number("dhat [m]", self.dhat, above=0))
        if self.offset is not None:
            settle(self, offset=as_number("offset [m]", self.offset, above=0))
        if self.stiffness is not None:
            settle(self, stiffness=as_number("stiffness [Pa]", self.stiffness, above=0))


@dataclass(frozen=True)
class Solver:
    """Newton's method: tol ε [m/s] in ‖d‖ ≤ √n h ε, most iterations a step, and the linear solver."""

    tol: float = 0.01
    max_iterations: int = 100
    linear: str = "auto"

    def __post_init__(self) -> None:
        settle(
            self,
            tol=as_number("tol", self.tol, above=0),
            max_iterations=as_count("max_iterations", self.max_iterations, least=1),
            linear=as_choice("linear", self.linear, ("auto", "pardiso", "superlu", "cholmod")),
        )


@dataclass(frozen=True)
class Time:
    """Equilibrium ("static": at most max_steps) or motion ("dynamic": for duration [s]).

    h: time step [s], by mode when not given; integrator: of dynamics; frame_every: steps from frame to frame.
    """

    mode: str = "static"
    h: float | None = None
    duration: float = 1.0
    max_steps: int = 2000
    integrator: str = "euler"
    frame_every: int = 1

    def __post_init__(self) -> None:
        settle(
            self,
            mode=as_choice("mode", self.mode, ("static", "dynamic")),
            duration=as_number("duration [s]", self.duration, above=0),
            max_steps=as_count("max_steps", self.max_steps, least=1),
            integrator=as_choice("integrator", self.integrator, ("euler", "bdf2")),
            frame_every=as_count("frame_every", self.frame_every, least=1),
        )
        if self.h is not None:
            settle(self, h=as_number("h [s]", self.h, above=0))

    @property
    def step(self) -> float:
        """The time step in use [s]: h, else 0.3 for statics and 0.02 for dynamics."""
        if self.h is not None:
            return self.h
        return 0.3 if self.mode == "static" else 0.02

    @property
    def steps(self) -> int:
        """How many steps a run takes at most."""
        return self.max_steps if self.mode == "static" else max(1, round(self.duration / self.step))
