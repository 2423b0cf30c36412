"""Wind and pressure."""

from dataclasses import dataclass

from plisse.core.errors import SceneError
from plisse.core.record import Record, choice, number, three
from plisse.core.values import Vector


@dataclass(frozen=True)
class Pressure(Record):
    """What fills a closed shell; a plain number is a constant pressure."""

    value: float = number("Pa", "pressure in excess of that outside; may be keyframed", keyed=True)
    kind: str = choice(
        '`"constant"` keeps the value, `"gas"` keeps p V at value × rest volume', ("constant", "gas"),
        default="constant",
    )  # fmt: skip

    def check(self) -> None:
        if self.kind == "gas" and self.value <= 0:
            raise SceneError(f"value [Pa] of a gas must be above 0, not {self.value:g}.")


@dataclass(frozen=True)
class Wind(Record):
    """Wind, which acts on all shells: the same everywhere, unless it has `turbulence`."""

    velocity: Vector = three("m/s", "velocity of the air; may be keyframed", default=(0.0, 0.0, 0.0), keyed=True)
    air_density: float = number("kg/m³", "density of the air", default=1.2, least=0)
    drag_normal: float = number(None, "drag coefficient along the surface normal", default=1.0, least=0)
    drag_tangential: float = number(None, "drag coefficient along the surface", default=0.1, least=0)
    gusts: float = number(
        None, "part of its speed by which the wind swells and falls, once in `gust_period`; dynamics only", default=0.0,
        least=0, most=1,
    )  # fmt: skip
    gust_period: float = number("s", "time from gust to gust", default=3.0, above=0)
    turbulence: float = number(
        None, "turbulence intensity: root mean square of each component of the eddies' velocity, as a part of the "
        "speed; eddies drift with the wind, and the scene's `seed` draws them; dynamics only", default=0.0, least=0,
        most=1,
    )  # fmt: skip
    turbulence_length: float = number(
        "m", "size of the eddies: integral length along the wind; edges of the coarsest level should be shorter",
        default=1.0, above=0,
    )  # fmt: skip
    law: str = choice("how drag grows with the relative speed", ("quadratic", "linear"), default="quadratic")
