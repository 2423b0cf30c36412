"""Thin-shell materials: isotropic constants, named presets."""

from dataclasses import dataclass, replace
from typing import Any

from plisse.core.errors import SceneError, suggest
from plisse.scene.values import as_number, settle


@dataclass(frozen=True)
class Material:
    """An isotropic thin shell.

    density: ρ [kg/m³]; thickness: τ [m]; E: Young's modulus of the membrane [Pa]; nu: Poisson's ratio.
    E_bend: Young's modulus in bending [Pa], E when not given.
    strain_limit: largest principal stretch (1.06 allows 6 %), none when not given; its barrier starts at
    strain_onset. published_limit: the limit that the preset's source gives.
    """

    density: float
    thickness: float
    E: float
    nu: float
    E_bend: float | None = None
    strain_limit: float | None = None
    strain_onset: float = 1.0
    published_limit: float | None = None
    name: str = "explicit"

    def __post_init__(self) -> None:
        settle(
            self,
            density=as_number("density [kg/m³]", self.density, above=0),
            thickness=as_number("thickness [m]", self.thickness, above=0),
            E=as_number("E [Pa]", self.E, above=0),
            nu=as_number("nu", self.nu, above=-1),
            strain_onset=as_number("strain_onset", self.strain_onset, least=1),
        )
        if not isinstance(self.name, str):
            raise SceneError(f"name must be a word, not {self.name!r}.")
        if self.nu > 0.5:
            raise SceneError(f"nu must be at most 0.5, not {self.nu!r}.")
        if self.E_bend is not None:
            settle(self, E_bend=as_number("E_bend [Pa]", self.E_bend, least=0))
        for key in ("strain_limit", "published_limit"):
            if getattr(self, key) is not None:
                settle(self, **{key: as_number(key, getattr(self, key), above=1)})
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


# The five fabrics are the isotropic constants published with C-IPC [Li2021]; aluminium (drink can) and rubber
# (latex) are typical handbook values.
PRESETS = {
    material.name: material
    for material in (
        Material(472.64, 0.318e-3, 0.821e6, 0.243, published_limit=1.0608, name="cotton"),
        Material(413.38, 0.568e-3, 0.170e6, 0.277, published_limit=1.085, name="wool"),
        Material(543.29, 0.328e-3, 0.076e6, 0.071, published_limit=1.134, name="wool-lycra"),
        Material(653.17, 0.252e-3, 0.478e6, 0.381, published_limit=1.0646, name="polyester"),
        Material(800.0, 0.3e-3, 3.0e9, 0.3, published_limit=1.005, name="paper"),
        Material(2700.0, 0.1e-3, 70.0e9, 0.33, name="aluminium"),
        Material(950.0, 0.3e-3, 1.5e6, 0.49, name="rubber"),
    )
}


DEFAULT_MATERIAL = "cotton"


def make_material(preset: str | None = None, **values: Any) -> Material:
    """A preset with some of its values replaced, or a material from explicit values alone.

    strain_limit = True takes the preset's published limit, False none.
    """
    if preset is not None and not isinstance(preset, str):
        raise SceneError(f"preset must be a word, not {preset!r}.")
    if preset is not None and preset not in PRESETS:
        raise SceneError(f'There is no material "{preset}"{suggest(preset, PRESETS)}: known are {", ".join(PRESETS)}.')
    limit = values.get("strain_limit")
    if limit is False:
        values["strain_limit"] = None
    elif limit is True:
        published = PRESETS[preset].published_limit if preset else values.get("published_limit")
        if published is None:
            raise SceneError("strain_limit = true needs a preset with a published limit: give a number, e.g. 1.06.")
        values["strain_limit"] = published
    if preset is not None:
        return replace(PRESETS[preset], **values)
    missing = [key for key in ("density", "thickness", "E", "nu") if key not in values]
    if missing:
        raise SceneError(f"A material without a preset needs {', '.join(missing)}: add them or name a preset.")
    return Material(**values)
