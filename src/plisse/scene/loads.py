"""Wind and pressure."""

from dataclasses import dataclass

from plisse.scene.values import Vector, as_choice, as_number, as_vector, settle


@dataclass(frozen=True)
class Pressure:
    """What fills a closed shell: "constant" keeps value [Pa], "gas" starts at it and keeps p V."""

    value: float
    kind: str = "constant"

    def __post_init__(self) -> None:
        kind = as_choice("kind", self.kind, ("constant", "gas"))
        if kind == "gas":
            settle(self, kind=kind, value=as_number("value [Pa] of a gas", self.value, above=0))
        else:
            settle(self, kind=kind, value=as_number("value [Pa]", self.value))


@dataclass(frozen=True)
class Wind:
    """Uniform wind: velocity [m/s], air_density [kg/m³], drag coefficients along and across the normal.

    law: drag grows with the square ("quadratic") or the first power ("linear") of the relative speed.
    """

    velocity: Vector = (0.0, 0.0, 0.0)
    air_density: float = 1.2
    drag_normal: float = 1.0
    drag_tangential: float = 0.1
    law: str = "quadratic"

    def __post_init__(self) -> None:
        settle(
            self,
            velocity=as_vector("velocity [m/s]", self.velocity),
            air_density=as_number("air_density [kg/m³]", self.air_density, least=0),
            drag_normal=as_number("drag_normal", self.drag_normal, least=0),
            drag_tangential=as_number("drag_tangential", self.drag_tangential, least=0),
            law=as_choice("law", self.law, ("quadratic", "linear")),
        )
