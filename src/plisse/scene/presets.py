"""Named materials, each with where its values come from and what the drape test says of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from plisse.core.errors import SceneError, suggest
from plisse.core.values import Word
from plisse.scene.materials import Material

HINGE_FACTOR = 3.0  # bending energy of hinges over a plate's, on meshes of near equilateral triangles and on grids


@dataclass(frozen=True)
class PresetNote:
    """Where a preset's values come from, what was chosen without a source, and its published drape class.

    drape: lowest and highest published drape coefficient [%] of such fabrics, 30 cm specimen on an 18 cm support.
    outside: why the preset's own coefficient lies outside that class; empty when it does not.
    """

    source: str
    note: str = ""
    drape: tuple[float, float] | None = None
    outside: str = ""


def hinge_modulus(rigidity: float, *, thickness: float, nu: float) -> float:
    """E_bend [Pa] with which hinges bend as a sheet of measured rigidity B [N·m] does: 12 (1 − ν²) B / 3 τ³.

    Hinges have HINGE_FACTOR times the energy of a plate with the same modulus, and B is the moment per width over
    curvature, as the Kawabata and cantilever tests give it: 1 gf·cm²/cm is 9.81e-5 N·m.
    """
    return 12.0 * (1.0 - nu**2) * rigidity / (HINGE_FACTOR * thickness**3)


def _fabric(
    name: str, *, mass: float, thickness: float, E: float, nu: float, rigidity: float, limit: float | None = None
) -> Material:
    """A material from mass per area [kg/m²] and bending rigidity [N·m], as textile tests report them."""
    return Material(
        mass / thickness, thickness, E, nu, E_bend=hinge_modulus(rigidity, thickness=thickness, nu=nu),
        bending="hinge", published_limit=limit, name=name,
    )  # fmt: skip


PRESETS: dict[str, Material] = {
    material.name: material
    for material in (
        Material(472.64, 0.318e-3, 0.821e6, 0.243, published_limit=1.0608, bending="hinge", name="cotton"),
        Material(413.38, 0.568e-3, 0.170e6, 0.277, published_limit=1.085, bending="hinge", name="wool"),
        Material(543.29, 0.328e-3, 0.076e6, 0.071, published_limit=1.134, bending="hinge", name="wool-lycra"),
        Material(653.17, 0.252e-3, 0.478e6, 0.381, published_limit=1.0646, bending="hinge", name="polyester"),
        _fabric("silk", mass=0.0694, thickness=0.12e-3, E=0.82e6, nu=0.24, rigidity=1.24e-6),
        _fabric("denim", mass=0.324, thickness=0.7e-3, E=0.65e6, nu=0.08, rigidity=78.2e-6),
        _fabric("leather", mass=0.48, thickness=0.8e-3, E=10.0e6, nu=0.3, rigidity=15.6e-6),
        Material(800.0, 0.3e-3, 3.0e9, 0.3, published_limit=1.005, bending="hinge", name="paper"),
        Material(2700.0, 0.1e-3, 70.0e9, 0.33, bending="plate", name="aluminium"),
        Material(950.0, 0.3e-3, 1.5e6, 0.49, bending="hinge", name="rubber"),
        Material(930.0, 0.2e-3, 1.17e6, 0.49, bending="hinge", name="latex"),
    )
}

_PENAVA = "tensile tests [Penava2014], as the isotropic constants published with C-IPC [Li2021]"
_AS_HINGE = "E is used for bending too, so that folds are 3 times as stiff as those of a plate with this modulus."

SOURCES: dict[str, PresetNote] = {
    "cotton": PresetNote(
        _PENAVA, _AS_HINGE, (60, 76),
        "The constants were measured in tension and are kept as published; in folds they stand for a rigidity of "
        "7.0e-6 N·m (0.07 gf·cm²/cm), which drapes more softly than the class.",
    ),
    "wool": PresetNote(_PENAVA, _AS_HINGE, (40, 70)),
    "wool-lycra": PresetNote(_PENAVA, _AS_HINGE),
    "polyester": PresetNote(_PENAVA, _AS_HINGE),
    "silk": PresetNote(
        "mass of 16 momme habutai (4.34 g/m² each); bending from the measured fabrics of [Feng2022]",
        "No measurement that is named silk was at hand. The rigidity, 1.24e-6 N·m, is the mean of the softest fifth of "
        "the 60–95 g/m² fabrics there (19 in its first 250 rows, 0.55e-6 to 17e-6). Thickness is a typical "
        "value, E and ν are those of cotton.",
        (20, 40),
    ),
    "denim": PresetNote(
        "11oz-black-denim, 99 % cotton [Wang2011]: mass, stretch stiffness (√(205 · 1014) N/m) and bending stiffness",
        "Rigidity 78.2e-6 N·m: the published stiffness at small angles, mean of its three directions, read as that of "
        "a plate. Read through the hinge formula of the simulator it was published for, it would be a quarter: "
        "0.2 gf·cm²/cm, as Kawabata tests of soft denims found (0.14–0.23 [Denim2016]), and would drape at 59 %, below "
        "its class. Thickness is a typical value for this mass.",
        (70, 90),
    ),
    "leather": PresetNote(
        "sheep garment leather [Memon2021]: thickness 0.64–0.96 mm, flexural rigidity 9.2–22, drape 47–70 %",
        "Middle of both ranges. The abstract names no unit of rigidity: read as µN·m, the only common one with which "
        "such a sheet drapes as it was measured to. Density 600 kg/m³ and E = 10 MPa are typical values.",
        (47, 70),
    ),
    "paper": PresetNote("isotropic constants published with C-IPC [Li2021]", _AS_HINGE),
    "aluminium": PresetNote("E, ν and ρ of wrought alloys [Davis1993]; thickness of a drink can's wall"),
    "rubber": PresetNote("E of natural rubber of hardness 40 IRHD [Lindley1974]", _AS_HINGE + " Thickness is chosen."),
    "latex": PresetNote(
        "unfilled vulcanised natural rubber, E = 3 G with G = 0.39 MPa [Treloar1975]",
        _AS_HINGE + " Thickness is chosen.",
    ),
}  # fmt: skip


DEFAULT_MATERIAL = "cotton"


def make_material(preset: str | None = None, **values: Any) -> Material:
    """A preset with some of its values replaced, or a material from explicit values alone."""
    if preset is not None:
        Word().check("preset", preset)
    if preset is not None and preset not in PRESETS:
        raise SceneError(
            f'There is no material "{preset}"{suggest(preset, PRESETS)}: choose from {", ".join(PRESETS)}.'
        )
    if preset is not None:
        return replace(PRESETS[preset], **values)
    missing = [key for key in ("density", "thickness", "E", "nu") if key not in values]
    if missing:
        raise SceneError(f"A material without a preset needs {', '.join(missing)}: add them or name a preset.")
    return Material(**values)
