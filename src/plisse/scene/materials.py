"""Thin-shell materials: isotropic constants."""

from dataclasses import dataclass

from plisse.core.errors import SceneError
from plisse.core.record import Record, choice, fill_in, number, word
from plisse.core.values import Flag

BENDINGS = ("hinge", "plate")


@dataclass(frozen=True)
class Material(Record):
    """An isotropic thin shell; the other keys override the values of `preset`."""

    density: float = number(
        "kg/m³",
        "mass density ρ; may be keyframed",
        above=0,
        keyed=True,
        why="without mass, the motion of a vertex is not determined",
    )
    thickness: float = number(
        "m",
        "thickness τ, also the default of `contact.offset`; folds are stiffer with its cube",
        above=0,
        why="without thickness there is no stiffness",
    )
    E: float = number(
        "Pa", "Young's modulus of the membrane, and of folds without `E_bend` (see `bending`); may be keyframed",
        above=0, keyed=True, why="stretching it would release energy",
    )  # fmt: skip
    nu: float = number(
        None, "Poisson's ratio; may be keyframed", above=-1, below=0.5, keyed=True,
        why="at 0.5 a material is incompressible, and beyond it would grow under pressure; rubber is close to 0.49",
    )  # fmt: skip
    E_bend: float | None = number(
        "Pa", "Young's modulus in bending (see `bending`); may be keyframed", default=None, shown="`E`", least=0,
        keyed=True, why="bending it would release energy",
    )  # fmt: skip
    bending: str = choice(
        'how stiff folds are: `"plate"` has the stiffness of a plate, Eτ³/12(1 − ν²), and is for moduli from a data '
        'sheet; `"hinge"` is what fabrics were published with, 2 to 4 times as stiff, depending on the mesh',
        BENDINGS, default="plate", shown='the preset\'s; `"plate"` without one',
    )  # fmt: skip
    damping: float = number(
        "s", "damping time η: a vibration of f hertz has the damping ratio π f η; resists strain rates and no rigid "
        "motion, in dynamics only, as statics has no rates; may be keyframed", default=0.0, least=0, keyed=True,
        why="vibrations would grow",
    )  # fmt: skip
    strain_limit: float | None = number(
        None, "largest principal stretch; 1.06 allows 6 %, and `true` means the preset's published limit",
        default=None, shown="none", above=1, also=(Flag(),), why="a stretch of 1 is the rest shape",
    )  # fmt: skip
    strain_onset: float = number(None, "stretch at which the limit's barrier sets in", default=1.0, least=1)
    published_limit: float | None = number(
        None, "limit of the preset's source; applied only by `strain_limit = true`", default=None, shown="the preset's",
        above=1,
    )  # fmt: skip
    name: str = word("a label, which has no effect", default="explicit")

    def check(self) -> None:
        if isinstance(self.strain_limit, bool):
            if self.strain_limit and self.published_limit is None:
                raise SceneError("strain_limit = true needs a preset with a published limit: give a number, e.g. 1.06.")
            fill_in(self, strain_limit=self.published_limit if self.strain_limit else None)
        if self.strain_limit is not None and self.strain_onset >= self.strain_limit:
            raise SceneError(
                f"strain_onset must be below strain_limit = {self.strain_limit:g}, not {self.strain_onset!r}."
            )

    @property
    def bending_modulus(self) -> float:
        """Young's modulus in bending [Pa]."""
        return self.E if self.E_bend is None else self.E_bend

    @property
    def area_density(self) -> float:
        """Mass per area [kg/m²]: ρ τ."""
        return self.density * self.thickness
